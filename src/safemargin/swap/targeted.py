"""Targeted swapping of households in pairs, as in the 2010 census, on a file: a simulation, with no guarantee."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from safemargin.core import Change, Distance, Guarantee, InputError, IntArray, Progress, counts, no_progress
from safemargin.guarantees.exact import hamming, universe_loss
from safemargin.guarantees.swap_law import stratum, universe
from safemargin.guarantees.swap_loss import Rate, rate_of
from safemargin.io import DuckSource, check_columns, quoted
from safemargin.swap.pair_law import targeted_law
from safemargin.swap.pairing import HouseholdPairs, Risk, Selection, Traits, capped, draw_order, pair_up, select
from safemargin.swap.permutation import Exchange, StratumCells
from safemargin.swap.reading import opened
from safemargin.swap.simulated import Simulated, baseline
from safemargin.swap.tables import Roles, Run, imputed_share
from safemargin.swap.workspace import Workspace, workspace

METHOD = "targeted pair swapping"
ADULT = 18
ADULTS, MINORS = "adults", "minors"
UNIQUE, IMPUTED, RARE = "unique in", "imputed share", "rare in"
"""Columns that stand beside the records during a run."""


@dataclass(frozen=True)
class Targeting:
    """Who is at risk, and with whom households may change places.

    `geography` goes from wide to narrow: the first area is never left, the last one is the block. Households that are
    unique in all of `unique` together within the area `within` (the block, if not said) are always selected; a value of
    a column in `rare` that no other household of the block has makes one more likely. `imputed` says which share of a
    record was imputed. No more than the share `most` of the households of a first area is selected, unique ones
    first. With `household`, rows are people, and `age` gives the columns `adults` and `minors`.
    """

    geography: tuple[str, ...]
    match: tuple[str, ...]
    risk: Risk
    unique: tuple[str, ...] = ()
    within: str | None = None
    rare: tuple[str, ...] = ()
    imputed: str | None = None
    hold: tuple[str, ...] | None = None
    household: str | None = None
    age: str | None = None
    most: Fraction = Fraction(1)
    unit: str = "household"

    def __post_init__(self) -> None:
        if len(self.geography) < 2:
            raise InputError("geography: name at least two columns from wide to narrow, e.g. state,county,block")
        if self.within is not None and self.within not in self.geography:
            raise InputError(f"unique within {self.within!r}: must be one of {', '.join(self.geography)}")
        if not 0 < self.most <= 1:
            raise InputError(f"most = {self.most}: must be above 0 and at most 1")
        for name in (*self.unique, *self.rare):
            if name in self.geography:
                raise InputError(f"column {name!r} is geography; a household is not at risk by where it is")
        if self.age is not None and self.household is None:
            raise InputError(f"age = {self.age}: counts adults and minors of households; say which column numbers them")

    @property
    def counted(self) -> str:
        """What a record is."""
        return "household" if self.household else self.unit


def simulate_targeted(
    data: object,
    *,
    rate: str | Rate,
    small: int = 10,
    most: str | Rate = 1,
    file_format: str = "parquet",
    progress: Progress = no_progress,
    **options: Any,
) -> Simulated:
    """Swap households at risk in pairs, as far as is public about the 2010 census; `options` as in `Targeting`."""
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in options.items()
    }
    wish = Targeting(risk=Risk(rate_of(rate), small), most=rate_of(most), **given)
    with workspace(data) as space:
        out = space.folder / f"swapped.{file_format}"
        return swap_targeted(space.path, out, wish, file_format=file_format, progress=progress, space=space)


def swap_targeted(
    path: Path,
    out: Path,
    wish: Targeting,
    *,
    file_format: str = "parquet",
    progress: Progress = no_progress,
    space: Workspace | None = None,
) -> Simulated:
    """Swap the households of a file in pairs, and write them to the new file `out`, or nothing."""
    swapped, match, asked = wish.geography[1:], (wish.geography[0], *wish.match), (wish.hold, wish.household)
    more = partial(_more, path, wish)
    progress("counting records")
    with opened(path, swapped, match, *asked, unit=wish.unit, file_format=file_format, more=more) as run:
        roles = run.roles
        cells, ids = run.cells()
        traits = _traits(run, wish, ids)
        progress("drawing the exchange")
        order = draw_order(len(ids))
        selection = capped(select(traits, wish.risk), _first_area(run)[cells.stratum], wish.most, order)
        places = [level[cells.swapped] for level in _levels(run)]
        pairs = pair_up(cells.stratum, places, selection.selected, traits.imputed, selection.chance, order)
        _check_pairs(cells, places[-1], traits, pairs)
        progress("applying the exchange")
        moved = np.flatnonzero(pairs.partner >= 0)
        changed = run.apply(cells, ids, Exchange(moved, cells.swapped[pairs.partner[moved]], 0))
        run.check()
        progress("writing the result")
        errors = run.errors_by_area()
        run.write(out, "records", file_format, wish.household)
        other = baseline(run, cells, ids, roles, wish.counted, Fraction(changed, len(ids)))
    return Simulated(
        METHOD,
        roles,
        wish.counted,
        wish.risk.rate,
        len(ids),
        int(selection.selected.sum()),
        changed,
        _counted(wish, traits, selection, pairs),
        guarantee(roles, wish),
        errors,
        other,
        out.name,
        space,
    )


def guarantee(roles: Roles, wish: Targeting) -> Guarantee:
    """That nothing is guaranteed, why, and a witness: two small data sets that one output distinguishes."""
    unit, rate, unique = wish.counted, wish.risk.rate, bool(wish.unique)
    kind, place = f"{unit}s", roles.swap[-1]
    first = "always selected" if wish.most == 1 else "selected first"
    small = universe(stratum((1, 1, 1), (1, 1, 1)))
    pair = universe_loss({each: targeted_law(each, rate, unique) for each in small}, hamming).pair
    remarks = [
        "This is a simulation for comparison, not a protection with a guarantee: do not publish the result.",
        f"Pairs do not overlap{f', and unique {kind} are {first}' if unique else ''}: data with the same "
        "invariants do not all lead to the same outputs.",
    ]
    if pair is not None and pair.ratio is None:
        one, other, output = (
            ", ".join(str(block + 1) for _, block in each) for each in (pair.one, pair.other, pair.output)
        )
        remarks.append(
            f"Witness: {kind} A, B and C that agree on {', '.join(roles.match)}. If their {place} is {one}, it may be "
            f"published as {output}; if it is {other}, never."
        )
    if wish.imputed is not None:
        remarks.append(f"{kind.capitalize()} imputed as a whole stay where they are.")
    return Guarantee(
        METHOD,
        f"{kind.capitalize()} that stand out, and others at a rate of {float(rate):g}, change {', '.join(roles.swap)} "
        f"in pairs with {kind} that agree on {', '.join(roles.match)}. No finite epsilon bounds what is "
        "published between data that agree on the tables named as invariants.",
        math.inf,
        (counts(kind, *roles.match, *roles.hold), counts(kind, *roles.match, *roles.swap)),
        roles.population(unit),
        Change(Distance.HAMMING if wish.imputed is None else Distance.FROZEN, unit),
        rule="none: disjoint pairs leave some tables out of reach (Bailie, Gong and Meng, appendix C)",
        remarks=tuple(remarks),
    )


def _more(path: Path, wish: Targeting, source: DuckSource, database: duckdb.DuckDBPyConnection) -> Mapping[str, str]:
    """The SQL of columns that tell who is at risk, and of those that count people."""
    asked = [*wish.unique, *wish.rare, *(name for name in (wish.imputed, wish.age) if name is not None)]
    check_columns(path, source.columns, asked)
    fields, people = source.fields, wish.household is not None
    found = {}
    packed = ", ".join(f"u{n} := {fields[name]}" for n, name in enumerate(wish.unique))
    if packed:
        found[UNIQUE] = f"list_sort(list(struct_pack({packed})))" if people else f"struct_pack({packed})"
    for name in wish.rare:
        text = f"coalesce({fields[name]}::varchar, '')"
        found[f"{RARE} {name}"] = f"list_distinct(list({text}))" if people else f"[{text}]"
    share = "0"
    if wish.imputed is not None:
        share = imputed_share(fields[wish.imputed], parts=True)
        words = "must be true, false or a share from 0 to 1"
        _refuse(database, source, wish.imputed, f"({share}) between 0 and 1", words)
    found[IMPUTED] = f"avg({share})" if people else f"({share})::double"
    if wish.age is not None:
        age = f"try_cast({fields[wish.age]}::varchar as double)"
        _refuse(database, source, wish.age, f"{age} >= 0", "must be an age in years")
        found[ADULTS] = f"count(*) filter (where {age} >= {ADULT})"
        found[MINORS] = f"count(*) filter (where {age} < {ADULT})"
    for name in found:
        if name in source.columns:
            raise InputError(f"{path}: has a column {name!r} already, which is counted here; rename it")
    return found


def _refuse(database: duckdb.DuckDBPyConnection, source: DuckSource, name: str, good: str, words: str) -> None:
    query = f"select {source.fields[name]}::varchar from {source.scan} where not coalesce({good}, false) limit 1"
    if bad := database.execute(query).fetchone():
        raise InputError(f"{source.path}: column {name!r}: {bad[0] or ''!r}: {words}")


def _traits(run: Run, wish: Targeting, ids: IntArray) -> Traits:
    """What makes each household a risk, in the order of `ids`."""
    home = ["m0", *run.swap]
    depth = len(home) if wish.within is None else wish.geography.index(wish.within) + 1
    block, area = ", ".join(home), ", ".join(home[:depth])
    unique = f"count(*) over (partition by {area}, {quoted(UNIQUE)}) = 1" if wish.unique else "false"
    share = quoted(IMPUTED)
    found = run.database.execute(
        f"select rowid as id, count(*) over block as size, {unique} as single, "
        f"floor(1000 * avg({share}) over block)::bigint as around, floor(1000 * {share})::bigint as own "
        f"from cell window block as (partition by {block})"
    ).fetchnumpy()
    place = np.empty(len(ids), dtype=np.int64)
    place[np.asarray(found["id"], dtype=np.int64)] = np.arange(len(ids))
    rows = place[ids]
    rare = np.zeros(len(ids), dtype=np.bool_)
    for name in wish.rare:
        each = f"select rowid as id, {block}, unnest({quoted(f'{RARE} {name}')}) as value from cell"
        alone = f"select any_value(id) as id from ({each}) group by {block}, value having count(*) = 1"
        rare[np.asarray(run.database.execute(alone).fetchnumpy()["id"], dtype=np.int64)] = True
    size, around, own = (np.asarray(found[name], dtype=np.int64)[rows] for name in ("size", "around", "own"))
    return Traits(size, np.asarray(found["single"], dtype=np.bool_)[rows], rare[ids], around, own)


def _levels(run: Run) -> list[IntArray]:
    """For every place, the numbers of its areas from wide to narrow."""
    ranks = [f"dense_rank() over (order by {', '.join(run.swap[: n + 1])}) - 1 as l{n}" for n in range(len(run.swap))]
    found = run.database.execute(f"select {', '.join(ranks)} from places order by s").fetchnumpy()
    return [np.asarray(found[f"l{n}"], dtype=np.int64) for n in range(len(run.swap))]


def _first_area(run: Run) -> IntArray:
    """For every stratum, the number of the area that is never left."""
    found = run.database.execute("select dense_rank() over (order by m0) - 1 as a from strata order by m").fetchnumpy()
    return np.asarray(found["a"], dtype=np.int64)


def _check_pairs(cells: StratumCells, block: IntArray, traits: Traits, pairs: HouseholdPairs) -> None:
    """Every pair agrees on what is matched, is of two blocks, has no household twice and none that was imputed."""
    mine = np.flatnonzero(pairs.partner >= 0)
    theirs = pairs.partner[mine]
    fine = (
        np.array_equal(pairs.partner[theirs], mine)
        and np.array_equal(cells.stratum[mine], cells.stratum[theirs])
        and bool((block[mine] != block[theirs]).all())
        and not traits.imputed[mine].any()
    )
    if not fine:
        raise AssertionError("a pair of households does not match; nothing was written")


def _counted(
    wish: Targeting, traits: Traits, selection: Selection, pairs: HouseholdPairs
) -> Mapping[str, Mapping[str, int]]:
    """Who was selected for what, with whom they were paired, and how near the two live."""
    chosen, paired = selection.selected, pairs.partner >= 0
    reasons: dict[str, int] = {}
    left = chosen.copy()
    for words, why, asked in (
        ("unique", traits.unique, wish.unique),
        ("rare value", traits.rare, wish.rare),
        ("small block", traits.size < wish.risk.small, wish.risk.small),
        ("nothing special", np.ones(len(left), dtype=np.bool_), True),
    ):
        if asked:
            reasons[words] = int((left & why).sum())
            left &= ~why
    both = paired & chosen & chosen[pairs.partner]
    partners = {
        "selected too": int(both.sum()),
        "not selected": int((paired & chosen & ~both).sum()),
        "nobody that matches": int((chosen & ~paired).sum()),
    }
    near = np.bincount(pairs.level[paired], minlength=len(wish.geography) - 1) // 2
    names: Sequence[str] = tuple(reversed(wish.geography[:-1]))
    levels = {f"same {name}": int(number) for name, number in zip(names, near, strict=True)}
    return {"why selected": reasons, "partner": partners, "pairs": levels}

"""Targeted swapping of households in pairs, as in the 2010 census, on a file: a simulation, with no guarantee."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import duckdb
import numpy as np

from safemargin.core import Change, Distance, Guarantee, InputError, IntArray, Progress, counts, no_progress
from safemargin.guarantees import Rate, hamming, rate_of, stratum, universe, universe_loss
from safemargin.io import DuckSource, check_columns, quoted
from safemargin.swap.pair_law import targeted_law
from safemargin.swap.pairing import HouseholdPairs, Risk, Selection, Traits, capped, draw_order, pair_up, select
from safemargin.swap.permutation import Exchange, Stratified
from safemargin.swap.reading import opened, workspace
from safemargin.swap.simulated import Simulated, baseline
from safemargin.swap.tables import Roles, Run, imputed_share

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
    return swap_targeted(data, wish, file_format, progress)


def swap_targeted(
    data: object, wish: Targeting, file_format: str = "parquet", progress: Progress = no_progress
) -> Simulated:
    """Swap the households of a file, or of records in memory, in pairs."""
    swapped, match, asked = wish.geography[1:], (wish.geography[0], *wish.match), (wish.hold, wish.household)
    more = partial(_more, wish)
    progress("counting records")
    with (
        workspace(data) as space,
        opened(space.path, swapped, match, *asked, unit=wish.unit, file_format=file_format, more=more) as run,
    ):
        roles = run.roles
        cells, ids = run.cells()
        traits = _traits(run, wish, ids)
        progress("drawing the exchange")
        order = draw_order(len(ids))  # settles all ties, so the pairs are a function of selection and order
        selection = capped(select(traits, wish.risk), _first_area(run)[cells.stratum], wish.most, order)
        places = [level[cells.swapped] for level in _levels(run)]
        pairs = pair_up(cells.stratum, places, selection.selected, traits.imputed, selection.chance, order)
        _check_pairs(cells, places[-1], traits, pairs)
        progress("applying the exchange")
        moved = np.flatnonzero(pairs.partner >= 0)
        changed = run.apply(cells, ids, Exchange(moved, cells.swapped[pairs.partner[moved]], 0))
        progress("writing the result")
        errors = run.errors_by_area()
        file = run.write(space.folder, "records", file_format, wish.household)
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
        file,
        space,
    )


def guarantee(roles: Roles, wish: Targeting) -> Guarantee:
    """That nothing is guaranteed, why, and a witness: two small data sets that one output distinguishes."""
    unit, rate, unique = wish.counted, wish.risk.rate, bool(wish.unique)
    kind, area = f"{unit}s", roles.swap[-1]
    when = "always selected" if wish.most == 1 else "selected first"
    # Three different households: the smallest universe in which disjoint pairs cannot reach a table.
    small = universe(stratum((1, 1, 1), (1, 1, 1)))
    pair = universe_loss({data_set: targeted_law(data_set, rate, unique) for data_set in small}, hamming).pair
    remarks = [
        "This is a simulation for comparison, not a protection with a guarantee: do not publish the result.",
        f"Pairs do not overlap{f', and unique {kind} are {when}' if unique else ''}: data with the same "
        "invariants do not all lead to the same outputs.",
    ]
    if pair is not None and pair.ratio is None:
        first, second, output = (
            ", ".join(str(block + 1) for _, block in data_set) for data_set in (pair.one, pair.other, pair.output)
        )
        remarks.append(
            f"Witness: {kind} A, B and C that agree on {', '.join(roles.match)}. If their {area} is {first}, it may be "
            f"published as {output}; if it is {second}, never."
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
        rule="none: disjoint pairs cannot reach some tables (Bailie, Gong and Meng, appendix C)",
        remarks=tuple(remarks),
    )


def _more(wish: Targeting, source: DuckSource, database: duckdb.DuckDBPyConnection) -> Mapping[str, str]:
    """The SQL of columns that state who is at risk, and of those that count people."""
    asked = [*wish.unique, *wish.rare, *(name for name in (wish.imputed, wish.age) if name is not None)]
    check_columns(source.path, source.columns, asked)
    fields, people = source.fields, wish.household is not None
    added = {}
    packed = ", ".join(f"u{n} := {fields[name]}" for n, name in enumerate(wish.unique))
    if packed:
        added[UNIQUE] = f"list_sort(list(struct_pack({packed})))" if people else f"struct_pack({packed})"
    for name in wish.rare:
        text = f"coalesce({fields[name]}::varchar, '')"
        added[f"{RARE} {name}"] = f"list_distinct(list({text}))" if people else f"[{text}]"
    share = "0"
    if wish.imputed is not None:
        share = imputed_share(fields[wish.imputed], parts=True)
        reason = "must be true, false or a share from 0 to 1"
        _refuse(database, source, wish.imputed, f"({share}) between 0 and 1", reason)
    added[IMPUTED] = f"avg({share})" if people else f"({share})::double"
    if wish.age is not None:
        age = f"try_cast({fields[wish.age]}::varchar as double)"
        _refuse(database, source, wish.age, f"{age} >= 0", "must be an age in years")
        added[ADULTS] = f"count(*) filter (where {age} >= {ADULT})"
        added[MINORS] = f"count(*) filter (where {age} < {ADULT})"
    for name in added:
        if name in source.columns:
            raise InputError(f"{source.path}: has a column {name!r} already, which is counted here; rename it")
    return added


def _refuse(database: duckdb.DuckDBPyConnection, source: DuckSource, name: str, good: str, words: str) -> None:
    query = f"select {source.fields[name]}::varchar from {source.scan} where not coalesce({good}, false) limit 1"
    if bad := database.execute(query).fetchone():
        raise InputError(f"{source.path}: column {name!r}: {bad[0] or ''!r}: {words}")


def _traits(run: Run, wish: Targeting, ids: IntArray) -> Traits:
    """What makes each household a risk, in the order of `ids`."""
    home = ["m0", *run.swap]
    # The first area and those below it down to the one in which values must be unique.
    depth = len(home) if wish.within is None else wish.geography.index(wish.within) + 1
    block, area = ", ".join(home), ", ".join(home[:depth])
    unique = f"count(*) over (partition by {area}, {quoted(UNIQUE)}) = 1" if wish.unique else "false"
    share = quoted(IMPUTED)
    rows_found = run.database.execute(
        f"select rowid as id, count(*) over block as size, {unique} as single, "
        f"floor(1000 * avg({share}) over block)::bigint as around, floor(1000 * {share})::bigint as own "
        f"from cell window block as (partition by {block})"
    ).fetchnumpy()
    position = np.empty(len(ids), dtype=np.int64)
    position[np.asarray(rows_found["id"], dtype=np.int64)] = np.arange(len(ids))
    rows = position[ids]
    rare = np.zeros(len(ids), dtype=np.bool_)
    for name in wish.rare:
        values = f"select rowid as id, {block}, unnest({quoted(f'{RARE} {name}')}) as value from cell"
        alone = f"select any_value(id) as id from ({values}) group by {block}, value having count(*) = 1"
        rare[np.asarray(run.database.execute(alone).fetchnumpy()["id"], dtype=np.int64)] = True
    size, around, own = (np.asarray(rows_found[name], dtype=np.int64)[rows] for name in ("size", "around", "own"))
    return Traits(size, np.asarray(rows_found["single"], dtype=np.bool_)[rows], rare[ids], around, own)


def _levels(run: Run) -> list[IntArray]:
    """For every place, the numbers of its areas from wide to narrow."""
    ranks = [f"dense_rank() over (order by {', '.join(run.swap[: n + 1])}) - 1 as l{n}" for n in range(len(run.swap))]
    levels = run.database.execute(f"select {', '.join(ranks)} from places order by s").fetchnumpy()
    return [np.asarray(levels[f"l{n}"], dtype=np.int64) for n in range(len(run.swap))]


def _first_area(run: Run) -> IntArray:
    """For every stratum, the number of the area that is never left."""
    ranks = run.database.execute("select dense_rank() over (order by m0) - 1 as a from strata order by m").fetchnumpy()
    return np.asarray(ranks["a"], dtype=np.int64)


def _check_pairs(cells: Stratified, block: IntArray, traits: Traits, pairs: HouseholdPairs) -> None:
    """Every pair agrees on what is matched, is of two blocks, has no household twice and none that was imputed."""
    movers = np.flatnonzero(pairs.partner >= 0)
    theirs = pairs.partner[movers]
    fine = (
        np.array_equal(pairs.partner[theirs], movers)
        and np.array_equal(cells.stratum[movers], cells.stratum[theirs])
        and bool((block[movers] != block[theirs]).all())
        and not traits.imputed[movers].any()
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
    for reason, why, asked in (
        ("unique", traits.unique, wish.unique),
        ("rare value", traits.rare, wish.rare),
        ("small block", traits.size < wish.risk.small, wish.risk.small),
        ("nothing special", np.ones(len(left), dtype=np.bool_), True),
    ):
        if asked:
            reasons[reason] = int((left & why).sum())
            left &= ~why
    # A partner of -1 points to the last record; `paired` masks those.
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

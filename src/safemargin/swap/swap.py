"""Permutation swapping of a file of records: what is held, what is exchanged, and what that guarantees.

The database counts equal records, `mechanisms.swapping` draws, and the database applies the exchange. What leaves is a
table, or records in the order of their values: the order of the input would tell who is who.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from safemargin.core import Change, Distance, Guarantee, InputError, Progress, counts, no_progress
from safemargin.guarantees.swap_loss import rates_for, short_rate, swap_epsilon
from safemargin.io import new_folder
from safemargin.swap.permutation import Exchange, Strata
from safemargin.swap.reading import Counted, counted, steps
from safemargin.swap.tables import Roles, TableError

FORMS = ("table", "records")
DIGITS = (9, 12, 15, 18)
"""Rates found for an epsilon are rounded to as many, to the side that guarantees more, or more where needed."""


@dataclass(frozen=True)
class Swapped:
    """One run of swapping. It looks at data, so only the guarantee and the file leave."""

    roles: Roles
    unit: str
    rate: Fraction
    strata: Strata
    selected: int
    changed: int
    redrawn: int
    guarantee: Guarantee
    errors: tuple[TableError, ...]
    file: str
    imputed: int | None = None
    """Records that were not to be moved, where some are marked; `strata` are of the others."""
    naming: tuple[str, ...] = ()
    """Held columns that are different for every record, such as a key: they are published."""


def swap_file(
    path: Path,
    out: Path,
    swapped: Sequence[str],
    match: Sequence[str] = (),
    hold: Sequence[str] | None = None,
    *,
    rate: Fraction | None = None,
    epsilon: float | None = None,
    higher: bool = False,
    unit: str = "person",
    household: str | None = None,
    imputed: str | None = None,
    form: str = "table",
    file_format: str = "parquet",
    with_errors: bool = True,
    progress: Progress = no_progress,
) -> Swapped:
    """Swap the records of a file, and write the result to the new file `out`, or nothing.

    Give the swap `rate`, or the `epsilon` to be guaranteed: of its two rates, the lower or the `higher` one.
    With `household`, records are the households that this column numbers: the people in them stay together. Records
    that the column `imputed` marks are never moved.
    """
    _check_options(rate, epsilon, form)
    say = steps(progress)
    asked = swapped, match, hold, household, imputed
    with counted(path, *asked, say, unit=unit, file_format=file_format) as data:
        run, roles = data.run, data.run.roles
        _check_names(path, roles, form)
        chosen = _rate(rate, epsilon, higher, data.strata)
        say()
        exchange, changed = _exchanged(data, chosen, say)
        errors = run.errors() if with_errors else ()
        naming = run.naming()
        run.write(out, form, file_format, household)
        say()
    what = "household" if household else unit
    frozen = None if imputed is None else data.imputed
    return Swapped(
        roles,
        what,
        chosen,
        data.strata,
        len(exchange.cell),
        changed,
        exchange.redrawn,
        guarantee(roles, what, chosen, data.strata, frozen),
        errors,
        out.name,
        frozen,
        naming,
    )


def _exchanged(data: Counted, rate: Fraction, say: Callable[[], None]) -> tuple[Exchange, int]:
    """What was drawn and how many records have another value by it, with both invariants checked."""
    exchange = data.draw(rate)
    say()
    changed = data.run.apply(data.cells, data.rows, exchange)
    data.run.check()
    say()
    return exchange, changed


def swap_folder(path: Path, folder: Path, write: Callable[[Swapped, Path], None], **options: object) -> Swapped:
    """Swap a file into a new folder with `published/` and `inside/`, or leave nothing behind.

    `write` adds what is said about the run to the two folders.
    """
    name = f"swapped.{options.get('file_format', 'parquet')}"
    with new_folder(folder) as draft:
        for part in ("published", "inside"):
            (draft / part).mkdir()
        found = swap_file(path, draft / "published" / name, **options)  # type: ignore[arg-type]
        write(found, draft)
    return found


def guarantee(roles: Roles, unit: str, rate: Fraction, found: Strata, imputed: int | None = None) -> Guarantee:
    """What one run guarantees: Theorem 1 of Bailie, Gong and Meng.

    If some records are `imputed` and never moved, it is about the others: `found` is how these divide.
    """
    kind = f"{unit}s"
    epsilon = swap_epsilon(rate, found.largest)
    agree = ", ".join(roles.match)
    change = Change(Distance.HAMMING if imputed is None else Distance.FROZEN, unit)
    others = "" if imputed is None else " that were not imputed"
    same = "" if imputed is None else " and on every imputed record"
    return Guarantee(
        "permutation swapping",
        f"Records {f'that agree on {agree} ' if agree else ''}exchange {', '.join(roles.swap)} at a rate of "
        f"{short_rate(rate)}. Between any two data sets that agree on the tables named as invariants{same}, each "
        f"{unit} record that differs changes the odds of what is published by at most e^{epsilon:.6g}.",
        epsilon,
        (counts(kind, *roles.match, *roles.hold), counts(kind, *roles.match, *roles.swap)),
        roles.population(unit),
        change,
        varies=f"swap rate {rate}; {found.largest:,} records{others} in the largest stratum with two different ones",
        rule=f"permutation swapping (Theorem 1){' of the records' if others else ''}{others}",
        remarks=tuple(_remarks(rate, found, imputed)),
        rate=rate,
    )


def _remarks(rate: Fraction, found: Strata, imputed: int | None) -> Iterator[str]:
    """What a reader of the guarantee should know besides."""
    if imputed is not None:
        moved = "record was" if imputed == 1 else "records were"
        yield f"{imputed:,} imputed {moved} not moved, and have no guarantee."
    if found.single:
        alone = "records are alone in their strata: the invariants tell them as they are."
        if found.single == 1:
            alone = "record is alone in its stratum: the invariants tell it as it is."
        yield f"{found.single:,} {alone}"
    if found.largest == 0:
        yield "No stratum holds two different records: nothing is exchanged, and nothing is protected."
    elif found.exchanging < found.largest:
        tight = swap_epsilon(rate, found.exchanging)
        yield f"Where all swapped values of a stratum agree nothing changes; without those, epsilon is {tight:.6g}."


def _check_options(rate: Fraction | None, epsilon: float | None, form: str) -> None:
    if form not in FORMS:
        raise InputError(f"form = {form}: must be {' or '.join(FORMS)}")
    if (rate is None) == (epsilon is None):
        raise InputError("rate, epsilon: give one of them")


def _check_names(path: Path, roles: Roles, form: str) -> None:
    """A table has a column of its own, which no other may be named like."""
    for name in (*roles.swap, *roles.match, *roles.hold):
        if form == "table" and name.casefold() == "count":
            raise InputError(f"{path}: column {name!r} would stand twice in the table; choose records, or leave it out")


def _rate(rate: Fraction | None, epsilon: float | None, higher: bool, found: Strata) -> Fraction:
    """The rate that was asked for; one found for an epsilon never guarantees less than that, but for rounding."""
    if rate is not None:
        if rate in (0, 1) and found.largest:
            raise InputError(f"rate = {rate}: has no finite epsilon; choose one between 0 and 1")
        return rate
    asked = float(epsilon or 0)
    low, _ = rates_for(asked, found.largest)
    part = 1 / (1 + math.exp(min(asked, 700.0))) if higher else low  # who stays, or who is selected
    for digits in DIGITS:
        whole = Fraction(max(math.ceil(Fraction(part) * 10**digits), 1), 10**digits)
        chosen = 1 - whole if higher else whole
        if swap_epsilon(chosen, found.largest) <= asked:
            break
    return chosen

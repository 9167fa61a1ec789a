"""Swapping that leaves strata with a small probability: what is matched is no longer exact, and nothing is proved."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from safemargin.core import Change, Distance, Guarantee, InputError, IntArray, Progress, counts, no_progress
from safemargin.guarantees import Rate, rate_of
from safemargin.swap.permutation import Stratified, crossing_rates, swap_across
from safemargin.swap.reading import opened, workspace
from safemargin.swap.simulated import Simulated, baseline
from safemargin.swap.tables import Roles, Run

METHOD = "swapping across strata"


def simulate_across(
    data: object,
    *,
    swapped: Sequence[str],
    match: Sequence[str],
    loose: Sequence[str],
    rate: str | Rate,
    alpha: str | Rate,
    hold: Sequence[str] | None = None,
    unit: str = "household",
    household: str | None = None,
    file_format: str = "parquet",
    progress: Progress = no_progress,
) -> Simulated:
    """Swap within strata, but with probability `alpha` across them: probabilistic unit matching.

    A selected record exchanges with others that agree on `match`; with probability `alpha` it need not agree on those
    of these columns that are `loose`.
    """
    rate, alpha = rate_of(rate), rate_of(alpha)
    _check_options(match, loose)
    crossing_rates(rate, alpha)
    record = "household" if household else unit
    progress("counting records")
    asked = (swapped, match, hold, household)
    with (
        workspace(data) as space,
        opened(space.path, *asked, unit=unit, file_format=file_format, loose=loose) as run,
    ):
        roles = run.roles
        held = tuple(name for name in roles.hold if name not in loose)
        strict = replace(roles, match=tuple(match), hold=held)
        cells, wide, ids = _by_stratum(run, len(held))
        progress("drawing the exchange")
        crossing = swap_across(cells, wide, rate, alpha)
        progress("applying the exchange")
        changed = run.apply(Stratified.of(wide, cells.swapped, cells.numbers), ids, crossing.exchange)
        progress("writing the result")
        errors = run.errors_by_area()
        file = run.write(space.folder, "records", file_format, household)
        other = baseline(run, cells, ids, strict, record, rate)
    selected = len(crossing.exchange.cell)
    return Simulated(
        METHOD,
        roles,
        record,
        rate,
        int(cells.numbers.sum()),
        selected,
        changed,
        {"exchanged": {"within strata": selected - crossing.across, "across strata": crossing.across}},
        guarantee(roles, tuple(loose), record, rate, alpha),
        errors,
        other,
        file,
        space,
    )


def _check_options(match: Sequence[str], loose: Sequence[str]) -> None:
    if not loose:
        raise InputError("loose: name at least one matched column that records need not always agree on")
    for name in loose:
        if name not in match:
            raise InputError(f"loose column {name!r}: must be one of those matched on ({', '.join(match) or 'none'})")


def guarantee(roles: Roles, loose: Sequence[str], unit: str, rate: Fraction, alpha: Fraction) -> Guarantee:
    """What stays exact; how much the rest is protected is not known."""
    kind = f"{unit}s"
    return Guarantee(
        METHOD,
        f"Records that agree on {', '.join((*roles.match, *loose))} exchange {', '.join(roles.swap)} at a rate of "
        f"{float(rate):g}, but need not agree on {', '.join(loose)} with probability {float(alpha):g}. No budget is "
        "known for this.",
        None,
        (counts(kind, *roles.match, *roles.hold), counts(kind, *roles.match, *roles.swap)),
        roles.population(unit),
        Change(Distance.HAMMING, unit),
        rule="none: the budget of probabilistic unit matching is open (Bailie, Gong and Meng, section 6.2)",
        remarks=(
            "The epsilon of Theorem 1 is about exchanges within strata only, and does not hold here.",
            f"The number of {kind} by {', '.join(roles.swap)} is kept; by {', '.join((*loose, *roles.swap))} it is "
            "not, nor is anything that hangs on it.",
        ),
    )


def _by_stratum(run: Run, first: int) -> tuple[Stratified, IntArray, IntArray]:
    """Cells in order of wide strata and of the strata in them, which the loose columns from the `first` held one make;
    the wide stratum of each, and its row in the database."""
    cells, ids = run.cells()
    kind = run.kinds(run.hold[first:])
    # The strict stratum is the wide one and what the loose columns hold, in one number.
    stratum = cells.stratum * (int(kind.max()) + 1) + kind[ids]
    order = np.argsort(stratum, kind="stable")
    return Stratified.of(stratum[order], cells.swapped[order], cells.numbers[order]), cells.stratum[order], ids[order]

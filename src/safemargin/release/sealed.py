"""Sealed elections: one tally per axis, the binding total beside them, and how far their totals are apart."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from safemargin.core import Inconsistency, InputError, Schema, Table, Tally, frozen
from safemargin.io import natural_order, read_sheet, tidy_table
from safemargin.release.axes import build_axis
from safemargin.release.option_columns import melted
from safemargin.release.project import Project, TalliesSection
from safemargin.release.rolls import TidyFile, build_rolls, open_counts, open_tidy, read_rolls, tally


class InconsistencyWarning(UserWarning):
    """Elections over the same people have different totals, within the tolerance."""


@dataclass(frozen=True)
class SealedElection:
    """The result of one sealed election: what messages call it, and its votes per option."""

    name: str
    totals: tuple[int, ...]


def tabulate_elections(project: Project, tallies: TalliesSection) -> tuple[Table, tuple[str, ...]]:
    """Votes by each axis alone and in total, and the roll; and sentences about how files were read."""
    rolls = read_rolls(project, project.roll_files)
    files = {name: _open_election(project, tallies, name) for name in project.axes}
    total = _open_total(project, tallies)
    seen = {option for file in (*files.values(), *([total] if total else [])) for option in file.table.options}
    options = tuple(sorted(seen, key=natural_order))
    axes = tuple(
        build_axis(
            (files[name].path, project.column(name)),
            name,
            section,
            [category for file in (files[name], *rolls) for category in file.seen(name)],
            project.coding(name),
        )
        for name, section in project.axes.items()
    )
    schema = Schema(axes, options)
    votes = tuple(tally(files[axis.name], (axis,), options) for axis in axes)
    elections = tuple(
        SealedElection(f"{files[axis.name].path} (axis {axis.name})", _totals(part))
        for axis, part in zip(axes, votes, strict=True)
    )
    if total is not None:
        binding = SealedElection(f"{total.path} (total)", _totals(tally(total, (), options)))
    else:
        binding = elections[0]
    rate = _disagreement(elections, binding, options, tallies)
    tier0 = Tally((), frozen(np.zeros((1, 0)), 0), frozen(binding.totals, len(options)))
    roll = build_rolls(rolls, schema, (*votes, tier0))
    if tallies.turnout == "apart":
        roll = tuple(_answered(part) for part in (*votes, tier0))
    inconsistency = Inconsistency()
    if total is not None:
        people = int(max(part.counts.sum() for part in roll))
        estimate = estimate_inconsistency([election.totals for election in elections], binding.totals, people)
        by_axis = {axis.name: election.totals for axis, election in zip(axes, elections, strict=True)}
        inconsistency = Inconsistency(rate, by_axis, estimate, tallies.turnout == "apart")
    notes = (note for file in (*files.values(), *([total] if total else []), *rolls) for note in file.notes)
    return Table(schema, (*votes, tier0), roll, inconsistency), tuple(notes)


def _open_election(project: Project, tallies: TalliesSection, name: str) -> TidyFile:
    path = tallies.files[name]
    file = _open_tally(path, project, tallies)
    if name not in file.columns:
        column = project.column(name)
        raise InputError(f"{path}: there is no column {column!r}; the axes in it are {', '.join(file.table.axes)}")
    if len(file.table.axes) > 1:
        raise InputError(f"{path}: has columns {', '.join(file.table.axes)}: a sealed election has one axis, {name!r}")
    return _with_options(file)


def _open_tally(path: Path, project: Project, tallies: TalliesSection) -> TidyFile:
    """A tally in any form, or one with a column of counts per option that the project names."""
    if tallies.options is None:
        return open_counts(path, project)
    sheet = read_sheet(path)
    wide = not {"option", "count"} <= set(sheet.columns)
    return open_tidy(path, project, tidy_table(melted(sheet, tallies.options) if wide else sheet))


def _open_total(project: Project, tallies: TalliesSection) -> TidyFile | None:
    if tallies.total is None:
        return None
    file = _open_tally(tallies.total, project, tallies)
    if file.table.axes:
        raise InputError(f"{file.path}: has columns {', '.join(file.table.axes)}: a total has only option and count")
    return _with_options(file)


def _with_options(file: TidyFile) -> TidyFile:
    if file.table.is_roll or not file.table.options:
        raise InputError(f"{file.path}: a tally needs the columns 'option' and 'count'")
    return file


def _answered(votes: Tally) -> Tally:
    """How many people answered one election, by its axis."""
    return Tally(votes.axes, votes.codes, frozen(votes.counts.sum(axis=1), 1))


def _totals(votes: Tally) -> tuple[int, ...]:
    return tuple(votes.totals.tolist())


def _disagreement(
    elections: tuple[SealedElection, ...], binding: SealedElection, options: tuple[str, ...], tallies: TalliesSection
) -> float:
    """The largest difference from the binding total as a share of its votes; warn of it, refuse too much.

    Records that are missing are an option of their own: turnout that differs is a difference too.
    """
    votes = sum(binding.totals)
    if votes == 0:
        raise InputError(f"{binding.name}: nobody voted; the table is empty")
    apart = [
        (abs(count - expected), election, text)
        for election in elections
        for text, count, expected in (
            *zip(map(repr, options), election.totals, binding.totals, strict=True),
            ("all options", sum(election.totals), votes),
        )
    ]
    widest, election, text = max(apart, key=lambda entry: entry[0])
    if widest == 0:
        return 0.0
    rate = widest / votes
    counts, expected = (
        dict(zip([*map(repr, options), "all options"], (*t, sum(t)), strict=True))[text]
        for t in (election.totals, binding.totals)
    )
    said = (
        f"{election.name} counts {counts} and {binding.name} counts {expected} "
        f"for {text}, {rate:.2%} of {votes} votes apart"
    )
    if rate > tallies.tolerance:
        raise InputError(f"{said}; tallies.tolerance = {tallies.tolerance} allows {tallies.tolerance:.2%}")
    if tallies.total is None:
        raise InputError(f"{said}; set tallies.total to the file of the binding election")
    others = [e.name for e in elections if e.totals != binding.totals and e is not election]
    also = f"; {', '.join(others)} also differ" if others else ""
    warnings.warn(f"totals disagree within the tolerance: {said}{also}", InconsistencyWarning, stacklevel=4)
    return rate


def estimate_inconsistency(
    elections: Sequence[Sequence[int]], binding: Sequence[int], people: int
) -> tuple[float, float, float]:
    """The share of people who answered an election otherwise than the binding one, with a 95 % interval.

    Somebody who does is taken to answer like two people drawn from everybody who differ; no listed answer is an option
    of its own. Then the differences `d` of an election have mean 0 and `sum d^2 / p` has mean `2 delta n (k - 1) / h`,
    where `h` is the chance that two people differ; over all elections it follows a chi-square law. At least as many
    people differ as the totals do.
    """
    from scipy.stats import chi2  # takes long to import, and few elections disagree

    counts = np.array([[*votes, people - sum(votes)] for votes in (binding, *elections)], dtype=np.float64)
    apart = counts[1:] - counts[0]
    share = counts.mean(axis=0) / people  # over all elections: nobody may be silent in one of them
    used = share > 0
    share = share[used]
    differ = 1 - float((share**2).sum())
    freedom = len(apart) * (len(share) - 1)
    surely = float(np.abs(apart).sum(axis=1).max()) / 2 / people
    if not differ or not freedom:
        return surely, surely, surely
    # Half a vote of rounding: totals that agree do not show that nobody differed.
    sums = [
        differ / 2 * float((gap**2 / share).sum()) / people for gap in (apart[:, used], np.abs(apart[:, used]) + 0.5)
    ]
    ends = sums[0] / chi2.ppf(0.975, freedom), sums[1] / chi2.ppf(0.025, freedom)
    return max(sums[0] / freedom, surely), max(ends[0], surely), min(max(ends[1], surely), 1.0)

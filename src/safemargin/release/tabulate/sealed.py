"""Sealed elections: one tally per axis, tier 0 beside them, and never two axes together."""

import warnings
from collections import Counter
from dataclasses import dataclass

import numpy as np

from safemargin.core import Inconsistency, InputError, Schema, Table, Tally, frozen
from safemargin.io import natural_order
from safemargin.release.project import Project
from safemargin.release.sections import TalliesSection
from safemargin.release.tabulate.axes import build_axis
from safemargin.release.tabulate.roll import TidyFile, build_rolls, open_tidy, read_rolls, tally


class InconsistencyWarning(UserWarning):
    """Elections over the same people have different totals, within the tolerance."""


@dataclass(frozen=True)
class SealedElection:
    """The result of one sealed election: what messages call it, and its votes per option."""

    name: str
    totals: tuple[int, ...]


def tabulate_elections(project: Project, tallies: TalliesSection) -> Table:
    """Votes by each axis alone and in total, and the roll."""
    rolls = read_rolls(project)
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
        )
        for name, section in project.axes.items()
    )
    schema = Schema(axes, options)
    votes = tuple(tally(files[axis.name], (axis,), options) for axis in axes)
    elections = tuple(
        SealedElection(f"{files[axis.name].path} (axis {axis.name})", _totals(part))
        for axis, part in zip(axes, votes, strict=True)
    )
    binding = _binding(elections)
    if total is not None:
        binding = SealedElection(f"{total.path} (tier 0)", _totals(tally(total, (), options)))
    rate = _disagreement(elections, binding, options, tallies.tolerance)
    tier0 = Tally((), frozen(np.zeros((1, 0)), 0), frozen(binding.totals, len(options)))
    inconsistency = Inconsistency()
    if rate > 0:
        inconsistency = Inconsistency(rate, {a.name: e.totals for a, e in zip(axes, elections, strict=True)})
    return Table(schema, (*votes, tier0), build_rolls(rolls, schema, (*votes, tier0)), inconsistency)


def _open_election(project: Project, tallies: TalliesSection, name: str) -> TidyFile:
    path = tallies.files[name]
    file = open_tidy(path, project)
    if name not in file.columns:
        column = project.column(name)
        raise InputError(f"{path}: there is no column {column!r}; the axes in it are {', '.join(file.table.axes)}")
    if len(file.table.axes) > 1:
        raise InputError(f"{path}: has columns {', '.join(file.table.axes)}: a sealed election has one axis, {name!r}")
    return _with_options(file)


def _open_total(project: Project, tallies: TalliesSection) -> TidyFile | None:
    if tallies.total is None:
        return None
    file = open_tidy(tallies.total, project)
    if file.table.axes:
        raise InputError(f"{file.path}: has columns {', '.join(file.table.axes)}: a total has only option and count")
    return _with_options(file)


def _with_options(file: TidyFile) -> TidyFile:
    if file.table.is_roll or not file.table.options:
        raise InputError(f"{file.path}: a tally needs the columns 'option' and 'count'")
    return file


def _totals(votes: Tally) -> tuple[int, ...]:
    return tuple(votes.totals.tolist())


def _binding(elections: tuple[SealedElection, ...]) -> SealedElection:
    """The first election whose totals most others share."""
    shared = Counter(election.totals for election in elections)
    return max(elections, key=lambda election: shared[election.totals])


def _disagreement(
    elections: tuple[SealedElection, ...], binding: SealedElection, options: tuple[str, ...], tolerance: float
) -> float:
    """The largest difference of a total from tier 0 as a share of all votes; warn of it, refuse too much."""
    votes = sum(binding.totals)
    if votes == 0:
        raise InputError(f"{binding.name}: nobody voted; the table is empty")
    apart = [
        (abs(count - expected), election, option)
        for election in elections
        for option, count, expected in zip(range(len(options)), election.totals, binding.totals, strict=True)
    ]
    widest, election, option = max(apart, key=lambda entry: entry[0])
    if widest == 0:
        return 0.0
    rate = widest / votes
    said = (
        f"{election.name} counts {election.totals[option]} and {binding.name} counts {binding.totals[option]} "
        f"for {options[option]!r}, {rate:.2%} of {votes} votes apart"
    )
    if rate > tolerance:
        raise InputError(f"{said}; tallies.tolerance = {tolerance} allows {tolerance:.2%}")
    others = [e.name for e in elections if e.totals != binding.totals and e is not election]
    also = f"; {', '.join(others)} also differ" if others else ""
    warnings.warn(f"totals disagree within the tolerance: {said}{also}", InconsistencyWarning, stacklevel=4)
    return rate

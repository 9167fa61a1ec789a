"""What a release will cost, read off the roll before the count.

Two kinds of statements, which are never mixed:
    certain      what the rule does whatever people answer, since it reads the roll only: groups under kappa people are
                 merged, combinations that subtraction would lay open are suppressed, axes beyond reach are omitted
    probable     answers are drawn by a model (`population`), and the real rule decides every draw; the share of draws
                 in which a table is exact, merged or lost estimates its probability

Definitions, for one draw
    exact        every category of the table is published by itself and unchanged
    lost         nothing of it is published, or the release is refused
    merged       neither: groups are merged, suppressed or noised

Interval: Clopper and Pearson (1934), which holds whatever the probability is: with n draws, x of them exact, all
probabilities p for which x or fewer, and x or more, have a chance of at least 2.5 % each. The number of draws is fixed
before the first one by a count of work (`draws_within`), never by a clock: the same call gives the same figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from safemargin.core import (
    Generator,
    InputError,
    Onlooker,
    Progress,
    Table,
    Target,
    label,
    no_progress,
    numpy_generator,
    one_thread,
    onlooker_with_roll,
)
from safemargin.release.decide.decide import decide
from safemargin.release.decide.maximise import maximise
from safemargin.release.inputs import Inputs, project_of, tabulate
from safemargin.release.plan import Action, MarginDecision, Plan
from safemargin.release.population import CountedPopulation, Model
from safemargin.release.project import Project
from safemargin.release.read_roll import options_of, read_population
from safemargin.release.report.forecast import Certain, Chance, Forecast
from safemargin.release.rule.make import rule_for
from safemargin.ui import percent

STATES = ("exact", "merged", "lost")
MOST_DRAWS, LEAST_DRAWS = 200, 10
WORK = 400_000
"""Counts (profiles x options x axes) that all draws together may hold: 200 draws of 100 profiles with 5 options by 4
axes. On 500,000 voters by four axes a draw takes as long as a release, so there are ten."""


def draws_within(population: CountedPopulation, axes: int, work: int = WORK) -> int:
    """How many draws a forecast makes: as many as the work allows, within limits."""
    return int(min(max(work // max(population.size * axes, 1), LEAST_DRAWS), MOST_DRAWS))


def parse_shares(shares: Mapping[str, float] | str) -> dict[str, float]:
    """Stated shares; as a text `yes=.6,no=.4`.

    >>> parse_shares("yes=.6,no=.4")
    {'yes': 0.6, 'no': 0.4}
    """
    if not isinstance(shares, str):
        stated = {str(name): float(share) for name, share in shares.items()}
    else:
        stated = {}
        for part in shares.split(","):
            name, sign, text = (piece.strip() for piece in part.rpartition("="))
            try:
                stated[name] = float(text)
            except ValueError:
                sign = ""
            if not sign or not name:
                raise InputError(f"shares: {part.strip()[:60]!r}: write OPTION=SHARE, such as yes=.6,no=.4")
    for name, share in stated.items():
        if not 0 <= share <= 1:
            raise InputError(f"shares: {name!r} = {share:g}: must be from 0 to 1")
    if len(stated) < 2 or abs(sum(stated.values()) - 1) > 1e-6:
        raise InputError(
            f"shares: must name two options or more and add up to 1; they add up to {sum(stated.values()):g}"
        )
    return stated


def forecast(
    data: object,
    *,
    votes: Path | str | None = None,
    shares: Mapping[str, float] | str | None = None,
    draws: int | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
    **overrides: Any,
) -> Forecast:
    """What a release of a project will keep, read off the roll before the count.

    `data` is a project or what `release` takes. Answers are drawn by the shares of each group in the file `votes` of
    last year, by stated `shares` of everybody, or else by shares that are themselves drawn; `draws` is how often
    (default: as many as a fixed amount of work allows). Nothing is published, and no answer of this year is used.
    """
    if votes is not None and shares is not None:
        raise InputError("votes and shares: give at most one of them")
    if draws is not None and not 0 <= draws <= 100_000:
        raise InputError(f"draws = {draws}: must be from 0 to 100000")
    project, source = project_of(data, overrides)
    progress("reading")
    last = None if votes is None else last_year(project, Path(votes))
    stated = None if shares is None else parse_shares(shares)
    given = (*(stated or ()), *(last.schema.options if last is not None else ()))
    population, notes = read_population(project, options_of(project, source, given), source)
    if stated is not None:
        words = ", ".join(f"{name} {percent(share)}" for name, share in stated.items())
        model = Model(f"Everybody answers independently with the stated shares: {words}.", shares=stated)
    elif last is not None:
        model = Model(
            f"Every group of every axis answers as in {Path(str(votes)).name}, people independently.", last=last
        )
    else:
        model = Model("Nothing is known: the shares of everybody are drawn, each combination as likely as any other.")
    count = draws_within(population, len(project.axes)) if draws is None else draws
    generator = numpy_generator(seed)
    with one_thread():
        return _simulated(project, population, model, count, generator, (*notes, *_assumptions(project)), progress)


def last_year(project: Project, path: Path) -> Table:
    """The votes of another file that is read like the data of the project; for sealed tallies a tidy file."""
    if project.data is not None:
        data = project.data.model_copy(update={"file": path, "source": None, "table": None})
        other = project.model_copy(update={"data": data, "roll": None, "ledger": None, "declared": ()})
        return tabulate(other)
    axes = {name: {"column": project.column(name)} for name in project.axes}
    content = {"data": {"file": str(path.resolve()), "answer": "option", "count": "count"}, "axes": axes}
    return tabulate(Project.build(content))


def _assumptions(project: Project) -> tuple[str, ...]:
    notes = ["Everybody on the roll is taken to answer."]
    if any(onlooker.facts or onlooker.correlations for onlooker in project.onlookers):
        notes.append("Facts that onlookers hold are about real answers and are not used.")
    return tuple(notes)


def _onlookers(project: Project, table: Table) -> tuple[Onlooker, ...]:
    return tuple(onlooker_with_roll(table, each.composition, each.name, each.knows_rule) for each in project.onlookers)


@dataclass
class _Tally:
    """What happened in the draws so far."""

    states: dict[str, dict[str, int]] = field(default_factory=dict)
    exact: dict[str, dict[str, int]] = field(default_factory=dict)
    shares: list[float] = field(default_factory=list)
    published: int = 0

    def add(self, plan: Plan) -> None:
        """Count one plan."""
        held = plan.certificate.certified
        people = inside = 0
        anything = False
        for axis in dict.fromkeys(decision.axis for decision in plan.decisions):
            decisions = [decision for decision in plan.decisions if decision.axis == axis]
            exact = [d for d in decisions if d.action is Action.EXACT and held]
            lost = not held or all(d.action is Action.SUPPRESSED for d in decisions)
            self._state(axis, "lost" if lost else "exact" if len(exact) == len(decisions) else "merged")
            anything |= not lost
            people += sum(d.people for d in decisions)
            inside += sum(d.people for d in exact)
            seen = self.exact.setdefault(axis, {})
            for decision in decisions:
                for name in decision.group:
                    seen[name] = seen.get(name, 0) + (held and decision.action is Action.EXACT)
        for margin in plan.margins:
            self._state(margin.name, _margin_state(margin) if held else "lost")
        self.shares.append(inside / people if people else 1.0)
        self.published += anything

    def _state(self, table: str, state: str) -> None:
        counted = self.states.setdefault(table, dict.fromkeys(STATES, 0))
        counted[state] += 1


def _margin_state(margin: MarginDecision) -> str:
    if not margin.is_published:
        return "lost"
    merged = margin.hidden or any(len(group) > 1 for groups in margin.groups for group in groups)
    return "merged" if merged or margin.cells < margin.all_cells else "exact"


def _simulated(
    project: Project,
    population: CountedPopulation,
    model: Model,
    draws: int,
    generator: Generator,
    notes: Sequence[str],
    progress: Progress,
) -> Forecast:
    """Draw, decide, count."""
    target, tally = project.target, _Tally()
    certain: Certain | None = None
    for done in range(max(draws, 1)):
        progress("drawing answers", done, draws)
        table = drawn(population, model, generator)
        onlookers = _onlookers(project, table)
        target = Inputs(project, table, onlookers).target  # the halves of a scale are secrets, too
        if certain is None:
            certain = certain_losses(table, target, onlookers, project.protect)
        if draws:
            tally.add(decided_plan(project, table, target, onlookers))
    assert certain is not None
    names = [*project.axes, *(margin.name for margin in project.wanted if len(margin.axes) > 1)]
    shares = np.sort(np.array(tally.shares or [0.0]))
    ends = (float(np.quantile(shares, 0.05)), float(np.quantile(shares, 0.95)))
    roll = {axis.name: _sizes(population, axis.name, axis.categories) for axis in population.schema.axes}
    return Forecast(
        title=project.title or "Release",
        people=population.people,
        target=target,
        assumed=model.words,
        draws=draws,
        certain=certain,
        tables={
            name: {state: Chance(tally.states[name][state], draws) for state in STATES}
            for name in names
            if name in tally.states
        },
        groups={
            axis: {name: Chance(counted.get(name, 0), draws) for name in roll[axis]}
            for axis, counted in tally.exact.items()
        },
        sizes=roll,
        published=Chance(tally.published, draws),
        people_exact=float(np.mean(shares)) if draws else 0.0,
        people_exact_spread=ends,
        notes=tuple(notes),
    )


def drawn(population: CountedPopulation, model: Model, generator: Generator) -> Table:
    """One draw of everybody's answers."""
    profiles = population.profiles(generator)
    return population.answered(profiles, model.chances(population.schema, profiles, generator), generator)


def decided_plan(project: Project, table: Table, target: Target, onlookers: Sequence[Onlooker]) -> Plan:
    """What the rule decides for a table, with the tables of several axes that the project asks for."""
    plan = decide(table, target, onlookers, protect=project.protect)
    if project.wanted:
        plan = maximise(plan, table, project.wanted, onlookers, protect=project.protect)
    return plan


def certain_losses(table: Table, target: Target, onlookers: Sequence[Onlooker], protect: str) -> Certain:
    """What the rule does before it looks at any answer: this reads sizes only."""
    limits = target.limits(table.totals.tolist(), int(table.people(()).counts.sum()), table.schema.options)
    rule = rule_for(table, limits, onlookers, protect, target)
    merged: dict[str, tuple[str, ...]] = {}
    suppressed: dict[str, tuple[str, ...]] = {}
    lost = []
    for cover in rule.covers:
        axis, order = cover.split.axis.name, cover.split.axis.categories
        if not cover.split.is_published:
            lost.append(axis)
            continue
        if groups := [group for group in cover.split.groups if len(group) > 1]:
            merged[axis] = tuple(label(group, order) for group in groups)
        if cover.always:
            suppressed[axis] = tuple(sorted(label(group, order) for group in cover.always))
    return Certain(merged, suppressed, tuple(lost))


def _sizes(population: CountedPopulation, axis: str, categories: Sequence[str]) -> dict[str, int]:
    roll = next(tally for tally in population.roll if axis in tally.axes).margin((axis,))
    sizes = dict(zip(roll.codes[:, 0].tolist(), roll.counts[:, 0].tolist(), strict=True))
    return {name: int(sizes.get(code, 0)) for code, name in enumerate(categories)}

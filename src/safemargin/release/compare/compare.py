"""Ways to publish the same tables, measured side by side on one population. Nothing here is published."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from safemargin.audit.attack import attack
from safemargin.core import (
    FloatArray,
    InputError,
    IntArray,
    Onlooker,
    Progress,
    Table,
    Target,
    no_progress,
    onlooker_with_roll,
)
from safemargin.guarantees import noise_likelihood, one_count_suffices, rounded_up
from safemargin.release.compare.belief import largest_posterior
from safemargin.release.compare.comparison import Comparison, Learnt, MeasuredMethod
from safemargin.release.compare.local import local_dp
from safemargin.release.compare.measures import (
    PROPERTIES,
    MethodFacts,
    answers,
    counts_with_intervals,
    measure_errors,
    people_in,
)
from safemargin.release.compare.methods import (
    Case,
    PublishingMethod,
    Tables,
    cell_key,
    coarsening,
    global_dp,
    suppression,
    untouched,
)
from safemargin.release.decide.decide import decide
from safemargin.release.fields import certificate_fields
from safemargin.release.inputs import project_of, read_inputs
from safemargin.release.plan import Action, Plan
from safemargin.release.publish import publish
from safemargin.release.rule.split import covers_everybody

WAYS = ("auto", "merge", "noise")


def ours(case: Case) -> list[PublishingMethod]:
    """The release as the project asks for it, and the other ways to protect groups."""
    return [_our_way(case, protect) for protect in dict.fromkeys((case.protect, *WAYS))]


def _our_way(case: Case, protect: str) -> PublishingMethod:
    """Decide once; noise, if it is asked for, is drawn afresh."""
    name = "safemargin" if protect == case.protect else f"safemargin, {protect}"
    does = "exact where a certificate shows that no answer is disclosed; other groups: "
    method = PublishingMethod(name=name, family="safemargin", does=does + protect, must_be_safe=True)
    try:
        plan = decide(case.table, case.target, case.onlookers, protect=protect)
    except InputError as error:  # noise that cannot be drawn for these tables, which nobody asked for
        if protect == case.protect:
            raise
        return replace(method, refused=str(error))
    if not plan.certificate.certified:
        return replace(method, refused="no release that was tried meets the target: nothing is published")
    release = publish(plan, case.table)
    noised = any(decision.action is Action.NOISED for decision in plan.decisions)
    return replace(
        method,
        draw=lambda draws: (publish(plan, case.table).tables if noised else release.tables for _ in range(draws)),
        known=lambda tables, onlooker: replace(release, tables=tables),
        is_random=noised,
        law=None if not noised else partial(_our_law, plan),
        one_count=one_count_suffices(case.table.schema, covers_everybody(case.table)),
        loss=max((guarantee.epsilon or 0.0 for guarantee in plan.guarantees), default=None),
        guarantee=certificate_fields(release, plan.certificate, case.table, case.onlookers, "")["statement"],
        guarantees=plan.guarantees,
    )


def _our_law(plan: Plan, counts: IntArray, printed: int, people: int) -> FloatArray:
    """Two-sided geometric noise; every noised axis has the same, unless axes have an epsilon of their own."""
    epsilon = max(decision.epsilon or 0.0 for decision in plan.decisions)
    return noise_likelihood(counts, printed, epsilon)


METHODS: Sequence[Callable[[Case], list[PublishingMethod]]] = (
    untouched,
    global_dp,
    suppression,
    coarsening,
    cell_key,
    ours,
    local_dp,
)

EPSILONS = (0.1, 1.0, 10.0)
THRESHOLD = 10
DRAWS = 100


def compare(
    data: object,
    *,
    epsilons: Sequence[float] = EPSILONS,
    threshold: int = THRESHOLD,
    draws: int = DRAWS,
    seed: int | None = 0,
    progress: Progress = no_progress,
    **overrides: Any,
) -> Comparison:
    """Measure ways to publish `data` on the data themselves: what each costs and what it discloses.

    `data` and the further arguments are those of `release`. Methods that draw noise are measured `draws` times, and
    what onlookers can infer is taken from the first. Noise of differential privacy is always fresh; `seed` is for
    record keys, and None makes those fresh as well. Nothing is published.
    """
    project, source = project_of(data, overrides)
    progress("reading")
    inputs = read_inputs(project, source)
    comparison = measure(
        inputs.table,
        inputs.target,
        inputs.onlookers,
        protect=project.protect,
        epsilons=epsilons,
        threshold=threshold,
        draws=draws,
        seed=seed,
        progress=progress,
    )
    return replace(comparison, title=project.title or comparison.title, notes=inputs.notes)


def measure(
    table: Table,
    target: Target,
    onlookers: Sequence[Onlooker] = (),
    *,
    protect: str = "auto",
    epsilons: Sequence[float] = EPSILONS,
    threshold: int = THRESHOLD,
    draws: int = DRAWS,
    seed: int | None = 0,
    progress: Progress = no_progress,
) -> Comparison:
    """The total and every axis of `table` by every method."""
    if threshold < 1:
        raise InputError(f"threshold = {threshold}: must be at least 1")
    for epsilon in epsilons:
        if not 0 < epsilon < math.inf:
            raise InputError(f"epsilon = {epsilon:g}: must be positive and finite")
    if draws < 2:
        raise InputError(f"draws = {draws}: must be at least 2")
    if not table.schema.axes:
        raise InputError("there is no axis: only the total could be published")
    watching = tuple(onlookers) or (onlooker_with_roll(table, "joint"),)
    case = Case(table, target, watching, protect, tuple(dict.fromkeys(epsilons)), threshold, seed)
    measured, properties = [], []
    for build in METHODS:
        progress(f"measuring {build.__name__.replace('_', ' ')}")
        for method in build(case):
            facts = _measure_method(case, method, draws if method.is_random else 1)
            measured.append(facts.measured)
            properties.append(answers(facts))
    return Comparison(
        methods=tuple(measured),
        properties={name: tuple(answered[name] for answered in properties) for name in PROPERTIES},
        target=target,
        threshold=threshold,
        people=case.people,
        cells=sum(split.votes.size for split in case.splits),
        axes=len(case.splits),
    )


def _measure_method(case: Case, method: PublishingMethod, draws: int) -> MethodFacts:
    if method.refused:
        return _nothing(case, method)
    drawn = list(method.draw(draws))
    seen = learnt(method, drawn[0], case)
    if method.must_be_safe and any(onlooker.attacks for onlooker in seen):
        return _nothing(case, replace(method, refused="an attack succeeded: nothing is published"))
    facts = measure_errors(case, method, drawn, seen)
    believed = float(rounded_up(largest_posterior(case, method, drawn[0])))
    counts = counts_with_intervals(case, method, drawn[0])
    return replace(facts, measured=replace(facts.measured, posterior=believed, counts=counts))


def learnt(method: PublishingMethod, tables: Tables, case: Case) -> tuple[Learnt, ...]:
    """One entry per onlooker. Noise without bounds is no fact, so nothing is inferred from it."""
    totals = dict(zip(case.table.schema.options, case.table.totals.tolist(), strict=True))
    slack = case.table.inconsistency.slack(sum(totals.values()))
    entries = []
    for onlooker in case.onlookers:
        findings = attack(method.known(tables, onlooker), onlooker, slack=slack, sharp=None, judged=totals)
        cells = [finding for attempt in findings.attempts for finding in attempt.findings]
        entries.append(
            Learnt(
                onlooker=onlooker.name,
                verdicts=findings.exposure.tallied(case.target),
                people_exposed=people_in(cells, case.table),
                attacks=tuple(attempt.attack for attempt in findings.attempts if attempt.findings),
            )
        )
    return tuple(entries)


def _nothing(case: Case, method: PublishingMethod) -> MethodFacts:
    """What is to be said of a method that publishes nothing."""
    seen = tuple(Learnt(onlooker.name, {}, 0) for onlooker in case.onlookers)
    measured = MeasuredMethod(method.name, method.family, method.refused, learnt=seen, is_published=False)
    return MethodFacts(case, method, measured)

"""The seven properties of section 15 of the paper, as facts about one table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from safemargin.core import BoolArray
from safemargin.release.compare.comparison import MeasuredMethod, PropertyAnswer
from safemargin.release.compare.method import Case, Method
from safemargin.release.compare.reading import Errors
from safemargin.release.decide.split import irregular

USABLE = 0.05
"""A small group is told apart if it is printed by itself and its counts are off by at most this share of its people."""

FLAT = 0.5
"""Noise is flat if regular counts are off by at least this much of what the others are."""


@dataclass(frozen=True)
class MethodFacts:
    """One method with what was measured of it; `errors` is None where nothing is published."""

    case: Case
    method: Method
    measured: MeasuredMethod
    errors: Errors | None

    @property
    def regular(self) -> tuple[BoolArray, ...]:
        """Per axis, the categories that meet the target by themselves."""
        return tuple(~irregular(one, self.case.limits) & (one.people > 0) for one in self.case.splits)

    @property
    def others(self) -> tuple[BoolArray, ...]:
        """Per axis, the categories with people that do not."""
        return tuple((one.people > 0) & ~fine for one, fine in zip(self.case.splits, self.regular, strict=True))


def answers(facts: MethodFacts) -> dict[str, PropertyAnswer]:
    """One answer per property; a release that is refused has none of them but costs nothing by surprise."""
    if facts.errors is None:
        return {name: PropertyAnswer("no", facts.method.refused) for name in PROPERTIES}
    return {name: answer(facts, facts.errors) for name, answer in PROPERTIES.items()}


def _binding(facts: MethodFacts, errors: Errors) -> PropertyAnswer:
    binding, draws = errors.binding, errors.draws
    if binding.exact:
        return PropertyAnswer("yes", "every total is exact")
    changed = round((1 - binding.winner_kept) * draws)
    return PropertyAnswer(
        "no", f"totals are off by {binding.mean_error:.3g}; another winner in {changed} of {draws} draws"
    )


def _regular(facts: MethodFacts, errors: Errors) -> PropertyAnswer:
    exact = [mine.all(axis=1) for mine in errors.reading.exact]
    found = sum(int((fine & mine).sum()) for fine, mine in zip(facts.regular, exact, strict=True))
    count = sum(int(fine.sum()) for fine in facts.regular)
    return PropertyAnswer(_all_of(found, count), f"{found} of {count} regular groups are exact")


def _per_cell(facts: MethodFacts, errors: Errors) -> PropertyAnswer:
    regular, others = _mean(errors, facts.regular), _mean(errors, facts.others)
    if regular is None:
        return PropertyAnswer("no", "no group is regular")
    words = f"regular counts are off by {regular:.3g}"
    words += "" if others is None else f", the others by {others:.3g}"
    if regular == 0:
        return PropertyAnswer("yes", words)
    return PropertyAnswer("partly" if others is not None and regular < FLAT * others else "no", words)


def _in_advance(facts: MethodFacts, errors: Errors) -> PropertyAnswer:
    if not facts.method.is_random:
        return PropertyAnswer("yes", f"off by {errors.mean:.3g}, the same in every run")
    expected = facts.method.expected
    law = "" if expected is None else f"the law says {expected:.3g} per count, "
    return PropertyAnswer("partly", f"{law}{errors.draws} draws gave {errors.mean:.3g}; not known for a single count")


def _small_areas(facts: MethodFacts, errors: Errors) -> PropertyAnswer:
    told = count = 0
    for one, off, alone in zip(facts.case.splits, errors.by_group, errors.reading.alone, strict=True):
        occupied = one.people > 0
        small = occupied & (one.people <= np.median(one.people[occupied])) if occupied.any() else occupied
        told += int((small & alone & (off <= USABLE * one.people)).sum())
        count += int(small.sum())
    words = f"{told} of {count} small groups are told apart to within {USABLE:.0%} of their people"
    return PropertyAnswer(_all_of(told, count), words.replace("%", " %"))


def _guarantee(facts: MethodFacts, errors: Errors) -> PropertyAnswer:
    if facts.method.guarantee:
        return PropertyAnswer("yes", facts.method.guarantee)
    people = facts.measured.people_exposed
    return PropertyAnswer("no", f"none is stated; the audit finds {people:,} people exposed")


def _unconditional(facts: MethodFacts, errors: Errors) -> PropertyAnswer:
    unconditional = facts.method.loss is not None and not any(exact.any() for exact in errors.reading.exact)
    return PropertyAnswer("yes" if unconditional and not errors.binding.exact else "no", facts.method.auxiliary)


def _mean(errors: Errors, chosen: tuple[BoolArray, ...]) -> float | None:
    values = np.concatenate([off[mine] for off, mine in zip(errors.by_group, chosen, strict=True)])
    return float(values.mean()) if len(values) else None


def _all_of(found: int, count: int) -> str:
    return "yes" if found == count else "partly" if found else "no"


PROPERTIES: Mapping[str, Callable[[MethodFacts, Errors], PropertyAnswer]] = {
    "binding_outcome_exact": _binding,
    "regular_cells_exact": _regular,
    "per_cell_cost": _per_cell,
    "cost_computable_in_advance": _in_advance,
    "small_area_resolution": _small_areas,
    "guarantee_on_regular_cells": _guarantee,
    "unconditional_against_auxiliary": _unconditional,
}
"""In the order of the paper."""

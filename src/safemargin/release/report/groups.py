"""What a report shows of one group, and of one way to publish."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from safemargin.core import label
from safemargin.release.plan import Action, Decision
from safemargin.ui import band_label, percent

Orders = Mapping[str, tuple[str, ...]]
"""The categories of every axis in order: a merged group is named in this order, else by the alphabet."""

NOT_COMPUTED = "not computed"


@dataclass(frozen=True)
class DecidedGroup:
    """One group of one axis: what was done with it, why, and its published counts by option."""

    axis: str
    label: str
    members: int
    people: int
    action: Action
    reason: str
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)
    epsilon: float | None = None

    @property
    def margin_of_error(self) -> float:
        """How far a noised count is from the true one 95 times in 100; 0 without noise."""
        if not self.epsilon or self.action is not Action.NOISED:
            return 0.0
        # Two-sided geometric noise: P(|X| > k) = 2 a^(k + 1) / (1 + a) with a = e^-epsilon.
        ratio = math.exp(-self.epsilon)
        return max(math.ceil(math.log(0.05 * (1 + ratio) / 2) / -self.epsilon) - 1, 0)

    @property
    def name(self) -> str:
        """The group as people read it: merged bands as one."""
        return band_label(self.label)

    @property
    def cell(self) -> dict[str, str]:
        """The labels by axis; none for the whole electorate."""
        return {self.axis: self.label} if self.axis else {}


def people_by_action(groups: Iterable[DecidedGroup]) -> dict[Action, tuple[int, int]]:
    """How many groups were treated in each way, and how many people are in them."""
    totals = {action: (0, 0) for action in Action}
    for group in groups:
        count, people = totals[group.action]
        totals[group.action] = (count + 1, people + group.people)
    return totals


def is_omitted(groups: Sequence[DecidedGroup]) -> bool:
    """Whether nothing is published about an axis."""
    return all(group.action is Action.SUPPRESSED for group in groups)


def decision_label(decision: Decision, orders: Orders) -> str:
    """The group of a decision as the published file writes it."""
    return label(decision.group, orders.get(decision.axis, ()))


@dataclass(frozen=True)
class Choice:
    """One way to publish: what it keeps of every axis, the people in exact groups, and how to ask for it."""

    words: str
    protect: str
    beta: float
    kept: Mapping[str, str] = field(default_factory=dict, hash=False)
    share: float = 0.0
    state: str = "certified"
    """`certified`, `refused`, or `not computed` where that would be too much work."""
    categories: int = 0

    @property
    def people(self) -> str:
        """The share of people in exact groups, over all axes."""
        return percent(self.share) if self.state == "certified" else self.state

    def options(self, beta: float) -> str:
        """What to add to the command of a release with the limit `beta`."""
        return f"--protect {self.protect}" + ("" if self.beta == beta else f" --beta {self.beta:g}")


def exact_categories(groups: Sequence[DecidedGroup]) -> int:
    """Categories that are published by themselves and exactly."""
    return sum(group.members for group in groups if group.action is Action.EXACT)

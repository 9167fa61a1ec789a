"""What other choices would publish: each one is decided, published in memory and attacked like the release itself."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from safemargin.core import InputError, Progress, Target
from safemargin.release.plan import Action
from safemargin.release.report.context import DecidedGroup, ReportContext, is_omitted
from safemargin.ui import exact_percent, percent, plural

FIFTH = 0.2
"""Share of the people of an axis that may be inexact before alternatives are shown."""
SECONDS = 20.0
"""Time for all alternatives together: an office waits for the release, not for what it did not ask for."""
PROTECTIONS = ("auto", "merge", "noise")
PROTECTION_WORDS = {
    "auto": "protect single groups (auto)",
    "merge": "merge groups (merge)",
    "suppress": "suppress near-unanimous groups (suppress)",
    "noise": "add noise to them (noise)",
}
BETAS = (0.03, 0.02, 0.01)
"""Limits that offices use instead of 5 %: less strict ones keep more."""


@dataclass(frozen=True)
class Choice:
    """One way to publish: what it keeps of every axis, the people in exact groups, and how to ask for it."""

    words: str
    protect: str
    beta: float
    kept: Mapping[str, str] = field(default_factory=dict, hash=False)
    share: float = 0.0
    state: str = "certified"
    """`certified`, `refused`, or `not computed` where time was up."""
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


def exact_share(context: ReportContext) -> float:
    """The share of people in exact groups, over all axes."""
    groups = [group for groups in context.axes.values() for group in groups]
    everybody = sum(group.people for group in groups)
    return sum(group.people for group in groups if group.action is Action.EXACT) / everybody if everybody else 1.0


def lost_tables(context: ReportContext) -> list[str]:
    """The axes and tables of several axes about which nothing is published."""
    axes = [axis for axis, groups in context.axes.items() if axis and is_omitted(groups)]
    return axes + [margin.name for margin in context.plan.margins if not margin.is_published]


def worst_axis(context: ReportContext) -> tuple[str, float]:
    """The axis that loses most, and the share of its people who are not in exact groups."""
    shares = {
        axis: 1 - sum(g.people for g in groups if g.action is Action.EXACT) / max(sum(g.people for g in groups), 1)
        for axis, groups in context.axes.items()
        if axis
    }
    return max(shares.items(), key=lambda item: item[1], default=("", 0.0))


def is_wanting(context: ReportContext) -> bool:
    """Whether alternatives are shown: something is refused or lost, or more than a fifth of an axis is not exact."""
    return not context.is_sound or bool(lost_tables(context)) or worst_axis(context)[1] > FIFTH


def choice_of(context: ReportContext, words: str, protect: str, beta: float) -> Choice:
    """What a decided release keeps."""
    kept = {
        axis: f"{exact_categories(groups):,} of {sum(group.members for group in groups):,}"
        for axis, groups in context.axes.items()
        if axis
    }
    state = "certified" if context.is_sound else "refused"
    counted = sum(exact_categories(groups) for groups in context.axes.values())
    return Choice(words, protect, beta, kept, exact_share(context), state, counted)


class _TimeUp(Exception):
    """Raised inside a decision when the time for alternatives is over."""


def alternatives(
    here: ReportContext,
    protect: str,
    target: Target,
    attempt: Callable[[str, Target, Progress], ReportContext],
    seconds: float = SECONDS,
) -> tuple[Choice, ...]:
    """This release, then the other protections at its limit, then less strict limits, as far as time allows."""
    end = time.monotonic() + seconds

    def progress(*_: object) -> None:
        if time.monotonic() > end:
            raise _TimeUp

    now = f"now: {PROTECTION_WORDS.get(protect, protect)}, limit {exact_percent(target.beta)}"
    choices = [choice_of(here, now, protect, target.beta)]
    others = [(other, target.beta) for other in PROTECTIONS if other != protect]
    others += [(protect, beta) for beta in BETAS if beta < target.beta]
    for other, beta in others:
        description = PROTECTION_WORDS.get(other, other)
        if beta != target.beta:
            description = f"a limit of {exact_percent(beta)} instead of {exact_percent(target.beta)}"
        try:
            progress()
            made = attempt(other, replace(target, beta=beta), progress)
            choices.append(choice_of(made, description, other, beta))
        except _TimeUp:
            choices.append(Choice(description, other, beta, state="not computed"))
        except InputError:  # this protection cannot be asked for here
            continue
    return tuple(choices)


def lost_words(context: ReportContext) -> str:
    """What is lost, in words: "precinct (61 categories)"."""
    lost = lost_tables(context)
    sizes = {axis: sum(group.members for group in groups) for axis, groups in context.axes.items()}
    return ", ".join(f"{name} ({plural(sizes[name], 'category')})" if name in sizes else name for name in lost)

"""What other choices would publish: each one is decided, published in memory and attacked like the release itself."""

import time
from collections.abc import Callable
from dataclasses import replace

from safemargin.core import InputError, Progress, Target
from safemargin.release.report.context import ReportContext, exact_share
from safemargin.release.report.groups import NOT_COMPUTED, Choice, exact_categories
from safemargin.ui import exact_percent

SECONDS = 12.0
"""CPU time of a release and its alternatives: an office waits for the release, not for what it did not ask for. Each
takes about as long as the release: where that alone takes half of it, alternatives are named with commands only."""
PROTECTIONS = ("auto", "merge", "noise")
PROTECTION_WORDS = {
    "auto": "protect single groups (auto)",
    "merge": "merge groups (merge)",
    "suppress": "suppress near-unanimous groups (suppress)",
    "noise": "add noise to them (noise)",
}
BETAS = (0.03, 0.02, 0.01)
"""Limits that offices use instead of 5 %: less strict ones keep more."""


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
    end = time.process_time() + seconds

    def progress(*_: object) -> None:
        if time.process_time() > end:
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
            choices.append(Choice(description, other, beta, state=NOT_COMPUTED))
        except InputError:  # this protection cannot be asked for here
            continue
    return tuple(choices)

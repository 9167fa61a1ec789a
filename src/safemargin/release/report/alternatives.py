"""What other choices would publish: each one is decided, published in memory and attacked like the release itself."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from safemargin.core import InputError, Past, Table, Target
from safemargin.release.report.context import ReportContext, exact_share
from safemargin.release.report.groups import NOT_COMPUTED, Choice, exact_categories
from safemargin.ui import exact_percent

WORK = 160_000
"""What all other choices together, or all remedies, may cost, in units of `effort`: an office waits for the release,
not for what it did not ask for. A count and no clock: another machine shows the same choices."""
PER_HISTORY = 40
"""What one unknown count of a history costs in each cycle, beside a count of one table: 100 histories of 25 cycles take
0.35 s."""
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


def effort(table: Table, pasts: Sequence[Past] = ()) -> int:
    """About what a decision about a table costs: counts, four times as much for each axis beyond two.

    Two axes are a flow in a network; each further one makes whole numbers harder to find. A choice is held against
    earlier releases too, and against more of them in each cycle: then the unknown counts are those of all histories,
    and every cycle states something about each. So the cost of all cycles stays bounded.
    A table of 100 profiles, 3 options and 3 axes costs 100 * 3 * 4 = 1,200.
    """
    axes, options = table.schema.names, len(table.schema.options)
    profiles = len(table.people(axes).codes) if table.knows_composition else int(table.people(()).counts.sum())
    earlier = max((len(past.earlier) for past in pasts), default=0)
    histories = max((len(people) for past in pasts for people in past.histories.values()), default=0)
    alone = profiles * options * (1 << 2 * max(len(axes) - 2, 0)) * (1 + earlier) ** 2
    return max(alone, PER_HISTORY * histories * options * (1 + earlier), 1)


def alternatives(
    here: ReportContext,
    protect: str,
    target: Target,
    attempt: Callable[[str, Target], ReportContext],
    most: float,
) -> tuple[Choice, ...]:
    """This release, then the other protections at its limit, then less strict limits; the first `most` are decided."""
    now = f"now: {PROTECTION_WORDS.get(protect, protect)}, limit {exact_percent(target.beta)}"
    choices = [choice_of(here, now, protect, target.beta)]
    others = [(other, target.beta) for other in PROTECTIONS if other != protect]
    others += [(protect, beta) for beta in BETAS if beta < target.beta]
    for other, beta in others:
        description = PROTECTION_WORDS.get(other, other)
        if beta != target.beta:
            description = f"a limit of {exact_percent(beta)} instead of {exact_percent(target.beta)}"
        if most < 1:
            choices.append(Choice(description, other, beta, state=NOT_COMPUTED))
            continue
        try:
            choices.append(choice_of(attempt(other, replace(target, beta=beta)), description, other, beta))
            most -= 1
        except InputError:  # this protection cannot be asked for here
            continue
    return tuple(choices)

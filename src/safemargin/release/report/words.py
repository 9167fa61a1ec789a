"""Phrases about a release that the terminal and the page share."""

from collections.abc import Mapping, Sequence

from safemargin.core import Target
from safemargin.release.plan import TOO_SMALL, Action, Certificate, Decision, Plan
from safemargin.ui import exact_percent, kind_words, plural

WITNESSES = "integer witness tables"
"""The method of certificates that is said in plainer words."""
MOST_NAMED = 5
"""Groups that a sentence names."""
LARGEST_SET = "largest set of fewer axes"
"""The entry of what a certificate checked that is not a number of cells."""


def certificate_words(certificate: Certificate) -> str:
    """How the statement was proved; if it was not, what was tried."""
    checked = _checked_words(certificate.checked)
    parts = (certificate.certified and _proof_words(certificate), checked and f"checked: {checked}")
    return "; ".join(part for part in parts if part)


def _proof_words(certificate: Certificate) -> str:
    """Whether integer or fractional tables prove it, and for how many cells."""
    if certificate.proved == "integer":
        return f"proved by {certificate.method}".replace(WITNESSES, "integer tables") if certificate.method else ""
    cells = sum(count for what, count in certificate.checked.items() if what != LARGEST_SET)
    some = f"all but {certificate.linear:,} of {plural(cells, 'cell')}" if certificate.linear else "some cells only"
    return f"proved by integer tables for {some}; by fractional (LP) tables for the rest"


def _checked_words(checked: Mapping[str, int]) -> str:
    parts = [
        f"{count:,} {what.replace('_', ' ')}" if count != 1 else f"1 {what.replace('_', ' ').replace('cells', 'cell')}"
        for what, count in checked.items()
        if what != LARGEST_SET and count
    ]
    if parts and (most := checked.get(LARGEST_SET, 0)) > 1:
        parts[-1] += f" (up to {most} at a time)"
    return ", ".join(parts)


def irregular_words(plan: Plan) -> str:
    """Which categories would be outside the target if nothing were done."""
    small = [decision for decision in plan.irregular if decision.reason == TOO_SMALL]
    others = [decision for decision in plan.irregular if decision.reason != TOO_SMALL]
    parts = [f"too small: {_listed_groups(small)}"] if small else []
    parts += [f"nearly unanimous: {_listed_groups(others)}"] if others else []
    categories, people = plural(len(plan.irregular), "category"), plural(plan.exposed_people, "person")
    return f"{categories} with {people} in all cannot be published unchanged ({'; '.join(parts)})."


def _listed_groups(decisions: Sequence[Decision]) -> str:
    shown = [
        f"{' | '.join(sorted(decision.group))} ({plural(decision.people, 'person')})"
        for decision in decisions[:MOST_NAMED]
    ]
    more = [f"{len(decisions) - MOST_NAMED:,} more"] if len(decisions) > MOST_NAMED else []
    return ", ".join([*shown, *more])


ACTION_WORDS = {
    Action.EXACT: "the true count",
    Action.MERGED: "the true count of several categories together",
    Action.NOISED: "a count with random noise",
    Action.SUPPRESSED: "no count",
}

ONLOOKER = "Somebody who sees all that is published and may know more, such as the size of every group."
INTERVAL = "The smallest and the largest count, or share, of a group that agree with all that the onlooker knows."
CONTAINED = (
    "The whole interval lies within the limits, and the group is large enough: whatever the onlooker believed before, "
    "the release does not disclose how its members chose."
)
OPEN = "The interval reaches beyond a limit but also lies within: the release by itself forces nothing."
DISCLOSED = (
    "The interval lies outside the limits, or is so narrow that the count is known: someone's answer is disclosed."
)
MANY_OPTIONS = (
    "With three or more options, what must not be inferred is that nearly all of a group chose one of them; that few, "
    'or nobody, chose one is protected only where the project asks for it (secrets = "both").'
)
GUARD = (
    "The guard band: decisions use limits that are stricter by this much, so that whoever knows the rule cannot "
    "conclude that a protected group is beyond a limit."
)
EPSILON = (
    "How much the noise may disclose about one person (smaller is safer). It covers the noise and the lot that picks "
    "the groups, not the counts that are published exactly."
)


def glossary_words(target: Target) -> dict[str, str]:
    """Every term with its meaning under this target."""
    low, high, few = exact_percent(target.beta), exact_percent(1 - target.beta), plural(target.kappa, "person")
    return {
        "exact, merged, noised, suppressed": "What is published of a group. "
        + "; ".join(f"{action}: {meaning}" for action, meaning in ACTION_WORDS.items())
        + ".",
        "onlooker": ONLOOKER,
        "interval": INTERVAL,
        kind_words("contained"): CONTAINED,
        kind_words("open"): OPEN,
        "disclosed": DISCLOSED,
        f"beta = {target.beta:g}": f"The limits: no share may be forced below {low} or above {high}. {MANY_OPTIONS}",
        f"guard = {target.band:g}": GUARD,
        f"kappa = {target.kappa}": f"Fewer than {few} are too few to be published by themselves.",
        f"tau = {target.tau}": f"A count is known to within {target.tau} if its interval is no wider than that.",
        f"epsilon_max = {target.epsilon_max:g}": EPSILON,
    }


MARGIN_COLUMNS = ("table", "cells", "counts for", "why")


def margin_rows(plan: Plan) -> list[tuple[str, str, str, str]]:
    """One row per table that was asked for, under `MARGIN_COLUMNS`."""
    return [
        (
            margin.name,
            f"{margin.cells:,} of {margin.all_cells:,}" if margin.is_published else "-",
            f"{margin.value:g} of {margin.weight:g}",
            margin.reason,
        )
        for margin in plan.margins
    ]


def maximum_words(plan: Plan) -> str:
    """How good the choice is."""
    if plan.maximum is None:
        return ""
    best = plan.maximum
    tests = f"{best.proofs:,} release{'s' if best.proofs != 1 else ''} tested"
    if best.unproved:
        tests += f", {best.unproved:,} of them neither proved safe nor refuted"
    if best.gap <= 1e-6 * max(best.value, 1.0):
        return f"Worth {best.value:g}: no safe choice of the tables asked for is worth more ({tests})."
    most = f"the best safe choice is worth {best.bound:g} at most, a gap of {best.gap:g}"
    return f"Worth {best.value:g}; {most} ({tests})."

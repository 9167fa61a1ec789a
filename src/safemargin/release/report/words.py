"""Phrases about a release that the terminal and the page share."""

from collections.abc import Mapping

from safemargin.core import Target
from safemargin.release.plan import Action, Certificate, Plan
from safemargin.release.report.context import ReportContext
from safemargin.ui import exact_percent, plural

WITNESSES = "integer witness tables"
"""The method of certificates that is said in plainer words."""
LARGEST_SET = "largest set of fewer axes"
"""What a certificate checked that is no number of cells."""


def certificate_words(certificate: Certificate) -> str:
    """How the statement was proved; if it was not, what was tried."""
    checked = _checked_words(certificate.checked)
    parts = (certificate.certified and _shown_words(certificate), checked and f"checked: {checked}")
    return "; ".join(part for part in parts if part)


def _shown_words(certificate: Certificate) -> str:
    """Whether whole people or fractions of them show it, and for how many cells."""
    if certificate.proved == "integer":
        return (
            f"shown by {certificate.method}".replace(WITNESSES, "tables of whole people") if certificate.method else ""
        )
    cells = sum(count for what, count in certificate.checked.items() if what != LARGEST_SET)
    some = f"all but {certificate.linear:,} of {plural(cells, 'cell')}" if certificate.linear else "some cells only"
    return f"shown by tables of whole people for {some}, the rest by tables with fractions of people"


def _checked_words(checked: Mapping[str, int]) -> str:
    words = [
        f"{count:,} {what.replace('_', ' ')}" if count != 1 else f"1 {what.replace('_', ' ').replace('cells', 'cell')}"
        for what, count in checked.items()
        if what != LARGEST_SET and count
    ]
    if words and (most := checked.get(LARGEST_SET, 0)) > 1:
        words[-1] += f" (up to {most} at a time)"
    return ", ".join(words)


def headline(context: ReportContext) -> str:
    """The verdict on the whole release in a few words."""
    if not context.plan.certificate.certified:
        return "Not certified: do not publish"
    if not context.is_sound:
        return "An attack succeeded: do not publish"
    return "Certified" if any(findings.attempts for findings in context.findings) else "Certified, not attacked yet"


def irregular_words(plan: Plan) -> str:
    """How much would be outside the target if nothing were done."""
    categories, people = plural(len(plan.irregular), "category"), plural(plan.exposed_people, "person")
    return f"Published as they are, {categories} with {people} in all would miss the target."


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
    "the release does not tell how its members chose."
)
OPEN = "The interval reaches beyond a limit but also lies within: the release by itself forces nothing."
DISCLOSED = "The interval lies outside the limits, or is so narrow that the count is known: somebody's answer is out."
MANY_OPTIONS = (
    "Where there are three or more options, the limit of a rare option is half its share of everybody, which is public "
    "anyway."
)
EPSILON = "The most that noise may cost anyone: how far one person's answer may change the odds of what is published."


def glossary_words(target: Target) -> dict[str, str]:
    """Every term with its meaning under this target."""
    low, high, few = exact_percent(target.beta), exact_percent(1 - target.beta), plural(target.kappa, "person")
    return {
        "exact, merged, noised, suppressed": "What is published of a group. "
        + "; ".join(f"{action}: {words}" for action, words in ACTION_WORDS.items())
        + ".",
        "onlooker": ONLOOKER,
        "interval": INTERVAL,
        "contained": CONTAINED,
        "open": OPEN,
        "disclosed": DISCLOSED,
        f"beta = {target.beta:g}": f"The limits: no share may be forced below {low} or above {high}. {MANY_OPTIONS}",
        f"kappa = {target.kappa}": f"Fewer than {few} are too few to be published by themselves.",
        f"tau = {target.tau}": f"A count that is known to within {target.tau} counts as known.",
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
    tests = f"{best.proofs:,} release{'s' if best.proofs != 1 else ''} put to the test"
    if best.unproved:
        tests += f", {best.unproved:,} of them neither shown to be safe nor refuted"
    if best.gap <= 1e-6 * max(best.value, 1.0):
        return f"Worth {best.value:g}: no safe choice of the tables asked for is worth more ({tests})."
    most = f"the best safe choice is worth {best.bound:g} at most, a gap of {best.gap:g}"
    return f"Worth {best.value:g}; {most} ({tests})."


def refusal_lines(plan: Plan) -> list[str]:
    """Whom each table that is left out would give away."""
    return [str(rejected.refusal) for rejected in plan.rejected.values()]

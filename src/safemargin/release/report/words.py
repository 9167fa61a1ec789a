"""Phrases about a release that the terminal and the page share."""

from collections.abc import Mapping, Sequence

from safemargin.audit.findings import Findings
from safemargin.release.plan import Certificate, Plan
from safemargin.ui import plural

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


def is_sound(plan: Plan, findings: Sequence[Findings]) -> bool:
    """Whether the release is certified and no attack found anything."""
    return plan.certificate.certified and all(each.is_safe for each in findings)


def headline(plan: Plan, findings: Sequence[Findings]) -> str:
    """The verdict on the whole release in a few words."""
    if not plan.certificate.certified:
        return "Not certified: do not publish"
    if not is_sound(plan, findings):
        return "An attack succeeded: do not publish"
    return "Certified" if any(each.attempts for each in findings) else "Certified, not attacked yet"


def irregular_words(plan: Plan) -> str:
    """How much would be outside the target if nothing were done."""
    categories, people = plural(len(plan.irregular), "category"), plural(plan.exposed_people, "person")
    return f"Published as they are, {categories} with {people} in all would miss the target."

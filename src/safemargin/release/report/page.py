"""The page about a release."""

from collections.abc import Callable, Sequence

from safemargin.audit.findings import Findings
from safemargin.release.draft import Draft
from safemargin.release.plan import Plan
from safemargin.release.report import sections
from safemargin.release.report.groups import Orders
from safemargin.release.report.result import result_section
from safemargin.release.report.story import told
from safemargin.ui import Spec, joined, render_page, to_svg
from safemargin.voting.result import ResultPrivacy

PARTS = (
    sections.key_figures,
    sections.rates,
    sections.losses,
    sections.margins,
    sections.onlookers,
    sections.intervals,
    sections.refusals,
    sections.attacks,
    result_section,
    sections.certificate,
    sections.decisions,
    sections.glossary,
)


def html_report(
    title: str,
    plan: Plan,
    release: Draft,
    findings: Sequence[Findings],
    *,
    orders: Orders | None = None,
    draw: Callable[[Spec], str] = to_svg,
    privacy: ResultPrivacy | None = None,
) -> str:
    """The whole story of a release for the office that made it. It holds reasons that look at votes."""
    story = told(plan, release, findings, orders, draw, privacy)
    return render_page(title, sections.head(story, title), joined(part(story) for part in PARTS))

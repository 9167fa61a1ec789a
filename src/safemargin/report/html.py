"""One page about a release that works from a file: pictures inside, nothing fetched."""

from collections.abc import Callable, Sequence
from importlib.resources import files
from string import Template

from safemargin.model.findings import Findings
from safemargin.model.plan import Plan
from safemargin.model.release import Release
from safemargin.report import sections
from safemargin.report.charts import Spec, to_svg
from safemargin.report.groups import Orders
from safemargin.report.markup import Html, joined, safe
from safemargin.report.results import result_section
from safemargin.report.story import told
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
    release: Release,
    findings: Sequence[Findings],
    *,
    orders: Orders | None = None,
    draw: Callable[[Spec], str] = to_svg,
    privacy: ResultPrivacy | None = None,
) -> str:
    """The whole story of a release for the office that made it. It holds reasons that look at votes."""
    story = told(plan, release, findings, orders, draw, privacy)
    return whole_page(title, sections.head(story, title), joined(part(story) for part in PARTS))


def whole_page(title: str, head: Html, body: Html) -> str:
    """One file with its style and nothing to fetch."""
    page, style = (files("safemargin.report").joinpath(name).read_text("utf-8") for name in ("page.html", "page.css"))
    return Template(page).substitute(title=safe(title), style=style, head=head, body=body)

"""Any value of the model for readers: JSON documents, words in a terminal, a page with pictures."""

from safemargin.report.document import exposure_document, findings_document, possible_document, release_document
from safemargin.report.html import html_report
from safemargin.report.text import show_exposure, show_findings, show_possible, show_release

__all__ = [
    "exposure_document",
    "findings_document",
    "html_report",
    "possible_document",
    "release_document",
    "show_exposure",
    "show_findings",
    "show_possible",
    "show_release",
]

"""Any value of the model for readers: JSON documents, words in a terminal, a page with pictures."""

from safemargin.report.document import exposure_document, findings_document, release_document

__all__ = [
    "exposure_document",
    "findings_document",
    "release_document",
]

"""Bands and labels as a person writes them in a form."""

import re
from datetime import date

from safemargin.core import InputError


def band_edges(text: str) -> list[object]:
    """The lowest values of bands, as numbers or dates.

    >>> band_edges("18, 30, 45.5")
    [18, 30, 45.5]
    """
    edges = [_edge(edge.strip()) for edge in text.split(",") if edge.strip()]
    if any(isinstance(edge, date) for edge in edges) and not all(isinstance(edge, date) for edge in edges):
        raise InputError("write numbers or dates, not both")
    if any(low >= high for low, high in zip(edges, edges[1:], strict=False)):  # type: ignore[operator]  # of one kind
        raise InputError("every number must be larger than the one before it")
    return edges


def _edge(text: str) -> object:
    if re.fullmatch(r"-?[0-9]{1,15}", text):
        return int(text)
    if re.fullmatch(r"-?[0-9]{1,12}\.[0-9]{1,12}", text):
        return float(text)
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(f"{text[:60]!r}: write numbers or dates with commas between, such as 18, 30, 65") from None


def labels_of(text: str) -> dict[str, str]:
    """Labels from lines such as `M = Men`."""
    labels = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        value, sign, label = (part.strip() for part in line.partition("="))
        if not sign or not value or not label:
            raise InputError(f"{line[:60]!r}: write VALUE = LABEL, such as M = Men")
        labels[value] = label
    return labels

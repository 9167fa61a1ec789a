"""The coloured tables of a page that a command of ours just wrote, to be shown on a screen."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

from markupsafe import Markup

from safemargin.core import SafemarginError
from safemargin.io import read_bytes

OPENS = re.compile(r'<div class="counts[^"]*">')
DIVS = re.compile(r"<(/?)div\b")
CAPTION = re.compile(r'<caption class="vh">(.*?)</caption>', re.DOTALL)
MOST = 4
"""Tables that a screen shows."""


def tables_in_page(page: Path) -> list[tuple[str, Markup]]:
    """The first coloured tables of a page, each with its caption; none where it is gone.

    Only for pages that this workbench had written: everything in them is escaped already.
    """
    try:
        text = read_bytes(page).decode("utf-8", "replace")
    except SafemarginError:
        return []
    return [table for table, _ in zip(_tables(text), range(MOST), strict=False)]


def _tables(text: str) -> Iterator[tuple[str, Markup]]:
    place = 0
    while (opened := OPENS.search(text, place)) is not None:
        depth, place = 0, opened.start()
        for each in DIVS.finditer(text, opened.start()):
            depth += -1 if each[1] else 1
            if depth == 0:
                place = text.index(">", each.end()) + 1
                break
        else:
            return
        table = text[opened.start() : place]
        caption = CAPTION.search(table)
        yield html.unescape(caption[1]) if caption else "Table", Markup(table)  # noqa: S704 - a page of ours, escaped

"""Blocks as one HTML file with its style and a small script, and nothing to fetch.

`templates/blocks.html` has a macro of the same name for every kind of block. Everything is escaped.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from safemargin.ui.blocks import (
    MOST_ITEMS,
    MOST_ROWS,
    Headline,
    Link,
    Map,
    OnPage,
    Part,
    Report,
    Section,
    Spec,
    Square,
    Tag,
    blocks,
)
from safemargin.ui.charts import to_svg
from safemargin.ui.count_cells import count_foot, count_rows, heading
from safemargin.ui.counts import STATUS, share_text
from safemargin.ui.formatting import kind_words, percent

if TYPE_CHECKING:
    from jinja2 import Environment

SYMBOLS = {
    **{"merged": "M", "noised": "N", "suppressed": "S", "primary": "P", "secondary": "S", "range": "R"},
    **{"contained": "✓", "within": "✓", "yes": "✓", "open": "○", "partly": "?", "no": "✕"},
    **{"disclosed": "!", "exposed": "!", "protected": "P"},
}
"""The letter of a status or verdict, beside its colour and pattern: for readers and printers without colours."""
_PERCENT = re.compile(r"(?<=\d) %")
SCRIPTS = (
    *(("page.js", 'class="map"'), ("page.js", 'class="full sortable"')),
    *(("counts.js", 'class="counts'), ("check.js", 'class="check"')),
)
"""Scripts, each with what needs it."""
BLOCKS = ("blocks.html", "counts.html", "results.html", "plans.html")
"""Templates with a macro for every kind of block."""
STYLES = (
    *(("counts.css", 'class="counts'), ("results.css", 'class="dl"'), ("results.css", 'class="head"')),
    *(("plans.css", 'class="why"'), ("plans.css", 'class="axis"'), ("plans.css", 'class="choices"')),
    *(
        ("results.css", 'class="how"'),
        ("map.css", 'class="map"'),
        ("heat.css", 'class="heat"'),
        ("heat.css", 'class="strips"'),
    ),
)
"""Styles of components, each with what needs it."""
MARKS = {"sound": "✓", "partly": "?", "unsound": "✕"}


def render_report(report: Report, *more: Part) -> str:
    """The page of a report, with `more` at its end; it has a script only where something sorts, filters or checks."""
    lead, parts = _lead([*report.parts, *more])
    return page_of(report, render_blocks(parts, 2), lead=lead)


def page_of(report: Report, body: Markup, lead: Headline | None = None) -> str:
    """The body as one file under the title of the report.

    A verdict that leads is the heading. Style and scripts of a component are there where it is used.
    """
    scripts = [script(name) for name, mark in SCRIPTS if mark in body]
    styles = ["page.css", *dict.fromkeys(name for name, mark in STYLES if mark in body)]
    given = {
        "hatched": "url(#hatch)" in body or "results.css" in styles,
        "report": report,
        "body": body,
        "lead": lead,
        "scripts": [*dict.fromkeys(scripts)],
        "styles": styles,
    }
    return templates().get_template("page.html").render(given)


def _lead(parts: Iterable[Part]) -> tuple[Headline | None, list[Part]]:
    """The verdict before the first section, if there is one, and the other parts."""
    listed: list[Part] = list(parts)
    for place, part in enumerate(listed):
        if isinstance(part, Section):
            break
        inner = part.parts if isinstance(part, OnPage) else (part,)
        if found := next((each for each in inner if isinstance(each, Headline)), None):
            rest = [each for each in inner if each is not found]
            return found, [*listed[:place], *rest, *listed[place + 1 :]]
    return None, listed


@cache
def script(name: str = "page.js", package: str = "safemargin.ui") -> tuple[str, str]:
    """The script of a page, and the hash by which its policy lets it run."""
    source = str(templates(package).get_template(name).render())
    return source, base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


@cache
def templates(package: str = "safemargin.ui") -> "Environment":
    """The templates of a package, and below them those of the page kit."""
    # Here: most commands write no page, and start in two thirds of the time without it.
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    folders = dict.fromkeys([package, "safemargin.ui"])
    made = Environment(
        loader=ChoiceLoader([PackageLoader(name, "templates") for name in folders]),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        finalize=_unbroken,
    )
    made.globals |= {"symbols": SYMBOLS, "marks": MARKS, "most_items": MOST_ITEMS, "most_rows": MOST_ROWS}
    made.globals |= {"statuses": STATUS}
    made.filters |= {"heading": heading, "count_rows": count_rows, "count_foot": count_foot}
    made.filters |= {"kind_words": kind_words, "percent": percent, "share": share_text, "tick": _tick}
    made.filters |= {"blocks": render_blocks, "cell": _cell, "draw": _draw, "squares": _squares}
    return made


def _macro(name: str) -> Any:
    """The macro of a kind of block."""
    modules = (templates().get_template(file).module for file in BLOCKS)
    return next(getattr(module, name) for module in modules if hasattr(module, name))


def render_blocks(parts: Iterable[Part], level: int) -> Markup:
    """Blocks as a part of a page; the next heading has this level."""
    return Markup("\n").join(_macro(type(block).__name__)(block, level) for block in blocks(parts))


def _cell(value: object) -> Markup:
    """A value in a table or list, escaped; integers get thousands separators."""
    if isinstance(value, Tag):
        return Markup(_macro("tag")(value))  # noqa: S704 - a template made it, which escapes
    if isinstance(value, Link):
        return Markup('<a href="{}">{}</a>').format(value.address, _unbroken(value.text))
    return escape(f"{value:,}" if isinstance(value, int) else _unbroken(value))


def _unbroken(value: object) -> object:
    """What is printed, markup as it is; no line ends between a number and its percent sign.

    >>> _unbroken("100 % of people")
    '100\\xa0% of people'
    """
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return _PERCENT.sub("\u00a0%", str(value)) if is_text else value


def _tick(rate: float) -> str:
    return f"{100 * rate:.4g} %"


def _draw(spec: Spec | Callable[[], Spec]) -> Markup:
    return Markup(to_svg(spec() if callable(spec) else spec))  # noqa: S704 - the drawing library escapes texts


def _squares(block: Map) -> dict[tuple[str, str], Square]:
    return {(square.row, square.column): square for square in block.squares}

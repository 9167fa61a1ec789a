"""Components of a page: the templates of `templates/components.html` and elements written in Python.

Everything that is not markup is escaped; integers get thousands separators.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

Html = Markup
"""Text that is markup already."""
SYMBOLS = {"contained": "●", "open": "◐", "disclosed": "✕"}
"""Beside the colours, for readers and printers without."""


def to_markup(value: object) -> Html:
    """Markup as it is, anything else escaped.

    >>> to_markup("<script>"), to_markup(Html("<b>x</b>")), to_markup(1200)
    (Markup('&lt;script&gt;'), Markup('<b>x</b>'), Markup('1,200'))
    """
    return escape(f"{value:,}" if isinstance(value, int) else value)


TEMPLATES = Environment(
    loader=PackageLoader("safemargin.ui", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    keep_trailing_newline=True,
)
TEMPLATES.filters["cell"] = to_markup


def _macro(name: str, *values: object) -> Html:
    components: Any = TEMPLATES.get_template("components.html").module
    return Html(getattr(components, name)(*values))


def element(tag: str, *content: object, **attributes: str) -> Html:
    """An element; `class_` stands for the attribute `class`.

    >>> element("p", "a < b", class_="note")
    Markup('<p class="note">a &lt; b</p>')
    """
    given = "".join(f' {name.rstrip("_").replace("_", "-")}="{escape(text)}"' for name, text in attributes.items())
    return Html(f"<{tag}{given}>{''.join(to_markup(part) for part in content)}</{tag}>")


def joined(parts: Iterable[object]) -> Html:
    """Parts on lines of their own."""
    return Html("\n").join(to_markup(part) for part in parts)


def header(title: str, *below: object, banner: tuple[str, str] | None = None) -> Html:
    """The head of a page; a banner is a bold phrase and the sentence after it."""
    return _macro("header", title, below, banner)


def section(title: str, *content: object) -> Html:
    """A part of the page under its heading."""
    return Html(f"{element('section', element('h2', title), *content)}\n")


def paragraphs(*texts: object) -> Html:
    """Each text as a paragraph; empty ones are dropped."""
    return joined(element("p", text) for text in texts if text)


def points(items: Iterable[object]) -> Html:
    """A list; nothing if it is empty."""
    lines = [element("li", item) for item in items]
    return element("ul", *lines) if lines else Html("")


def chip(kind: str, text: str | None = None) -> Html:
    """A word on its colour."""
    label = kind if text is None else text
    return element("span", f"{SYMBOLS[kind]} {label}" if kind in SYMBOLS else label, class_=f"chip {kind}")


def legend(kinds: Iterable[str]) -> Html:
    """What the colours mean."""
    return element("p", *(chip(kind) for kind in kinds), class_="legend")


def figure(svg: str, caption: str, *below: object, fits: bool = False) -> Html:
    """A picture that scrolls sideways where the screen is narrow, unless it `fits`; a sentence where there is none."""
    return _macro("figure", Html(svg), caption, below, fits)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[str] = (), kind: str = "full"
) -> Html:
    """A table whose rows become cards on a phone; `numbers` are the columns to be aligned on the right."""
    return _macro("table", columns, [tuple(zip(columns, row, strict=True)) for row in rows], numbers, kind)


def tiles(figures: Mapping[str, object]) -> Html:
    """Numbers that stand out, each with what it counts."""
    return _macro("tiles", figures)


def render_page(title: str, head: Html, body: Html) -> str:
    """One file with its style and nothing to fetch."""
    return TEMPLATES.get_template("page.html").render(report={"title": title}, head=head, body=body, script=None)

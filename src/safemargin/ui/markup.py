"""Pieces of HTML with everything that users wrote escaped."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

SYMBOLS = {"contained": "●", "open": "◐", "disclosed": "✕"}
"""Besides the colours, for readers and printers without."""


class Html(str):
    """Text that is markup already."""


def safe(value: object) -> Html:
    """Markup as it is, anything else escaped.

    >>> safe("<script>"), safe(Html("<b>x</b>")), safe(1200)
    ('&lt;script&gt;', '<b>x</b>', '1,200')
    """
    if isinstance(value, Html):
        return value
    return Html(f"{value:,}" if isinstance(value, int) else escape(str(value)))


def element(tag: str, *content: object, **attributes: str) -> Html:
    """An element; `class_` stands for the attribute `class`.

    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    given = "".join(f' {name.rstrip("_").replace("_", "-")}="{escape(text)}"' for name, text in attributes.items())
    return Html(f"<{tag}{given}>{''.join(safe(part) for part in content)}</{tag}>")


def joined(parts: Iterable[object]) -> Html:
    """Pieces one after the other."""
    return Html("\n".join(safe(part) for part in parts))


def section(title: str, *content: object) -> Html:
    """A part of the page under its heading."""
    return Html(f"{element('section', element('h2', title), *content)}\n")


def paragraphs(*texts: object) -> Html:
    """Each text as a paragraph."""
    return joined(element("p", text) for text in texts if text)


def points(items: Iterable[object]) -> Html:
    """A list; nothing if it is empty."""
    lines = [element("li", item) for item in items]
    return element("ul", *lines) if lines else Html("")


def chip(kind: str, text: str | None = None) -> Html:
    """A word on its colour."""
    words = kind if text is None else text
    return element("span", f"{SYMBOLS[kind]} {words}" if kind in SYMBOLS else words, class_=f"chip {kind}")


def legend(kinds: Iterable[str]) -> Html:
    """What the colours mean."""
    return element("p", *(chip(kind) for kind in kinds), class_="legend")


def figure(svg: str, caption: str, *below: object, fits: bool = False) -> Html:
    """A picture that scrolls sideways where the screen is narrow, unless it `fits`."""
    kind = "scroll fits" if fits else "scroll"
    picture = element("div", Html(svg), class_=kind, role="img", aria_label=caption, tabindex="0")
    return element("figure", element("figcaption", caption), picture, *below)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[str] = (), kind: str = "full"
) -> Html:
    """A table whose rows become cards on a phone; `numbers` are the columns to be aligned on the right."""
    right = {name: {"class_": "number"} if name in numbers else {} for name in columns}
    head = element("tr", *(element("th", name, scope="col", **right[name]) for name in columns))
    body = [
        element(
            "tr",
            *(element("td", value, data_label=name, **right[name]) for name, value in zip(columns, row, strict=True)),
        )
        for row in rows
    ]
    return element("table", element("thead", head), element("tbody", *body), class_=kind)


def tiles(figures: Mapping[str, object]) -> Html:
    """Numbers that stand out, each with what it counts."""
    found = [element("div", element("dt", what), element("dd", value)) for what, value in figures.items()]
    return element("dl", *found, class_="tiles")

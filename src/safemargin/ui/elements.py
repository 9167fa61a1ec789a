"""Elements of a page with forms, which blocks have no word for. Everything that is not markup is escaped."""

from collections.abc import Iterable

from markupsafe import Markup, escape

from safemargin.ui.blocks import Report
from safemargin.ui.page import MARKS, SYMBOLS, page_of, templates

Html = Markup
"""Text that is markup already."""


def element(tag: str, *content: object, **attributes: str) -> Html:
    """An element; `class_` stands for the attribute `class`.

    >>> element("p", "a < b", class_="note")
    Markup('<p class="note">a &lt; b</p>')
    """
    given = "".join(f' {name.rstrip("_").replace("_", "-")}="{escape(text)}"' for name, text in attributes.items())
    return Html(f"<{tag}{given}>{''.join(escape(part) for part in content)}</{tag}>")


def marked(state: str, words: str) -> Html:
    """A sentence with its mark, which readers of screens do not need: the sentence says the same."""
    mark = element("i", {**SYMBOLS, **MARKS}[state], class_=f"k {state}", aria_hidden="true")
    return mark + Html(" ") + words


def joined(parts: Iterable[object]) -> Html:
    """Parts on lines of their own."""
    return Html("\n").join(escape(part) for part in parts)


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


def render_page(title: str, body: Html) -> str:
    """A page with its heading above the body."""
    return page_of(Report(title), body)


def page_in(language: str, title: str, body: Html, style: str = "") -> str:
    """A page in another language than English, with rules of its own for its style."""
    page = render_page(title, body).replace('<html lang="en"', f'<html lang="{escape(language)}"', 1)
    return page.replace("</style>", f"{style}</style>", 1) if style else page


def style_of(name: str) -> str:
    """A style sheet of this package."""
    return str(templates().get_template(name).render())

"""One page that works from a file: nothing is fetched."""

from importlib.resources import files
from string import Template

from safemargin.ui.markup import Html, safe


def whole_page(title: str, head: Html, body: Html) -> str:
    """One file with its style and nothing to fetch."""
    page, style = (files("safemargin.ui").joinpath(name).read_text("utf-8") for name in ("page.html", "page.css"))
    return Template(page).substitute(title=safe(title), style=style, head=head, body=body)

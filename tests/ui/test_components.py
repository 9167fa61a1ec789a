"""Pages escape what users wrote, and fetch nothing."""

import pytest

from safemargin.ui import (
    Html,
    chip,
    element,
    figure,
    header,
    joined,
    legend,
    paragraphs,
    points,
    render_page,
    section,
    table,
    tiles,
)

EVIL = "<script>alert('x')</script>&\""


@pytest.mark.parametrize(
    "markup",
    [
        element("p", EVIL, title=EVIL),
        joined([EVIL]),
        header(EVIL, EVIL, banner=(EVIL, EVIL)),
        section(EVIL, EVIL),
        paragraphs(EVIL),
        points([EVIL]),
        chip("x", EVIL),
        legend(["open"]),
        figure("<svg></svg>", EVIL, EVIL),
        table([EVIL], [[EVIL]], [EVIL]),
        tiles({EVIL: EVIL}),
        render_page(EVIL, header(EVIL), section("a", EVIL)),
    ],
)
def test_names_are_escaped(markup: str) -> None:
    assert "<script" not in markup and "alert('x')" not in markup


def test_markup_is_not_escaped_twice() -> None:
    strong = element("strong", "a & b")
    assert table(["x"], [[strong]]).count("<strong>a &amp; b</strong>") == 1
    assert element("p", element("p", strong)).count("&amp;") == 1
    assert joined([strong, Html("<i></i>")]) == "<strong>a &amp; b</strong>\n<i></i>"


def test_a_table_has_labels_for_phones_and_aligned_numbers() -> None:
    assert table(["group", "people"], [["a", 1200]], ["people"]) == (
        '<table class="full"><thead><tr><th scope="col">group</th><th scope="col" class="number">people</th></tr>'
        '</thead><tbody><tr><td data-label="group">a</td><td data-label="people" class="number">1,200</td></tr>'
        "</tbody></table>"
    )
    with pytest.raises(ValueError, match="shorter"):
        table(["a", "b"], [["only one"]])


def test_a_page_is_one_file() -> None:
    page = render_page("A page", header("A page", banner=("For the office.", "Do not publish.")), Html("<p>x</p>"))
    assert page.startswith("<!doctype html>") and page.endswith("</html>\n")
    assert "default-src 'none'" in page and "--paper" in page and "://" not in page
    assert '<p class="banner"><strong>For the office. </strong>Do not publish.</p><h1>A page</h1>' in page
    assert points([]) == "" and "banner" not in header("x")

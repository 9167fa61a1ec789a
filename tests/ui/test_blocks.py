"""Blocks are stated once: the terminal and the page show the same, and names of groups are neither markup nor code."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from safemargin.ui import (
    Answers,
    Bar,
    Bars,
    Chart,
    Columns,
    Document,
    Figures,
    Fold,
    Grid,
    Headline,
    InTerminal,
    Map,
    OnPage,
    Paragraph,
    Part,
    Points,
    Report,
    Result,
    Section,
    Square,
    Tag,
)

EVIL = "<script>alert('x')</script>&\"[red]"


class Stated(Result):
    """A result that states these parts."""

    def __init__(self, *parts: Part) -> None:
        self.parts = parts

    def to_json(self) -> Document:
        return {}

    def to_report(self) -> Report:
        return Report(EVIL, *self.parts, banner=(EVIL, EVIL))


class Tags(HTMLParser):
    """All open tags in order, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


EVERY_KIND: list[Part] = [
    EVIL,
    Paragraph(EVIL, "quiet"),
    Section(EVIL, EVIL),
    Points([EVIL, (EVIL, EVIL)]),
    Figures({EVIL: EVIL}),
    Answers([(EVIL, EVIL, EVIL)]),
    Headline("partly", EVIL, EVIL),
    Grid([EVIL, "b"], [[EVIL, Tag("open", EVIL, EVIL)]]),
    Bars(EVIL, [Bar(EVIL, 0.1, 0.2, EVIL)], [EVIL], EVIL),
    Map(EVIL, [EVIL], [EVIL], [Square(EVIL, EVIL, 0.5, "exposed", EVIL)], {"exposed": EVIL}),
    Fold(EVIL, EVIL, printed=True),
    Columns(EVIL),
    Chart({"mark": "no such mark"}, EVIL),
]


@pytest.mark.parametrize("part", EVERY_KIND, ids=lambda part: type(part).__name__)
def test_names_are_neither_markup_nor_code(part: Part) -> None:
    page = Stated(part).to_html()
    assert page.count("<script") == isinstance(part, Map), "the page's own"
    assert "alert('x')" not in page and "&lt;script&gt;" in page
    text = Stated(part).to_text()
    assert isinstance(part, Map | Chart) or "[red]" in text.replace("\n", "").replace(" ", "")


def test_both_forms_say_the_same() -> None:
    result = Stated(
        Headline("sound", "Publish it", "Nobody is exposed."),
        Section("Groups", Grid(["group", "people", "share", "done"], [["a", 1200, "12 %", Tag("exact")]])),
        Figures({"people": 1200}),
        Points(["first", ("term", "meaning")]),
    )
    text, page = result.to_text(), Tags(result.to_html())
    for words in ("Publish it", "Nobody is exposed.", "Groups", "1,200", "12 %", "exact", "first", "meaning"):
        assert words in text and words in page.text.replace("\u00a0", " ")
    assert "12\u00a0%" in page.text, "no line of a page ends before the sign"
    assert max(map(len, text.splitlines())) <= 80


def test_some_parts_are_for_one_form() -> None:
    result = Stated(OnPage("on the page"), InTerminal("in the terminal"), Fold("more", "folded"))
    text, page = result.to_text(), result.to_html()
    assert "on the page" in page and "folded" in page and "in the terminal" not in page
    assert text.strip() == "in the terminal"


def test_columns_of_numbers_are_aligned_on_the_right() -> None:
    rows = [["a", 5, "3.2 %", "280 to 1,290", "D58", "-"], ["b", 1200, "-", "3 or more", "7 of them", "≈ 1e-05"]]
    grid = Grid(["group", "people", "share", "interval", "name", "size"], rows)
    assert grid.numeric == [False, True, True, True, False, True]
    page = Stated(grid).to_html()
    assert '<th scope="row" data-label="group">a</th><td data-label="people" class="number">5</td>' in page
    text = Stated(Grid(["group", "people"], [["a", 5], ["b", 123_456]])).to_text()
    assert text == "group   people\na            5\nb      123,456\n"


def test_what_is_left_out_is_counted() -> None:
    rows = [[str(n), n] for n in range(3_000)]
    result = Stated(Grid(["a", "b"], rows, most=2, total=5_000), Points([f"item {n}" for n in range(60)]))
    text, page = result.to_text(), result.to_html()
    assert "4,998 more are not shown." in text and "3,000 more are not shown." in page
    assert "and 50 more" in text and "and 10 more" in page and "item 49" in page and "item 50" not in page


def test_headings_are_in_order_and_ids_are_where_links_point() -> None:
    page = Stated(Section("A", Section("B", "x"), anchor="a"), Section("C", "y")).to_html()
    assert re.findall(r"<h(\d)", page) == ["1", "2", "3", "2"] and '<section id="a">' in page


def test_the_policy_lets_only_the_script_of_the_page_run() -> None:
    assert "<script" not in Stated("x").to_html() and "script-src" not in Stated("x").to_html()
    page = Stated(Grid(["a"], [["x"]], sortable=True)).to_html()
    source = page.partition("<script>")[2].partition("</script>")[0]
    assert base64.b64encode(hashlib.sha256(source.encode()).digest()).decode() in page
    assert "default-src 'none'" in page and "://" not in page and "unsafe-inline" not in page.partition("script-src")[2]


def test_a_wide_table_is_not_wrapped_and_a_narrow_terminal_omits_columns() -> None:
    wide = Grid([f"column {n}" for n in range(20)], [["value"] * 20], wide=True)
    assert len(Stated(wide).to_text().splitlines()) == 2
    grid = Grid(["a", "method"], [["x", "LP"]], roomy=["method"])
    assert "LP" not in Stated(grid).to_text() and "LP" in Stated(grid).to_text(120) and "LP" in Stated(grid).to_html()

"""The coloured table: complete without a script, escaped, the same in a terminal, and quick with many rows."""

import re
from pathlib import Path

import numpy as np

from safemargin.core import PublishedTable, frozen
from safemargin.ui import CountCell, CountNote, CountRow, CountTable, Document, Report, Result, crosstab, pivot
from safemargin.ui.counts import share_text

EVIL = "<script>alert('x')</script>&\"[red]"
CSS = Path(__file__).parent.parent.parent / "src/safemargin/ui/templates/page.css"


class Shown(Result):
    """A result that is one table."""

    def __init__(self, table: CountTable) -> None:
        self.table = table

    def to_json(self) -> Document:
        return {}

    def to_report(self) -> Report:
        return Report("Counts", self.table)


def published(status: list[str], counts: list[int], rows: int = 2) -> PublishedTable:
    """A table of `rows` districts and two answers."""
    lower = frozen(np.array([0 if state == "suppressed" else n for state, n in zip(status, counts, strict=True)]))
    return PublishedTable(
        "district",
        ("district",),
        (tuple(frozenset({f"D{place}"}) for place in range(rows)),),
        frozen(np.repeat(np.arange(rows), 2)[:, None]),
        ("no", "yes"),
        frozen(np.tile(np.arange(2), rows)),
        lower,
        frozen(np.where(np.array(status) == "suppressed", 10**9, lower)),
        tuple(status),
        noisy=lower,
    )


def test_groups_are_rows_and_answers_are_columns() -> None:
    table = crosstab(published(["exact", "exact", "noised", "noised"], [40, 60, 1234, 0]), shares=True)
    assert table.columns == ["Total", "no", "yes"] and [row.labels for row in table.rows] == [("D0",), ("D1",)]
    page = Shown(table).to_html()
    assert '<td class="sum">100</td><td style="--p:40.0">40 <strong>40\N{NO-BREAK SPACE}%</strong></td>' in page
    assert "≈ 1,234" in page and ">noised<" not in page and "noised</li>" in page
    text = Shown(table).to_text()
    assert "N ≈ 1,234" in text and "N noised." in text


def test_a_gap_has_its_interval_and_what_follows_is_red() -> None:
    table = published(["exact", "suppressed", "exact", "suppressed"], [40, 0, 7, 0])
    first, second = (frozenset({("district", name)}) for name in ("D0", "D1"))
    note = CountNote("D0, yes", ["why"], [("D0, yes", 2, 9), ("D1, yes", 8, 1)], "Suppress D1 too.")
    known = {(first, "yes"): (2, 9), (second, "yes"): (3, 3)}
    made = crosstab(table, known=known, exposed=[(second, "yes")], notes={(first, "yes"): note})
    page, text = Shown(made).to_html(), Shown(made).to_text()
    assert '<td class="hatch" data-l="2" data-u="9" data-n="0">' in page and "<span>2 to 9</span>" in page
    assert '<td class="is-exposed" data-l="3" data-u="3">' in page and "<strong>3</strong>" in page
    assert "Suppress D1 too." in page and "Two tables that both fit" in page
    assert "S 2 to 9" in text and "! 3" in text and "could be inferred" in text


def test_totals_are_those_that_are_printed() -> None:
    cells = {
        (frozenset({("a", a), ("b", b)}), ""): CountCell(n) for a, b, n in [("x", "p", 1), ("x", "q", 2), ("y", "p", 4)]
    }
    made = pivot("t", {"a": ["x", "y"], "b": ["p", "q"]}, cells, printed={frozenset({("a", "x")}): CountCell(9)})
    assert [row.counts[0].value for row in made.rows] == [9, 4] and made.total is not None
    assert [count.value for count in made.total.counts] == [7, 5, 2]


def test_names_are_neither_markup_nor_code() -> None:
    rows = [
        CountRow((EVIL,), [CountCell(None, "exposed", 1, 2, 0)]),
        CountRow((f"{EVIL} | b",), [CountCell(3, "merged")]),
    ]
    table = CountTable(EVIL, (EVIL,), [EVIL], rows, notes=[CountNote(EVIL, [EVIL], [(EVIL, 1, 2)], EVIL)], why=EVIL)
    page = Shown(table).to_html()
    assert "alert('x')" not in page and page.count("<script") == 1


def test_many_rows_are_cut_and_those_that_are_not_exact_come_first() -> None:
    rows = [CountRow((f"r{n}",), [CountCell(n)]) for n in range(3_000)]
    rows[2_900] = CountRow(("late",), [CountCell(None, "suppressed")])
    page = Shown(CountTable("t", ("row",), ["count"], rows)).to_html()
    assert ">late<" in page and "1,000 more rows are not shown here" in page and ">r2999<" not in page
    assert len(page) < 250_000
    text = Shown(CountTable("t", ("row",), ["count"], rows)).to_text()
    assert "late" in text and "2,980 more rows not shown" in text


def test_shares() -> None:
    given = [(0, 5), (5, 5), (999, 1000), (1, 0), (12, 445)]
    assert [share_text(*pair) for pair in given] == ["0 %", "100 %", ">99 %", "0 %", "2.7 %"]


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2) of a colour such as `#1b2026`."""
    colour = "".join(letter * 2 for letter in colour[1:]) if len(colour) == 4 else colour[1:]
    parts = [int(colour[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_every_colour_can_be_read() -> None:
    """Text needs 4.5, marks 3, on the page and on every tint, light and dark."""
    light, dark = re.findall(r":root \{(.*?)\}", CSS.read_text(encoding="utf-8"), re.DOTALL)[:2]
    for text in (light, dark):
        token = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{3,6})", text))
        tints = [name for name in token if name.endswith("-bg")]
        for name in ("ink", "ink2", "link", "accent", "exact", "merged", "noised", "supp", "bad", "warn"):
            assert contrast(token[name], token["paper"]) >= 4.5, name
        for name in ("edge", "bar2"):
            assert contrast(token[name], token["paper"]) >= 3, name
        assert len(tints) == 6
        for tint in tints:
            assert contrast(token["ink"], token[tint]) >= 7 and contrast(token["ink2"], token[tint]) >= 4.5, tint
        assert contrast(token["bad"], token["bad-bg"]) >= 4.5

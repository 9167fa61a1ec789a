"""The pictures of a release, and the drawers of its tables: figures equal those of the published rows."""

from itertools import product

import pytest

import safemargin
from safemargin import Release
from safemargin.core import InputError
from safemargin.release.report.before_after import tables_section
from safemargin.ui import CountTable, Fold, render_report
from safemargin.ui.blocks import Report

SITES = ("North", "South", "West", "Tiny")


@pytest.fixture(name="made", scope="module")
def fixture_made() -> Release:
    rows = [
        {"site": site, "grade": grade, "vote": "yes" if number % 20 < 9 else "no"}
        for site, grade in product(SITES, ("junior", "senior"))
        for number in range(3 if site == "Tiny" else 60)
    ]
    return safemargin.release(rows, answer="vote", by=["site", "grade"], title="A & B")


def test_shares_are_those_of_the_published_rows(made: Release) -> None:
    drawn = made.plot().to_json()["axes"]
    for axis in ("site", "grade"):
        counts: dict[tuple[str, str], int] = {}
        for row in made.frame(axis).to_dict("records"):
            if row["status"] in ("exact", "merged"):
                counts[row[axis], row["option"]] = row["count"]
        groups = {name for name, _ in counts}
        for option, shares in drawn[axis].items():
            assert set(shares) == groups
            for name, share in shares.items():
                assert share == counts[name, option] / sum(counts[name, each] for each in ("yes", "no"))
    page = made.plot("site").to_html()
    assert (
        'class="head"' in page
        and "By grade" not in page
        and "A &amp; B" in page
        and "<iframe" in made.plot()._repr_html_()
    )


def test_what_is_not_there_cannot_be_drawn(made: Release) -> None:
    with pytest.raises(InputError, match="nothing is published by it"):
        made.plot("nothing")
    with pytest.raises(InputError, match="there is no such question"):
        made.plot(question="q1")


def test_one_of_several_questions_is_drawn() -> None:
    rows = [
        {"team": team, "q1": "yes" if n % 2 else "no", "q2": "yes" if n % 5 < 2 else "no"}
        for team in "ABC"
        for n in range(80)
    ]
    made = safemargin.release(rows, answers=["q1", "q2"], by=["team"])
    first, second = (made.plot(question=name).to_json()["axes"]["team"]["yes"]["A"] for name in ("q1", "q2"))
    assert (first, second) == (0.5, 0.4) and made.plot().to_json() == made.plot(question="q1").to_json()


def test_a_group_that_is_not_exact_says_why_and_what_it_costs(made: Release) -> None:
    section = tables_section(made.draft)
    tables = {fold.parts[0].caption: fold.parts[0] for fold in section.parts if isinstance(fold, Fold)}
    table = tables["site"]
    assert isinstance(table, CountTable) and table.notes
    noted = {cell.note for row in table.rows for cell in row.counts if cell.note is not None}
    assert noted == set(range(len(table.notes)))
    for row in table.rows:
        is_noted = any(cell.note is not None for cell in row.counts)
        assert is_noted == (" | " in row.labels[0] or row.counts[0].value is None)
    text = render_report(Report("x", section))
    assert "fewer than 30 people" in text.casefold() and "Its price." in text

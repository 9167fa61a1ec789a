"""What the terminal shows, at a width of 80 and without colour."""

import io
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

import safemargin
from safemargin.bounds.report import exposure_parts
from safemargin.core import UNBOUNDED, InputError, Target
from safemargin.release.draft import Draft
from safemargin.ui import Report, show_report


def printed(report: Report, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    show_report(console, report)
    text = console.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    return text


def exposure_text(exposure, target: Target, width: int = 80, **options: object) -> str:
    return printed(Report("", *exposure_parts(exposure, target, **options)), width)


def release_text(draft: Draft, folder: str = "x", width: int = 80, **options: bool) -> str:
    return printed(draft.to_report(folder, **options), width)


def test_exposure_starts_with_the_worst(broken_story) -> None:
    findings = broken_story.findings[0]
    text = exposure_text(findings.exposure, findings.target, limit=3)
    disclosed = findings.exposure.tallied(findings.target)["disclosed"]
    assert disclosed > 0 and f"{disclosed} disclosed" in text and "7,997 more are not shown" in text
    assert text.count("disclosed") == 4 and " ".join(text.split()).count("cannot be inferred") == 1
    assert text.startswith("census analyst: knows how many people each group has")


def test_wide_terminals_show_every_column(story) -> None:
    findings = story.findings[0]
    text = exposure_text(findings.exposure, findings.target, width=140)
    head = next(line for line in text.splitlines() if line.startswith("cell"))
    for column in ("option", "people", "interval", "rates", "width", "t", "verdict", "method"):
        assert f" {column} " in head


@pytest.mark.parametrize(("sort", "first"), [("people", "3 "), ("cell", "D01")])
def test_other_orders(story, sort: str, first: str) -> None:
    findings = story.findings[0]
    assert first in exposure_text(findings.exposure, findings.target, limit=1, sort=sort)


def test_unknown_order_is_refused(story) -> None:
    with pytest.raises(InputError, match="sort 'size'"):
        exposure_text(story.findings[0].exposure, Target(kappa=10, tau=0), sort="size")


def test_equally_narrow_intervals_start_with_the_surest_guess(story) -> None:
    exposure = story.findings[0].exposure
    people = np.full(len(exposure.cells), 100)
    fitted = np.full(exposure.lower.shape, 50.0)
    fitted[17, 2] = 94
    wide = replace(
        exposure, people=people, lower=exposure.lower * 0, upper=exposure.lower * 0 + 100, fitted=fitted, complete=False
    )
    text = exposure_text(wide, Target(kappa=10, tau=0), limit=1)
    assert exposure.cells.cell(17)["district"] in text and "Unity" in text
    assert "Not every interval was settled" in text


def test_missing_values(bare_story) -> None:
    exposure = bare_story.findings[0].exposure
    text = exposure_text(replace(exposure, upper=np.array([[UNBOUNDED]])), Target(kappa=10, tau=0))
    assert "everyone" in text and "or more" in text and "option" not in text


def test_findings_say_what_was_found(story, broken_story) -> None:
    assert "2 attacks tried, nothing found" in story.findings[0].to_text()
    text = broken_story.findings[0].to_text()
    assert "district D58, age 75+, Harbour: all 31 people chose Harbour" in text
    assert "and 2 more" in text and "1 attack succeeded (bounds): 31 people exposed." in text


def test_release_is_summed_up(story) -> None:
    text = release_text(story, "out/june")
    assert text.startswith("You may publish this release.\n")
    assert "religion     5      -      1          2       489,275 (97.9 %)" in text
    assert "chose 'Harbour'" in text and "out/june" in text
    assert "census analyst: 2 attacks tried" in text
    assert "May I publish? Yes" in text and "What did it cost? 3 of 8 categories of religion" in text


def test_a_failed_release_says_so(story, broken_story) -> None:
    text = release_text(broken_story, "x")
    assert (
        text.startswith("Not certified: do not publish.")
        and "May I publish? No" in text
        and "Nothing was published" in text
    )
    assert "integer tables" not in text
    text = release_text(replace(story, findings=broken_story.findings), "x")
    assert text.startswith("An attack succeeded: do not publish.")


def test_a_failed_release_names_the_cells_that_attacks_found(broken_story) -> None:
    text = release_text(broken_story, "x")
    assert "Disclosed by bounds" in text and "district D58, age 75+, Harbour: all 31 people chose Harbour" in text


def test_where_to_find_the_files(story, broken_story) -> None:
    text = release_text(story, "june", published=True, manifest="ab" * 32, width=120)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "publish june/published" in lines and "confidential: do not publish june/confidential" in lines
    assert f"SHA-256 of the manifest {'ab' * 32}" in lines and any(line.startswith("date 20") for line in lines)
    text = release_text(replace(broken_story, command="safemargin release project.toml"), "june")
    assert "june/published" not in text and "Nothing was published." in text
    assert "command                       safemargin release project.toml --out june" in text


def test_fractional_tables_are_admitted(story) -> None:
    checked = {"joint cells": 26_000, "cells of fewer axes": 3_191, "largest set of fewer axes": 3}
    certificate = replace(
        story.plan.certificate,
        proved="linear",
        method="integer witness tables; 8 cells by a real-valued witness only",
        checked=checked,
        linear=8,
    )
    text = release_text(replace(story, plan=replace(story.plan, certificate=certificate)), "x")
    words = " ".join(text.split())
    assert "proved by integer tables for all but 8 of 29,191 cells" in words
    assert "by fractional (LP) tables for the rest" in words
    assert "checked: 26,000 joint cells, 3,191 cells of fewer axes (up to 3 at a time)" in words
    assert "witness" not in words and "largest set" not in words


def test_a_refusal_says_what_was_proved(story) -> None:
    first, second = story.plan.refusals
    doubt = replace(first, proved=False)
    whole = replace(second, cell={}, people=900)
    text = release_text(replace(story, plan=replace(story.plan, refusals=(doubt, whole))), "x")
    words = " ".join(text.split())
    assert (
        "could not be proved safe: undecided is whether 30 to 31 of the 31 people with district D58, age 75+ chose"
        in words
    )
    assert "0 to 1 of all 900 people chose" in words and "people with -" not in words
    block = str(replace(first, proved=False, lower=0, upper=0))
    assert (
        block.endswith("explain why the 31 people with district D58, age 75+ are protected") and "0 to 0" not in block
    )


def test_only_a_total(bare_story) -> None:
    text = release_text(replace(bare_story, findings=()), "x")
    assert "Only the total is published." in text and "not been attacked" in text


def test_names_are_no_markup(story) -> None:
    exposure = story.findings[0].exposure
    named = replace(exposure, options=("[bold]", "[/red]", "[link=x]", "d"))
    assert "[/red]" in exposure_text(named, Target(kappa=10, tau=0), limit=40)


def test_the_headline_counts_the_cells_of_tables_of_several_axes() -> None:
    """Four large sites by seven grades of which most cells are small: the cost is not nothing."""
    rows = [
        {"site": site, "grade": f"g{grade}", "vote": "yn"[(number + grade) % 2]}
        for site in "ABCD"
        for grade in range(7)
        for number in range(60 if grade < 2 else 12)
    ]
    made = safemargin.release(rows, answer="vote", by=["site", "grade"], tables={"margins": [["site", "grade"]]})
    document = made.to_json()
    shown = document["kept"]["site x grade"]
    (table,) = [made.frame(name) for name in made.tables if name == "site x grade"]
    plain = table[~table["site"].str.contains(" | ", regex=False) & ~table["grade"].str.contains(" | ", regex=False)]
    exact = plain[plain["status"] == "exact"] if "status" in plain else plain
    assert shown == {"exact": len(exact.groupby(["site", "grade"])), "asked": 28} and shown["exact"] < 28
    (cost,) = [answer for answer in document["answers"] if answer["question"] == "What did it cost?"]
    assert cost["answer"] == f"{28 - shown['exact']} of 28 cells of site x grade"
    assert document["verdict"]["state"] == "partly" and "site x grade" in document["verdict"]["sentence"]

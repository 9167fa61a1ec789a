"""Who would be exposed, worked out again from the definition; what the public page may hold; alternatives."""

import csv
import json
import random
import re
from dataclasses import replace
from html import unescape
from itertools import product
from pathlib import Path

import pytest

import safemargin
from safemargin.core import InputError, Target
from safemargin.release.inputs import project_of, read_inputs
from safemargin.release.report.alternatives import alternatives
from safemargin.release.report.answers import three_answers, verdict
from safemargin.release.report.context import is_wanting
from safemargin.release.report.exposed import exposed
from safemargin.release.report.groups import NOT_COMPUTED, Choice

Counts = dict[tuple[str, str], tuple[int, int]]


def town(seed: int) -> Counts:
    """Two axes and two options; some cells are small, some nearly of one mind."""
    draw = random.Random(seed)
    cells = product(("a", "b", "c", "d"), ("x", "y"))
    return {cell: (draw.choice((0, 1, 3, 60, 200)), draw.choice((0, 2, 50, 180))) for cell in cells}


def written(folder: Path, counts: Counts) -> Path:
    with (folder / "votes.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["place", "mode", "answer", "people"])
        for (place, mode), (yes, no) in counts.items():
            writer.writerows([[place, mode, "yes", yes], [place, mode, "no", no]])
    return folder / "votes.csv"


@pytest.mark.parametrize("seed", range(8))
def test_exposed_groups_by_the_definition(tmp_path: Path, seed: int) -> None:
    """Fewer than kappa people, or a share outside [beta, 1 - beta]; a cell inside a listed category adds nothing."""
    counts, target = town(seed), Target(beta=0.05, kappa=20, tau=0)
    said = {"answer": "answer", "by": ["place", "mode"], "count": "people", "target": target}
    project, source = project_of(written(tmp_path, counts), said)
    seen = exposed(read_inputs(project, source).table, target)

    def bad(yes: int, no: int) -> bool:
        people = yes + no
        return people > 0 and (people < 20 or not 0.05 <= yes / people <= 0.95)

    wanted: set[tuple[tuple[str, str], ...]] = set()
    for place, axis in ((0, "place"), (1, "mode")):
        for name in {cell[place] for cell in counts}:
            sums = [sum(c[i] for cell, c in counts.items() if cell[place] == name) for i in (0, 1)]
            wanted |= {((axis, name),)} if bad(*sums) else set()
    for (here, mode), (yes, no) in counts.items():
        inside = (("place", here),) in wanted or (("mode", mode),) in wanted
        wanted |= {(("place", here), ("mode", mode))} if bad(yes, no) and not inside else set()
    assert {tuple(cell.cell.items()) for cell in seen.cells} == wanted
    people = sum(
        yes + no
        for (here, mode), (yes, no) in counts.items()
        if {(("place", here),), (("mode", mode),), (("place", here), ("mode", mode))} & wanted
    )
    assert seen.people == people


def test_answers_that_many_groups_never_gave_hint_at_several_contests(tmp_path: Path) -> None:
    """In half of the places nobody gave a common answer; where every place has both answers, nothing is said."""
    split: Counts = {(place, mode): (0, 90) if place < "e" else (80, 10) for place in "abcdefgh" for mode in "xy"}
    shared: Counts = {(place, mode): (30 + 5 * (mode == "x"), 40) for place in "abcdefgh" for mode in "xy"}
    for counts, said in ((split, "In 4 of 8 large groups of place nobody chose yes: if the data hold"), (shared, "")):
        folder = tmp_path / ("split" if said else "shared")
        folder.mkdir()
        options = {"answer": "answer", "by": ["place", "mode"], "count": "people"}
        project, source = project_of(written(folder, counts), options)
        hint = exposed(read_inputs(project, source).table, Target()).hint
        assert hint.startswith(said) and bool(hint) == bool(said)


BLOC: Counts = {
    ("a", "x"): (61, 79),
    ("a", "y"): (75, 75),
    ("b", "x"): (66, 54),
    ("b", "y"): (52, 58),
    ("c", "x"): (89, 1),
    ("c", "y"): (69, 1),
    ("d", "x"): (60, 80),
    ("d", "y"): (66, 62),
}


def test_merged_bands_are_one_band_in_the_report_and_categories_in_what_is_published(tmp_path: Path) -> None:
    ages = {"17-24": 12, "25-32": 70, "33-40": 80, "41 and over": 90}
    rows = [{"age": age, "v": v, "n": n // 2} for age, n in ages.items() for v in ("yes", "no")]
    by = {"age": {"ordered": True, "categories": list(ages)}}
    made = safemargin.release(rows, answer="v", by=by, count="n", target=Target(kappa=20, tau=0))
    page = (made.write(tmp_path / "out") / "published/index.html").read_text(encoding="utf-8")
    shown = page.partition('<script type="application/json"')[0]  # what a reader sees, without the data of the page
    # The checker compares the page with the files, so the page names groups as they do.
    assert shown != page and "17-24 | 25-32" in shown and ">17-32<" in made.to_html()
    assert "17-24 | 25-32" in (tmp_path / "out/published/age.csv").read_text()


def test_the_public_page_holds_what_is_published_only(tmp_path: Path) -> None:
    """No reason, no count of a merged category, nothing of the confidential report."""
    made = safemargin.release(
        written(tmp_path, BLOC), answer="answer", by=["place", "mode"], count="people", target=Target(kappa=20, tau=0)
    )
    folder = made.write(tmp_path / "out")
    page = (folder / "published/index.html").read_text(encoding="utf-8")
    assert (
        made.certificate.statement.replace("'", "&#39;").replace(" %", "\u00a0%") in page
        and "safemargin verify" in page
    )
    manifest = json.loads((folder / "published/manifest.json").read_text())
    assert all(value in page for name, value in manifest["files"].items() if name != "index.html")
    for decision in made.plan.decisions:
        assert decision.reason not in page
    number = re.compile(r"(?<![\w+/])158(?![\w+/])")  # digits inside a hash are no count
    assert not number.search(page) and "onfidential" not in page, "how many of the 160 in c chose yes"
    assert "dd>158" not in (folder / "confidential/record.html").read_text(encoding="utf-8")


def test_alternatives_are_computed_where_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "safe.csv").write_text(
        "place,answer,people\na,yes,300\na,no,200\nb,yes,250\nb,no,250\n", encoding="utf-8"
    )
    said = {"answer": "answer", "by": ["place"], "count": "people"}
    quiet = safemargin.release(tmp_path / "safe.csv", **said)
    asked = safemargin.release(tmp_path / "safe.csv", **said, alternatives=True)
    assert not is_wanting(quiet._passed) and quiet._passed.alternatives == ()
    choices = asked._passed.alternatives
    assert [choice.beta for choice in choices] == [0.05, 0.05, 0.05, 0.03, 0.02, 0.01]
    assert all(choice.state == "certified" and choice.categories == 2 for choice in choices if choice.protect == "auto")
    for made, name in ((quiet, "quiet"), (asked, "asked")):
        made.write(tmp_path / name)
    assert (tmp_path / "quiet/published/place.csv").read_bytes() == (
        tmp_path / "asked/published/place.csv"
    ).read_bytes()
    assert "What else you could do" in (tmp_path / "asked/confidential/report.html").read_text(encoding="utf-8")


def test_the_first_alternatives_are_decided_by_a_count_and_no_clock(tmp_path: Path) -> None:
    with_bloc = safemargin.release(
        written(tmp_path, BLOC), answer="answer", by=["place", "mode"], count="people", target=Target(kappa=20, tau=0)
    )
    draft = with_bloc._passed
    assert is_wanting(draft) == bool(draft.alternatives)
    calls: list[tuple[str, float]] = []

    def attempt(protect: str, target: Target) -> object:
        calls.append((protect, target.beta))
        if protect == "noise":
            raise InputError("no noise here")
        return draft

    found = alternatives(draft, "merge", Target(beta=0.05, kappa=10, tau=0), attempt, most=2.5)  # type: ignore[arg-type]
    assert [choice.protect for choice in found] == ["merge", "auto", "merge", "merge", "merge"]
    assert [choice.state for choice in found] == ["certified"] * 3 + ["not computed"] * 2
    assert calls == [("auto", 0.05), ("noise", 0.05), ("merge", 0.03)]
    assert found[1].options(0.05) == "--protect auto" and found[2].options(0.05) == "--protect merge --beta 0.03"
    assert replace(found[0], state="refused").people == "refused"


def test_the_first_screen_has_three_states_and_three_answers(tmp_path: Path) -> None:
    """Complete, a table lost, refused: the terminal and the page say the same, in categories and people."""
    even = {(place, mode): (60, 60) for place in "abcd" for mode in "xy"}
    few = {(place, mode): (9, 9) for place in "ab" for mode in "xy"}
    said = {"answer": "answer", "by": ["place", "mode"], "count": "people"}
    whole = safemargin.release(written(tmp_path, even), **said, target=Target(kappa=20, tau=0))  # type: ignore[arg-type]
    lost = safemargin.release(written(tmp_path, few), **said, target=Target(kappa=50, tau=0))  # type: ignore[arg-type]
    assert verdict(whole._passed)[0] == "sound" and "You may publish this release." in whole.to_text()
    assert verdict(lost._passed)[0] == "partly" and "What did it cost? Both tables" in lost.to_text()
    refused = replace(whole._passed, plan=replace(whole.plan, certificate=replace(whole.certificate, certified=False)))
    assert verdict(refused)[0] == "unsound" and three_answers(refused)[0][1] == "No"
    for made in (whole, lost):
        text, page = " ".join(made.to_text().split()), unescape(made.to_html()).replace("\u00a0", " ")
        for question, answer, more in three_answers(made._passed):
            assert f"{question} {answer} {more}" in text
            assert question in page and answer in page and more in page


def test_choices_that_were_not_computed_say_how_to_see_them(tmp_path: Path) -> None:
    said = {"answer": "answer", "by": ["place", "mode"], "count": "people", "target": Target(kappa=20, tau=0)}
    draft = safemargin.release(written(tmp_path, BLOC), **said)._passed  # type: ignore[arg-type]
    now = Choice("now", "auto", 0.05, share=0.5)
    slow = replace(draft, alternatives=(now, Choice("noise", "noise", 0.05, state=NOT_COMPUTED)))
    text = " ".join(slow.to_text().split()) if is_wanting(slow) else ""
    assert "add its options and --draft to the command: that publishes nothing" in text
    assert "No other choice that was computed" not in text, "none was"


def test_the_decision_record_has_limits_attempts_and_lines_to_sign(tmp_path: Path) -> None:
    said = {"answer": "answer", "by": ["place", "mode"], "count": "people", "target": Target(kappa=20, tau=0)}
    made = safemargin.release(written(tmp_path, BLOC), **said)  # type: ignore[arg-type]
    made.write(tmp_path / "out", names=("A. Clerk", "B. Board"))
    page = (tmp_path / "out/confidential/record.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert "95 %" in page and ">20<" in page and "Attempts" in page and "--protect merge" in page
    assert "decided by A. Clerk, date and signature" in page and "checked by B. Board, date and signature" in page

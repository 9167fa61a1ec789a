"""Where much is lost, causes are named, and remedies keep what they say: each is decided again from a changed file."""

import random
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import safemargin
from safemargin.core import Axis, Schema, Table, Tally, frozen
from safemargin.release.rare_options import joined_options, rare_joins


@pytest.mark.slow
@pytest.mark.alternatives
def test_silence_as_an_option_is_named_and_its_remedy_keeps_what_is_said() -> None:
    """Few are silent, nearly all of one site: counted as an answer that costs, skipped it does not."""
    draw = random.Random(3)
    rows = []
    for number in range(1200):
        site = "ABCDEFGH"[number % 8]
        silent = site == "A" and draw.random() < 0.97
        rows.append({"site": site, "sex": "fm"[number // 8 % 2], "vote": "" if silent else draw.choice(["yes", "no"])})
    said = {"answer": "vote", "by": ["site", "sex"]}
    document = safemargin.release(rows, blank="no answer", alternatives=True, **said).to_json()
    assert "'no answer' is counted as an answer" in document["causes"]
    remedies = {remedy["words"]: remedy for remedy in document["remedies"]}
    assert len(remedies) <= 2
    skipped = remedies["count only people who answered"]
    again = safemargin.release(rows, blank="skip", **said).to_json()
    people = [(cell["people"], cell["action"] == "exact") for cell in again["cells"] if cell["cell"]]
    share = sum(count for count, exact in people if exact) / sum(count for count, _ in people)
    assert skipped["share"] == pytest.approx(share) and skipped["asked"] == 2


def test_nothing_is_tried_where_nothing_is_lost(tmp_path: Path) -> None:
    rows = [{"site": "AB"[n % 2], "vote": "yn"[n // 2 % 2]} for n in range(400)]
    document = safemargin.release(rows, answer="vote", by=["site"], alternatives=True).to_json()
    assert document["causes"] == [] and document["remedies"] == []


@pytest.mark.alternatives
def test_a_few_people_without_a_category_are_named_and_skipping_them_keeps_what_is_said() -> None:
    """Two people without a sex are a group of two: it is merged with one of the others, and so that is not exact."""
    draw = random.Random(4)
    rows = [
        {"site": "ABC"[n % 3], "sex": "" if n < 2 else "fm"[n // 3 % 2], "vote": draw.choice(["yes", "no"])}
        for n in range(900)
    ]
    by = {"site": {}, "sex": {"missing": "unknown"}}
    document = safemargin.release(rows, answer="vote", by=by, alternatives=True).to_json()
    assert "2 people without sex in a group" in document["causes"]
    (remedy,) = [each for each in document["remedies"] if each["words"] == "skip 2 people without sex"]
    assert remedy["key"] == '[data] skip = {sex = [""]}'
    again = safemargin.release(rows, answer="vote", by=["site", "sex"], skip={"sex": [""]}).to_json()
    assert remedy["share"] == 1.0 and all(cell["action"] == "exact" for cell in again["cells"] if cell["cell"])


def test_a_lost_table_has_its_reason_on_the_first_screen() -> None:
    """Nobody could merge ten people with anybody: left is one group, which says what the total says."""
    rows = [{"site": "AB"[n < 10], "grade": "xy"[n % 2], "vote": "yn"[n // 2 % 2]} for n in range(400)]
    document = safemargin.release(rows, answer="vote", by=["site", "grade"]).to_json()
    assert document["verdict"]["state"] == "partly" and "site: fewer than 30 people" in document["verdict"]["detail"]


@pytest.mark.alternatives
def test_fewer_columns_are_tried_where_many_part_the_people_too_finely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes that are too much work are passed over: publishing one or two columns is little, and still decided."""
    draw, rows = random.Random(8), []
    for _ in range(draw.choice([100, 140, 180])):
        a = draw.choice("12345")
        c = "1" if (a in "12" and draw.random() < 0.9) or draw.random() < 0.05 else "2"
        b = draw.choice("123") if c == "2" else draw.choice("45")
        rows.append({"a": a, "b": b, "c": c, "vote": draw.choice("yyyyyyn" if c == "1" else "yn")})
    monkeypatch.setattr(import_module("safemargin.release.release"), "WORK", 20)
    document = safemargin.release(rows, answer="vote", by=["a", "b", "c"]).to_json()
    assert [(each["words"], each["share"]) for each in document["remedies"]] == [("publish c only", 1.0)]
    again = safemargin.release(rows, answer="vote", by=["c"]).to_json()
    assert all(cell["action"] == "exact" for cell in again["cells"] if cell["cell"])


def survey_with_a_rare_option(seed: int, scale: bool) -> list[dict[str, str]]:
    """900 people, of whom one in 250 chose an option that is at the end of a scale, if it is one."""
    draw = random.Random(seed)
    options = ["1", "2", "3", "4"] if scale else ["yes", "no", "maybe", "other"]
    return [
        {
            "site": draw.choice("ABCDEFGH"),
            "sex": draw.choice("fm"),
            "grade": draw.choice("xyz"),
            "vote": draw.choices(options, [60, 37, 2.6, 0.4])[0],
        }
        for _ in range(900)
    ]


@pytest.mark.alternatives
@pytest.mark.parametrize("scale", [False, True])
def test_joining_a_rare_option_keeps_what_is_said(scale: bool) -> None:
    """The lines of the remedy, given to the same data, publish what it says."""
    rows, said = survey_with_a_rare_option(1, scale), {"answer": "vote", "by": ["site", "sex", "grade"]}
    more = {"options": ["1", "2", "3", "4"]} if scale else {}
    document = safemargin.release(rows, alternatives=True, **said, **more).to_json()
    rare, next_ = ("4", "3") if scale else ("other", "maybe")
    assert any(cause.endswith(f"% chose '{rare}'") for cause in document["causes"]), document["causes"]
    (remedy,) = [each for each in document["remedies"] if each["key"].startswith("[data] labels")]
    assert remedy["words"] == f"join {next_!r} and {rare!r}" and remedy["share"] == 1.0
    labels = tomllib.loads(remedy["key"].removeprefix("[data] "))["labels"]
    again = safemargin.release(rows, labels=labels, **said, **more).to_json()
    cells = [cell for cell in again["cells"] if cell["cell"]]
    assert all(cell["action"] == "exact" for cell in cells) and again["verdict"]["state"] != "refused"
    asked = safemargin.release(rows, target={"secrets": {rare: "both"}}, alternatives=True, **said, **more).to_json()
    assert not any(each["key"].startswith("[data] labels") for each in asked["remedies"])


def test_ways_to_join_rare_options_leave_none_as_rare_and_lose_nobody() -> None:
    """By the definition, on random totals; options in their order, each once, at least two left."""
    draw = random.Random(6)
    ways = 0
    for _ in range(400):
        count, ordered = draw.randrange(2, 8), draw.random() < 0.5
        totals = [draw.choice([0, 1, 3, 20, 200]) for _ in range(count)]
        if not any(totals):
            continue
        names = tuple(f"o{number}" for number in range(count))
        schema = Schema((Axis("a", ("x",)),), names, ordered_options=ordered)
        tally = Tally(("a",), frozen([[0]], 1), frozen([totals], count))
        table = Table(schema, (tally,), (Tally(("a",), tally.codes, frozen([[sum(totals)]], 1)),))
        for groups in rare_joins(table):
            ways += 1
            inside = [option for group, _ in groups for option in group]
            assert sorted(inside) == list(names) and 1 < len(groups) < count
            assert not ordered or inside == list(names)  # neighbours only
            joined = joined_options(table, groups)
            assert joined.schema.options == tuple(name for _, name in groups)
            assert joined.totals.tolist() == [sum(totals[names.index(o)] for o in group) for group, _ in groups]
            alone = [group[0] for group, _ in groups if len(group) == 1]
            assert len(groups) == 2 or all(100 * totals[names.index(o)] >= sum(totals) for o in alone)
    assert ways > 100


@pytest.mark.alternatives
def test_to_omit_what_is_lost_anyway_is_no_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two small columns are lost, the large one is exact: publishing it alone keeps nothing more."""
    draw = random.Random(5)
    rows = [
        {"a": draw.choice("1234567"), "b": draw.choice("12345678"), "c": draw.choice("12"), "vote": draw.choice("yyyn")}
        for _ in range(150)
    ]
    monkeypatch.setattr(import_module("safemargin.release.release"), "WORK", 20)
    document = safemargin.release(rows, answer="vote", by=["a", "b", "c"]).to_json()
    kept = [each for each in document["remedies"] if each["words"] in ("publish c only", "omit a", "omit b")]
    assert kept == [] and all(cell["action"] == "exact" for cell in document["cells"] if list(cell["cell"]) == ["c"])

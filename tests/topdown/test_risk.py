"""The reconstruction attack against a loop over people, written from its words."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import safemargin
from commands import Run, in_process
from pictures import validate
from safemargin import ui
from safemargin.core import InputError, IntArray
from safemargin.topdown.attributes import Attributes
from safemargin.topdown.risk import MethodRisk, RiskComparison, measure_risk

KINDS = Attributes(("sex", "age", "home"), (("f", "m"), ("young", "old"), ("own", "rent", "care")))


def people(table: IntArray) -> list[tuple[int, int, int, int]]:
    """A tuple of area, sex, age and home for everybody."""
    listed = []
    for area, cell in zip(*np.nonzero(table), strict=True):
        codes = np.unravel_index(int(cell), (2, 2, 3))
        listed += [(int(area), *(int(code) for code in codes))] * int(table[area, cell])
    return listed  # type: ignore[return-value]


def by_hand(truth: IntArray, table: IntArray) -> tuple[int, int, int]:
    """Who is not typical; about whom something is stated; about whom that is right."""
    real, published = people(truth), people(table)
    typical = {}
    for sex in range(2):
        for age in range(2):
            homes = Counter(home for _, s, a, home in real if (s, a) == (sex, age))
            typical[sex, age] = max(range(3), key=lambda home: (homes[home], -home))
    special = [person for person in real if person[3] != typical[person[1], person[2]]]
    stated = right = 0
    for area, sex, age, home in special:
        matching = {h for a, s, g, h in published if (a, s, g) == (area, sex, age)}
        if len(matching) == 1:
            stated += 1
            right += home in matching
    return len(special), stated, right


def test_the_attack_is_the_one_in_words() -> None:
    generator = np.random.default_rng(5)
    for _ in range(20):
        truth = generator.poisson(0.6, (9, 12)).astype(np.int64)
        other = np.maximum(truth + generator.integers(-1, 2, truth.shape), 0)
        found = measure_risk(KINDS, truth, {"exact": truth, "other": other}, ("sex", "age"), "home")
        for risk, table in zip(found.methods, (truth, other), strict=True):
            assert (risk.people, risk.stated, risk.right) == by_hand(truth, table)
        assert found.methods[0].error == 0 and found.methods[0].precision == 1
        swapped = measure_risk(KINDS, truth, {"exact": truth}, ("home", "age"), "sex")
        assert swapped.methods[0].right == swapped.methods[0].stated  # the place of the attribute does not matter


def names_by_hand(truth: IntArray, table: IntArray) -> tuple[int, int, int]:
    """Records of the table that are records of the data; names given to records; right ones."""
    real, published = people(truth), people(table)
    named = right = 0
    for person in real:
        mine = [other for other in real if other[:3] == person[:3]]
        linked = [record for record in published if record[:3] == person[:3]]
        if len(mine) == len(linked) == 1:
            named += 1
            right += linked[0] == person
    return (Counter(real) & Counter(published)).total(), named, right


def test_names_are_given_as_in_words() -> None:
    generator = np.random.default_rng(8)
    for _ in range(20):
        truth = generator.poisson(0.4, (9, 12)).astype(np.int64)
        other = np.maximum(truth + generator.integers(-1, 2, truth.shape), 0)
        found = measure_risk(KINDS, truth, {"exact": truth, "other": other}, ("sex", "age"), "home")
        for risk, table in zip(found.methods, (truth, other), strict=True):
            assert (risk.rebuilt, risk.named, risk.named_rightly) == names_by_hand(truth, table)
            assert risk.named_share == pytest.approx(risk.rebuilt_share * risk.matched_share)
        assert found.methods[0].rebuilt_share == found.methods[0].naming_precision == 1


def test_the_chart_is_valid() -> None:
    risks = tuple(MethodRisk(f"swapping {n}", float(n), 100, 40, 40 - 10 * n) for n in range(3))
    found = RiskComparison(("sex",), "home", risks)
    validate(found.chart)


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run: Run = in_process(monkeypatch, capsys)
    assert run("topdown", "--demo", tmp_path / "land", "--people", 300, "--blocks", 9).code == 0
    config = tmp_path / "land/topdown.toml"
    people = f"itself={tmp_path / 'land/people.parquet'}"
    ran = run("topdown", config, "--out", tmp_path / "out", "--beside", people, "--attack", "sex,age:tenure", "--json")
    risk = ran.document["risk"]
    methods = {entry["method"]: entry for entry in risk["methods"]}  # type: ignore[index]
    assert methods["itself"]["right"] == methods["exact tables"]["right"] > 0  # the file itself is no protection
    assert methods["integer tables"]["error"] > 0 and methods["itself"]["error"] == 0
    again = safemargin.topdown(config, tmp_path / "out", attack=(("sex", "age"), "tenure"))
    assert (
        "What the tables disclose about people" in again.to_text()
        and "How often a statement is right" in again.to_html()
    )
    for wrong in ("tenure", "sex:nobody", "sex:sex"):
        refused = run("topdown", config, "--out", tmp_path / "out", "--attack", wrong)
        assert refused.code == 2 and refused.err.count("\n") == 1
    with pytest.raises(InputError, match="is not one of the attributes"):
        measure_risk(KINDS, np.zeros((1, 12), dtype=np.int64), {}, ("sex",), "income")


def test_shares_are_printed_as_people_read_them() -> None:
    risk = RiskComparison(("sex",), "tenure", (MethodRisk("noise", 1.0, 90, 36, 28),))

    class Shown(ui.Result):
        def to_report(self) -> ui.Report:
            return ui.Report("Attack", risk.section)

        def to_json(self) -> ui.Document:
            return risk.to_json()

    text = Shown().to_text()
    assert "31 %" in text and "78 %" in text and "31.1" not in text

"""What the product guarantees, end to end, on the cases that the paper gets wrong."""

import json
from pathlib import Path

import numpy as np
import pytest

from safemargin import Onlooker, Target
from safemargin.audit.attack import attack
from safemargin.bounds import infer
from safemargin.core import Axis, Schema, Table, Tally, frozen, onlooker_with_roll
from safemargin.release.decide.decide import decide
from safemargin.release.publish import publish

COUNTER_EXAMPLES = {
    "structural zero": ([[100, 100], [100, 0]], [[0, 50], [50, 0]], (0, 0), 100),
    "no zero needed": ([[1000, 1000], [1000, 40]], [[3, 520], [510, 10]], (0, 33), 1000),
}


def two_by_two(people: list[list[int]], votes: list[list[int]]) -> Table:
    n, t = np.array(people), np.array(votes)
    codes = np.argwhere(n > 0)
    size, yes = n[tuple(codes.T)], t[tuple(codes.T)]
    axes = (Axis("row", ("1", "2")), Axis("column", ("1", "2")))
    names = ("row", "column")
    votes_tally = Tally(names, frozen(codes, 2), frozen(np.stack([yes, size - yes], axis=1), 2))
    return Table(Schema(axes, ("A", "B")), (votes_tally,), (Tally(names, frozen(codes, 2), frozen(size, 1)),))


@pytest.mark.parametrize("name", COUNTER_EXAMPLES)
def test_regular_slices_do_not_make_a_safe_release(name: str) -> None:
    people, votes, ends, exposed = COUNTER_EXAMPLES[name]
    table, target = two_by_two(people, votes), Target(beta=0.2, kappa=100, guard=0.01, tau=0)
    exposure = infer(table)
    cell = next(r for r in range(len(exposure.cells)) if exposure.cells.cell(r) == {"row": "1", "column": "1"})
    assert (exposure.lower[cell, 0], exposure.upper[cell, 0]) == ends
    assert exposure.verdicts(target)[cell, 0] == 2
    for axis in (("row",), ("column",)):
        slices = infer(table, target=axis)
        assert (slices.verdicts(target) == 0).all(), "every slice passes the per-cell rule"

    plan = decide(table, target)
    first = plan.refusals[0]
    assert (first.cell, first.people, (first.lower, first.upper)) == ({"row": "1", "column": "1"}, exposed, ends)
    assert plan.certificate.certified and plan.certificate.proved == "integer"
    findings = attack(publish(plan, table), onlooker_with_roll(table, "joint"))
    assert findings.is_safe and findings.exposure.tallied(target)["disclosed"] == 0
    assert any(decision.action == "exact" for decision in plan.decisions), "something is still published"


def one_near_unanimous() -> Table:
    """Three groups on one axis, the second nearly unanimous; two on another."""
    people = [[4000, 3000], [300, 200], [2000, 2500]]
    votes = [[1800, 1300], [297, 198], [900, 1200]]
    axes = (Axis("faith", ("a", "b", "c")), Axis("age", ("young", "old")))
    codes = np.array([(f, g) for f in range(3) for g in range(2)])
    n, t = np.array(people).ravel(), np.array(votes).ravel()
    tally = Tally(("faith", "age"), frozen(codes, 2), frozen(np.stack([t, n - t], axis=1), 2))
    return Table(Schema(axes, ("A", "B")), (tally,), (Tally(("faith", "age"), frozen(codes, 2), frozen(n, 1)),))


@pytest.mark.parametrize("protect", ["merge", "noise", "suppress"])
def test_one_irregular_cell_cannot_be_recovered_by_subtraction(protect: str) -> None:
    table, target = one_near_unanimous(), Target(beta=0.05, kappa=100, tau=3)
    onlooker = onlooker_with_roll(table, "joint")
    plan = decide(table, target, [onlooker], protect=protect)
    assert plan.certificate.certified
    hidden = [d for d in plan.axis("faith") if d.action != "exact"]
    assert hidden and not any(d.group == frozenset({"b"}) and d.action == "exact" for d in plan.decisions)
    findings = attack(publish(plan, table), onlooker)
    assert findings.is_safe, [attempt.summary for attempt in findings.attempts]
    everybody = next(t for t in publish(plan, table).tables if t.axes == ())
    assert everybody.lower.tolist() == table.totals.tolist(), "the total is exact"


def test_naive_suppressing_is_broken_by_subtraction() -> None:
    table = one_near_unanimous()
    plan = decide(table, Target(beta=0.05, kappa=100, tau=3), protect="suppress")
    release = publish(plan, table)
    tables = []
    for each in release.tables:
        if each.axes != ("faith",):
            tables.append(each)
            continue
        truth = infer(table, target=("faith",))
        hide = np.array([each.groups[0][code] == frozenset({"b"}) for code in each.codes[:, 0]])
        values = truth.lower[each.codes[:, 0], each.option]
        status = tuple("suppressed" if h else "exact" for h in hide)
        lower, upper = np.where(hide, 0, values), np.where(hide, 2**53, values)
        tables.append(
            type(each)(each.name, each.axes, each.groups, each.codes, each.options, each.option, lower, upper, status)
        )
    findings = attack(type(release)(tuple(tables), release.target), Onlooker())
    broken = next(attempt for attempt in findings.attempts if attempt.attack == "subtraction")
    assert {(f.option, f.lower, f.upper) for f in broken.findings} == {("A", 495, 495), ("B", 5, 5)}


def test_sealed_tallies_give_the_same_plan_as_the_microdata() -> None:
    table = one_near_unanimous()
    sealed = Table(table.schema, (table.margin(("faith",)), table.margin(("age",)), table.margin(())), table.roll)
    target = Target(beta=0.05, kappa=100, tau=3)
    whole, parts = decide(table, target), decide(sealed, target)
    assert whole.decisions == parts.decisions and whole.certificate == parts.certificate
    for one, other in zip(publish(whole, table).tables, publish(parts, sealed).tables, strict=True):
        assert (one.lower == other.lower).all() and one.groups == other.groups


@pytest.mark.slow
@pytest.mark.data
def test_north_carolina_2018(
    data_sets: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from safemargin.cli import main

    file = data_sets / "nc2018_ushouse_precinct_mode_candidate.parquet"
    columns = ["--count", "votes", "--option", "candidate", "--by", "county_name,precinct,district,mode"]
    arguments = ["safemargin", "audit", str(file), *columns, "--skip", "votes=-1", "--json"]
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 1
    attack = next(a for a in json.loads(capsys.readouterr().out)["attacks"] if a["attack"] == "homogeneity")
    assert (len(attack["findings"]), attack["looked_at"], attack["people_exposed"]) == (378, 5844, 1084)

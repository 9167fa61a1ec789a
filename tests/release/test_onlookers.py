"""What is certified is true of the onlooker it names: attacks from the definition, with scipy's programs."""

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from commands import Run, in_process
from safemargin import Release, release
from safemargin.core import Axis, Inconsistency, InputError, Schema, Table, Tally, Target, frozen, onlooker_with_roll
from safemargin.release.decide.decide import decide
from safemargin.release.decide.judge import prove_counts
from safemargin.release.publish import publish
from safemargin.release.rule.candidates import Candidate
from safemargin.release.rule.split import unmerged_split

pytestmark = [pytest.mark.usefixtures("no_pictures"), pytest.mark.full]


def rows_of(cells: Mapping[tuple[str, str], tuple[int, int]]) -> list[dict[str, str]]:
    return [
        {"r": r, "c": c, "v": "yes" if n < yes else "no"}
        for (r, c), (people, yes) in cells.items()
        for n in range(people)
    ]


def call(rows: Sequence[Mapping[str, str]], composition: str, by: Sequence[str] = ("r", "c"), **more: Any) -> Release:
    more = {"target": Target(kappa=10, tau=0), **more}
    onlookers = [{"name": "x", "composition": composition, **more.pop("knows", {})}]
    return release(rows, answer="v", options=["yes", "no"], by=list(by), onlookers=onlookers, **more)


@pytest.mark.parametrize("composition", ["none", "sizes", "joint"])
def test_a_unanimous_electorate_discloses_nothing_that_its_total_does_not(composition: str) -> None:
    rows = [{"r": "ab"[n % 2], "v": "yes"} for n in range(200)]
    made = call(rows, composition, by=["r"])
    assert "The total says that nobody chose 'no'" in made.certificate.statement
    assert made.frame("total")["count"].tolist() == [200, 0]


@pytest.mark.parametrize("composition", ["none", "sizes", "joint"])
def test_one_axis_is_checked_for_every_onlooker(composition: str) -> None:
    """Everybody in `a` said yes, and `c` has one category: whatever is published, `a` is not by itself."""
    made = call(rows_of({("a", "c"): (100, 100), ("b", "c"): (100, 30), ("d", "c"): (100, 40)}), composition)
    table = made.frame("r") if "r" in made.tables else None
    assert table is None or "a" not in set(table["r"])


@pytest.mark.parametrize("composition", ["none", "sizes", "joint"])
def test_three_of_a_hundred_may_say_yes(composition: str) -> None:
    rows = [{"r": "ab"[n % 2], "v": "yes" if n < 310 else "no"} for n in range(10_000)]
    made = call(rows, composition, by=["r"], target=Target(beta=0.05, kappa=10, tau=0))
    assert made.frame("total")["count"].tolist() == [310, 9690]


def disclosed_by_sizes(published: Mapping[str, Mapping[frozenset[str], np.ndarray]], target: Target) -> list[str]:
    """Cells of two axes whose count is fixed, or whose share lies outside the limits in every joint table there is.

    Who knows sizes only may think of any joint table of answers, one transport problem per option; no share is a
    linear function of these, so the question is put as a program: is there a table with `T = share * N` in the limits?
    """
    found = []
    axes = list(published)
    for first, second in combinations(axes, 2):
        groups = list(product(published[first], published[second]))
        options = len(next(iter(published[first].values())))
        width = len(groups) * options
        equal, right = [], []
        for axis, place in ((first, 0), (second, 1)):
            for group, counts in published[axis].items():
                for option in range(options):
                    row = np.zeros(width)
                    for number, pair in enumerate(groups):
                        row[number * options + option] = pair[place] == group
                    equal.append(row)
                    right.append(counts[option])
        total = sum(published[first].values())
        limits = target.limits([int(n) for n in total], int(total.sum()))
        for number, pair in enumerate(groups):
            for option in range(options):
                cost = np.zeros(width)
                cost[number * options + option] = 1
                ends = [linprog(sign * cost, A_eq=equal, b_eq=right).fun * sign for sign in (1, -1)]
                inside = np.zeros((2, width))  # floor * N <= T <= ceiling * N, and somebody is there
                inside[:, number * options : (number + 1) * options] = [
                    [float(limits.floors[option])] * options,
                    [-float(limits.ceilings[option])] * options,
                ]
                inside[0, number * options + option] -= 1
                inside[1, number * options + option] += 1
                somebody = np.zeros(width)
                somebody[number * options : (number + 1) * options] = -1
                rows = np.vstack([inside, somebody])
                fits = linprog(np.zeros(width), A_ub=rows, b_ub=[1e-7, 1e-7, -1], A_eq=equal, b_eq=right)
                if ends[1] - ends[0] <= target.tau + 1e-6 or fits.status == 2:
                    found.append(f"{pair} {option}: {ends}")
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("composition", ["none", "sizes"])
def test_nothing_is_disclosed_to_somebody_who_knows_sizes(seed: int, composition: str) -> None:
    rng = np.random.default_rng([seed, 3])
    cells = {}
    for profile in product("ab", "xyz"):
        people = int(rng.integers(0, 60))
        cells[profile] = people, int(rng.binomial(people, rng.choice([0.02, 0.3, 0.6, 0.98])))
    target = Target(beta=0.1, kappa=5, tau=int(rng.integers(0, 3)))
    rows = rows_of(cells)
    made = call(rows, composition, target=target)
    shown: dict[str, dict[frozenset[str], np.ndarray]] = {}
    for axis in ("r", "c"):
        if axis in made.tables:
            table = made.frame(axis)
            shown[axis] = {frozenset(name.split(" | ")): part["count"].to_numpy() for name, part in table.groupby(axis)}
    assert disclosed_by_sizes(shown, target) == []


HOLE = Schema((Axis("r", ("a", "b")), Axis("c", ("x", "y"))), ("yes", "no"))


def sealed(rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]], total: Sequence[int]) -> Table:
    """Sealed elections over N = [[100, 100], [100, 0]]."""
    codes = frozen([[0], [1]], 1)
    votes = (
        Tally(("r",), codes, frozen(rows, 2)),
        Tally(("c",), codes, frozen(columns, 2)),
        Tally((), frozen(np.zeros((1, 0)), 0), frozen([total], 2)),
    )
    roll = Tally(("r", "c"), frozen([[0, 0], [0, 1], [1, 0]], 2), frozen([[100], [100], [100]], 1))
    apart = max(abs(int(n) - m) for part in (rows, columns) for n, m in zip(np.sum(part, axis=0), total, strict=True))
    return Table(HOLE, votes, (roll,), Inconsistency(apart / sum(total)))


@pytest.mark.parametrize("apart", [0, 2, 3, 10])
def test_the_hole_is_never_exact_on_both_axes_however_far_totals_are_apart(apart: int) -> None:
    table = sealed([[50, 150], [50 + apart, 50 - apart]], [[50, 150], [50, 50]], [100, 200])
    plan = decide(table, Target(kappa=10, tau=0))
    exact = [axis for axis in ("r", "c") if {str(d.action) for d in plan.axis(axis)} == {"exact"}]
    assert plan.certificate.certified and len(exact) < 2
    assert [published.name for published in publish(plan, table).tables][0] == "total"


def is_disclosed_in_some_reading(table: Table, target: Target) -> bool:
    """Every way to move the answers that disagree, as small as they are, and a program per cell in each of them."""
    total = table.totals
    limits = target.limits(total.tolist(), 300)
    margins = []
    for axis in ("r", "c"):
        counts = table.margin((axis,)).counts
        surplus = int(counts[:, 0].sum() - total[0])
        ways = [(n, abs(surplus) - n) for n in range(abs(surplus) + 1)]
        sign = 1 if surplus > 0 else -1
        margins.append([[int(counts[g, 0]) - sign * way[g] for g in (0, 1)] for way in ways])
    for (a, b), (x, y) in product(*margins):
        if min(a, b, x, y) < 0:
            continue
        # T(b, y) = 0, so T(b, x) = b, T(a, y) = y and T(a, x) = x - b: one table at most.
        if b <= 100 and y <= 100 and 0 <= x - b <= 100 and a == x - b + y:
            counts = np.array([[x - b, 100 - (x - b)], [y, 100 - y], [b, 100 - b]])
            people = np.array([100, 100, 100])
            if (limits.verdicts(counts, counts, people) == 2).any():
                return True
    return False


def test_a_certificate_holds_for_every_reading_and_more_disagreement_never_certifies_more() -> None:
    """The hole with one profile less leaves one table per reading: enumerated for 60 random pairs of elections."""
    rng = np.random.default_rng(11)
    target, certified = Target(beta=0.1, kappa=10, tau=0), 0
    for _ in range(60):
        b, y, inside = (int(n) for n in rng.integers(5, 95, 3))
        total = [b + y + inside, 300 - b - y - inside]
        columns = [[inside + b, 200 - inside - b], [y, 100 - y]]
        held = []
        for apart in (0, 1, 3, 6):
            apart = min(apart, 100 - b, 200 - inside - y)
            table = sealed([[inside + y, 200 - inside - y], [b + apart, 100 - b - apart]], columns, total)
            splits = tuple(unmerged_split(table, axis) for axis in ("r", "c"))
            limits = target.limits(total, 300)
            proof = prove_counts(table, Candidate(splits), [onlooker_with_roll(table, "joint")], limits)
            held.append(proof.holds)
            if proof.holds:
                certified += apart > 0
                assert not is_disclosed_in_some_reading(table, target), (b, y, inside, apart)
        assert held == sorted(held, reverse=True), "more disagreement certified more"
    assert certified > 20


def test_totals_that_disagree_in_the_middle_need_a_binding_total(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run: Run = in_process(monkeypatch, capsys)
    (tmp_path / "r.csv").write_text("r,option,count\na,yes,250\na,no,250\nb,yes,251\nb,no,249\n")
    (tmp_path / "c.csv").write_text("c,option,count\nx,yes,250\nx,no,250\ny,yes,249\ny,no,251\n")
    (tmp_path / "roll.csv").write_text("r,c,people\na,x,250\na,y,250\nb,x,250\nb,y,250\n")
    text = '[tallies]\nfiles = { r = "r.csv", c = "c.csv" }\n[roll]\nfiles = ["roll.csv"]\n[axes.r]\n[axes.c]\n'
    (tmp_path / "p.toml").write_text(text)
    ran = run("release", "p.toml", "--out", "out")
    assert ran.code == 2 and "set tallies.total" in ran.err and not (tmp_path / "out").exists()


STAFF = {
    ("Aarau", "junior"): (160, 70),
    ("Aarau", "senior"): (120, 66),
    ("Basel", "junior"): (140, 77),
    ("Basel", "senior"): (100, 41),
    ("Chur", "junior"): (60, 59),
    ("Chur", "senior"): (40, 22),
}


def with_fact(folder: Path, fact: str, **more: Any) -> Release:
    (folder / "fact.csv").write_text(fact)
    knows = {"facts": [str(folder / "fact.csv")], "knows_rule": more.pop("rule", False)}
    return call(rows_of(STAFF), "joint", knows=knows, **more)


@pytest.mark.parametrize("rule", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_fact_that_was_held_before_does_not_block(tmp_path: Path, rule: bool) -> None:
    made = with_fact(tmp_path, "r,c,option,count\nChur,junior,yes,59\nChur,junior,no,1\n", rule=rule)
    assert set(made.tables) == {"total", "r", "c"}
    assert "facts disclose by themselves does not count" in made.certificate.statement
    assert all(findings.is_safe for findings in made.findings)


def test_a_fact_that_a_release_would_narrow_blocks_what_narrows_it(tmp_path: Path) -> None:
    """58 to 60 of 60 is known; with both axes exact, the rest of Chur and of the juniors would say more."""
    made = with_fact(tmp_path, "r,c,option,lower,upper\nChur,junior,yes,58,60\nChur,senior,yes,20,22\n")
    groups = {axis: set(made.frame(axis)[axis]) for axis in ("r", "c") if axis in made.tables}
    assert "Chur" not in groups.get("r", set()), "81 of 100 in Chur leave 59 to 60 of its juniors"


def test_contradictory_facts_are_still_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot all hold|contradict"):
        with_fact(tmp_path, "r,option,count\nChur,yes,99\nChur,no,99\n")


def test_a_count_below_tau_is_known_by_the_total_alone() -> None:
    """Two of 300 said yes, and every count within 3 is disclosed: the total says so, and nothing else is published."""
    rows = [{"r": "abc"[n % 3], "v": "yes" if n < 2 else "no"} for n in range(300)]
    made = call(rows, "joint", by=["r"], target=Target(tau=3, kappa=10))
    assert list(made.tables) == ["total"] and "disclose by themselves does not count" in made.certificate.statement

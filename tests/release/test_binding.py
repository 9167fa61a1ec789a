"""Releases about the same people are one union of facts: enumerated from the definition, nobody's answer comes out."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from safemargin import RefusedError, Release, Target, release
from safemargin.core import InputError, Limits
from safemargin.history.entries import Entry, epsilon_left, weaknesses
from safemargin.history.file import read_ledger

pytestmark = [pytest.mark.usefixtures("no_pictures"), pytest.mark.full]

AXES = {"site": ("a", "b", "c"), "grade": ("x", "y"), "age": ("o", "p")}
Person = tuple[str, Mapping[str, str] | None, Mapping[str, str] | None, str]
"""Name, categories then and now (none: not there), and the answer, which nobody changes."""


def staff(rng: np.random.Generator, came: int, went: int, axes: Sequence[str], balanced: bool) -> list[Person]:
    """People of a few profiles; as many come as go within every site if turnover is `balanced`."""

    def anybody(**fixed: str) -> dict[str, str]:
        return {axis: fixed.get(axis) or str(rng.choice(AXES[axis])) for axis in axes}

    def answer() -> str:
        return "yes" if rng.random() < 0.5 else "no"

    people: list[Person] = []
    for number, (site, grade) in enumerate(product(AXES["site"], AXES["grade"])):
        for n in range(int(rng.integers(3, 6))):
            profile = anybody(site=site, grade=grade)
            people.append((f"s{number}-{n}", profile, profile, answer()))
    for n in range(came):
        home = anybody()
        people.append((f"j{n}", None, home, answer()))
        if balanced:
            people.append((f"l{n}", anybody(site=home["site"]), None, answer()))
    people += [(f"l{n}", anybody(), None, answer()) for n in range(0 if balanced else went)]
    return people


def released(folder: Path, people: Sequence[Person], cycle: int, axes: Sequence[str], **more: Any) -> Release | None:
    rows = [
        {"name": name, "v": answer, **profiles[cycle]}
        for name, *profiles, answer in people
        if profiles[cycle] is not None
    ]
    ledger = {"file": str(folder / "ledger"), "population": "p", "cycle": str(cycle), "id": "name", "answers": "kept"}
    ledger |= more.pop("ledger", {})
    by = {axis: {"categories": list(AXES[axis])} for axis in axes}
    try:
        # That tables and cycles together disclose nobody does not depend on the rule, which takes long to run again.
        onlookers = [{"name": "x", "knows_rule": False}]
        made = release(rows, answer="v", options=["yes", "no"], by=by, ledger=ledger, onlookers=onlookers, **more)
    except RefusedError:
        return None
    made.write(folder / f"out{cycle}")
    return made


def facts_of(made: Release | None, cycle: int) -> list[tuple[int, dict[str, set[str]], int]]:
    """Per exact count of `yes`: the cycle, the categories, and the count."""
    facts = []
    for name, table in (made.tables if made else {}).items():
        axes = [axis for axis in table.columns if axis in AXES]
        for row in table.to_dict("records"):
            if row["option"] == "yes" and row["status"] in ("exact", "merged"):
                facts.append((cycle, {axis: set(row[axis].split(" | ")) for axis in axes}, int(row["count"])))
        assert name
    return facts


def breaks(
    people: Sequence[Person], facts: Sequence[tuple[int, dict[str, set[str]], int]], limits: Limits
) -> set[tuple[int, ...]]:
    """Histories whose answers are disclosed by enumeration of every way that people of each history may answer."""
    kinds = Counter((tuple((then or {}).items()), tuple((now or {}).items())) for _, then, now, _ in people)
    sizes = list(kinds.values())
    ways = np.zeros((1, 0), dtype=np.int64)
    remaining = [list(fact) for fact in facts]
    inside = np.array(
        [
            [
                bool(kind[cycle]) and all(dict(kind[cycle])[axis] in names for axis, names in cell.items())
                for kind in kinds
            ]
            for cycle, cell, _ in facts
        ]
    )
    goals = np.array([count for *_, count in remaining])
    capacity = np.array(sizes)
    for place, size in enumerate(sizes):  # depth by depth, dropping what no fact can still satisfy
        ways = np.concatenate([np.column_stack([ways, np.full(len(ways), n)]) for n in range(size + 1)])
        sums = ways @ inside[:, : place + 1].T.astype(np.int64)
        room = (inside[:, place + 1 :] * capacity[place + 1 :]).sum(axis=1)
        ways = ways[((sums <= goals) & (sums + room >= goals)).all(axis=1)]
    found = set()
    groups = [np.arange(len(sizes)) == place for place in range(len(sizes))]
    for moved in ((False, True), (True, False), (True, True)):
        groups.append(np.array([(bool(then), bool(now)) == moved for then, now in kinds]))
    for members in groups:
        people_in = int(capacity[members].sum())
        counts = ways[:, members].sum(axis=1)
        if people_in:
            low, high = int(counts.min()), int(counts.max())
            ends = np.array([[low, people_in - high]]), np.array([[high, people_in - low]])
            if (limits.verdicts(*ends, np.array([people_in])) == 2).any():
                found.add(tuple(np.flatnonzero(members).tolist()))
    return found


def pair_holds(folder: Path, seed: int, kind: str) -> bool:
    """Two releases about the same people; whether the second was published, and then nobody is disclosed by both."""
    rng = np.random.default_rng([seed, 13])
    axes = ["site", "grade"]
    later = [*axes, "age"] if kind == "axes" else axes
    people = staff(rng, int(rng.integers(1, 4)), int(rng.integers(0, 3)), later, kind == "balanced")
    target = Target(beta=0.1, kappa=3, tau=0)
    first = released(folder, people, 0, axes, target=target)
    more: dict[str, Any] = {"target": target}
    if kind == "weaker":
        more = {"target": Target(beta=0.05, kappa=2, tau=0), "ledger": {"weaker": "the council asked for it"}}
    second = released(folder, people, 1, later, **more)
    if first is None or second is None:
        return False
    now = [answer for _, _, here, answer in people if here is not None]
    limits = target.limits([now.count("yes"), now.count("no")], len(now))
    totals = [fact for fact in (*facts_of(first, 0), *facts_of(second, 1)) if not fact[1]]
    known = breaks(people, totals, limits)
    both = breaks(people, [*facts_of(first, 0), *facts_of(second, 1)], limits)
    assert both <= known, (seed, kind)
    return True


KINDS = ("plain", "balanced", "weaker", "axes")
PAIRS = int(os.environ.get("SAFEMARGIN_PAIRS", "3"))
"""Pairs of cycles of each kind in the slow test; 50 are 200 pairs, in about ten minutes of one core."""


@pytest.mark.parametrize("kind", KINDS)
def test_two_cycles_about_the_same_people_disclose_nobody(tmp_path: Path, kind: str) -> None:
    assert pair_holds(tmp_path, 100, kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_pairs_of_cycles_disclose_nobody(tmp_path: Path, kind: str) -> None:
    held = 0
    for seed in range(101, 101 + PAIRS):
        (tmp_path / str(seed)).mkdir()
        held += pair_holds(tmp_path / str(seed), seed, kind)
    assert held >= PAIRS // 3


def entry(**more: Any) -> Entry:
    return Entry(
        "p", "2025", "", Target(**{"kappa": 10, "tau": 0, **more.pop("target", {})}), {}, (), 9, 9, "", (), **more
    )


def test_a_weaker_target_is_named() -> None:
    before = entry(target={"beta": 0.1, "kappa": 20, "tau": 2})
    assert weaknesses([before], Target(beta=0.1, kappa=20, tau=2), None) == []
    assert weaknesses([before], Target(beta=0.2, kappa=30, tau=3, epsilon_max=0.5), 3.0) == []
    said = weaknesses([before], Target(beta=0.05, kappa=10, tau=1, epsilon_max=2.0), None)
    assert said[0] == "beta was 0.1 in '2025' and is 0.05 now" and len(said) == 4
    assert weaknesses([entry(epsilon_total=1.0)], Target(kappa=10, tau=0), 2.0) == [
        "epsilon_total was 1 in '2025' and is 2 now"
    ]


def test_epsilon_adds_up_over_cycles() -> None:
    used = [entry(epsilon=0.75), entry(epsilon=0.5)]
    assert epsilon_left(Path("l"), used, None) == float("inf")
    assert epsilon_left(Path("l"), used, 2.0) == 0.75
    assert epsilon_left(Path("l"), [entry(epsilon_total=1.0, epsilon=0.25)], None) == 0.75
    with pytest.raises(InputError, match="cost epsilon 1.25, and epsilon_total = 1: nothing is left"):
        epsilon_left(Path("l"), used, 1.0)


def test_a_weaker_target_needs_a_recorded_reason_and_what_was_certified_to_hold(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    people = staff(rng, 0, 0, ["site", "grade"], False)
    strict, weak = Target(beta=0.1, kappa=8, tau=0), Target(beta=0.1, kappa=3, tau=0)
    assert released(tmp_path, people, 0, ["site", "grade"], target=strict)
    with pytest.raises(InputError, match="kappa was 8 in '0' and is 3 now: the target is weaker"):
        released(tmp_path, people, 1, ["site", "grade"], target=weak)
    made = released(tmp_path, people, 1, ["site", "grade"], target=weak, ledger={"weaker": "a new law"})
    if made is not None:
        assert read_ledger(tmp_path / "ledger")[1].weaker == "a new law"
        assert any("Reason: a new law" in note for note in made.plan.notes)


def test_axes_may_be_added_and_not_dropped(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    people = staff(rng, 0, 0, ["site", "grade", "age"], False)
    assert released(tmp_path, people, 0, ["site"], target=Target(kappa=3, tau=0))
    with pytest.raises(InputError, match=r"axis 'site' was published in '0' and is missing now; add \[axes.site\]"):
        released(tmp_path, people, 1, ["grade"], target=Target(kappa=3, tau=0))


def test_an_added_axis_needs_names_where_people_joined(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    people = staff(rng, 2, 0, ["site", "age"], False)
    net = {"id": None, "turnover": "net"}
    by = {"target": Target(kappa=3, tau=0)}
    assert released(tmp_path, people, 0, ["site"], ledger=net, **by)
    with pytest.raises(InputError, match="axes.age: is new since '0', and people joined"):
        released(tmp_path, people, 1, ["site", "age"], ledger=net, **by)
    same = [(name, then, then, answer) for name, then, _, answer in people if then is not None]
    released(tmp_path, same, 1, ["site", "age"], ledger=net, **by)

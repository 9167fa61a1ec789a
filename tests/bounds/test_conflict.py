"""Contradictions are stated by facts that contradict each other, none of them needless."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from brute import published
from safemargin.bounds.bound import infer
from safemargin.bounds.build import build_system
from safemargin.bounds.conflict import Conflict, conflict
from safemargin.bounds.system import System
from safemargin.core import ContradictionError, Onlooker, PublishedTable


def conflict_of(tables: list[PublishedTable], roll: PublishedTable) -> list[str]:
    with pytest.raises(ContradictionError) as caught:
        infer(tables, Onlooker(roll=(roll,)))
    start, _, facts = str(caught.value).partition(": ")
    assert start == "these facts cannot all hold"
    return facts.split("; ")


def test_answers_beyond_the_roll_name_its_entry() -> None:
    rows = [(("a",), "yes", 5), (("a",), "no", 6), (("b",), "yes", 7), (("b",), "no", 1)]
    table = published("ry.csv", ["r"], rows, ["yes", "no"])
    roll = published("roll.csv", ["r"], [(("a",), None, 10), (("b",), None, 10)], measure="people")
    assert conflict_of([table], roll) == ["ry.csv (r a, yes) = 5", "ry.csv (r a, no) = 6", "roll.csv (r a) = 10 people"]


def by_one_axis() -> list[PublishedTable]:
    first = published("r.csv", ["r"], [(("a",), "yes", 5), (("b",), "yes", 7)], ["yes"])
    return [first, published("s.csv", ["s"], [(("x",), "yes", 6), (("y",), "yes", 6)], ["yes"])]


def test_one_row_against_a_joint_roll_suffices() -> None:
    people = [(("a", "x"), None, 1), (("a", "y"), None, 2), (("b", "x"), None, 9), (("b", "y"), None, 9)]
    roll = published("roll.csv", ["r", "s"], people, measure="people")
    entries = ["roll.csv (r a, s x) = 1 people", "roll.csv (r a, s y) = 2 people"]
    assert conflict_of(by_one_axis(), roll) == ["r.csv (r a, yes) = 5", *entries]


def test_roll_of_one_axis_is_named() -> None:
    roll = published("roll.csv", ["r"], [(("a",), None, 4), (("b",), None, 20)], measure="people")
    assert conflict_of(by_one_axis(), roll) == ["r.csv (r a, yes) = 5", "roll.csv (r a) = 4 people"]


def test_many_entries_of_a_roll_are_stated_by_their_sum() -> None:
    table = published("r.csv", ["r"], [(("a",), "yes", 50), (("b",), "yes", 7)], ["yes"])
    people = [((r, f"s{s}"), None, 2) for r, s in product("ab", range(20))]
    roll = published("roll.csv", ["r", "s"], people, measure="people")
    assert conflict_of([table], roll) == ["r.csv (r a, yes) = 50", "roll.csv (r a) = 40 people"]


def possible(system: System, facts: Conflict) -> bool:
    """Whether real numbers satisfy the chosen rows and caps, and are 0 where a table lists no cell."""
    rows = system.rows[facts.rows].toarray()
    shares = np.kron(np.eye(len(system.codes)), np.ones(system.n_free_options))[facts.caps]
    people = np.zeros(0) if system.people is None else system.people[facts.caps]
    left = np.vstack([rows, -rows, shares])
    right = np.r_[system.upper[facts.rows], -system.lower[facts.rows], people]
    ends = [(0, 0 if high == 0 else None) for high in system.high]
    status = int(linprog(np.zeros(system.size), left, right, bounds=ends).status)
    assert status in (0, 2)
    return status == 0


def wrong_tables(generator: np.random.Generator) -> tuple[list[PublishedTable], Onlooker]:
    """Margins of a random table by two axes and two options, with errors, and a roll."""
    counts = generator.integers(0, 5, (3, 3, 2))
    people = counts.sum(axis=2) + generator.integers(0, 2, (3, 3))
    tables = []
    for axis, name in enumerate("rs"):
        sums = counts.sum(axis=1 - axis)
        sums[generator.integers(3), generator.integers(2)] += generator.integers(0, 6)
        rows = [((f"{name}{c}",), option, int(sums[c, o])) for c in range(3) for o, option in enumerate(("yes", "no"))]
        tables.append(published(f"{name}.csv", [name], rows, ["yes", "no"]))
    if generator.random() < 0.5:
        joint = [((f"r{r}", f"s{s}"), None, int(people[r, s])) for r, s in product(range(3), range(3))]
        return tables, Onlooker(roll=(published("roll.csv", ["r", "s"], joint, measure="people"),))
    sizes = people.sum(axis=1)
    single = [((f"r{r}",), None, int(sizes[r])) for r in range(3)]
    return tables, Onlooker(roll=(published("roll.csv", ["r"], single, measure="people"),))


@pytest.mark.slow
def test_named_facts_contradict_each_other_and_each_is_needed() -> None:
    generator = np.random.default_rng(11)
    found_some = with_caps = 0
    for _ in range(40):
        tables, onlooker = wrong_tables(generator)
        system = build_system(tables, onlooker, check=False, conclude=False)
        every = Conflict(np.arange(len(system.lower)), np.arange(0 if system.people is None else len(system.people)))
        found = conflict(system)
        assert (found is None) == possible(system, every)
        if found is None:
            continue
        found_some, with_caps = found_some + 1, with_caps + bool(len(found.caps))
        assert not possible(system, found)
        for row in found.rows:
            assert possible(system, Conflict(found.rows[found.rows != row], found.caps))
        for cap in found.caps:
            assert possible(system, Conflict(found.rows, found.caps[found.caps != cap]))
    assert found_some > 20 and with_caps > 5

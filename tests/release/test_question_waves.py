"""Two waves of several questions with `kept` answers: an integer program over both breaks nothing that is certified.

The program is that of `two_waves.py`: one unknown per kind of people, answer then and answer now, for each question by
itself. It reads what the two releases print, and tries believers in everybody, in all groups that their own figures do
not refute, and in random sets of these.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import safemargin
from evidence import seeds
from safemargin import RefusedError
from safemargin.core import Target
from two_waves import Attack, Group, Waves, unrefuted

AXES, OPTIONS = ("a", "b"), ("x", "y", "z")
Rows = list[dict[str, str]]


def two_waves(seed: int) -> tuple[Rows, Rows]:
    """People of up to six kinds with two questions; some join, and now and then somebody answers otherwise."""
    rng = np.random.default_rng([seed, 53])
    sizes = (2, int(rng.integers(2, 4)))
    shares = [rng.dirichlet(np.full(3, 5.0)) for _ in range(2)]

    def people(count: int) -> Rows:
        return [
            {
                **{axis: f"{axis}{rng.integers(size)}" for axis, size in zip(AXES, sizes, strict=True)},
                **{f"q{n + 1}": str(rng.choice(OPTIONS, p=share)) for n, share in enumerate(shares)},
            }
            for _ in range(count)
        ]

    first = people(int(rng.integers(90, 160)))
    changing = rng.choice([0.0, 0.0, 0.03])
    stayed = [dict(person) for person in first]
    for person in stayed:
        person |= {f"q{n}": str(rng.choice(OPTIONS)) for n in (1, 2) if rng.random() < changing}
    return first, [*stayed, *people(int(rng.integers(8, 40)))]


def published(folder: Path, rows: Rows, cycle: str, target: Target, grouping: str) -> safemargin.Release:
    ledger = {"file": str(folder / "l.sqlite"), "population": "p", "cycle": cycle, "turnover": "net", "answers": "kept"}
    made = safemargin.release(
        rows, answers=["q1", "q2"], by=list(AXES), target=target, ledger=ledger, tables={"groups": grouping}
    )
    made.write(folder / cycle)
    return made


def printed_groups(made: safemargin.Release, question: str) -> dict[int, list[frozenset[str]]]:
    """The groups of every axis that are published of a question."""
    groups: dict[int, list[frozenset[str]]] = {}
    for place, axis in enumerate(AXES):
        if axis in made.tables:
            for row in made.tables[axis].to_dict("records"):
                if row["question"] == question and row["option"] == "x" and row["status"] != "suppressed":
                    groups.setdefault(place, []).append(frozenset(row[axis].split(" | ")))
    return groups


def waves_of(first: Rows, second: Rows, question: str) -> Waves:
    people: Counter[Any] = Counter()
    for number, now in enumerate(second):
        profile, then = tuple(now[axis] for axis in AXES), first[number] if number < len(first) else None
        answer = OPTIONS.index(then[question]) if then else -1
        people[(profile if then else None, profile), answer, OPTIONS.index(now[question])] += 1
    return Waves(AXES, OPTIONS, people)


@pytest.mark.slow
@pytest.mark.parametrize("grouping", ["common", "each"])
@pytest.mark.parametrize("seed", seeds(0, 1, 60))
def test_no_believer_breaks_a_second_wave_of_several_questions(tmp_path: Path, seed: int, grouping: str) -> None:
    first, second = two_waves(seed)
    target = Target(kappa=8, tau=seed % 2)
    one = published(tmp_path, first, "1", target, grouping)
    try:
        two = published(tmp_path, second, "2", target, grouping)
    except RefusedError:
        return
    rng = np.random.default_rng(seed)
    for question in ("q1", "q2"):
        waves = waves_of(first, second, question)
        merged = [printed_groups(made, question) for made in (one, two)]
        totals = waves.counts(1, 0, None)
        limits = target.limits(totals.tolist(), int(totals.sum()), OPTIONS)
        attack, everybody = Attack(waves, merged), ((-1, frozenset[str]()),)
        held = unrefuted(waves, merged)
        subsets: list[list[Group]] = [list(everybody), held, [group for group in held if rng.random() < 0.6]]
        for beliefs in subsets:
            while beliefs and attack.run(beliefs, np.zeros(len(attack.columns))) is None and beliefs != list(everybody):
                beliefs = [belief for belief in beliefs if rng.random() < 0.7]
            total_only = Attack(waves, [{}, {}]).broken(beliefs, limits)
            known = {str(each[0]) for each in total_only}  # type: ignore[index]
            broken = [each for each in attack.broken(beliefs, limits) if str(each[0]) not in known]  # type: ignore[index]
            assert not broken, (question, beliefs, broken)

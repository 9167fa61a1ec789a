"""Tables of one question say nothing certain about another, unless a table crosses the two: by enumeration."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import safemargin
from cases import Town
from evidence import seeds
from question_enumeration import Survey, agreeing, compositions, disclosed, printed_counts
from safemargin.core import Secrets, Target
from safemargin.io import open_data
from safemargin.release.project import Project
from safemargin.release.question_inputs import read_questions

FIRST, SECOND = ("a", "b"), ("x", "y")
BOTH = tuple(product(range(2), range(2)))


def joint_tables(sizes: tuple[int, ...]) -> np.ndarray:
    """Every table of people by profile and by the answers to both questions."""
    found = np.zeros((1, 0, 4), dtype=np.int64)
    for size in sizes:
        own = np.array(compositions(size, 4))
        found = np.concatenate([np.repeat(found, len(own), axis=0), np.tile(own, (len(found), 1))[:, None]], axis=1)
    return found


def pairs_left(sizes: tuple[int, ...], truth: np.ndarray, crossed: bool) -> set[tuple[bytes, bytes]]:
    """The answers to each question that a reader of its printed groups {0, 1}, {2} cannot exclude, as pairs."""
    tables = joint_tables(sizes)
    first = np.stack([tables[:, :, [0, 1]].sum(axis=2), tables[:, :, [2, 3]].sum(axis=2)], axis=2)
    second = np.stack([tables[:, :, [0, 2]].sum(axis=2), tables[:, :, [1, 3]].sum(axis=2)], axis=2)
    own = [np.stack([truth[:, [0, 1]].sum(axis=1), truth[:, [2, 3]].sum(axis=1)], axis=1)]
    own.append(np.stack([truth[:, [0, 2]].sum(axis=1), truth[:, [1, 3]].sum(axis=1)], axis=1))
    keep = np.ones(len(tables), dtype=bool)
    for listed, printed in ((first, own[0]), (second, own[1]), *(((tables, truth),) if crossed else ())):
        for group in ([0, 1], [2]):
            keep &= (listed[:, group].sum(axis=1) == printed[group].sum(axis=0)).all(axis=1)
    return {(one.tobytes(), other.tobytes()) for one, other in zip(first[keep], second[keep], strict=True)}


@pytest.mark.parametrize("seed", seeds(0, 6, 60))
def test_what_two_questions_leave_is_a_product(seed: int) -> None:
    rng = np.random.default_rng([seed, 41])
    sizes = tuple(int(n) for n in rng.integers(2, 5, 3))
    truth = np.stack([rng.multinomial(size, rng.dirichlet(np.ones(4))) for size in sizes])
    left = pairs_left(sizes, truth, crossed=False)
    assert left == set(product({one for one, _ in left}, {other for _, other in left}))


def test_a_crossed_table_ties_two_questions() -> None:
    """Then it is no product any more: this is why crossed questions become one with composite options."""
    tied = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 42])
        truth = np.stack([rng.multinomial(3, rng.dirichlet(np.ones(4))) for _ in range(3)])
        left = pairs_left((3, 3, 3), truth, crossed=True)
        tied += left != set(product({one for one, _ in left}, {other for _, other in left}))
    assert tied


def rows_of(town: Town) -> list[dict[str, str]]:
    rows = []
    for (site,), counts in town.votes.items():
        for (one, other), count in zip(BOTH, counts, strict=True):
            rows += [{"p": site, "q1": FIRST[one], "q2": SECOND[other]}] * count
    return rows


@pytest.mark.parametrize("key", ["linked", "questions"])
@pytest.mark.parametrize("seed", seeds(0, 3, 60))
def test_every_secret_of_a_member_stays_one(seed: int, key: str) -> None:
    """Of linked and crossed pairs, whoever lists all composite answers that agree with what is printed infers neither
    that nearly all of a group chose one combination, nor that they chose one option of a member.
    """
    rng = np.random.default_rng([seed, 43])
    sizes = {(f"p{n}",): int(rng.integers(6, 9)) for n in range(3)}
    votes = {}
    for site, size in sizes.items():
        shares = rng.dirichlet(np.full(4, 0.7))
        votes[site] = tuple(rng.multinomial(size, shares).tolist())
    names = tuple(f"{FIRST[one]} + {SECOND[other]}" for one, other in BOTH)
    town = Town(("p",), (tuple(site for (site,) in sizes),), names, sizes, votes)
    answers: dict[str, Any] = {"data": {"file": "x.csv", "answers": ["q1", "q2"]}, "axes": {"p": {}}}
    answers["target"] = {"kappa": 5, "tau": 0, "beta": 0.1}
    (answers["data"] if key == "linked" else answers.setdefault("tables", {}))[key] = [["q1", "q2"]]
    inputs = read_questions(Project.build(answers), open_data(rows_of(town)))
    if len({row["q1"] for row in rows_of(town)}) < 2 or len({row["q2"] for row in rows_of(town)}) < 2:
        return
    by_hand = [[n for n, pair in zip(names, BOTH, strict=True) if pair[place] == option] for place, option in BOTH]
    assert {tuple(sorted(each)) for each in by_hand} <= set(inputs.each[0].target.secrets.sets)
    target = Target(beta=0.1, kappa=5, tau=0, secrets=Secrets(sets=tuple(tuple(sorted(each)) for each in by_hand)))
    survey = Survey((town,), (target,), "each", "auto")
    plans, _ = survey.run(survey.truth)
    if not plans[0].certificate.certified:
        return
    tables = agreeing(town, printed_counts(town, plans[0]))
    assert tables is None or not disclosed(town, target, plans[0], tables)


def test_more_than_64_combinations_are_refused() -> None:
    rows = [{"p": f"p{n % 3}", "q1": str(n % 9), "q2": str(n // 9 % 8)} for n in range(720)]
    with pytest.raises(safemargin.SafemarginError, match="72 combinations of options, more than 64"):
        safemargin.release(rows, answers=["q1", "q2"], by=["p"], tables={"questions": [["q1", "q2"]]})

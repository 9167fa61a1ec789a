"""Winners and histograms by group of several waves together, against all profiles of all waves."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from safemargin import outcome
from safemargin.core import InputError, TooLargeError

GROUPS = {
    "North": (3, {"a": Fraction(3, 5), "b": Fraction(2, 5)}),
    "South": (2, {"a": Fraction(1, 2), "b": Fraction(1, 5), "c": Fraction(3, 10)}),
}
ALONE = {"North": (4, {"a": Fraction(4, 5), "b": Fraction(1, 5)})}
Groups = dict[str, tuple[int, dict[str, Fraction]]]


def belief(folder: Path, groups: Groups) -> Path:
    rows = [f"{g},{n},{vote},{share}" for g, (n, shares) in groups.items() for vote, share in shares.items()]
    file = folder / "groups.csv"
    file.write_text("group,voters,ranking,probability\n" + "\n".join(rows) + "\n")
    return file


def seen(groups: Groups, own: str, vote: str) -> dict[object, Fraction]:
    """The law of everything published of one wave: the winner and all histograms."""
    others = [(g, shares) for g, (n, shares) in groups.items() for _ in range(n - (g == own))]
    law: dict[object, Fraction] = {}
    for profile in product(*(shares for _, shares in others)):
        chance = math.prod((shares[v] for v, (_, shares) in zip(profile, others, strict=True)), start=Fraction(1))
        cast = [*zip((g for g, _ in others), profile, strict=True), (own, vote)]
        totals = Counter(v for _, v in cast)
        winner = min(totals, key=lambda name: (-totals[name], name))
        result = winner, tuple(sorted(Counter(cast).items()))
        law[result] = law.get(result, Fraction(0)) + chance
    return law


def largest(groups: Groups, waves: int, epsilon: float) -> float:
    """Over all groups and all pairs of votes in all waves."""
    worst = 0.0
    for own, (_, shares) in groups.items():
        one = {vote: {r: float(p) for r, p in seen(groups, own, vote).items()} for vote in shares}
        laws: dict[tuple[str, ...], dict[object, float]] = {}
        for votes in product(shares, repeat=waves):
            law: dict[object, float] = {}
            for results in product(*(one[vote] for vote in votes)):
                law[results] = math.prod(one[vote][r] for vote, r in zip(votes, results, strict=True))
            laws[votes] = law
        for x, y in product(laws.values(), repeat=2):
            worst = max(worst, sum(max(p - math.exp(epsilon) * y.get(r, 0.0), 0.0) for r, p in x.items()))
    return worst


@pytest.mark.parametrize(("groups", "waves"), [(GROUPS, 1), (GROUPS, 2), (ALONE, 2), (ALONE, 3)])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.3])
def test_delta_by_the_definition(tmp_path: Path, groups: Groups, waves: int, epsilon: float) -> None:
    """Also that who won adds nothing: the law here has it beside the histograms."""
    names = sorted({vote for _, shares in groups.values() for vote in shares})
    found = outcome(
        "plurality", ",".join(names), belief=belief(tmp_path, groups), publish="groups", epsilon=epsilon, waves=waves
    )
    assert found.delta == pytest.approx(largest(groups, waves, epsilon), abs=1e-11)


def test_what_is_said_of_waves(tmp_path: Path) -> None:
    file = belief(tmp_path, {"North": (40, {"a": Fraction(4, 5), "b": Fraction(1, 5)})})
    one, two = (outcome("plurality", "a,b", belief=file, publish="groups", waves=n, curve=[0.5]) for n in (1, 2))
    assert one.delta < two.delta < 2 * one.delta and one.curve[0][1] < two.curve[0][1]
    assert "and who won, in 2 waves" in two.words and two.pair[0].endswith("in all 2 waves")
    assert two.exact and two.to_json()["waves"] == 2 and "independently" in two.to_text()
    for wrong in (0, 9):
        with pytest.raises(InputError, match="from 1 to 8"):
            outcome("plurality", "a,b", belief=file, publish="groups", waves=wrong)
    with pytest.raises(InputError, match="publish = groups"):
        outcome("plurality", "a,b", belief=file, waves=2)
    with pytest.raises(InputError, match="publish = groups"):
        outcome("plurality", "a,b", 5, publish="groups", waves=2)
    many = belief(tmp_path, {"North": (400, {"a": Fraction(4, 5), "b": Fraction(1, 5)})})
    with pytest.raises(TooLargeError, match="take fewer"):
        outcome("plurality", "a,b", belief=many, publish="groups", waves=4)

"""The search for the most valuable safe choice of margins, against all choices one by one."""

from itertools import product

import numpy as np
import pytest

from safemargin.bounds import Exposed, Proof
from safemargin.release.decide.crossed import Version
from safemargin.release.decide.search import Choice, Margin, maximal, within

PLAIN = Version((), np.zeros((1,), dtype=np.int64), np.zeros((), dtype=np.int64))


class Listed:
    """Tests of choices by lists: what contains an unsafe choice is disclosed, what contains an open one undecided."""

    def __init__(self, margins: tuple[Margin, ...], unsafe: list[Choice], undecided: list[Choice]) -> None:
        self.margins, self.unsafe, self.undecided = margins, unsafe, undecided
        self.exposed: list[Choice] = []
        self.narrow: list[Choice] = []
        self.loose: list[Choice] = []
        self.proofs: dict[Choice, Proof] = {}
        self.spent, self.is_small, self.is_late = 0.0, True, False

    def is_safe(self, choice: Choice) -> bool:
        self.spent += 1
        self.proofs[choice] = Proof((Exposed({"a": "x"}, 0, 1, 1, 1),), {})
        for known, kept in ((self.unsafe, self.exposed), (self.undecided, self.loose)):
            if any(within(other, choice) for other in known):
                kept.append(choice)
                return False
        return True

    def is_exposed(self, choice: Choice) -> bool:
        return any(within(known, choice) for known in self.exposed)

    def screen(self, choice: Choice) -> bool:
        return any(within(known, choice) for known in self.unsafe) and not self.is_safe(choice)


@pytest.mark.parametrize("seed", range(25))
def test_the_best_of_all_choices_is_found_and_the_bound_holds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    margins = tuple(
        Margin((PLAIN,) * count, tuple(np.cumsum(rng.integers(1, 9, count)).astype(float).tolist()), needs)
        for count, needs in zip(rng.integers(1, 4, 4).tolist(), ((), (), (0,), (0, 1)), strict=True)
    )
    everything = list(product(*(range(len(margin.versions) + 1) for margin in margins)))
    places = rng.choice(np.arange(1, len(everything)), 4, replace=False).tolist()
    unsafe, undecided = [everything[place] for place in places[:3]], [everything[place] for place in places[3:]]
    undecided = undecided if seed % 2 else []
    judge = Listed(margins, unsafe, undecided)

    def value(choice: Choice) -> float:
        return sum(margin.values[level - 1] for margin, level in zip(margins, choice, strict=True) if level)

    def best(conflicts: list[Choice]) -> float:
        allowed = [
            choice
            for choice in everything
            if not any(within(conflict, choice) for conflict in conflicts)
            and all(choice[need] for m, level in zip(margins, choice, strict=True) if level for need in m.needs)
        ]
        return max(map(value, allowed))

    chosen, bound = maximal(judge, (0, 0, 0, 0), 1_000)
    assert value(chosen) == best(unsafe + undecided)
    assert not any(within(conflict, chosen) for conflict in unsafe + undecided)
    # What is undecided may be safe: the bound says what is possible beside proved conflicts.
    assert bound >= best(unsafe) - 1e-6 if undecided else bound == pytest.approx(best(unsafe))


def test_without_tests_nothing_is_added_and_the_bound_is_all() -> None:
    margins = (Margin((PLAIN,), (2.0,)), Margin((PLAIN,), (3.0,)))
    assert maximal(Listed(margins, [(1, 1)], []), (0, 0), 0) == ((0, 0), 5.0)
    assert maximal(Listed((), [], []), (), 10) == ((), 0.0)

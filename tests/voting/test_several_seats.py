"""Single transferable vote for several seats, against a count with one paper after the other in fractions."""

import random
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp, factorial
from pathlib import Path

import pytest

from safemargin.core import InputError
from safemargin.voting.outcome import outcome
from safemargin.voting.several_seats import elected


def by_papers(votes: list[tuple[int, ...]], m: int, seats: int) -> frozenset[int]:
    """Every paper by itself: its value, a fraction cut after five decimals, and who holds it."""
    quota = len(votes) // (seats + 1) + 1
    value = [Fraction(1)] * len(votes)
    status = ["going"] * m
    pending: list[int] = []

    def holder(vote: tuple[int, ...]) -> int | None:
        return next((c for c in vote if status[c] == "going"), None)

    where = [holder(vote) for vote in votes]

    def total(c: int) -> Fraction:
        return sum((value[i] for i in range(len(votes)) if where[i] == c), Fraction(0))

    while True:
        for c in range(m):
            if status[c] == "going" and total(c) >= quota:
                pending.append(c)
        for c in pending:
            status[c] = "in" if status[c] == "going" else status[c]
        seated = [c for c in range(m) if status[c] in ("in", "done")]
        going = [c for c in range(m) if status[c] == "going"]
        if len(seated) >= seats:
            return frozenset(seated)
        if len(seated) + len(going) <= seats:
            return frozenset(seated + going)
        if pending:
            c = max(sorted(pending), key=total)
            pending.remove(c)
            whole = total(c)
            status[c] = "done"
            factor = (whole - quota) / whole
            for i, vote in enumerate(votes):
                if where[i] == c:
                    value[i] = Fraction(int(value[i] * factor * 100_000), 100_000)
                    where[i] = holder(vote)
        else:
            low = min(total(c) for c in going)
            c = [c for c in going if total(c) == low][-1]
            status[c] = "out"
            for i, vote in enumerate(votes):
                if where[i] == c:
                    where[i] = holder(vote)


def test_counts_equal_those_by_papers() -> None:
    for seed in range(400):
        draw = random.Random(seed)
        m = draw.randint(3, 6)
        seats = draw.randint(1, m - 1)
        votes = [tuple(draw.sample(range(m), draw.randint(1, m))) for _ in range(draw.randint(3, 25))]
        cast = Counter(votes)
        assert frozenset(elected(list(cast), list(cast.values()), m, seats)) == by_papers(votes, m, seats), (
            seed,
            votes,
        )


def test_delta_by_the_definition(tmp_path: Path) -> None:
    """All ways in which four others can vote."""
    shares = {(0, 1, 2, 3): 4, (1, 0, 3, 2): 3, (2, 3, 1, 0): 2, (3,): 2, (1, 3): 1}
    file = tmp_path / "belief.csv"
    rows = [f"{'>'.join('abcd'[c] for c in vote)},{n}/12" for vote, n in shares.items()]
    file.write_text("ranking,probability\n" + "\n".join(rows) + "\n")
    for seats, epsilon in ((2, 0.0), (3, 0.2)):
        likely: dict[tuple[int, ...], Counter[frozenset[int]]] = {vote: Counter() for vote in shares}
        for others in combinations_with_replacement(shares, 4):
            weight = float(factorial(4))
            for vote, count in Counter(others).items():
                weight *= (shares[vote] / 12) ** count / factorial(count)
            for vote in shares:
                likely[vote][by_papers([*others, vote], 4, seats)] += weight  # type: ignore[assignment]
        expected = max(
            sum(max(0.0, x[r] - exp(epsilon) * y[r]) for r in x) for x in likely.values() for y in likely.values()
        )
        got = outcome(f"stv-{seats}", "a,b,c,d", 5, file, epsilon=epsilon)
        assert got.exact and got.delta == pytest.approx(expected, abs=1e-9)


def test_seats_are_checked() -> None:
    with pytest.raises(InputError, match="fewer than 3 candidates"):
        outcome("stv-3", 3, 5)


def test_one_seat_is_stv() -> None:
    for voters in (4, 6, 7):
        assert outcome("stv-1", 3, voters).delta == pytest.approx(outcome("stv", 3, voters).delta, abs=1e-9)

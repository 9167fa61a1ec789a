"""Swapping and then geometric noise on every count: losses against the definition, in fractions."""

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

import safemargin
from commands import Run, in_process
from safemargin.core import InputError, TooLargeError

Table = tuple[tuple[int, int], ...]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


def swapped_law(records: Table, rates: list[Fraction]) -> dict[Table, Fraction]:
    """Algorithm 1 in words: select, draw again if one is selected, and move all selected ones at random."""
    size, law = len(records), dict[Table, Fraction]()
    moves = [(frozenset(i for i in range(size) if g[i] != i), g) for g in permutations(range(size))]
    ways = Counter(moved for moved, _ in moves)
    for moved, g in moves:
        chance = math.prod((rates[i] if i in moved else 1 - rates[i] for i in range(size)), start=Fraction(1))
        end = tuple(sorted((records[i][0], records[g[i]][1]) for i in range(size)))
        law[end] = law.get(end, Fraction(0)) + chance / ways[moved]
    whole = sum(law.values(), Fraction(0))
    return {end: chance / whole for end, chance in law.items()}


def largest_loss(held: tuple[int, ...], swapped: tuple[int, ...], rates: list[Fraction], a: Fraction) -> float:
    """Over all noised tables with counts from one below the least to one above the largest that a cell can have."""
    rows = [value for value, number in enumerate(held) for _ in range(number)]
    values = [value for value, number in enumerate(swapped) for _ in range(number)]
    data = sorted({tuple(sorted(zip(rows, order, strict=True))) for order in permutations(values)})
    cells = list(product(range(len(held)), range(len(swapped))))
    laws = {x: swapped_law(x, [rates[h] for h, _ in x]) for x in data}
    spans = [range(-1, min(held[h], swapped[s]) + 2) for h, s in cells]
    counts = {x: [Counter(x)[cell] for cell in cells] for x in data}
    largest = {pair: Fraction(0) for pair in permutations(data, 2)}
    for seen in product(*spans):
        chance = {t: a ** sum(abs(y - n) for y, n in zip(seen, counts[t], strict=True)) for t in data}
        whole = {x: sum((p * chance[t] for t, p in laws[x].items()), Fraction(0)) for x in data}
        for one, other in largest:
            largest[one, other] = max(largest[one, other], whole[one] / whole[other])
    return max(math.log(ratio) / (Counter(one) - Counter(other)).total() for (one, other), ratio in largest.items())


@pytest.mark.parametrize("seed", range(6))
def test_the_loss_is_that_of_the_definition(seed: int) -> None:
    """Margins, rates by record and noise at random; with one rate, no more than swapping or the noise alone lose."""
    draw = np.random.default_rng(seed)
    shapes: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((1, 1), (1, 1)),
        ((2, 1), (2, 1)),
        ((2, 2), (3, 1)),
        ((1, 3), (2, 2)),
        ((2, 1), (1, 1, 1)),
        ((2, 2), (2, 2)),
    ]
    held, swapped = shapes[seed]
    rates = [Fraction(int(n), 20) for n in draw.integers(1, 20, len(held))]
    a = Fraction(int(draw.integers(1, 20)), 20)
    for given in (rates, [rates[0]] * len(held)):
        found = safemargin.guarantee.check(held, swapped, given, noise=-math.log(a))
        assert found.loss == pytest.approx(largest_loss(held, swapped, given, a), abs=1e-11)
        assert found.noised is not None
        assert found.loss <= min(found.noised.alone, found.noised.noise_alone) + 1e-11


def test_noise_alone_and_what_cannot_be_computed() -> None:
    """At rate 0 nothing is swapped, and one record moves two counts; the witness is the output that loses it."""
    found = safemargin.guarantee.check((1, 1, 1), (1, 1, 1), 0, noise="0.7")
    assert found.loss == pytest.approx(1.4, abs=1e-11) and found.noised is not None and math.isinf(found.noised.alone)
    assert math.log(found.noised.ratio) / found.noised.distance == pytest.approx(found.loss, abs=1e-11)
    # With next to no noise, what swapping loses.
    little = safemargin.guarantee.check((1, 1, 1), (1, 1, 1), "0.1", noise=10)
    assert little.noised is not None and little.loss == pytest.approx(little.noised.alone, abs=1e-9)
    assert safemargin.guarantee.check((3,), (1, 1, 1), "0.1", noise=1).loss == 0
    for wrong in ("0", "x", "1e9", "-1"):
        with pytest.raises(InputError, match="must be the epsilon of one count"):
            safemargin.guarantee.check((1, 1), (1, 1), "0.1", noise=wrong)
    with pytest.raises(InputError, match="publishes records"):
        safemargin.guarantee.check((1, 1), (1, 1), "0.1", variant="ordered", noise=1)
    with pytest.raises(TooLargeError, match="fewer records"):
        safemargin.guarantee.check((1,) * 5, (1,) * 5, "0.1", noise=1)


def test_the_command_compares_with_both_steps(run: Run) -> None:
    """Disjoint pairs lose everything alone and no more than the noise with it."""
    asked = ("guarantee", "check", "--held", "1,1,1", "--swapped", "1,1,1", "--rate", "0.1", "--noise", "0.5")
    shown = run(*asked)
    assert shown.code == 0 and "Exact loss 0.96536" in shown.out and "loses 2.42827" in shown.out
    pairs = run(*asked, "--variant", "pairs", "--json")
    assert pairs.code == 0 and pairs.document["loss_of_swapping"] == "infinite"
    assert 0 < pairs.document["loss"] < pairs.document["loss_of_noise"] == 1

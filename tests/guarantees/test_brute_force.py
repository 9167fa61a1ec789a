"""Claims about guarantees held against mechanisms on a toy domain, by an implementation of its own.

The domain: up to three people with two yes-or-no variables, 35 data sets. Distances and losses are computed here from
their definitions, with nothing of the code under test.
"""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import chain, combinations, combinations_with_replacement, product

import numpy as np
import numpy.typing as npt
import pytest

from safemargin.core import (
    Change,
    Distance,
    Fixes,
    Guarantee,
    Invariant,
    Measure,
    Population,
    Records,
    at_least,
    counts,
)
from safemargin.guarantees.exact import Holds, check_laws, universe_loss
from safemargin.guarantees.implication import implies
from safemargin.guarantees.refinement import determined

Data = tuple[tuple[int, int], ...]
CELLS = list(product((0, 1), repeat=2))
DOMAIN: list[Data] = [data for size in range(4) for data in combinations_with_replacement(CELLS, size)]
TOY = Population("toy", records=(Records("people", ("x", "y"), True),))
VARIABLES = ("x", "y")
REACH = 60


def margin(data: Data, by: tuple[str, ...]) -> Counter[tuple[int, ...]]:
    return Counter(tuple(record[VARIABLES.index(name)] for name in by) for record in data)


def value(invariant: Invariant, data: Data) -> object:
    found = margin(data, invariant.by)
    if invariant.fixes is Fixes.AT_LEAST:
        return tuple(found[cell] >= invariant.least for cell in product((0, 1), repeat=len(invariant.by)))
    return tuple(found[cell] for cell in product((0, 1), repeat=len(invariant.by)))


@cache
def apart(kind: Distance, one: Data, other: Data) -> float:
    if kind is Distance.EXCHANGE:
        return exchanges(one).get(other, math.inf)
    missing, extra = Counter(one) - Counter(other), Counter(other) - Counter(one)
    if kind is Distance.ADD_REMOVE:
        return missing.total() + extra.total()
    return missing.total() if len(one) == len(other) else math.inf


@cache
def exchanges(start: Data) -> dict[Data, int]:
    """How many exchanges of y between two people lead to each data set."""
    found, waiting = {start: 0}, [start]
    while waiting:
        data = waiting.pop(0)
        for a, b in combinations(range(len(data)), 2):
            moved = list(data)
            moved[a], moved[b] = (data[a][0], data[b][1]), (data[b][0], data[a][1])
            new = tuple(sorted(moved))
            if new not in found:
                found[new] = found[data] + 1
                waiting.append(new)
    return found


Laws = dict[Data, npt.NDArray[np.float64]]


def noise(kind: Measure, budget: float, distance: Distance, fixed: tuple[Invariant, ...], centre: Data) -> Laws:
    """The fixed statistics exactly, and how far the data are from `centre` with noise that uses the budget up."""
    keys = list(dict.fromkeys(tuple(value(each, data) for each in fixed) for data in DOMAIN))
    found = {}
    for data in DOMAIN:
        away = apart(distance, data, centre)
        place = np.arange(-REACH, REACH + 1) - min(away, 6)
        shape = -np.abs(place) * budget if kind is Measure.PURE else -(place**2) * budget
        if kind is Measure.PURE:  # both tails in one place each: the loss is exactly the budget there
            shape[[0, -1]] -= math.log(-math.expm1(-budget))
        law = np.full((len(keys), len(shape)), -math.inf)
        law[keys.index(tuple(value(each, data) for each in fixed))] = shape - total(shape)
        found[data] = law.ravel()
    return found


def total(logs: npt.NDArray[np.float64]) -> float:
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


def losses(kind: Measure, one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Epsilon, or rho squared on a grid of orders, between two laws in logarithms; a row per pair of laws."""
    if kind is Measure.PURE:
        return np.asarray(np.abs(one - other).max(axis=1))
    worst = np.full(len(one), -math.inf)
    for n in (1.001, 1.25, 1.5, 2, 3, 5, 8):
        for p, q in ((one, other), (other, one)):
            logs = n * p + (1 - n) * q
            top = logs.max(axis=1, keepdims=True)
            totals = top[:, 0] + np.log(np.exp(logs - top).sum(axis=1))
            worst = np.maximum(worst, totals / (n - 1) / n)
    return worst


def pairs_of(guarantee: Guarantee) -> list[tuple[Data, Data, float]]:
    """Pairs that a guarantee speaks about, with their distance."""
    return pairs_with(guarantee.invariants, guarantee.change.distance)


@cache
def pairs_with(fixed: tuple[Invariant, ...], distance: Distance) -> list[tuple[Data, Data, float]]:
    groups: dict[object, list[Data]] = {}
    for data in DOMAIN:
        groups.setdefault(tuple(value(each, data) for each in fixed), []).append(data)
    pairs = (pair for members in groups.values() for pair in combinations(members, 2))
    found = ((one, other, apart(distance, one, other)) for one, other in pairs)
    return [each for each in found if each[2] < math.inf]


def most(guarantee: Guarantee, laws: Laws) -> float:
    """By how much the mechanism exceeds the guarantee, at the worst pair: the ratio of loss to what is allowed."""
    pairs = pairs_of(guarantee)
    if not pairs:
        return 0.0
    inside = {data: np.isfinite(law) for data, law in laws.items()}
    places = {data: where.tobytes() for data, where in inside.items()}
    if any(places[one] != places[other] for one, other, _ in pairs):  # some output is possible for one of them only
        return math.inf
    known = {data: law[inside[data]] for data, law in laws.items()}
    found = losses(
        guarantee.measure, np.stack([known[one] for one, *_ in pairs]), np.stack([known[two] for _, two, _ in pairs])
    )
    far = np.array([away for *_, away in pairs])
    allowed = float(guarantee.budget or 0) * (far**2 if guarantee.measure is Measure.ZCDP else far)
    ratios = np.where(found < 1e-12, 0.0, math.inf)
    np.divide(found, allowed, out=ratios, where=allowed > 0)
    return max(float(ratios.max()), 0.0)


FIXED = [counts("people"), counts("people", "x"), counts("people", "y"), counts("people", "x", "y")]
FIXED += [at_least(1, "people", "x"), at_least(2, "people", "x"), at_least(1, "people", "x", "y")]
DISTANCES = [Distance.HAMMING, Distance.ADD_REMOVE, Distance.EXCHANGE]


def random_guarantee(generator: np.random.Generator) -> Guarantee:
    fixed = tuple(FIXED[n] for n in generator.choice(len(FIXED), size=generator.integers(0, 3), replace=False))
    kind = [Measure.PURE, Measure.ZCDP][generator.integers(2)]
    budget = Fraction(int(generator.integers(1, 9)), 4)
    change = Change(DISTANCES[generator.integers(3)], "person")
    return Guarantee("m", "", budget, fixed, TOY, change, kind)


def mechanisms(guarantee: Guarantee) -> list[Laws]:
    """What keeps a guarantee and uses it up, as seen from several data sets."""
    budget, distance = float(guarantee.budget or 0), guarantee.change.distance
    centres = [((0, 0), (0, 0), (0, 1)), ((0, 0), (1, 1)), ((0, 0), (0, 1)), ((0, 0), (0, 0), (1, 1)), ((0, 0),)]
    return [noise(guarantee.measure, budget, distance, guarantee.invariants, centre) for centre in centres]


@pytest.mark.slow
def test_no_mechanism_contradicts_an_implication() -> None:
    """Yes: nothing that satisfies the first guarantee breaks the second. No: something does, and it is found."""
    generator = np.random.default_rng(11)
    answers: Counter[bool | None] = Counter()
    for _ in range(200):
        one, other = random_guarantee(generator), random_guarantee(generator)
        if generator.random() < 0.5:  # guarantees that differ in one block only
            block = ["budget", "invariants", "change", "measure"][generator.integers(4)]
            other = replace(one, **{block: getattr(other, block)})
        found = implies(one, other)
        answers[found.answer] += 1
        tried = [laws for laws in mechanisms(one) if most(one, laws) <= 1 + 1e-9]
        assert tried, "the noise keeps the guarantee it is made for"
        worst = max(most(other, laws) for laws in tried)
        if found.answer is True:
            assert worst <= 1 + 1e-9, (one, other, found)
        if found.answer is False and pairs_of(other) and (found.witness is None or len(found.witness.one) <= 3):
            assert worst > 1 + 1e-9, (one, other, found)
    assert min(answers[True], answers[False]) > 30, answers


def test_invariants_fix_what_is_said_and_witnesses_show_the_rest() -> None:
    """Every set of two of the statistics against every third: on the domain, and by counting the witness."""
    seen: Counter[bool | None] = Counter()
    for size in range(3):
        for given in combinations(FIXED, size):
            for wanted in FIXED:
                found = determined(wanted, given, TOY)
                seen[found.answer] += 1
                pairs = [
                    (one, other)
                    for one, other in combinations(DOMAIN, 2)
                    if all(value(each, one) == value(each, other) for each in given)
                    and value(wanted, one) != value(wanted, other)
                ]
                if found.answer is True:
                    assert not pairs
                if found.answer is False:
                    assert found.witness is not None
                    names = found.witness.variables
                    one, other = (
                        tuple(
                            tuple(dict(zip(names, row, strict=True)).get(name, 0) for name in VARIABLES) for row in rows
                        )
                        for rows in (found.witness.one, found.witness.other)
                    )
                    assert all(value(each, one) == value(each, other) for each in given)  # type: ignore[arg-type]
                    assert value(wanted, one) != value(wanted, other)  # type: ignore[arg-type]
                    assert len(one) == len(other)
    assert min(seen[True], seen[False]) > 30, seen


def random_laws(generator: np.random.Generator, data: int, outputs: int) -> dict[int, dict[int, Fraction]]:
    """Laws in fractions; some share them, some never give an output."""
    found: dict[int, dict[int, Fraction]] = {}
    for n in range(data):
        if n and generator.random() < 0.15:
            found[n] = found[n - 1]
            continue
        weights = generator.integers(0 if generator.random() < 0.3 else 1, 6, size=outputs)
        weights[generator.integers(outputs)] += 1
        found[n] = {o: Fraction(int(w), int(weights.sum())) for o, w in enumerate(weights)}
    return found


@pytest.mark.slow
def test_verdicts_over_all_events() -> None:
    """A thousand random mechanisms, overlapping universes, one-sided distances: all pairs, all events, in fractions."""
    generator = np.random.default_rng(2)
    seen: Counter[Holds] = Counter()
    for _ in range(1_000):
        data, outputs = int(generator.integers(2, 6)), int(generator.integers(2, 5))
        laws = random_laws(generator, data, outputs)
        table = generator.choice([0, 1, 1, 2, 3, math.inf], size=(data, data))
        np.fill_diagonal(table, 0)
        universes = {
            name: [n for n in range(data) if generator.random() < 0.7] or [0]
            for name in range(generator.integers(1, 4))
        }
        factors = {name: Fraction(int(generator.integers(4, 25)), 4) for name in universes}
        events = list(chain.from_iterable(combinations(range(outputs), size) for size in range(1, outputs + 1)))
        broken = reached = False
        for name, members in universes.items():
            for one, other in product(members, members):
                far = table[one, other]
                if far == math.inf:
                    continue
                limit = factors[name] ** int(far)
                for event in events:
                    p, q = (sum(laws[each][o] for o in event) for each in (one, other))
                    broken |= p > limit * q or q > limit * p
                    reached |= one != other and (p == limit * q or q == limit * p) and (p != q or limit == 1) and p > 0
        found = check_laws(laws, universes, lambda a, b, t=table: float(t[a, b]), factors.__getitem__)
        seen[found.verdict] += 1
        assert (found.verdict is Holds.VIOLATED) == broken
        if found.verdict is Holds.TIGHT:
            assert reached or any(factor == 1 for factor in factors.values())
        if broken and found.worst is not None and found.worst.pair is not None:
            pair = found.worst.pair
            p, q = laws[pair.one].get(pair.output, Fraction(0)), laws[pair.other].get(pair.output, Fraction(0))
            assert p > q and (q == 0) == (pair.ratio is None) and (pair.ratio is None or p == pair.ratio * q)
    assert min(seen.values()) > 10 and len(seen) == 3, seen


def test_pairs_that_only_fractions_distinguish() -> None:
    """Losses nearer to each other, or to the limit, than floating point can see."""
    tiny = Fraction(1, 10**16)
    laws = {
        0: {0: Fraction(2, 3), 1: Fraction(1, 3)},
        1: {0: Fraction(1, 3), 1: Fraction(2, 3)},
        2: {0: Fraction(2, 3) + tiny, 1: Fraction(1, 3) - tiny},
    }

    def one_apart(a: int, b: int) -> float:
        return float(a != b)

    assert check_laws(laws, {"u": [0, 1]}, one_apart, lambda _: Fraction(2)).verdict is Holds.TIGHT
    assert check_laws(laws, {"u": [0, 1, 2]}, one_apart, lambda _: Fraction(2)).verdict is Holds.VIOLATED
    assert check_laws(laws, {"u": [0, 2]}, one_apart, lambda _: Fraction(1)).verdict is Holds.VIOLATED
    assert universe_loss({n: laws[n] for n in (0, 2)}, lambda a, b: 0.0).value == math.inf
    rare = Fraction(1, 10**400)
    huge = {0: {0: 1 - rare, 1: rare}, 1: {0: Fraction(1, 2), 1: Fraction(1, 2)}}
    assert universe_loss(huge, one_apart).value == pytest.approx(400 * math.log(10) - math.log(2))
    sloped = check_laws(laws, {"u": [0, 1]}, lambda a, b: 0.5 if a < b else 7.0, lambda _: Fraction(4))
    assert sloped.verdict is Holds.TIGHT, "of two ways round, the shorter one counts"

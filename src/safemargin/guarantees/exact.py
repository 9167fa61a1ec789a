"""The exact loss of a mechanism on a small domain, and whether a guarantee about it holds, is tight or is violated.

All pairs of data sets in a universe are compared, not only neighbours: where invariants leave none, any guarantee would
hold (Bailie, Gong and Meng, section 2.2). Probabilities are fractions. Logarithms only sort pairs; which of two close
pairs loses more, and whether a pair respects a budget, is decided by comparing fractions.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np

from safemargin.core import FloatArray, InputError

Data = TypeVar("Data", bound=Hashable)
Output = TypeVar("Output", bound=Hashable)
Law = Mapping[Output, Fraction]
Metric = Callable[[Data, Data], float]

CLOSE = 1e-9
"""How near to its limit, or to another pair, a pair is compared in fractions."""
MAX_DENOMINATOR = 1_000
"""Of a distance that fractions are raised to."""
ORDERS = sorted({1.0, *(1 + 10 ** (n / 10) for n in range(-60, 41)), *map(float, range(2, 65))})
"""Renyi orders that are tried first. Discrete Gaussian noise reaches its supremum at whole orders only; a grid of 16
points understated the metric by up to 0.022."""


class Holds(StrEnum):
    """Verdict on a guarantee."""

    HOLDS = "holds"
    TIGHT = "tight"
    VIOLATED = "violated"


@dataclass(frozen=True)
class Pair(Generic[Data, Output]):
    """Two data sets `distance` apart, and an output `ratio` times as likely from the first (None: infinitely)."""

    one: Data
    other: Data
    output: Output
    ratio: Fraction | None
    distance: float

    @property
    def loss(self) -> float:
        """Log ratio per unit of distance."""
        return per_unit(log(self.ratio), self.distance)


@dataclass(frozen=True)
class Loss(Generic[Data, Output]):
    """The largest loss in a universe of `size` data sets, and its pair; no pair where nothing is lost.

    `neighbours` counts ordered pairs at distance one; without any, a check of neighbours would pass anything.
    """

    size: int
    value: float
    pair: Pair[Data, Output] | None
    neighbours: int = 0


@dataclass(frozen=True)
class Checked(Generic[Data, Output]):
    """Whether a guarantee holds in every universe; `worst` comes nearest to its limit or violates it."""

    verdict: Holds
    losses: Mapping[Hashable, Loss[Data, Output]]
    worst: Loss[Data, Output] | None


def log(ratio: Fraction | None) -> float:
    """The natural logarithm, also of what is too large for a float or too near to 1; of None, infinity.

    >>> log(Fraction(10**400)) > 921, log(1 + Fraction(1, 10**20)), log(None)
    (True, 1e-20, inf)
    """
    if ratio is None:
        return math.inf
    if abs(ratio - 1) < Fraction(1, 2):  # float(ratio) would round what makes it differ from 1
        return math.log1p(ratio - 1)
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def per_unit(loss: float, distance: float) -> float:
    """Loss per unit of distance: any loss at distance 0 is infinite, none counts at infinite distance.

    >>> per_unit(0.0, 0), per_unit(1.0, 0), per_unit(math.inf, math.inf), per_unit(1.0, 2)
    (0.0, inf, 0.0, 0.5)
    """
    # Def. 1 with the convention 0 * infinity = infinity: no budget is violated at infinite distance.
    if loss <= 0 or distance == math.inf:
        return 0.0
    return math.inf if distance == 0 else loss / distance


def hamming(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    """Records to be changed, order aside; infinite between data sets of different size.

    >>> hamming("aab", "bca"), hamming("ab", "ba"), hamming("a", "ab")
    (1, 0, inf)
    """
    if len(one) != len(other):
        return math.inf
    # Eq. 3.1: half the symmetric difference of multisets; sizes agree, so one side of it is the half.
    return sum((Counter(one) - Counter(other)).values())


def frozen_hamming(imputed: Callable[[Hashable], bool]) -> Metric[tuple[Hashable, ...]]:
    """As `hamming`, but infinite where imputed records differ (appendix C.2)."""

    def distance(one: tuple[Hashable, ...], other: tuple[Hashable, ...]) -> float:
        if Counter(filter(imputed, one)) != Counter(filter(imputed, other)):
            return math.inf
        return hamming(one, other)

    return distance


def largest_ratio(one: Law[Output], other: Law[Output]) -> tuple[Fraction | None, tuple[Output, ...]]:
    """The largest ratio of probabilities of one output, and that output; None if the second law never gives it.

    Over events it is no larger than over single outputs. There is no output where no ratio is above 1.
    """
    best = Fraction(1)
    where: tuple[Output, ...] = ()
    for output, chance in one.items():
        if not chance:
            continue
        base = other.get(output)
        # An output that the other law never gives: the ratio is infinite, and no other can exceed it.
        if not base:
            return None, (output,)
        if chance > best * base:
            best, where = chance / base, (output,)
    return best, where


def universe_loss(laws: Mapping[Data, Law[Output]], distance: Metric[Data]) -> Loss[Data, Output]:
    """The largest loss over all ordered pairs of the data sets of one universe: D_MULT divided by the distance."""
    _check_laws(laws)
    data = list(laws)
    outputs, logs = _logs(laws)
    gaps = _gaps(logs)
    best: Pair[Data, Output] | None = None
    threshold, neighbours = -math.inf, 0
    for row, start in enumerate(data):
        for column in range(row + 1, len(data)):
            end = data[column]
            ways = distance(start, end), distance(end, start)
            neighbours += ways.count(1)
            apart = min(ways)  # a premetric need not be symmetric; D_MULT is, so the smaller distance binds
            if math.inf in (apart, threshold) or laws[start] == laws[end]:
                continue
            for first, second in ((row, column), (column, row)):
                gap = float(gaps[first, second])
                if per_unit(gap, apart) < threshold and gap > CLOSE:
                    continue  # logarithms are exact to far more than CLOSE: this pair cannot be the worst
                near = _near_largest(logs[first], logs[second], gap)
                pair = _pair(laws, data[first], data[second], apart, [outputs[index] for index in near])
                if pair is not None and (best is None or _exceeds(pair, best)):
                    best, threshold = pair, pair.loss - CLOSE
    return Loss(len(data), 0.0 if best is None else best.loss, best, neighbours)


def check_laws(
    laws: Mapping[Data, Law[Output]],
    universes: Mapping[Hashable, Iterable[Data]],
    distance: Metric[Data],
    allowed: Callable[[Hashable], Fraction | float | None],
) -> Checked[Data, Output]:
    """Compare a guarantee with the laws of a mechanism.

    `allowed` gives the budget of a universe: a fraction is the factor e^epsilon, exactly; a float is epsilon, to nine
    digits; None is infinite. Universes may overlap. The guarantee is tight if some pair reaches its limit.
    """
    losses: dict[Hashable, Loss[Data, Output]] = {}
    rank = {Holds.HOLDS: 0, Holds.TIGHT: 1, Holds.VIOLATED: 2}
    verdict, worst, nearest = Holds.HOLDS, None, -math.inf
    for name, members in universes.items():
        budget = allowed(name)
        if budget is not None and not budget >= (1 if isinstance(budget, Fraction) else 0):
            raise InputError(f"universe {name!r}: budget {budget}: must be a factor from 1 up, or epsilon from 0 up")
        loss = universe_loss(_members(laws, members, name), distance)
        losses[name] = loss
        state, limit = _verdict(loss, budget), _epsilon(budget)
        margin = math.inf if limit == loss.value == math.inf else loss.value - limit
        if worst is None or (rank[state], margin) > (rank[verdict], nearest):
            verdict, worst, nearest = state, loss, margin
    return Checked(verdict, losses, worst)


def renyi(order: float, one: FloatArray, other: FloatArray) -> float:
    """Renyi divergence of two vectors of log probabilities; at order 1 that of Kullback and Leibler."""
    inside = np.isfinite(one)
    if np.isneginf(other[inside]).any():
        return math.inf
    p, q = one[inside], other[inside]
    if abs(order - 1) < 1e-9:
        return float(np.exp(p) @ (p - q))
    if order < 1.5 and (order - 1) * float(np.abs(p - q).max()) < 600:
        # Near order 1 the sum is close to 1: expm1 and log1p keep the digits that its logarithm would lose.
        return math.log1p(float(np.exp(p) @ np.expm1((order - 1) * (p - q)))) / (order - 1)
    terms = order * p + (1 - order) * q
    top = float(terms.max())  # log-sum-exp: powers of probabilities underflow at large orders
    return (top + math.log(float(np.exp(terms - top).sum()))) / (order - 1)


def renyi_metric(one: FloatArray, other: FloatArray) -> float:
    """The least rho such that both divergences of every order a are at most a rho² (D_NoR, appendix G)."""

    def squared(order: float) -> float:
        return max(renyi(order, one, other), renyi(order, other, one), 0.0) / order

    # Equal laws would give rounding errors of zero at every order.
    if np.array_equal(one, other):
        return 0.0
    values = [squared(order) for order in ORDERS]
    best = max(values)
    if math.isinf(best):
        return best
    for top in np.argsort(values)[-2:]:  # the supremum may lie beside either of the two best
        between = ORDERS[max(top - 1, 0)], ORDERS[min(top + 1, len(ORDERS) - 1)]
        from scipy.optimize import minimize_scalar  # slow to import, and few calls need it

        refined = minimize_scalar(lambda order: -squared(order), bounds=between, method="bounded")
        best = max(best, -float(refined.fun))
    return math.sqrt(best)


def zcdp_loss(laws: Mapping[Data, Law[Output]], distance: Metric[Data]) -> tuple[float, tuple[Data, Data] | None]:
    """The largest rho squared over all pairs of the data sets of one universe, and its pair: what zCDP has to allow."""
    best, where = 0.0, None
    data = list(laws)
    _, logs = _logs(laws)
    for row in range(len(data)):
        for column in range(row):
            apart = min(distance(data[row], data[column]), distance(data[column], data[row]))
            # 0 times infinity is infinity on the right of Eq. 2.1: nothing is demanded of such a pair.
            lost = renyi_metric(logs[row], logs[column]) if apart < math.inf else 0.0
            if (squared := per_unit(lost, apart) ** 2) > best:
                best, where = squared, (data[row], data[column])
    return best, where


def _logs(laws: Mapping[Data, Law[Output]]) -> tuple[list[Output], FloatArray]:
    """All outputs, and the logarithm of the probability of each, by data set."""
    outputs = {output: n for n, output in enumerate(dict.fromkeys(o for law in laws.values() for o in law))}
    logs = np.full((len(laws), len(outputs)), -np.inf)
    for row, law in enumerate(laws.values()):
        for output, chance in law.items():
            if chance:
                logs[row, outputs[output]] = math.log(chance.numerator) - math.log(chance.denominator)
    return list(outputs), logs


def _gaps(logs: FloatArray) -> FloatArray:
    """Largest log ratio of every ordered pair of laws."""
    with np.errstate(invalid="ignore"):
        return np.array([np.where(np.isneginf(row), -np.inf, row - logs).max(axis=1) for row in logs])


def _near_largest(one: FloatArray, other: FloatArray, gap: float) -> Sequence[int]:
    """Outputs whose ratio may be the largest one."""
    if gap <= CLOSE:
        return range(len(one))
    with np.errstate(invalid="ignore"):
        return [int(index) for index in np.flatnonzero(one - other >= gap - CLOSE)]


def _pair(
    laws: Mapping[Data, Law[Output]], one: Data, other: Data, distance: float, outputs: Sequence[Output]
) -> Pair[Data, Output] | None:
    # Only outputs near the largest ratio by logarithms are compared in fractions: these are slow.
    listed = {output: laws[one].get(output, Fraction(0)) for output in outputs}
    ratio, where = largest_ratio(listed, laws[other])
    return Pair(one, other, where[0], ratio, distance) if where else None


def _exceeds(left: Pair[Data, Output], right: Pair[Data, Output]) -> bool:
    """Whether the first pair loses more per unit of distance; by fractions where it is close."""
    if left.loss == right.loss == math.inf or abs(left.loss - right.loss) > CLOSE:
        return left.loss > right.loss
    first, second = _exponent(left.distance), _exponent(right.distance)
    if left.ratio is None or right.ratio is None or first is None or second is None:
        return left.loss > right.loss
    # ln r / d > ln s / e exactly where r^e > s^d; a common denominator makes both exponents whole.
    common = first.denominator * second.denominator
    return left.ratio ** int(second * common) > right.ratio ** int(first * common)


def _exponent(distance: float) -> Fraction | None:
    exponent = Fraction(distance)
    return exponent if exponent.denominator <= MAX_DENOMINATOR else None


def _check_laws(laws: Mapping[Data, Law[Output]]) -> None:
    for data, law in laws.items():
        if sum(law.values()) != 1 or min(law.values()) < 0:
            raise InputError(f"law of {data!r}: probabilities must not be negative, and sum to 1")


def _members(
    laws: Mapping[Data, Law[Output]], members: Iterable[Data], universe: Hashable
) -> Mapping[Data, Law[Output]]:
    listed = list(members)
    if (missing := next((data for data in listed if data not in laws), None)) is not None:
        raise InputError(f"universe {universe!r}: there is no law of the output for {missing!r}")
    return {data: laws[data] for data in listed}


def _epsilon(budget: Fraction | float | None) -> float:
    return log(budget) if budget is None or isinstance(budget, Fraction) else float(budget)


def _verdict(loss: Loss[Data, Output], budget: Fraction | float | None) -> Holds:
    limit, pair = _epsilon(budget), loss.pair
    if limit == math.inf:
        return Holds.HOLDS
    if pair is None:
        return Holds.TIGHT if limit == 0 else Holds.HOLDS
    if abs(loss.value - limit) > CLOSE:
        return Holds.VIOLATED if loss.value > limit else Holds.HOLDS
    apart = _exponent(pair.distance)
    if not isinstance(budget, Fraction) or apart is None or pair.ratio is None:
        return Holds.TIGHT
    # ratio <= factor^distance, raised to the denominator of the distance: an exact comparison.
    reached, most = pair.ratio**apart.denominator, budget**apart.numerator
    return Holds.VIOLATED if reached > most else Holds.TIGHT if reached == most else Holds.HOLDS

"""What a cell with noise by a p-table tells an onlooker who knows the p-table: Bayes' rule, one cell at a time."""

from collections.abc import Mapping, Sequence

from safemargin.core import InputError
from safemargin.noise.belief import Beliefs, CountBelief
from safemargin.samplers.ptable import PTable


def posterior(
    table: PTable,
    prior: Mapping[int, float] | None = None,
    printed: Sequence[int] | None = None,
    *,
    top: int | None = None,
    small: int = 3,
) -> Beliefs:
    """Beliefs about the counts behind the numbers from 0 to `top`, or behind those that a table has `printed`.

    `prior` gives weights of counts; without it all counts are equally likely beforehand.
    """
    if small < 1:
        raise InputError(f"small = {small}: must be at least 1; nearest is 1")
    if top is not None and top < 0:
        raise InputError(f"to = {top}: no printed number is negative; nearest is 0")
    weights = None if prior is None else _normalised(prior)
    seen: dict[int, int] = {}
    for number in printed or ():
        seen[number] = seen.get(number, 0) + 1
    last = table.last + table.bound if top is None else top
    numbers = sorted(seen) if printed is not None else list(range(last + 1))
    laws = {count: table.law(count).printed for count in _counts(table, numbers, weights)}
    found = []
    for number in numbers:
        joint = {
            count: (1.0 if weights is None else weights[count]) * float(laws[count][number])
            for count in range(max(number - table.bound, 0), number + table.bound + 1)
            if count in laws and number in laws[count] and (weights is None or weights[count] > 0)
        }
        total = sum(joint.values())
        if total <= 0:
            if number in seen:
                raise InputError(f"{number} is printed, but no count of the prior can become it with this p-table")
            continue
        chances = tuple(value / total for value in joint.values())
        chance = None if weights is None else total
        found.append(CountBelief(number, tuple(joint), chances, chance, seen.get(number, 0)))
    if weights is None:
        return Beliefs(tuple(found), small)
    return Beliefs(tuple(found), small, max(weights.values()), *_overall(table, weights))


def _normalised(prior: Mapping[int, float]) -> dict[int, float]:
    total = sum(prior.values())
    if not total > 0 or min(prior.values()) < 0 or min(prior) < 0:
        raise InputError("prior: counts and probabilities must not be negative, and some must be positive")
    return {count: value / total for count, value in sorted(prior.items())}


def _counts(table: PTable, numbers: Sequence[int], weights: Mapping[int, float] | None) -> list[int]:
    """Counts that can have become one of the numbers."""
    near = {
        count
        for number in numbers
        for count in range(max(number - table.bound, 0), number + table.bound + 1)
        if weights is None or count in weights
    }
    return sorted(near)


def _overall(table: PTable, weights: Mapping[int, float]) -> tuple[float, float]:
    """How often the best guess after seeing a number is right, and how often the number is the count itself."""
    best: dict[int, float] = {}
    kept = 0.0
    for count, weight in weights.items():
        law = table.law(count).printed
        kept += weight * float(law.get(count, 0))
        for number, chance in law.items():
            best[number] = max(best.get(number, 0.0), weight * float(chance))
    return sum(best.values()), kept

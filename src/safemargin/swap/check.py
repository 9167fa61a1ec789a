"""Swapping on a small stratum held against what Theorem 1 guarantees for it."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from safemargin.core import InputError
from safemargin.guarantees.exact import Checked, check, frozen_hamming, hamming
from safemargin.guarantees.swap_law import (
    VARIANTS,
    Law,
    Outcomes,
    Stratum,
    check_work,
    fixed_number_law,
    nearby,
    ordered,
    outcomes,
    stratum,
    universe,
)
from safemargin.guarantees.swap_loss import odds_factor, swap_epsilon
from safemargin.swap.pair_law import targeted_law

ORDERED = "ordered"

PERMUTED: Mapping[str, Callable[[Stratum], Outcomes]] = {
    **{name: partial(outcomes, rule=rule) for name, rule in VARIANTS.items()},
    "nearby": partial(outcomes, weight=nearby),
    ORDERED: partial(outcomes, shown=tuple),
}
"""Ways to swap by a permutation of selected records; Theorem 1 is about the first one only."""

LAWS: Mapping[str, Callable[[Stratum, Fraction], Law]] = {
    "one-swap": lambda records, _: fixed_number_law(records),
    "targeted": targeted_law,
}
"""Other ways, which have one rate, or none."""

WAYS = (*PERMUTED, *LAWS)


def check_swapping(
    held: tuple[int, ...],
    swapped: tuple[int, ...],
    rate: Fraction | Sequence[Fraction],
    variant: str = "permutation",
    *,
    imputed: Sequence[int] = (),
    without: str = "",
) -> tuple[Checked[Any, Any], float | None, float]:
    """What is found for the universe with these margins, what Theorem 1 guarantees, and the exact loss.

    Rates can be given by held value; Theorem 1 guarantees nothing then, which is None. Records with held values
    that are `imputed` are never selected, and data sets that differ in them are not compared. `without` leaves one
    margin out of the invariants.

    >>> found, guaranteed, exact = check_swapping((1, 1, 1), (1, 1, 1), Fraction(1, 10), "one-swap")
    >>> str(found.verdict), exact
    ('violated', inf)
    """
    start = stratum(held, swapped)
    if len(start) < 2:
        raise InputError("the stratum holds fewer than two records: there is nothing to exchange")
    rates = _rates(rate, held, imputed)
    data = universe(start, without)
    data = ordered(data) if variant == ORDERED else data
    check_work(data)
    laws = _laws(variant, data, rates)
    chosen = [each for each in start if each[0] not in imputed]
    factor, guaranteed = _guarantee(rate, chosen)
    apart = frozen_hamming(lambda record: isinstance(record, tuple) and record[0] in imputed) if imputed else hamming
    found = check(laws, {"stratum": data}, apart, lambda _: factor)
    return found, guaranteed, found.losses["stratum"].value


def _guarantee(rate: Fraction | Sequence[Fraction], records: Sequence[object]) -> tuple[Fraction | None, float | None]:
    """What Theorem 1 guarantees for these records, as a factor and as epsilon; nothing where rates differ."""
    if not isinstance(rate, Fraction):
        return None, None
    largest = len(records) if len(set(records)) > 1 else 0
    return odds_factor(rate, largest), swap_epsilon(rate, largest)


def _rates(rate: Fraction | Sequence[Fraction], held: tuple[int, ...], imputed: Sequence[int]) -> list[Fraction]:
    """The rate of every held value."""
    rates = [rate] * len(held) if isinstance(rate, Fraction) else list(rate)
    if len(rates) != len(held):
        raise InputError(f"{len(rates)} rates for {len(held)} held values: give one, or one for each")
    for value in imputed:
        if not 0 <= value < len(held):
            raise InputError(f"imputed value {value}: must be one of the {len(held)} held values, counted from 0")
        rates[value] = Fraction(0)
    return rates


def _laws(variant: str, data: Sequence[Stratum], rates: Sequence[Fraction]) -> dict[Stratum, Law]:
    if variant in PERMUTED:
        return {each: PERMUTED[variant](each).law([rates[held] for held, _ in each]) for each in data}
    if variant not in LAWS:
        raise InputError(f"variant = {variant!r}: must be one of {', '.join(WAYS)}")
    if len(set(rates)) > 1:
        raise InputError(f"variant = {variant!r}: has the same rate for all records")
    return {each: LAWS[variant](each, rates[0]) for each in data}

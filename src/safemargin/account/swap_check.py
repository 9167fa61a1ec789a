"""Swapping on a small stratum held against what Theorem 1 promises for it."""

from fractions import Fraction
from typing import Any

from safemargin.account.exact import Checked, check, hamming
from safemargin.errors import InputError
from safemargin.mechanisms.swap_law import VARIANTS, fixed_number_law, stratum, swap_law, universe
from safemargin.mechanisms.swap_loss import odds_factor, swap_epsilon


def check_swapping(
    held: tuple[int, ...], swapped: tuple[int, ...], rate: Fraction, variant: str = "permutation"
) -> tuple[Checked[Any, Any], float, float]:
    """What is found for the universe with these margins, what Theorem 1 promises, and the exact loss.

    >>> found, promised, exact = check_swapping((1, 1, 1), (1, 1, 1), Fraction(1, 10), "one-swap")
    >>> str(found.verdict), exact
    ('violated', inf)
    """
    start = stratum(held, swapped)
    if len(start) < 2:
        raise InputError("the stratum holds fewer than two records: there is nothing to exchange")
    data = universe(start)
    if variant == "one-swap":
        laws = {each: fixed_number_law(each) for each in data}
    elif variant in VARIANTS:
        laws = {each: swap_law(each, rate, VARIANTS[variant]) for each in data}
    else:
        raise InputError(f"variant = {variant!r}: must be one of one-swap, {', '.join(VARIANTS)}")
    largest = len(start) if len(set(start)) > 1 or len(data) > 1 else 0
    factor = odds_factor(rate, largest)
    found = check(laws, {"stratum": data}, hamming, lambda _: factor)
    return found, swap_epsilon(rate, largest), found.losses["stratum"].value

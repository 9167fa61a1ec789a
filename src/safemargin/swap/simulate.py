"""Swapping methods with no known privacy guarantee, for comparison."""

from typing import Any

from safemargin.core import InputError
from safemargin.swap.across import simulate_across
from safemargin.swap.simulated import Simulated
from safemargin.swap.targeted import simulate_targeted

METHODS = {"targeted": simulate_targeted, "across": simulate_across}


def simulate(data: object, method: str, **options: Any) -> Simulated:
    """Swap records by a method with no known privacy guarantee, to compare it with `swap`.

    `data` is a file, a DataFrame, an Arrow table or rows. `method` is `targeted` or `across`. Options of `targeted`:
    `geography`, `match`, `rate`, `unique`, `within`, `rare`, `small`, `imputed`, `most`, `hold`, `unit`, `household`,
    `age`; of `across`: `swapped`, `match`, `loose`, `rate`, `alpha`, `hold`, `unit`, `household` (`docs/simulate.md`).
    Nothing is written before `write(folder)` is called on the result.
    """
    if method not in METHODS:
        raise InputError(f"method = {method}: must be {' or '.join(METHODS)}")
    return METHODS[method](data, **options)

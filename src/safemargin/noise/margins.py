"""Exploiting margins: what counts and their total tell once the bound of the noise is known."""

from collections.abc import Sequence
from dataclasses import dataclass

from safemargin.core import InputError
from safemargin.samplers.checks import at_least


@dataclass(frozen=True)
class Exploit:
    """Least and most of every true count, the total last."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]

    @property
    def is_disclosed(self) -> bool:
        """Whether every true count is known."""
        return self.lower == self.upper


def exploit(counts: Sequence[int], total: int, bound: int) -> Exploit:
    """True counts that fit noisy `counts` and their noisy `total` with noise within `bound`.

    >>> exploit([3, 2], 11, bound=2)
    Exploit(lower=(5, 4, 9), upper=(5, 4, 9))
    >>> exploit([3, 2], 9, bound=2)
    Exploit(lower=(3, 2, 7), upper=(5, 4, 9))
    """
    at_least("bound", bound, 0)
    if len(counts) < 2:
        raise InputError(f"counts = {', '.join(map(str, counts)) or '(none)'}: give at least two, which the total adds")
    low = [max(0, count - bound) for count in counts]
    high = [count + bound for count in counts]
    least, most = max(total - bound, sum(low)), min(total + bound, sum(high))
    if least > most or min(high) < 0:
        raise InputError(
            f"counts = {', '.join(map(str, counts))} and total = {total} are too far apart for noise within {bound}; "
            f"the nearest bound is {_fitting(counts, total)}"
        )
    lower = [max(low[i], least - (sum(high) - high[i])) for i in range(len(counts))]
    upper = [min(high[i], most - (sum(low) - low[i])) for i in range(len(counts))]
    return Exploit((*lower, least), (*upper, most))


def _fitting(counts: Sequence[int], total: int) -> int:
    """The smallest bound with which the counts fit their total and nobody is negative."""
    gap = abs(sum(counts) - total)
    bound = max(-(-gap // (len(counts) + 1)), 0, *(-count for count in counts), -total)
    while True:
        low = sum(max(0, count - bound) for count in counts)
        if max(total - bound, low) <= min(total + bound, sum(counts) + bound * len(counts)):
            return bound
        bound += 1

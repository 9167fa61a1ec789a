"""How many random cases the slow tests run: a sample by default, all of them with `EVIDENCE=all`.

`EVIDENCE_SHIFT=N` adds N to every seed: cases that nobody has seen before.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

EVERYTHING = os.environ.get("EVIDENCE") == "all"
SHIFT = int(os.environ.get("EVIDENCE_SHIFT", "0"))


def seeds(first: int, sample: int, everything: int) -> range:
    """Seeds from `first` on: `sample` of them, so that the suite ends in minutes, or `everything` on request."""
    return range(first + SHIFT, first + SHIFT + (everything if EVERYTHING else sample))


def sample(cases: Sequence[T], count: int) -> list[T]:
    """Cases spread evenly over a list, or all of them on request."""
    if EVERYTHING or len(cases) <= count:
        return list(cases)
    return [cases[number * len(cases) // count] for number in range(count)]

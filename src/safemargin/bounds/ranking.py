"""Which cells to show first."""

import numpy as np

from safemargin.bounds.exposure import Exposure
from safemargin.core import FloatArray, InputError, IntArray, Target

SORTS = ("verdict", "width", "people", "cell")
"""`verdict`: the disclosed first, then the narrowest; `width`: the narrowest; `people`: the smallest; `cell`: as is.

Of intervals equally narrow, those come first in which an analyst's guess is closest to a limit.
"""


def ranked(exposure: Exposure, target: Target, limit: int, sort: str = "verdict") -> IntArray:
    """The first `limit` intervals, as positions in the flattened matrix of cells and options."""
    if sort not in SORTS:
        raise InputError(f"sort {sort!r}: must be one of {', '.join(SORTS)}")
    size = exposure.lower.size
    columns = exposure.lower.shape[1]
    people = np.zeros(size, dtype=np.int64) if exposure.people is None else np.repeat(exposure.people, columns)
    narrowness, place = _relative_width(exposure, people), np.arange(size)
    ties = (place, -people, _room(exposure, target, people))
    keys: dict[str, tuple[IntArray | FloatArray, ...]] = {
        "verdict": (*ties, narrowness, -exposure.verdicts(target).ravel()),
        "width": (*ties, narrowness),
        "people": (place, narrowness, people),
        "cell": (place,),
    }
    return np.lexsort(keys[sort])[: max(limit, 0)].astype(np.int64)


def _relative_width(exposure: Exposure, people: IntArray) -> FloatArray:
    width = exposure.width.ravel().astype(np.float64)
    return width / np.maximum(people, 1) if exposure.people is not None else width


def _room(exposure: Exposure, target: Target, people: IntArray) -> FloatArray:
    """How far the rate that an analyst would guess is from the nearest limit; no difference without a guess."""
    if exposure.fitted is None:
        return np.zeros(len(people))
    limits, cells = exposure.limits(target), len(exposure.cells)
    rates = exposure.fitted.ravel() / np.maximum(people, 1)
    floors, ceilings = (np.tile([float(rate) for rate in end], cells) for end in (limits.floors, limits.ceilings))
    room: FloatArray = np.minimum(rates - floors, ceilings - rates)
    return room

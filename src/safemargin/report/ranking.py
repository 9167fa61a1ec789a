"""Which cells to show first."""

import numpy as np

from safemargin.errors import InputError
from safemargin.model.arrays import FloatArray, IntArray
from safemargin.model.exposure import Exposure
from safemargin.model.target import Target

SORTS = ("verdict", "width", "people", "cell")
"""`verdict`: the disclosed first, then the narrowest; `width`: the narrowest; `people`: the smallest; `cell`: as is."""


def ranked(exposure: Exposure, target: Target, limit: int, sort: str = "verdict") -> IntArray:
    """The first `limit` intervals, as positions in the flattened matrix of cells and options."""
    if sort not in SORTS:
        raise InputError(f"sort {sort!r}: must be one of {', '.join(SORTS)}")
    size = exposure.lower.size
    columns = exposure.lower.shape[1]
    people = np.zeros(size, dtype=np.int64) if exposure.people is None else np.repeat(exposure.people, columns)
    narrowness, place = _relative_width(exposure, people), np.arange(size)
    keys: dict[str, tuple[IntArray | FloatArray, ...]] = {
        "verdict": (place, -people, narrowness, -exposure.verdicts(target).ravel()),
        "width": (place, -people, narrowness),
        "people": (place, narrowness, people),
        "cell": (place,),
    }
    return np.lexsort(keys[sort])[: max(limit, 0)].astype(np.int64)


def _relative_width(exposure: Exposure, people: IntArray) -> FloatArray:
    width = exposure.width.ravel().astype(np.float64)
    return width / np.maximum(people, 1) if exposure.people is not None else width

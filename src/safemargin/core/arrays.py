"""Array types that the model shares, and the one way to distinguish rows of codes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
UNBOUNDED = 2**53
"""Upper end of a range that nothing published limits: more than any count, and exact as a float."""


def frozen(values: object, width: int | None = None) -> IntArray:
    """A read-only int64 array; `width` makes it a matrix with that many columns."""
    array = np.array(values, dtype=np.int64)
    if width is not None:
        array = array.reshape(-1, width) if width else array.reshape(len(array), 0)
    array.setflags(write=False)
    return array


def row_keys(codes: IntArray, sizes: Sequence[int]) -> IntArray:
    """One integer per row, equal exactly where the rows are equal.

    >>> row_keys(np.array([[0, 1], [1, 0], [0, 1]]), [2, 2]).tolist()
    [1, 2, 1]
    """
    keys = np.zeros(len(codes), dtype=np.int64)
    span = 1
    for column, size in enumerate(sizes):
        # Keys of many axes would overflow 64 bits: number the distinct ones first.
        if span * max(size, 1) >= 2**62:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            span = int(keys.max(initial=0)) + 1
        keys = keys * size + codes[:, column]
        span *= max(size, 1)
    return keys


def grouped(keys: IntArray) -> tuple[IntArray, IntArray]:
    """First row of each distinct key (ascending), and for every row the place of its key; keys are not negative.

    >>> first, place = grouped(np.array([7, 2, 7, 5]))
    >>> first.tolist(), place.tolist()
    ([1, 3, 0], [2, 0, 2, 1])
    """
    count = len(keys)
    most = int(keys.max(initial=0)) + 1
    if most > 4 * count:  # too few rows for a list of all keys
        if (keys[1:] > keys[:-1]).all():  # in order already, as the profiles of a roll are: no sorting
            return np.arange(count), np.arange(count)
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        return first.astype(np.int64), group.astype(np.int64)
    first = np.full(most, count, dtype=np.int64)
    first[keys[::-1]] = np.arange(count - 1, -1, -1)
    present = first < count
    group = np.cumsum(present) - 1
    return first[present], group[keys]


def distinct(codes: IntArray) -> IntArray:
    """The distinct codes, ascending: small numbers, of which -1 may stand for none.

    >>> distinct(np.array([3, -1, 3, 0])).tolist()
    [-1, 0, 3]
    """
    return np.flatnonzero(np.bincount(codes + 1)) - 1


def group_sums(keys: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
    """First row of each distinct key (ascending), and the exact sum of `values` (rows) per key."""
    first, inverse = grouped(keys)
    if len(first) == len(keys):
        return first, values[first]
    if values.size and 0 <= values.min() and int(values.max()) * len(keys) < 2**53:  # floats hold such sums exactly
        columns = [np.bincount(inverse, column, minlength=len(first)) for column in values.T]
        return first, np.stack(columns, axis=1).astype(np.int64)
    order = np.argsort(inverse, kind="stable")
    starts = np.searchsorted(inverse[order], np.arange(len(first)))
    return first, np.add.reduceat(values[order], starts, axis=0)

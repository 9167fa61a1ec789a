"""Array types that the model shares, and the one way to tell rows of codes apart."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


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
        if span * max(size, 1) >= 2**62:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            span = int(keys.max(initial=0)) + 1
        keys = keys * size + codes[:, column]
        span *= max(size, 1)
    return keys


def group_sums(keys: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
    """First row of each distinct key (ascending), and the exact sum of `values` (rows) per key."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    starts = np.searchsorted(inverse[order], np.arange(len(first)))
    sums = np.add.reduceat(values[order], starts, axis=0) if len(first) else np.zeros((0, values.shape[1]), np.int64)
    return first.astype(np.int64), sums

"""From a count and the key of its cell to noise: exact in whole numbers, so that the same key always gives the same."""

import numpy as np

from safemargin.core import InputError, IntArray, frozen
from safemargin.samplers.keys import HASHED, KeyForm
from safemargin.samplers.ptable import KeyTable, PTable


def noise_of(table: PTable | KeyTable, counts: IntArray, keys: IntArray, form: KeyForm = HASHED) -> IntArray:
    """The noise on every count that the key of its cell picks.

    >>> from safemargin.samplers.ptable import Law
    >>> halves = PTable((Law(0, (0,), (1,)), Law(1, (-1, 1), (1, 1))))
    >>> noise_of(halves, np.array([0, 1, 1]), np.array([7, 0, 2**48 - 1])).tolist()
    [0, -1, 1]
    """
    if counts.size and int(counts.min()) < 0:
        raise InputError(f"count {int(counts.min())}: counts are not negative")
    if isinstance(table, KeyTable):
        if form.is_decimal or form.modulus % table.modulus:
            raise InputError(
                f"the p-table is for whole-number keys from 0 to {table.modulus - 1}; give such record keys"
            )
        return frozen(table.values[table.table.places(counts), keys % table.modulus])
    if len(table.rows) * form.modulus >= 2**63:
        raise InputError(f"the p-table has {len(table.rows)} rows; at most {2**63 // form.modulus - 1}")
    ends, noise = _ends(table, form)
    rows = table.places(counts)
    return frozen(noise[np.searchsorted(ends, rows * form.modulus + keys % form.modulus)])


def _ends(table: PTable, form: KeyForm) -> tuple[IntArray, IntArray]:
    """Last keys of every noise value of all rows, one row after another, and the noise."""
    ends, noise = [], []
    for place, row in enumerate(table.rows):
        before = 0
        for v, part in zip(row.noise, row.parts, strict=True):
            if not part:
                continue
            before += part
            if form.is_decimal:
                last = before * form.modulus // row.total
            else:
                last = (2 * before * form.modulus - row.total) // (2 * row.total)
            last = form.modulus - 1 if before == row.total else min(last, form.modulus - 1)
            ends.append(place * form.modulus + last)
            noise.append(v)
    return np.array(ends, dtype=np.int64), np.array(noise, dtype=np.int64)

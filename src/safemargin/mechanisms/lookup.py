"""From a count and the key of its cell to noise: exact in whole numbers, so that the same key always gives the same."""

from dataclasses import dataclass

import numpy as np

from safemargin.errors import InputError
from safemargin.mechanisms.record_keys import BITS
from safemargin.model.arrays import IntArray, frozen
from safemargin.model.ptable import KeyTable, PTable


@dataclass(frozen=True)
class KeyForm:
    """Keys are whole numbers below `modulus`; the key of a cell is the sum of its records' keys, modulo it.

    `radix` divides the modulus and splits keys in two, so that sums of many stay exact. Decimal keys (`is_decimal`) are
    looked up as the R package cellKey does: a key that is an upper end still belongs to it.
    """

    modulus: int
    radix: int
    is_decimal: bool = False

    def sums(self, high: IntArray, low: IntArray) -> IntArray:
        """Keys of cells from the sums of both parts of the keys in them."""
        carried = (high + low // self.radix) % (self.modulus // self.radix)
        return carried * self.radix + low % self.radix


DECIMAL = KeyForm(10**15, 10**8, is_decimal=True)
"""Keys from 0 to 1 with up to 15 digits."""

HASHED = KeyForm(2**BITS, 2**24)


def whole_keys(modulus: int) -> KeyForm:
    """Keys that are whole numbers, as the ONS uses them."""
    return KeyForm(modulus, 1)


def noise_of(table: PTable | KeyTable, counts: IntArray, keys: IntArray, form: KeyForm = HASHED) -> IntArray:
    """The noise on every count that the key of its cell picks.

    >>> from safemargin.model.ptable import Law
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

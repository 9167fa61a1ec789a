"""How keys of records and cells are written and added up."""

from dataclasses import dataclass

from safemargin.core import IntArray

BITS = 48
"""Length of keys that are hashes."""


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

"""Cell keys: noise that depends on who is in a cell, so that the same people get the same noise everywhere.

Each record has a secret key, a uniform integer below a modulus. The key of a cell is the sum of the keys of its people,
modulo the same number: uniform again, and the same in every table that counts these people. Count and key select the
noise in a p-table (Bach 2020, section 2.4: "same participants, same noise"). Sums and lookups are exact.
"""

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from safemargin.core import Generator, InputError, IntArray, Table, Tally, frozen
from safemargin.io import read_bytes, require_private
from safemargin.samplers.ptables import KeyTable, PTable

SHORTEST_SECRET = 16
"""Bytes that a secret must have."""
IN_CACHE = 2**16
"""Records that are summed at a time, so that their keys stay in the processor's cache."""


@dataclass(frozen=True)
class KeyForm:
    """Keys are integers below `modulus`; the key of a cell is the sum of its records' keys, modulo it.

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

    def cell_keys(self, cell_of: IntArray, keys: IntArray, cells: int) -> IntArray:
        """Keys of `cells` cells from the keys of records, of which each is in the cell `cell_of`.

        >>> HASHED.cell_keys(np.array([0, 1, 0]), np.array([2**47, 5, 2**47 + 3]), 2).tolist()
        [3, 5]
        """
        # bincount adds doubles: sums of numbers below 2**24 are exact for 2**29 records.
        high, low = np.zeros(cells), np.zeros(cells)
        for start in range(0, len(keys), IN_CACHE):
            some = slice(start, start + IN_CACHE)
            above, below = np.divmod(keys[some], self.radix)
            high += np.bincount(cell_of[some], weights=above, minlength=cells)
            low += np.bincount(cell_of[some], weights=below, minlength=cells)
        return self.sums(high.astype(np.int64), low.astype(np.int64))


DECIMAL = KeyForm(10**15, 10**8, is_decimal=True)
"""Keys from 0 to 1 with up to 15 digits, as in cellKey."""
HASHED = KeyForm(2**48, 2**24)
"""Keys that are hashes of ids."""
SIMULATED = KeyForm(2**32, 1)
"""Keys drawn for a simulation: 64-bit sums over a table are exact for two thousand million cells."""


def integer_keys(modulus: int) -> KeyForm:
    """Keys that are integers, as the ONS uses them."""
    return KeyForm(modulus, 1)


def read_secret(path: Path) -> bytes:
    """The secret in a file: all its bytes. A file that others can read is refused: it may be no secret any more."""
    require_private(path)
    return secret_of(read_bytes(path), str(path))


def secret_of(content: bytes, name: str = "the secret") -> bytes:
    """A key for hashing from the bytes of a secret, however many there are."""
    size = len(content.strip())
    if size < SHORTEST_SECRET:
        raise InputError(f"{name}: has {size} bytes; a secret needs at least {SHORTEST_SECRET}")
    # BLAKE2b takes keys of at most 64 bytes; the label separates this use of a secret from any other.
    return hmac.digest(b"safemargin record keys", content, "sha256")


def record_keys(ids: Iterable[str], secret: bytes) -> IntArray:
    """A uniform number below `2**48` for every id: keyed BLAKE2b, which nobody without the secret can compute.

    The same person has the same key in every table and release made with the secret. Keys are never stored.

    >>> secret = secret_of(b"sixteen bytes ..")
    >>> bool((record_keys(["a", "b"], secret) == record_keys(["b", "a"], secret)[::-1]).all())
    True
    """
    blake = hashlib.blake2b
    digests = b"".join([blake(text.encode(), digest_size=8, key=secret).digest() for text in ids])
    # The low 48 of 64 uniform bits are uniform; a modulus that is no power of two would be biased.
    return (np.frombuffer(digests, dtype="<u8") & np.uint64(HASHED.modulus - 1)).astype(np.int64)


def simulated_keys(table: Table, generator: Generator) -> Table:
    """A table of the same form whose counts are sums of drawn record keys: its margins are the keys of their cells.

    The sum of uniform keys is uniform, and independent for different people, so one number per profile and option
    stands for the keys of everybody there. Sealed elections share no records, so each has keys of its own.
    """
    votes = []
    for tally in table.votes:
        keys = generator.integers(0, SIMULATED.modulus, size=tally.counts.shape, dtype=np.int64)
        votes.append(Tally(tally.axes, tally.codes, frozen(np.where(tally.counts > 0, keys, 0))))
    return Table(table.schema, tuple(votes), table.roll, table.inconsistency)


def noise_of(table: PTable | KeyTable, counts: IntArray, keys: IntArray, form: KeyForm = HASHED) -> IntArray:
    """The noise on every count that the key of its cell selects.

    >>> from safemargin.samplers.ptables import Law
    >>> halves = PTable((Law(0, (0,), (1,)), Law(1, (-1, 1), (1, 1))))
    >>> noise_of(halves, np.array([0, 1, 1]), np.array([7, 0, 2**48 - 1])).tolist()
    [0, -1, 1]
    """
    if counts.size and int(counts.min()) < 0:
        raise InputError(f"count {int(counts.min())}: counts are not negative")
    if isinstance(table, KeyTable):
        # Reducing a key again keeps it uniform only if the smaller modulus divides the larger.
        if form.is_decimal or form.modulus % table.modulus:
            raise InputError(f"the p-table is for integer keys from 0 to {table.modulus - 1}; give such record keys")
        return frozen(table.values[table.table.row_numbers(counts), keys % table.modulus])
    if len(table.rows) * form.modulus >= 2**63:
        raise InputError(f"the p-table has {len(table.rows)} rows; at most {2**63 // form.modulus - 1}")
    # One sorted array of all rows, each shifted by its number times the modulus: one search serves all counts.
    ends, noise = _ends(table, form)
    return frozen(noise[np.searchsorted(ends, table.row_numbers(counts) * form.modulus + keys % form.modulus)])


def _ends(table: PTable, form: KeyForm) -> tuple[IntArray, IntArray]:
    """Last keys of every noise value of all rows, one row after another, and the noise."""
    ends, noise = [], []
    for row in table.rows:
        before = 0
        for v, part in zip(row.noise, row.weights, strict=True):
            if not part:
                continue
            before += part
            if form.is_decimal:
                last = before * form.modulus // row.total  # cellKey's intervals are closed above
            else:
                last = (2 * before * form.modulus - row.total) // (2 * row.total)  # the nearest integer, less one
            last = form.modulus - 1 if before == row.total else min(last, form.modulus - 1)
            ends.append(row.count * form.modulus + last)
            noise.append(v)
    return np.array(ends, dtype=np.int64), np.array(noise, dtype=np.int64)

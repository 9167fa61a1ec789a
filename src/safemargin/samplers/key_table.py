"""A p-table for whole-number keys, as the ONS writes it: so many keys of `modulus` for every noise value."""

import numpy as np

from safemargin.core import InputError
from safemargin.samplers.ptable import KeyTable, Law, PTable


def key_table(table: PTable, modulus: int = 256, last: int = 750) -> KeyTable:
    """The table with probabilities rounded to keys: every row keeps mean zero, its variance changes a little."""
    if not 2 <= modulus <= 2**16:
        raise InputError(f"modulus = {modulus}: must be from 2 to {2**16}; nearest is {min(max(modulus, 2), 2**16)}")
    if last < table.last:
        raise InputError(f"last = {last}: the p-table has rows to {table.last}; nearest is {table.last}")
    values = np.zeros((last + 1, modulus), dtype=np.int64)
    for row in table.rows:
        values[row.count] = np.repeat(row.noise, apportioned(row, modulus))
    for count in range(table.last + 1, last + 1):
        values[count] = values[table.last]
    values.setflags(write=False)
    return KeyTable(values, 250 if last == 750 else 1)


def apportioned(row: Law, modulus: int) -> list[int]:
    """Keys for every noise value, as near to the law as whole numbers of mean zero are.

    >>> apportioned(Law(1, (-1, 0, 1), (1, 1, 1)), 256)
    [85, 86, 85]
    """
    exact = [modulus * chance for chance in row.probabilities]
    keys = [int(value) for value in exact]
    behind = sorted(range(len(keys)), key=lambda place: keys[place] - exact[place])
    for place in behind[: modulus - sum(keys)]:
        keys[place] += 1
    bias = sum(v * n for v, n in zip(row.noise, keys, strict=True))
    while bias:
        best = min(_moves(row.noise, keys, exact, bias), default=None)
        if best is None:
            raise InputError(
                f"count {row.count}: no {modulus} keys give noise of mean 0 near this law; use another modulus"
            )
        _, source, goal = best
        keys[source] -= 1
        keys[goal] += 1
        bias += row.noise[goal] - row.noise[source]
    return keys


def _moves(noise: tuple[int, ...], keys: list[int], exact: list[float], bias: int) -> list[tuple[float, int, int]]:
    """Ways to move one key that bring the bias nearer to zero: cost per unit of bias, from where, to where."""
    found = []
    for source in range(len(noise)):
        for goal in range(len(noise)):
            shift = noise[goal] - noise[source]
            if keys[source] and shift * bias < 0 and abs(shift) <= abs(bias):
                cost = (keys[goal] - exact[goal]) - (keys[source] - exact[source]) + 1
                found.append((cost / abs(shift), source, goal))
    return found

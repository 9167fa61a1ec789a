"""The roll: who may vote, by row and attested categories, and groups of it that are not too small."""

import csv
import io
from collections.abc import Mapping

from safemargin.core import InputError
from safemargin.io import plain_label

Roll = Mapping[str, Mapping[str, str]]
"""Categories of every row, by attested dimension."""


def merge_small(sizes: Mapping[str, int], kappa: int) -> dict[str, list[str]]:
    """Groups of neighbours with at least `kappa` people each, by the numbers alone; a rest joins the last group.

    >>> merge_small({"a": 3, "b": 9, "c": 12, "d": 1}, 10)
    {'a + b': ['a', 'b'], 'c + d': ['c', 'd']}
    """
    groups: list[list[str]] = []
    waiting: list[str] = []
    for name in sizes:
        waiting.append(name)
        if sum(sizes[each] for each in waiting) >= kappa:
            groups.append(waiting)
            waiting = []
    if waiting:
        groups = [*groups[:-1], [*groups[-1], *waiting]] if groups else [waiting]
    return {" + ".join(group): group for group in groups}


def read_roll(content: bytes, name: str = "roll") -> dict[str, dict[str, str]]:
    """A roll in CSV: a column `row` that names every person, and a column per attested dimension."""
    try:
        lines = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{name}: is not CSV in UTF-8 ({error})") from None
    if not lines or "row" not in lines[0]:
        raise InputError(f"{name}: has no rows, or no column 'row'")
    roll: dict[str, dict[str, str]] = {}
    for number, line in enumerate(lines, 2):
        row = line.pop("row")
        if not row or row in roll or None in line or None in line.values():
            raise InputError(
                f"{name}: line {number}: {str(row)[:60]!r}: every person needs a row and all columns, once"
            )
        roll[row] = {name: plain_label(category) for name, category in line.items()}
    return roll


def roll_csv(roll: Roll) -> bytes:
    """A roll as the registrar reads it."""
    names = list(next(iter(roll.values())))
    with io.StringIO(newline="") as file:
        rows = ([row, *(by[name] for name in names)] for row, by in roll.items())
        csv.writer(file, lineterminator="\n").writerows([["row", *names], *rows])
        return file.getvalue().encode()

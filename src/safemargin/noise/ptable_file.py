"""p-table files: what ptable and cellKey (R), tau-ARGUS and the ONS read and write, and exact parts.

| form | columns |
|---|---|
| `r` | `i,j,p,v,p_int_lb,p_int_ub,type` (also `lb`, `ub`): count, printed count, probability, noise, range of keys |
| `tau-argus` | `i;j;p;v;p_int_ub` |
| `ons` | `pcv,ckey,pvalue`: count, key, noise, all integers |
| `parts` | `count,noise,parts,total`: integers, so that sums can be checked exactly |
"""

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np

from safemargin.core import InputError, exact_number
from safemargin.io import csv_records
from safemargin.samplers import ONS_LAST, ONS_REPEAT, KeyTable, Law, PTable, tilted

DIGITS = 15
"""Digits after the point that are written."""

NEAR = Fraction(1, 10**6)
"""How far a sum of probabilities may be from one, and a mean from zero: files are rounded to eight digits."""

NOISE, LARGEST = ("v", "noise", "pvalue"), 10_000
"""Columns that hold noise, and how large it may be."""


def read_ptable(path: Path, *, biased: bool = False) -> PTable | KeyTable:
    """The p-table in a file, in whichever form; laws whose mean is not zero are refused unless `biased`."""
    records = csv_records(path)
    _, header = next(records)
    names = [name.strip() for name in header]
    lines = [(line, dict(zip(names, record, strict=True))) for line, record in records]
    reader = next((reader for needed, reader in READERS if needed <= set(names)), None)
    if reader is None:
        raise InputError(f"{path}: is not a p-table: columns must be i, v and p_int_ub or p, or pcv, ckey and pvalue")
    if not lines:
        raise InputError(f"{path}: has no rows; give all counts from 0 on")
    try:
        table = reader(path, lines)
    except InputError as error:
        raise error if str(path) in str(error) else InputError(f"{path}: {error}") from None
    if not biased:
        for row in (table.table if isinstance(table, KeyTable) else table).rows:
            _check_mean(path, row)
    return table


def ptable_text(table: PTable, form: str) -> str:
    """A p-table as the text of a file, in the form `r`, `tau-argus` or `parts`."""
    text = io.StringIO()
    separator, header, lines = WRITERS[form]
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(header)
    for row in table.rows:
        writer.writerows(lines(row))
    return text.getvalue()


def ons_text(table: KeyTable) -> str:
    """A table for integer keys as the text of a file."""
    rows = ["pcv,ckey,pvalue"]
    for count, noise in enumerate(table.values.tolist()):
        if count:
            rows += [f"{count},{key},{value}" for key, value in enumerate(noise)]
    return "\n".join(rows) + "\n"


Lines = Sequence[tuple[int, Mapping[str, str]]]


def _read_intervals(path: Path, lines: Lines) -> PTable:
    """Rows of a count in ascending noise, with the upper ends of their keys or their probabilities."""
    ends: dict[int, dict[int, Fraction]] = {}
    for line, record in lines:
        if record.get("type", "all").strip() not in ("all", ""):
            raise InputError(f"{path}: line {line}: type = {record['type']!r}: only tables for counts ('all') are read")
        count, noise = _integer(path, line, record, "i"), _integer(path, line, record, "v")
        if "j" in record and _integer(path, line, record, "j") != count + noise:
            raise InputError(f"{path}: line {line}: j = {record['j']} but i + v = {count + noise}")
        row = ends.setdefault(count, {})
        if noise in row:
            raise InputError(f"{path}: line {line}: count {count} has noise {noise} twice")
        if row and noise < max(row):
            raise InputError(f"{path}: line {line}: count {count}: the noise must ascend")
        row[noise] = _end(path, line, record, max(row.values(), default=Fraction(0)))
    return PTable(tuple(_law(path, count, ends.get(count)) for count in range(len(ends))))


def _law(path: Path, count: int, ends: Mapping[int, Fraction] | None) -> Law:
    if ends is None:
        raise InputError(f"{path}: has no row for a count of {count}; give all counts from 0 on")
    upper = list(ends.values())
    # Files are rounded, so their sum may differ a little from one; the law divides by it.
    if abs(upper[-1] - 1) > NEAR:
        raise InputError(
            f"{path}: count {count}: the probabilities add up to {float(upper[-1]):.8g}, not 1; "
            f"divide them by {float(upper[-1]):.8g}"
        )
    total = math.lcm(*(end.denominator for end in upper))
    parts = pairwise([0, *(int(end * total) for end in upper)])
    return Law(count, tuple(ends), tuple(b - a for a, b in parts))


def _end(path: Path, line: int, record: Mapping[str, str], before: Fraction) -> Fraction:
    """The upper end of the keys of a row: as it says, or by its probability."""
    name = next((name for name in ("p_int_ub", "ub") if name in record), None)
    chance = _decimal(path, line, record, "p") if "p" in record else None
    if chance is not None and chance < 0:
        raise InputError(f"{path}: line {line}: p = {record['p']}: is negative; the nearest is 0")
    if name is None:
        assert chance is not None
        return before + chance
    end = _decimal(path, line, record, name)
    if end < before:
        raise InputError(f"{path}: line {line}: {name} = {record[name]} is below the end before it")
    if chance is not None and abs(end - before - chance) > NEAR:
        raise InputError(
            f"{path}: line {line}: p = {record['p']} but its keys end at {record[name]}; "
            f"the nearest is p = {float(end - before):.8g}"
        )
    return end


def _read_ons(path: Path, lines: Lines) -> KeyTable:
    """Every key of every count, each once."""
    cells: dict[tuple[int, int], int] = {}
    for line, record in lines:
        count, key = _integer(path, line, record, "pcv"), _integer(path, line, record, "ckey")
        if min(count, key) < 0 or (count, key) in cells:
            raise InputError(f"{path}: line {line}: pcv = {count}, ckey = {key}: is negative or listed twice")
        cells[count, key] = _integer(path, line, record, "pvalue")
    last, modulus = max(count for count, _ in cells), max(key for _, key in cells) + 1
    if last > 10_000 or modulus > 2**16:
        raise InputError(f"{path}: counts to {last} and keys to {modulus - 1}: at most 10000 and {2**16 - 1}")
    values, listed = np.zeros((last + 1, modulus), dtype=np.int64), np.zeros((last + 1, modulus), dtype=bool)
    indices = tuple(np.array(list(cells)).T)
    values[indices], listed[indices] = list(cells.values()), True
    listed[0] = True  # files of the ONS have no rows for empty cells, which stay empty
    if not listed.all():
        count, key = np.argwhere(~listed)[0].tolist()
        raise InputError(f"{path}: pcv = {count}, ckey = {key}: there is no such row")
    values.setflags(write=False)
    return KeyTable(values, ONS_REPEAT if last == ONS_LAST else 1)


def _read_parts(path: Path, lines: Lines) -> PTable:
    """Integer weights."""
    rows: dict[int, dict[int, int]] = {}
    totals: dict[int, int] = {}
    for line, record in lines:
        count, noise, total = (_integer(path, line, record, name) for name in ("count", "noise", "total"))
        row = rows.setdefault(count, {})
        if noise in row:
            raise InputError(f"{path}: line {line}: count {count} has noise {noise} twice")
        if totals.setdefault(count, total) != total:
            raise InputError(f"{path}: line {line}: count {count} has total {total}, and {totals[count]} before")
        row[noise] = _integer(path, line, record, "parts")
    for count, row in rows.items():
        if sum(row.values()) != totals[count]:
            raise InputError(f"{path}: count {count}: the parts add up to {sum(row.values())}, not {totals[count]}")
    return PTable(tuple(Law(count, tuple(row), tuple(row.values())) for count, row in sorted(rows.items())))


READERS: tuple[tuple[set[str], Callable[[Path, Lines], PTable | KeyTable]], ...] = (
    ({"pcv", "ckey", "pvalue"}, _read_ons),
    ({"count", "noise", "parts", "total"}, _read_parts),
    ({"i", "v", "p_int_ub"}, _read_intervals),
    ({"i", "v", "ub"}, _read_intervals),
    ({"i", "v", "p"}, _read_intervals),
)


def _check_mean(path: Path, row: Law) -> None:
    if abs(row.mean) <= NEAR:
        return
    said = f"{path}: count {row.count}: the noise has mean {float(row.mean):.6g}, so it is biased"
    if (nearest := _unbiased(row)) is None:
        raise InputError(f"{said}; no law on its noise has mean 0")
    values = ", ".join(f"{v}: {chance:.8f}" for v, chance in nearest.items())
    raise InputError(f"{said}; the nearest with mean 0 is {values}")


def _unbiased(row: Law) -> dict[int, float] | None:
    """The law of mean zero on the same noise that is nearest in relative entropy (Kullback): `p * exp(t v)`."""
    # Noise of probability zero stays at zero under any tilt.
    chances = {v: chance for v, chance in zip(row.noise, row.probabilities, strict=True) if chance > 0}
    if not min(chances) < 0 < max(chances):
        return None
    values = np.array(list(chances), dtype=float)
    unbiased = tilted(values[None] / abs(values).max(), np.zeros(1), np.array(list(chances.values())))
    return dict(zip(chances, unbiased.tolist(), strict=True))


def _ends(row: Law) -> list[str]:
    """Upper ends of the keys of each noise value, rounded; the last is 1."""
    # Ends are rounded, not probabilities, so that rounding errors do not add up.
    return [_digits(Fraction(end, row.total)) for end in accumulate(row.weights)]


def _digits(value: Fraction) -> str:
    whole = round(value * 10**DIGITS)
    text = f"{whole // 10**DIGITS}.{whole % 10**DIGITS:0{DIGITS}d}"
    return text.rstrip("0").rstrip(".")


def _r_lines(row: Law) -> list[list[object]]:
    ends = _ends(row)
    pairs = zip(row.noise, ["0", *ends[:-1]], ends, strict=True)
    return [[row.count, row.count + v, _digits(Fraction(b) - Fraction(a)), v, a, b, "all"] for v, a, b in pairs]


def _tau_lines(row: Law) -> list[list[object]]:
    return [line[:4] + line[5:6] for line in _r_lines(row)]


def _part_lines(row: Law) -> list[list[object]]:
    return [[row.count, v, part, row.total] for v, part in zip(row.noise, row.weights, strict=True)]


WRITERS: Mapping[str, tuple[str, list[str], Callable[[Law], list[list[object]]]]] = {
    "r": (",", ["i", "j", "p", "v", "p_int_lb", "p_int_ub", "type"], _r_lines),
    "tau-argus": (";", ["i", "j", "p", "v", "p_int_ub"], _tau_lines),
    "parts": (",", ["count", "noise", "parts", "total"], _part_lines),
}
FORMS = (*WRITERS, "ons")


def _integer(path: Path, line: int, record: Mapping[str, str], name: str) -> int:
    plain = record[name].strip()
    # Most fields are plain integers; fractions are ten times slower, and ONS files have 192,000 rows.
    if plain.isascii() and plain.removeprefix("-").isdigit():
        value = Fraction(int(plain))
    else:
        value = _decimal(path, line, record, name)
    if value.denominator != 1:
        raise InputError(f"{path}: line {line}: {name} = {record[name]}: must be an integer")
    if name in NOISE and abs(value) > LARGEST:
        raise InputError(f"{path}: line {line}: {name} = {record[name]}: noise is at most {LARGEST}")
    return int(value)


def _decimal(path: Path, line: int, record: Mapping[str, str], name: str) -> Fraction:
    try:
        return exact_number(record[name].strip())
    except ValueError:
        raise InputError(f"{path}: line {line}: {name} = {record[name]!r}: is not a number") from None

"""Tables in JSON that are no list of records: JSON-stat of statistics offices, frames of pandas, rows by their label.

| form | known by |
|---|---|
| JSON-stat 1 and 2 | `dimension`, `size`, `value` (a list, or an object by place) and `status` |
| frames split into parts | `columns` and `data`, with `index` or without |
| columns by name | an object of objects with the same keys, numbers of rows |
| rows by label | an object of objects with the same keys, names of columns |
"""

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from safemargin.core import InputError, TooLargeError
from safemargin.io.reading.grid import MOST_CELLS


def json_rows(path: Path, value: Mapping[str, Any]) -> list[list[Any]] | None:
    """The rows of a table under one row of names; None if the object is none of these forms."""
    if isinstance(inner := value.get("dataset"), dict):  # JSON-stat 1, as older interfaces send it
        value = inner
    if isinstance(value.get("dimension"), dict) and "value" in value:
        return _of_cube(path, value)
    if isinstance(value.get("columns"), list) and isinstance(value.get("data"), list):
        return _of_parts(path, value)
    parts = list(value.values())
    if len(parts) > 1 and all(isinstance(part, dict) and part for part in parts):
        return _by_name(value)
    return None


def _of_cube(path: Path, cube: Mapping[str, Any]) -> list[list[Any]]:
    dimension = cube["dimension"]
    names, size = cube.get("id", dimension.get("id")), cube.get("size", dimension.get("size"))
    try:
        labels = [_categories(dimension[name]) for name in names]
        is_cube = [len(listed) for listed in labels] == [int(number) for number in size]
    except (KeyError, TypeError, ValueError, AttributeError):
        is_cube = False
    if not is_cube:
        raise InputError(f"{path}: is no JSON-stat: id, size and dimension do not agree")
    cells = prod(map(len, labels))
    if cells > MOST_CELLS:
        raise TooLargeError(f"{path}: has {cells:,} cells, more than {MOST_CELLS:,}; save it as CSV")
    values, status = _by_place(cube["value"], cells), _by_place(cube.get("status") or {}, cells)
    if isinstance(cube["value"], list) and len(cube["value"]) != cells:
        raise InputError(f"{path}: value: has {len(cube['value']):,} cells, and the dimensions have {cells:,}")
    called = [str(dimension[name].get("label") or name) for name in names]
    if len(set(called)) < len(called):
        called = [str(name) for name in names]
    is_marked = any(status.get(place) for place in range(cells))
    rows: list[list[Any]] = [[*called, *(["status"] if is_marked else []), "value"]]
    for place, row in enumerate(product(*labels)):
        rows.append([*row, *([status.get(place)] if is_marked else []), values.get(place)])
    return rows


def _categories(dimension: Mapping[str, Any]) -> list[str]:
    """The labels of a dimension in their order."""
    category = dimension["category"]
    index, label = category.get("index"), category.get("label") or {}
    codes = list(label) if index is None else list(index)
    if isinstance(index, dict):
        codes = sorted(index, key=lambda code: int(index[code]))
    found = [str(label.get(code, code)) for code in codes]
    return (
        found if len(set(found)) == len(found) else [f"{code} {text}" for code, text in zip(codes, found, strict=True)]
    )


def _by_place(given: Any, cells: int) -> dict[int, Any]:
    if isinstance(given, list):
        return dict(enumerate(given[:cells]))
    if isinstance(given, dict):
        return {int(place): one for place, one in given.items() if str(place).isdigit()}
    return dict.fromkeys(range(cells), given)


def _of_parts(path: Path, frame: Mapping[str, Any]) -> list[list[Any]]:
    names, data, index = frame["columns"], frame["data"], frame.get("index")
    names = [" ".join(map(str, name)) if isinstance(name, list) else str(name) for name in names]
    if not all(isinstance(row, list) and len(row) == len(names) for row in data):
        raise InputError(f"{path}: data: every row must have {len(names)} values, one per name in columns")
    if not isinstance(index, list) or len(index) != len(data) or _are_numbers(index):
        return [names, *data]
    keys = [key if isinstance(key, list) else [key] for key in index]
    width = max(map(len, keys), default=1)
    return [[*[""] * width, *names], *([*key, *row] for key, row in zip(keys, data, strict=True))]


def _are_numbers(index: Sequence[Any]) -> bool:
    return list(index) == list(range(len(index)))


def _by_name(value: Mapping[str, Mapping[str, Any]]) -> list[list[Any]]:
    inner = list(dict.fromkeys(key for part in value.values() for key in part))
    if all(key.isdigit() for key in inner):  # columns by name, as pandas writes a frame
        return [list(value), *([part.get(key) for part in value.values()] for key in inner)]
    return [["", *inner], *([name, *(part.get(key) for key in inner)] for name, part in value.items())]

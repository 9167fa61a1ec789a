"""A JSON-stat table with gaps: the dimensions and their labels, the values without what is suppressed, and a note.

A document may state anything beside its table: notes, links, extensions, other tables. Of a dimension its labels are
kept, of the document its version, its title and its source. A
status of a suppressed value says so.
"""

from collections.abc import Mapping
from typing import Any

from safemargin.io.reading.grid import Cell, TextGrid

KEPT = ("version", "class", "label", "source", "updated", "id", "size")
DIMENSION = ("index", "label")
GAPPED = "suppressed"


def cube_of(value: object) -> dict[str, Any] | None:
    """A document that is a JSON-stat table, of version 1 or 2."""
    if not isinstance(value, dict):
        return None
    inner = value.get("dataset")
    table = inner if isinstance(inner, dict) else value
    return value if isinstance(table.get("dimension"), dict) and "value" in table else None


def gapped_cube(
    document: Mapping[str, Any], changes: Mapping[tuple[int, int], Cell], grid: TextGrid, note: str
) -> dict[str, Any]:
    """The document with other values; a row of the grid is a place in the cube, its last column the value."""
    inner = document.get("dataset")
    table = inner if isinstance(inner, dict) else document
    last, flag = grid.width - 1, grid.width - 2
    has_status = grid.rows[0][flag] == "status"
    gone = {r - 1 for (r, c), new in changes.items() if c == last and new is None}
    said = {r - 1: new for (r, c), new in changes.items() if has_status and c == flag}
    made: dict[str, Any] = {name: table[name] for name in KEPT if isinstance(table.get(name), str | list)}
    made["dimension"] = _dimensions(table["dimension"])
    made["value"] = _values(table["value"], gone)
    if has_status:
        made["status"] = {str(r - 1): text for r in range(1, len(grid.rows)) if (text := _status(grid, said, r, flag))}
    made["note"] = [note]
    return {"dataset": made} if isinstance(inner, dict) else made


def _dimensions(given: Mapping[str, Any]) -> dict[str, Any]:
    """Every dimension with its label and its categories, and in version 1 their names, sizes and roles."""
    made: dict[str, Any] = {name: given[name] for name in ("id", "size") if isinstance(given.get(name), list)}
    for name, part in given.items():
        if isinstance(part, dict) and isinstance(part.get("category"), dict):
            category = {key: part["category"][key] for key in DIMENSION if key in part["category"]}
            made[name] = {
                **({"label": part["label"]} if isinstance(part.get("label"), str) else {}),
                "category": category,
            }
        elif name == "role":
            made[name] = part
    return made


def _values(given: object, gone: set[int]) -> object:
    """The values in the form that they had: a list with null for gaps, or an object without them."""
    if isinstance(given, list):
        return [None if place in gone else value for place, value in enumerate(given)]
    if isinstance(given, dict):
        return {key: value for key, value in given.items() if not (str(key).isdigit() and int(key) in gone)}
    return None if gone else given


def _status(grid: TextGrid, said: Mapping[int, Cell], row: int, flag: int) -> Cell:
    """What the status of a place says from now on."""
    return said.get(row - 1, grid.rows[row][flag])

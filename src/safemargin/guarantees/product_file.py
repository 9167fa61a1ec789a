"""A product of noisy queries as a TOML file: its scale, its levels and queries with their shares."""

import tomllib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from safemargin.core import InputError, exact_number, parsed
from safemargin.guarantees.census import CensusLevel, CensusQuery, Product


def read_product(path: Path) -> Product:
    """The product in a file; errors name the key."""
    found = parsed(path, "TOML", tomllib.loads)
    if unknown := sorted(set(found) - {"name", "unit", "scale", "queries", "levels"}):
        raise InputError(f"{path}: unknown key {unknown[0]!r}; the keys are name, unit, scale, queries, levels")
    attributes = _table(found.get("queries", {}), f"{path}: queries")
    for name, listed in attributes.items():
        if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
            raise InputError(f"{path}: queries.{name}: must list the attributes that the query distinguishes")
    levels = found.get("levels", [])
    if not isinstance(levels, list) or not levels:
        raise InputError(f"{path}: levels: name at least one, from the whole down")
    name = _text(found.get("name", path.stem), f"{path}: name")
    unit = _text(found.get("unit", "person"), f"{path}: unit")
    scale = _fraction(found.get("scale"), f"{path}: scale")
    parts = tuple(_level(each, attributes, f"{path}: levels[{n}]") for n, each in enumerate(levels))
    try:
        return Product(name, unit, scale, parts)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _level(found: object, attributes: Mapping[str, object], where: str) -> CensusLevel:
    entry = _table(found, where)
    queries = []
    for name, share in _table(entry.get("queries", {}), f"{where}.queries").items():
        listed = attributes.get(name)
        if not isinstance(listed, list):
            raise InputError(f"{where}.queries: {name!r} is not among the queries of the file")
        queries.append(CensusQuery(name, frozenset(map(str, listed)), _fraction(share, f"{where}.queries.{name}")))
    return CensusLevel(
        _text(entry.get("name"), f"{where}.name"), _fraction(entry.get("share"), f"{where}.share"), tuple(queries)
    )


def _table(found: object, where: str) -> Mapping[str, object]:
    if not isinstance(found, dict):
        raise InputError(f"{where}: must be a table")
    return found


def _text(found: object, where: str) -> str:
    if not isinstance(found, str):
        raise InputError(f"{where}: must be a text")
    return found


def _fraction(found: object, where: str) -> Fraction:
    try:
        if isinstance(found, bool) or not isinstance(found, int | float | str):
            raise ValueError
        return exact_number(str(found))
    except ValueError:
        raise InputError(f"{where} = {found!r}: must be a number or a fraction such as '3/8'") from None

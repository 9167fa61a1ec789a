"""A small mechanism as a JSON file: data sets, the law of the output for each, and the guarantee that is claimed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from safemargin.core import Guarantee, InputError, exact_number, parsed
from safemargin.guarantees.guarantee_file import guarantee_from

Record = tuple[str, ...]
KEYS = {"variables", "data", "guarantee", "universes"}


@dataclass(frozen=True)
class Mechanism:
    """Data sets by name, each a list of records over `variables`; the law of the output for each; what is claimed.

    `universes` list the data sets that are compared; without them, these are the ones that agree on all invariants.
    """

    variables: tuple[str, ...]
    data: Mapping[str, tuple[Record, ...]]
    laws: Mapping[str, Mapping[str, Fraction]]
    guarantee: Guarantee
    universes: Mapping[str, tuple[str, ...]] | None = None


def read_mechanism(path: Path) -> Mechanism:
    """The mechanism in a file; errors name the key."""
    entry = _object(parsed(path, "JSON", json.loads), f"{path}")
    if unknown := sorted(set(entry) - KEYS):
        raise InputError(f"{path}: unknown key {unknown[0]!r}; the keys are {', '.join(sorted(KEYS))}")
    variables = _texts(entry.get("variables"), f"{path}: variables")
    data, laws = {}, {}
    for name, one in _object(entry.get("data"), f"{path}: data").items():
        where = f"{path}: data.{name}"
        given = _object(one, where)
        if set(given) != {"records", "law"}:
            raise InputError(f"{where}: needs the keys 'records' and 'law', and no others")
        data[name] = _records(given["records"], variables, f"{where}.records")
        laws[name] = _law(given["law"], f"{where}.law")
    if not data:
        raise InputError(f"{path}: data: name at least one data set")
    guarantee = guarantee_from(entry.get("guarantee"), f"{path}: guarantee")
    if entry.get("universes") is None:
        return Mechanism(variables, data, laws, guarantee)
    universes = {
        name: _texts(members, f"{path}: universes.{name}")
        for name, members in _object(entry["universes"], f"{path}: universes").items()
    }
    for name, members in universes.items():
        if missing := next((each for each in members if each not in data), None):
            raise InputError(f"{path}: universes.{name}: there is no data set {missing!r}")
    return Mechanism(variables, data, laws, guarantee, universes)


def _object(found: object, where: str) -> Mapping[str, object]:
    if not isinstance(found, dict):
        raise InputError(f"{where}: must be an object")
    return found


def _texts(found: object, where: str) -> tuple[str, ...]:
    if not isinstance(found, list) or not found or not all(isinstance(each, str) for each in found):
        raise InputError(f"{where}: must be a list of texts")
    return tuple(found)


def _records(found: object, variables: tuple[str, ...], where: str) -> tuple[Record, ...]:
    if not isinstance(found, list):
        raise InputError(f"{where}: must be a list of records")
    for each in found:
        if not isinstance(each, list) or len(each) != len(variables):
            raise InputError(f"{where}: {each!r}: every record needs {len(variables)} values, one per variable")
    return tuple(tuple(str(value) for value in each) for each in found)


def _law(found: object, where: str) -> Mapping[str, Fraction]:
    law = {}
    for output, chance in _object(found, where).items():
        try:
            law[output] = exact_number(str(chance))
        except ValueError:
            raise InputError(f"{where}.{output} = {chance!r}: must be a number or a fraction such as '1/3'") from None
    if sum(law.values()) != 1 or min(law.values(), default=Fraction(0)) < 0:
        raise InputError(f"{where}: probabilities must not be negative, and sum to 1 (they sum to {sum(law.values())})")
    return law

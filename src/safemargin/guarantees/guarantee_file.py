"""Guarantees as JSON: `document` writes one, `guarantee_from` reads one and names the key that is wrong."""

import json
import math
from collections.abc import Mapping, Sequence, Set
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from safemargin.core import (
    Amount,
    Change,
    Distance,
    Fixes,
    Guarantee,
    InputError,
    Invariant,
    Measure,
    Nested,
    Population,
    Records,
    exact_number,
    parsed,
)

GUARANTEE_FILE = "guarantee.json"
NO_NOISE = (
    "Counts are exact, merged or suppressed, and none is noised: nothing is guaranteed about odds. What they leave "
    "open is stated in the certificate of the release."
)
LARGEST = 1e300
KEYS = {
    "schema",
    "mechanism",
    "statement",
    "epsilon",
    "delta",
    "rho",
    "invariants",
    "population",
    "change",
    "measure",
    "budget",
    "varies",
    "rule",
    "premises",
    "remarks",
    "count",
    "choice",
    "rate",
}
Choice = TypeVar("Choice", bound=StrEnum)


def document(guarantee: Guarantee) -> dict[str, object]:
    """One guarantee with everything it rests on. Rational budgets are written as fractions, so nothing is rounded."""
    found: dict[str, object] = {
        "mechanism": guarantee.mechanism,
        "statement": guarantee.statement,
        "epsilon": None if guarantee.epsilon is None else _shown(guarantee.epsilon),
        "delta": guarantee.delta,
        "rho": None if guarantee.rho is None else _shown(float(guarantee.rho)),
        "invariants": [_invariant(each) for each in guarantee.invariants],
        "population": _population(guarantee.population),
        "change": {"distance": str(guarantee.change.distance), "unit": guarantee.change.unit},
        "measure": str(guarantee.measure),
        "budget": _budget(guarantee),
        "rule": guarantee.rule,
    }
    for key, value in (("count", guarantee.count), ("choice", guarantee.choice)):
        if value is not None:
            found[key] = value
    if guarantee.rate is not None:
        found["rate"] = str(guarantee.rate)
    if guarantee.varies:
        found["varies"] = guarantee.varies
    if guarantee.remarks:
        found["remarks"] = list(guarantee.remarks)
    if guarantee.premises:
        found["premises"] = [document(each) for each in guarantee.premises]
    return found


def guarantee_text(guarantee: Guarantee) -> str:
    """One guarantee as the text of a file of its own."""
    return json.dumps({"schema": 1, **document(guarantee)}, indent=2, ensure_ascii=False) + "\n"


def read_guarantee(path: Path) -> Guarantee:
    """The guarantee in a file: one of its own, or the only one of a release's manifest; none if it has no noise."""
    found = parsed(path, "JSON", json.loads)
    if isinstance(found, dict) and isinstance(found.get("guarantees"), list) and "mechanism" not in found:
        if not found["guarantees"] and {"files", "rule"} <= set(found):
            fixed = Invariant(Fixes.FUNCTION, "every published count")
            return Guarantee("counts without noise", NO_NOISE, None, (fixed,), measure=Measure.NONE)
        if len(found["guarantees"]) != 1:
            raise InputError(f"{path}: holds {len(found['guarantees'])} guarantees; write the one you mean to a file")
        (found,) = found["guarantees"]
    elif isinstance(found, dict) and isinstance(found.get("guarantee"), dict):
        found = found["guarantee"]
    elif isinstance(found, dict) and _lists_guarantee(found.get("files")) and path.name != GUARANTEE_FILE:
        return read_guarantee(path.with_name(GUARANTEE_FILE))
    return guarantee_from(found, str(path))


def _lists_guarantee(files: object) -> bool:
    """Whether a manifest, as that of a TopDown release, has the guarantee in a file of its own."""
    return isinstance(files, dict) and GUARANTEE_FILE in files


def guarantee_from(found: object, where: str) -> Guarantee:
    """A guarantee from JSON; `where` begins every message."""
    entry = _object(found, where, KEYS)
    usual = "approximate" if entry.get("delta") else "pure"
    measure = _choice(Measure, entry.get("measure", usual), f"{where}: measure")
    budget, delta = _read_budget(entry, measure, where)
    change = _object(entry.get("change", {}), f"{where}: change", {"distance", "unit"})
    return Guarantee(
        mechanism=_text(entry, "mechanism", where),
        statement=_text(entry, "statement", where, ""),
        budget=budget,
        invariants=tuple(
            _read_invariant(each, f"{where}: invariants[{n}]")
            for n, each in enumerate(_list(entry.get("invariants", []), f"{where}: invariants"))
        ),
        population=_read_population(entry.get("population", ""), f"{where}: population"),
        change=Change(
            _choice(Distance, change.get("distance", "exchange"), f"{where}: change.distance"),
            _text(change, "unit", f"{where}: change", "answer"),
        ),
        measure=measure,
        delta=delta,
        varies=_text(entry, "varies", where, ""),
        rule=_text(entry, "rule", where, "stated"),
        premises=tuple(
            guarantee_from(each, f"{where}: premises[{n}]")
            for n, each in enumerate(_list(entry.get("premises", []), f"{where}: premises"))
        ),
        remarks=_names(entry.get("remarks", []), f"{where}: remarks"),
        count=_optional(entry.get("count"), f"{where}: count"),
        choice=_optional(entry.get("choice"), f"{where}: choice"),
        rate=_rate(entry.get("rate"), f"{where}: rate"),
    )


def _budget(guarantee: Guarantee) -> dict[str, object] | None:
    if guarantee.budget is None:
        return None
    amount = _number(guarantee.budget)
    if guarantee.measure is Measure.ZCDP:
        return {"rho_squared": amount}
    return {"epsilon": amount, **({"delta": guarantee.delta} if guarantee.measure is Measure.APPROXIMATE else {})}


def _number(amount: Amount) -> object:
    if isinstance(amount, Fraction):
        return str(amount)
    return _shown(amount)


def _shown(amount: float) -> float | str:
    """JSON has no infinite number."""
    return amount if math.isfinite(amount) else "infinite"


def _invariant(each: Invariant) -> object:
    match each.fixes:
        case Fixes.COUNTS:
            return {"counts": each.of, "by": list(each.by)}
        case Fixes.AT_LEAST:
            return {"counts": each.of, "by": list(each.by), "at_least": each.least}
        case Fixes.LINEAR:
            return {"sums": each.of, "cells": list(each.by), "rows": [list(map(str, row)) for row in each.rows]}
        case Fixes.EVERYTHING:
            return {"everything": each.of}
    return each.of


def _population(population: Population) -> object:
    found: dict[str, object] = {"name": population.name}
    if population.part_of:
        found["part_of"] = list(population.part_of)
    if population.records:
        found["records"] = [
            {"kind": each.kind, "variables": list(each.variables), "free": each.free} for each in population.records
        ]
    if population.determines:
        found["determines"] = [list(pair) for pair in population.determines]
    if population.nested:
        found["nested"] = [
            {"fine": each.fine, "coarse": each.coarse, "up": each.up, "down": each.down} for each in population.nested
        ]
    return found if len(found) > 1 else population.name


def _read_budget(entry: Mapping[str, object], measure: Measure, where: str) -> tuple[Amount | None, float]:
    shown = {"epsilon": entry.get("epsilon"), "delta": entry.get("delta", 0)}
    stated = entry.get("budget", shown if entry.get("epsilon") is not None else None)
    if stated is None or measure is Measure.NONE:
        return None, 0.0
    budget = _object(stated, f"{where}: budget", {"epsilon", "delta", "rho_squared"})
    wanted = "rho_squared" if measure is Measure.ZCDP else "epsilon"
    if wanted not in budget:
        raise InputError(f"{where}: budget: a {measure} guarantee needs {wanted!r}")
    amount = _amount(budget[wanted], f"{where}: budget.{wanted}")
    delta = float(_amount(budget.get("delta", 0), f"{where}: budget.delta"))
    stated_at = "delta" in budget and (delta or "budget" in entry)
    if not 0 <= delta < 1 or (not stated_at if measure is Measure.APPROXIMATE else delta):
        raise InputError(f"{where}: budget.delta = {delta:g}: only approximate guarantees have one, in (0, 1)")
    shown_as = entry.get("rho" if measure is Measure.ZCDP else "epsilon")
    if shown_as is not None and not math.isclose(float(_amount(shown_as, where)), float(amount), rel_tol=1e-9):
        raise InputError(f"{where}: budget.{wanted} = {budget[wanted]}: another number ({shown_as}) stands beside it")
    return amount, delta


def _amount(value: object, where: str) -> Amount:
    if value == "infinite":
        return math.inf
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        found: Amount = value if isinstance(value, float) else exact_number(str(value))
    except ValueError:
        raise InputError(f"{where} = {value!r}: is not a number") from None
    if not found >= 0:
        raise InputError(f"{where} = {value!r}: must not be negative")
    if LARGEST < found < math.inf:
        raise InputError(f"{where}: is larger than {LARGEST:.0e}; write 'infinite' if it is")
    return found


def _optional(value: object, where: str) -> float | None:
    return None if value is None else float(_amount(value, where))


def _rate(value: object, where: str) -> Fraction | None:
    if value is None:
        return None
    found = _amount(str(value) if isinstance(value, float) else value, where)
    if not found <= 1:
        raise InputError(f"{where} = {value!r}: must lie between 0 and 1")
    return Fraction(found)


def _read_invariant(found: object, where: str) -> Invariant:
    if isinstance(found, str):
        return Invariant(Fixes.FUNCTION, found)
    entry = _object(found, where, {"counts", "by", "at_least", "sums", "cells", "rows", "everything"})
    if "counts" in entry:
        by = _names(entry.get("by", []), f"{where}.by")
        of = _text(entry, "counts", where)
        if "at_least" not in entry:
            return Invariant(Fixes.COUNTS, of, by)
        least = entry["at_least"] if entry["at_least"] is not None else ""
        return Invariant(Fixes.AT_LEAST, of, by, _whole(least, f"{where}.at_least") or 0)
    if "sums" in entry:
        cells = _names(entry.get("cells", []), f"{where}.cells")
        rows = tuple(
            tuple(Fraction(_amount_or_less(each, where)) for each in _list(row, f"{where}.rows"))
            for row in _list(entry.get("rows", []), f"{where}.rows")
        )
        if any(len(row) != len(cells) for row in rows):
            raise InputError(f"{where}.rows: every row needs {len(cells)} numbers, one per cell")
        return Invariant(Fixes.LINEAR, _text(entry, "sums", where), cells, rows=rows)
    if "everything" in entry:
        return Invariant(Fixes.EVERYTHING, _text(entry, "everything", where))
    raise InputError(f"{where}: needs a name, or one of the keys 'counts', 'sums', 'everything'")


def _amount_or_less(value: object, where: str) -> Fraction:
    try:
        return exact_number(str(value) if isinstance(value, int | float | str) else "")
    except ValueError:
        raise InputError(f"{where}.rows: {value!r} is not a number") from None


def _read_population(found: object, where: str) -> Population:
    if isinstance(found, str):
        return Population(found)
    entry = _object(found, where, {"name", "part_of", "records", "determines", "nested"})
    pairs = [_names(pair, f"{where}.determines") for pair in _list(entry.get("determines", []), f"{where}.determines")]
    if any(len(pair) != 2 for pair in pairs):
        raise InputError(f"{where}.determines: needs pairs such as ['block', 'county']")
    kinds = _objects(entry, "records", where, {"kind", "variables", "free"})
    nested = _objects(entry, "nested", where, {"fine", "coarse", "up", "down"})
    return Population(
        name=_text(entry, "name", where, ""),
        part_of=_names(entry.get("part_of", []), f"{where}.part_of"),
        records=tuple(
            Records(
                _text(each, "kind", f"{where}.records"),
                _names(each.get("variables", []), f"{where}.records.variables"),
                _flag(each.get("free", False), f"{where}.records.free"),
            )
            for each in kinds
        ),
        determines=tuple((pair[0], pair[1]) for pair in pairs),
        nested=tuple(
            Nested(
                _text(each, "fine", f"{where}.nested"),
                _text(each, "coarse", f"{where}.nested"),
                _whole(each.get("up", 1), f"{where}.nested.up") or 1,
                _whole(each.get("down"), f"{where}.nested.down"),
            )
            for each in nested
        ),
    )


def _whole(value: object, where: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{where} = {value!r}: must be a whole number from 1 up")
    return value


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{where} = {value!r}: must be true or false")
    return value


def _object(found: object, where: str, keys: Set[str]) -> Mapping[str, object]:
    if not isinstance(found, dict):
        raise InputError(f"{where}: must be an object")
    if unknown := sorted(set(found) - keys):
        raise InputError(f"{where}: unknown key {unknown[0]!r}")
    return found


def _objects(entry: Mapping[str, object], key: str, where: str, keys: Set[str]) -> list[Mapping[str, object]]:
    return [_object(each, f"{where}.{key}", keys) for each in _list(entry.get(key, []), f"{where}.{key}")]


def _list(found: object, where: str) -> Sequence[object]:
    if not isinstance(found, list):
        raise InputError(f"{where}: must be a list")
    return found


def _names(found: object, where: str) -> tuple[str, ...]:
    names = _list(found, where)
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"{where}: must be a list of texts")
    return tuple(str(name) for name in names)


def _text(entry: Mapping[str, object], key: str, where: str, default: str | None = None) -> str:
    found = entry.get(key, default)
    if not isinstance(found, str):
        raise InputError(f"{where}: {key!r} must be a text")
    return found


def _choice(kinds: type[Choice], value: object, where: str) -> Choice:
    try:
        return kinds(str(value))
    except ValueError:
        raise InputError(f"{where} = {value!r}: must be one of {', '.join(kinds)}") from None

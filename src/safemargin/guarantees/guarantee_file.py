"""Guarantees as JSON: `document` writes one, `guarantee_from` reads one and names the key that is wrong."""

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StrictBool,
    StrictInt,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from safemargin.core import (
    Amount,
    Change,
    Distance,
    Fixes,
    Guarantee,
    InputError,
    Invariant,
    Limit,
    Measure,
    Nested,
    Population,
    Records,
    exact_number,
)
from safemargin.guarantees.conversion import LARGEST
from safemargin.io import PHRASES, dotted_key, read_json, shown_value

GUARANTEE_FILE = "guarantee.json"
NO_NOISE = (
    "Counts are exact, merged or suppressed, and none is noised: nothing is guaranteed about odds. What they leave "
    "open is stated in the certificate of the release."
)

Model = TypeVar("Model", bound="Part")


class Part(BaseModel):
    """A part of a file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


def validated(model: type[Model], value: object, where: str) -> Model:
    """Check a value that was read from a file; the message names the file, the key and the value."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
    key, kind, context = dotted_key(problem["loc"]), problem["type"], problem.get("ctx", {})
    if kind in ("missing", "extra_forbidden"):
        problem_text = f"{key} is missing" if kind == "missing" else f"{key}: unknown key"
    else:
        expected = "must be {expected}" if kind in ("enum", "literal_error") else PHRASES.get(kind, problem["msg"])
        value = "" if kind == "rule" else shown_value(problem["input"])
        problem_text = f"{key}{value}: {expected.format(**context)}" if key else expected.format(**context)
    raise InputError(f"{where}: {problem_text}")


def rule(message: str) -> PydanticCustomError:
    """An error whose message needs no value; braces in it are kept."""
    return PydanticCustomError("rule", "{message}", {"message": message})


def exact_fraction(value: object) -> Fraction:
    """A number of a file without rounding: 0.1 is one tenth."""
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
            raise ValueError
        return exact_number(str(value))
    except ValueError:
        raise PydanticCustomError("number", "must be a number or a fraction such as '3/8'") from None


def _amount(value: object) -> Amount:
    if value == "infinite":  # JSON has no infinite number
        return math.inf
    amount: Amount = value if isinstance(value, float) else exact_fraction(value)
    if not amount >= 0:
        raise PydanticCustomError("number", "must not be negative")
    # Such a number would become infinite when it is squared, and then look like no guarantee.
    if LARGEST < amount < math.inf:
        raise PydanticCustomError("number", "is larger than 1e300; write 'infinite' if it is")
    return amount


def _rate(value: object) -> Fraction:
    rate = exact_fraction(value)
    if not 0 <= rate <= 1:
        raise PydanticCustomError("number", "must lie between 0 and 1")
    return rate


AmountField = Annotated[Any, PlainValidator(_amount)]
FractionField = Annotated[Any, PlainValidator(exact_fraction)]
Count = Annotated[StrictInt, Field(ge=1)]
Texts = tuple[str, ...]


class _Records(Part):
    kind: str
    variables: Texts = ()
    free: StrictBool = False


class _Nested(Part):
    fine: str
    coarse: str
    up: Count = 1
    down: Count | None = None


class _Limit(Part):
    counts: str
    by: Texts = ()
    at_least: Annotated[StrictInt, Field(ge=0)] = 0
    at_most: Annotated[StrictInt, Field(ge=0)] | None = None


class _Population(Part):
    name: str = ""
    part_of: Texts = ()
    records: tuple[_Records, ...] = ()
    determines: tuple[tuple[str, str], ...] = ()
    nested: tuple[_Nested, ...] = ()
    limits: tuple[_Limit, ...] = ()

    def build(self) -> Population:
        records = tuple(Records(item.kind, item.variables, item.free) for item in self.records)
        nested = tuple(Nested(item.fine, item.coarse, item.up, item.down) for item in self.nested)
        limits = tuple(Limit(item.counts, item.by, item.at_least, item.at_most) for item in self.limits)
        return Population(self.name, self.part_of, records, self.determines, nested, limits)


class _Invariant(Part):
    function: str | None = None
    counts: str | None = None
    by: Texts = ()
    at_least: StrictInt | None = None
    sums: str | None = None
    cells: Texts = ()
    rows: tuple[tuple[FractionField, ...], ...] = ()
    everything: str | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> "_Invariant":
        kinds = (self.function, self.counts, self.sums, self.everything)
        if sum(kind is not None for kind in kinds) != 1:
            raise rule("needs a name, or one of the keys 'counts', 'sums', 'everything'")
        if any(len(row) != len(self.cells) for row in self.rows):
            raise rule(f"rows: every row needs {len(self.cells)} numbers, one per cell")
        if self.counts is not None and self.at_least is not None and self.at_least < 1:
            raise rule(f"at_least = {self.at_least}: must be at least 1, as any count is at least 0")
        return self

    def build(self) -> Invariant:
        if self.counts is not None:
            fixes = Fixes.COUNTS if self.at_least is None else Fixes.AT_LEAST
            return Invariant(fixes, self.counts, self.by, self.at_least or 1)
        if self.sums is not None:
            fixes = Fixes.LINEAR if self.at_least is None else Fixes.INEQUALITY
            return Invariant(fixes, self.sums, self.cells, self.at_least or 0, self.rows)
        if self.everything is not None:
            return Invariant(Fixes.EVERYTHING, self.everything)
        return Invariant(Fixes.FUNCTION, self.function or "")


class _Change(Part):
    distance: Distance = Distance.EXCHANGE
    unit: str = Field(default="answer", min_length=1, pattern=r"\S")


class StatedBudget(Part):
    """A budget in the measure of a guarantee."""

    epsilon: AmountField = None
    delta: AmountField = None
    rho_squared: AmountField = None


def _keyed(key: str) -> BeforeValidator:
    """A text in place of an object is its name."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


class _Guarantee(Part):
    version: object = Field(None, alias="schema")
    mechanism: str
    statement: str = ""
    epsilon: AmountField = None
    delta: AmountField = None
    rho_squared: AmountField = None
    invariants: tuple[Annotated[_Invariant, _keyed("function")], ...] = ()
    population: Annotated[_Population, _keyed("name")] = _Population()
    change: _Change = _Change()
    measure: Measure | None = None
    budget: StatedBudget | None = None
    varies: str = ""
    rule: str = "stated"
    premises: tuple["_Guarantee", ...] = ()
    remarks: Texts = ()
    count: AmountField = None
    choice: AmountField = None
    rate: Annotated[Any, PlainValidator(_rate)] = None

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: object) -> object:
        """A key with null says as much as no key; only `budget` = null says that the budget is not known."""
        if not isinstance(value, Mapping):
            return value
        stated = {key: item for key, item in value.items() if item is not None or key == "budget"}
        if "rho" in stated and "rho_squared" not in stated:  # as version 0.1.0 wrote it
            stated["rho_squared"] = stated.pop("rho")
        return stated

    @property
    def kind(self) -> Measure:
        """The measure that is stated; without one, epsilon at a delta is approximate and epsilon alone is pure."""
        return self.measure or (Measure.APPROXIMATE if self.delta else Measure.PURE)

    @property
    def stated(self) -> StatedBudget | None:
        """The budget; short forms have `epsilon` and `delta` beside the other keys instead."""
        if self.kind is Measure.NONE or "budget" in self.model_fields_set:
            return None if self.kind is Measure.NONE else self.budget
        return None if self.epsilon is None else StatedBudget(epsilon=self.epsilon, delta=self.delta or 0)

    @model_validator(mode="after")
    def _one_budget(self) -> "_Guarantee":
        budget, zcdp = self.stated, self.kind is Measure.ZCDP
        if budget is None:
            return self
        wanted = "rho_squared" if zcdp else "epsilon"
        amount = getattr(budget, wanted)
        if amount is None:
            raise rule(f"budget: a {self.kind} guarantee needs {wanted!r}")
        delta = float(budget.delta or 0)
        # A short form without delta means 0; a stated delta of 0 beside an approximate measure is allowed.
        has_delta = budget.delta is not None and bool(delta or self.budget is not None)
        if not 0 <= delta < 1 or (not has_delta if self.kind is Measure.APPROXIMATE else delta):
            raise rule(f"budget.delta = {delta:g}: only approximate guarantees have one, in (0, 1)")
        beside = self.rho_squared if zcdp else self.epsilon
        if beside is not None and not math.isclose(float(beside), float(amount), rel_tol=1e-9):
            raise rule(f"budget.{wanted} = {_number(amount)}: another number ({_number(beside)}) stands beside it")
        return self

    def build(self) -> Guarantee:
        budget = self.stated
        amount = None if budget is None else budget.rho_squared if self.kind is Measure.ZCDP else budget.epsilon
        return Guarantee(
            mechanism=self.mechanism,
            statement=self.statement,
            budget=amount,
            invariants=tuple(item.build() for item in self.invariants),
            population=self.population.build(),
            change=Change(self.change.distance, self.change.unit),
            measure=self.kind,
            delta=0.0 if budget is None else float(budget.delta or 0),
            varies=self.varies,
            rule=self.rule,
            premises=tuple(item.build() for item in self.premises),
            remarks=self.remarks,
            count=None if self.count is None else float(self.count),
            choice=None if self.choice is None else float(self.choice),
            rate=self.rate,
        )


def guarantee_from(value: object, where: str) -> Guarantee:
    """A guarantee from JSON; `where` begins every message."""
    return validated(_Guarantee, value, where).build()


def read_guarantee(path: Path | str) -> Guarantee:
    """The guarantee in a file: one of its own, or the only one of a release's manifest; none if it has no noise."""
    path = Path(path)
    value = read_json(path)
    if not isinstance(value, dict):
        return guarantee_from(value, str(path))
    listed, files = value.get("guarantees"), value.get("files")
    if isinstance(listed, list) and "mechanism" not in value:
        if not listed and {"files", "rule"} <= set(value):
            published = Invariant(Fixes.FUNCTION, "every published count")
            return Guarantee("counts without noise", NO_NOISE, None, (published,), measure=Measure.NONE)
        if len(listed) != 1:
            raise InputError(f"{path}: holds {len(listed)} guarantees; write the one you mean to a file")
        return guarantee_from(listed[0], str(path))
    if isinstance(value.get("guarantee"), dict):
        return guarantee_from(value["guarantee"], str(path))
    if isinstance(files, dict) and GUARANTEE_FILE in files and path.name != GUARANTEE_FILE:
        return read_guarantee(path.with_name(GUARANTEE_FILE))  # a manifest that has the guarantee beside it
    return guarantee_from(value, str(path))


def document(guarantee: Guarantee) -> dict[str, object]:
    """One guarantee with everything it rests on. Rational budgets are written as fractions, so nothing is rounded."""
    entry: dict[str, object] = {
        "mechanism": guarantee.mechanism,
        "statement": guarantee.statement,
        "epsilon": None if guarantee.epsilon is None else _number(guarantee.epsilon),
        "delta": guarantee.delta,
        "rho_squared": None if guarantee.rho_squared is None else _number(float(guarantee.rho_squared)),
        "invariants": [_invariant(item) for item in guarantee.invariants],
        "population": _population(guarantee.population),
        "change": {"distance": str(guarantee.change.distance), "unit": guarantee.change.unit},
        "measure": str(guarantee.measure),
        "budget": _budget(guarantee),
        "rule": guarantee.rule,
    }
    optional = {
        "count": guarantee.count,
        "choice": guarantee.choice,
        "rate": None if guarantee.rate is None else str(guarantee.rate),
        "varies": guarantee.varies or None,
        "remarks": list(guarantee.remarks) or None,
        "premises": [document(item) for item in guarantee.premises] or None,
    }
    return entry | {key: value for key, value in optional.items() if value is not None}


def guarantee_text(guarantee: Guarantee) -> str:
    """One guarantee as the text of a file of its own."""
    return json.dumps({"schema": 1, **document(guarantee)}, indent=2, ensure_ascii=False) + "\n"


def _budget(guarantee: Guarantee) -> dict[str, object] | None:
    if guarantee.budget is None:
        return None
    amount = _number(guarantee.budget)
    if guarantee.measure is Measure.ZCDP:
        return {"rho_squared": amount}
    return {"epsilon": amount, **({"delta": guarantee.delta} if guarantee.measure is Measure.APPROXIMATE else {})}


def _number(amount: Amount) -> float | str:
    if isinstance(amount, Fraction):
        return str(amount)
    return amount if math.isfinite(amount) else "infinite"


def _invariant(invariant: Invariant) -> object:
    by = list(invariant.by)
    match invariant.fixes:
        case Fixes.COUNTS:
            return {"counts": invariant.of, "by": by}
        case Fixes.AT_LEAST:
            return {"counts": invariant.of, "by": by, "at_least": invariant.least}
        case Fixes.LINEAR | Fixes.INEQUALITY:
            sums = {"sums": invariant.of, "cells": by, "rows": [list(map(str, row)) for row in invariant.rows]}
            return sums | ({} if invariant.fixes is Fixes.LINEAR else {"at_least": invariant.least})
        case Fixes.EVERYTHING:
            return {"everything": invariant.of}
    return invariant.of


def _population(population: Population) -> object:
    entry = {
        "part_of": list(population.part_of),
        "records": [{"kind": r.kind, "variables": list(r.variables), "free": r.free} for r in population.records],
        "determines": [list(pair) for pair in population.determines],
        "limits": [
            {"counts": x.of, "by": list(x.by), "at_least": x.least} | ({} if x.most is None else {"at_most": x.most})
            for x in population.limits
        ],
        "nested": [{"fine": n.fine, "coarse": n.coarse, "up": n.up, "down": n.down} for n in population.nested],
    }
    known = {key: value for key, value in entry.items() if value}
    return {"name": population.name, **known} if known else population.name

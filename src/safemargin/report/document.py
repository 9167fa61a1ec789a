"""Values as plain JSON documents: the shapes that other programs rely on (`docs/files.md`)."""

import gc
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, TypedDict, TypeVar

import numpy as np

from safemargin.model.arrays import BoolArray, FloatArray, IntArray
from safemargin.model.exposure import METHODS, Cells, Exposure
from safemargin.model.fiber import QUANTILES, Fiber
from safemargin.model.findings import Attempt, Findings
from safemargin.model.guarantee_file import document as guarantee_document
from safemargin.model.plan import Plan
from safemargin.model.possible import Possible
from safemargin.model.release import Release
from safemargin.model.target import VERDICTS, Target
from safemargin.report.groups import Orders, decided_groups, decision_label
from safemargin.report.words import fiber_words

SCHEMA = 1
"""Version of the documents; a change of meaning raises it."""

UNNAMED_COUNT = "count"
"""Key of a group's only count where the tables have no options."""

Document = dict[str, Any]
T = TypeVar("T")


def finite(value: float) -> float | str:
    """A number, or the word for what JSON has no number for."""
    return "infinite" if math.isinf(value) else value


class Named(TypedDict, total=False):
    """The option of an entry, absent where the tables have none; `attained` where an interval has gaps."""

    option: str
    attained: list[int]


class CellEntry(Named):
    """One cell and option in a document. `interval`, `t` and `fitted` are rates, and null where nobody is known."""

    cell: dict[str, str]
    people: int | None
    lower: int
    upper: int
    width: int
    interval: list[float] | None
    t: float | None
    fitted: float | None
    proved: str
    method: str
    verdict: str


Values = tuple[
    dict[str, str], Named, int | None, int, int, list[float] | None, float | None, float | None, str, str, str
]


def exposure_document(exposure: Exposure, target: Target) -> Document:
    """What one onlooker can infer about every cell."""
    return {
        "schema": SCHEMA,
        "cells": entries(exposure, target),
        "verdicts": exposure.tallied(target),
        "fiber": _fiber(exposure.fiber or Fiber(None, None)),
        "onlooker": exposure.onlooker.describe(exposure.cells.axes),
        "target": asdict(target),
    }


def findings_document(findings: Findings) -> Document:
    """The exposure that a release leaves, and what every attack got out of it."""
    return {
        **exposure_document(findings.exposure, findings.target),
        "attacks": [_attack(attempt) for attempt in findings.attempts],
        "safe": findings.is_safe,
    }


def possible_document(possible: Possible) -> Document:
    """The tables that one onlooker cannot rule out; what is not known is null."""
    drawn = possible.drawn
    return {
        "schema": SCHEMA,
        **_fiber(possible.fiber),
        "at_least": possible.fiber.reached,
        "method": possible.fiber.method,
        "words": fiber_words(possible.fiber),
        "cells": list(possible_entries(possible)),
        "sample": None if drawn is None else {"law": drawn.law, "tables": drawn.tables, "seed": drawn.seed},
        "onlooker": possible.onlooker.describe(possible.cells.axes),
    }


def possible_entries(possible: Possible) -> Iterator[Document]:
    """One entry per cell and option: the values that occur, and what random tables hold."""
    count = max(len(possible.options), 1)
    drawn, attained = possible.drawn, possible.fiber.attained
    for place in range(len(possible.cells) * count):
        row, option = divmod(place, count)
        entry: Document = {"cell": possible.cells.cell(row)}
        if possible.options:
            entry["option"] = possible.options[option]
        entry["people"] = None if possible.people is None else int(possible.people[row])
        entry["attained"] = None if attained is None else list(attained[place])
        if drawn is not None:
            entry["mean"], entry["error"] = float(drawn.mean[place]), float(drawn.error[place])
            entry["quantiles"] = dict(zip(map(str, QUANTILES), drawn.quantiles[place].tolist(), strict=True))
        yield entry


def _fiber(fiber: Fiber) -> Document:
    return {"dimension": fiber.dimension, "tables": fiber.tables}


def release_document(
    plan: Plan, release: Release, published: Sequence[str], certificate_file: str, *, orders: Orders | None = None
) -> Document:
    """What is published, what was done with every group and why. It holds reasons, so it stays inside."""
    return {
        "schema": SCHEMA,
        "certified": plan.certificate.certified,
        "published": list(published),
        "cells": [
            {
                "cell": group.cell,
                "people": group.people,
                "action": str(group.action),
                "reason": group.reason,
                "counts": {option or UNNAMED_COUNT: count for option, count in group.counts.items()},
            }
            for group in decided_groups(plan, release, orders)
        ],
        "certificate": certificate_file,
        "refused": [{**asdict(refusal), "words": str(refusal)} for refusal in plan.refusals],
        "guarantees": [guarantee_document(guarantee) for guarantee in plan.guarantees],
        "irregular": [
            f"{decision.axis} {decision_label(decision, orders or {})}".strip() for decision in plan.irregular
        ],
        "exposed_people": plan.exposed_people,
        "notes": list(plan.notes),
    }


def entries(exposure: Exposure, target: Target, picked: IntArray | None = None) -> list[CellEntry]:
    """One entry per cell and option; `picked` chooses positions in the flattened matrix of both.

    The options of a cell share the dictionary of its labels.
    """
    flat = np.arange(exposure.lower.size) if picked is None else picked
    with _collector_resting():
        found: list[CellEntry] = [
            {
                "cell": cell,
                **named,
                "people": people,
                "lower": lower,
                "upper": upper,
                "width": upper - lower,
                "interval": interval,
                "t": distance,
                "fitted": fitted,
                "proved": proved,
                "method": method,
                "verdict": verdict,
            }
            for cell, named, people, lower, upper, interval, distance, fitted, proved, method, verdict in _columns(
                exposure, target, flat
            )
        ]
        if exposure.fiber is not None and exposure.fiber.gaps:
            for entry, place in zip(found, flat.tolist(), strict=True):
                if (values := exposure.fiber.gap(place)) is not None:
                    entry["attained"] = list(values)
        return found


@contextmanager
def _collector_resting() -> Iterator[None]:
    """Without the search for cycles: a document has none, and searching its millions of parts doubles the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _columns(exposure: Exposure, target: Target, flat: IntArray) -> Iterable[Values]:
    """The values of every entry, made column by column: numpy scalars would take seconds."""
    row, column = np.divmod(flat, exposure.lower.shape[1])
    lower, upper = exposure.lower.ravel()[flat], exposure.upper.ravel()[flat]
    size = np.zeros(len(flat), dtype=np.int64) if exposure.people is None else exposure.people[row]
    known, divisor = size > 0, np.maximum(size, 1)
    low, high = lower / divisor, upper / divisor
    names: list[Named] = [{"option": option} for option in exposure.options] or [{}]
    verdicts = exposure.verdicts(target).ravel()[flat]
    return zip(
        _labels(exposure.cells, row),
        _looked_up(names, column),
        [None] * len(flat) if exposure.people is None else size.tolist(),
        lower.tolist(),
        upper.tolist(),
        _where(known, np.stack([low, high], axis=1)),
        _where(known, _distances(exposure, low, high, column)),
        [None] * len(flat) if exposure.fitted is None else _where(known, exposure.fitted.ravel()[flat] / divisor),
        _looked_up(("linear", "integer"), exposure.integer.ravel()[flat].astype(np.int64)),
        _looked_up(METHODS, exposure.method.ravel()[flat]),
        _looked_up([str(verdict) for verdict in VERDICTS], verdicts),
        strict=True,
    )


def _distances(exposure: Exposure, low: FloatArray, high: FloatArray, column: IntArray) -> FloatArray | None:
    """How far the interval reaches from the option's share of everybody: `t` of t-closeness."""
    everybody = exposure.population or sum(exposure.totals)
    if not everybody or len(exposure.totals) < exposure.lower.shape[1]:
        return None
    share = (np.array(exposure.totals) / everybody)[column]
    return np.maximum(np.abs(low - share), np.abs(high - share))


def _labels(cells: Cells, rows: IntArray) -> list[dict[str, str]]:
    """The labels of the cells in `rows`."""
    wanted, place = np.unique(rows, return_inverse=True)
    texts = [np.array(names, dtype=object)[cells.codes[wanted, a]].tolist() for a, names in enumerate(cells.categories)]
    labels = [dict(zip(cells.axes, values, strict=True)) for values in zip(*texts, strict=True)]
    return _looked_up(labels or [{} for _ in wanted], place)


def _looked_up(values: Sequence[T], codes: IntArray) -> list[T]:
    return list(map(values.__getitem__, codes.tolist()))


def _where(known: BoolArray, values: FloatArray | None) -> list[Any]:
    """The rows of `values` as lists or floats, and none where they mean nothing."""
    if values is None:
        return [None] * len(known)
    rows = values.tolist()
    return (
        rows if known.all() else [row if is_known else None for row, is_known in zip(rows, known.tolist(), strict=True)]
    )


def _attack(attempt: Attempt) -> Document:
    return {
        "attack": attempt.attack,
        "summary": attempt.summary,
        "looked_at": attempt.looked_at,
        "people_exposed": attempt.people_exposed,
        "findings": [
            {
                "cell": dict(finding.cell),
                "option": finding.option,
                "people": finding.people,
                "lower": finding.lower,
                "upper": finding.upper,
                "words": finding.words,
            }
            for finding in attempt.findings
        ],
    }

"""Exposures as JSON documents, sentences, terminal tables and CSV."""

import csv
import gc
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypedDict, TypeVar

import numpy as np
from rich.console import Console
from rich.table import Table as TextTable
from rich.text import Text

from safemargin.bounds.exposure import METHODS, Exposure, Fiber, TargetCells
from safemargin.core import VERDICTS, BoolArray, FloatArray, InputError, IntArray, Target
from safemargin.ui import (
    SCHEMA,
    Document,
    Result,
    cell_label,
    chip,
    count_range,
    describe_onlooker,
    header,
    joined,
    list_values,
    paragraphs,
    percent_range,
    plural,
    render_page,
    say,
    section,
    table,
    text_table,
)

SORTS = ("verdict", "width", "people", "cell")
"""`verdict`: the disclosed first, then the narrowest; `width`: the narrowest; `people`: the smallest; `cell`: as is.

Of intervals equally narrow, those come first in which an analyst's guess is closest to a limit.
"""


def ranked(exposure: Exposure, target: Target, limit: int, sort: str = "verdict") -> IntArray:
    """The first `limit` intervals, as positions in the flattened matrix of cells and options."""
    if sort not in SORTS:
        raise InputError(f"sort {sort!r}: must be one of {', '.join(SORTS)}")
    size = exposure.lower.size
    columns = exposure.lower.shape[1]
    people = np.zeros(size, dtype=np.int64) if exposure.people is None else np.repeat(exposure.people, columns)
    narrowness, order = _relative_width(exposure, people), np.arange(size)
    ties = (order, -people, _room(exposure, target, people))
    keys: dict[str, tuple[IntArray | FloatArray, ...]] = {
        "verdict": (*ties, narrowness, -exposure.verdicts(target).ravel()),
        "width": (*ties, narrowness),
        "people": (order, narrowness, people),
        "cell": (order,),
    }
    return np.lexsort(keys[sort])[: max(limit, 0)].astype(np.int64)


def _relative_width(exposure: Exposure, people: IntArray) -> FloatArray:
    width = exposure.width.ravel().astype(np.float64)
    return width / np.maximum(people, 1) if exposure.people is not None else width


def _room(exposure: Exposure, target: Target, people: IntArray) -> FloatArray:
    """How far the rate that an analyst would guess is from the nearest limit; no difference without a guess."""
    if exposure.fitted is None:
        return np.zeros(len(people))
    limits, cells = exposure.limits(target), len(exposure.cells)
    rates = exposure.fitted.ravel() / np.maximum(people, 1)
    floors, ceilings = (np.tile([float(rate) for rate in end], cells) for end in (limits.floors, limits.ceilings))
    # Rounded: two options of a cell have the same room, and the last bits must not decide which is listed first.
    room: FloatArray = np.round(np.minimum(rates - floors, ceilings - rates), 9)
    return room


T = TypeVar("T")


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
        "fiber": fiber_document(exposure.fiber or Fiber(None, None)),
        "onlooker": exposure.onlooker.describe(exposure.cells.axes),
        "target": asdict(target),
    }


def fiber_document(fiber: Fiber) -> Document:
    return {"dimension": fiber.dimension, "tables": fiber.tables}


def entries(exposure: Exposure, target: Target, picked: IntArray | None = None) -> list[CellEntry]:
    """One entry per cell and option; `picked` chooses positions in the flattened matrix of both.

    The options of a cell share the dictionary of its labels.
    """
    flat = np.arange(exposure.lower.size) if picked is None else picked
    with _collector_resting():
        documents: list[CellEntry] = [
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
            for entry, index in zip(documents, flat.tolist(), strict=True):
                if (values := exposure.fiber.gap(index)) is not None:
                    entry["attained"] = list(values)
        return documents


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


def _labels(cells: TargetCells, rows: IntArray) -> list[dict[str, str]]:
    """The labels of the cells in `rows`."""
    wanted, row_of = np.unique(rows, return_inverse=True)
    texts = [np.array(names, dtype=object)[cells.codes[wanted, a]].tolist() for a, names in enumerate(cells.categories)]
    labels = [dict(zip(cells.axes, values, strict=True)) for values in zip(*texts, strict=True)]
    return _looked_up(labels or [{} for _ in wanted], row_of)


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


UNSETTLED = "Not every interval was settled: some may really be narrower than shown."


def fiber_words(fiber: Fiber) -> str:
    """How many tables there are, as far as that is known.

    >>> fiber_words(Fiber(9, 1234)), fiber_words(Fiber(9, None, 1_000)), fiber_words(Fiber(0, 0))
    ('1,234 tables are possible', 'at least 1,000 tables are possible', 'no integer table is possible')
    """
    if fiber.tables is None:
        return f"at least {fiber.reached:,} tables are possible" if fiber.reached else "the tables were not counted"
    if fiber.tables < 2:
        return f"{'only one' if fiber.tables else 'no'} integer table is possible"
    return f"{fiber.tables:,} tables are possible"


def gap_words(exposure: Exposure) -> str:
    """What the possible tables show beyond the intervals: that there is but one, or gaps in them."""
    fiber = exposure.fiber
    if fiber is None:
        return ""
    if fiber.tables == 1 and fiber.dimension:
        return f"{fiber_words(fiber).capitalize()}."
    if not fiber.gaps:
        return ""
    index, more = fiber.gaps[0], len(fiber.gaps) - 1
    row, option = divmod(index, exposure.lower.shape[1])
    name = cell_label(exposure.cells.cell(row)) + (f", {exposure.options[option]}" if exposure.options else "")
    others = f", and {plural(more, 'more gap')}" if more else ""
    values = list_values(fiber.gap(index) or ())
    return f"Not every count in an interval is possible: {name} is one of {values}{others}."


def tally_words(tally: Mapping[str, int]) -> str:
    """Counts of verdicts, the worst first."""
    return ", ".join(f"{count:,} {verdict}" for verdict, count in reversed(list(tally.items())))


VERDICT_STYLES = {"contained": "green", "open": "yellow", "disclosed": "bold red"}


ROOMY = 110
"""Narrower terminals omit the columns that repeat others: the width and the method."""


def show_exposure(console: Console, exposure: Exposure, target: Target, limit: int = 30, sort: str = "verdict") -> None:
    """The cells that disclose most, with the intervals that an onlooker can confine them to."""
    say(console, f"{exposure.onlooker.name}: {describe_onlooker(exposure.onlooker, exposure.cells.axes)}.")
    say(console, f"{plural(exposure.lower.size, 'interval')}: {tally_words(exposure.tallied(target))}.")
    if not exposure.complete:
        say(console, UNSETTLED, "yellow")
    say_gaps(console, exposure)
    rows = entries(exposure, target, ranked(exposure, target, limit, sort))
    console.print()
    console.print(cell_table(rows, exposure, console.width >= ROOMY))
    if (left := exposure.lower.size - len(rows)) > 0:
        say(console, f"{left:,} more are not shown.", "dim")


def say_gaps(console: Console, exposure: Exposure) -> None:
    """One line where the possible tables show more than the intervals."""
    if sentence := gap_words(exposure):
        say(console, sentence, "yellow")


def cell_table(rows: Sequence[CellEntry], exposure: Exposure, roomy: bool) -> TextTable:
    head = f"cell ({', '.join(exposure.cells.axes)})" if exposure.cells.axes else "cell"
    text = text_table([head, *(["option"] if exposure.options else [])], space=1)
    numbers = ["people", "interval", "rates", *(["width"] if roomy else []), "t"]
    for name in numbers:
        text.add_column(name, justify="right", no_wrap=True)
    for name in ["verdict", *(["method"] if roomy else [])]:
        text.add_column(name, no_wrap=True)
    for row in rows:
        values = [cell_label(row["cell"]), *([row["option"]] if "option" in row else [])]
        values += ["-" if row["people"] is None else f"{row['people']:,}"]
        values += [count_range(row["lower"], row["upper"]), percent_range(row["interval"])]
        values += [f"{row['width']:,}"] if roomy else []
        values += ["-" if row["t"] is None else f"{row['t']:.2f}"]
        verdict = Text(row["verdict"], style=VERDICT_STYLES[row["verdict"]])
        text.add_row(*map(Text, values), verdict, *([Text(row["method"])] if roomy else []))
    return text


def cell_rows(exposure: Exposure, target: Target) -> list[dict[str, Any]]:
    """One flat row per cell and option, in the order they were computed."""
    rows = []
    for entry in entries(exposure, target):
        low, high = entry["interval"] or (None, None)
        plain = {name: value for name, value in entry.items() if name not in ("cell", "interval", "attained")}
        rows.append({**entry["cell"], **plain, "share_low": low, "share_high": high})
    return rows


def cells_csv(exposure: Exposure, target: Target) -> str:
    """All cells as one CSV text."""
    rows, text = cell_rows(exposure, target), io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@dataclass(frozen=True)
class Bounds(Result):
    """What `bound` found: the intervals, and the target they are judged by."""

    exposure: Exposure
    target: Target

    @property
    def disclosed(self) -> int:
        """How many intervals miss the target."""
        return self.exposure.tallied(self.target)["disclosed"]

    def to_json(self) -> Document:
        """The document of `bound --json`."""
        return exposure_document(self.exposure, self.target)

    def to_csv(self) -> str:
        """All cells as one CSV text, for a spreadsheet."""
        return cells_csv(self.exposure, self.target)

    def to_frame(self) -> Any:
        """All cells as a DataFrame of pandas or else polars; as rows where neither is installed."""
        rows = cell_rows(self.exposure, self.target)
        for library in ("pandas", "polars"):
            if find_spec(library):
                return import_module(library).DataFrame(rows)
        return rows

    def show(self, console: Console, limit: int = 30, sort: str = "verdict") -> None:
        """Print the cells that disclose most."""
        show_exposure(console, self.exposure, self.target, limit, sort)

    def to_html(self) -> str:
        """The tally of verdicts and all cells, the most revealing first."""
        exposure, target = self.exposure, self.target
        rows = entries(exposure, target, ranked(exposure, target, exposure.lower.size))
        columns = ("cell", *(("option",) if exposure.options else ()), "people", "interval", "rates", "verdict")
        cells = [
            (
                cell_label(row["cell"]),
                *((row["option"],) if exposure.options else ()),
                "-" if row["people"] is None else f"{row['people']:,}",
                count_range(row["lower"], row["upper"]),
                percent_range(row["interval"]),
                chip(row["verdict"]),
            )
            for row in rows
        ]
        notes = [f"{plural(exposure.lower.size, 'interval')}: {tally_words(exposure.tallied(target))}."]
        notes += ["" if exposure.complete else UNSETTLED, gap_words(exposure)]
        head = header("What can be inferred", describe_onlooker(exposure.onlooker, exposure.cells.axes))
        body = [section("Summary", paragraphs(*notes)), section("Cells", table(columns, cells, ("people", "interval")))]
        return render_page("What can be inferred", head, joined(body))

"""Exposures as JSON documents, sentences, terminal tables and CSV.

Objects
    entry       one cell and option of a document (`CellEntry`), in the order of the exposure
    t           how far the share of a cell may lie from that of everybody (the t of t-closeness)
    ranked      cells in the order of a reader: disclosed ones first, then by how narrow their interval is

What callers may rely on: documents have the shape of docs/json.md (schema 1, one entry per cell and option); shares are
`null` where nobody is known to be in a cell; words say "at most" where an interval may be too wide. Nothing here
changes an interval or a verdict.

Documents of millions of entries are made column by column in numpy and turned into Python values once per column;
entry by entry it would take ten times as long.
"""

import csv
import gc
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypedDict, TypeVar

import numpy as np

from safemargin.bounds.exposure import METHODS, CellIndex, Exposure, Fiber, ranked
from safemargin.core import UNBOUNDED, VERDICTS, BoolArray, FloatArray, IntArray, Target
from safemargin.ui import (
    SCHEMA,
    Bar,
    Bars,
    Document,
    Fold,
    Grid,
    Paragraph,
    Part,
    Section,
    Tag,
    cell_label,
    count_range,
    describe_onlooker,
    kind_words,
    list_values,
    percent,
    percent_range,
    plural,
)

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
    """What one onlooker can infer about every cell: the document of `bound --json`, whose shape docs/json.md states."""
    return {
        "schema": SCHEMA,
        "cells": entries(exposure, target),
        "verdicts": exposure.tallied(target),
        "classical": classical(exposure),
        "fiber": fiber_document(exposure.fiber or Fiber(None, None)),
        "onlooker": exposure.onlooker.describe(exposure.cells.axes),
        "target": target.stated(),
    }


def fiber_document(fiber: Fiber) -> Document:
    """How many tables are possible, and in how many dimensions; `null` where that is not known.

    >>> fiber_document(Fiber(1, 9))
    {'dimension': 1, 'tables': 9}
    """
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


def _labels(cells: CellIndex, rows: IntArray) -> list[dict[str, str]]:
    """The labels of the cells in `rows`."""
    wanted, row_of = np.unique(rows, return_inverse=True)
    texts = [np.array(names, dtype=object)[cells.codes[wanted, a]].tolist() for a, names in enumerate(cells.categories)]
    labels = [dict(zip(cells.axes, values, strict=True)) for values in zip(*texts, strict=True)]
    return _looked_up(labels or [{} for _ in wanted], row_of)


def _looked_up(values: Sequence[T], codes: IntArray) -> list[T]:
    """The value of every code, as a list: codes are places in `values`."""
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


def classical(exposure: Exposure) -> Document | None:
    """k-anonymity, l-diversity and t-closeness, as conditions on sizes and intervals of cells (Remark 6 of the paper).

    `k` is the smallest number of people of a cell, `l` the smallest number of options that are possible in one, `t` how
    far an interval reaches from the share of everybody (Prop. 4); none where people or totals are not known. They are
    `sharp` if whole tables attain the ends of every interval; else `l` and `t` may be smaller.
    """
    if exposure.people is None or not (occupied := exposure.people > 0).any():
        return None
    size = exposure.people[occupied][:, None]
    flat = np.tile(np.arange(exposure.lower.shape[1]), int(occupied.sum()))
    low, high = (exposure.lower[occupied] / size).ravel(), (exposure.upper[occupied] / size).ravel()
    far = _distances(exposure, low, high, flat)
    possible = (exposure.upper[occupied] > 0).sum(axis=1)
    if exposure.lower.shape[1] == 1:  # the other answer is not to be counted
        possible = possible + (exposure.lower[occupied] < size)[:, 0]
    return {
        "k": int(size.min()),
        "l": int(possible.min()),
        "t": None if far is None else float(far.max()),
        "sharp": bool(exposure.integer[occupied].all()),
    }


def classical_words(exposure: Exposure) -> str:
    """The same in words; nothing where it is not known."""
    found = classical(exposure)
    if found is None:
        return ""
    most = "" if found["sharp"] else "at most "
    near = "" if found["t"] is None else f", t-closeness {most}{found['t']:.3g}"
    return f"Over all cells: k-anonymity {found['k']:,}, l-diversity {most}{found['l']:,}{near}."


def tally_words(tally: Mapping[str, int]) -> str:
    """Counts of verdicts, the worst first."""
    return ", ".join(f"{count:,} {kind_words(verdict)}" for verdict, count in reversed(list(tally.items())))


def exposure_parts(
    exposure: Exposure, target: Target, limit: int = 30, sort: str = "verdict", printed: BoolArray | None = None
) -> list[Part]:
    """The cells that disclose most, with the intervals that an onlooker can confine them to.

    Cells that are `printed` are read, not inferred: where they are named, they are neither counted nor listed.
    """
    places, count, tally = ranked(exposure, target, limit, sort), exposure.lower.size, exposure.tallied(target)
    if printed is not None and printed.any():
        options = count // max(len(exposure.cells), 1)
        every = ranked(exposure, target, count, sort)
        places, count = every[~printed[every // options]][:limit], int((~printed).sum()) * options
        left = exposure.verdicts(target)[~printed]
        tally = {str(verdict): int((left == code).sum()) for code, verdict in enumerate(VERDICTS)}
    rows = entries(exposure, target, places)
    return [
        f"{exposure.onlooker.name}: {describe_onlooker(exposure.onlooker, exposure.cells.axes)}.",
        f"{plural(count, 'interval')}: {tally_words(tally)}. {classical_words(exposure)}".rstrip(),
        Paragraph("" if exposure.complete else UNSETTLED, "warning"),
        Paragraph(gap_words(exposure), "warning"),
        cell_grid(rows, exposure, count),
    ]


def cell_grid(rows: Sequence[CellEntry], exposure: Exposure, total: int | None = None) -> Grid:
    """One row per cell and option, of so many in `total`."""
    head = f"cell ({', '.join(exposure.cells.axes)})" if exposure.cells.axes else "cell"
    option = ["option"] if exposure.options else []
    columns = [head, *option, "people", "interval", "rates", "width", "t", "verdict", "method"]
    cells = [
        [
            cell_label(row["cell"]),
            *([row["option"]] if "option" in row else []),
            "-" if row["people"] is None else row["people"],
            count_range(row["lower"], row["upper"]),
            percent_range(row["interval"]),
            row["width"],
            "-" if row["t"] is None else f"{row['t']:.2f}",
            Tag(row["verdict"]),
            row["method"],
        ]
        for row in rows
    ]
    every = exposure.lower.size if total is None else total
    return Grid(columns, cells, total=every, roomy=("width", "method"), sortable=True)


MOST_BARS, OPEN_BARS = 40, 12
"""Intervals that are drawn, and those of them that are open."""
TICKS = 4


def closest_calls(exposure: Exposure, target: Target, printed: BoolArray | None = None) -> Section | None:
    """The intervals that are most revealing as bars, with the limits and the share that an analyst would guess.

    Cells that are `printed` are read, not inferred.
    """
    options = exposure.lower.size // max(len(exposure.cells), 1)
    places = ranked(exposure, target, MOST_BARS if printed is None else exposure.lower.size)
    places = places if printed is None else places[~printed[places // options]][:MOST_BARS]
    count = exposure.lower.size if printed is None else int((~printed).sum()) * options
    rows = entries(exposure, target, places)
    if not rows or not exposure.cells.axes:
        return None
    known = all(row["interval"] is not None for row in rows)
    end = 1.0 if known else float(max([1, *(row["upper"] for row in rows if row["upper"] < UNBOUNDED)]))
    ticks = TICKS if known else max(n for n in range(1, TICKS + 1) if end % n == 0)  # ticks at integers
    ends = [percent(t / ticks) if known else f"{round(end * t / ticks):,}" for t in range(ticks + 1)]
    intro = f"The {len(rows)} most revealing of {plural(count, 'interval')}. "
    intro += "A share outside its bar contradicts the published data."
    intro += "" if exposure.people is None else " The lines are the limits of the target."
    intro += "" if exposure.fitted is None else " The dot is the share that an analyst would guess."
    caption = f"What the onlooker {exposure.onlooker.name} can infer ({', '.join(exposure.cells.axes)})"
    bars = [_bar(row, exposure, target, end if not known else None) for row in rows]
    what, kinds = "share of the people in the cell" if known else "people", [str(verdict) for verdict in VERDICTS]

    if known and all(row["people"] and (row["lower"], row["upper"]) == (0, row["people"]) for row in rows):
        nothing = f"No interval excludes anything: of {plural(count, 'interval')} each reaches from nobody to everybody"
        return Section("Closest calls", f"{nothing} in its cell, so every share is possible.")

    def drawn(words: str, some: list[Bar]) -> Bars:
        return Bars(words, some, ends, what, kinds)

    return Section(
        "Closest calls",
        intro,
        Paragraph("" if exposure.complete else UNSETTLED, "warning"),
        drawn(caption, bars[:OPEN_BARS]),
        Fold(f"The next {len(bars) - OPEN_BARS:,}", drawn(f"{caption}, continued", bars[OPEN_BARS:]))
        if len(bars) > OPEN_BARS
        else None,
    )


def _bar(row: CellEntry, exposure: Exposure, target: Target, end: float | None) -> Bar:
    """An interval of shares; where `end` is given, one of counts on a scale up to it."""
    people = "" if row["people"] is None else f" of {row['people']:,}"
    text = f"{row['option']}: " if "option" in row else ""
    text += f"{count_range(row['lower'], row['upper'])}{people}"
    label, verdict = cell_label(row["cell"]), row["verdict"]
    if end is not None:
        return Bar(label, row["lower"] / end, min(row["upper"] / end, 1.0), text, verdict)
    option = exposure.options.index(row["option"]) if "option" in row else 0
    limits = exposure.limits(target)
    marks = max(float(limits.floors[option]), 0.0), min(float(limits.ceilings[option]), 1.0)
    low, high = row["interval"] or (0.0, 0.0)
    return Bar(label, low, high, text, verdict, row["fitted"], marks)


def cell_rows(exposure: Exposure, target: Target) -> list[dict[str, Any]]:
    """One flat row per cell and option, in the order they were computed.

    All rows have the same columns: `attained`, which only some entries have, is omitted, and `interval` becomes
    `share_low` and `share_high`. An axis that is called like one of these columns gets `_group` after its name.
    """
    rows = []
    for entry in entries(exposure, target):
        low, high = entry["interval"] or (None, None)
        plain = {name: value for name, value in entry.items() if name not in ("cell", "interval", "attained")}
        figures = {**plain, "share_low": low, "share_high": high}
        cell = {f"{axis}_group" if axis in figures else axis: value for axis, value in entry["cell"].items()}
        rows.append({**cell, **figures})
    return rows


def cells_csv(exposure: Exposure, target: Target) -> str:
    """All cells as one CSV text."""
    rows, text = cell_rows(exposure, target), io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()

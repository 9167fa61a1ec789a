"""How a table was read, in a line or two, and as a document."""

from collections.abc import Sequence
from typing import Any

from safemargin.core import UNBOUNDED
from safemargin.io.reading.table import ReadAxis, ReadTable

SHOWN_TABLES = 8
"""Tables whose reading is printed one by one."""


SHOWN_LABELS = 20
"""Categories of an axis that a document lists."""


def reading_words(read: ReadTable) -> str:
    """`rows Region (5), columns Employment (3), totals "Total" (checked: they add up), 3 gaps marked *.`"""
    parts = [_axis(axis, n) for n, axis in enumerate(read.axes)] or ["a total"]
    if read.cells.options:
        parts.append(f"answers {', '.join(_shortened(read.cells.options))}")
    wholes = dict.fromkeys(axis.labels[axis.total] for axis in read.axes if axis.total is not None)
    if read.option_total is not None:
        wholes[read.cells.options[read.option_total]] = None
    if wholes:
        names = ", ".join(f'"{name}"' for name in wholes)
        checked = (
            "checked: they add up" if read.checked and read.ignored is None else "not checked: no sum without a gap"
        )
        if read.base > 1:
            checked = f"checked: they add up to within the rounding to {read.base:,}"
        if read.ignored is not None:
            checked = "they omit the gaps, and are not used"
        parts.append(f"totals {names} ({checked})")
    subtotals = [axis.labels[p] for axis in read.axes for p, _ in axis.splits if p != axis.total]
    if subtotals:
        parts.append(f"{len(subtotals)} {'subtotal' if len(subtotals) == 1 else 'subtotals'}")
    parts += _gaps(read)
    if read.base > 1:
        parts.append(f"rounded to {read.base:,}")
    if read.unit > 1:
        parts.append(f"in units of {read.unit:,}")
    return f"{', '.join(parts)}."


def _axis(axis: ReadAxis, number: int) -> str:
    lead = "" if axis.role == "axis" and number else f"{'axes' if axis.role == 'axis' else axis.role} "
    size = len(axis.categories)
    return f"{lead}{axis.name} ({size:,})" if axis.name != axis.role else f"{axis.role} ({size:,})"


def _gaps(read: ReadTable) -> list[str]:
    rows = read.gaps.tolist()
    open_ones = sum(status == "range" for status in read.cells.status) if read.base == 1 else 0
    ranges = [f"{open_ones:,} {'range' if open_ones == 1 else 'ranges'}"] if open_ones else []
    if not rows:
        return ranges or ["no gaps"]
    kinds: dict[tuple[str, int, int], int] = {}
    for row in rows:
        symbol = read.symbols[row] if row < len(read.symbols) else ""
        key = (symbol, int(read.cells.lower[row]), int(read.cells.upper[row]))
        kinds[key] = kinds.get(key, 0) + 1
    words = []
    for (symbol, low, high), count in sorted(kinds.items(), key=lambda item: -item[1])[:3]:
        marked = f" marked {symbol}" if symbol else ""
        span = f"from {low:,} up" if high >= UNBOUNDED else f"{low:,} to {high:,}"
        by = read.sources.get(symbol.lower(), read.sources.get("", ""))
        by = f", by {by}" if by and (high < UNBOUNDED or low) else ""
        words.append(f"{count:,} {'gap' if count == 1 else 'gaps'}{marked} (taken as {span}{by})")
    words += ranges
    return words if len(kinds) <= 3 else [*words, f"{sum(kinds.values()) - sum(sorted(kinds.values())[-3:]):,} more"]


def _shortened(names: Sequence[str], most: int = 6) -> list[str]:
    return [*names[:most], *([f"and {len(names) - most} more"] if len(names) > most else [])]


def reading_lines(reads: Sequence[ReadTable]) -> list[str]:
    """How every table was read, then what was noted, one line each."""
    lines = []
    listed = [read for read in reads if not (read.role and read.form.is_tidy and not read.notes)]
    for read in listed[:SHOWN_TABLES]:
        name = _called(read, reads)
        lines.append(f"Read as: {name}{reading_words(read)}")
        if read.notes:
            lines.append(f"Notes: {name}{'; '.join(read.notes)}.")
    if len(listed) > SHOWN_TABLES:
        lines.append(f"Read as: {len(listed) - SHOWN_TABLES} more tables.")
    return lines


def _called(read: ReadTable, reads: Sequence[ReadTable]) -> str:
    if read.role:
        return f"{read.role} {read.name}: "
    return f"{read.name}: " if sum(not other.role for other in reads) > 1 else ""


def doubt_lines(reads: Sequence[ReadTable], questions: bool = False) -> list[str]:
    """What is doubtful about the reading; with `questions`, also which labels look like answers."""
    lines = []
    for read in reads:
        name = _called(read, reads)
        lines += [f"{name}{doubt}" for doubt in read.doubts]
        if questions and read.question and not read.role:
            lines.append(f"{name}{read.question}")
    return lines


def reading_document(reads: Sequence[ReadTable]) -> list[dict[str, Any]]:
    """How every table was read, for JSON."""
    return [
        {
            "table": read.name,
            "role": read.role or "table",
            "words": reading_words(read),
            "axes": [
                {
                    "name": axis.name,
                    "role": axis.role,
                    "categories": len(axis.categories),
                    "labels": list(axis.categories[:SHOWN_LABELS]),
                    "total": None if axis.total is None else axis.labels[axis.total],
                    "subtotals": [axis.labels[parent] for parent, _ in axis.splits if parent != axis.total],
                }
                for axis in read.axes
            ],
            "options": list(read.cells.options),
            "cells": len(read.cells.lower),
            "gaps": len(read.gaps),
            "sums_checked": read.checked,
            "rounded_to": read.base,
            "unit": read.unit,
            "notes": list(read.notes),
            "doubts": [*read.doubts, *([read.question] if read.question and not read.role else [])],
        }
        for read in reads
    ]

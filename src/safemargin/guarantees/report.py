"""Guarantees in words: the derivation, one read from a file or composed from several, and the table side by side."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from safemargin import ui
from safemargin.core import Guarantee, Measure
from safemargin.guarantees.conversion import DELTA, published_epsilon
from safemargin.guarantees.guarantee_file import document, read_guarantee
from safemargin.guarantees.implication import reasons_empty
from safemargin.guarantees.rules import change_unit, compose_parts, to_zcdp

SCALES = "These budgets are on one scale only where all other columns agree: do not rank guarantees by them."
COLUMNS = ("guarantee", "measure", "change", "invariants", "budget")
Source = Path | str | Guarantee
"""A guarantee, or the file that holds one."""


def as_guarantee(source: Source) -> Guarantee:
    """The guarantee itself, or the one in a file."""
    return source if isinstance(source, Guarantee) else read_guarantee(source)


def derivation(guarantee: Guarantee, depth: int | None = None, indent: int = 1) -> Iterable[str]:
    """The tree of rules, one line per step, deepest last; `depth` cuts it."""
    yield f"{'  ' * indent}{guarantee.amount}  {guarantee.mechanism}  [{guarantee.rule}]"
    if depth is not None and indent > depth:
        return
    for premise in guarantee.premises:
        yield from derivation(premise, depth, indent + 1)


def derivation_details(guarantee: Guarantee) -> ui.Fold:
    """The tree of rules behind a guarantee, which a click opens."""
    return ui.Fold(guarantee.mechanism, *(ui.Paragraph(line, "code") for line in derivation(guarantee, indent=0)))


def side_by_side(guarantees: Sequence[Guarantee], delta: float = DELTA) -> list[list[str]]:
    """One row per guarantee with the columns in `COLUMNS`."""
    return [
        [
            guarantee.mechanism,
            str(guarantee.measure),
            str(guarantee.change) if guarantee.budget is not None else "-",
            "; ".join(map(str, guarantee.invariants)) or "none",
            f"{guarantee.amount}{_shown_epsilon(guarantee, delta)}",
        ]
        for guarantee in guarantees
    ]


def _shown_epsilon(guarantee: Guarantee, delta: float) -> str:
    if guarantee.measure is not Measure.ZCDP or guarantee.budget in (None, math.inf):
        return ""
    return f" (epsilon {published_epsilon(float(guarantee.budget or 0), delta):.2f} at delta {delta:g})"


@dataclass(frozen=True)
class Statement(ui.Result):
    """One guarantee in words, with the tree of rules it rests on; `depth` cuts the tree."""

    guarantee: Guarantee
    depth: int | None = None

    def to_json(self) -> ui.Document:
        return {"schema": ui.SCHEMA, **document(self.guarantee)}

    @property
    def _lines(self) -> list[str]:
        guarantee = self.guarantee
        invariants = "; ".join(map(str, guarantee.invariants)) or "nothing"
        return [
            *([guarantee.statement] if guarantee.statement else []),
            f"Unchanged: {invariants}.",
            *([f"Depends on: {guarantee.varies}."] if guarantee.varies else []),
            *guarantee.remarks,
            *reasons_empty(guarantee),
        ]

    @property
    def _title(self) -> str:
        per = "" if self.guarantee.budget is None else f" per {self.guarantee.change}"
        return f"{self.guarantee.mechanism}: {self.guarantee.amount}{per}"

    def to_report(self) -> ui.Report:
        tree = [ui.Paragraph(line, "code") for line in derivation(self.guarantee, self.depth)]
        return ui.Report(self._title, ui.InTerminal(self._title), *self._lines, "Why:", *tree)


def show(source: Source, *, depth: int | None = None) -> Statement:
    """Show one guarantee in words, with what it rests on."""
    return Statement(as_guarantee(source), depth)


def compose(sources: Sequence[Source], *, unit: str | None = None, zcdp: bool = False) -> Statement:
    """Compose the guarantees of several publications about the same records.

    With `zcdp`, pure guarantees are first made zero-concentrated ones; with `unit`, all are first made guarantees to
    this unit, by what their populations declare.
    """
    parts = [as_guarantee(source) for source in sources]
    names = [
        part.mechanism if isinstance(source, Guarantee) else Path(source).stem
        for source, part in zip(sources, parts, strict=True)
    ]
    if zcdp:
        parts = [to_zcdp(part) for part in parts]
    if unit is not None:
        parts = [change_unit(part, unit) for part in parts]
    return Statement(compose_parts(parts, " and ".join(names)))

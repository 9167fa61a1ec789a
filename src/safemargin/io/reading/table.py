"""A table as it was read: axes, cells with their ranges, which labels are sums of which, and how sure the reading
is."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from safemargin.core import UNBOUNDED, BoolArray, Group, IntArray, PublishedTable, frozen, label

OWN = ("option", "count", "lower", "upper", "status", "is_sum")
"""Names of columns that say what a cell holds; an axis of this name is called `status (axis)`."""


@dataclass(frozen=True)
class ReadAxis:
    """One axis: its labels as printed, which of them is the total, and which labels add up to which.

    `role` is where it is printed: rows, columns, or axis in a long table.
    """

    name: str
    labels: tuple[str, ...]
    total: int | None = None
    splits: tuple[tuple[int, tuple[int, ...]], ...] = ()
    role: str = "axis"
    partial: tuple[int, ...] = ()
    """Labels of which not all parts are listed."""

    @property
    def categories(self) -> tuple[str, ...]:
        """Labels that nothing adds up to."""
        wholes = {self.total, *(parent for parent, _ in self.splits)}
        return tuple(text for code, text in enumerate(self.labels) if code not in wholes)


@dataclass(frozen=True)
class TableForm:
    """How a table was written: the format, what separates columns, the encoding, the sheet."""

    path: Path | None = None
    kind: str = "memory"
    delimiter: str = ","
    encoding: str = "utf-8"
    sheet: str = ""
    counts: str = ""
    """The column of counts of a long table."""
    is_tidy: bool = False
    """Whether the header says what every column is, in names of ours."""


@dataclass(frozen=True)
class ReadTable:
    """One table as it was read.

    `cells` lists every cell with its range, sums included, as one table in which a sum is a label like others.
    `axes` say which labels are sums. `places` has the line and the column of every cell, `symbols` what gaps print.
    `base` is what counts are rounded to, `unit` how many people a unit is. `ignored` cells are sums that omit
    what is suppressed.
    """

    cells: PublishedTable
    axes: tuple[ReadAxis, ...]
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    question: str = ""
    """Which labels look like answers, though nobody says so; empty where none do."""
    option_total: int | None = None
    base: int = 1
    unit: int = 1
    checked: int = 0
    """How many sums were tested: equations without a gap."""
    places: IntArray | None = field(default=None, compare=False)
    symbols: tuple[str, ...] = ()
    ignored: BoolArray | None = field(default=None, compare=False)
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)
    """By symbol, who says what a gap stands for."""
    form: TableForm = TableForm()
    role: str = ""
    """What it is beside the tables that are looked at: roll, fact, earlier table; empty for those themselves."""

    @property
    def name(self) -> str:
        """What the table is called."""
        return self.cells.name

    @property
    def gaps(self) -> IntArray:
        """Cells whose count is suppressed."""
        return np.flatnonzero(np.array([status == "suppressed" for status in self.cells.status]))

    @property
    def is_sure(self) -> bool:
        """Whether nothing about the reading is in doubt."""
        return not self.doubts

    def tables(self) -> tuple[PublishedTable, ...]:
        """The table and its margins, one per set of axes, as the public sees them."""
        keep = np.ones(len(self.cells.lower), dtype=bool) if self.ignored is None else ~self.ignored
        is_plain = self.option_total is None and all(axis.total is None and not axis.splits for axis in self.axes)
        if is_plain and keep.all():
            return (self.cells,)
        groups = [_groups(axis, self.cells.groups[a]) for a, axis in enumerate(self.axes)]
        shown = np.ones((len(keep), len(self.axes) + 1), dtype=bool)
        for a, axis in enumerate(self.axes):
            if axis.total is not None:
                shown[:, a] = self.cells.codes[:, a] != axis.total
        if self.option_total is not None:
            shown[:, -1] = self.cells.option != self.option_total
        rows = np.flatnonzero(keep)
        kinds, kind_of = np.unique(shown[rows], axis=0, return_inverse=True)
        return tuple(self._part(rows[kind_of.ravel() == kind], used, groups) for kind, used in enumerate(kinds))

    def _part(self, rows: IntArray, used: BoolArray, groups: list[tuple[Group, ...]]) -> PublishedTable:
        cells = self.cells
        axes = [a for a in range(len(self.axes)) if used[a]]
        names = tuple(self.axes[a].name for a in axes)
        kept = [np.unique(cells.codes[rows, a], return_inverse=True) for a in axes]
        options, option = cells.options, cells.option[rows]
        noised = any(cells.status[row] == "noised" for row in rows.tolist())
        if self.option_total is not None:
            options = () if not used[-1] else tuple(o for i, o in enumerate(cells.options) if i != self.option_total)
            option = np.full(len(rows), -1) if not used[-1] else option - (option > self.option_total)
        return PublishedTable(
            name=f"{cells.name} ({' x '.join(names) or 'total'})",
            axes=names,
            groups=tuple(tuple(groups[a][code] for code in codes) for a, (codes, _) in zip(axes, kept, strict=True)),
            codes=frozen(np.column_stack([np.zeros((len(rows), 0), dtype=np.int64), *(c for _, c in kept)]), len(axes)),
            options=options,
            option=frozen(option),
            lower=frozen(cells.lower[rows]),
            upper=frozen(cells.upper[rows]),
            status=tuple(cells.status[row] for row in rows.tolist()),
            measure=cells.measure,
            noisy=None if cells.noisy is None or not noised else frozen(cells.noisy[rows]),
        )

    def to_rows(self) -> list[dict[str, Any]]:
        """Every cell as a mapping: its labels, its range, its status, and whether it is a sum."""
        rows = []
        for row, status in enumerate(self.cells.status):
            upper = int(self.cells.upper[row])
            labels = self.cells.cell(row)
            line: dict[str, Any] = {f"{name} (axis)" if name in OWN else name: text for name, text in labels.items()}
            if self.cells.options:
                line["option"] = self.cells.options[self.cells.option[row]]
            count = int(self.cells.lower[row]) if upper == self.cells.lower[row] else None
            line |= {
                "count": count,
                "lower": int(self.cells.lower[row]),
                "upper": None if upper >= UNBOUNDED else upper,
            }
            rows.append({**line, "status": status, "is_sum": self.is_sum(row)})
        return rows

    def is_sum(self, row: int) -> bool:
        """Whether a cell is a sum of others along some axis."""
        wholes = [{axis.total, *(parent for parent, _ in axis.splits)} for axis in self.axes]
        return any(int(self.cells.codes[row, a]) in wholes[a] for a in range(len(self.axes)))

    def to_frame(self) -> Any:
        """All cells as a DataFrame of pandas or else polars; as rows where neither is installed."""
        rows = self.to_rows()
        for library in ("pandas", "polars"):
            if find_spec(library):
                return import_module(library).DataFrame(rows)
        return rows

    def renamed(self, names: Mapping[str, str]) -> "ReadTable":
        """The same table with other names of axes."""
        if not any(axis.name in names for axis in self.axes):
            return self
        axes = tuple(replace(axis, name=names.get(axis.name, axis.name)) for axis in self.axes)
        return replace(self, axes=axes, cells=replace(self.cells, axes=tuple(axis.name for axis in axes)))

    def within(self, name: str, text: str) -> "ReadTable":
        """The same table as a part of one with an axis more, of which it has one category."""
        cells = self.cells
        codes = np.column_stack([cells.codes, np.zeros(len(cells.codes), dtype=np.int64)])
        groups = (*cells.groups, (frozenset([text]),))
        wider = replace(cells, axes=(*cells.axes, name), groups=groups, codes=frozen(codes))
        return replace(self, cells=wider, axes=(*self.axes, ReadAxis(name, (text,), role="columns")))

    def noted(self, *notes: str) -> "ReadTable":
        """The same table with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def doubted(self, *doubts: str) -> "ReadTable":
        """The same table with more doubts."""
        return replace(self, doubts=(*self.doubts, *doubts))


def _groups(axis: ReadAxis, printed: tuple[Group, ...]) -> tuple[Group, ...]:
    """The categories inside every label."""
    inside: dict[int, Group] = {}
    parts = dict(axis.splits)

    def of(code: int) -> Group:
        if code not in inside:
            inside[code] = frozenset().union(*(of(child) for child in parts[code])) if code in parts else printed[code]
            if code in axis.partial:
                inside[code] |= {f"{label(printed[code])} (not listed)"}
        return inside[code]

    return tuple(of(code) for code in range(len(printed)))

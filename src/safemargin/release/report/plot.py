"""The pictures of a release: the result as a bar, and how groups differ. Only published counts are drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from safemargin.core import InputError, PublishedTable
from safemargin.release.report.groups import Orders
from safemargin.release.report.public import crossed_table, dot_plot, result_parts
from safemargin.ui import SCHEMA, CountTable, Document, DotPlot, Part, Report, Result, Section

FEWEST = 2
"""Groups from which on there is a picture of an axis."""


@dataclass(frozen=True, eq=False)
class ReleasePlot(Result):
    """What `release.plot()` gives: a notebook shows it, `write` makes a page of it."""

    title: str
    total: tuple[Part, ...]
    axes: Mapping[str, CountTable]
    plots: Mapping[str, DotPlot]

    def to_json(self) -> Document:
        """The shares that are drawn: by axis, option and group; suppressed groups have none."""
        return {
            "schema": SCHEMA,
            "axes": {
                axis: {strip.option: {dot.name: dot.rate for dot in strip.dots} for strip in plot.strips}
                for axis, plot in self.plots.items()
            },
        }

    def to_report(self) -> Report:
        """The pictures; a terminal shows the tables instead."""
        sections = [
            Section(f"By {axis}", *([self.plots[axis]] if axis in self.plots else []), table)
            for axis, table in self.axes.items()
        ]
        return Report(self.title, *self.total, *sections)


def release_plot(title: str, tables: Sequence[PublishedTable], orders: Orders, axis: str | None) -> ReleasePlot:
    """The pictures of published tables, of all axes or of one."""
    singles = {table.axes[0]: table for table in tables if len(table.axes) == 1}
    if axis is not None and axis not in singles:
        raise InputError(f"axis = {axis[:60]!r}: nothing is published by it; choose one of {', '.join(singles)}")
    shown = {name: table for name, table in singles.items() if axis in (None, name)}
    crossed = {name: crossed_table(table, tables, orders, True) for name, table in shown.items()}
    plots = {name: plot for name, table in crossed.items() if (plot := dot_plot(table, FEWEST)) is not None}
    people = max((int(table.lower.sum()) for table in tables if not table.axes), default=0)
    return ReleasePlot(title, tuple(result_parts(people, tables)), crossed, plots)

"""The results of `fiber`: as JSON, in a terminal and as a page."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from rich.console import Console

from safemargin import ui
from safemargin.bounds import QUANTILES, Possible, fiber_document, fiber_words
from safemargin.fiber.statistics import Database, Record, common
from safemargin.io import ReadTable, doubt_lines, reading_document, reading_lines


def possible_document(possible: Possible) -> ui.Document:
    """The tables that one onlooker cannot rule out; what is not known is null."""
    drawn = possible.drawn
    return {
        "schema": ui.SCHEMA,
        **fiber_document(possible.fiber),
        "at_least": possible.fiber.reached,
        "method": possible.fiber.method,
        "words": fiber_words(possible.fiber),
        "cells": list(possible_entries(possible)),
        "sample": None if drawn is None else {"law": drawn.law, "tables": drawn.tables, "seed": drawn.seed},
        "onlooker": possible.onlooker.describe(possible.cells.axes),
    }


def possible_entries(possible: Possible) -> Iterator[ui.Document]:
    """One entry per cell and option: the values that occur, and what random tables hold."""
    count = max(len(possible.options), 1)
    drawn, attained = possible.drawn, possible.fiber.attained
    for index in range(len(possible.cells) * count):
        row, option = divmod(index, count)
        entry: ui.Document = {"cell": possible.cells.cell(row)}
        if possible.options:
            entry["option"] = possible.options[option]
        entry["people"] = None if possible.people is None else int(possible.people[row])
        entry["attained"] = None if attained is None else list(attained[index])
        if drawn is not None:
            entry["mean"], entry["error"] = float(drawn.mean[index]), float(drawn.error[index])
            entry["quantiles"] = dict(zip(map(str, QUANTILES), drawn.quantiles[index].tolist(), strict=True))
        yield entry


def possible_parts(possible: Possible, limit: int) -> list[ui.Part]:
    """How many tables are possible, and what they hold."""
    fiber, drawn = possible.fiber, possible.drawn
    sampled = "" if drawn is None else f"{ui.plural(drawn.tables, 'table')} drawn, {drawn.law} law, seed {drawn.seed}."
    return [
        f"{possible.onlooker.name}: {ui.describe_onlooker(possible.onlooker, possible.cells.axes)}.",
        f"Dimension {fiber.dimension:,}; {fiber_words(fiber)} ({fiber.method}).",
        sampled,
        None if fiber.attained is None and drawn is None else _possible_grid(possible, limit),
    ]


def _possible_grid(possible: Possible, limit: int) -> ui.Grid:
    listed, drawn = possible.fiber.attained is not None, possible.drawn is not None
    head = f"cell ({', '.join(possible.cells.axes)})" if possible.cells.axes else "cell"
    shares = [f"{share:.0%}".replace("%", " %") for share in QUANTILES]
    columns = [head, *(["option"] if possible.options else []), "people", *(["mean", "+-", *shares] if drawn else [])]
    rows = []
    for row in islice(possible_entries(possible), ui.MOST_ROWS):
        values = [ui.cell_label(row["cell"]), *([row["option"]] if "option" in row else [])]
        values += ["-" if row["people"] is None else f"{row['people']:,}"]
        if drawn:
            values += [f"{row['mean']:.2f}", f"{row['error']:.2f}", *(f"{n:,}" for n in row["quantiles"].values())]
        rows.append([*values, *([ui.list_values(row["attained"])] if listed else [])])
    total = len(possible.cells) * max(len(possible.options), 1)
    return ui.Grid([*columns, *(["possible counts"] if listed else [])], rows, most=limit, total=total)


@dataclass(frozen=True)
class TableFiber(ui.Result):
    """The tables that one onlooker cannot exclude, seen through the cells that were asked about."""

    possible: Possible
    reads: tuple[ReadTable, ...] = ()
    """How every table was read."""

    @property
    def doubts(self) -> list[str]:
        """What is doubtful about how the tables were read."""
        return doubt_lines(self.reads)

    def to_json(self) -> ui.Document:
        """The document of `fiber --json`; what is not known is null."""
        return {**possible_document(self.possible), "reading": reading_document(self.reads)}

    def to_report(self, limit: int = 30) -> ui.Report:
        """How many tables are possible, and the counts that they hold."""
        doubts = [ui.Paragraph(f"Doubtful: {line}.", "warning") for line in self.doubts]
        return ui.Report("Possible tables", *reading_lines(self.reads), *doubts, *possible_parts(self.possible, limit))

    def show(self, console: Console, limit: int = 30) -> None:
        """Print how many tables are possible, and the counts they hold."""
        ui.show_report(console, self.to_report(limit))


@dataclass(frozen=True)
class DatabaseFiber(ui.Result):
    """Every database that agrees with published statistics."""

    axes: tuple[str, ...]
    databases: tuple[Database, ...]

    @property
    def shared(self) -> Database:
        """The people who are in every database: whom the statistics disclose."""
        return common(self.databases)

    def to_json(self) -> ui.Document:
        """All databases, and the people they share."""
        return {
            "schema": ui.SCHEMA,
            "databases": [[self._person(record) for record in database] for database in self.databases],
            "shared": [self._person(record) for record in self.shared],
        }

    def to_report(self) -> ui.Report:
        """How many databases are possible, and the people they share."""
        shared = ui.plural(len(self.shared), "person")
        rows = [(f"{value:,}", *kind) for value, kind in self.shared]
        return ui.Report(
            "Possible databases",
            f"{ui.plural(len(self.databases), 'database')} possible; {shared} in every one.",
            ui.Grid(("value", *self.axes), rows),
        )

    def _person(self, record: Record) -> ui.Document:
        value, kind = record
        return {"value": value, **dict(zip(self.axes, kind, strict=True))}

"""The results of `fiber`: as JSON, in a terminal and as a page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from rich.console import Console
from rich.table import Table as TextTable
from rich.text import Text

from safemargin.bounds import QUANTILES, Possible, fiber_document, fiber_words
from safemargin.fiber.statistics import Database, Record, common
from safemargin.ui import (
    SCHEMA,
    Document,
    Result,
    cell_label,
    describe_onlooker,
    header,
    joined,
    list_values,
    paragraphs,
    plural,
    render_page,
    say,
    section,
    table,
    text_table,
)


def possible_document(possible: Possible) -> Document:
    """The tables that one onlooker cannot rule out; what is not known is null."""
    drawn = possible.drawn
    return {
        "schema": SCHEMA,
        **fiber_document(possible.fiber),
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
    for index in range(len(possible.cells) * count):
        row, option = divmod(index, count)
        entry: Document = {"cell": possible.cells.cell(row)}
        if possible.options:
            entry["option"] = possible.options[option]
        entry["people"] = None if possible.people is None else int(possible.people[row])
        entry["attained"] = None if attained is None else list(attained[index])
        if drawn is not None:
            entry["mean"], entry["error"] = float(drawn.mean[index]), float(drawn.error[index])
            entry["quantiles"] = dict(zip(map(str, QUANTILES), drawn.quantiles[index].tolist(), strict=True))
        yield entry


def show_possible(console: Console, possible: Possible, limit: int = 30) -> None:
    """How many tables are possible, and what they hold."""
    fiber, drawn = possible.fiber, possible.drawn
    say(console, f"{possible.onlooker.name}: {describe_onlooker(possible.onlooker, possible.cells.axes)}.")
    say(console, f"Dimension {fiber.dimension:,}; {fiber_words(fiber)} ({fiber.method}).")
    if drawn is not None:
        say(console, f"{plural(drawn.tables, 'table')} drawn, {drawn.law} law, seed {drawn.seed}.")
    rows = list(islice(possible_entries(possible), limit))
    if fiber.attained is None and drawn is None:
        return
    console.print()
    console.print(_possible_table(rows, possible))
    if (left := len(possible.cells) * max(len(possible.options), 1) - len(rows)) > 0:
        say(console, f"{left:,} more are not shown.", "dim")


def _possible_table(rows: Sequence[Document], possible: Possible) -> TextTable:
    shown, drawn = possible.fiber.attained is not None, possible.drawn is not None
    head = f"cell ({', '.join(possible.cells.axes)})" if possible.cells.axes else "cell"
    text = text_table([head, *(["option"] if possible.options else [])], space=1)
    shares = [f"{share:.0%}".replace("%", " %") for share in QUANTILES]
    for name in ["people", *(["mean", "+-", *shares] if drawn else [])]:
        text.add_column(name, justify="right", no_wrap=True)
    if shown:
        text.add_column("possible counts", overflow="fold")
    for row in rows:
        values = [cell_label(row["cell"]), *([row["option"]] if "option" in row else [])]
        values += ["-" if row["people"] is None else f"{row['people']:,}"]
        if drawn:
            values += [f"{row['mean']:.2f}", f"{row['error']:.2f}", *(f"{n:,}" for n in row["quantiles"].values())]
        text.add_row(*map(Text, values), *([Text(list_values(row["attained"]))] if shown else []))
    return text


@dataclass(frozen=True)
class TableFiber(Result):
    """The tables that one onlooker cannot exclude, seen through the cells that were asked about."""

    possible: Possible

    def to_json(self) -> Document:
        """The document of `fiber --json`; what is not known is null."""
        return possible_document(self.possible)

    def show(self, console: Console, limit: int = 30) -> None:
        """Print how many tables are possible, and the counts they hold."""
        show_possible(console, self.possible, limit)

    def to_html(self) -> str:
        """How many tables are possible, and the counts of every cell in them."""
        fiber, options = self.possible.fiber, bool(self.possible.options)
        columns = ("cell", *(("option",) if options else ()), "people", "possible counts")
        rows = [
            (
                cell_label(entry["cell"]),
                *((entry["option"],) if options else ()),
                "-" if entry["people"] is None else f"{entry['people']:,}",
                "not listed" if entry["attained"] is None else list_values(entry["attained"]),
            )
            for entry in possible_entries(self.possible)
        ]
        notes = [f"Dimension {fiber.dimension:,}; {fiber_words(fiber)} ({fiber.method})."]
        head = header("Possible tables", describe_onlooker(self.possible.onlooker, self.possible.cells.axes))
        body = [section("Summary", paragraphs(*notes)), section("Cells", table(columns, rows, ("people",)))]
        return render_page("Possible tables", head, joined(body))


@dataclass(frozen=True)
class DatabaseFiber(Result):
    """Every database that agrees with published statistics."""

    axes: tuple[str, ...]
    databases: tuple[Database, ...]

    @property
    def shared(self) -> Database:
        """The people who are in every database: whom the statistics disclose."""
        return common(self.databases)

    def to_json(self) -> Document:
        """All databases, and the people they share."""
        return {
            "schema": SCHEMA,
            "databases": [[self._person(record) for record in database] for database in self.databases],
            "shared": [self._person(record) for record in self.shared],
        }

    def show(self, console: Console) -> None:
        """Print how many databases are possible, and the people they share."""
        for line in self._summary():
            say(console, line)

    def to_html(self) -> str:
        """How many databases are possible, and the people they share."""
        rows = [(f"{value:,}", *kind) for value, kind in self.shared]
        people = section("People in every database", table(("value", *self.axes), rows, ("value",)))
        body = [section("Summary", paragraphs(*self._summary())), people]
        return render_page("Possible databases", header("Possible databases"), joined(body))

    def _person(self, record: Record) -> Document:
        value, kind = record
        return {"value": value, **dict(zip(self.axes, kind, strict=True))}

    def _summary(self) -> Iterator[str]:
        shared = plural(len(self.shared), "person")
        yield f"{plural(len(self.databases), 'database')} possible; {shared} in every one."
        for value, kind in self.shared:
            yield f"  value {value:,}: {cell_label(dict(zip(self.axes, kind, strict=True)))}"

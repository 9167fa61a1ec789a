"""Possible tables as JSON documents and terminal text."""

from collections.abc import Iterator, Sequence
from itertools import islice

from rich.console import Console
from rich.table import Table
from rich.text import Text

from safemargin.bounds.exposure import QUANTILES, Possible
from safemargin.bounds.report import fiber_document, fiber_words
from safemargin.ui import SCHEMA, Document, cell_label, describe_onlooker, list_values, plural, say, text_table


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


def _possible_table(rows: Sequence[Document], possible: Possible) -> Table:
    shown, drawn = possible.fiber.attained is not None, possible.drawn is not None
    head = f"cell ({', '.join(possible.cells.axes)})" if possible.cells.axes else "cell"
    table = text_table([head, *(["option"] if possible.options else [])], space=1)
    shares = [f"{share:.0%}".replace("%", " %") for share in QUANTILES]
    for name in ["people", *(["mean", "+-", *shares] if drawn else [])]:
        table.add_column(name, justify="right", no_wrap=True)
    if shown:
        table.add_column("possible counts", overflow="fold")
    for row in rows:
        values = [cell_label(row["cell"]), *([row["option"]] if "option" in row else [])]
        values += ["-" if row["people"] is None else f"{row['people']:,}"]
        if drawn:
            values += [f"{row['mean']:.2f}", f"{row['error']:.2f}", *(f"{n:,}" for n in row["quantiles"].values())]
        table.add_row(*map(Text, values), *([Text(list_values(row["attained"]))] if shown else []))
    return table

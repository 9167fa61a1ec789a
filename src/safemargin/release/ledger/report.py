"""A ledger in words and as a document."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from safemargin.release.ledger.budget import budget
from safemargin.release.ledger.entry import Entry
from safemargin.ui import SCHEMA, Document, percent, plural


def ledger_document(entries: Sequence[Entry]) -> Document:
    """Every release by population, in order, and how much of its budget is used."""
    return {
        "schema": SCHEMA,
        "populations": [
            {
                "population": population,
                "releases": [_release(entry) for entry in mine],
                "budget": budget(mine).document(),
            }
            for population, mine in _by_population(entries).items()
        ],
    }


def _release(entry: Entry) -> Document:
    return {
        "cycle": entry.cycle,
        "title": entry.title,
        "people": entry.people,
        "answered": entry.answered,
        "kappa": entry.target.kappa,
        "queries": entry.queries,
        "epsilon": entry.epsilon,
        "tables": [table.name for table in entry.tables],
        "manifest": entry.manifest,
        "follows_people": bool(entry.members),
    }


def show_ledger(console: Console, entries: Sequence[Entry]) -> None:
    """What was published about whom, cycle by cycle."""
    if not entries:
        console.print(Text("Nothing was published yet."))
    for population, mine in _by_population(entries).items():
        used = budget(mine)
        console.print(Text(population, style="bold"))
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        for name in ("cycle", "people", "answered", "kappa", "counts", "tables"):
            table.add_column(name, justify="left" if name in ("cycle", "tables") else "right")
        for entry in mine:
            numbers = (entry.people, entry.answered, entry.target.kappa, entry.queries)
            names = ", ".join(each.name for each in entry.tables)
            table.add_row(Text(entry.cycle), *(f"{number:,}" for number in numbers), Text(names))
        console.print(table)
        words = f"{plural(used.queries, 'count')} per option about {plural(used.people, 'person')}"
        console.print(Text(f"Budget: {words}, {percent(used.share)} of what a stable electorate could bear."))
        if used.epsilon:
            console.print(Text(f"Noise: epsilon {used.epsilon:g} in all for somebody who was there in every cycle."))
        console.print()


def _by_population(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.population, []).append(entry)
    return found

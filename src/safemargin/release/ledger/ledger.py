"""The ledger of earlier releases as a user sees it."""

from dataclasses import dataclass
from pathlib import Path

from safemargin.core import InputError
from safemargin.release.ledger.entries import Budget, Entry, budget
from safemargin.release.ledger.file import read_ledger
from safemargin.ui import (
    SCHEMA,
    Document,
    Grid,
    Report,
    Result,
    Section,
    percent,
    plural,
)

COLUMNS = ("cycle", "people", "answered", "fewest per group", "counts", "tables")


@dataclass(frozen=True)
class Ledger(Result):
    """Every release by population, in order, and how much of each budget is used."""

    entries: tuple[Entry, ...]

    @property
    def populations(self) -> dict[str, list[Entry]]:
        """The releases about each population."""
        populations: dict[str, list[Entry]] = {}
        for entry in self.entries:
            populations.setdefault(entry.population, []).append(entry)
        return populations

    def to_json(self) -> Document:
        """The document of `ledger --json`."""
        return {
            "schema": SCHEMA,
            "populations": [
                {
                    "population": population,
                    "releases": [_release(entry) for entry in entries],
                    "budget": budget(entries).document(),
                }
                for population, entries in self.populations.items()
            ],
        }

    def to_report(self) -> Report:
        """What was published about whom, cycle by cycle."""
        parts = [
            Section(population, Grid(COLUMNS, [_row(entry) for entry in entries]), *_budget_lines(budget(entries)))
            for population, entries in self.populations.items()
        ]
        return Report("Earlier releases", *parts, "" if parts else "Nothing was published yet.")


def ledger(file: Path | str) -> Ledger:
    """What was published about which population, and how much of its budget is used."""
    path = Path(file)
    if not path.exists():
        raise InputError(f"{path}: there is no such file")
    return Ledger(read_ledger(path))


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


def _row(entry: Entry) -> list[str]:
    numbers = (entry.people, entry.answered, entry.target.kappa, entry.queries)
    return [entry.cycle, *(f"{number:,}" for number in numbers), ", ".join(table.name for table in entry.tables)]


def _budget_lines(used: Budget) -> list[str]:
    counts = f"{plural(used.queries, 'count')} per option about {plural(used.people, 'person')}"
    lines = [f"Budget: {counts}, {percent(used.share)} of what a stable electorate could bear."]
    if used.epsilon:
        lines.append(f"Noise: epsilon {used.epsilon:g} in all for somebody who was there in every cycle.")
    return lines

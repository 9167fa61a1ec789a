"""The ledger of earlier releases as a user sees it."""

from dataclasses import dataclass
from pathlib import Path

from safemargin.core import InputError
from safemargin.history.entries import Budget, Entry, budget
from safemargin.history.file import read_ledger
from safemargin.history.names import name_in
from safemargin.ui import (
    SCHEMA,
    Document,
    Grid,
    Report,
    Result,
    Section,
    plural,
)

COLUMNS = ("cycle", "people", "answered", "fewest per group", "counts", "tables")


@dataclass(frozen=True)
class Ledger(Result):
    """Every release by population, in order, and how much was asked about each."""

    entries: tuple[Entry, ...]

    @property
    def populations(self) -> dict[str, list[Entry]]:
        """The releases about each population."""
        populations: dict[str, list[Entry]] = {}
        for entry in self.entries:
            populations.setdefault(name_in(self.entries, entry.population), []).append(entry)
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
    """What was published about which population, and how much was asked about it."""
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
        "tables": list(entry.files),
        "manifest": entry.manifest,
        "follows_people": bool(entry.members),
    }


def _row(entry: Entry) -> list[str]:
    numbers: tuple[int, ...] = (entry.people, entry.answered, entry.target.kappa, entry.queries)
    shown = [f"{number:,}" for number in numbers] if not entry.lattices else [f"{entry.people:,}", "-", "-", "-"]
    return [entry.cycle, *shown, ", ".join(entry.files)]


def _budget_lines(used: Budget) -> list[str]:
    counts = f"{plural(used.queries, 'different count')} per option about {plural(used.people, 'person')}"
    lines = [f"Published: {counts}."] if used.queries else []
    if used.epsilon:
        lines.append(f"Noise: epsilon {used.epsilon:g} in all for somebody who was there in every cycle.")
    return lines

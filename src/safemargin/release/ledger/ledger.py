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
    Points,
    Report,
    Result,
    Section,
    exact_percent,
    plural,
)

LOST = ("merged", "noised", "suppressed")
MOST_LOST = 12
"""Tables that are named."""
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
            Section(
                population,
                Grid(COLUMNS, [_row(entry) for entry in entries]),
                *_budget_lines(budget(entries)),
                Points([line for entry in entries for line in _lost_lines(entry)], most=50),
            )
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


def _lost_lines(entry: Entry) -> list[str]:
    """What of a release is not exact, and by which limits; why it was let off more lightly than the one before it."""
    each = {"": entry, **entry.questions}
    lost = {
        f"{name}: {axes}" if name else axes: said for name, own in each.items() for axes, said in _lost(own).items()
    }
    limits = f"no group under {plural(entry.target.kappa, 'person')}, no share above "
    limits += f"{exact_percent(1 - entry.target.beta)} can be inferred"
    named = "; ".join(f"{axes}: {said}" for axes, said in list(lost.items())[:MOST_LOST])
    more = f"; and {len(lost) - MOST_LOST:,} more tables" if len(lost) > MOST_LOST else ""
    lines = [f"{entry.cycle}: not exact, by the limits ({limits}): {named}{more}."] if lost else []
    if not lost and entry.tables:
        lines = [f"{entry.cycle}: every count is exact."]
    return lines + ([f"{entry.cycle}: its limits are weaker than before: {entry.weaker}"] if entry.weaker else [])


def _lost(entry: Entry) -> dict[str, str]:
    """By table: how many of its groups are not exact, by what was done with them."""
    found = {}
    for table in entry.tables:
        groups: dict[tuple[int, ...], str] = {}
        for row, status in enumerate(table.status):
            groups[tuple(int(code) for code in table.codes[row])] = status
        tally = {status: sum(each == status for each in groups.values()) for status in LOST}
        if any(tally.values()):
            said = ", ".join(f"{count:,} {status}" for status, count in tally.items() if count)
            found[table.name] = f"{said} of {plural(len(groups), 'group')}"
    return found


def _budget_lines(used: Budget) -> list[str]:
    counts = f"{plural(used.queries, 'different count')} per option about {plural(used.people, 'person')}"
    lines = [f"Published: {counts}."] if used.queries else []
    if used.epsilon:
        lines.append(f"Noise: epsilon {used.epsilon:g} in all for somebody who was there in every cycle.")
    return lines

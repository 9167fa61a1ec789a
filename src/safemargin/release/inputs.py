"""Everything that a project reads: the table, the ledger, and what every onlooker knows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from safemargin.core import Onlooker, Profile, Table, onlooker_with_roll
from safemargin.io import Source, check_project_facts, read_many
from safemargin.release.ledger.entries import Entry, Person, check_same, person, remember, roll_of
from safemargin.release.ledger.file import read_ledger
from safemargin.release.project import Project
from safemargin.release.sections import LedgerSection
from safemargin.release.tabulate import tabulate, tabulate_people


@dataclass(frozen=True)
class Book:
    """The ledger before a release: earlier releases about its population, and its people under their own names."""

    section: LedgerSection
    entries: tuple[Entry, ...] = ()
    members: Mapping[Person, Profile] | None = None


@dataclass(frozen=True)
class Inputs:
    """What was read for a project, each file once."""

    project: Project
    table: Table
    onlookers: tuple[Onlooker, ...]
    book: Book | None = None

    @property
    def slack(self) -> int:
        """How many votes a published count may be off, where sealed totals disagree."""
        return self.table.inconsistency.slack(int(self.table.totals.sum()))


def read_inputs(project: Project, source: Source | None = None) -> Inputs:
    """Read a project; `source` holds its data where they are not in a file."""
    table = tabulate(project, source)
    book = None if project.ledger is None else _open_book(project, project.ledger, table, source)
    return Inputs(project, table, _onlookers(project, table, book), book)


def _open_book(project: Project, section: LedgerSection, table: Table, source: Source | None) -> Book:
    entries = read_ledger(section.file, section.population)
    check_same(section.file, entries, section.population, section.cycle, table.schema)
    members = None
    if section.id is not None:
        people = tabulate_people(project, section.id, source)
        members = {person(section.population, name): profile for name, profile in people.items()}
    return Book(section, entries, members)


def _onlookers(project: Project, table: Table, book: Book | None) -> tuple[Onlooker, ...]:
    """The onlookers that a project names, with the rolls and facts they hold and what they remember."""
    files = dict.fromkeys(path for section in project.onlookers for path in section.facts)
    facts = dict(zip(files, read_many(files), strict=True))
    check_project_facts(tuple(facts.values()), table.schema)
    onlookers = []
    for section in project.onlookers:
        onlooker = onlooker_with_roll(table, section.composition, section.name, section.knows_rule)
        past = None
        if book is not None:
            rolls = roll_of(table, section.composition)
            by_group = book.section.assume == "groups"
            past = remember(book.entries, table.schema.names, book.section.cycle, rolls, book.members or {}, by_group)
        onlookers.append(replace(onlooker, facts=tuple(facts[path] for path in section.facts), past=past))
    return tuple(onlookers)

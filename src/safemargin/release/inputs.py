"""Everything that a project reads: the table of counts, the ledger, and what every onlooker knows.

Microdata are grouped once in the engine; the rest is numpy. Only the combinations that occur are held, not the product
of the categories. Sealed elections are one tally per axis with the total beside them, and never two axes together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from safemargin.core import (
    UNBOUNDED,
    Axis,
    InputError,
    IntArray,
    Onlooker,
    Profile,
    Schema,
    Table,
    Tally,
    Target,
    frozen,
    onlooker_with_roll,
    row_keys,
)
from safemargin.io import (
    BadText,
    CountedTable,
    Profiles,
    check_project_facts,
    is_address,
    natural_order,
    open_data,
    read_many,
    twice_in,
    whole_number,
)
from safemargin.release.axes import (
    TidyFile,
    build_axis,
    build_rolls,
    nest,
    read_rolls,
    recode,
    renamed,
    seen_categories,
)
from safemargin.release.columns import DataSection
from safemargin.release.inhabited import inhabited
from safemargin.release.ledger.chain import Chain
from safemargin.release.ledger.entries import (
    Entry,
    Person,
    check_same,
    epsilon_left,
    person,
    remember,
    roll_of,
    weaknesses,
)
from safemargin.release.ledger.file import open_ledger
from safemargin.release.ledger.locks import lock_notes
from safemargin.release.project import LedgerSection, Project
from safemargin.release.records import DataRecords, read_records
from safemargin.release.sealed import tabulate_elections


def tabulate_microdata(
    project: Project, data: DataSection, source: CountedTable | None = None
) -> tuple[Table, DataRecords]:
    """Votes by all axes together, and the roll: given files, or the people in the data."""
    rolls = read_rolls(project, project.roll_files)
    records = read_records(project, data, _columns(project, data), source, [data.count] if data.count else [])
    profiles = records.profiles
    people = _people(data, profiles)
    options, chosen = _answers(data, profiles, people)
    coded_axes = [_axis(project, data.place, profiles, name, rolls) for name in project.axes]
    axes = tuple(axis for axis, _ in coded_axes)
    schema = Schema(axes, options)
    codes = np.empty((len(people), len(axes)), dtype=np.int64)
    for position, (_, column) in enumerate(coded_axes):
        codes[:, position] = column
    votes = _pivoted(schema, codes, chosen, people)
    if not len(votes.counts):
        raise InputError(f"{data.place}: column {data.count!r} counts nobody; the table is empty")
    if not rolls:
        counted = Tally(votes.axes, votes.codes, frozen(votes.counts.sum(axis=1), 1))
        return Table(schema, (votes,), (counted,)), records
    return Table(schema, (votes,), build_rolls(rolls, schema, (votes,))), records


def _columns(project: Project, data: DataSection) -> tuple[str, ...]:
    wanted = [project.column(name) for name in project.axes]
    for axis in project.axes.values():
        wanted += axis.levels or ()
    return tuple(dict.fromkeys([*wanted, data.answer, *([data.count] if data.count else [])]))


def _people(data: DataSection, profiles: Profiles) -> IntArray:
    """How many people each profile stands for."""
    if data.count is None:
        return profiles.counts
    labels, codes = profiles.column(data.count)
    values = np.zeros(len(labels), dtype=np.int64)
    for row, text in enumerate(labels):
        try:
            values[row] = whole_number(text.replace(",", ".", 1) if data.decimal == "," else text)
        except BadText as error:
            reason = error if text else "is empty"
            raise InputError(f"{data.place}: column {data.count!r}: count {text!r}: {reason}") from None
    if float(values[codes].astype(np.float64) @ profiles.counts.astype(np.float64)) >= UNBOUNDED:
        raise InputError(f"{data.place}: column {data.count!r} counts more than {UNBOUNDED} people in all")
    return values[codes] * profiles.counts


def _answers(data: DataSection, profiles: Profiles, people: IntArray) -> tuple[tuple[str, ...], IntArray]:
    """The options, and the option of each profile."""
    labels, codes = profiles.column(data.answer)
    coding = data.coding
    answers = [coding.category(label) for label in labels]
    if "" in answers:
        silent = np.array([not answer for answer in answers], dtype=bool)[codes]
        nobody_said = int(people[silent].sum())
        raise InputError(
            f"{data.place}: column {data.answer!r} is empty for {nobody_said} people; set data.blank to what that "
            "means (or data.skip to skip these rows)"
        )
    seen = sorted({*answers, *([data.blank] if data.blank else [])}, key=natural_order)
    options = tuple(dict.fromkeys(map(coding.label, data.options))) if data.options else tuple(seen)
    places = {option: code for code, option in enumerate(options)}
    for answer in answers:
        if answer not in places:
            raise InputError(
                f"{data.place}: column {data.answer!r}: unknown answer {answer!r}; data.options are "
                f"{', '.join(options)}"
            )
    return options, recode(answers, codes, places)


def _axis(
    project: Project, path: Path, profiles: Profiles, name: str, rolls: tuple[TidyFile, ...]
) -> tuple[Axis, IntArray]:
    """An axis, and the category of each profile."""
    section, column, coding = project.axes[name], project.column(name), project.coding(name)
    labels, _ = profiles.column(column)
    values = seen_categories(path, column, section, coding, labels)
    profiles = profiles.relabelled(column, values) if values != labels else profiles
    labels, codes = profiles.column(column)
    nested = None
    if section.levels:
        # Who has no category lies in no area.
        areas = np.array([label != coding.missing for label in labels], dtype=bool)[codes]
        nested = nest(path, profiles.where(areas), column, section.levels)
    on_roll = [category for file in rolls for category in file.seen(name)]
    axis = build_axis((path, column), name, section, [*labels, *on_roll], coding, nested)
    return axis, recode(labels, codes, axis.index)


def _pivoted(schema: Schema, codes: IntArray, chosen: IntArray, people: IntArray) -> Tally:
    """One row per occupied combination of categories, one column per option."""
    keys = row_keys(codes, [len(axis.categories) for axis in schema.axes])
    _, first, row = np.unique(keys, return_index=True, return_inverse=True)
    width = len(schema.options)
    counts = np.zeros(len(first) * width, dtype=np.int64)
    np.add.at(counts, row * width + chosen, people)
    table = counts.reshape(-1, width)
    somebody = table.any(axis=1)
    return Tally(schema.names, frozen(codes[first[somebody]], len(schema.axes)), frozen(table[somebody], width))


def tabulate_people(project: Project, column: str, source: CountedTable | None = None) -> dict[str, tuple[str, ...]]:
    """The profile of every person in the data."""
    data = project.data
    assert data is not None
    wanted = tuple(project.column(name) for name in project.axes)
    people = read_records(project, data, (column, *wanted), source, [column]).profiles
    names, codes = people.column(column)
    if "" in names:
        raise InputError(f"{data.place}: column {column!r} is empty for somebody; ledger.id must name everybody")
    rows = np.bincount(codes, people.counts, minlength=len(names))
    if (rows > 1).any():
        twice = names[int(np.flatnonzero(rows > 1)[0])]
        raise InputError(f"{data.place}: column {column!r}: {twice!r} stands for two people")
    columns = []
    for axis, held in zip(project.axes, wanted, strict=True):
        texts, places = people.column(held)
        values = seen_categories(data.place, held, project.axes[axis], project.coding(axis), texts)
        columns.append([values[code] for code in places.tolist()])
    return dict(zip((names[code] for code in codes.tolist()), zip(*columns, strict=True), strict=True))


def tabulate(project: Project, source: CountedTable | None = None) -> Table:
    """The population that a project describes; `source` holds its data where they are not in a file."""
    return _tabulate(project, source)[0]


def _tabulate(project: Project, source: CountedTable | None) -> tuple[Table, tuple[str, ...]]:
    """The population, and sentences about rows that are not counted."""
    notes: tuple[str, ...] = ()
    if project.data is not None:
        table, records = tabulate_microdata(project, project.data, source)
        notes = records.notes
    elif project.tallies is not None:
        table = tabulate_elections(project, project.tallies)
    else:
        raise InputError("data and tallies: give exactly one of the sections [data] and [tallies]")
    for onlooker in project.onlookers:
        if onlooker.composition == "joint" and not table.knows_composition:
            raise InputError(
                f"onlookers: {onlooker.name!r} has composition = 'joint', but no roll file has all the axes; "
                "give a joint roll or say 'sizes'"
            )
    return table, notes


@dataclass(frozen=True)
class Book:
    """The ledger before a release: earlier releases about its population, and its people under their own names."""

    section: LedgerSection
    chain: Chain
    entries: tuple[Entry, ...] = ()
    members: Mapping[Person, Profile] | None = None
    target: Target = Target()
    weaker: tuple[str, ...] = ()
    """In which way the target is weaker than earlier ones; the reason is `section.weaker`."""


@dataclass(frozen=True)
class Inputs:
    """What was read for a project, each file once. `target` is that of the project, less epsilon that is used up."""

    project: Project
    table: Table
    onlookers: tuple[Onlooker, ...]
    book: Book | None = None
    notes: tuple[str, ...] = ()
    """Sentences about rows that are not counted, and about locked limits."""

    @property
    def target(self) -> Target:
        """What must not be learnt."""
        return self.project.target if self.book is None else self.book.target

    @property
    def slack(self) -> int:
        """How many votes a published count may be off, where sealed totals disagree."""
        return self.table.inconsistency.slack(int(self.table.totals.sum()))


def read_inputs(project: Project, source: CountedTable | None = None) -> Inputs:
    """Read a project; `source` holds its data where they are not in a file."""
    if source is None and project.data is not None:
        source = project.data.open()
    table, notes = _tabulate(project, source)
    for axis, category in project.target.sensitive:
        if category not in table.schema.axis(axis).index:
            raise InputError(f"target.sensitive.{axis}: there is no category {category!r}")
    # An earlier release may have listed a category in which nobody is left, so with a ledger all of them stay.
    table = table if project.ledger is not None else inhabited(table)
    book = None if project.ledger is None else _open_book(project, project.ledger, table, source)
    return Inputs(project, table, _onlookers(project, table, book), book, (*notes, *lock_notes(project)))


def _open_book(project: Project, section: LedgerSection, table: Table, source: CountedTable | None) -> Book:
    contents = open_ledger(section.file)
    entries = tuple(entry for entry in contents.entries if entry.population == section.population)
    check_same(section.file, entries, section.population, section.cycle, table.schema)
    target = project.target
    weaker = weaknesses(entries, target, section.epsilon_total)
    if weaker and section.weaker is None:
        raise InputError(
            f"{section.file}: population {section.population!r}: {weaker[0]}: the target is weaker; keep it, or record "
            "the reason as ledger.weaker"
        )
    if project.protect == "noise" or any(axis.epsilon is not None for axis in table.schema.axes):
        left = epsilon_left(section.file, entries, section.epsilon_total)
        target = replace(target, epsilon_max=min(target.epsilon_max, left))
    members = None
    if section.id is not None:
        people = tabulate_people(project, section.id, source)
        members = {person(section.population, name): profile for name, profile in people.items()}
    return Book(section, contents.chain, entries, members, target, tuple(weaker))


def _onlookers(project: Project, table: Table, book: Book | None) -> tuple[Onlooker, ...]:
    """The onlookers that a project names, with the rolls and facts they hold and what they remember."""
    stated = [section.correlations for section in project.onlookers if section.correlations is not None]
    files = dict.fromkeys([*(path for section in project.onlookers for path in section.facts), *stated])
    facts = {path: renamed(fact, project) for path, fact in zip(files, read_many(files), strict=True)}
    check_project_facts(tuple(facts.values()), table.schema)
    onlookers = []
    for section in project.onlookers:
        onlooker = onlooker_with_roll(table, section.composition, section.name, section.knows_rule)
        past = None
        if book is not None:
            rolls = roll_of(table, section.composition)
            by_group = book.section.assume == "groups"
            past = remember(book.entries, table.schema.names, book.section.cycle, rolls, book.members or {}, by_group)
        correlations = None if section.correlations is None else facts[section.correlations]
        if correlations is not None and not (correlations.is_exact and correlations.options):
            raise InputError(f"{section.correlations}: correlations need exact counts in 'count', by 'option'")
        held = tuple(facts[path] for path in section.facts)
        onlooker = replace(onlooker, facts=held, past=past, correlations=correlations, posterior=section.posterior)
        onlookers.append(onlooker)
    return tuple(onlookers)


DATA_KEYS = (
    "answer",
    "options",
    "blank",
    "count",
    "table",
    "missing",
    "skip",
    "contest",
    "labels",
    "encoding",
    "decimal",
    "engine",
    "master",
)
"""Arguments that are keys of the section [data]."""
BESIDE = ("target", "protect", "engine", "master")
"""Arguments that may be given beside a project, and go before what it says."""
IN_MEMORY = "data"
"""What messages call data that are in no file."""


def project_of(data: object, said: Mapping[str, Any]) -> tuple[Project, CountedTable | None]:
    """The project that the arguments of a call describe, and its data where they are not in a file.

    A project says everything itself: beside it, only another `target` and `protect` may be `said`.
    """
    if isinstance(data, Project) or (isinstance(data, str | Path) and Path(data).suffix == ".toml"):
        twice = [name for name in said if name not in BESIDE]
        if twice:
            raise InputError(
                f"{', '.join(twice)}: a project says all of this itself; omit it, or give the data instead"
            )
        project = data if isinstance(data, Project) else Project.load(data)
        other = {**(said["target"].stated() if "target" in said else {})}
        other |= {"protect": said["protect"]} if "protect" in said else {}
        changed: dict[str, object] = {"aims": project.aims.model_copy(update=other)}
        if engine := {key: said[key] for key in ("engine", "master") if key in said}:
            if project.data is None:
                raise InputError(f"{next(iter(engine))}: sealed tallies are not counted again; remove it")
            changed["data"] = project.data.model_copy(update=engine)
        return project.model_copy(update=changed), None
    for name, meaning in (("answer", "the column with the answers"), ("by", "the columns to count by")):
        if name not in said:
            raise InputError(f"{name} is missing: name {meaning}")
    is_distant = isinstance(data, str | Path) and is_address(str(data))
    if is_distant and isinstance(data, Path):  # the program's arguments, where a second slash is lost
        raise InputError("an address may hold a password, and others see command lines; give data.source in a project")
    content: dict[str, object] = {
        "data": {
            "source" if is_distant else "file": str(data) if isinstance(data, str | Path) else IN_MEMORY,
            **{key: said[key] for key in DATA_KEYS if key in said},
        },
        "axes": _axes(said["by"]),
        "target": {
            **(said["target"].stated() if isinstance(said.get("target"), Target) else said.get("target") or {}),
            **({"protect": said["protect"]} if "protect" in said else {}),
        },
        **{key: said[key] for key in ("title", "onlookers", "ledger", "tables", "outputs") if key in said},
    }
    if "roll" in said:
        content["roll"] = {"files": [str(path) for path in _listed(said["roll"])]}
    source = None if isinstance(data, str | Path) else open_data(data)
    return Project.build(content), source


def _axes(by: object) -> Mapping[str, object]:
    if isinstance(by, Mapping):
        return {str(name): dict(section) for name, section in by.items()}
    names = [str(name) for name in _listed(by)]
    if (twice := twice_in(names)) is not None:
        raise InputError(f"by: names {twice!r} twice")
    return {name: {} for name in names}


def _listed(value: Any) -> Iterable[Any]:
    return [value] if isinstance(value, str | Path) else value

"""Everything that a project reads: the table of counts, the ledger, and what every onlooker knows.

Microdata are grouped once in the engine; the rest is numpy. Only the combinations that occur are held, not the product
of the categories. Sealed elections are one tally per axis with the total beside them, and never two axes together.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from safemargin.core import (
    InputError,
    Onlooker,
    PublishedTable,
    Table,
    Target,
    frozen,
    onlooker_with_roll,
)
from safemargin.history.compare import check_cycle, check_same, overlap_notes
from safemargin.history.entries import epsilon_left, person, roll_of, weaknesses
from safemargin.history.file import Contents, open_ledger
from safemargin.history.names import about, name_in
from safemargin.history.questions import about_question, check_one_question
from safemargin.io import (
    Countable,
    check_project_facts,
    is_address,
    open_data,
    read_one,
    twice_in,
)
from safemargin.release.ledger.locks import lock_notes
from safemargin.release.microdata import (
    inhabited,
    open_records,
    tabulate_microdata,
    tabulate_people,
)
from safemargin.release.project import LedgerSection, Project
from safemargin.release.recording import LedgerContext, bands_of, remember, wave_notes
from safemargin.release.rolls import reading_notes, renamed
from safemargin.release.sealed import tabulate_elections


def tabulate(project: Project) -> Table:
    """The population that a project describes."""
    _one_question(project)
    return _tabulate(project, None)[0]


def _one_question(project: Project) -> None:
    if project.data is not None and project.data.has_questions:
        raise InputError(
            "data.answers: only `release` takes several questions; name one of them as data.answer "
            '(with blank = "skip", as people who did not answer it are not counted)'
        )


def _tabulate(project: Project, source: Countable | None) -> tuple[Table, tuple[str, ...]]:
    """The population, and sentences about rows that are not counted."""
    notes: tuple[str, ...] = ()
    if project.data is not None:
        table, notes = tabulate_microdata(project, project.data, source)
    elif project.tallies is not None:
        table, notes = tabulate_elections(project, project.tallies)
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
class Inputs:
    """What was read for a project, each file once. `target` is that of the project, less epsilon that is used up."""

    project: Project
    table: Table
    onlookers: tuple[Onlooker, ...]
    book: LedgerContext | None = None
    notes: tuple[str, ...] = ()
    """Sentences about rows that are not counted, and about locked limits."""

    @property
    def target(self) -> Target:
        """What must not be learnt."""
        target = self.project.target if self.book is None else self.book.target
        return _about(target, self.project, self.table)

    @property
    def slack(self) -> int:
        """How many votes a published count may be off, where sealed totals disagree."""
        return self.table.inconsistency.slack(int(self.table.totals.sum()))


def _about(target: Target, project: Project, table: Table) -> Target:
    """The target for the options of a table: the halves of a scale are secrets, too."""
    schema, secrets = table.schema, target.secrets
    secrets.check(schema.options)
    if not schema.ordered_options:
        return target
    wide = secrets.wide or (project.data is not None and project.data.ordered == "wide")
    return replace(target, secrets=replace(secrets, wide=wide).with_halves(schema.options))


def read_inputs(project: Project, source: Countable | None = None) -> Inputs:
    """Read a project; `source` holds its data where they are not in a file."""
    _one_question(project)
    if source is None and project.data is not None:
        source = open_records(project.data)
    table, notes = _tabulate(project, source)
    _about(project.target, project, table)
    for axis, category in project.target.sensitive:
        if category not in table.schema.axis(axis).index:
            raise InputError(f"target.sensitive.{axis}: there is no category {category!r}")
    # An earlier release may have listed a category in which nobody is left, so with a ledger all of them stay.
    table = table if project.ledger is not None else inhabited(table)
    book = None if project.ledger is None else _open_book(project, project.ledger, table, source)
    earlier = () if book is None else book.notes
    held = dict.fromkeys(path for section in project.onlookers for path in section.facts)
    facts = [note for path in held for note in reading_notes(read_one(path))]
    remarks = (*notes, *facts, *earlier, *lock_notes(project), *wave_notes(book))
    return Inputs(project, table, onlookers_of(project, table, book), book, remarks)


def _open_book(project: Project, section: LedgerSection, table: Table, source: Countable | None) -> LedgerContext:
    contents, name = open_ledger(section.file, section.population), "" if project.data is None else project.data.answer
    every = about(contents.entries, section.population)
    check_one_question(section.file, every, section.population, name, section.answers or "")
    return book_of(project, section, table, contents, name, source)


def book_of(
    project: Project,
    section: LedgerSection,
    table: Table,
    contents: Contents,
    question: str,
    source: Countable | None = None,
) -> LedgerContext:
    """The ledger before a release, as far as it is about one question."""
    every = about(contents.entries, section.population)
    entries, answers = about_question(every, question, section.answers or "")
    # Under the name that the ledger has: people are kept under hashes that depend on it.
    section = section.model_copy(update={"population": name_in(every, section.population), "answers": answers})
    check_cycle(section.file, every, section.population, section.cycle)
    rolls, bands = roll_of(table, "joint"), bands_of(project)
    net = None if section.id is not None else rolls
    check_same(section.file, entries, section.population, section.cycle, table.schema, net, bands)
    target = _about(project.target, project, table)
    weaker = weaknesses(entries, target, section.epsilon_total)
    if weaker and section.weaker is None:
        raise InputError(
            f"{section.file}: population {section.population!r}: {weaker[0]}: the target is weaker; keep it, or record "
            "the reason as ledger.weaker"
        )
    if project.protect == "noise" or any(axis.epsilon is not None for axis in table.schema.axes):
        left = epsilon_left(section.file, entries, section.epsilon_total)
        target = replace(target, epsilon_max=min(target.epsilon_max, left))
    people = {} if section.id is None else tabulate_people(project, section.id, source)
    members = {person(section.population, name): profile for name, profile in people.items()}
    notes = overlap_notes(contents.entries, section.population, rolls, people)
    seen = len(every)
    return LedgerContext(section, contents.chain, entries, members or None, target, tuple(weaker), tuple(notes), seen)


def onlookers_of(project: Project, table: Table, book: LedgerContext | None) -> tuple[Onlooker, ...]:
    """The onlookers that a project names, with the rolls and facts they hold and what they remember."""
    stated = [section.correlations for section in project.onlookers if section.correlations is not None]
    files = dict.fromkeys([*(path for section in project.onlookers for path in section.facts), *stated])
    facts = {path: tuple(renamed(fact, project) for fact in read_one(path).tables()) for path in files}
    check_project_facts([fact for held in facts.values() for fact in held], table.schema)
    onlookers = []
    for section in project.onlookers:
        onlooker = _widened(onlooker_with_roll(table, section.composition, section.name, section.knows_rule), table)
        past, apart = None, () if book is None else book.apart
        if book is not None:
            rolls = roll_of(table, section.composition)
            by_group = book.section.assume == "groups"
            past = remember(book.tied, table.schema.names, book.section.cycle, rolls, book.members or {}, by_group)
        correlations = None if section.correlations is None else _one_of(section.correlations, facts)
        if correlations is not None and not (correlations.is_exact and correlations.options):
            raise InputError(f"{section.correlations}: correlations need exact counts in 'count', by 'option'")
        held = tuple(fact for path in section.facts for fact in facts[path])
        _check_axes(held, section.composition, table)
        onlooker = replace(
            onlooker, facts=held, past=past, apart=apart, correlations=correlations, posterior=section.posterior
        )
        onlookers.append(onlooker)
    return tuple(onlookers)


def _check_axes(facts: Sequence[PublishedTable], composition: str, table: Table) -> None:
    """Refuse facts about answers under another name, and about axes that a joint roll does not have."""
    names, options = table.schema.names, {*table.schema.options}
    for fact in facts:
        for axis, groups in zip(fact.axes, fact.groups, strict=True):
            if axis in names:
                continue
            if frozenset().union(*groups) <= options:
                raise InputError(f"{fact.name}: column {axis!r} holds answers; call it 'option'")
            if composition == "joint":
                raise InputError(
                    f"{fact.name}: column {axis!r} is no axis of the project ({', '.join(names)}); an onlooker with a "
                    "joint roll can hold facts about its axes alone"
                )


def _one_of(path: Path, facts: Mapping[Path, tuple[PublishedTable, ...]]) -> PublishedTable:
    if len(facts[path]) > 1:
        raise InputError(f"{path}: has sums beside the counts; correlations need the counts of groups alone")
    return facts[path][0]


def _widened(onlooker: Onlooker, table: Table) -> Onlooker:
    """Where turnout is apart, elections differ in who answered: every size of a group is as uncertain as the counts."""
    slack = table.inconsistency.slack(int(table.totals.sum()))
    if not (table.inconsistency.apart and slack):
        return onlooker
    rolls = tuple(
        replace(roll, lower=frozen(np.maximum(roll.lower - slack, 0)), upper=frozen(roll.upper + slack))
        for roll in onlooker.roll
    )
    return replace(onlooker, roll=rolls)


DATA_KEYS = (
    "answer",
    "answers",
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


def project_of(data: object, overrides: Mapping[str, Any]) -> tuple[Project, Countable | None]:
    """The project that the arguments of a call describe, and its data where they are not in a file.

    A project says everything itself: beside it, only another `target` and `protect` may be in `overrides`.
    """
    if isinstance(data, Project) or (isinstance(data, str | Path) and Path(data).suffix == ".toml"):
        twice = [name for name in overrides if name not in BESIDE]
        if twice:
            raise InputError(
                f"{', '.join(twice)}: a project says all of this itself; omit it, or give the data instead"
            )
        project = data if isinstance(data, Project) else Project.load(data)
        other = {**(overrides["target"].stated() if "target" in overrides else {})}
        other |= {"protect": overrides["protect"]} if "protect" in overrides else {}
        changed: dict[str, object] = {"aims": project.aims.model_copy(update=other)}
        if engine := {key: overrides[key] for key in ("engine", "master") if key in overrides}:
            if project.data is None:
                raise InputError(f"{next(iter(engine))}: sealed tallies are not counted again; remove it")
            changed["data"] = project.data.model_copy(update=engine)
        return project.model_copy(update=changed), None
    for name, meaning in (("answer", "the column with the answers"), ("by", "the columns to count by")):
        if name not in overrides and not (
            name == "answer" and ("answers" in overrides or isinstance(overrides.get("options"), Mapping))
        ):
            raise InputError(f"{name} is missing: name {meaning}")
    is_distant = isinstance(data, str | Path) and is_address(str(data))
    if is_distant and isinstance(data, Path):  # the program's arguments, where a second slash is lost
        raise InputError("an address may hold a password, and others see command lines; give data.source in a project")
    content: dict[str, object] = {
        "data": {
            "source" if is_distant else "file": str(data) if isinstance(data, str | Path) else IN_MEMORY,
            **{key: overrides[key] for key in DATA_KEYS if key in overrides},
        },
        "axes": _axes(overrides["by"]),
        "target": {
            **(
                overrides["target"].stated()
                if isinstance(overrides.get("target"), Target)
                else overrides.get("target") or {}
            ),
            **({"protect": overrides["protect"]} if "protect" in overrides else {}),
        },
        **{
            key: overrides[key]
            for key in ("title", "questions", "onlookers", "ledger", "tables", "outputs")
            if key in overrides
        },
    }
    if "roll" in overrides:
        content["roll"] = {"files": [str(path) for path in _listed(overrides["roll"])]}
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


def command_of(
    data: object,
    answer: str | None,
    by: Sequence[str] | Mapping[str, Mapping[str, object]] | None,
    protect: str | None,
    target: Target | None,
    answers: str | Sequence[str] | None = None,
) -> str:
    """How to make the release again; nothing where the data are in no file."""
    if not isinstance(data, str | Path) or is_address(str(data)):
        return ""
    names = [by] if isinstance(by, str) else list(by or ())
    listed = answers if isinstance(answers, str) else ",".join(answers or ())
    flags = {"--answer": answer or "", "--answers": listed, "--by": ",".join(names), "--protect": protect or ""}
    if target is not None:
        flags |= {"--beta": f"{target.beta:g}", "--kappa": str(target.kappa), "--tau": str(target.tau)}
    return " ".join(["safemargin release", str(data), *(f"{flag} {value}" for flag, value in flags.items() if value)])

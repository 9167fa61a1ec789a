"""Several questions about the same people: which there are, and the table of each, from one read of the data.

Objects
    q           a question: one column of the data, one contest, or several columns that are tied
    T_q[e, o]   people of profile e (one category per axis) who chose option o of question q
    N_q[e]      those who answered q: the roll of the question, which onlookers know
    N[e]        everybody in the data: the roll from which groups that all questions share are made

Product (section 3 of the specification of answers)
    Tables of one question say nothing certain about another, as long as no table crosses two questions and no public
    logic ties them. Questions that are tied (`data.linked`) or crossed (`tables.questions`) form one question: each
    connected component has composite options, one per combination of its members' options, and is about those who
    answered all of them.

Invariants
    A blank answer is nobody of that question: the sum of `T_q[e]` over its options is `N_q[e]`.
    The data are read once, whatever the number of questions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import product

import numpy as np

from safemargin.core import SIGN, InputError, IntArray, Schema, Table, Tally, TooLargeError, frozen, row_keys
from safemargin.io import Countable, Profiles, natural_order
from safemargin.release.coding import Coding
from safemargin.release.columns import DataSection
from safemargin.release.microdata import coded_axis, open_records, people_of, read_records
from safemargin.release.project import Project
from safemargin.release.question_sections import QuestionSection
from safemargin.ui import plural

MOST_OPTIONS = 64
"""Composite options of tied questions; with more, a group would have hardly anybody for each."""
MOST_QUESTIONS = 1_000
TIED = " + "
"""Between the options of tied questions in a composite option."""


@dataclass(frozen=True)
class SurveyQuestion:
    """One question, with the table of those who answered it; `members` are the tied questions that it is made of."""

    name: str
    table: Table
    section: QuestionSection = QuestionSection()
    members: tuple["SurveyQuestion", ...] = ()

    @property
    def label(self) -> str:
        """The question as pages show it."""
        return self.section.label or self.name

    @property
    def options(self) -> tuple[str, ...]:
        """Its options, in order."""
        return self.table.schema.options

    @property
    def is_ordered(self) -> bool:
        """Whether the options are a scale."""
        return self.table.schema.ordered_options

    @cached_property
    def people(self) -> int:
        """How many answered it."""
        return int(self.table.totals.sum())


@dataclass(frozen=True)
class Battery:
    """All questions of a project. `table` has everybody: its roll is the one that common groups are made from."""

    questions: tuple[SurveyQuestion, ...]
    table: Table
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Answers:
    """The answers of one question, by row of the data; -1 is nobody of that question."""

    name: str
    options: tuple[str, ...]
    chosen: IntArray
    section: QuestionSection
    is_scale: bool = False
    """Whether the options are those of all questions, which the project calls a scale."""


def read_battery(project: Project, source: Countable | None = None) -> Battery:
    """The questions of a project, each with its table."""
    data = project.data
    assert data is not None
    data = data.model_copy(update={"blank": None if data.skips_blank else data.blank})  # of each question by itself
    opened = source or open_records(data)
    columns = _question_columns(project, data, opened)
    counted = [data.count] if data.count else []
    contests = [data.contests] if data.contests is not None else []
    wanted = dict.fromkeys([*_axis_columns(project), *columns, *contests, *counted])
    profiles, notes = read_records(project, data, wanted, opened, counted)
    people = people_of(data, profiles)
    axes = [coded_axis(project, data.place, profiles, name, ()) for name in project.axes]
    codes = np.stack([column for _, column in axes], axis=1)
    sizes = [len(axis.categories) for axis, _ in axes]
    _, first, row = np.unique(row_keys(codes, sizes), return_index=True, return_inverse=True)
    schema = Schema(tuple(axis for axis, _ in axes), ("answered",))
    answers = _contests(project, data, profiles) if contests else [_read(project, data, profiles, c) for c in columns]
    _check_sections(project, [each.name for each in answers])
    profile = _Profiles(schema, frozen(codes[first], len(axes)), row, people)
    everybody = profile.tally(np.zeros(len(people), dtype=np.int64), 1)
    if not int(everybody.counts.sum()):
        raise InputError(f"{data.place}: column {data.count!r} counts nobody; the table is empty")
    questions = [profile.question(*part) for part in _components(project, data, answers)]
    return Battery(
        tuple(questions), Table(schema, (everybody,), (everybody,)), (*notes, *_silent(questions, everybody))
    )


@dataclass(frozen=True)
class _Profiles:
    """The occupied profiles, the profile of each row of the data, and the people it stands for."""

    schema: Schema
    codes: IntArray
    row: IntArray
    people: IntArray

    def tally(self, chosen: IntArray, width: int) -> Tally:
        """People per profile and option; rows with -1 are not counted, and profiles without anybody are omitted."""
        counts = np.zeros(len(self.codes) * width, dtype=np.int64)
        said = chosen >= 0
        np.add.at(counts, self.row[said] * width + chosen[said], self.people[said])
        table = counts.reshape(-1, width)
        somebody = table.any(axis=1)
        return Tally(
            self.schema.names, frozen(self.codes[somebody], self.codes.shape[1]), frozen(table[somebody], width)
        )

    def question(self, whole: _Answers, parts: Sequence[_Answers]) -> SurveyQuestion:
        """A question with its table, and its members with theirs where it is made of several."""
        votes = self.tally(whole.chosen, len(whole.options))
        if not len(votes.counts):
            raise InputError(f"question {whole.name!r}: nobody answered it; remove it from data.answers")
        roll = Tally(votes.axes, votes.codes, frozen(votes.counts.sum(axis=1), 1))
        schema = Schema(self.schema.axes, whole.options, _is_ordered(whole))
        table = Table(schema, (votes,), (roll,))
        if not parts:
            return SurveyQuestion(whole.name, table, whole.section)
        members = tuple(self.question(part, ()) for part in parts)
        return SurveyQuestion(whole.name, table, whole.section, members)


def _is_ordered(answers: _Answers) -> bool:
    if answers.section.ordered is not None:
        return answers.section.ordered
    return (
        answers.is_scale
        or len(answers.options) > 2
        and all(option.strip().lstrip("-").isdigit() for option in answers.options)
    )


def _axis_columns(project: Project) -> list[str]:
    return [column for name, axis in project.axes.items() for column in (project.column(name), *(axis.levels or ()))]


def _question_columns(project: Project, data: DataSection, source: Countable) -> tuple[str, ...]:
    """The columns with answers, in order."""
    if data.contests is not None:
        if data.answers:
            raise InputError("data.contest and data.answers: give a column of contests, or a column per question")
        return (data.answer,)
    if not isinstance(data.answers, str):
        return data.answers
    taken = {*_axis_columns(project), data.count, *data.skip, *data.contest}
    present = getattr(source, "columns", None)
    if present is None:
        raise InputError(f"data.answers = {data.answers!r}: a pattern needs a file; list the columns instead")
    found = tuple(name for name in present if fnmatchcase(name, data.answers) and name not in taken)
    if not found:
        listed = ", ".join(map(repr, [name for name in present if name not in taken][:10]))
        raise InputError(f"data.answers = {data.answers!r}: matches no column of {data.place}; there are {listed}")
    return found


def _check_sections(project: Project, names: Sequence[str]) -> None:
    data = project.data
    assert data is not None
    if len(names) > MOST_QUESTIONS:
        raise TooLargeError(f"data.answers: there are {len(names):,} questions, more than {MOST_QUESTIONS:,}")
    listed = ", ".join(names[:10]) + (" ..." if len(names) > 10 else "")
    named = [(f"questions.{name}", name) for name in project.questions]
    named += [("data.linked", name) for group in data.linked for name in group]
    named += [("tables.questions", name) for group in project.tables.questions for name in group]
    for key, name in named:
        if name not in names:
            raise InputError(f"{key}: there is no question {name!r}; the questions are {listed}")


def _coding(data: DataSection, section: QuestionSection) -> Coding:
    return Coding(frozenset(data.missing), section.blank or data.blank or "", {**data.labels, **section.labels})


def _read(project: Project, data: DataSection, profiles: Profiles, column: str) -> _Answers:
    labels, codes = profiles.column(column)
    section = project.questions.get(column, QuestionSection())
    options, chosen = _options(f"{data.place}: column {column!r}", data, section, column, labels)
    is_scale = bool(data.ordered and data.listed and not section.options)
    return _Answers(column, options, chosen[codes], section, is_scale)


def _contests(project: Project, data: DataSection, profiles: Profiles) -> list[_Answers]:
    """One question per value of the column of contests: rows of the others are nobody of it."""
    assert data.contests is not None
    names, which = profiles.column(data.contests)
    labels, codes = profiles.column(data.answer)
    answers = []
    for place in sorted(range(len(names)), key=lambda place: natural_order(names[place])):
        name, inside = names[place], which == place
        if name in data.missing:
            raise InputError(f"{data.place}: column {data.contests!r} is empty for some rows; data.skip can skip them")
        section = project.questions.get(name, QuestionSection())
        used = np.unique(codes[inside]).tolist()
        where = f"{data.place}: contest {name!r}"
        options, chosen = _options(where, data, section, name, [labels[code] for code in used])
        found = np.full(len(labels), -1, dtype=np.int64)
        found[used] = chosen
        answers.append(_Answers(name, options, np.where(inside, found[codes], -1), section))
    return answers


def _options(
    where: str, data: DataSection, section: QuestionSection, name: str, labels: Sequence[str]
) -> tuple[tuple[str, ...], IntArray]:
    """The options of a question, and the option of each label; -1 where it is no answer."""
    coding = _coding(data, section)
    texts = [coding.category(label) for label in labels]
    listed = section.options or data.listed
    seen = sorted({text for text in texts if text}, key=natural_order)
    options = tuple(dict.fromkeys(map(coding.label, listed))) if listed else tuple(seen)
    places = {option: place for place, option in enumerate(options)}
    for text in texts:
        if text and text not in places:
            key = f"questions.{name}.options" if section.options else "data.options"
            raise InputError(f"{where}: unknown answer {text!r}; {key} are {', '.join(options)}")
    if not options:
        raise InputError(f"{where}: is empty for everybody; remove it from data.answers")
    return options, np.array([places[text] if text else -1 for text in texts], dtype=np.int64)


def _components(
    project: Project, data: DataSection, answers: Sequence[_Answers]
) -> Iterable[tuple[_Answers, Sequence[_Answers]]]:
    """The questions in order; those that are linked or crossed as one, at the place of the first."""
    home = {each.name: each.name for each in answers}

    def root(name: str) -> str:
        while home[name] != name:
            name = home[name]
        return name

    for first, *others in (*data.linked, *project.tables.questions):
        for other in others:
            home[root(other)] = root(first)
    parts: dict[str, list[_Answers]] = {}
    for each in answers:
        parts.setdefault(root(each.name), []).append(each)
    for members in parts.values():
        yield (members[0], ()) if len(members) == 1 else (_composite(members), members)


def _composite(parts: Sequence[_Answers]) -> _Answers:
    """Tied questions as one: an option per combination of theirs, about those who answered all of them."""
    name, count = SIGN.join(part.name for part in parts), int(np.prod([len(part.options) for part in parts]))
    if count > MOST_OPTIONS:
        raise TooLargeError(
            f"questions {name}: together they have {count:,} combinations of options, more than {MOST_OPTIONS}; "
            "link or cross fewer questions"
        )
    options = tuple(TIED.join(chosen) for chosen in product(*(part.options for part in parts)))
    codes = np.zeros(len(parts[0].chosen), dtype=np.int64)
    silent = np.zeros(len(codes), dtype=bool)
    for part in parts:
        codes = codes * len(part.options) + np.maximum(part.chosen, 0)
        silent |= part.chosen < 0
    label = SIGN.join(part.section.label or part.name for part in parts)
    themes = dict.fromkeys(part.section.theme for part in parts)
    section = QuestionSection(label=label, theme=next(iter(themes)) if len(themes) == 1 else None, ordered=False)
    return _Answers(name, options, np.where(silent, -1, codes), section)


def _silent(questions: Sequence[SurveyQuestion], everybody: Tally) -> list[str]:
    """What is said about people who are in the data and did not answer a tied question in full."""
    notes = []
    for question in questions:
        most = max((member.people for member in question.members), default=question.people)
        if question.people < most:
            left = plural(most - question.people, "person")
            notes.append(f"{question.name}: {left} who answered only a part of it are not counted.")
    return notes

"""Everything that a project with several questions reads, and what is secret about each of them.

Each question is judged like a release of its own, with its own table, roll, options and secrets. The secrets of a
question that is made of tied ones are those of its composite options, and every secret of a member as a union of
composite options: `S` of member m becomes the set of all combinations whose option of m is in `S`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from safemargin.core import InputError, Secrets
from safemargin.history.file import Contents, open_ledger
from safemargin.history.names import about, name_in
from safemargin.history.questions import check_questions, new_notes
from safemargin.io import Countable
from safemargin.release.inputs import Inputs, book_of, onlookers_of
from safemargin.release.ledger.locks import lock_notes
from safemargin.release.project import Project
from safemargin.release.questions import TIED, Battery, SurveyQuestion, read_battery
from safemargin.release.recording import LedgerContext, wave_notes


@dataclass(frozen=True)
class QuestionInputs:
    """What was read for a project with several questions: one `Inputs` per question, in their order."""

    project: Project
    battery: Battery
    each: tuple[Inputs, ...]
    book: LedgerContext | None = None
    """The ledger before the release; every question has its own view of it."""


def read_questions(project: Project, source: Countable | None = None) -> QuestionInputs:
    """Read a project with several questions; the data are read once."""
    _check(project)
    battery = read_battery(project, source)
    for axis, category in project.target.sensitive:
        if category not in battery.table.schema.axis(axis).index:
            raise InputError(f"target.sensitive.{axis}: there is no category {category!r}")
    if project.ledger is None:
        return QuestionInputs(project, battery, tuple(_inputs(project, question) for question in battery.questions))
    section, names = project.ledger, [question.name for question in battery.questions]
    contents = open_ledger(section.file, section.population)
    entries = about(contents.entries, section.population)
    check_questions(section.file, entries, section.population, names, section.answers or "")
    each = tuple(_inputs(project, question, contents) for question in battery.questions)
    section = section.model_copy(update={"population": name_in(entries, section.population)})
    notes = [*lock_notes(project), *(new_notes(entries, names) if section.answers == "kept" else [])]
    book = LedgerContext(section, contents.chain, entries, None, project.target, notes=tuple(notes), seen=len(entries))
    said = replace(battery, notes=(*battery.notes, *notes, *wave_notes(book)))
    return QuestionInputs(project, said, each, book)


def _check(project: Project) -> None:
    """Refuse what is about one question, or would tie several."""
    assert project.data is not None
    noised = [name for name, axis in project.axes.items() if axis.epsilon is not None]
    wrong = {
        "roll": (project.roll is not None, "the roll of a question is the people who answered it; remove [roll]"),
        "ledger.id": (
            project.ledger is not None and project.ledger.id is not None,
            'people are not followed by name; set turnover = "net"',
        ),
        'target.protect = "noise"': (project.protect == "noise", "noise is for one question; choose another"),
        "axes": (bool(noised), "an axis with epsilon is for one question; remove epsilon"),
        "onlookers": (
            any(section.facts or section.correlations is not None for section in project.declared),
            "facts and correlations are about one question; remove them",
        ),
        "outputs.formats": (
            bool({"px", "sdmx.csv"} & set(project.outputs.formats)),
            "px and sdmx.csv hold one question; choose csv, json or parquet",
        ),
        "data.options": (project.data.side_by_side is not None, "counts side by side are about one question"),
        "axes.question": (
            "question" in project.axes,
            "the name is that of a column of the files; set axes.NAME.column",
        ),
    }
    for key, (is_wrong, why) in wrong.items():
        if is_wrong:
            raise InputError(f"{key}: with several questions (data.answers), {why}")


def _inputs(project: Project, question: SurveyQuestion, contents: Contents | None = None) -> Inputs:
    """One question as a project of its own, with what the ledger holds of it."""
    assert project.data is not None
    secrets = _secrets(project, question)
    aims = project.aims.model_copy(update={"secrets": secrets})
    data = project.data.model_copy(update={"labels": {}, "ordered": question.is_ordered})
    own = project.model_copy(update={"aims": aims, "data": data})
    book = None
    if contents is not None and project.ledger is not None:
        book = book_of(own, project.ledger, question.table, contents, question.name)
    return Inputs(
        own, question.table, onlookers_of(own, question.table, book), book, () if book is None else book.notes
    )


def _secrets(project: Project, question: SurveyQuestion) -> Secrets:
    if question.members:
        unions = {union for place, member in enumerate(question.members) for union in _unions(project, question, place)}
        every = len(question.options)
        kept = [union for union in sorted(unions) if 1 < len(union) < every]
        return Secrets(Secrets.parse(project.aims.secrets).default, sets=tuple(kept))
    assert project.data is not None
    stated, key = question.section.secrets, f"questions.{question.name}.secrets"
    if stated is None:
        stated, key = project.aims.secrets, "target.secrets"
    secrets = Secrets.parse(stated, key).renamed({**project.data.labels, **question.section.labels})
    secrets.check(question.options, key)
    return secrets


def _unions(project: Project, question: SurveyQuestion, place: int) -> Iterable[tuple[str, ...]]:
    """The secrets of a member as sets of composite options."""
    member, options = question.members[place], [member.options for member in question.members]
    secrets = _secrets(project, member)
    if secrets.least:
        raise InputError(f"questions.{member.name}.secrets: least is not for linked or crossed questions; remove it")
    if member.is_ordered:
        secrets = secrets.with_halves(member.options)
    combinations = list(product(*options))
    for column in secrets.columns(member.options):
        inside = {member.options[number] for number in column.members}
        sides: Sequence[tuple[bool, bool]] = ((column.has_ceiling, True), (column.has_floor, False))
        for is_secret, wanted in sides:
            if is_secret:
                yield tuple(sorted(TIED.join(chosen) for chosen in combinations if (chosen[place] in inside) is wanted))

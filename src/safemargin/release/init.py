"""A first project file for an unknown data file: every guess is explained beside it, for a person to check."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import combinations
from pathlib import Path

from safemargin.core import RESERVED, InputError, OutputError, Target
from safemargin.io import Survey, open_source, read_one, reading_words, tables_in
from safemargin.release.amounts import refuse_amounts
from safemargin.release.guess import MOST_AXES, AxisGuess, Guess, Hints, guess, questions_alone
from safemargin.release.layout import CountLayout, side_by_side
from safemargin.ui import SCHEMA, Document, Paragraph, Report, Result, exact_percent, plural, write_text

SHOWN = 6
"""How many values a comment lists."""

WIDEST = 100
"""How many characters it takes for that."""

LOW, HIGH = exact_percent(Target.beta), exact_percent(1 - Target.beta)
CLOSING = f"""\
[target]
beta = {Target.beta}          # nothing may show that over {HIGH} of a group chose one option; of two, nor under {LOW}
kappa = {Target.kappa}           # nobody is published in a group of fewer people
tau = {Target.tau}              # no count may have an interval of {Target.tau} people or less
epsilon_max = {Target.epsilon_max}    # the most that noise may cost anyone
protect = "auto"     # near-unanimous groups: merge along an order or wider areas, else suppress them alone

# Who to defend against. Without this it is one onlooker who knows the rule and how many people there are of each kind.
# [[onlookers]]
# name = "neighbour"
# composition = "joint"    # what of the roll they know: "none", "sizes" of each category, or "joint"
# knows_rule = true        # whether they know how groups were chosen for protection
# facts = ["facts.csv"]    # tidy files of what else they know

"""

TABLES = """\
# Tables of several axes beside the single ones, as many as are safe together; single cells are suppressed where needed.
# With them, nothing is shown against somebody who knows the rule and runs it backwards.
# [tables]
# margins = [{margins}]{more}

"""
MOST_PROPOSED = 3
"""Tables of two axes that are proposed by name."""

OUTPUTS = """\
# Where releases about the same people are recorded and held against each other; `safemargin lock` writes limits there.
# [ledger]
# file = "ledger.sqlite"
# population = {title}
# cycle = "2026"           # which of its releases this is
# answers = "new"          # people were asked again; "kept": the same answers are published again
# turnover = "net"         # or id = "...", the column that names a person in every cycle
# lock = true              # refuse a release whose limits were not locked before the count

[outputs]
formats = ["csv", "json"]    # also "xlsx", "parquet", "px", "sdmx.csv"
"""


@dataclass(frozen=True)
class Proposal(Result):
    """A project file to read, edit and keep; `file` is how its text names the data file."""

    data: Path
    text: str
    file: str

    def to_json(self) -> Document:
        """The document of `init --json`, for the file that `write` writes by default."""
        return {"schema": SCHEMA, "project": "project.toml", "text": self.text}

    def to_report(self) -> Report:
        """The text of the project file."""
        return Report(f"Project for {self.data.name}", Paragraph(self.text.rstrip(), "code"))

    def write(self, path: Path | str | None = None) -> Path:
        """Write the project file, by default into the current folder, where there is none yet."""
        target = Path("project.toml" if path is None else path)
        if target.exists():
            raise OutputError(f"{target}: exists already; name another file")
        named = f"file = {_text(_seen_from(target.parent, self.data))}"
        write_text(target, self.text.replace(f"file = {_text(self.file)}", named, 1))
        return target


def _seen_from(folder: Path, file: Path) -> str:
    """A file as a project in `folder` names it."""
    try:
        return Path(os.path.relpath(file.resolve(), folder.resolve())).as_posix()
    except ValueError:  # another drive of Windows
        return file.resolve().as_posix()


def init(
    data: Path | str,
    *,
    answer: str | None = None,
    answers: Sequence[str] | str | None = None,
    count: str | None = None,
    encoding: str | None = None,
) -> Proposal:
    """Look at the columns of a data file and propose a commented project file to edit.

    `answer` names the column with the answer, `answers` those of several questions (a list, or a pattern such as `q*`),
    `count` the column with the number of people that a row stands for. `encoding` is that of a CSV file.
    """
    file = _seen_from(Path(), Path(data))
    if answer is not None and answers is not None:
        raise InputError("answer and answers: give at most one of them")
    return Proposal(Path(data), propose_project(Path(data), file, answer, answers, count, encoding), file)


def propose_project(
    path: Path,
    file: str,
    answer: str | None = None,
    answers: Sequence[str] | str | None = None,
    count: str | None = None,
    encoding: str | None = None,
) -> str:
    """The text of a project file that names the data file at `path` as `file`."""
    tables = tables_in(path)
    try:
        source = open_source(path, tables[0] if tables else None, encoding)
        survey = source.survey()
    except InputError as error:
        raise type(error)(f"{error}{_as_table(path)}") from None
    if survey.rows == 0:
        raise InputError(f"{path}: the table is empty")
    refuse_amounts(path, survey, count)
    hints = Hints(answer, _matching(path, survey, answers), count)
    wide = side_by_side(survey) if hints == Hints() else None
    if wide is not None:
        shown = [*_head_lines(path, file, tables, survey, encoding), *_wide_lines(wide)]
        closing = CLOSING + _tables(wide.labels) + OUTPUTS.format(title=_text(_title(path)))
        return "\n".join(shown) + "\n" + closing
    guessed = guess(path, source, survey, hints)
    if guessed is None:
        if (asked := questions_alone(survey, hints)) is not None:
            raise InputError(
                f"{path}: {plural(len(asked), 'column')} look like questions ({_listed(asked)}), and no other column "
                "says who people are: add one to count by, such as a site or an age; or --answer takes one of them, "
                "and counts by the others"
            )
        raise InputError(
            f"{path}: no columns fit: one with the answer (2 to 12 different values) and one to count by are needed; "
            f"the columns are {', '.join(source.columns)}{_as_table(path)}"
        )
    head = _head_lines(path, file, tables, survey, encoding)
    lines = [*head, *_data_lines(guessed), "", *_question_lines(guessed), *_skipped_lines(guessed)]
    for axis in guessed.axes:
        lines += _axis_lines(axis)
    lines += _further_lines(guessed)
    for number in guessed.numbers:
        lines += _number_lines(number)
    closing = CLOSING + _tables([axis.column for axis in guessed.axes])
    return "\n".join(lines) + "\n" + closing + OUTPUTS.format(title=_text(_title(path)))


def _as_table(path: Path) -> str:
    """What to do with a file that is no file of records, but a table of counts as offices print it."""
    try:
        read = read_one(path)
    except InputError:
        return ""
    return (
        f"; read as a table of counts: {reading_words(read)} `audit` and `suppress` take it as it is; for a release, "
        "save it with a row per group and answer, without sums"
    )


def _matching(path: Path, survey: Survey, answers: Sequence[str] | str | None) -> tuple[str, ...]:
    """The columns that are stated to be questions; a text may be a pattern, or names with commas between."""
    if answers is None:
        return ()
    found: list[str] = []
    for pattern in answers.split(",") if isinstance(answers, str) else answers:
        columns = [name for name in survey.distinct if name == pattern.strip() or fnmatchcase(name, pattern.strip())]
        if not columns:
            listed = ", ".join(survey.distinct)
            raise InputError(f"{path}: answers = {pattern[:60]!r}: matches no column; the columns are {listed}")
        found += columns
    return tuple(dict.fromkeys(found))


def _title(path: Path) -> str:
    return path.name.split(".")[0]


def _tables(columns: Sequence[str]) -> str:
    """The first pairs of axes; nothing where there is one axis only."""
    pairs = list(combinations(columns, 2))
    listed = ", ".join(f"[{_text(_name(first))}, {_text(_name(second))}]" for first, second in pairs[:MOST_PROPOSED])
    more = f'    # or pairs = "all": all {len(pairs)} pairs' if len(pairs) > MOST_PROPOSED else ""
    return TABLES.format(margins=_comment(listed), more=more) if pairs else ""


def _head_lines(path: Path, file: str, tables: tuple[str, ...], survey: Survey, encoding: str | None) -> Iterator[str]:
    yield f"# Proposed from {_comment(path.name)} ({survey.rows} rows). Every line is a guess: check it."
    yield f"title = {_text(_title(path))}"
    yield ""
    yield "[data]"
    yield f"file = {_text(file)}"
    if tables:
        others = f"    # other tables: {_comment(', '.join(tables[1:]))}" if len(tables) > 1 else ""
        yield f"table = {_text(tables[0])}{others}"
    if encoding is not None:
        yield f"encoding = {_text(encoding)}"


DOUBT = """\
# QUESTION: what is a row of this file? Its columns of numbers may be counts of answers side by side. Remove the
# sign # before the line that is true. Nothing is counted before that: {rows} groups might be taken for {rows} people.
# options = {options}    # counts of answers, a column each
# answer = "..."    # rows are people: the column with their answer"""


def _wide_lines(wide: CountLayout) -> Iterator[str]:
    """Counts side by side: the columns of the options and of the rows."""
    parts = [f"columns = [{', '.join(map(_text, wide.columns))}]"]
    parts += [f"uncounted = [{', '.join(map(_text, wide.uncounted))}]"] if wide.uncounted else []
    parts += [f"total = {_text(wide.total)}"] if wide.total else []
    options = f"{{{', '.join(parts)}}}"
    if wide.is_sure:
        added = f"; they add up to {wide.total}" if wide.total else ""
        yield f"options = {options}    # counts side by side, a column per option{_comment(added)}"
    else:
        yield DOUBT.format(rows=wide.rows, options=_comment(options))
    for name, value in (wide.sums or {}).items():
        yield f"skip = {{{_quoted(name)} = [{_text(value)}]}}    # the row that adds up the others"
        break
    yield ""
    for name in wide.others:
        yield f"# Skipped: column {_comment(repr(name))} is no count of an answer."
    for name in wide.labels:
        yield f"[axes.{_key(name)}]"
        yield f"column = {_text(name)}"
        yield ""


def _question_lines(guessed: Guess) -> Iterator[str]:
    """Words about single questions, to be filled in."""
    asked = guessed.questions
    for name, (options, is_ordered) in guessed.own.items():
        yield f"[questions.{_quoted(name)}]    # what people chose is a question, never an axis"
        if asked is not None and asked.options:
            yield f"options = [{', '.join(map(_text, options))}]"
        if is_ordered:
            yield "ordered = true"
        yield ""
    if asked is not None:
        yield "# What a question is called, and how it differs from the others:"
        yield f"# [questions.{_comment(_quoted(asked.columns[0]))}]"
        yield '# label = "..."'
        yield ""


def _data_lines(guessed: Guess) -> Iterator[str]:
    asked = guessed.questions
    if asked is not None:
        listed = ", ".join(map(_text, (*asked.columns, *asked.others)))
        few = f": {_listed(asked.options)}" if asked.options else ""
        said = f"{len(asked.columns)} questions{few}" + (f", and {_listed(asked.others)}" if asked.others else "")
        yield f"answers = [{listed}]    # {said}; blank: did not answer it"
    else:
        yield f"answer = {_text(guessed.answer)}    # {len(guessed.answers)} answers: {_listed(guessed.answers)}"
        if guessed.rivals:
            listed = _listed(guessed.rivals)
            yield f"# QUESTION: is that the answer? Else it may be {listed}; init --answer NAME takes another."
    options = guessed.answers if asked is None else asked.options
    is_ordered = guessed.is_ordered if asked is None else asked.is_ordered
    if is_ordered:
        yield f"options = [{', '.join(map(_text, options))}]"
        yield "ordered = true    # a scale, from low to high; check the order"
    if guessed.renamed:
        yield f"labels = {_inline(guessed.renamed)}    # as they are published"
    if guessed.unanswered and asked is None:
        yield f'blank = "skip"    # {guessed.unanswered} rows have no answer: these people are not counted'
    if guessed.missing:
        yield f"missing = [{', '.join(map(_text, guessed.missing))}]    # values that mean no answer or no category"
    if guessed.has_commas:
        yield 'decimal = ","    # the decimal sign of numbers'
    if guessed.count is not None:
        yield f"count = {_text(guessed.count)}    # how many people a row stands for"
    if guessed.contest:
        kept = ", ".join(f"{_quoted(column)} = {_text(value)}" for column, value in guessed.contest.items())
        yield f"contest = {{{kept}}}    # one contest of several, that with most rows: write a project for each"


def _skipped_lines(guessed: Guess) -> Iterator[str]:
    for name, reason in guessed.skipped.items():
        yield f"# Skipped: column {_comment(repr(name))} {_comment(reason)}."
    if guessed.skipped:
        yield ""


MANY = 8
"""Categories from which on it is said what becomes of small ones: fewer are merged in any case."""


def _axis_lines(axis: AxisGuess) -> Iterator[str]:
    listed = _listed(axis.labels) if axis.bands else f"{len(axis.labels)} categories: {_listed(axis.labels)}"
    yield f"[axes.{_key(axis.column)}]    # {listed}"
    yield f"column = {_text(axis.column)}"
    if axis.empty:
        some = "some rows have" if axis.bands else f"{plural(axis.empty, 'row')} {'has' if axis.empty == 1 else 'have'}"
        yield f'missing = "unknown"    # {some} no category; this one is for them'
    if axis.bands:
        yield f"bands = {axis.bands}    # the lowest value of each band but the first"
    elif axis.ordered:
        yield "ordered = true    # only neighbours may be merged; check the order"
        yield f"categories = [{', '.join(map(_text, axis.labels))}]"
    if axis.renamed:
        yield f"labels = {_inline(axis.renamed)}    # as they are published"
    if axis.levels:
        yield f"levels = [{', '.join(map(_text, axis.levels))}]    # wider areas, from fine to coarse"
    if not (axis.bands or axis.ordered or axis.levels) and len(axis.labels) >= MANY:
        yield "# No order or areas: small categories are merged by size, near-unanimous ones suppressed alone."
    yield ""


def _further_lines(guessed: Guess) -> Iterator[str]:
    """Columns that can be counted by as well, as comments."""
    if not guessed.further:
        return
    number = len(guessed.further)
    others = "1 more column" if number == 1 else f"{number} more columns"
    yield f"# People can be counted by {others}. At most {MOST_AXES} are proposed: places, age, sex and race, then what"
    yield "# else somebody is, then others, in file order. Each further one takes time, and leaves less exact."
    yield "# Remove the signs # to take one:"
    for axis in guessed.further:
        yield from (f"# {line}".rstrip() for line in _axis_lines(axis))
    yield ""


def _number_lines(number: AxisGuess) -> Iterator[str]:
    yield f"# Column {_comment(repr(number.column))} has {number.labels[0]}. To count by it, choose bands:"
    yield f"# [axes.{_comment(_key(number.column))}]"
    yield f"# column = {_comment(_text(number.column))}"
    yield f"# bands = {number.bands or '[...]'}"
    yield ""


def _inline(pairs: Mapping[str, str]) -> str:
    """A table of texts in one line."""
    return f"{{{', '.join(f'{_text(key)} = {_text(value)}' for key, value in pairs.items())}}}"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    """A column name as the key of an axis; reserved names get a tail."""
    return _quoted(_name(name))


def _quoted(key: str) -> str:
    """A key as TOML wants it."""
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else _text(key)


def _name(name: str) -> str:
    return f"{name}_group" if name in RESERVED else name


def _comment(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _listed(labels: tuple[str, ...]) -> str:
    text = _comment(", ".join(labels[:SHOWN]))
    return f"{text[:WIDEST]}, ..." if len(labels) > SHOWN or len(text) > WIDEST else text

"""A first project file for an unknown data file: every guess is explained beside it, for a person to check."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from safemargin.core import RESERVED, InputError, IntArray, OutputError
from safemargin.io import (
    ENGINES,
    MOST_LABELS,
    BadText,
    Profiles,
    Source,
    Survey,
    is_number,
    natural_order,
    open_source,
    open_sqlite,
    require_file,
    suffix,
    table_names,
    whole_number,
)
from safemargin.ui import SCHEMA, Document, Paragraph, Report, Result, write_text

ANSWER_WORDS = ("vote", "voted", "ballot", "choice", "answer", "response", "party", "income", "option", "candidate")
COUNT_WORDS = ("count", "n", "people", "persons", "votes", "number", "num", "freq", "frequency", "weight", "total")
IDENTIFIER_WORDS = {"id", "uuid", "guid", "key", "email", "phone", "ssn", "fips", "geoid"}
AREA_WORDS = {"area", "code", "county", "district", "municipality", "precinct", "region", "state", "ward", "zip"}
SCALE_WORDS = {"age", "ages", "year", "years", "grade", "score", "rating", "decile", "quintile", "band"}

MOST_OPTIONS = 50
LIKELY_OPTIONS = 12
MOST_NUMBERS = 20
FEWEST_VALUES = 20
"""Up to this many distinct values nothing looks like an identifier."""
LONG_TEXT = 40
MOSTLY = 0.9
CHANCES = 4
"""A column depends on another if pure chance would have broken that at least this often."""

_BETWEEN = re.compile(
    r"(?:ages?|aged|from|[$€£]|\s)*([0-9]+)\s*k?\s*(?:-|–|—|to)\s*[$€£]?([0-9]+)\s*(?:years|k|\s)*", re.I
)
_BELOW = re.compile(
    r"(?:under|below|less than|up to|<=?|≤)\s*[$€£]?([0-9]+).*|([0-9]+)\s*(?:and|or) (?:under|less).*", re.I
)
_ABOVE = re.compile(
    r"(?:over|above|more than|>=?|≥)\s*[$€£]?([0-9]+).*|([0-9]+)\s*(?:\+|(?:and|or) (?:over|older|more)).*", re.I
)


@dataclass(frozen=True)
class AxisGuess:
    """A column to count by, with the columns that hold its wider areas and what is odd about it."""

    column: str
    labels: tuple[str, ...]
    ordered: bool = False
    levels: tuple[str, ...] = ()
    empty: int = 0


@dataclass(frozen=True)
class Guess:
    """The part of each column; `skipped` and `numbers` are no axes as they stand, for the reason given."""

    answer: str
    answers: tuple[str, ...]
    unanswered: int
    count: str | None
    axes: tuple[AxisGuess, ...]
    numbers: Mapping[str, int]
    skipped: Mapping[str, str]


def words(name: str) -> set[str]:
    """The words in a column name, lower case.

    >>> sorted(words("VotedFor_2020"))
    ['2020', 'for', 'voted']
    """
    return {word.lower() for word in re.findall(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])|\d+", name)}


def band_place(label: str) -> tuple[int, int] | None:
    """Where a band of numbers stands on its scale, or nothing if `label` is no band.

    >>> sorted(["65+", "18-29", "under 18"], key=band_place)
    ['under 18', '18-29', '65+']
    """
    text = label.strip()
    if (band := _BETWEEN.fullmatch(text)) and int(band[1]) <= int(band[2]):
        return 1, int(band[1])
    if band := _BELOW.fullmatch(text):
        return 0, int(band[1] or band[2])
    if band := _ABOVE.fullmatch(text):
        return 2, int(band[1] or band[2])
    return None


def guess(source: Source, survey: Survey) -> Guess | None:
    """The likely part of every column, or nothing if no answer or no axis is found."""
    odd = {name: reason for name in survey.distinct if (reason := _oddity(survey, name))}
    numbers = {name: survey.distinct[name] for name in survey.distinct if name not in odd and _is_scale(survey, name)}
    count = _count_column(source, survey, odd)
    plain = [name for name in survey.distinct if name != count and name not in odd and name not in numbers]
    answer = _answer_column(survey, plain)
    axes = tuple(name for name in plain if name != answer)
    if answer is None or not axes:
        return None
    profiles = source.profiles((*axes, answer))
    answers, codes = profiles.column(answer)
    nested, same = _nested(profiles, axes)
    inner = {level for levels in nested.values() for level in levels}
    return Guess(
        answer,
        tuple(sorted(filter(None, answers), key=natural_order)),
        _empty(answers, codes, profiles.counts),
        count,
        tuple(_axis(profiles, name, nested.get(name, ())) for name in axes if name not in inner and name not in same),
        {name: number for name, number in numbers.items() if name != count},
        {name: reason for name, reason in {**odd, **same}.items() if name != count},
    )


def _oddity(survey: Survey, name: str) -> str | None:
    """Why a column cannot be counted by, if so."""
    distinct, examples = survey.distinct[name], [text for text in survey.examples[name] if text]
    if distinct < 2:
        return "has one value only"
    mostly = distinct > max(survey.rows / 2, FEWEST_VALUES)
    named = bool(words(name) & IDENTIFIER_WORDS) and distinct > FEWEST_VALUES
    numeric = _is_numeric(examples)
    if not numeric and examples and sum(map(len, examples)) >= LONG_TEXT * len(examples):
        return "holds free text"
    if named or (mostly and not numeric) or (mostly and _is_running(examples)):
        return f"looks like an identifier: {distinct} different values in {survey.rows} rows"
    if distinct > MOST_LABELS and not numeric:
        return f"has too many values: {distinct}"
    return None


def _is_scale(survey: Survey, name: str) -> bool:
    """Whether a column holds numbers to be put into bands; areas may be numbered too."""
    if words(name) & AREA_WORDS or survey.distinct[name] <= MOST_NUMBERS:
        return False
    return _is_numeric([text for text in survey.examples[name] if text])


def _is_numeric(texts: Iterable[str]) -> bool:
    """Whether nearly all texts are numbers; a few codes for missing values are common."""
    are_numbers = [is_number(text) for text in texts]
    return sum(are_numbers) >= MOSTLY * len(are_numbers)


def _is_whole(texts: Iterable[str]) -> bool:
    try:
        for text in texts:
            whole_number(text)
    except BadText:
        return False
    return True


def _is_running(texts: list[str]) -> bool:
    """Whether texts are whole numbers as dense as running numbers are."""
    if not _is_whole(texts):
        return False
    numbers = {whole_number(text) for text in texts}
    return max(numbers) - min(numbers) < 2 * len(numbers)


def _count_column(source: Source, survey: Survey, odd: Mapping[str, str]) -> str | None:
    """A column of whole numbers named like a count, where the other columns never repeat together."""
    for word in COUNT_WORDS:
        for name in survey.distinct:
            if word not in words(name) or not _is_whole(survey.examples[name]):
                continue
            others = tuple(o for o in survey.distinct if o != name and _distinguishes_cells(survey, odd, o))
            if others and len(source.profiles(others).counts) == survey.rows:
                return name
    return None


def _distinguishes_cells(survey: Survey, odd: Mapping[str, str], name: str) -> bool:
    return name not in odd and survey.distinct[name] <= min(max(survey.rows / 2, FEWEST_VALUES), MOST_LABELS)


def _answer_column(survey: Survey, plain: list[str]) -> str | None:
    fit = [name for name in plain if survey.distinct[name] <= MOST_OPTIONS]
    for word in ANSWER_WORDS:
        for name in sorted(fit, key=lambda name: len(words(name))):
            if word in words(name):
                return name
    few = [name for name in plain if survey.distinct[name] <= LIKELY_OPTIONS]
    return few[-1] if few else None


def _nested(profiles: Profiles, axes: tuple[str, ...]) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Columns with the columns of their wider areas, from fine to coarse; and columns that say the same as another."""
    sizes = {name: len(profiles.column(name)[0]) for name in axes}
    nested: dict[str, tuple[str, ...]] = {}
    same: dict[str, str] = {}
    for fine in sorted(axes, key=lambda name: -sizes[name]):
        if fine in same or any(fine in levels for levels in nested.values()):
            continue
        chain = [fine]
        for coarse in sorted(axes, key=lambda name: -sizes[name]):
            used = coarse in same or any(coarse in levels for levels in nested.values())
            if coarse in chain or used or "" in profiles.column(coarse)[0] or not _depends(profiles, chain[-1], coarse):
                continue
            if sizes[coarse] == sizes[chain[-1]]:
                same[coarse] = f"says the same as {chain[-1]!r}"
            elif sizes[coarse] < sizes[chain[-1]]:
                chain.append(coarse)
        if len(chain) > 1:
            nested[fine] = tuple(chain[1:])
    return nested, same


def _depends(profiles: Profiles, fine: str, coarse: str) -> bool:
    """Whether every value of `fine` has one value of `coarse`, by more than accident."""
    (labels, inner), (_, outer) = profiles.column(fine), profiles.column(coarse)
    parent = np.zeros(len(labels), dtype=np.int64)
    parent[inner] = outer
    if not np.array_equal(parent[inner], outer):
        return False
    people = float(profiles.counts.sum())
    shares = np.bincount(outer, weights=profiles.counts) / people
    return bool((people - len(labels)) * (1 - (shares**2).sum()) >= CHANCES)


def _empty(labels: tuple[str, ...], codes: IntArray, counts: IntArray) -> int:
    return int(counts[codes == labels.index("")].sum()) if "" in labels else 0


def _axis(profiles: Profiles, name: str, levels: tuple[str, ...]) -> AxisGuess:
    labels, codes = profiles.column(name)
    empty = _empty(labels, codes, profiles.counts)
    categories = sorted(filter(None, labels), key=natural_order)
    places = {label: band for label in categories if (band := band_place(label))}
    if 3 * len(places) >= 2 * len(categories) and len(places) > 1:
        categories.sort(key=lambda label: places.get(label, (3, 0)))
        return AxisGuess(name, tuple(categories), True, levels, empty)
    scaled = bool(words(name) & SCALE_WORDS) and _is_numeric(categories)
    return AxisGuess(name, tuple(categories), scaled, levels, empty)


SHOWN = 6
"""How many values a comment lists."""

WIDEST = 100
"""How many characters it takes for that."""

CLOSING = """\
[target]
beta = 0.05          # nothing may show that fewer than 5 % or more than 95 % of a group chose an option
kappa = 30           # nobody is published in a group of fewer people
tau = 3              # no count may be known to within 3 people
epsilon_max = 1.0    # the most that noise may cost anyone
protect = "merge"    # near-unanimous groups: "merge" with a neighbour, "noise", or "suppress"

# Who to defend against. Without this it is one onlooker who knows the rule and how many people there are of each kind.
# [[onlookers]]
# name = "neighbour"
# composition = "joint"    # what of the roll they know: "none", "sizes" of each category, or "joint"
# knows_rule = true        # whether they know how groups were chosen for protection
# facts = ["facts.csv"]    # tidy files of what else they know

[outputs]
formats = ["csv", "json"]    # also "parquet"
"""


@dataclass(frozen=True)
class Proposal(Result):
    """A project file to read, edit and keep beside the data file."""

    data: Path
    text: str

    def to_json(self) -> Document:
        """The document of `init --json`, for the file that `write` writes by default."""
        return {"schema": SCHEMA, "project": str(self.data.parent / "project.toml"), "text": self.text}

    def to_report(self) -> Report:
        """The text of the project file."""
        return Report(f"Project for {self.data.name}", Paragraph(self.text.rstrip(), "code"))

    def write(self, path: Path | str | None = None) -> Path:
        """Write the project file beside the data file, where there is none yet."""
        target = self.data.parent / "project.toml" if path is None else Path(path)
        if target.exists():
            raise OutputError(f"{target}: exists already; name another file")
        if target.parent.resolve() != self.data.parent.resolve():
            raise InputError(f"{target}: put the project file beside {self.data.name}, so that its paths stay relative")
        write_text(target, self.text)
        return target


def init(data: Path | str) -> Proposal:
    """Look at the columns of a data file and propose a commented project file to edit."""
    return Proposal(Path(data), propose_project(Path(data)))


def propose_project(path: Path) -> str:
    """The text of a project file to be stored beside the data file at `path`."""
    require_file(path)
    tables = table_names(path) if ENGINES.get(suffix(path)) is open_sqlite else ()
    source = open_source(path, tables[0] if tables else None)
    survey = source.survey()
    if survey.rows == 0:
        raise InputError(f"{path}: the table is empty")
    guessed = guess(source, survey)
    if guessed is None:
        raise InputError(
            f"{path}: no columns fit: one with the answer (2 to 12 different values) and one to count by are needed; "
            f"the columns are {', '.join(source.columns)}"
        )
    lines = [*_data_lines(path, tables, survey, guessed), "", *_skipped_lines(guessed)]
    for axis in guessed.axes:
        lines += _axis_lines(axis)
    for name, distinct in guessed.numbers.items():
        lines += _number_lines(name, distinct)
    return "\n".join(lines) + "\n" + CLOSING


def _data_lines(path: Path, tables: tuple[str, ...], survey: Survey, guessed: Guess) -> Iterator[str]:
    yield f"# Proposed from {_comment(path.name)} ({survey.rows} rows). Every line is a guess: check it."
    yield f"title = {_text(path.name.split('.')[0])}"
    yield ""
    yield "[data]"
    yield f"file = {_text(path.name)}"
    if tables:
        others = f"    # other tables: {_comment(', '.join(tables[1:]))}" if len(tables) > 1 else ""
        yield f"table = {_text(tables[0])}{others}"
    yield f"answer = {_text(guessed.answer)}    # {len(guessed.answers)} answers: {_listed(guessed.answers)}"
    if guessed.unanswered:
        yield f'blank = "no answer"    # {guessed.unanswered} rows have no answer and count as this option'
    if guessed.count is not None:
        yield f"count = {_text(guessed.count)}    # how many people a row stands for"


def _skipped_lines(guessed: Guess) -> Iterator[str]:
    for name, reason in guessed.skipped.items():
        yield f"# Skipped: column {_comment(repr(name))} {_comment(reason)}."
    if guessed.skipped:
        yield ""


def _axis_lines(axis: AxisGuess) -> Iterator[str]:
    yield f"[axes.{_key(axis.column)}]    # {len(axis.labels)} categories: {_listed(axis.labels)}"
    if axis.empty:
        yield f"# {axis.empty} rows are empty here: fill them in first, every person needs a category."
    yield f"column = {_text(axis.column)}"
    if axis.ordered:
        yield "ordered = true    # only neighbours may be merged; check the order"
        yield f"categories = [{', '.join(map(_text, axis.labels))}]"
    if axis.levels:
        yield f"levels = [{', '.join(map(_text, axis.levels))}]    # wider areas, from fine to coarse"
    yield ""


def _number_lines(name: str, distinct: int) -> Iterator[str]:
    yield f"# Column {_comment(repr(name))} has {distinct} different numbers. Put them into bands (such as 18-29,"
    yield "# 30-44) in a new column, and count by that."
    yield f"# [axes.{_comment(_key(name))}]"
    yield "# ordered = true"
    yield ""


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    """A column name as the key of an axis; reserved names get a tail."""
    key = f"{name}_group" if name in RESERVED else name
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else _text(key)


def _comment(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _listed(labels: tuple[str, ...]) -> str:
    text = _comment(", ".join(labels[:SHOWN]))
    return f"{text[:WIDEST]}, ..." if len(labels) > SHOWN or len(text) > WIDEST else text

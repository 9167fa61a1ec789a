"""The likely part of every column of an unknown data file: the answer, counts, axes, wider areas, numbers to band."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from safemargin.core import InputError, IntArray
from safemargin.io import MOST_LABELS, Profiles, Source, Survey, check_columns, is_finite, natural_order, whole_number
from safemargin.release.answer_columns import AREA_WORDS, PEOPLE_WORDS, answer_columns, vote_columns
from safemargin.release.battery import FEWEST_QUESTIONS, ColumnBattery, battery, renamed_numbers
from safemargin.release.column_texts import (
    AGE_WORDS,
    band_place,
    has_comma,
    is_scale_value,
    is_whole,
    missing_among,
    proposed_bands,
    total_among,
    words,
)
from safemargin.release.nested_columns import depends, nested_columns
from safemargin.release.scales import PLACES, is_numbered_scale, ordered_options, plain_number

COUNT_WORDS = ("count", "n", "people", "persons", "votes", "number", "num", "freq", "frequency", "weight", "total")
STRONG_COUNT_WORDS = {"count", "people", "persons", "votes", "freq", "frequency"}
"""Words that nothing but a count is called by; others need more than a name."""
IDENTIFIER_WORDS = {
    *("id", "ids", "uuid", "guid", "key", "email", "phone", "ssn", "fips", "geoid", "rownames", "rowname", "index"),
    *("serial", "respondent", "identifier", "barcode", "token", "account"),
}
ROW_WORDS = {"rownames", "rowname", "index", "unnamed"}
"""Names that programs give to the number of a row when they write a table."""
CONTEST_WORDS = {"contest", "district", "election", "item", "measure", "office", "question", "race", "seat"}
SCALE_WORDS = {"age", "ages", "year", "years", "grade", "score", "rating", "decile", "quintile", "band"}

_IDENTIFIER = re.compile(r"[a-z]*id|id(no|nr|num|nummer|code)|(case|resp|subj|pers)(no|nr|num)")
"""Words such as caseid, personid, idno."""
MOST_OPTIONS = 50
MOST_NUMBERS = 20
FEWEST_VALUES = 20
"""Up to this many distinct values nothing looks like an identifier."""
MOST_AXES = 5
"""Axes that are proposed: more take long to decide, and part people into kinds of one or two each."""
FIRST_WORDS = {"age", "ages", "sex", "gender", "race", "ethnicity", "site", "department", "country", "town", "city"}
"""With the names of areas, those of the columns that are counted by most often."""
MANY_ANSWERS = 500
"""Answers among which somebody chooses every number of a scale."""
MANY_VALUES = 100
"""Above this many, a column whose name ends in "id" is an identifier."""
LONG_TEXT = 40
MOSTLY = 0.9
LEAST_COUNTS = 0.5
LEAST_FULL = 0.1
"""Share of all combinations that rows of counts fill; people with many columns rarely repeat, and fill far less."""
LEAST_OWN = 0.5
"""Share of the rows of several contests whose answer stands in one of them only."""


@dataclass(frozen=True)
class AxisGuess:
    """A column to count by, with the columns that hold its wider areas and what is odd about it."""

    column: str
    labels: tuple[str, ...]
    ordered: bool = False
    levels: tuple[str, ...] = ()
    empty: int = 0
    bands: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """By value, the whole number that it is published as."""


@dataclass(frozen=True)
class Hints:
    """What somebody says about a file: the column with the answer, those of several questions, that of counts."""

    answer: str | None = None
    answers: tuple[str, ...] = ()
    count: str | None = None


@dataclass(frozen=True)
class Guess:
    """The part of each column; `skipped` and `numbers` are no axes as they stand, for the reason given."""

    answer: str
    answers: tuple[str, ...]
    unanswered: int
    count: str | None
    axes: tuple[AxisGuess, ...]
    numbers: tuple[AxisGuess, ...]
    skipped: Mapping[str, str]
    missing: tuple[str, ...] = ()
    has_commas: bool = False
    contest: Mapping[str, str] = field(default_factory=dict)
    """Columns that name the contest, each with the value to keep, where a file holds several contests."""
    questions: ColumnBattery | None = None
    """Columns that are questions, where there are several."""
    is_ordered: bool = False
    """Whether the answers are a scale, in their order."""
    rivals: tuple[str, ...] = ()
    """Other columns that may as well be the answer, where no name says which one it is."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """By answer, the whole number that it is published as."""
    own: Mapping[str, tuple[tuple[str, ...], bool]] = field(default_factory=dict)
    """By question beside the battery, its options, and whether they are a scale."""
    further: tuple[AxisGuess, ...] = ()
    """Columns that are axes too, but more than are proposed."""


NO_HINTS = Hints()


def guess(path: Path, source: Source, survey: Survey, hints: Hints = NO_HINTS) -> Guess | None:
    """The likely part of every column, or nothing if no answer or no axis is found."""
    stated = {name for name in (hints.answer, *hints.answers, hints.count) if name is not None}
    check_columns(path, survey.distinct, sorted(stated))
    odd = {name: reason for name in survey.distinct if name not in stated and (reason := _oddity(survey, name))}
    scales = [name for name in survey.distinct if name not in {*odd, *stated} and _is_scale(survey, name)]
    count = hints.count or _count_column(path, source, survey, odd, stated)
    numbers = tuple(_number(survey, name) for name in scales if name != count)
    plain = [name for name in survey.distinct if name != count and name not in odd and name not in scales]
    questions = _questions(_seen(survey, source, plain), plain, hints)
    questions = None if questions is None else _as_read(questions, source)
    asked = () if questions is None else (*questions.columns, *questions.others)
    candidates = [] if hints.answer or questions is not None else answer_columns(survey, plain, MOST_OPTIONS)
    answer = hints.answer or next(iter(candidates if questions is None else questions.columns), None)
    axes = tuple(name for name in plain if name != answer and name not in asked)
    ages = tuple(number for number in numbers if number.bands and words(number.column) & AGE_WORDS)
    if answer is None or not (axes or ages):
        return None
    alone = () if axes else ages[:1]  # further axes are for a person to choose
    profiles = source.profiles((*axes, answer))
    for name in (*axes, answer):
        if (total := total_among(profiles.column(name)[0])) is not None:
            raise InputError(
                f"{path}: column {name!r}: {total!r} looks like the sum of other rows, which would count people twice; "
                "remove these rows, or skip them by data.skip in a project; rename it if it is a category"
            )
    contest, profiles = _contest(profiles, axes, answer) if questions is None else ({}, profiles)
    answers, codes = profiles.column(answer)
    missing = missing_among(label for labels in profiles.labels for label in labels)
    axes = tuple(name for name in axes if name not in contest)
    settled = {
        name: f"settles the answer: each of its values has one {answer!r}"
        for name in axes
        if questions is None and depends(profiles, name, answer)
    }
    # By such a column every count would be all or nothing. Data files of elections have the party beside the candidate.
    settled |= {
        name: f"follows from the answer: each {answer!r} has one {name!r}"
        for name in axes
        if questions is None and name not in settled and depends(profiles, answer, name)
    }
    axes = tuple(name for name in axes if name not in settled)
    if not (axes or alone):
        return None
    nested, same = nested_columns(profiles, axes)
    inner = {level for levels in nested.values() for level in levels}
    described = [_axis(profiles, name, nested.get(name, ())) for name in axes if name not in inner and name not in same]
    first = _first_axes([axis.column for axis in described])
    unanswered = _empty(answers, codes, profiles.counts)
    nothing = {"", *missing}
    options, is_scale = ordered_options([plain_number(label) for label in answers if label.strip() not in nothing])
    others = () if questions is None else questions.others
    return Guess(
        answer,
        options,
        unanswered,
        count,
        (*(axis for axis in described if axis.column in first), *alone),
        tuple(number for number in numbers if number not in alone),
        {name: reason for name, reason in {**odd, **settled, **same}.items() if name != count},
        missing,
        any(has_comma(text) for number in numbers for text in survey.examples[number.column]),
        contest,
        questions,
        is_scale,
        tuple(name for name in candidates[1:] if name in axes),
        renamed_numbers({name: _said(source, name)[0] for name in asked or (answer,)}),
        {name: ordered_options([plain_number(text) for text in _said(source, name)[0]]) for name in others},
        tuple(axis for axis in described if axis.column not in first),
    )


def _first_axes(names: Sequence[str]) -> list[str]:
    """The axes to propose: places, age, sex and race, then what else somebody is, then others, in file order.

    >>> _first_axes(["x", "education", "age", "a", "b", "sex", "c", "d", "region"])
    ['age', 'sex', 'region', 'education', 'x']
    """
    first = AREA_WORDS | FIRST_WORDS
    return sorted(names, key=lambda name: (not words(name) & first, not words(name) & PEOPLE_WORDS))[:MOST_AXES]


def questions_alone(survey: Survey, hints: Hints) -> tuple[str, ...] | None:
    """The questions of a file that has no column to count them by; none if it has no questions."""
    plain = [name for name in survey.distinct if not _oddity(survey, name)]
    found = _questions(survey, plain, hints)
    return None if found is None else (*found.columns, *found.others)


def _questions(survey: Survey, plain: list[str], hints: Hints) -> ColumnBattery | None:
    """The columns that are questions: those stated, or those that look like it."""
    if hints.answers:
        found = battery(survey, hints.answers, MOST_OPTIONS)
        shared = found is not None and set(found.columns) == set(hints.answers)
        return found if shared else ColumnBattery(hints.answers)
    if hints.answer is not None:
        return None
    found = battery(survey, [name for name in plain if survey.distinct[name] <= MOST_OPTIONS], MOST_OPTIONS)
    if found is None:
        return None
    # What people chose is no axis: an axis is public, and its sizes are.
    others = vote_columns(survey, [name for name in plain if name not in found.columns])
    return replace(found, others=others)


def _as_read(found: ColumnBattery, source: Source) -> ColumnBattery:
    """The questions with the options that all rows hold: no list where these differ, no number that nobody chose.

    A column that many people answered without the highest number has another scale, and is none of them.
    """
    if not found.options:
        return found
    said = {name: _said(source, name) for name in found.columns}
    held = {name: {plain_number(text.strip()) for text in texts} for name, (texts, _) in said.items()}
    if any(values - set(found.options) for values in held.values()):
        return replace(found, options=(), is_ordered=False)
    if not all(map(is_whole, found.options)):
        return found
    highest = {name: max(map(int, values), default=0) for name, values in held.items()}
    top = max(highest.values())
    kept = tuple(name for name in found.columns if highest[name] == top or said[name][1] < MANY_ANSWERS)
    if len(kept) < min(len(found.columns), FEWEST_QUESTIONS):
        return found
    return replace(found, columns=kept, options=tuple(option for option in found.options if int(option) <= top))


def _said(source: Source, name: str) -> tuple[list[str], int]:
    """What the rows of a column hold, but words for nothing; and how many rows that are."""
    profiles = source.profiles((name,))
    texts, codes = profiles.column(name)
    nothing = {"", *missing_among(texts)}
    blank = _empty(texts, codes, profiles.counts)
    return [text for text in texts if text.strip() not in nothing], int(profiles.counts.sum()) - blank


def _seen(survey: Survey, source: Source, names: Sequence[str]) -> Survey:
    """The first rows, where columns that they leave empty hold what later rows do."""
    late = [name for name in names if not any(text.strip() for text in survey.examples[name])]
    found = {name: _said(source, name)[0][:FEWEST_VALUES] for name in late if survey.distinct[name] <= FEWEST_VALUES}
    padded = {name: (*texts, *survey.examples[name][len(texts) :]) for name, texts in found.items()}
    return replace(survey, examples={**survey.examples, **padded})


def _contest(profiles: Profiles, axes: tuple[str, ...], answer: str) -> tuple[dict[str, str], Profiles]:
    """Columns that name the contest, each with the value of most rows, and the rows of that contest.

    A contest has answers of its own; a few, such as write-ins, may stand in all contests.
    """
    contest: dict[str, str] = {}
    for name in axes:
        (labels, codes), (answers, chosen) = profiles.column(name), profiles.column(answer)
        rows = np.zeros((len(answers), len(labels)), dtype=np.int64)
        np.add.at(rows, (chosen, codes), profiles.counts)
        own = (rows > 0).sum(axis=1) == 1
        if not words(name) & CONTEST_WORDS or rows[own].sum() < LEAST_OWN * rows.sum():
            continue
        if not depends(profiles, name, answer) and depends(profiles.where(own[chosen]), answer, name):
            largest = int(rows.sum(axis=0).argmax())
            contest[name] = labels[largest]
            profiles = profiles.where(codes == largest)
    return contest, profiles


def _number(survey: Survey, name: str) -> AxisGuess:
    """A column of numbers with the bands that it may be put into, by its first rows."""
    texts = [text for text in survey.examples[name] if is_scale_value(text)]
    odd = [text for text in survey.examples[name] if not is_scale_value(text)]
    return AxisGuess(
        name,
        (f"{survey.distinct[name]} different numbers",),
        True,
        empty=len(odd),
        bands=proposed_bands(words(name), texts),
    )


def _oddity(survey: Survey, name: str) -> str | None:
    """Why a column cannot be counted by, if so."""
    distinct, examples = survey.distinct[name], [text for text in survey.examples[name] if text]
    if distinct < 2:
        return "has one value only"
    mostly = distinct > max(survey.rows / 2, FEWEST_VALUES)
    named = bool(words(name) & IDENTIFIER_WORDS) and distinct > FEWEST_VALUES
    named |= any(_IDENTIFIER.fullmatch(word) for word in words(name)) and distinct > MANY_VALUES
    named |= bool(words(name) & ROW_WORDS) and distinct == survey.rows and _is_running(examples)
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
    """Whether nearly all texts are numbers or dates; a few codes for missing values are common."""
    are_numbers = [is_scale_value(text) for text in texts]
    return sum(are_numbers) >= MOSTLY * len(are_numbers)


def _is_running(texts: list[str]) -> bool:
    """Whether texts are whole numbers as dense as running numbers are."""
    if not all(map(is_whole, texts)):
        return False
    numbers = {whole_number(text) for text in texts}
    return max(numbers) - min(numbers) < 2 * len(numbers)


def _count_column(
    path: Path, source: Source, survey: Survey, odd: Mapping[str, str], stated: Collection[str]
) -> str | None:
    """A column of whole numbers named like a count, where the other columns never repeat together.

    A word that may also name an attribute of one person (`n`, `number`, `total`) is not enough: rows of counts fill
    much of all combinations, while people with many columns differ by chance. Counts
    among which something else stands are refused: what a sign such as `*` hides, nobody here can know.
    """
    for word in COUNT_WORDS:
        for name in survey.distinct:
            texts = survey.examples[name]
            named = word in words(name) and name not in stated
            if not named or sum(map(is_whole, texts)) < LEAST_COUNTS * len(texts):
                continue
            others = tuple(o for o in survey.distinct if o != name and _distinguishes_cells(survey, odd, o))
            combinations = math.prod(survey.distinct[other] for other in others)
            if word not in STRONG_COUNT_WORDS and survey.rows < LEAST_FULL * combinations:
                continue
            if others and len(source.profiles(others).counts) == survey.rows:
                values, _ = source.profiles((name,), (name,)).column(name)
                wrong = next((text for text in values if not is_whole(text)), None)
                if wrong is not None:
                    raise InputError(
                        f"{path}: column {name!r} looks like counts of people, but {wrong[:60]!r} is no count; "
                        "put the counts there, remove these rows, or skip them by data.skip in a project"
                    )
                return name
    return None


def _distinguishes_cells(survey: Survey, odd: Mapping[str, str], name: str) -> bool:
    return name not in odd and survey.distinct[name] <= min(max(survey.rows / 2, FEWEST_VALUES), MOST_LABELS)


def _empty(labels: tuple[str, ...], codes: IntArray, counts: IntArray) -> int:
    nothing = {"", *missing_among(labels)}
    return int(counts[np.array([label.strip() in nothing for label in labels], dtype=bool)[codes]].sum())


def _axis(profiles: Profiles, name: str, levels: tuple[str, ...]) -> AxisGuess:
    texts, codes = profiles.column(name)
    empty = _empty(texts, codes, profiles.counts)
    nothing = {"", *missing_among(texts)}
    held = [text for text in texts if text.strip() not in nothing]
    renamed = renamed_numbers({name: held})
    listed = list(dict.fromkeys(renamed.get(text, text) for text in held))
    by_value = bool(listed) and all(map(is_finite, listed))
    categories = sorted(listed, key=lambda label: (float(label) if by_value else 0.0, natural_order(label)))
    guessed = AxisGuess(name, tuple(categories), False, levels, empty, renamed=renamed)
    places = {label: band for label in categories if (band := band_place(label))}
    is_place = bool(words(name) & PLACES)  # a precinct called 30-1 is no band
    if not by_value and not is_place and 3 * len(places) >= 2 * len(categories) and len(places) > 1:
        categories.sort(key=lambda label: places.get(label, (3, 0)))
        return replace(guessed, labels=tuple(categories), ordered=True)
    in_words, is_scale = ordered_options(categories)
    if is_scale and not all(map(is_whole, categories)):
        return replace(guessed, labels=in_words, ordered=True)  # words from low to high
    scaled = bool(words(name) & SCALE_WORDS) and _is_numeric(categories) and len(categories) > 2
    return replace(guessed, ordered=scaled or is_numbered_scale(name, categories))

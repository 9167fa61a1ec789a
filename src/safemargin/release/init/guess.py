"""What the columns of an unknown file probably are. A guess for a person to check; nothing is decided by it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from safemargin.core import IntArray
from safemargin.io import MOST_LABELS, BadText, Profiles, Source, Survey, is_number, natural_order, whole_number

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
    if (found := _BETWEEN.fullmatch(text)) and int(found[1]) <= int(found[2]):
        return 1, int(found[1])
    if found := _BELOW.fullmatch(text):
        return 0, int(found[1] or found[2])
    if found := _ABOVE.fullmatch(text):
        return 2, int(found[1] or found[2])
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
            others = tuple(other for other in survey.distinct if other != name and _can_tell_cells(survey, odd, other))
            if others and len(source.profiles(others).counts) == survey.rows:
                return name
    return None


def _can_tell_cells(survey: Survey, odd: Mapping[str, str], name: str) -> bool:
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
    found = sorted(filter(None, labels), key=natural_order)
    places = {label: place for label in found if (place := band_place(label))}
    if 3 * len(places) >= 2 * len(found) and len(places) > 1:
        found.sort(key=lambda label: places.get(label, (3, 0)))
        return AxisGuess(name, tuple(found), True, levels, empty)
    scaled = bool(words(name) & SCALE_WORDS) and _is_numeric(found)
    return AxisGuess(name, tuple(found), scaled, levels, empty)

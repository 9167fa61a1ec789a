"""The likely part of every column of an unknown data file: the answer, counts, axes, wider areas, numbers to band."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from safemargin.core import InputError, IntArray
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
LEAST_COUNTS = 0.5
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
    bands: str = ""


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


def guess(path: Path, source: Source, survey: Survey) -> Guess | None:
    """The likely part of every column, or nothing if no answer or no axis is found."""
    odd = {name: reason for name in survey.distinct if (reason := _oddity(survey, name))}
    scales = [name for name in survey.distinct if name not in odd and _is_scale(survey, name)]
    count = _count_column(path, source, survey, odd)
    numbers = tuple(_number(survey, name) for name in scales if name != count)
    plain = [name for name in survey.distinct if name != count and name not in odd and name not in scales]
    answer = _answer_column(survey, plain)
    axes = tuple(name for name in plain if name != answer)
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
    answers, codes = profiles.column(answer)
    missing = missing_among(label for labels in profiles.labels for label in labels)
    settled = {
        name: f"settles the answer: each of its values has one {answer!r}"
        for name in axes
        if _depends(profiles, name, answer)
    }
    axes = tuple(name for name in axes if name not in settled)
    if not (axes or alone):
        return None
    nested, same = _nested(profiles, axes)
    inner = {level for levels in nested.values() for level in levels}
    described = (_axis(profiles, name, nested.get(name, ())) for name in axes if name not in inner and name not in same)
    unanswered = _empty(answers, codes, profiles.counts)
    return Guess(
        answer,
        tuple(sorted((label for label in answers if label and label.strip() not in missing), key=natural_order)),
        unanswered,
        count,
        (*described, *alone),
        tuple(number for number in numbers if number not in alone),
        {name: reason for name, reason in {**odd, **settled, **same}.items() if name != count},
        missing,
        any(has_comma(text) for number in numbers for text in survey.examples[number.column]),
    )


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


def _count_column(path: Path, source: Source, survey: Survey, odd: Mapping[str, str]) -> str | None:
    """A column of whole numbers named like a count, where the other columns never repeat together.

    Counts among which something else stands are refused: what a sign such as `*` hides, nobody here can know.
    """
    for word in COUNT_WORDS:
        for name in survey.distinct:
            texts = survey.examples[name]
            if word not in words(name) or sum(map(is_whole, texts)) < LEAST_COUNTS * len(texts):
                continue
            others = tuple(o for o in survey.distinct if o != name and _distinguishes_cells(survey, odd, o))
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
    nothing = {"", *missing_among(labels)}
    return int(counts[np.array([label.strip() in nothing for label in labels], dtype=bool)[codes]].sum())


def _axis(profiles: Profiles, name: str, levels: tuple[str, ...]) -> AxisGuess:
    labels, codes = profiles.column(name)
    empty = _empty(labels, codes, profiles.counts)
    nothing = {"", *missing_among(labels)}
    categories = sorted((label for label in labels if label.strip() not in nothing), key=natural_order)
    places = {label: band for label in categories if (band := band_place(label))}
    if 3 * len(places) >= 2 * len(categories) and len(places) > 1:
        categories.sort(key=lambda label: places.get(label, (3, 0)))
        return AxisGuess(name, tuple(categories), True, levels, empty)
    scaled = bool(words(name) & SCALE_WORDS) and _is_numeric(categories)
    return AxisGuess(name, tuple(categories), scaled, levels, empty)


AGE_WORDS = {"age", "ages", "alter", "edad"}
AGES = (18, 30, 45, 65)
"""Usual bands of adults: young, middle, before and after retirement."""
OLDEST = 120
MISSING = frozenset(["?", "na", "n/a", "nan", "null", "none given", "#n/a", "-", ".", "missing"])
"""Words for nothing, in small letters."""
MOST_BANDS = 8
_TOTAL = re.compile(
    r"(grand )?(sub)?totals?|total (votes|people|persons|population|ballots|cast|voters|count)|all|overall|sum|_t", re.I
)
_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?")


def total_among(labels: Iterable[str]) -> str | None:
    """The first label that looks like the sum of others.

    >>> total_among(["North", "Grand Total"]), total_among(["Allen", "Total Recall"])
    ('Grand Total', None)
    """
    return next((label for label in labels if _TOTAL.fullmatch(label.strip())), None)


def missing_among(labels: Iterable[str]) -> tuple[str, ...]:
    """Labels that look like no answer, or no category."""
    return tuple(dict.fromkeys(label.strip() for label in labels if label.strip().lower() in MISSING))


def has_comma(text: str) -> bool:
    """Whether a text is a number with a decimal comma; `1,234` may also be a thousand."""
    return bool(_COMMA.fullmatch(text)) and not _THOUSANDS.fullmatch(text)


def is_date(text: str) -> bool:
    """Whether a text is a date such as 1980-12-31, with or without a time."""
    return bool(_DATE.fullmatch(text))


def is_scale_value(text: str) -> bool:
    """Whether a text can be put into bands."""
    return is_number(text) or has_comma(text) or is_date(text)


def is_whole(text: str) -> bool:
    """Whether a text is a count."""
    try:
        whole_number(text)
    except BadText:
        return False
    return True


def proposed_bands(words: Iterable[str], texts: Sequence[str]) -> str:
    """Bands for a column with these words in its name and these values, as TOML; empty if there are none.

    >>> proposed_bands(["age"], ["17", "40", "52"]), proposed_bands(["pay"], [str(pay) for pay in range(900, 9000, 7)])
    ('[18, 30, 45]', '[3000, 5000, 7000]')
    >>> proposed_bands(["gain"], ["0"] * 9 + ["500"])
    '[1]'
    """
    days = sorted(text[:10] for text in texts if is_date(text))
    if 2 * len(days) > len(texts):
        return _decades(days)
    plain = [text.replace(",", ".") if has_comma(text) else text for text in texts]
    values = sorted(value for value in (float(text) for text in plain if is_number(text)) if math.isfinite(value))
    if not values or values[0] == values[-1]:
        return ""
    edges: list[float] = [age for age in AGES if values[0] < age <= values[-1]]
    if not (AGE_WORDS & set(words) and values[0] >= 0 and values[-1] <= OLDEST and edges):
        low, middle, high = (values[len(values) * part // 4] for part in (1, 2, 3))
        if low < high:
            step = 10 ** math.floor(math.log10(high - low))
            edges = sorted({round(round(value / step) * step, 9) for value in (low, middle, high)})
        else:  # most values are equal, often 0: those above it are a band
            edges = [math.floor(middle) + 1]
        edges = [edge for edge in edges if values[0] < edge <= values[-1]]
    return f"[{', '.join(f'{edge:.9g}' if edge < 1e9 else str(int(edge)) for edge in edges)}]" if edges else ""


def _decades(days: Sequence[str]) -> str:
    try:
        first, last = date.fromisoformat(days[0]).year, date.fromisoformat(days[-1]).year
    except ValueError:
        return ""
    for step in (1, 5, 10, 20, 50, 100, 1000):
        years = range(first // step * step + step, last + 1, step)
        if len(years) < MOST_BANDS:
            return f"[{', '.join(f'{year:04}-01-01' for year in years)}]" if years else ""
    return ""

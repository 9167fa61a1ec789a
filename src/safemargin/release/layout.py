"""How an unknown file is laid out: a row per person, counts side by side, or several questions.

Objects
    text columns     columns that hold something else than numbers
    count columns    columns of whole numbers that may be counts of options
    row label        a text column, or one named like an area, that has another value in every row

Rules, each of which can be read off the rows (at most the first 1,000 are looked at)
    side by side     rows have labels, and (a) a column called like a total is, in every row, the sum of count columns;
                     or (b) two count columns are named by words for options (yes, no, blank, votes); or (c) the label
                     is named like an area, and no column of numbers like an attribute
    in doubt         rows have labels and there are several count columns, but none of this holds: a person has to say
    battery          three or more columns with the same few values (three or more; two if the columns are numbered), or
                     two or more that are called question, item, contest or q and a number

What nobody answered (`Blank`, `Invalid`) belongs to a total but is no option; who may vote (`Registered`) is neither.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from safemargin.io import Survey, is_finite, natural_order, whole_number
from safemargin.release.column_texts import is_whole, missing_among, total_among, words
from safemargin.release.option_columns import is_total

OPTION_WORDS = {
    *("yes", "no", "for", "against", "abstain", "abstained", "abstention", "abstentions", "blank", "blanks", "invalid"),
    *("spoilt", "spoiled", "rejected", "informal", "undervotes", "overvotes", "remain", "leave", "votes", "candidate"),
    *("party", "ja", "nein", "oui", "non", "si", "approve", "disapprove", "agree", "disagree", "neutral", "undecided"),
}
UNCOUNTED_WORDS = {
    *("blank", "blanks", "invalid", "spoilt", "spoiled", "rejected", "informal", "undervotes", "overvotes", "null"),
    *("void", "unanswered", "missing"),
}
ROLL_WORDS = {
    *("registered", "registration", "electorate", "electors", "eligible", "population", "turnout", "roll", "enrolled"),
    *("voters", "adults", "residents", "households", "cast", "issued"),
}
ATTRIBUTE_WORDS = {
    *("age", "ages", "year", "years", "income", "score", "rating", "grade", "hours", "salary", "size", "children"),
    *("lat", "lon", "long", "latitude", "longitude", "id", "code", "zip", "fips", "number", "num", "no", "nr", "rank"),
    *("price", "cost", "amount", "weight", "height", "area", "rooms", "month", "day", "week", "rownames", "index"),
    *("wage", "pay", "tenure", "level", "count", "people", "persons", "freq", "frequency", "population", "x", "y"),
}
PERSON_WORDS = {"id", "ids", "voter", "respondent", "person", "member", "user", "email", "rownames", "index", "date"}
"""Names of columns whose values are people, or moments: rows with such a label are no groups."""
AREA_WORDS = {
    *("area", "county", "district", "municipality", "precinct", "region", "state", "ward", "place", "town", "station"),
    *("electorate", "constituency", "riding", "name", "school", "site", "group", "department"),
}
QUESTION_STEM = re.compile(
    r"(q|question|item|contest|measure|prop|proposition|frage|pregunta)[ _.-]?0*[0-9]+[a-z]?", re.I
)
NUMBERED = re.compile(r"(.*?[^0-9])0*[0-9]+[a-z]?")
FEWEST_ROWS = 2
FEWEST_QUESTIONS = 3
MOST_SCALE = 11
"""Values of a scale: 0 to 10."""


@dataclass(frozen=True)
class CountLayout:
    """Counts side by side: the columns of the options, those beside them, and the columns that label the rows."""

    labels: tuple[str, ...]
    columns: tuple[str, ...]
    uncounted: tuple[str, ...] = ()
    total: str | None = None
    others: tuple[str, ...] = ()
    """Columns that are none of these, such as how many may vote."""
    sums: Mapping[str, str] | None = None
    """By label column: the value of the row that adds up the others."""
    is_sure: bool = True
    rows: int = 0


def side_by_side(survey: Survey) -> CountLayout | None:
    """The layout of a file with a column of counts per option; none where rows are people, or counts of one column."""
    texts = {name: survey.examples[name] for name in survey.distinct}
    seen = len(next(iter(texts.values()), ()))
    if seen < FEWEST_ROWS:
        return None
    numeric = [name for name, values in texts.items() if _is_counts(values)]
    labels = [name for name in texts if name not in numeric]
    if any(QUESTION_STEM.fullmatch(name.strip()) for name in numeric):
        return None
    numbered = [name for name in numeric if words(name) & AREA_WORDS and len(set(texts[name])) == seen]
    if not labels and numbered:  # areas that have numbers
        labels, numeric = numbered[:1], [name for name in numeric if name != numbered[0]]
    rows = list(zip(*(texts[name] for name in labels), strict=True))
    if not labels or len(set(rows)) < len(rows) or len(numeric) < 2:
        return None
    found = _laid_out(texts, _narrowed(texts, labels), numeric)
    return None if found is None else replace(found, rows=survey.rows)


def _narrowed(texts: Mapping[str, Sequence[str]], labels: Sequence[str]) -> list[str]:
    """The label columns that have several values; one that says the same as another is not needed."""
    kept: list[str] = []
    for name in labels:
        values = texts[name]
        same = any(
            len(set(zip(texts[other], values, strict=True))) == len(set(values)) == len(set(texts[other]))
            for other in kept
        )
        if len(set(values)) > 1 and not same:
            kept.append(name)
    return kept


def _laid_out(texts: Mapping[str, Sequence[str]], labels: Sequence[str], numeric: Sequence[str]) -> CountLayout | None:
    """Which columns of numbers are options, and how sure that is."""
    if not labels:
        return None
    numbers = {name: [whole_number(text) for text in texts[name]] for name in numeric}
    total = next((name for name in numeric if is_total(name)), None)
    options = [name for name in numeric if name != total]
    aside = [name for name in options if words(name) & ROLL_WORDS and not words(name) & {"votes"}]
    attributes = [name for name in options if words(name) & ATTRIBUTE_WORDS and name not in aside]
    plain = [name for name in options if name not in aside and name not in attributes]
    adds_up = False
    if total is not None:
        for chosen in (options, [name for name in options if name not in aside], plain):
            if chosen and all(
                sum(row) == whole for row, whole in zip(_rows(numbers, chosen), numbers[total], strict=True)
            ):
                plain, adds_up = list(chosen), True
                break
    named = sum(bool(words(name) & OPTION_WORDS) for name in plain)
    unique = [name for name in labels if len(set(texts[name])) == len(texts[name])]
    if not adds_up and (not unique or words(unique[0]) & PERSON_WORDS):  # rows that differ by chance, or are people
        return None
    most = max((max(numbers[name]) for name in plain), default=0)
    if (
        len(plain) < 2
        or most < 2
        or (most <= MOST_SCALE and not adds_up and named < 2 and not words(unique[0]) & AREA_WORDS)
    ):
        return None
    areas = bool(unique) and bool(words(unique[0]) & AREA_WORDS)
    sure = adds_up or named >= 2 or (areas and not attributes and most > MOST_SCALE)
    uncounted = tuple(name for name in plain if words(name) & UNCOUNTED_WORDS)
    columns = tuple(name for name in plain if name not in uncounted)
    if len(columns) < 2:
        columns, uncounted = tuple(plain), ()
    others = tuple(name for name in numeric if name not in {*plain, *([total] if adds_up else [])})
    sums = {name: found for name in labels if (found := total_among(dict.fromkeys(texts[name]))) is not None}
    return CountLayout(tuple(labels), columns, uncounted, total if adds_up else None, others, sums or None, sure)


def _rows(numbers: Mapping[str, Sequence[int]], names: Sequence[str]) -> list[tuple[int, ...]]:
    return list(zip(*(numbers[name] for name in names), strict=True))


def _is_counts(values: Sequence[str]) -> bool:
    return bool(values) and all(map(is_whole, values))


@dataclass(frozen=True)
class ColumnBattery:
    """Columns that are questions, with the options that they share, in order; none where each has its own."""

    columns: tuple[str, ...]
    options: tuple[str, ...] = ()
    is_ordered: bool = False


def battery(survey: Survey, few: Collection[str], most: int) -> ColumnBattery | None:
    """The questions among the columns with `few` values, where there are several; the largest set of equal ones."""
    named = tuple(name for name in few if QUESTION_STEM.fullmatch(name.strip()) and survey.distinct[name] <= most)
    sets: dict[frozenset[str], list[str]] = {}
    for name in few:
        values = _values(survey.examples[name])
        if 2 <= len(values) <= MOST_SCALE:
            sets.setdefault(_scale(values), []).append(name)
    alike = [
        (names, values)
        for values, names in sets.items()
        if len(names) >= FEWEST_QUESTIONS and (len(values) >= 3 or _are_numbered(names))
    ]
    if len(named) >= 2:
        listed = {_scale(_values(survey.examples[name])) for name in named}
        shared = next(iter(listed)) if len(listed) == 1 else frozenset()
        return ColumnBattery(named, *ordered_options(shared))
    if not alike:
        return None
    names, values = max(alike, key=lambda entry: len(entry[0]))
    return ColumnBattery(tuple(names), *ordered_options(values))


def _values(texts: Sequence[str]) -> frozenset[str]:
    """The values of a column but words for nothing."""
    nothing = {"", *missing_among(texts)}
    return frozenset(text.strip() for text in texts if text.strip() not in nothing)


def _scale(values: frozenset[str]) -> frozenset[str]:
    """Numbers from 1 (or 0) to a few: the whole scale, also where nobody chose some of it. 0 and 1 mean no and yes.

    >>> sorted(_scale(frozenset(["2", "5"]))), sorted(_scale(frozenset(["7", "a"]))), sorted(_scale(frozenset("01")))
    (['1', '2', '3', '4', '5'], ['7', 'a'], ['0', '1'])
    """
    if not all(value.isascii() and value.isdigit() and len(value) < 3 for value in values):
        return values
    numbers = [int(value) for value in values]
    if max(numbers, default=0) < 3:
        return values
    high = next((top for top in (5, 7, 10) if max(numbers) <= top), 0)
    return frozenset(map(str, range(min(1, *numbers, 1), high + 1))) if high and len(numbers) > 1 else values


def _are_numbered(names: Sequence[str]) -> bool:
    """Whether columns have one stem and a number."""
    stems = {match[1] for name in names if (match := NUMBERED.fullmatch(name))}
    return len(stems) == 1 and all(NUMBERED.fullmatch(name) for name in names)


AGREEMENT = (
    ("strongly disagree", "disagree", "neither agree nor disagree", "neutral", "agree", "strongly agree"),
    ("very dissatisfied", "dissatisfied", "neither", "neutral", "satisfied", "very satisfied"),
    ("very unlikely", "unlikely", "neutral", "likely", "very likely"),
    ("never", "rarely", "seldom", "sometimes", "often", "usually", "always"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("very bad", "bad", "neutral", "good", "very good"),
    ("too little", "about right", "too much"),
    ("not at all", "a little", "somewhat", "a lot", "completely"),
    ("none", "low", "medium", "high", "very high"),
)
"""Scales in words, from low to high."""


def ordered_options(values: Collection[str]) -> tuple[tuple[str, ...], bool]:
    """The options in order, and whether they are a scale: numbers, or words of agreement.

    >>> ordered_options(["Agree", "Disagree", "Neutral"])
    (('Disagree', 'Neutral', 'Agree'), True)
    >>> ordered_options(["Red", "Blue"])
    (('Blue', 'Red'), False)
    """
    plain = {value.strip().lower(): value for value in values}
    for scale in AGREEMENT:
        if len(plain) >= 3 and set(plain) <= set(scale):
            return tuple(plain[word] for word in scale if word in plain), True
    listed = tuple(sorted(values, key=natural_order))
    return listed, len(listed) >= 3 and all(value.isascii() and value.isdigit() for value in listed)


def is_numbered_scale(name: str, labels: Sequence[str]) -> bool:
    """Whether the categories of a column stand in an order: numbers, or one word with numbers, but not areas.

    >>> [is_numbered_scale(n, l) for n, l in (("grade", ["G1", "G2", "G5"]), ("pay", ["2500.0", "7500.0", "9e3"]))]
    [True, True]
    >>> is_numbered_scale("population", ["2500", "7500", "15000"]), is_numbered_scale("ward", ["w1", "w2", "w3"])
    (True, False)
    """
    if len(labels) < 3 or words(name) & PLACES:
        return False
    if all(map(is_finite, labels)):
        return True
    matches = [re.fullmatch(r"([^0-9]{1,20}?)[ _.-]?([0-9]{1,3})", text.strip()) for text in labels]
    return all(matches) and len({match[1] for match in matches if match}) == 1


PLACES = AREA_WORDS | {
    *("zone", "block", "tract", "unit", "team", "office", "branch", "store", "code", "zip", "id", "neighborhood"),
    *(
        "neighbourhood",
        "route",
        "line",
        "cluster",
        "building",
        "street",
        "court",
        "clinic",
        "hospital",
        "party",
        "sample",
    ),
}
"""Columns whose numbers are names."""

"""How an unknown file is laid out: a row per person, or counts side by side.

Objects
    text columns     columns that hold something else than numbers
    count columns    columns of whole numbers that may be counts of options
    row label        a text column, or one named like an area, that has another value in every row

Rules, each of which can be read off the rows (at most the first 1,000 are looked at)
    side by side     rows have labels, and (a) a column called like a total is, in every row, the sum of count columns;
                     or (b) two count columns are named by words for options (yes, no, blank, votes); or (c) the label
                     is named like an area, and no column of numbers like an attribute
    in doubt         rows have labels and there are several count columns, but none of this holds: a person has to say

What nobody answered (`Blank`, `Invalid`) belongs to a total but is no option; who may vote (`Registered`) is neither.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from safemargin.io import Survey, whole_number
from safemargin.release.battery import QUESTION_STEM
from safemargin.release.column_texts import is_whole, total_among, words
from safemargin.release.option_columns import is_total
from safemargin.release.scales import AREA_WORDS, MOST_SCALE

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
FEWEST_ROWS = 2


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
    narrowed = _narrowed(texts, labels)
    # Of a long file the first rows are seen: an income differs in each of them, and not in all rows.
    unique = [name for name in narrowed if len(set(texts[name])) == seen and survey.distinct[name] == survey.rows]
    found = _laid_out(texts, narrowed, numeric, unique)
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


def _laid_out(
    texts: Mapping[str, Sequence[str]], labels: Sequence[str], numeric: Sequence[str], unique: Sequence[str]
) -> CountLayout | None:
    """Which columns of numbers are options, and how sure that is; `unique` are labels that name one row each."""
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

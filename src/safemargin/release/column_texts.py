"""What the texts of a column look like: words of its name, bands, dates, numbers, totals, words for nothing."""

import math
import re
from collections.abc import Iterable, Sequence
from datetime import date

from safemargin.io import BadText, is_number, whole_number

_N = r"([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
_WORDS = "k|years?|yrs?|hours?|hrs?|h|minutes?|min|days?|weeks?|months?|people|persons|employees|km|miles|%"
_UNIT = rf"(?:\s*(?:{_WORDS}))*\s*"
_MONEY = r"[$€£]?"
_BETWEEN = re.compile(rf"(?:ages?|aged|from|[$€£]|\s)*{_N}\s*k?\s*(?:-|–|—|to)\s*{_MONEY}{_N}{_UNIT}", re.I)
_BELOW = re.compile(
    rf"(?:under|below|less than|lt|up to|<=?|≤)\s*{_MONEY}{_N}.*|{_MONEY}{_N}{_UNIT}(?:and|or) (?:under|less).*", re.I
)
_ABOVE = re.compile(
    rf"(?:over|above|more than|gt|>=?|≥)\s*{_MONEY}{_N}.*|"
    rf"{_MONEY}{_N}{_UNIT}(?:\+|(?:and|or) (?:over|older|more)).*",
    re.I,
)
_ONE = re.compile(rf"{_MONEY}{_N}{_UNIT}", re.I)
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
    >>> sorted(["16 yrs", ">16 yrs", "13-15 yrs", "<12 yrs", "12 yrs"], key=band_place)
    ['<12 yrs', '12 yrs', '13-15 yrs', '16 yrs', '>16 yrs']
    """
    text = label.strip()
    if (band := _BETWEEN.fullmatch(text)) and _number(band[1]) <= _number(band[2]):
        return 1, _number(band[1])
    if band := _BELOW.fullmatch(text):
        return 0, _number(band[1] or band[2])
    if band := _ABOVE.fullmatch(text):
        return 2, _number(band[1] or band[2])
    if band := _ONE.fullmatch(text):
        return 1, _number(band[1])
    return None


def _number(digits: str) -> int:
    return int(digits.replace(",", ""))


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

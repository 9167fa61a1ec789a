"""The order of values: numbers, bands of numbers, words from low to high, and columns whose numbers are only names."""

import re
from collections.abc import Collection, Sequence

from safemargin.io import is_finite, natural_order
from safemargin.release.column_texts import band_place, words

AREA_WORDS = {
    *("area", "county", "district", "municipality", "precinct", "region", "state", "ward", "place", "town", "station"),
    *("electorate", "constituency", "riding", "name", "school", "site", "group", "department"),
}
PLACES = AREA_WORDS | {
    *("zone", "block", "tract", "unit", "team", "office", "branch", "store", "code", "zip", "id", "neighborhood"),
    *("neighbourhood", "route", "line", "cluster", "building", "street", "court", "clinic", "hospital", "party"),
    *("sample", "dept", "division", "gender", "sex", "race", "ethnicity"),
}
"""Columns whose numbers are names."""
MOST_SCALE = 11
"""Values of a scale: 0 to 10."""
AGREEMENT = (
    ("strongly disagree", "disagree", "neither agree nor disagree", "neutral", "agree", "strongly agree"),
    ("very dissatisfied", "dissatisfied", "neither", "neutral", "satisfied", "very satisfied"),
    ("very unlikely", "unlikely", "neutral", "likely", "very likely"),
    ("never", "rarely", "seldom", "sometimes", "often", "usually", "always"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("very bad", "bad", "neutral", "good", "very good"),
    ("bad", "good", "better", "best"),
    ("too little", "about right", "too much"),
    ("not at all", "a little", "somewhat", "a lot", "completely"),
    ("not", "not very", "notvery", "somewhat", "very", "extremely"),
    ("not at all important", "not very important", "somewhat important", "very important"),
    ("not too happy", "pretty happy", "very happy"),
    ("none", "very low", "low", "medium", "moderate", "high", "very high"),
)
"""Scales in words, from low to high."""
_DECIMAL = re.compile(r"([+-]?[0-9]+)\.0+")


def plain_number(text: str) -> str:
    """A whole number without the decimals that programs add where some cells are empty.

    >>> plain_number("4.0"), plain_number("4.5"), plain_number("yes")
    ('4', '4.5', 'yes')
    """
    match = _DECIMAL.fullmatch(text.strip())
    return match[1] if match else text


def ordered_options(values: Collection[str]) -> tuple[tuple[str, ...], bool]:
    """The options in order, and whether they are a scale: numbers, bands of numbers, or words from low to high.

    >>> ordered_options(["Agree", "Disagree", "Neutral"])
    (('Disagree', 'Neutral', 'Agree'), True)
    >>> ordered_options(["Red", "Blue"]), ordered_options(["10.0", "9.0", "1.0"])
    ((('Blue', 'Red'), False), (('1.0', '9.0', '10.0'), True))
    >>> ordered_options(["Very_High", "Low", "High"]), ordered_options(["5,200 to 9,999", "Under 5,200", "10,000+"])
    ((('Low', 'High', 'Very_High'), True), (('Under 5,200', '5,200 to 9,999', '10,000+'), True))
    """
    plain = {" ".join(re.split(r"[\s_]+", value.strip().lower())): value for value in values}
    for scale in AGREEMENT:
        if len(plain) >= 3 and set(plain) <= set(scale):
            return tuple(plain[word] for word in scale if word in plain), True
    listed = tuple(sorted(values, key=natural_order))
    if len(listed) < 3:
        return listed, False
    if all(plain_number(value).isascii() and plain_number(value).isdigit() for value in values):
        return tuple(sorted(values, key=float)), True
    bands = {value: place for value in values if (place := band_place(value)) is not None}
    if len(bands) == len(plain):
        return tuple(sorted(values, key=bands.__getitem__)), True
    return listed, False


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

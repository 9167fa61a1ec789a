"""Numbers, shares, ranges and cells as text: the only file that formats them for people.

Counts have thousands separators. A measured share has one decimal below 10 % and above 90 %, none between. A parameter
is printed as it was given.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from safemargin import core  # its names are loaded where they are used: arrays are not needed to format a number

if TYPE_CHECKING:
    from safemargin.core import Onlooker

_BAND = re.compile(
    r"(?P<low>\d+)(?:-(?P<high>\d+)|(?P<over>\+| and (?:over|later|older)| or (?:over|more|older)))?"
    r"|(?P<word>under|below|before) (?P<under>\d+)"
)
IRREGULAR = {"person": "people", "category": "categories", "index": "indices"}
COMPOSITIONS = {
    "joint": "knows how many people have each combination of categories",
    "sizes": "knows how many people each group has",
    "none": "does not know how large the groups are",
}


def plural(count: int, noun: str) -> str:
    """A number with its noun.

    >>> plural(1, "group"), plural(1200, "cell"), plural(2, "person"), plural(2, "secondary category")
    ('1 group', '1,200 cells', '2 people', '2 secondary categories')
    """
    *before, last = noun.split(" ")
    many = " ".join([*before, IRREGULAR.get(last, f"{last}s")])
    return f"{count:,} {noun if count == 1 else many}"


def percent(rate: float) -> str:
    """A measured share; only none is 0 % and only all is 100 %.

    >>> percent(0.25), percent(0.2566), percent(0.0333), percent(0.967), percent(0.99999)
    ('25 %', '26 %', '3.3 %', '96.7 %', '>99.9 %')
    """
    return f"{_rounded(rate)} %"


def exact_percent(rate: float) -> str:
    """A parameter as a percentage, as it was given.

    >>> exact_percent(0.125), exact_percent(0.05), exact_percent(0.0005)
    ('12.5 %', '5 %', '0.05 %')
    """
    return f"{100 * rate:.10g} %"


def band_label(label: str) -> str:
    """A merged group as people read it: neighbouring bands of numbers become one; files keep the categories.

    >>> band_label("17-24 | 25-32"), band_label("under 18 | 18-29"), band_label("45-64 | 65 and over")
    ('17-32', 'under 30', '45 and over')
    >>> band_label("17-24 | 33-40"), band_label("3 | 4"), band_label("Aarau | Basel")
    ('17-24 | 33-40', '3 | 4', 'Aarau | Basel')
    """
    bands = [_BAND.fullmatch(part.strip()) for part in label.split(core.JOINER)]
    parsed = [band for band in bands if band]
    if len(parsed) < len(bands) or len(bands) == 1 or all(band["low"] == band[0] for band in parsed):
        return label
    lows = [int(band["low"]) if band["low"] else None for band in parsed]
    tops = [int(band["under"]) - 1 if band["under"] else None for band in parsed]
    highs = [
        top if top is not None else None if band["over"] else int(band["high"] or band["low"])
        for band, top in zip(parsed, tops, strict=True)
    ]
    if any(high is None or low != high + 1 for high, low in zip(highs, lows[1:], strict=False)):
        return label
    first, last = parsed[0], parsed[-1]
    if lows[0] is None:
        return label if highs[-1] is None else f"{first['word']} {highs[-1] + 1}"
    return f"{first['low']}{last['over']}" if highs[-1] is None else f"{first['low']}-{highs[-1]}"


KIND_WORDS = {
    "open": "cannot be inferred",
    "interval": "cannot be inferred",
    "contained": "within the limits",
    "within": "within the limits",
}
"""What pages and terminals call a verdict or a status, where that is not its name in files."""


def kind_words(kind: str) -> str:
    """A verdict or a status in the words that every page uses for it.

    >>> kind_words("open"), kind_words("disclosed")
    ('cannot be inferred', 'disclosed')
    """
    return KIND_WORDS.get(kind, kind)


def short_number(value: float) -> str:
    """A measured amount in three digits.

    >>> short_number(0.0), short_number(1e-12), short_number(12.345), short_number(1234.5)
    ('0', '0', '12.3', '1,234')
    """
    if math.isinf(value):
        return "infinite"
    return "0" if abs(value) < 1e-9 else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def percent_range(interval: Sequence[float] | None) -> str:
    """Both ends of an interval of shares.

    >>> percent_range([0, 0.033]), percent_range([0.5, 0.5]), percent_range(None)
    ('0-3.3 %', '50 %', '-')
    """
    if interval is None:
        return "-"
    low, high = (_rounded(rate) for rate in interval)
    return f"{low} %" if low == high else f"{low}-{high} %"


def count_range(lower: int, upper: int) -> str:
    """An interval of counts in a table.

    >>> count_range(280, 1290), count_range(4169, 4169), count_range(3, core.UNBOUNDED)
    ('280 to 1,290', '4,169', '3 or more')
    """
    if upper >= core.UNBOUNDED:
        return f"{lower:,} or more"
    return f"{lower:,}" if lower == upper else f"{lower:,} to {upper:,}"


def list_values(values: Sequence[int]) -> str:
    """Counts that are possible; three and more in a row by their ends.

    >>> list_values([0, 2]), list_values([0, 1, 2, 3, 5]), list_values([])
    ('0, 2', '0-3, 5', 'none')
    """
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    parts = [f"{run[0]:,}-{run[-1]:,}" if len(run) > 2 else ", ".join(f"{n:,}" for n in run) for run in runs]
    return ", ".join(parts) or "none"


def cell_label(cell: Mapping[str, str]) -> str:
    """A cell by its categories alone.

    >>> cell_label({"religion": "none", "age": "18-24"}), cell_label({})
    ('none, 18-24', 'everyone')
    """
    return ", ".join(cell.values()) or "everyone"


def named_cell_label(cell: Mapping[str, str]) -> str:
    """A cell by its axes and categories.

    >>> named_cell_label({"religion": "none", "age": "18-24"})
    'religion none, age 18-24'
    """
    return ", ".join(f"{axis} {value}" for axis, value in cell.items()) or "everyone"


def describe_onlooker(onlooker: "Onlooker", axes: tuple[str, ...]) -> str:
    """What an onlooker knows beside the release."""
    knows = [COMPOSITIONS[onlooker.composition(axes)]]
    if onlooker.facts:
        knows.append(f"holds {', '.join(table.name for table in onlooker.facts)}")
    knows.append(f"{'knows' if onlooker.knows_rule else 'does not know'} the rule by which groups were protected")
    return "; ".join(knows)


def _rounded(rate: float) -> str:
    if 0 < rate < 0.0005:
        return "<0.1"
    if 0.9995 <= rate < 1:
        return ">99.9"
    # 1e-9 keeps 10 % and 90 % on the side of the integers whatever the last bit of the quotient is.
    digits = 0 if 0.1 - 1e-9 <= rate <= 0.9 + 1e-9 or rate >= 1 else 1
    text = f"{100 * rate:,.{digits}f}"
    return text.removesuffix(".0")

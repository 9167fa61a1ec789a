"""Phrases that the terminal and the page share."""

from collections.abc import Mapping, Sequence

from safemargin.core import UNBOUNDED, Onlooker

COMPOSITION_WORDS = {
    "joint": "knows how many people have each combination of categories",
    "sizes": "knows how many people each group has",
    "none": "does not know how large the groups are",
}


def plural(count: int, noun: str) -> str:
    """A number with its noun.

    >>> plural(1, "group"), plural(1200, "cell"), plural(2, "person")
    ('1 group', '1,200 cells', '2 people')
    """
    many = {"person": "people", "category": "categories"}.get(noun, f"{noun}s")
    return f"{count:,} {noun if count == 1 else many}"


def percent(rate: float) -> str:
    """A rate with one decimal where there is one; only none is 0 % and only all is 100 %.

    >>> percent(0.25), percent(0.0333), percent(0.99999)
    ('25 %', '3.3 %', '>99.9 %')
    """
    return f"{_trimmed(rate)} %"


def percent_span(interval: Sequence[float] | None) -> str:
    """Both ends of an interval of rates.

    >>> percent_span([0, 0.033]), percent_span([0.5, 0.5]), percent_span(None)
    ('0-3.3 %', '50 %', '-')
    """
    if interval is None:
        return "-"
    low, high = (_trimmed(rate) for rate in interval)
    return f"{low} %" if low == high else f"{low}-{high} %"


def count_span(lower: int, upper: int) -> str:
    """An interval of counts.

    >>> count_span(280, 290), count_span(3, UNBOUNDED)
    ('[280, 290]', '[3, no limit]')
    """
    return f"[{lower}, {upper if upper < UNBOUNDED else 'no limit'}]"


def values_words(values: Sequence[int]) -> str:
    """Counts that are possible; three and more in a row by their ends.

    >>> values_words([0, 2]), values_words([0, 1, 2, 3, 5]), values_words([])
    ('0, 2', '0-3, 5', 'none')
    """
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return ", ".join(parts) or "none"


def cell_words(cell: Mapping[str, str]) -> str:
    """A cell by its categories alone.

    >>> cell_words({"religion": "none", "age": "18-24"}), cell_words({})
    ('none, 18-24', 'everyone')
    """
    return ", ".join(cell.values()) or "everyone"


def named_cell_words(cell: Mapping[str, str]) -> str:
    """A cell by its axes and categories."""
    return ", ".join(f"{axis} {value}" for axis, value in cell.items()) or "everyone"


def onlooker_words(onlooker: Onlooker, axes: tuple[str, ...]) -> str:
    """What an onlooker knows beside the release."""
    knows = [COMPOSITION_WORDS[onlooker.composition(axes)]]
    if onlooker.facts:
        knows.append(f"holds {', '.join(table.name for table in onlooker.facts)}")
    knows.append(f"{'knows' if onlooker.knows_rule else 'does not know'} the rule by which groups were protected")
    return "; ".join(knows)


def _trimmed(rate: float) -> str:
    if 0 < rate < 0.0005:
        return "<0.1"
    if 0.9995 <= rate < 1:
        return ">99.9"
    return f"{100 * rate:.1f}".removesuffix(".0")

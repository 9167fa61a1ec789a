"""A first look at every column of a data file: what it holds, and how often."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from safemargin.io import DuckSource, Source, Survey, is_finite, natural_order, open_source, tables_in
from safemargin.release.column_texts import is_scale_value, is_whole, missing_among

MOST_VALUES = 5_000
"""Different values up to which a column is counted whole; of others the first rows are counted."""
BINS, MOST_BARS = 24, 24
EXAMPLES = 4


@dataclass(frozen=True)
class ColumnLook:
    """A column: its values with how many rows hold each, numbers by size, others in their natural order."""

    name: str
    distinct: int
    values: tuple[tuple[str, int], ...]
    empty: int
    """Rows that hold nothing, or a word for nothing."""
    missing: tuple[str, ...]
    """The words for nothing that it holds."""
    is_number: bool
    is_scale: bool
    """Whether it can be cut into bands: numbers or dates."""
    rows: int
    """How many rows were counted."""

    @property
    def is_whole(self) -> bool:
        """Whether it may hold counts."""
        return self.is_number and all(is_whole(text) for text, _ in self.values)

    @property
    def words(self) -> str:
        """The first values, and how many more there are."""
        if self.is_number and self.values:
            return f"{self.values[0][0]} to {self.values[-1][0]}"
        shown = ", ".join(text for text, _ in self.values[:EXAMPLES])
        return shown + (", ..." if len(self.values) > EXAMPLES else "")

    @property
    def bars(self) -> list[tuple[str, int]]:
        """The bars of its picture: one per value, or numbers in classes of equal width."""
        if not self.is_number or len(self.values) <= MOST_BARS:
            return list(self.values[:MOST_BARS])
        numbers = [(float(text), count) for text, count in self.values]
        low, high = numbers[0][0], numbers[-1][0]
        width = (high - low) / BINS or 1.0
        counts = [0] * BINS
        for number, count in numbers:
            counts[min(int((number - low) / width), BINS - 1)] += count
        return [(f"from {low + place * width:.4g}", count) for place, count in enumerate(counts)]


def look_at(path: Path, table: str | None, encoding: str | None) -> tuple[Survey, tuple[ColumnLook, ...]]:
    """Every column of a file."""
    listed = () if table is not None else tables_in(path)
    source = open_source(path, listed[0] if listed else table, encoding)
    survey = source.survey()
    few = [name for name, distinct in survey.distinct.items() if distinct <= MOST_VALUES]
    counted = source.counted(few) if isinstance(source, DuckSource) else {name: _counted(source, name) for name in few}
    return survey, tuple(_column(survey, name, counted.get(name)) for name in survey.distinct)


def _column(survey: Survey, name: str, counted: Mapping[str, int] | None) -> ColumnLook:
    counted = Counter(survey.examples[name]) if counted is None else counted
    texts, counts = list(counted), list(counted.values())
    nothing = {"", *missing_among(texts)}
    pairs = [(text, count) for text, count in zip(texts, counts, strict=True) if text.strip() not in nothing]
    empty = sum(counts) - sum(count for _, count in pairs)
    is_number = bool(pairs) and all(is_finite(text) for text, _ in pairs)
    pairs.sort(key=(lambda pair: float(pair[0])) if is_number else (lambda pair: natural_order(pair[0])))
    missing = tuple(text for text in missing_among(texts) if text)
    is_scale = bool(pairs) and all(is_scale_value(text) for text, _ in pairs)
    return ColumnLook(name, survey.distinct[name], tuple(pairs), empty, missing, is_number, is_scale, sum(counts))


def _counted(source: Source, name: str) -> dict[str, int]:
    """How often each value of a column occurs."""
    profiles = source.profiles((name,), (name,))
    texts, codes = profiles.column(name)
    counts = dict.fromkeys(texts, 0)
    for code, count in zip(codes.tolist(), profiles.counts.tolist(), strict=True):
        counts[texts[code]] += count
    return counts

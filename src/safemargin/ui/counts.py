"""The coloured table: counts with their status, totals, and what anybody could infer, as a cross table.

`count_cells` makes its HTML, `terminal` its text. Status is colour, pattern and letter; exact counts are plain.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from safemargin.ui.formatting import kind_words

EXACT, EXPOSED = "exact", "exposed"
JOINED = " | "
"""Between the categories of a merged group."""


@dataclass(frozen=True)
class CountStatus:
    """How a cell was published: its letter, its words, and the class of its pattern."""

    letter: str
    words: str
    pattern: str


STATUS = {
    EXACT: CountStatus("", "exact", ""),
    "merged": CountStatus("M", "merged", "is-merged"),
    "noised": CountStatus("N", "noised", "dots"),
    "suppressed": CountStatus("S", "suppressed", "hatch"),
    "primary": CountStatus("P", "primary suppressed", "hatch"),
    "secondary": CountStatus("S", "secondary suppressed", "hatch2"),
    "range": CountStatus("R", "published as a range", "hatch2"),
    "interval": CountStatus("", kind_words("interval"), "is-open"),
    "within": CountStatus("✓", kind_words("within"), "is-within"),
    EXPOSED: CountStatus("!", "could be inferred", "is-exposed"),
}
"""Every status, in the order of the legend."""


@dataclass(frozen=True, slots=True)
class CountCell:
    """One cell: what is printed, how it was published, and the interval that anybody can infer, where it is known.

    `note` is the place of what is said about it among the notes of the table.
    """

    value: int | None = None
    status: str = EXACT
    low: int | None = None
    high: int | None = None
    note: int | None = None


@dataclass(frozen=True)
class CountNote:
    """What is said about one cell: sentences, two tables that both fit, what would fix it, and what hiding it costs."""

    name: str
    sentences: Sequence[str] = ()
    extremes: Sequence[tuple[str, int, int]] = ()
    """Cells that differ between two tables that nobody can exclude, with their lowest and highest count."""
    fix: str = ""
    price: str = ""
    """What it costs that the count is not printed, or not by itself."""
    known: str = ""
    """What anybody can infer, in words: the drawer says it by itself."""


@dataclass(frozen=True)
class CountRow:
    """A row: its category by axis, and its counts."""

    labels: tuple[str, ...]
    counts: Sequence[CountCell]

    @property
    def is_plain(self) -> bool:
        """Whether every count is exact."""
        return all(count.status == EXACT for count in self.counts)

    @property
    def is_exposed(self) -> bool:
        """Whether a count could be inferred."""
        return any(count.status == EXPOSED for count in self.counts)


@dataclass(frozen=True)
class CountTable:
    """A cross table of counts. With `totals`, its first column holds those of the rows; `total` is the last row.

    With `shares`, every other column shows its share of the total as a bar.
    """

    caption: str
    corners: tuple[str, ...]
    columns: Sequence[str]
    rows: Sequence[CountRow]
    total: CountRow | None = None
    together: CountRow | None = None
    """All suppressed rows together, which everybody can subtract."""
    totals: bool = False
    shares: bool = False
    notes: Sequence[CountNote] = ()
    why: str = ""
    """Why rows are suppressed, on a page for the public: one reason for all."""

    @property
    def used(self) -> list[str]:
        """Every status that occurs, in the order of the legend, after `exact`."""
        rows = [*self.rows, *([self.total] if self.total else [])]
        found = {count.status for row in rows for count in row.counts} | {EXACT}
        if "interval" in found and not any(count.status == EXACT for row in rows for count in row.counts):
            found -= {EXACT}
        return [status for status in STATUS if status in found]

    @property
    def is_marked(self) -> bool:
        """Whether any count is not exact."""
        return self.used != [EXACT]

    def shown(self, most: int) -> tuple[list[CountRow], int]:
        """The first rows, and how many more there are; where they are too many, those that are not plain come first."""
        if len(self.rows) <= most:
            return list(self.rows), 0
        ranked = sorted(self.rows, key=lambda row: 0 if row.is_exposed else 2 if row.is_plain else 1)
        return ranked[:most], len(self.rows) - most


def number_text(count: CountCell) -> str:
    """A count as it is printed: `4,299`, `≈ 257`, `3 to 6`; nothing where nothing is known."""
    if count.value is not None:
        return f"≈ {count.value:,}".replace("-", "−") if count.status == "noised" else f"{count.value:,}"
    if count.low is None:
        return ""
    if count.high is None:
        return f"{count.low:,} or more"
    return f"{count.low:,}" if count.low == count.high else f"{count.low:,} to {count.high:,}"


def share_text(part: int, whole: int) -> str:
    """A share as tables print it: one digit below 10 %, none above.

    >>> share_text(259, 445), share_text(12, 445), share_text(0, 445), share_text(445, 445)
    ('58 %', '2.7 %', '0 %', '100 %')
    """
    if whole <= 0 or part <= 0:
        return "0 %"
    rate = 100 * part / whole
    if part < whole and rate >= 99.5:
        return ">99 %"
    return f"{rate:.1f} %" if rate < 9.95 else f"{rate:.0f} %"

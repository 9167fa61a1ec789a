"""What a result states, once: a list of blocks, from which `terminal` makes text and `page` makes HTML.

A text stands for a paragraph wherever a block does, and an empty text for nothing.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from safemargin.ui.counts import CountTable
from safemargin.ui.formatting import kind_words
from safemargin.ui.plans import AxisStrips, ChoiceBars, Remedies
from safemargin.ui.results import Coverage, DotPlot, Downloads, Protection, ResultBar, SelfCheck

SCHEMA = 1
"""Version of the JSON documents (`docs/json.md`); a change of meaning raises it."""
UNNAMED_COUNT = "count"
"""Key of a group's only count where the tables have no options."""
Document = dict[str, Any]
Spec = dict[str, Any]
"""A picture in Vega-Lite."""
LISTED = 10
"""Items of a list that a terminal shows."""
MOST_ITEMS = 50
"""Items of a list that a page shows."""
MOST_ROWS = 2_000
"""Rows of a table that a page shows: browsers get slow with more."""
NUMBER = re.compile(r"[-+≈<>~±]* ?(?:\d[\d,./]*|inf|infinite)(?:e[-+]?\d+)?(?: ?%)?")
NUMBER_WORDS = re.compile(r"(?:to|of|or more|at least|at most|in|about|exactly|all|none|exact|-|[()])")
"""Words that may stand in a column of numbers."""


@dataclass(frozen=True)
class Tag:
    """A word of a known kind, such as a verdict or an action: it gets a colour; `hint` is its tooltip on the page."""

    kind: str
    text: str = ""
    hint: str = ""

    def __str__(self) -> str:
        return self.text or kind_words(self.kind)


@dataclass(frozen=True)
class Link:
    """A text that leads to another page of the same program; a terminal shows the text."""

    text: str
    address: str

    def __str__(self) -> str:
        return self.text


Cell = object
"""A value in a table: a tag, a link, an integer, which gets thousands separators, or a text."""


class Section:
    """A heading and what stands under it."""

    def __init__(self, title: str, *parts: "Part", anchor: str = "") -> None:
        self.title, self.parts, self.anchor = title, parts, anchor


@dataclass(frozen=True)
class Paragraph:
    """A text with a tone: `strong`, `quiet`, `warning`, `sound`, `unsound`, or `code` for what is typed."""

    text: str
    tone: str = ""


@dataclass(frozen=True)
class Points:
    """A list; an item of two texts is a term and what is said about it. A terminal shows the first `most`."""

    items: Sequence[str | tuple[str, str]]
    most: int = LISTED


@dataclass(frozen=True)
class Figures:
    """Numbers that stand out, each under what it counts."""

    values: Mapping[str, Cell]


@dataclass(frozen=True)
class Particulars:
    """Texts by name, one below the other: files, dates, hashes."""

    values: Mapping[str, Cell]


@dataclass(frozen=True)
class Answers:
    """Questions, each with a short answer and a sentence or two."""

    items: Sequence[tuple[str, str, str]]


class Headline:
    """The sentence that counts, in one of three states: `sound`, `partly` or `unsound`."""

    def __init__(self, state: str, headline: str, *parts: "Part") -> None:
        self.state, self.headline, self.parts = state, headline, parts


@dataclass(frozen=True)
class Grid:
    """A table. The first column names the rows; columns of numbers are aligned on the right.

    A terminal shows the first `most` rows; `roomy` columns only where it is wide; with `wide` lines are never wrapped.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    most: int | None = None
    total: int | None = None
    """How many rows there are, where `rows` are not all."""
    roomy: Sequence[str] = ()
    sortable: bool = False
    wide: bool = False
    emphasis: int | None = None
    """A row that stands out."""

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers only."""
        columns = zip(*self.rows, strict=True) if self.rows else iter([()] * len(self.columns))
        return [
            place > 0 and all(map(_is_number, values)) and set(map(str, values)) != {"exact"}
            for place, values in enumerate(columns)
        ]

    def missing(self, shown: int) -> str:
        """What is said about rows that are not shown."""
        left = max(self.total or 0, len(self.rows)) - shown
        return f"{left:,} more {'is' if left == 1 else 'are'} not shown." if left > 0 else ""


@dataclass(frozen=True)
class Chart:
    """A picture; a terminal has none. `kinds` are the words of its legend; one that `fits` a phone does not scroll."""

    spec: Spec | Callable[[], Spec]
    caption: str
    kinds: Sequence[str] = ()
    fits: bool = False


@dataclass(frozen=True)
class Bar:
    """One row of `Bars`: an interval of shares between 0 and 1 with its kind, a dot, and limits."""

    label: str
    low: float
    high: float
    text: str
    kind: str = ""
    dot: float | None = None
    limits: Sequence[float] = ()


@dataclass(frozen=True)
class Bars:
    """Intervals as bars on a common scale, which is a real table; a terminal shows the texts of the first `most`."""

    caption: str
    rows: Sequence[Bar]
    scale: Sequence[str]
    what: str
    kinds: Sequence[str] = ()
    most: int = LISTED


@dataclass(frozen=True)
class Square:
    """A cell of a `Map`: how large it is drawn (0 to 1), its kind, and one sentence about it."""

    row: str
    column: str
    size: float
    kind: str
    text: str
    address: str = ""
    """The page about the cell, where there is one."""


@dataclass(frozen=True)
class Map:
    """Every cell of a table of two axes as a square that can be pointed at; a terminal has none."""

    caption: str
    rows: Sequence[str]
    columns: Sequence[str]
    squares: Sequence[Square]
    kinds: Mapping[str, str]
    """What the colours mean, by kind."""


@dataclass(frozen=True)
class HeatCell:
    """A figure with what is said about it: `step` from -2 (far below) to 2 (far above); none if it is not published."""

    text: str
    step: int | None
    hint: str


@dataclass(frozen=True)
class HeatRow:
    """A row of a `Heat`: its overall figure, its cells, and a strip of shares by name, from one end to the other."""

    label: str
    overall: str
    cells: Sequence[HeatCell]
    strip: Sequence[tuple[str, float]] = ()
    heading: str = ""
    """What the rows from here on belong to."""


@dataclass(frozen=True)
class Heat:
    """A table of figures coloured by how far they are from the overall one; gaps are hatched. A terminal has none."""

    caption: str
    corner: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[HeatRow]
    steps: Sequence[str]
    """What the five colours mean, from far below to far above."""
    table: str = ""


@dataclass(frozen=True)
class AnswerStrips:
    """How everybody answered, from one end of the scale to the other, on both sides of a middle line."""

    rows: Sequence[HeatRow]


class Fold:
    """What opens on a click; a terminal shows it only if it is `printed` there."""

    def __init__(
        self, summary: str, *parts: "Part", printed: bool = False, is_open: bool = False, on_paper: bool = True
    ) -> None:
        self.summary, self.parts, self.printed, self.is_open = summary, parts, printed, is_open
        self.on_paper = on_paper
        """Whether it is part of the page when that is printed: what stands there in another form is not."""


@dataclass(frozen=True)
class Signatures:
    """Lines to sign on paper."""

    labels: Sequence[str]


class Columns:
    """Parts side by side where there is room."""

    def __init__(self, *parts: "Part") -> None:
        self.parts = parts


class OnPage:
    """What only the page shows."""

    def __init__(self, *parts: "Part") -> None:
        self.parts = parts


class InTerminal:
    """What only the terminal shows."""

    def __init__(self, *parts: "Part") -> None:
        self.parts = parts


Block = (
    Section
    | Paragraph
    | Points
    | Figures
    | Particulars
    | Answers
    | Headline
    | Grid
    | Chart
    | Bars
    | AnswerStrips
    | AxisStrips
    | ChoiceBars
    | Remedies
    | CountTable
    | Coverage
    | DotPlot
    | Downloads
    | SelfCheck
    | Protection
    | ResultBar
    | Heat
    | Map
    | Fold
    | Signatures
    | Columns
    | OnPage
    | InTerminal
)
Part = Block | str | None


class Report:
    """The whole of what a result states. Title, banner and kicker, a line above the title, stand on the page only."""

    def __init__(self, title: str, *parts: Part, banner: tuple[str, str] | None = None, kicker: str = "") -> None:
        self.title, self.parts, self.banner, self.kicker = title, parts, banner, kicker


CHECK = Section("Check it yourself", SelfCheck(), anchor="check")
"""The form in which a page checks files, as the pages that have it show it."""


def blocks(parts: Iterable[Part]) -> list[Block]:
    """The blocks, with texts as paragraphs; empty texts and tables, lists without items, are dropped.

    >>> [type(block).__name__ for block in blocks(["a", "", None, Points([])])]
    ['Paragraph']
    """
    stated: list[Block] = []
    for part in parts:
        if isinstance(part, str):
            part = Paragraph(part) if part else None
        match part:
            case (
                None
                | Paragraph(text="")
                | Points(items=[])
                | Grid(rows=[])
                | Bars(rows=[])
                | Heat(rows=[])
                | CountTable(rows=[])
            ):
                continue
        stated.append(part)
    return stated


def _is_number(value: Cell) -> bool:
    if isinstance(value, int):
        return True
    if isinstance(value, Tag | Link):
        return False
    return not NUMBER_WORDS.sub("", NUMBER.sub("", str(value))).strip(" -")

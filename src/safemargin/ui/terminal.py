"""Blocks in a terminal: 80 columns unless it is wider."""

from collections.abc import Iterable, Sequence
from functools import singledispatch

from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segments
from rich.table import Table
from rich.text import Text

from safemargin.ui.blocks import (
    Answers,
    Bars,
    Block,
    Cell,
    Columns,
    Figures,
    Fold,
    Grid,
    Headline,
    InTerminal,
    Paragraph,
    Part,
    Particulars,
    Points,
    Report,
    Section,
    Tag,
    blocks,
)
from safemargin.ui.counts import EXPOSED, STATUS, CountCell, CountTable, number_text
from safemargin.ui.formatting import band_label

ROOMY = 110
"""Columns of a terminal from which on tables show their further columns."""
WIDEST = 300
"""Columns of a table that is not cut to the width of the terminal."""
STYLES = {
    "strong": "bold",
    "quiet": "dim",
    "warning": "yellow",
    "sound": "bold green",
    "partly": "bold yellow",
    "unsound": "bold red",
    "contained": "green",
    "disclosed": "bold red",
    "exposed": "bold red",
    "merged": "blue",
    "noised": "magenta",
    "within": "green",
    "yes": "green",
    "no": "red",
}
"""By tone, state or kind; others are plain."""


def show_report(console: Console, report: Report) -> None:
    """Print everything that a terminal shows."""
    show_parts(console, report.parts, first=True)


def show_parts(console: Console, parts: Iterable[Part], first: bool = False) -> None:
    """Print parts in order, with a blank line before a section, unless it is `first`, and between texts and tables."""
    before: Block | None = None
    for block in blocks(parts):
        apart = isinstance(block, Section) and not (first and before is None)
        if apart or (isinstance(block, Grid | Figures | Particulars) and isinstance(before, Paragraph)):
            console.print()
        _show(block, console)
        before = block


def as_text(value: Cell) -> Text:
    """A value without markup: names of groups may hold brackets."""
    if isinstance(value, Tag):
        return Text(str(value), STYLES.get(value.kind, ""))
    return Text(f"{value:,}" if isinstance(value, int) else str(value))


@singledispatch
def _show(block: Block, console: Console) -> None:
    """Charts and maps have no form in a terminal."""


@_show.register
def _(block: Section, console: Console) -> None:
    console.print(Text(block.title, "bold"))
    show_parts(console, block.parts)


@_show.register
def _(block: Paragraph, console: Console) -> None:
    # What is typed must stay one line, or it cannot be copied.
    console.print(Text(block.text, STYLES.get(block.tone, "")), soft_wrap=block.tone == "code")


@_show.register
def _(block: Points, console: Console) -> None:
    texts = [item if isinstance(item, str) else f"{item[0]}: {item[1]}" for item in block.items]
    more = [f"and {len(texts) - block.most:,} more"] if len(texts) > block.most else []
    for text in [*texts[: block.most], *more]:
        line = Table.grid()
        line.add_row("  - ", Text(text))
        console.print(line)


@_show.register(Figures)
@_show.register(Particulars)
def _(block: Figures | Particulars, console: Console) -> None:
    lines = Table.grid(padding=(0, 2, 0, 0))
    lines.add_column()
    lines.add_column(overflow="fold")
    for name, value in block.values.items():
        lines.add_row(Text(name), as_text(value))
    console.print(lines)


@_show.register
def _(block: Answers, console: Console) -> None:
    for question, answer, detail in block.items:
        console.print()
        console.print(Text.assemble((question, "dim"), " ", (answer, "bold")))
        console.print(Padding(Text(detail), (0, 0, 0, 2)))


@_show.register
def _(block: Headline, console: Console) -> None:
    console.print(Text(block.headline, STYLES[block.state]))
    show_parts(console, block.parts)


@_show.register
def _(block: Grid, console: Console) -> None:
    most = len(block.rows) if block.most is None else block.most
    shown = block.rows[:most]
    hidden = () if console.width >= ROOMY else block.roomy
    table = text_table(block.columns, shown, block.numeric, block.emphasis, hidden)
    if block.wide:
        options = console.options.update(max_width=WIDEST)
        width = Measurement.get(console, options, table).maximum
        console.print(Segments(console.render(table, options.update(width=width))), soft_wrap=True, end="")
    else:
        console.print(table)
    if missing := block.missing(len(shown)):
        console.print(Text(missing, "dim"))


LONGEST_NAME = 28
"""Letters of the name of a row before it is folded."""
COUNT_ROWS = 20
"""Rows of a coloured table that a terminal shows."""


@_show.register
def _(block: CountTable, console: Console) -> None:
    """The coloured table: a letter before every count that is not exact; as many columns as there is room for."""
    rows, missing = block.shown(COUNT_ROWS)
    lines = [*rows, *([block.total] if block.total else [])]
    cells = [
        [as_text(band_label(name)) for name in line.labels] + [_count_text(c) for c in line.counts] for line in lines
    ]
    names = [*block.corners, *map(band_label, block.columns)]
    widths = [max(min(len(name), 9), *(len(line[place]) for line in cells)) for place, name in enumerate(names)]
    widths = [min(width, LONGEST_NAME) if place < len(block.corners) else width for place, width in enumerate(widths)]
    room, shown = console.width, 0
    while shown < len(widths) and (room := room - widths[shown] - 1) >= 0:
        shown += 1
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for place, name in enumerate(names[: max(shown, 1)]):
        is_name = place < len(block.corners)
        table.add_column(Text(name), justify="left" if is_name else "right", overflow="fold", width=widths[place])
    for place, line in enumerate(cells):
        table.add_row(*line[: max(shown, 1)], style="bold" if place >= len(rows) else "")
    console.print(table)
    key = "; ".join(f"{STATUS[kind].letter} {STATUS[kind].words}" for kind in block.used if STATUS[kind].letter)
    left = [f"{missing:,} more rows"] if missing else []
    left += [f"{len(names) - shown:,} more columns"] if 0 < shown < len(names) else []
    if key or left:
        console.print(Text("; ".join([*([key] if key else []), *(f"{part} not shown" for part in left)]) + ".", "dim"))


def _count_text(count: CountCell) -> Text:
    letter, text = STATUS[count.status].letter, number_text(count)
    style = STYLES[EXPOSED] if count.status == EXPOSED else STYLES.get(count.status, "dim" if letter else "")
    return Text(" ".join(part for part in (letter, text) if part), style)


@_show.register
def _(block: Bars, console: Console) -> None:
    rows = [(bar.label, Tag(bar.kind, bar.text)) for bar in block.rows]
    _show(Grid(("", block.caption), rows, most=block.most), console)


@_show.register
def _(block: Fold, console: Console) -> None:
    if block.printed:
        console.print(Text(block.summary, "bold"))
        show_parts(console, block.parts)


@_show.register(Columns)
@_show.register(InTerminal)
def _(block: Columns | InTerminal, console: Console) -> None:
    show_parts(console, block.parts)


def text_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]] = (),
    numeric: Sequence[bool] = (),
    emphasis: int | None = None,
    hidden: Sequence[str] = (),
) -> Table:
    """A table with two blanks between its columns, one where there are many; cells are text, not markup."""
    space = 1 if len(columns) - len(hidden) > 4 else 2
    table = Table(box=None, pad_edge=False, padding=(0, space, 0, 0), header_style="bold")
    shown = [column for column, name in enumerate(columns) if name not in hidden]
    cells = [[as_text(row[column]) for column in shown] for row in rows]
    for number, column in enumerate(shown):
        if numeric and numeric[column]:  # numbers are not broken, their headings may be
            widest = max((len(row[number]) for row in cells), default=0)
            table.add_column(Text(columns[column]), justify="right", min_width=widest)
        else:
            table.add_column(Text(columns[column]), overflow="fold")
    for number, row in enumerate(cells):
        table.add_row(*row, style="bold" if number == emphasis else "")
    return table

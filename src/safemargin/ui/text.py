"""Small tables and lines in a terminal."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

FEW = 10
"""How many refusals, or findings of one attack, are listed."""


def text_table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    return table


def say_list(console: Console, lines: Sequence[str], most: int = FEW) -> None:
    more = [f"and {len(lines) - most:,} more"] if len(lines) > most else []
    for line in [*lines[:most], *more]:
        points = Table.grid()
        points.add_row("  - ", Text(line))
        console.print(points)


def say(console: Console, words: str, style: str = "") -> None:
    """Print as it stands: names of groups are no markup."""
    console.print(Text(words, style=style))


def tone(sound: bool) -> str:
    return "bold green" if sound else "bold red"


def grid(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        grid.add_column(Text(name), overflow="fold")
    for row in rows:
        grid.add_row(*(each if isinstance(each, Text) else Text(each) for each in row))
    return grid

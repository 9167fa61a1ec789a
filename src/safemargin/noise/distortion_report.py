"""What noise does to small areas, as a document, in a terminal and on a page."""

from collections.abc import Callable, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from safemargin.noise.charts import distortion_chart
from safemargin.noise.distortion import Distortion, Gone, SizeClass
from safemargin.ui import (
    Document,
    Spec,
    element,
    exact_percent,
    figure,
    joined,
    paragraphs,
    plural,
    points,
    render_page,
    section,
    table,
    tiles,
    to_svg,
)

NAMED = 10
"""Areas that are listed by name."""


def distortion_document(found: Distortion, inputs: Document) -> Document:
    """The document of `noise distort --json`; its value is how many counts vanished or became negative."""
    return {
        "value": len(found.gone),
        "inputs": inputs,
        "details": {
            "thresholds": list(found.thresholds),
            "single": [asdict(each) for each in found.single],
            "broadband": [asdict(each) for each in found.broadband],
            "vanished": len(found.vanished),
            "negative": len(found.negative),
            "gone": [asdict(one) for one in found.gone],
        },
    }


def show_distortion(console: Console, found: Distortion, limit: int = NAMED) -> None:
    """Both tables, and the largest counts that are gone."""
    for title, classes in _kinds(found):
        console.print(Text(title, style="bold"))
        grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for name in columns(found):
            grid.add_column(name, justify="right")
        for row in rows(found, classes):
            grid.add_row(*map(Text, row))
        console.print(grid)
    console.print(Text(gone_words(found)))
    for one in found.gone[:limit]:
        console.print(Text(f"  - {gone_line(one)}"))


def distortion_page(title: str, words: str, found: Distortion, draw: Callable[[Spec], str] = to_svg) -> str:
    """One page with a picture for single counts and one for whole areas."""
    parts = [
        section(
            name,
            figure(
                draw(distortion_chart(chart_rows(found, classes))),
                "Counts by size: bars are what the law of the noise leads to, ticks were drawn",
                fits=True,
            ),
            table(columns(found), rows(found, classes), columns(found)[1:]),
        )
        for name, classes in _kinds(found)
    ]
    figures = {"vanished": len(found.vanished), "negative": len(found.negative)}
    gone = section(
        "Gone", paragraphs(gone_words(found)), tiles(figures), points(map(gone_line, found.gone[: 3 * NAMED]))
    )
    head = element("header", element("h1", title), paragraphs(words))
    return render_page(title, head, joined([*parts, gone]))


def chart_rows(found: Distortion, classes: Sequence[SizeClass]) -> list[Spec]:
    """One row per class and threshold."""
    return [
        {"upto": each.high, "threshold": threshold, "expected": each.expected[place], "seen": each.seen[place]}
        for each in classes
        for place, threshold in enumerate(found.thresholds)
    ]


def columns(found: Distortion) -> list[str]:
    """Of the table of one kind: the class, how many counts, and per threshold rough, expected and seen."""
    return [
        "count",
        "how many",
        *(f"{exact_percent(each)} {what}" for each in found.thresholds for what in ("rough", "expected", "seen")),
    ]


def rows(found: Distortion, classes: Sequence[SizeClass]) -> list[list[str]]:
    """Classes that hold any count."""
    return [
        [
            f"{each.low + 1}-{each.high}",
            f"{each.counts:,}",
            *(
                text
                for place in range(len(found.thresholds))
                for text in (_number(each.rough[place]), _number(each.expected[place]), f"{each.seen[place]:,}")
            ),
        ]
        for each in classes
        if each.counts
    ]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}"


def _kinds(found: Distortion) -> tuple[tuple[str, tuple[SizeClass, ...]], ...]:
    return (
        ("Single counts off by at least a share", found.single),
        ("Areas whose counts are all off the same way", found.broadband),
    )


def gone_words(found: Distortion) -> str:
    """How many counts are gone."""
    if not found.gone:
        return "No count vanished or became negative."
    return (
        f"{plural(len(found.vanished), 'count')} vanished and {len(found.negative):,} became negative, of "
        f"{found.gone[0].true:,} people at most."
    )


def gone_line(one: Gone) -> str:
    """One count that is gone."""
    return f"{one.name}: {one.column} {one.true:,}, printed {one.printed:,}"

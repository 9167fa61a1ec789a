"""Intervals as a table with a bar in every row: labels are text of the page, so that they wrap and can be copied."""

from collections.abc import Sequence

from safemargin.bounds.exposure import Exposure
from safemargin.bounds.report import CellEntry
from safemargin.core import UNBOUNDED, Target
from safemargin.ui import Html, cell_label, count_range, element, percent

LEAST = 0.012
"""Share of the picture that an interval takes at least: a single point would not be seen."""

TICKS = 4


def interval_bars(rows: Sequence[CellEntry], exposure: Exposure, target: Target) -> Html:
    """What an onlooker can confine each cell to, with the limits and the rate that an analyst would guess."""
    known = all(row["interval"] is not None for row in rows)
    end = 1.0 if known else float(max([1, *(row["upper"] for row in rows if row["upper"] < UNBOUNDED)]))
    limits = exposure.limits(target) if known else None
    lines = []
    for row in rows:
        option = exposure.options.index(row["option"]) if "option" in row else 0
        marks = [] if limits is None else [float(limits.floors[option]), float(limits.ceilings[option])]
        lines.append(
            element(
                "tr",
                element("th", cell_label(row["cell"]), scope="row"),
                element("td", _track(row, end, known, marks), class_="track"),
                element("td", _words(row)),
            )
        )
    ends = [element("span", percent(t / TICKS) if known else f"{round(end * t / TICKS):,}") for t in range(TICKS + 1)]
    what = "share of the people in the cell" if known else "people"
    foot = element("tr", element("td", ""), element("td", element("div", *ends, class_="ticks")), element("td", what))
    return element("table", element("tbody", *lines), element("tfoot", foot), class_="bars")


def _track(row: CellEntry, end: float, known: bool, marks: Sequence[float]) -> Html:
    low, high = (row["interval"] or [0, 0]) if known else [row["lower"] / end, min(row["upper"] / end, 1.0)]
    low, high = max(low - LEAST / 2, 0.0), min(high + LEAST / 2, 1.0)
    lines = [element("i", class_="limit", style=f"left:{mark:.2%}") for mark in marks]
    fitted = row["fitted"] if known else None
    dot = "" if fitted is None else element("i", class_="dot", style=f"left:{min(max(fitted, 0.0), 1.0):.2%}")
    bar = element("i", class_=f"bar {row['verdict']}", style=f"left:{low:.2%};width:{high - low:.2%}")
    return element("div", bar, *lines, dot)


def _words(row: CellEntry) -> str:
    option = f"{row['option']}: " if "option" in row else ""
    people = "" if row["people"] is None else f" of {row['people']:,}"
    return f"{option}{count_range(row['lower'], row['upper'])}{people}"

"""Figures that follow from published counts alone: shares, and of a scale its mean and the share favourable.

Only rows whose counts are published as they are (exact or merged) give figures; where a count is suppressed, the figure
is lost and its row says so. On a scale the last option is the most favourable one, and *favourable* are the last two
(the last one of a scale of three). The mean counts options 1, 2, ... in their order, or by their own numbers.

>>> rows = [{"question": "q1", "option": o, "count": c, "status": "exact"} for o, c in zip("12345", (1, 1, 2, 4, 2))]
>>> [(row["figure"], row["value"]) for row in derived_rows({"total": rows}, {"q1": tuple("12345")})][-2:]
[('favourable', 0.6), ('mean', 3.5)]
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Scales = Mapping[str, tuple[str, ...]]
"""The options of every question that is a scale, in order."""
FIXED = ("question", "option", "count", "status")
KNOWN = ("exact", "merged")


def favourable(options: Sequence[str]) -> tuple[str, ...]:
    """The favourable end of a scale.

    >>> favourable(("1", "2", "3", "4", "5")), favourable(("bad", "fair", "good"))
    (('4', '5'), ('good',))
    """
    return tuple(options[-2:] if len(options) > 3 else options[-1:])


def scores(options: Sequence[str]) -> list[float]:
    """What every option counts in a mean."""
    try:
        return [float(option) for option in options]
    except ValueError:
        return [float(place) for place in range(1, len(options) + 1)]


def counted(rows: Iterable[Row]) -> dict[tuple[str, tuple[str, ...]], dict[str, int | None]]:
    """The published counts of every question and group, by option; none where one is suppressed."""
    cells: dict[tuple[str, tuple[str, ...]], dict[str, int | None]] = {}
    for row in rows:
        group = tuple(str(value) for name, value in row.items() if name not in FIXED)
        known = row["status"] in KNOWN and row["count"] is not None
        options = cells.setdefault((str(row["question"]), group), {})
        options[str(row["option"])] = int(row["count"]) if known else None
    return cells


def figures(counts: Mapping[str, int | None], scale: Sequence[str] = ()) -> dict[str, float | None]:
    """Every figure of one group of one question, by name; none where a count that it needs is suppressed."""
    known = {option: count for option, count in counts.items() if count is not None}
    people = sum(known.values()) if len(known) == len(counts) else 0
    values: dict[str, float | None] = {
        f"share of {option}": round(known[option] / people, 4) if people else None for option in counts
    }
    if scale:
        good = favourable(scale)
        values["favourable"] = round(sum(known.get(o, 0) for o in good) / people, 4) if people else None
        points = sum(known.get(o, 0) * score for o, score in zip(scale, scores(scale), strict=True))
        values["mean"] = round(points / people, 4) if people else None
    return values


def derived_rows(tables: Mapping[str, Sequence[Row]], scales: Scales) -> list[dict[str, object]]:
    """The rows of `derived.csv`: every figure of every published group."""
    rows: list[dict[str, object]] = []
    for name, table in tables.items():
        for (question, group), counts in counted(table).items():
            for figure, value in figures(counts, scales.get(question, ())).items():
                status = "derived" if value is not None else "suppressed"
                rows.append(
                    {
                        "question": question,
                        "table": name,
                        "group": ", ".join(group),
                        "figure": figure,
                        "value": value,
                        "status": status,
                    }
                )
    return rows


def wide_rows(table: Sequence[Row]) -> list[dict[str, object]]:
    """One table with a row per question and group, and a column per option: for spreadsheets."""
    axes = [name for name in (table[0] if table else {}) if name not in FIXED]
    options = list(dict.fromkeys(str(row["option"]) for row in table))
    return [
        {"question": question, **dict(zip(axes, group, strict=True)), **{o: counts.get(o) for o in options}}
        for (question, group), counts in counted(table).items()
    ]

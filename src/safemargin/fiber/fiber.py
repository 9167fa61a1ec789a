"""Count, list or sample every table that is consistent with the published ones."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from safemargin.bounds import LAWS, Data, axis_names, checked_tolerance, draw, measured_slack, possible, read_public
from safemargin.core import InputError, Progress, no_progress
from safemargin.fiber.report import DatabaseFiber, TableFiber
from safemargin.fiber.statistics import databases, read_statistics
from safemargin.io import ReadingOptions


def fiber(
    tables: Data = (),
    *,
    statistics: Path | str | Mapping[str, Any] | None = None,
    roll: Data = (),
    facts: Data = (),
    target: str | Sequence[str] | None = None,
    sample: int | None = None,
    law: str = "uniform",
    seed: int = 0,
    count: str = "count",
    option: str = "option",
    by: str | Sequence[str] | None = None,
    skip: Sequence[str] = (),
    tolerance: float = 0.0,
    reading: ReadingOptions | Mapping[str, Any] | Sequence[str] | None = None,
    progress: Progress = no_progress,
) -> TableFiber | DatabaseFiber:
    """Count the tables that an onlooker cannot exclude, with the counts they hold; `sample` draws so many at random.

    `tables`, `roll` and `facts` are tables: files, DataFrames, Arrow tables or rows. `reading` corrects how tables are
    read. `target` names the axes whose cells are asked for. `law` is how likely a table is when drawn. With
    `statistics` (a JSON file or its content: counts, means and medians) instead of tables, every database that
    agrees with them is listed.
    """
    if statistics is not None:
        if _given(tables):
            raise InputError("statistics: give either tables or statistics")
        stated = read_statistics(statistics)
        axes, values = dict(stated.axes), (stated.values.low, stated.values.high)
        return DatabaseFiber(tuple(axes), databases(stated.listed(), axes, values))
    if law not in LAWS:
        raise InputError(f"law = {law!r}: must be one of {', '.join(LAWS)}")
    if sample is not None and sample < 2:
        raise InputError(f"sample = {sample}: must be at least 2")
    columns: dict[str, Any] = {"count": count, "option": option, "by": by, "skip": skip}
    shown, onlooker, reads = read_public(tables, roll, facts, **columns, reading=reading)
    slack, wanted = measured_slack(shown, checked_tolerance(tolerance)), axis_names(target)
    tables_left = possible(shown, onlooker, target=wanted, slack=slack, progress=progress)
    if sample is not None:
        drawn = draw(shown, onlooker, count=sample, law=law, seed=seed, target=wanted, slack=slack, progress=progress)
        tables_left = replace(tables_left, drawn=drawn)
    return TableFiber(tables_left, reads)


def _given(tables: Data) -> bool:
    return not (isinstance(tables, list | tuple) and not tables)

"""How safety ends as tables grow: margins of higher order over more axes of one population, published exactly.

Conjecture 1 of the paper: below some size of what is published no cell is disclosed, above it some are. This measures
where that happens for the user's own data. Nothing here is published.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from safemargin import ui
from safemargin.bounds import infer
from safemargin.core import (
    SIGN,
    InputError,
    Onlooker,
    Progress,
    Table,
    Target,
    as_published,
    no_progress,
    printed,
)
from safemargin.release.inputs import project_of, read_inputs

MOST_CELLS = 20_000
"""Occupied cells of a set of axes up to which intervals are worked out; beyond, a set is not measured."""
NOT_PUBLIC = "This page looks at answers: it is confidential."


@dataclass(frozen=True)
class GrowthPoint:
    """All margins of up to `order` of some axes, published exactly: what they hold and what they disclose.

    `cells` are the occupied combinations of all the axes, `disclosed` those of which an onlooker who knows the joint
    roll infers a share outside the limits or a count to within tau, and `exposed` the people in them. `counts` is how
    many independent counts per option are published. `is_sharp` says whether every interval is as narrow as it can be.
    """

    axes: tuple[str, ...]
    order: int
    people: int
    cells: int
    counts: int
    disclosed: int
    exposed: int
    is_sharp: bool

    @property
    def cells_per_person(self) -> float:
        """How thinly people are spread: near 1, cells hold single people."""
        return self.cells / self.people

    @property
    def share(self) -> float:
        """The share of cells that are disclosed."""
        return self.disclosed / self.cells


@dataclass(frozen=True)
class Growth(ui.Result):
    """What is disclosed as margins of higher order over more axes are published."""

    title: str
    target: Target
    points: tuple[GrowthPoint, ...]
    skipped: tuple[str, ...] = ()

    @property
    def begins(self) -> dict[int, GrowthPoint | None]:
        """By order, of the sets of axes that disclose a cell the one with the fewest cells per person."""
        orders = sorted({point.order for point in self.points})
        found = {order: [p for p in self.points if p.order == order and p.disclosed] for order in orders}
        return {order: min(some, key=lambda p: p.cells_per_person) if some else None for order, some in found.items()}

    def to_json(self) -> ui.Document:
        """The document of `growth --json`."""
        return {
            "schema": ui.SCHEMA,
            "points": [
                {
                    "axes": list(point.axes),
                    "order": point.order,
                    "people": point.people,
                    "cells": point.cells,
                    "cells_per_person": point.cells_per_person,
                    "counts": point.counts,
                    "disclosed": point.disclosed,
                    "share_disclosed": point.share,
                    "people_exposed": point.exposed,
                    "sharp": point.is_sharp,
                }
                for point in self.points
            ],
            "begins": {
                str(order): None if point is None else point.cells_per_person for order, point in self.begins.items()
            },
            "skipped": list(self.skipped),
        }

    def to_report(self) -> ui.Report:
        rows: list[list[ui.Cell]] = [
            [SIGN.join(p.axes), p.order, p.cells, f"{p.cells_per_person:.3g}", p.counts, p.disclosed, p.exposed]
            for p in sorted(self.points, key=lambda p: (p.order, p.cells_per_person))
        ]
        columns = ("axes", "order", "cells", "cells per person", "counts", "disclosed", "people exposed")
        caption = "Share of cells that are disclosed, against cells per person. One dot per set of axes and order"
        skipped = [f"Not measured, more than {MOST_CELLS:,} cells: {', '.join(self.skipped)}."] if self.skipped else []
        return ui.Report(
            f"{self.title}: how safety ends as tables grow",
            *(_begin_words(order, point) for order, point in self.begins.items()),
            ui.Chart(lambda: growth_chart(self), caption),
            ui.Grid(columns, rows),
            *skipped,
            NOT_PUBLIC,
        )


def _begin_words(order: int, point: GrowthPoint | None) -> str:
    tables = "single axes" if order == 1 else f"tables of up to {order} axes"
    if point is None:
        return f"With {tables}, no measured set of axes discloses a cell."
    return (
        f"With {tables}, disclosure begins at {point.cells_per_person:.3g} cells per person: {SIGN.join(point.axes)} "
        f"discloses {point.disclosed:,} of {point.cells:,} cells."
    )


def growth(
    data: object,
    *,
    order: int = 3,
    axes: int = 4,
    progress: Progress = no_progress,
    **overrides: Any,
) -> Growth:
    """What would be disclosed if margins of up to `order` axes were published exactly, for sets of up to `axes` axes.

    `data` and the further arguments are those of `release`. Nothing is published.
    """
    for name, value in (("order", order), ("axes", axes)):
        if value < 1:
            raise InputError(f"{name} = {value}: must be at least 1")
    project, source = project_of(data, overrides)
    progress("reading")
    inputs = read_inputs(project, source)
    table, target = inputs.table, inputs.target
    if len(table.votes) > 1:
        raise InputError("growth needs [data]: sealed tallies hold one axis each")
    names = table.schema.names
    chosen = [some for count in range(1, min(axes, len(names)) + 1) for some in combinations(names, count)]
    points, skipped = [], []
    for done, some in enumerate(chosen):
        progress("measuring", done, len(chosen))
        if len(table.margin(some).codes) > MOST_CELLS:
            skipped.append(SIGN.join(some))
            continue
        points += [measure_point(table, some, each, target) for each in range(1, min(order, len(some)) + 1)]
    return Growth(project.title or "Data", target, tuple(points), tuple(skipped))


def measure_point(table: Table, axes: Sequence[str], order: int, target: Target) -> GrowthPoint:
    """Every margin of up to `order` of `axes`, exactly, against somebody who knows how many people each cell has."""
    axes = tuple(axes)
    roll = as_published(table.people(axes), table.schema, "roll", roll=True)
    plain = {axis: [frozenset([c]) for c in table.schema.axis(axis).categories] for axis in axes}
    margins = [some for count in range(1, order + 1) for some in combinations(axes, count)]
    tables = [as_published(table.margin(()), table.schema, "total")]
    tables += [printed(table, some, {axis: plain[axis] for axis in some}) for some in margins]
    exposure = infer(tables, Onlooker("informed", (roll,)), sharp=None)
    assert exposure.people is not None
    disclosed = (exposure.verdicts(target) == 2).any(axis=1) & (exposure.people > 0)
    sizes = [len(table.schema.axis(axis).categories) for axis in axes]
    counts = sum(
        int(np.prod([size - 1 for size in some])) for n in range(1, order + 1) for some in combinations(sizes, n)
    )
    return GrowthPoint(
        axes=axes,
        order=order,
        people=int(exposure.people.sum()),
        cells=int((exposure.people > 0).sum()),
        counts=counts,
        disclosed=int(disclosed.sum()),
        exposed=int(exposure.people[disclosed].sum()),
        is_sharp=exposure.complete,
    )


def growth_chart(growth: Growth) -> ui.Spec:
    """One dot per set of axes and order: cells per person across, share of disclosed cells upwards."""
    values = [
        {"x": point.cells_per_person, "y": point.share, "order": f"up to {point.order}"} for point in growth.points
    ]
    domain = sorted({str(value["order"]) for value in values})
    colours = ["#0072b2", "#e69f00", "#d55e00", "#cc79a7", "#009e73", "#56b4e9"]
    by_order = {"field": "order", "type": "nominal", "title": "axes in a table"}
    return {
        "width": ui.STACK_WIDTH,
        "height": 260,
        "data": {"values": values},
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.8},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": "cells per person", "scale": {"type": "log"}},
            "y": {
                "field": "y",
                "type": "quantitative",
                "title": "disclosed cells",
                "axis": {"format": "%", "grid": True, "title": "disclosed cells"},
            },
            "color": {**by_order, "scale": {"domain": domain, "range": colours[: len(domain)]}},
            "shape": {**by_order, "scale": {"domain": domain}},
        },
    }

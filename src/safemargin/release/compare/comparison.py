"""Ways to publish side by side: figures, document, terminal and page."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from safemargin.core import Guarantee, Target
from safemargin.guarantees import COLUMNS, document as guarantee_document, side_by_side
from safemargin.release.compare.verdict import verdict
from safemargin.ui import (
    FAMILY_COLOURS,
    FAMILY_SHAPES,
    SCHEMA,
    STACK_WIDTH,
    TEXT_MARK,
    Chart,
    Document,
    Fold,
    Grid,
    OnPage,
    Paragraph,
    Points,
    Report,
    Result,
    Section,
    Spec,
    Tag,
    kind_words,
    percent,
    plural,
    short_number,
)

GLOBAL_DP, LOCAL_DP = "global DP", "local DP"
BY_LAW = (GLOBAL_DP, LOCAL_DP)
"""Families that bound what is learnt by odds, and expose nobody with certainty."""
SIDE_BY_SIDE = 9
"""Columns of answers that fit 80 characters."""


@dataclass(frozen=True)
class Learnt:
    """What one onlooker gets out of what a method publishes.

    `verdicts` counts intervals, `people_exposed` the people in at least one cell that an attack disclosed.
    """

    onlooker: str
    verdicts: dict[str, int] = field(hash=False)
    people_exposed: int
    attacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Binding:
    """The outcome over everybody: whether its counts are exact, how far off they are, and how often the winner stays.

    `winner_kept` is the share of draws in which the options with most votes are the true ones.
    """

    exact: bool
    mean_error: float | None
    winner_kept: float


@dataclass(frozen=True)
class CountWithInterval:
    """One count as printed in the first draw, and the interval that holds the true one in 95 of 100 runs."""

    axis: str
    category: str
    option: str
    printed: int
    low: int
    high: int


@dataclass(frozen=True)
class MeasuredMethod:
    """One method on one table. Errors are None where nothing is published.

    The error of a count is its distance from what a reader takes it for: what is printed, else its share by size of
    what is printed for its merged group or is left of the total. Errors are means over `draws`; so is the worst one.
    """

    method: str
    family: str
    does: str
    draws: int = 0
    mean_error: float | None = None
    standard_error: float | None = None
    worst_error: float | None = None
    mean_relative_error: float | None = None
    worst_relative_error: float | None = None
    exact_cells: float = 0.0
    exact_people: float = 0.0
    binding: Binding = Binding(exact=False, mean_error=None, winner_kept=0.0)
    posterior: float = 0.0
    """The largest probability that a category is beyond a limit, for somebody who reads the first draw."""
    loss: float | None = None
    learnt: tuple[Learnt, ...] = ()
    is_published: bool = True
    guarantees: tuple[Guarantee, ...] = ()
    counts: tuple[CountWithInterval, ...] = ()
    """Of noise with a law: counts of the first draw, at most 200, with their intervals."""

    @property
    def half_width(self) -> float | None:
        """The mean of half of the intervals."""
        if not self.counts:
            return None
        return sum(each.high - each.low for each in self.counts) / (2 * len(self.counts))

    @property
    def people_exposed(self) -> int:
        """By the onlooker who gets most."""
        return max((onlooker.people_exposed for onlooker in self.learnt), default=0)


@dataclass(frozen=True)
class PropertyAnswer:
    """Whether a method has a property (`yes`, `partly`, `no`), and the figures that say so."""

    holds: str
    fact: str


@dataclass(frozen=True)
class Comparison(Result):
    """All methods in order, and for every property one answer per method. Errors look at votes: confidential."""

    methods: tuple[MeasuredMethod, ...]
    properties: dict[str, tuple[PropertyAnswer, ...]] = field(hash=False)
    target: Target
    threshold: int
    people: int
    cells: int
    axes: int
    title: str = "Comparison"
    notes: tuple[str, ...] = ()
    """How files were read, where that is not plain, and which rows are not counted."""

    def to_json(self) -> Document:
        """The document of `compare --json`."""
        names = [method.method for method in self.methods]
        return {
            "schema": SCHEMA,
            "methods": [_entry(method) for method in self.methods],
            "properties": {
                name: {method: asdict(answer) for method, answer in zip(names, answers, strict=True)}
                for name, answers in self.properties.items()
            },
            "people": self.people,
            "axes": self.axes,
            "cells": self.cells,
            "threshold": self.threshold,
            "target": self.target.stated(),
            "notes": list(self.notes),
        }

    def to_report(self) -> Report:
        """Exposure against what is kept, what onlookers can infer, and which properties hold: it looks at votes."""
        shown = list(enumerate(self.methods, 1))
        noisy = [(n, method) for n, method in shown if method.family in BY_LAW]
        kept = [[f"{n} {method.method}", *_kept(method)] for n, method in shown if method.family not in BY_LAW]
        caption = "People exposed against the counts that are published exactly; DP is apart, below"
        held = [
            [PROPERTY_WORDS[name], *(Tag(answer.holds, SHORT[answer.holds], answer.fact) for answer in answers)]
            for name, answers in self.properties.items()
        ]
        parts = [range(start, min(start + SIDE_BY_SIDE, len(shown))) for start in range(0, len(shown), SIDE_BY_SIDE)]
        tables = [
            Grid(["property", *(f"{n + 1}" for n in part)], [[row[0], *(row[n + 1] for n in part)] for row in held])
            for part in parts
        ]
        return Report(
            f"{self.title}: ways to publish",
            verdict(self.methods),
            _scope(self),
            *(Paragraph(note, "warning") for note in self.notes),
            Section(
                "What is kept, and who is exposed", Chart(tradeoff_chart(self), caption, fits=True), Grid(KEPT, kept)
            ),
            Section(
                "Differential privacy, global and local",
                DP_WORDS,
                Grid(DP, [[f"{n} {method.method}", *_noisy(method)] for n, method in noisy]),
                Points([f"epsilon {loss:g}: {epsilon_words(loss)}" for loss in _losses(noisy)]),
            ),
            Section("What onlookers can infer", Grid(LEARNT, _learnt(self)), BELIEVED),
            Section("Properties, by method", *tables),
            OnPage(
                Section("Guarantees about odds", Grid(COLUMNS, _guarantees(self)), GUARANTEE_WORDS),
                Section("Facts behind every property", *(self._facts(name) for name in self.properties)),
                Section("Methods", Points([(f"{n} {method.method}", method.does) for n, method in shown])),
                Section(
                    "Counts of the first draw, with 95 % intervals",
                    *(_intervals(n, method) for n, method in noisy if method.counts),
                ),
            ),
            banner=("Confidential.", "The figures on this page look at votes. Do not publish it."),
        )

    def _facts(self, name: str) -> Fold:
        rows = [
            (f"{n} {method.method}", Tag(answer.holds), answer.fact)
            for (n, method), answer in zip(enumerate(self.methods, 1), self.properties[name], strict=True)
        ]
        return Fold(PROPERTY_WORDS[name], Grid(("method", "holds", "measured"), rows))


def _symlog(title: str, least: float, values: Sequence[float]) -> Spec:
    """A scale that starts with zero and then goes up by tens from `least`."""
    marks = [0.0, least]
    while marks[-1] < max(values, default=0.0):
        marks.append(marks[-1] * 10)
    axis = {"values": marks, "title": title, "grid": True, "format": ",~r"}
    scale = {"type": "symlog", "constant": least, "domain": [0, marks[-1]], "nice": False}
    return {"type": "quantitative", "scale": scale, "axis": axis}


PROPERTY_WORDS = {
    "binding_outcome_exact": "binding outcome exact",
    "regular_cells_exact": "regular cells exact",
    "per_cell_cost": "cost per cell, not flat",
    "cost_computable_in_advance": "cost computable in advance",
    "small_area_resolution": "small-area resolution",
    "guarantee_on_regular_cells": "stated guarantee on regular cells",
    "unconditional_against_auxiliary": "unconditional against auxiliary knowledge",
}
SHORT = {"yes": "yes", "partly": "part", "no": "no"}
"""Answers that leave room for nine methods side by side."""
KEPT = ("method", "exact counts", "exact people", "mean error", "worst", "totals off", "exposed")
DP = ("method", "mean error", "worst", "relative", "95 %", "totals off", "winner kept")
INTERVALS = ("axis", "category", "option", "printed", "from", "to")


def _entry(method: MeasuredMethod) -> Document:
    plain = {
        name: value
        for name, value in asdict(method).items()
        if name not in ("method", "family", "is_published", "learnt", "binding", "guarantees")
    }
    return {
        "method": method.method,
        "family": method.family,
        "published": method.is_published,
        **plain,
        "people_exposed": method.people_exposed,
        "guarantees": [guarantee_document(guarantee) for guarantee in method.guarantees],
        "binding": asdict(method.binding),
        "onlookers": [
            {
                "onlooker": onlooker.onlooker,
                "verdicts": onlooker.verdicts,
                "people_exposed": onlooker.people_exposed,
                "attacks": list(onlooker.attacks),
            }
            for onlooker in method.learnt
        ],
    }


def _guarantees(comparison: Comparison) -> list[list[str]]:
    return side_by_side([guarantee for method in comparison.methods for guarantee in method.guarantees])


GUARANTEE_WORDS = (
    "These epsilons are on one scale only where all other columns agree. At the same number, a guarantee about "
    "exchanges that leave exact counts unchanged says less than one about anybody more or less. A method without a row "
    "has no guarantee about odds."
)

LEARNT = ("method", "onlooker", *map(kind_words, ("disclosed", "open", "contained")), "people exposed", "believed")
BELIEVED = (
    "Believed: the largest probability that a category is beyond a limit, for somebody who takes all counts as equally "
    "probable beforehand and reads the first draw (rounded up)."
)

DP_WORDS = (
    "Noise without bounds proves nothing about anybody, so DP exposes nobody at any epsilon. What it discloses is its "
    "loss. Global: how far one person more or less changes the odds of what is printed. Local: how far somebody's "
    "answer changes the odds of their report, also to the office. 95 %: half of the interval of a count, on average."
)


def _losses(noisy: Iterable[tuple[int, MeasuredMethod]]) -> list[float]:
    return list(dict.fromkeys(method.loss or 0.0 for _, method in noisy))


def _intervals(number: int, method: MeasuredMethod) -> Fold:
    rows = [
        [e.axis or "everybody", e.category or "-", e.option, f"{e.printed:,}", f"{e.low:,}", f"{e.high:,}"]
        for e in method.counts
    ]
    return Fold(f"{number} {method.method}", Grid(INTERVALS, rows))


def epsilon_words(epsilon: float) -> str:
    """What a loss means for a guess about one person.

    >>> epsilon_words(1.0)
    'one person changes the odds by a factor of 2.72 at most; a guess of 50 % can become 73 %'
    >>> epsilon_words(10.0)
    'one person changes the odds by a factor of 22,026 at most; a guess of 50 % can become >99.9 %'
    """
    # Odds of 1 to 1 become at most e^epsilon to 1, a chance of 1 / (1 + e^-epsilon).
    factor = short_number(math.exp(epsilon)) if epsilon < 40 else f"e^{epsilon:g}"
    sure = percent(1 / (1 + math.exp(-epsilon)))
    return f"one person changes the odds by a factor of {factor} at most; a guess of 50 % can become {sure}"


def tradeoff_chart(comparison: Comparison) -> Spec:
    """The people that every method exposes, on a logarithmic scale with zero, against the counts it keeps exact."""
    values: list[Spec] = [
        {
            "family": method.family,
            "kept": method.exact_cells,
            "people": method.people_exposed,
            "words": f"{number}",
        }
        for number, method in enumerate(comparison.methods, 1)
        if method.mean_error is not None and method.family not in BY_LAW
    ]
    for value, *others in _close_together(values):  # one label for points that cover each other
        value["words"] = ", ".join([value["words"], *(other["words"] for other in others)])
        for other in others:
            other["words"] = ""
    families = list(dict.fromkeys(value["family"] for value in values))
    axis = {"format": ".0%", "title": "counts published exactly", "grid": True, "tickCount": 5}
    x = {"field": "kept", "type": "quantitative", "scale": {"domain": [0, 1]}, "axis": axis}
    y = {"field": "people", **_symlog("people exposed", 1, [value["people"] for value in values])}
    legend = {"title": None, "labelFontSize": 12, "labelLimit": 0, "orient": "top", "columns": 3, "columnPadding": 16}
    family = {"field": "family", "type": "nominal", "legend": legend}
    colour = {**family, "scale": {"domain": families, "range": FAMILY_COLOURS[: len(families)]}}
    shape = {**family, "scale": {"domain": families, "range": FAMILY_SHAPES[: len(families)]}}
    points = {
        "mark": {"type": "point", "filled": True, "size": 160, "opacity": 0.85},
        "encoding": {"x": x, "y": y, "color": colour, "shape": shape},
    }
    labels = {"mark": {**TEXT_MARK, "dx": 9, "dy": -9}, "encoding": {"x": x, "y": y, "text": {"field": "words"}}}
    return {"data": {"values": values}, "width": STACK_WIDTH - 60, "height": 280, "layer": [points, labels]}


def _close_together(values: Sequence[Spec]) -> Iterable[list[Spec]]:
    """Points whose labels would cover each other: within a twentieth of the width, and of nearly as many people."""
    places: dict[tuple[int, int], list[Spec]] = {}
    for value in values:
        places.setdefault((round(value["kept"] * 20), round(2 * math.log1p(value["people"]))), []).append(value)
    return places.values()


def _scope(comparison: Comparison) -> str:
    draws = max((method.draws for method in comparison.methods), default=1)
    noise = f" Noise: means over {draws} draws." if draws > 1 else ""
    return (
        f"{plural(comparison.people, 'person')}; {comparison.cells:,} counts in the tables of "
        f"{comparison.axes} {'axis' if comparison.axes == 1 else 'axes'}, and the total.{noise}"
    )


def _kept(method: MeasuredMethod) -> list[str]:
    """Cells of the columns in `KEPT`."""
    if method.mean_error is None or method.worst_error is None:
        return ["0 %", "0 %", "-", "-", "-", "0"]
    return [
        percent(method.exact_cells),
        percent(method.exact_people),
        short_number(method.mean_error),
        short_number(method.worst_error),
        _totals(method),
        f"{method.people_exposed:,}",
    ]


def _noisy(method: MeasuredMethod) -> list[str]:
    """Cells of the columns in `DP`."""
    return [
        *(short_number(error or 0.0) for error in (method.mean_error, method.worst_error)),
        percent(method.mean_relative_error or 0.0),
        "-" if method.half_width is None else f"+-{short_number(method.half_width)}",
        _totals(method),
        percent(method.binding.winner_kept),
    ]


def _totals(method: MeasuredMethod) -> str:
    return "exact" if method.binding.exact else short_number(method.binding.mean_error or 0.0)


def _learnt(comparison: Comparison) -> list[list[str]]:
    rows = []
    for n, method in enumerate(comparison.methods, 1):
        for onlooker in method.learnt:
            counts = [
                f"{onlooker.verdicts[name]:,}" if onlooker.verdicts else "-"
                for name in ("disclosed", "open", "contained")
            ]
            believed = f"{method.posterior:.3f}" if method.is_published else "-"
            exposed = f"{onlooker.people_exposed:,}"
            rows.append([f"{n} {method.method}", onlooker.onlooker, *counts, exposed, believed])
    return rows

"""Programmes of tables for readers: redundancies, and the plan of noise in words, as a document and as a page."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from fractions import Fraction

from rich.console import Console
from rich.table import Table
from rich.text import Text

from safemargin.noise.charts import FATE_COLOURS, LETTERS, band_chart, plane_chart
from safemargin.noise.plan import FATES, Band, NoisePlan, Point
from safemargin.noise.redundancy import Redundancy
from safemargin.ui import (
    Document,
    Html,
    Spec,
    element,
    figure,
    joined,
    paragraphs,
    plural,
    render_page,
    section,
    table,
    tiles,
    to_svg,
)

COLUMNS = ("statistic", "cells", "t", "k", "k/t^2", "best t", "best k", "best k/t^2", "weighted", "linear")

FATE_WORDS = {
    "survives": "survives every constraint",
    "relaxed": "averaging is right a little too often",
    "averaging": "averaging is right too often",
    "bound told": "counts beside their parts tell the bound",
    "too wide": "wider than users accept",
    "impossible": "no such noise: more than uniform",
}


def redundancy_document(name: str, found: Sequence[Redundancy], same_noise: bool) -> Document:
    """The document of `noise redundancy --json`; its value is the smallest optimised ratio."""
    return {
        "value": float(min(each.best_ratio for each in found)),
        "inputs": {"programme": name, "same_noise": same_noise},
        "details": {"statistics": [_redundancy(each) for each in found]},
    }


def _redundancy(each: Redundancy) -> Document:
    return {
        "statistic": each.statistic,
        "cells": each.cells,
        "t": each.t,
        "k": _plain(each.k),
        "kt2": float(each.ratio),
        "best_t": each.best_t,
        "best_k": _plain(each.best_k),
        "best_kt2": float(each.best_ratio),
        "weighted": each.weighted,
        "linear": each.linear,
    }


def _plain(value: Fraction) -> int | float:
    """A whole number where it is one."""
    return int(value) if value.denominator == 1 else float(value)


def show_redundancies(console: Console, found: Sequence[Redundancy], limit: int) -> None:
    """The statistics that are averaged most easily."""
    grid = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for place, name in enumerate(COLUMNS):
        grid.add_column(name, justify="right" if place else "left", no_wrap=place > 0)
    for row in _rows(found[:limit]):
        grid.add_row(*map(Text, row))
    console.print(grid)
    if len(found) > limit:
        console.print(f"and {plural(len(found) - limit, 'more statistic')} (--limit)")


def _rows(found: Sequence[Redundancy]) -> list[list[str]]:
    return [
        [
            each.statistic,
            f"{each.cells:,}",
            f"{each.t:,}",
            _short(each.k),
            f"{float(each.ratio):.4g}",
            f"{each.best_t:,}",
            _short(each.best_k),
            f"{float(each.best_ratio):.4g}",
            f"{each.weighted:.4g}",
            f"{each.linear:.4g}",
        ]
        for each in found
    ]


def _short(value: Fraction) -> str:
    """A number of at most nine letters.

    >>> _short(Fraction(4818)), _short(Fraction(7, 2)), _short(Fraction(3988770624))
    ('4,818', '3.5', '3.99e+09')
    """
    return f"{float(value):.3g}" if value >= 10**7 or value.denominator > 1 else f"{int(value):,}"


def plan_document(name: str, plan: NoisePlan) -> Document:
    """The document of `noise plan --json`; its value is the noise that is recommended."""
    return {
        "value": None if plan.recommended is None else _point(plan.recommended),
        "inputs": {"programme": name, **asdict(plan.wishes)},
        "details": {
            "words": list(plan_words(plan)),
            "tables": plan.tables,
            "statistics": plan.statistics,
            "riskiest": _redundancy(plan.riskiest),
            "riskiest_without_spsn": _redundancy(plan.riskiest_without),
            "small_areas": plan.small_areas,
            "tuples": {axis: {str(parts): often for parts, often in by.items()} for axis, by in plan.tuples.items()},
            "least_variance": plan.least_variance,
            "epsilon": {**asdict(plan.band), "open": plan.band.is_open},
            "plane": [_point(point) for point in plan.points],
        },
    }


def _point(point: Point) -> Document:
    return asdict(point)


def plan_words(plan: NoisePlan) -> tuple[str, ...]:
    """The recommendation, a sentence or two per constraint."""
    wishes, risky = plan.wishes, plan.riskiest
    sure = f"{100 * wishes.confidence:g}%"
    splits = max(((sum(by.values()), axis) for axis, by in plan.tuples.items()), default=(0, ""))
    return (
        _bounded_words(plan),
        f"Averaging: {risky.statistic} has {plural(risky.t, 'representation')} that add up {_short(risky.k)} counts. "
        f"The best linear estimate from all tables is worth k/t^2 = {risky.linear:.3g} (three steps of the paper: "
        f"{float(risky.best_ratio):.3g}), so a variance of at least {plan.least_variance:.3g} keeps it from being "
        f"right in more than {sure}.",
        f"Bound: {splits[0]:,} counts are published beside their parts by {splits[1]}. In a bound that is too narrow "
        f"for its variance one of them tells it.",
        _epsilon_words(plan.band, plan),
    )


def _bounded_words(plan: NoisePlan) -> str:
    point = plan.recommended
    if point is None:
        return (
            f"No noise within {plan.wishes.largest_bound} survives: publish fewer tables, accept a larger bound, or "
            "let an onlooker be surer."
        )
    return (
        f"Use cell keys with variance {point.variance:g} and bound {point.bound}: the most exposed estimate is then "
        f"right in {point.averaged:.0%}, and the chance that the bound is told is {point.told:.2g}."
    )


def _epsilon_words(band: Band, plan: NoisePlan) -> str:
    need = (
        f"no more than {plan.wishes.area_error:g} off in {plural(plan.small_areas, 'small area')} takes epsilon "
        f"{band.low:.2g} or more per count; new noise in every table must stay below {band.high:.2g}"
    )
    if band.is_open:
        return f"Epsilon: {need}. Between them any will do."
    if band.low <= band.relaxed:
        return f"Epsilon: {need}. None meets both; up to {band.relaxed:.2g} one statistic can be averaged."
    return f"Epsilon: {need}. None meets both: noise without a bound does not fit this programme."


def show_plan(console: Console, plan: NoisePlan) -> None:
    """The plan in words."""
    for words in plan_words(plan):
        console.print(Text(words))


def plan_page(plan: NoisePlan, found: Sequence[Redundancy], draw: Callable[[Spec], str] = to_svg) -> str:
    """One page with both pictures and the statistics that are averaged most easily. It looks at no counts."""
    title = f"{plan.title or 'Programme of tables'}: noise that survives"
    first, *others = plan_words(plan)
    easiest = sorted(found, key=lambda each: each.linear)
    figures = {
        "tables": plan.tables,
        "statistics": plan.statistics,
        "small areas": plan.small_areas,
        "least variance": f"{plan.least_variance:.3g}",
    }
    plane = figure(
        draw(plane_chart(plan)),
        "Variance and bound of noise by what becomes of it; the same participants have the same noise",
        _legend(),
        fits=True,
    )
    band = figure(
        draw(band_chart(plan)), "Epsilon per count, with new noise in every table; yellow is relaxed", fits=True
    )
    body = joined(
        [
            section("Recommendation", paragraphs(element("strong", first), *others), tiles(figures)),
            section("Bounded noise: the V-E plane", plane),
            section("Noise with an epsilon", band),
            section("Estimated most easily", table(COLUMNS, _rows(easiest[:20]), COLUMNS[1:])),
        ]
    )
    return render_page(title, element("header", element("h1", title)), body)


def _legend() -> Html:
    chips = [
        element(
            "span",
            f"{LETTERS[fate]} {FATE_WORDS[fate]}".strip(),
            class_="chip",
            style=f"background: {FATE_COLOURS[fate]}; color: {'#fff' if fate == 'survives' else '#222'}",
        )
        for fate in FATES
        if fate != "impossible"
    ]
    return element("p", *chips, class_="legend")

"""Epsilon of swapping against the rate: pictures, and tables for several strata and rates."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rich.console import Console
from rich.table import Table
from rich.text import Text

from safemargin.core import InputError
from safemargin.guarantees.census import Alternative
from safemargin.guarantees.swap_loss import (
    Rate,
    best_rate,
    curve,
    gap_bound,
    hardest,
    moved,
    rates_for,
    short_rate,
    swap_epsilon,
    tightness,
)
from safemargin.ui import (
    SCHEMA,
    STACK_WIDTH,
    TEXT_MARK,
    Document,
    Spec,
    element,
    exact_percent,
    figure,
    finite,
    joined,
    paragraphs,
    render_page,
    section,
    to_svg,
)
from safemargin.ui import table as html_table

REFERENCE = (2, 10, 1_000, 1_000_000)
"""Sizes of the largest stratum that a picture shows beside the one at hand."""
TOP = 24.0
"""The largest epsilon that is drawn."""
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8f86c9", "#888888"]
CAPTION = "Epsilon by rate and size of the largest stratum; the circle is the rate at hand"
CURVE_WORDS = (
    "One line per size of the largest stratum; the diamond is its smallest epsilon. A smaller stratum has a smaller "
    "epsilon because more is fixed, not because more is protected: do not compare lines."
)
X: Spec = {
    "field": "rate",
    "type": "quantitative",
    "scale": {"domain": [0, 1], "nice": False},
    "axis": {"format": ".0%", "title": "swap rate", "tickCount": 6, "grid": True},
}
Y: Spec = {
    "field": "epsilon",
    "type": "quantitative",
    "scale": {"domain": [0, TOP], "nice": False},
    "axis": {"title": "epsilon", "grid": True, "tickCount": 6},
}


@dataclass(frozen=True)
class Stratum:
    """A largest stratum of `size` records, how its line is called, and what else is told about it."""

    size: int
    name: str
    about: tuple[str, ...] = ()


@dataclass(frozen=True)
class Curves:
    """What is tabulated: largest strata, the rates at which epsilon is told, and what `about` the strata is told."""

    strata: tuple[Stratum, ...]
    rates: tuple[Fraction, ...]
    about: tuple[str, ...] = ()
    unit: str = "record"

    def __post_init__(self) -> None:
        if len(self.strata) > len(COLOURS):
            raise InputError(f"largest stratum: at most {len(COLOURS)} can be distinguished in one picture")
        for each in self.strata:
            best_rate(each.size)  # refuses sizes that a stratum cannot have

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the table."""
        told = (f"epsilon at {exact_percent(float(rate))}" for rate in self.rates)
        return *self.about, f"{self.unit}s", *told, "smallest epsilon", "at a rate of"

    @property
    def rows(self) -> list[list[str]]:
        """Of the table."""
        found = []
        for each in self.strata:
            best, least = best_rate(each.size)
            told = [_two_digits(swap_epsilon(rate, each.size)) for rate in self.rates]
            found.append([*each.about, f"{each.size:,}", *told, _two_digits(least), rate_words(best)])
        return found


def by_size(numbers: Iterable[int]) -> tuple[Stratum, ...]:
    """Strata that are called by their size.

    >>> by_size([1000])
    (Stratum(size=1000, name='1,000 records', about=()),)
    """
    return tuple(Stratum(size, f"{size:,} records") for size in dict.fromkeys(numbers))


def census_strata(alternatives: Sequence[Alternative], rates: tuple[Fraction, ...]) -> Curves:
    """Ways to swap the households of a census."""
    strata = [
        Stratum(each.largest, f"{each.swapped} in {', '.join(each.match)}", (each.matched, each.swapped, each.where))
        for each in alternatives
    ]
    return Curves(tuple(strata), rates, ("matched on", "swapped", "largest stratum"), "household")


def curves_document(found: Curves) -> Document:
    """The document of `guarantee rates --json`."""
    strata = []
    for each in found.strata:
        best, least = best_rate(each.size)
        strata.append(
            {
                "name": each.name,
                **dict(zip((name.replace(" ", "_") for name in found.about), each.about, strict=True)),
                "records": each.size,
                "epsilon": [finite(swap_epsilon(rate, each.size)) for rate in found.rates],
                "best": {"rate": best, "epsilon": least},
            }
        )
    return {"schema": SCHEMA, "rates": [float(rate) for rate in found.rates], "strata": strata}


def show_curves(console: Console, found: Curves) -> None:
    """The table."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, name in enumerate(found.columns):
        grid.add_column(Text(name), justify="left" if place < len(found.about) else "right")
    for row in found.rows:
        grid.add_row(*map(Text, row))
    console.print(grid)


def curves_page(title: str, found: Curves, draw: Callable[[Spec], str] = to_svg) -> str:
    """The picture with the table below it."""
    head = element("header", element("h1", title))
    lines = " and ".join(exact_percent(float(rate)) for rate in found.rates)
    caption = f"Epsilon by rate and largest stratum; diamonds at the smallest epsilon, lines at {lines}"
    picture = figure(draw(curves_chart(found)), caption, fits=True)
    table = html_table(found.columns, found.rows, found.columns[len(found.about) :])
    return render_page(title, head, joined([section("Epsilon", picture, paragraphs(CURVE_WORDS), table)]))


def rate_page(rate: Rate, largest: int, draw: Callable[[Spec], str] = to_svg) -> str:
    """The picture for one rate and stratum."""
    title = f"Swapping at a rate of {short_rate(rate)}"
    epsilon = swap_epsilon(rate, largest)
    amount = "infinite" if math.isinf(epsilon) else f"{epsilon:.4g}"
    words = f"epsilon {amount} with {largest:,} records in the largest stratum"
    head = element("header", element("h1", title), paragraphs(words))
    picture = figure(draw(rate_chart(rate, largest)), CAPTION, fits=True)
    return render_page(title, head, joined([section("Epsilon", picture, paragraphs(CURVE_WORDS))]))


def rate_chart(rate: Rate, largest: int, others: Sequence[int] = REFERENCE) -> Spec:
    """Epsilon against the rate for several sizes of the largest stratum, with the best rate of each and the chosen."""
    strata = by_size(sorted({*others, largest} - {0}))
    return _picture([*_curves(strata), *_circle(rate, largest)])


def curves_chart(found: Curves) -> Spec:
    """Epsilon against the rate with upright lines at the rates that are tabulated."""
    return _picture([*_upright(found.rates), *_curves(found.strata)])


def _picture(layers: list[Spec]) -> Spec:
    return {"width": STACK_WIDTH, "height": 320, "layer": layers}


def _curves(strata: Sequence[Stratum]) -> list[Spec]:
    """A line for each stratum, with a diamond at its smallest epsilon."""
    lines = [
        {"size": each.name, "rate": rate, "epsilon": epsilon}
        for each in strata
        for rate, epsilon in curve(each.size)
        if epsilon <= TOP
    ]
    best = {each.name: best_rate(each.size) for each in strata}
    diamonds = [{"size": name, "rate": rate, "epsilon": least} for name, (rate, least) in best.items()]
    encoding = {
        "x": X,
        "y": Y,
        "color": _colour([each.name for each in strata], "swapped" if strata[0].about else "largest stratum"),
    }
    diamond = {"type": "point", "shape": "diamond", "filled": True, "size": 110, "opacity": 1}
    return [
        {"data": {"values": lines}, "mark": {"type": "line", "strokeWidth": 2}, "encoding": encoding},
        {"data": {"values": diamonds}, "mark": diamond, "encoding": encoding},
    ]


def _colour(order: list[str], title: str) -> Spec:
    legend = {
        "title": title,
        "labelFontSize": 12,
        "labelLimit": 0,
        "orient": "bottom",
        "columns": 3 if max(map(len, order)) < 20 else 2,
        "columnPadding": 40,
    }
    scale = {"domain": order, "range": COLOURS[: len(order)]}
    return {"field": "size", "type": "nominal", "sort": order, "scale": scale, "legend": legend}


def _circle(rate: Rate, largest: int) -> list[Spec]:
    """The rate at hand, with its epsilon; nothing where that is off the picture."""
    epsilon = swap_epsilon(rate, largest)
    if not largest or epsilon > TOP:
        return []
    here = {"values": [{"rate": float(rate), "epsilon": epsilon, "words": f"epsilon {epsilon:.2f}"}]}
    circle = {"type": "point", "filled": False, "size": 220, "strokeWidth": 2, "color": "#888"}
    words = {"x": X, "y": Y, "text": {"field": "words"}}
    return [
        {"data": here, "mark": circle, "encoding": {"x": X, "y": Y}},
        {"data": here, "mark": {**TEXT_MARK, "dx": 10, "dy": -10}, "encoding": words},
    ]


def _upright(rates: Sequence[Fraction]) -> list[Spec]:
    """Upright lines at some rates, with the rate on top."""
    values = [{"rate": float(rate), "epsilon": TOP, "words": exact_percent(float(rate))} for rate in rates]
    line = {"type": "rule", "color": "#888", "strokeDash": [4, 3]}
    words = {"x": X, "y": Y, "text": {"field": "words"}}
    return [
        {"data": {"values": values}, "mark": line, "encoding": {"x": X}},
        {"data": {"values": values}, "mark": {**TEXT_MARK, "dx": 4, "dy": 8}, "encoding": words},
    ]


def rate_words(rate: float) -> str:
    """A rate that is not 0 or 1, so as not to look like one of them.

    >>> rate_words(0.05), rate_words(3e-22), rate_words(0.9999999960910615), rate_words(1.0)
    ('0.050000', '3e-22', '1 - 3.91e-09', 'just below 1')
    """
    if rate > 1 - 5e-7:
        return f"1 - {1 - rate:.3g}" if rate < 1 else "just below 1"
    return f"{rate:.6f}" if rate > 5e-7 else f"{rate:.3g}" if rate else "just above 0"


def _two_digits(epsilon: float) -> str:
    return "infinite" if math.isinf(epsilon) else f"{epsilon:.2f}"


def rate_document(rate: Rate, largest: int, wanted: float | None = None) -> Document:
    """What a swap rate guarantees; where it was found for a `wanted` epsilon, that one is told."""
    epsilon = swap_epsilon(rate, largest) if wanted is None else wanted
    best, least = best_rate(largest) if largest else (None, 0.0)
    bounded = largest > 0 and 0 < rate < 1
    often = hardest(rate, largest) if bounded else None
    return {
        "schema": SCHEMA,
        "rate": float(rate),
        "largest_stratum": largest,
        "epsilon": epsilon if math.isfinite(epsilon) else "infinite",
        "best": None if best is None else {"rate": best, "epsilon": least},
        "lower_bound": tightness(rate, largest).lower if bounded else None,
        "lower_bound_values": None if not bounded else "all different" if often is None else list(often),
        "gap_bound": gap_bound(largest) if largest else None,
        "moved": moved(rate, largest),
        "rates": list(rates_for(max(epsilon, least), largest)) if largest and math.isfinite(epsilon) else None,
    }


def show_rate(console: Console, rate: Rate, largest: int) -> None:
    """What a swap rate guarantees, in words."""
    epsilon = swap_epsilon(rate, largest)
    if largest == 0:
        console.print(Text("epsilon 0: no stratum holds two different records, so nothing is exchanged or protected."))
        return
    best, least = best_rate(largest)
    if math.isinf(epsilon):
        console.print(Text(f"epsilon is infinite at a rate of {float(rate):g}: choose one between 0 and 1."))
    else:
        lower = tightness(rate, largest).lower
        stratum = f"{largest:,} records in the largest stratum"
        console.print(Text(f"epsilon {epsilon:.4f} at a swap rate of {short_rate(rate)} with {stratum}"))
        console.print(
            Text(f"A stratum whose values {hardest_words(rate, largest)} loses {lower:.4f}, so no analysis gives less.")
        )
    console.print(Text(f"The smallest epsilon is {least:.4f}, at a rate of {rate_words(best)}."))


def hardest_words(rate: Rate, largest: int) -> str:
    """The values of a stratum that is the hardest to protect."""
    often = hardest(rate, largest)
    if often is None:
        return "are all different"
    return f"occur {', '.join(f'{each:,}' for each in often[:-1])} and {often[-1]:,} times"


def show_rates(console: Console, epsilon: float, largest: int) -> None:
    """The two rates that guarantee an epsilon."""
    low, high = map(rate_words, rates_for(epsilon, largest))
    stratum = f"{largest:,} records in the largest stratum"
    console.print(Text(f"epsilon {epsilon:g} with {stratum}: rate {low} or {high}"))

"""Epsilon of swapping against the rate: pictures, and tables for several strata and rates."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from safemargin import ui
from safemargin.core import InputError
from safemargin.guarantees.conversion import Number, exact_amount
from safemargin.guarantees.swap_loss import (
    Rate,
    best_rate,
    curve,
    gap_bound,
    hardest,
    lower_bound,
    moved,
    rate_of,
    rates_for,
    short_rate,
    swap_epsilon,
)

SIZES = (2, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
REFERENCE = (2, 10, 1_000, 1_000_000)
"""Sizes of the largest stratum that a picture shows beside the one at hand."""
TOP = 24.0
"""The largest epsilon that is drawn."""
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8f86c9", "#888888"]
CAPTION = "Epsilon by rate and size of the largest stratum; the circle is the rate at hand"
CURVE_NOTE = (
    "One line per size of the largest stratum; the diamond is its smallest epsilon. A smaller stratum has a smaller "
    "epsilon because more is fixed, not because more is protected: do not compare lines."
)
X: ui.Spec = {
    "field": "rate",
    "type": "quantitative",
    "scale": {"domain": [0, 1], "nice": False},
    "axis": {"format": ".0%", "title": "swap rate", "tickCount": 6, "grid": True},
}
Y: ui.Spec = {
    "field": "epsilon",
    "type": "quantitative",
    "scale": {"domain": [0, TOP], "nice": False},
    "axis": {"title": "epsilon", "grid": True, "tickCount": 6},
}


@dataclass(frozen=True)
class Alternative:
    """What could have been matched on and swapped in 2020, and the households in the largest stratum of that."""

    match: tuple[str, ...]
    swapped: str
    largest: int
    where: str

    @property
    def matched(self) -> str:
        """What is matched on.

        >>> COUNTERFACTUAL[1].matched
        'state x household size'
        """
        return " x ".join(self.match)


COUNTERFACTUAL = (
    Alternative(("state",), "county", 13_475_623, "California"),
    Alternative(("state", "household size"), "county", 3_948_028, "California, two people"),
    Alternative(("county",), "tract", 3_420_628, "Los Angeles County"),
    Alternative(("county", "household size"), "tract", 939_185, "Los Angeles County, two people"),
    Alternative(("block group",), "block", 6_204, "060730187001, California"),
    Alternative(("block group", "household size"), "block", 4_549, "121199114024, Florida, two people"),
)
"""Table 5, from the Demographic and Housing Characteristics file."""


@dataclass(frozen=True)
class Stratum:
    """A largest stratum of `size` records, how its line is called, and what else is stated about it."""

    size: int
    name: str
    about: tuple[str, ...] = ()


@dataclass(frozen=True)
class Curves(ui.Result):
    """Epsilon of swapping for several largest strata at several rates; `about` names what else is said of a stratum."""

    strata: tuple[Stratum, ...]
    rates: tuple[Fraction, ...]
    about: tuple[str, ...] = ()
    unit: str = "record"
    title: str = "Epsilon of swapping"

    def __post_init__(self) -> None:
        if len(self.strata) > len(COLOURS):
            raise InputError(f"largest stratum: at most {len(COLOURS)} can be distinguished in one picture")
        for stratum in self.strata:
            best_rate(stratum.size)  # refuses sizes that a stratum cannot have

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the table."""
        epsilons = (f"epsilon at {ui.exact_percent(float(rate))}" for rate in self.rates)
        return *self.about, f"{self.unit}s", *epsilons, "smallest epsilon", "at a rate of"

    @property
    def rows(self) -> list[list[str]]:
        """Of the table."""
        rows = []
        for stratum in self.strata:
            best, least = best_rate(stratum.size)
            epsilons = [swap_epsilon(rate, stratum.size) for rate in self.rates]
            figures = ["infinite" if math.isinf(epsilon) else f"{epsilon:.2f}" for epsilon in (*epsilons, least)]
            rows.append([*stratum.about, f"{stratum.size:,}", *figures, precise_rate(best)])
        return rows

    def to_json(self) -> ui.Document:
        names = [name.replace(" ", "_") for name in self.about]
        return {
            "schema": ui.SCHEMA,
            "rates": [float(rate) for rate in self.rates],
            "strata": [
                {
                    "name": stratum.name,
                    **dict(zip(names, stratum.about, strict=True)),
                    "records": stratum.size,
                    "epsilon": [ui.finite(swap_epsilon(rate, stratum.size)) for rate in self.rates],
                    "best": dict(zip(("rate", "epsilon"), best_rate(stratum.size), strict=True)),
                }
                for stratum in self.strata
            ],
        }

    def to_report(self) -> ui.Report:
        lines = " and ".join(ui.exact_percent(float(rate)) for rate in self.rates)
        caption = f"Epsilon by rate and largest stratum; diamonds at the smallest epsilon, lines at {lines}"
        picture = ui.Chart(lambda: curves_chart(self), caption, fits=True)
        return ui.Report(self.title, ui.OnPage(picture, CURVE_NOTE), ui.Grid(self.columns, self.rows))


@dataclass(frozen=True)
class SwapRate(ui.Result):
    """What permutation swapping guarantees at a rate; `wanted` is the epsilon that the rate was found for."""

    rate: Rate
    largest: int
    wanted: float | None = None

    @property
    def epsilon(self) -> float:
        """Of Theorem 1."""
        return swap_epsilon(self.rate, self.largest) if self.wanted is None else self.wanted

    def to_json(self) -> ui.Document:
        rate, largest, epsilon = self.rate, self.largest, self.epsilon
        best, least = best_rate(largest) if largest else (None, 0.0)
        bounded = largest > 0 and 0 < rate < 1
        often = hardest(rate, largest) if bounded else None
        return {
            "schema": ui.SCHEMA,
            "rate": float(rate),
            "largest_stratum": largest,
            "epsilon": ui.finite(epsilon),
            "best": None if best is None else {"rate": best, "epsilon": least},
            "lower_bound": lower_bound(rate, largest) if bounded else None,
            "lower_bound_values": None if not bounded else "all different" if often is None else list(often),
            "gap_bound": gap_bound(largest) if largest else None,
            "moved": moved(rate, largest),
            "rates": list(rates_for(max(epsilon, least), largest)) if largest and math.isfinite(epsilon) else None,
        }

    @property
    def _lines(self) -> list[str]:
        rate, largest = self.rate, self.largest
        stratum = f"{largest:,} records in the largest stratum"
        if self.wanted is not None:
            low, high = map(precise_rate, rates_for(self.wanted, largest))
            return [f"epsilon {self.wanted:g} with {stratum}: rate {low} or {high}"]
        if largest == 0:
            return ["epsilon 0: no stratum holds two different records, so nothing is exchanged or protected."]
        best, least = best_rate(largest)
        smallest = f"The smallest epsilon is {least:.4f}, at a rate of {precise_rate(best)}."
        if math.isinf(self.epsilon):
            return [f"epsilon is infinite at a rate of {float(rate):g}: choose one between 0 and 1.", smallest]
        often = hardest(rate, largest)
        values = "are all different"
        if often is not None:
            values = f"occur {', '.join(f'{count:,}' for count in often[:-1])} and {often[-1]:,} times"
        lower = lower_bound(rate, largest)
        return [
            f"epsilon {self.epsilon:.4f} at a swap rate of {short_rate(rate)} with {stratum}",
            f"A stratum whose values {values} loses {lower:.4f}, so no analysis gives less.",
            smallest,
        ]

    def to_report(self) -> ui.Report:
        picture = ui.Chart(lambda: rate_chart(self.rate, self.largest), CAPTION, fits=True)
        title = f"Swapping at a rate of {short_rate(self.rate)}"
        return ui.Report(title, *self._lines, ui.OnPage(picture, CURVE_NOTE))


def swap(largest: int, *, rate: str | Rate | None = None, epsilon: Number | None = None) -> SwapRate:
    """What permutation swapping guarantees at a rate, or which rates guarantee an epsilon.

    `largest` is the number of records in the largest stratum that holds two different ones.
    """
    if (rate is None) == (epsilon is None):
        raise InputError("give either `rate` or `epsilon`")
    if rate is not None:
        return SwapRate(rate_of(rate), largest)
    wanted = float(exact_amount("epsilon", epsilon or 0))
    return SwapRate(rates_for(wanted, largest)[0], largest, wanted)


def rates(
    largest: Iterable[int] = SIZES, *, rates: Iterable[str | Rate] = ("0.05", "0.5"), census: bool = False
) -> Curves:
    """What permutation swapping guarantees at several rates for several largest strata, as a table and a picture.

    With `census`, the strata are those of the 2020 census, had its households been swapped.
    """
    chosen = tuple(rate_of(rate) for rate in rates)
    if not chosen:
        raise InputError("rates: name at least one")
    if not census:
        return Curves(by_size(largest), chosen)
    strata = [
        Stratum(way.largest, f"{way.swapped} in {', '.join(way.match)}", (way.matched, way.swapped, way.where))
        for way in COUNTERFACTUAL
    ]
    about = ("matched on", "swapped", "largest stratum")
    return Curves(tuple(strata), chosen, about, "household", "Had the households of the 2020 census been swapped")


def by_size(numbers: Iterable[int]) -> tuple[Stratum, ...]:
    """Strata that are called by their size.

    >>> by_size([1000])
    (Stratum(size=1000, name='1,000 records', about=()),)
    """
    return tuple(Stratum(size, f"{size:,} records") for size in dict.fromkeys(numbers))


def rate_chart(rate: Rate, largest: int) -> ui.Spec:
    """Epsilon against the rate for several sizes of the largest stratum, with the best rate of each and the chosen."""
    strata = by_size(sorted({*REFERENCE, largest} - {0}))
    return _picture([*_curves(strata), *_circle(rate, largest)])


def curves_chart(found: Curves) -> ui.Spec:
    """Epsilon against the rate with upright lines at the rates that are tabulated."""
    return _picture([*_upright(found.rates), *_curves(found.strata)])


def _picture(layers: list[ui.Spec]) -> ui.Spec:
    return {"width": ui.STACK_WIDTH, "height": 320, "layer": layers}


def _curves(strata: Sequence[Stratum]) -> list[ui.Spec]:
    """A line for each stratum, with a diamond at its smallest epsilon."""
    lines = [
        {"size": stratum.name, "rate": rate, "epsilon": epsilon}
        for stratum in strata
        for rate, epsilon in curve(stratum.size)
        if epsilon <= TOP
    ]
    best = {stratum.name: best_rate(stratum.size) for stratum in strata}
    diamonds = [{"size": name, "rate": rate, "epsilon": least} for name, (rate, least) in best.items()]
    encoding = {
        "x": X,
        "y": Y,
        "color": _colour([stratum.name for stratum in strata], "swapped" if strata[0].about else "largest stratum"),
    }
    diamond = {"type": "point", "shape": "diamond", "filled": True, "size": 110, "opacity": 1}
    return [
        {"data": {"values": lines}, "mark": {"type": "line", "strokeWidth": 2}, "encoding": encoding},
        {"data": {"values": diamonds}, "mark": diamond, "encoding": encoding},
    ]


def _colour(order: list[str], title: str) -> ui.Spec:
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


def _texts(data: ui.Spec, dx: int, dy: int) -> ui.Spec:
    mark = {**ui.TEXT_MARK, "dx": dx, "dy": dy}
    return {"data": data, "mark": mark, "encoding": {"x": X, "y": Y, "text": {"field": "text"}}}


def _circle(rate: Rate, largest: int) -> list[ui.Spec]:
    """The rate at hand, with its epsilon; nothing where that is off the picture."""
    epsilon = swap_epsilon(rate, largest)
    if not largest or epsilon > TOP:
        return []
    here = {"values": [{"rate": float(rate), "epsilon": epsilon, "text": f"epsilon {epsilon:.2f}"}]}
    circle = {"type": "point", "filled": False, "size": 220, "strokeWidth": 2, "color": "#888"}
    return [{"data": here, "mark": circle, "encoding": {"x": X, "y": Y}}, _texts(here, 10, -10)]


def _upright(rates: Sequence[Fraction]) -> list[ui.Spec]:
    """Upright lines at some rates, with the rate on top."""
    tops = [{"rate": float(rate), "epsilon": TOP, "text": ui.exact_percent(float(rate))} for rate in rates]
    line = {"type": "rule", "color": "#888", "strokeDash": [4, 3]}
    return [{"data": {"values": tops}, "mark": line, "encoding": {"x": X}}, _texts({"values": tops}, 4, 8)]


def precise_rate(rate: float) -> str:
    """A rate that is not 0 or 1, so as not to look like one of them.

    >>> precise_rate(0.05), precise_rate(3e-22), precise_rate(0.9999999960910615), precise_rate(1.0)
    ('0.050000', '3e-22', '1 - 3.91e-09', 'just below 1')
    """
    if rate > 1 - 5e-7:
        return f"1 - {1 - rate:.3g}" if rate < 1 else "just below 1"
    return f"{rate:.6f}" if rate > 5e-7 else f"{rate:.3g}" if rate else "just above 0"

"""The planner: which noise a programme of tables leaves room for (section 5 and Fig. 6 of the paper).

Bounded noise of variance V within E survives if averaging is not right too often (V is large enough), if the counts
that are printed beside their parts do not disclose E (E is large enough for V), and if users accept E as an error.
Noise with an epsilon survives if averaging is not right too often (epsilon is small enough) and no small area is off by
too much (epsilon is large enough). Bounded noise is the same for the same participants; noise with an epsilon is new in
every table.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from rich.console import Console

from safemargin import ui
from safemargin.noise.averaging import epsilon_of, gaussian_success, variance_needed
from safemargin.noise.calculators import CONFIDENCE, utility_limit
from safemargin.noise.charts import band_chart, plane_chart
from safemargin.noise.programme import Programme, load_programme
from safemargin.noise.redundancy import COLUMNS, Redundancy, redundancies, short_number, tuples
from safemargin.noise.reveal import MOST_PARTS, reveal_chance, reveal_risk
from safemargin.samplers import at_least, inside, positive

RELAXED = 0.8
"""How often averaging may be right where constraints are loosened a little."""
STEP = 0.25
"""Step between variances on the plane."""
ENOUGH_PARTS = 8

FATES: Mapping[str, tuple[str, str, str]] = {  # colour from Okabe and Ito's set, letter for readers without, meaning
    "survives": ("#0072b2", "", "meets every constraint"),
    "relaxed": ("#f0e442", "r", "averaging is right a little too often"),
    "averaging": ("#d9a07a", "a", "averaging is right too often"),
    "bound disclosed": ("#cfcfcf", "b", "counts beside their parts disclose the bound"),
    "too wide": ("#b5b0d4", "w", "larger than users accept"),
    "impossible": ("transparent", "", "no such noise: its variance exceeds that of uniform noise"),
}
"""The first constraint that noise of some variance within some bound misses."""
COLOURS = {fate: colour for fate, (colour, _, _) in FATES.items()}
Splits = Mapping[str, Mapping[int, int]]
"""Per variable: how many counts are printed beside their parts, by the number of parts."""


@dataclass(frozen=True)
class Wishes:
    """What an office accepts: how sure an onlooker may be, the largest bound, and the error of a small area."""

    confidence: float = CONFIDENCE
    largest_bound: int = 10
    area_error: float = 20

    def __post_init__(self) -> None:
        inside("confidence", self.confidence)
        at_least("largest_bound", self.largest_bound, 1, 100)
        positive("area_error", self.area_error)


@dataclass(frozen=True)
class Point:
    """Noise of some variance within some bound, and its fate.

    `averaged` is how often the most exposed estimate is right, `disclosed` the chance that the bound is.
    """

    variance: float
    bound: int
    fate: str
    averaged: float
    disclosed: float


@dataclass(frozen=True)
class Band:
    """Epsilons between what small areas need and what averaging allows; empty if `low` is above `high`.

    `relaxed` is the upper end if the one statistic that is averaged most easily may be.
    """

    low: float
    high: float
    relaxed: float

    @property
    def is_open(self) -> bool:
        """Whether any epsilon meets both constraints."""
        return self.low <= self.high


@dataclass(frozen=True)
class NoisePlan(ui.Result):
    """The redundancies of a programme, and the noise that survives."""

    programme: Programme
    name: str
    wishes: Wishes
    statistics: tuple[Redundancy, ...]
    riskiest: Redundancy
    riskiest_without: Redundancy
    tuples: Splits
    least_variance: float
    points: tuple[Point, ...]
    band: Band
    recommended: Point | None

    @property
    def surviving(self) -> tuple[Point, ...]:
        """The noise that meets every constraint."""
        return tuple(point for point in self.points if point.fate == "survives")

    @property
    def sentences(self) -> tuple[str, ...]:
        """The recommendation, then a sentence or two per constraint."""
        risky = self.riskiest
        counts, axis = max(((sum(by.values()), axis) for axis, by in self.tuples.items()), default=(0, ""))
        return (
            self._recommendation(),
            f"Averaging: {risky.statistic} has {ui.plural(risky.t, 'representation')} that add up "
            f"{short_number(risky.k)} counts. The best linear estimate from all tables is worth k/t^2 = "
            f"{risky.linear:.3g} (three steps of the paper: {float(risky.best_ratio):.3g}), so a variance of at least "
            f"{self.least_variance:.3g} keeps it from being right in more than "
            f"{ui.exact_percent(self.wishes.confidence)} of cases.",
            f"Bound: {counts:,} counts are published beside their parts by {axis}. In a bound that is too narrow for "
            "its variance, one of them discloses the bound.",
            self._epsilon_sentence(),
        )

    def _recommendation(self) -> str:
        point = self.recommended
        if point is None:
            return (
                f"No noise within {self.wishes.largest_bound} survives: publish fewer tables, accept a larger bound, "
                "or let an onlooker be surer."
            )
        return (
            f"Add noise of at most {point.bound} to each count (variance {point.variance:g}). Somebody who combines "
            f"all tables then guesses the most exposed count rightly {100 * point.averaged:.0f} times in 100 (your "
            f"limit: {100 * self.wishes.confidence:g}); the chance that they learn the bound {point.bound} is "
            f"{_one_in(point.disclosed)}."
        )

    def _epsilon_sentence(self) -> str:
        band = self.band
        need = (
            f"Epsilon: no more than {self.wishes.area_error:g} off in "
            f"{ui.plural(self.programme.small_areas, 'small area')} takes epsilon {band.low:.2g} or more per count; "
            f"new noise in every table must stay below {band.high:.2g}."
        )
        if band.is_open:
            return f"{need} Any value between them meets both."
        if band.low <= band.relaxed:
            return f"{need} None meets both; up to {band.relaxed:.2g} one statistic can be averaged."
        return f"{need} None meets both: noise without a bound does not fit this programme."

    def to_json(self) -> ui.Document:
        return {
            "value": None if self.recommended is None else asdict(self.recommended),
            "inputs": {"programme": self.name, **asdict(self.wishes)},
            "details": {
                "words": list(self.sentences),
                "tables": len(self.programme.tables),
                "statistics": len(self.statistics),
                "riskiest": self.riskiest.to_json(),
                "riskiest_without_spsn": self.riskiest_without.to_json(),
                "small_areas": self.programme.small_areas,
                "tuples": {axis: {str(parts): n for parts, n in by.items()} for axis, by in self.tuples.items()},
                "least_variance": self.least_variance,
                "epsilon": {**asdict(self.band), "open": self.band.is_open},
                "plane": [asdict(point) for point in self.points],
            },
        }

    def show(self, console: Console) -> None:
        for sentence in self.sentences:
            ui.say(console, sentence)

    def to_html(self) -> str:
        title = f"{self.programme.title or 'Programme of tables'}: noise that survives"
        first, *others = self.sentences
        figures = {
            "tables": len(self.programme.tables),
            "statistics": len(self.statistics),
            "small areas": self.programme.small_areas,
            "least variance": f"{self.least_variance:.3g}",
        }
        plane = ui.figure(
            ui.to_svg(plane_chart(self.plane_rows(), COLOURS)),
            "Fate of noise by variance and bound; the same participants have the same noise",
            _legend(),
            fits=True,
        )
        rows, end = self.band_rows()
        bars = ui.to_svg(band_chart(rows, end, COLOURS))
        caption = "Epsilon per count, with new noise in every table; yellow: constraints relaxed a little"
        easiest = sorted(self.statistics, key=lambda entry: entry.linear)[:20]
        body = [
            ui.section("Recommendation", ui.paragraphs(ui.element("strong", first), *others), ui.tiles(figures)),
            ui.section("Bounded noise: the V-E plane", plane),
            ui.section("Noise with an epsilon", ui.figure(bars, caption, fits=True)),
            ui.section("Most exposed", ui.table(COLUMNS, [entry.cells_of_row() for entry in easiest], COLUMNS[1:])),
        ]
        return ui.render_page(title, ui.header(title), ui.joined(body))

    def plane_rows(self) -> list[ui.Spec]:
        """Rows of the chart of the V-E plane."""
        return [
            {"V": point.variance, "E": point.bound, "fate": point.fate, "mark": FATES[point.fate][1]}
            for point in self.points
        ]

    def band_rows(self) -> tuple[list[ui.Spec], float]:
        """Rows of the chart of epsilon, and where its axis ends."""
        band = self.band
        end = 1.25 * max(band.low, band.relaxed)
        bars = [
            ("averaging allows", 0.0, band.high, "survives"),
            ("averaging allows", band.high, band.relaxed, "relaxed"),
            ("small areas need", band.low, end, "survives"),
        ]
        if band.is_open:
            bars.append(("survives", band.low, band.high, "survives"))
        if max(band.low, band.high) < band.relaxed:
            bars.append(("survives", max(band.low, band.high), band.relaxed, "relaxed"))
        return [{"row": row, "from": low, "to": high, "fate": fate} for row, low, high, fate in bars], end


def _one_in(chance: float) -> str:
    """A small chance as people say it.

    >>> _one_in(0.000196), _one_in(0.25), _one_in(0.0), _one_in(1e-15)
    ('1 in 5,100', '25 %', 'zero', 'below 1 in 1,000,000,000')
    """
    if chance <= 0:
        return "zero"
    if chance >= 0.1:
        return f"{100 * chance:.0f} %"
    return f"1 in {float(f'{1 / chance:.2g}'):,.0f}" if chance > 1e-9 else "below 1 in 1,000,000,000"


def _legend() -> ui.Html:
    chips = [
        ui.element(
            "span",
            f"{letter} {meaning}".strip(),
            class_="chip",
            style=f"background: {colour}; color: {'#fff' if fate == 'survives' else '#222'}",
        )
        for fate, (colour, letter, meaning) in FATES.items()
        if fate != "impossible"
    ]
    return ui.element("p", *chips, class_="legend")


def plan(
    programme: Path | str | Programme,
    confidence: float = CONFIDENCE,
    largest_bound: int = 10,
    area_error: float = 20,
) -> NoisePlan:
    """Recommend noise for a programme of tables: try every bound and variance, and the band of epsilon."""
    planned = programme if isinstance(programme, Programme) else load_programme(programme)
    name = planned.title if isinstance(programme, Programme) else str(programme)
    wishes = Wishes(confidence, largest_bound, area_error)
    same = redundancies(planned)
    fresh = redundancies(planned, same_noise=False)
    riskiest = min(same, key=lambda entry: entry.linear)
    splits = tuples(planned)
    least = variance_needed(riskiest.linear, confidence)
    # The least noise that survives: the variance that averaging needs, in the smallest bound that is not disclosed.
    tried = (judge(rounded_up(least), bound, riskiest.linear, splits, wishes) for bound in range(1, largest_bound + 1))
    return NoisePlan(
        planned,
        name,
        wishes,
        same,
        riskiest,
        min(fresh, key=lambda entry: entry.linear),
        splits,
        least,
        _points(riskiest.linear, splits, wishes, least),
        epsilon_band(planned.small_areas, [entry.linear for entry in fresh], wishes),
        next((point for point in tried if point.fate == "survives"), None),
    )


def epsilon_band(small_areas: int, ratios: Sequence[float], wishes: Wishes) -> Band:
    """The epsilons that small areas and averaging leave; the paper has 0.27 to 0.31 for Malta, relaxed to 0.37.

    >>> band = epsilon_band(68, [0.0118, 0.0170], Wishes())
    >>> round(band.low, 2), round(band.high, 2), round(band.relaxed, 2)
    (0.27, 0.31, 0.37)
    """
    # The most exposed statistic sets the upper end; without it the next one does.
    smallest, *others = sorted({round(ratio, 12) for ratio in ratios})  # equal ratios differ by rounding errors
    second = others[0] if others else smallest
    low = utility_limit(small_areas, wishes.area_error, wishes.confidence)
    high, relaxed = (epsilon_of(variance_needed(ratio, wishes.confidence)) for ratio in (smallest, second))
    return Band(low, high, relaxed)


def bound_risk(variance: float, bound: int, splits: Splits) -> float:
    """Chance that the counts of a programme beside their parts disclose the bound, by the most revealing variable."""
    risks = [0.0]
    # More than eight parts disclose less than eight and are taken for eight. With a bound of 1 any gap discloses it.
    most = ENOUGH_PARTS if bound > 1 else MOST_PARTS
    for by_parts in splits.values():
        hidden = 1.0
        for parts, often in by_parts.items():
            if parts > 1:
                hidden *= 1 - reveal_risk(_chance(bound, variance, min(parts, most)), often)
        risks.append(1 - hidden)
    # Tuples of one variable are independent, those of two are not: the largest risk, not the product.
    return max(risks)


@lru_cache(maxsize=4096)
def _chance(bound: int, variance: float, parts: int) -> float:
    return reveal_chance(bound, variance, parts)


def _points(ratio: float, splits: Splits, wishes: Wishes, least: float) -> tuple[Point, ...]:
    widest = wishes.largest_bound + max(2, wishes.largest_bound // 5)  # show a little of what is too wide
    most = max(6.0, min(2 * least, widest * (widest + 1) / 3))
    step = STEP * max(1, round(most / 6))
    return tuple(
        judge(step * number, bound, ratio, splits, wishes)
        for bound in range(1, widest + 1)
        for number in range(1, int(most / step) + 1)
    )


def rounded_up(value: float) -> float:
    """Two digits, not less.

    >>> rounded_up(2.9157), rounded_up(0.5688), rounded_up(21.4)
    (3.0, 0.57, 22.0)
    """
    # 1e-9: a value that has two digits already must not be rounded up by its last bit.
    digits = 1 - math.floor(math.log10(value))
    return math.ceil(value * 10.0**digits - 1e-9) / 10.0**digits


def judge(variance: float, bound: int, ratio: float, splits: Splits, wishes: Wishes) -> Point:
    """The fate of noise of this variance within this bound."""
    averaged = gaussian_success(ratio, variance)
    if variance > bound * (bound + 1) / 3:  # uniform noise has the largest variance
        return Point(variance, bound, "impossible", averaged, 1.0)
    risk = bound_risk(variance, bound, splits)
    if bound > wishes.largest_bound:
        fate = "too wide"
    elif risk > wishes.confidence:
        fate = "bound disclosed"
    elif averaged <= wishes.confidence + 1e-9:  # the variance may have been computed from this confidence
        fate = "survives"
    else:
        fate = "relaxed" if averaged <= max(RELAXED, wishes.confidence) else "averaging"
    return Point(variance, bound, fate, averaged, risk)

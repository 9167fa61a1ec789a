"""Recommend noise for a programme of tables, with the pictures of the paper (Figs. 1, 2, 4 to 7) for it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from safemargin import ui
from safemargin.core import InputError
from safemargin.noise.calculators import CONFIDENCE, NoiseRequirements, variance_needed
from safemargin.noise.charts import band_chart, plane_chart
from safemargin.noise.laws import LAWS as TRUNCATED
from safemargin.noise.pictures import pictures
from safemargin.noise.planner import (
    Band,
    Drop,
    Point,
    TruncatedPoint,
    cut,
    epsilon_band,
    plane,
    recommended,
    rounded_up,
)
from safemargin.noise.programme import Programme, load_programme
from safemargin.noise.redundancy import COLUMNS, Output, Redundancy, count, redundancies, short_number
from safemargin.samplers import at_least, positive

MOST_DROPPED = 10
"""Tables that are dropped at most in search of noise that survives."""
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


@dataclass(frozen=True)
class NoisePlan(ui.Result):
    """What a programme is counted for, and the noise that survives."""

    output: Output
    wishes: NoiseRequirements
    least_variance: float
    points: tuple[Point, ...]
    band: Band
    recommended: Point | None
    truncated: tuple[TruncatedPoint, ...]
    drop: Drop | None = None

    @property
    def riskiest(self) -> Redundancy | None:
        """The statistic that is averaged most easily, if a programme was counted."""
        return min(self.output.statistics, key=lambda entry: entry.linear, default=None)

    @property
    def best_truncated(self) -> TruncatedPoint | None:
        """The surviving truncated noise with the smallest delta; Laplace noise has a larger epsilon than geometric."""
        survives = (point for point in self.truncated if point.fate == "survives" and point.law != "laplace")
        return min(survives, key=lambda point: point.delta, default=None)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The recommendation, then a sentence or two per constraint."""
        risky, confidence = self.riskiest, ui.exact_percent(self.wishes.confidence)
        counts, axis = max(((sum(by.values()), axis) for axis, by in self.output.tuples.items()), default=(0, ""))
        if risky is None:
            worth = f"The most exposed estimate is worth k/t^2 = {self.output.ratio:.3g}"
        else:
            worth = (
                f"{risky.statistic} has {ui.plural(risky.t, 'representation')} that add up {short_number(risky.k)} "
                f"counts. The best linear estimate from all tables is worth k/t^2 = {risky.linear:.3g} (three steps of "
                f"the paper: {float(risky.best_ratio):.3g})"
            )
        return (
            self._recommendation(),
            *self._dropping(),
            f"Averaging: {worth}, so a variance of at least {self.least_variance:.3g} keeps it from being right in "
            f"more than {confidence} of cases.",
            f"Bound: {counts:,} counts are published beside their parts by {axis}. In a bound that is too narrow for "
            "its variance, one of them discloses the bound.",
            *self._truncated_sentence(),
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

    def _headline(self) -> ui.Headline:
        point = self.recommended
        if point is None:
            return ui.Headline("unsound", "No noise that was tried protects these tables.")
        return ui.Headline(
            "sound", f"Noise of at most {ui.plural(point.bound, 'person')} per count protects these tables."
        )

    def _dropping(self) -> list[str]:
        if self.drop is None:
            return []
        names, point = ", ".join(self.drop.tables), self.drop.recommended
        if point is None:
            return [f"Without {names} a variance of {self.drop.least_variance:.3g} is still needed, which is too much."]
        return [
            f"Drop {ui.plural(len(self.drop.tables), 'table')} ({names}): then noise of variance {point.variance:g} "
            f"within {point.bound} survives."
        ]

    def _epsilon_sentence(self) -> str:
        band = self.band
        need = (
            f"Epsilon: no more than {self.wishes.area_error:g} off in "
            f"{ui.plural(self.output.small_areas, 'small area')} takes epsilon {band.low:.2g} or more per count; "
            f"new noise in every table must stay below {band.high:.2g} ({band.once:.2g} if each statistic is printed "
            "once)."
        )
        if band.is_open:
            return f"{need} Any value between them meets both."
        if band.low <= band.relaxed:
            return f"{need} None meets both; up to {band.relaxed:.2g} one statistic can be averaged."
        return f"{need} None meets both: noise without a bound does not fit this programme."

    def _truncated_sentence(self) -> list[str]:
        point = self.best_truncated
        if point is None:
            return []
        return [
            f"Truncated: {point.law} noise of this variance within {point.bound} has epsilon {point.epsilon:.2g} and "
            f"delta {point.delta:.2g} per count that a person is in."
        ]

    def to_json(self) -> ui.Document:
        fresh = min(self.output.fresh, key=lambda entry: entry.linear, default=None)
        return {
            "value": None if self.recommended is None else asdict(self.recommended),
            "inputs": {"programme": self.output.name, **asdict(self.wishes)},
            "details": {
                "words": list(self.sentences),
                "tables": len(self.output.tables),
                "statistics": len(self.output.statistics),
                "riskiest": None if self.riskiest is None else self.riskiest.to_json(),
                "riskiest_without_spsn": None if fresh is None else fresh.to_json(),
                "small_areas": self.output.small_areas,
                "tuples": {axis: {str(parts): n for parts, n in by.items()} for axis, by in self.output.tuples.items()},
                "least_variance": self.least_variance,
                "epsilon": {**asdict(self.band), "open": self.band.is_open},
                "truncated": [asdict(point) for point in self.truncated],
                "drop": None if self.drop is None else asdict(self.drop),
                "plane": [asdict(point) for point in self.points],
            },
        }

    def to_report(self) -> ui.Report:
        title = f"{self.output.title}: noise that survives"
        first, *others = self.sentences
        figures: dict[str, str | int | ui.Tag] = {
            "tables": len(self.output.tables),
            "statistics": len(self.output.statistics),
            "small areas": self.output.small_areas,
            "least variance": f"{self.least_variance:.3g}",
        }
        caption = "Fate of noise by variance and bound; the same participants have the same noise. " + "; ".join(
            f"{letter or fate}: {meaning}" for fate, (_, letter, meaning) in FATES.items() if fate != "impossible"
        )
        rows, end = self.band_rows()
        band_caption = "Epsilon per count, with new noise in every table; yellow: constraints relaxed a little"
        easiest = sorted(self.output.statistics, key=lambda entry: entry.linear)[:20]
        cut_rows = [
            [
                f"{point.law} within {point.bound}",
                *map(_short, (point.parameter, point.epsilon, point.delta)),
                point.fate,
            ]
            for point in self.truncated
        ]
        return ui.Report(
            title,
            ui.OnPage(self._headline()),
            first,
            *others,
            ui.OnPage(
                ui.Figures(figures),
                ui.Section(
                    "Bounded noise: the V-E plane",
                    ui.Chart(plane_chart(self.plane_rows(), COLOURS), caption, fits=True),
                ),
                ui.Section("Noise with an epsilon", ui.Chart(band_chart(rows, end, COLOURS), band_caption, fits=True)),
                ui.Section("Truncated noise", ui.Grid(["noise", "parameter", "epsilon", "delta", "fate"], cut_rows)),
                *(
                    ui.Section(name, ui.Chart(chart, words))
                    for name, chart, words in pictures(self.output, self.wishes)
                ),
                ui.Section("Most exposed", ui.Grid(COLUMNS, [entry.cells_of_row() for entry in easiest])),
            ),
        )

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


def _short(value: float) -> str:
    return f"{value:.3g}"


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


def plan(
    programme: Path | str | Programme | None = None,
    confidence: float = CONFIDENCE,
    largest_bound: int = 10,
    area_error: float = 20,
    *,
    kt2: float | None = None,
    kt2_fresh: float | None = None,
    tuples: int | None = None,
    areas: int | None = None,
) -> NoisePlan:
    """Recommend noise for a programme of tables.

    Every bound and variance, truncated noise, and the band of epsilon are tried. Without a programme, give what it
    would be counted for: `kt2` of the most exposed statistic (`kt2_fresh` with new noise in every table), the number of
    `tuples` of two counts beside their total, and of small `areas`.
    """
    wishes = NoiseRequirements(confidence, largest_bound, area_error)
    given = (kt2, tuples, areas)
    if (programme is None) == (kt2 is None) or (programme is not None and any(value is not None for value in given)):
        raise InputError("give a programme, or kt2 with tuples and areas")
    if programme is None:
        if kt2 is None or tuples is None or areas is None:
            raise InputError("kt2, tuples and areas go together: they stand for a programme")
        counted = Output(
            "figures given",
            positive("kt2", kt2),
            (positive("kt2_fresh", kt2 if kt2_fresh is None else kt2_fresh),),
            {"two parts": {2: at_least("tuples", tuples, 1)}},
            at_least("areas", areas, 1),
        )
        return planned(counted, wishes)
    loaded = programme if isinstance(programme, Programme) else load_programme(programme)
    made = planned(count(loaded, loaded.title if loaded is programme else str(programme)), wishes)
    return made if made.recommended is not None else replace(made, drop=dropped(loaded, wishes))


def planned(output: Output, wishes: NoiseRequirements) -> NoisePlan:
    """Try every noise on what the constraints follow from."""
    least = variance_needed(output.ratio, wishes.confidence)
    return NoisePlan(
        output,
        wishes,
        least,
        plane(output.ratio, output.tuples, wishes, least),
        epsilon_band(output.small_areas, output.fresh_ratios, wishes, output.ratio),
        recommended(output, wishes),
        tuple(
            point
            for law in TRUNCATED
            for bound in range(1, wishes.largest_bound + 1)
            if (point := cut(law, bound, rounded_up(least), output.tuples, wishes)) is not None
        ),
    )


def dropped(programme: Programme, wishes: NoiseRequirements) -> Drop | None:
    """Which tables to drop so that noise survives: one after another the table that lowers the needed variance most."""
    gone: list[str] = []
    drop = None
    while len(programme.tables) > 1 and len(gone) < MOST_DROPPED:
        rest = [
            replace(programme, tables=tuple(other for other in programme.tables if other is not table))
            for table in programme.tables
        ]
        worth = [min(entry.linear for entry in redundancies(fewer)) for fewer in rest]
        best = worth.index(max(worth))
        gone.append(programme.tables[best].name)
        programme = rest[best]
        made = planned(count(programme, ""), wishes)
        drop = Drop(tuple(gone), made.least_variance, made.recommended)
        if made.recommended is not None:
            break
    return drop

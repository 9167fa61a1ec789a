"""What a forecast says, and its page: what is certain, the chance of every table, a strip of chances per group.

`release/forecast.py` defines the figures and makes them; a forecast is a value, and its page reads nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scipy.special import betaincinv

from safemargin.core import Target
from safemargin.ui import (
    SCHEMA,
    STACK_WIDTH,
    Chart,
    Document,
    Fold,
    Grid,
    Headline,
    OnPage,
    Paragraph,
    Part,
    Points,
    Report,
    Result,
    Section,
    Spec,
    exact_percent,
    percent,
    plural,
    row_label,
    row_positions,
)

COLOURS = {"exact": "#17714f", "merged": "#2460a5", "lost": "#525b66"}
MOST_GROUPS = 60
"""Groups of an axis that the page lists at once, the least certain first."""
CHOOSING = "Nothing here uses an answer of this year: limits may be chosen by it and then locked (safemargin lock)."


CONFIDENCE = 0.95


@dataclass(frozen=True)
class Certain:
    """What the roll alone settles, by axis: groups that are merged for their size, and suppressed; omitted axes."""

    merged: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    suppressed: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    lost: tuple[str, ...] = ()

    def to_json(self) -> Document:
        """As a part of the document."""
        merged = {axis: list(groups) for axis, groups in self.merged.items()}
        suppressed = {axis: list(groups) for axis, groups in self.suppressed.items()}
        return {"merged": merged, "suppressed": suppressed, "lost": list(self.lost)}


@dataclass(frozen=True)
class Chance:
    """In how many of `draws` something happened."""

    times: int
    draws: int

    @property
    def share(self) -> float:
        """The share of draws."""
        return self.times / self.draws if self.draws else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The Clopper-Pearson interval of its probability.

        >>> [round(end, 3) for end in Chance(0, 100).interval], [round(end, 3) for end in Chance(93, 100).interval]
        ([0.0, 0.036], [0.861, 0.971])
        """
        x, n, tail = self.times, self.draws, (1 - CONFIDENCE) / 2
        low = float(betaincinv(x, n - x + 1, tail)) if x else 0.0
        high = float(betaincinv(x + 1, n - x, 1 - tail)) if x < n else 1.0
        return low, high


@dataclass(frozen=True)
class Forecast(Result):
    """What a release of a project will keep: certain losses, and probabilities from drawn answers."""

    title: str
    people: int
    target: Target
    assumed: str
    draws: int
    certain: Certain
    tables: Mapping[str, Mapping[str, Chance]] = field(hash=False)
    """By table: in how many draws it is exact, merged, lost."""
    groups: Mapping[str, Mapping[str, Chance]] = field(hash=False)
    """By axis and category: in how many draws it is published by itself and unchanged."""
    sizes: Mapping[str, Mapping[str, int]] = field(hash=False)
    published: Chance = Chance(0, 0)
    """In how many draws any table is published beside the total."""
    people_exact: float = 0.0
    people_exact_spread: tuple[float, float] = (0.0, 0.0)
    """The 5th and the 95th of 100 draws, ordered by the share of people in exact groups."""
    notes: tuple[str, ...] = ()

    def to_json(self) -> Document:
        """The document of `forecast --json`."""
        tables = {name: {s: chance.share for s, chance in states.items()} for name, states in self.tables.items()}
        ends = {
            name: {s: list(chance.interval) for s, chance in states.items()} for name, states in self.tables.items()
        }
        groups = {axis: {name: c.share for name, c in listed.items()} for axis, listed in self.groups.items()}
        return {
            "schema": SCHEMA,
            "people": self.people,
            "assumed": self.assumed,
            "draws": self.draws,
            "confidence": CONFIDENCE,
            "certain": self.certain.to_json(),
            "tables": tables,
            "intervals": ends,
            "groups": groups,
            "people_exact": self.people_exact,
            "people_exact_spread": list(self.people_exact_spread),
            "published": {"share": self.published.share, "interval": list(self.published.interval)},
            "notes": list(self.notes),
        }

    def to_report(self) -> Report:
        """The forecast on a page or in a terminal."""
        return forecast_report(self)

    @property
    def sentence(self) -> str:
        """The forecast in one sentence."""
        if not self.draws:
            return "Nothing was drawn: only what the roll settles is known."
        lost = [name for name, states in self.tables.items() if states["lost"].share > 0.5]
        kept = f"{percent(self.people_exact)} of the people will be in exact groups, on average"
        if not self.published.times:
            return "In no draw could any table be published beside the total."
        if lost:
            return f"{kept}; {', '.join(lost)} will probably be lost."
        return f"{kept}."


def forecast_report(forecast: Forecast) -> Report:
    """The forecast in blocks."""
    if not forecast.draws:
        state = "partly"
    else:
        state = "unsound" if not forecast.published.times else "sound" if forecast.people_exact >= 0.8 else "partly"
    low, high = forecast.people_exact_spread
    spread = f"In 90 of 100 draws it is between {percent(low)} and {percent(high)}."
    return Report(
        f"Forecast: {forecast.title}",
        Headline(state, forecast.sentence, spread if forecast.draws else ""),
        _certain_section(forecast),
        _chances_section(forecast),
        _groups_section(forecast),
        Section(
            "What is assumed",
            forecast.assumed,
            Points(list(forecast.notes)),
            f"No group under {plural(forecast.target.kappa, 'person')} is published, and the limit is "
            f"{exact_percent(1 - forecast.target.beta)}.",
            Paragraph(CHOOSING, "quiet"),
        ),
    )


def _certain_section(forecast: Forecast) -> Section:
    certain = forecast.certain
    lines = [(axis, f"merged for their size: {_some(groups)}") for axis, groups in certain.merged.items()]
    lines += [(axis, f"suppressed for their size: {_some(groups)}") for axis, groups in certain.suppressed.items()]
    lines += [(axis, "cannot be published, whatever people answer") for axis in certain.lost]
    title = "Certain, from the roll alone"
    return Section(title, Points(lines)) if lines else Section(title, "Every group is large enough to stand by itself.")


def _some(groups: tuple[str, ...]) -> str:
    more = f" and {len(groups) - 5:,} more groups" if len(groups) > 5 else ""
    return "; ".join(groups[:5]) + more


def _chances_section(forecast: Forecast) -> Part:
    if not forecast.draws:
        return None
    rows = [
        (name, *(_words(states[state]) for state in COLOURS), _range(states["lost"]))
        for name, states in forecast.tables.items()
    ]
    said = f"{plural(forecast.draws, 'draw')} of everybody's answers, each decided by the rule of a release. "
    said += f"Anything beside the total could be published in {percent(forecast.published.share)} of them "
    said += f"(95 % interval {_range(forecast.published)})."
    chart = Chart(lambda: chances_chart(_shares(forecast)), "Share of draws in which a table is exact, merged or lost")
    columns = ("table", *COLOURS, "lost, 95 % interval")
    return Section("Probable, by drawn answers", said, Grid(columns, rows), OnPage(chart))


def _words(chance: Chance) -> str:
    return percent(chance.share)


def _range(chance: Chance) -> str:
    low, high = chance.interval
    return f"{percent(low)} to {percent(high)}"


def _shares(forecast: Forecast) -> dict[str, dict[str, float]]:
    return {name: {state: chance.share for state, chance in found.items()} for name, found in forecast.tables.items()}


def chances_chart(tables: Mapping[str, Mapping[str, float]]) -> Spec:
    """One bar per table: the shares of draws in which it is exact, merged and lost."""
    values = [
        {"row": row_label(place, name), "state": state, "share": share, "order": order}
        for place, (name, states) in enumerate(tables.items())
        for order, (state, share) in enumerate(states.items())
    ]
    left, rows = row_positions(values)
    scale = {"domain": list(COLOURS), "range": list(COLOURS.values())}
    return {
        "width": STACK_WIDTH - left,
        "height": {"step": 24},
        "data": {"values": values},
        "mark": {"type": "bar", "height": {"band": 0.72}},
        "encoding": {
            "y": rows,
            "x": {
                "field": "share",
                "type": "quantitative",
                "stack": "zero",
                "scale": {"domain": [0, 1]},
                "axis": {"format": ".0%", "title": None},
            },
            "order": {"field": "order", "type": "quantitative"},
            "color": {"field": "state", "type": "nominal", "scale": scale, "title": None},
        },
    }


def _groups_section(forecast: Forecast) -> Part:
    if not forecast.draws:
        return None
    folds = []
    for axis, groups in forecast.groups.items():
        least = sorted(groups, key=lambda name: (groups[name].share, forecast.sizes[axis][name]))
        rows = [(name, forecast.sizes[axis][name], percent(groups[name].share)) for name in least]
        sure = sum(chance.times == chance.draws for chance in groups.values())
        summary = f"{axis}: {sure:,} of {plural(len(groups), 'category')} exact in every draw"
        grid = Grid(("category", "people", "exact by itself"), rows, most=MOST_GROUPS, sortable=True)
        folds.append(Fold(summary, grid, is_open=sure < len(groups)))
    return OnPage(Section("Every group", *folds))

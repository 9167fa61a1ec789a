"""The page of a forecast: what is certain, the chance of every table, and a strip of chances per group."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from safemargin.ui import (
    STACK_WIDTH,
    Chart,
    Fold,
    Grid,
    Headline,
    OnPage,
    Paragraph,
    Part,
    Points,
    Report,
    Section,
    Spec,
    exact_percent,
    percent,
    plural,
    row_label,
    row_positions,
)

if TYPE_CHECKING:
    from safemargin.release.forecast import Chance, Forecast

COLOURS = {"exact": "#17714f", "merged": "#2460a5", "lost": "#525b66"}
MOST_GROUPS = 60
"""Groups of an axis that the page lists at once, the least certain first."""
CHOOSING = "Nothing here uses an answer of this year: limits may be chosen by it and then locked (safemargin lock)."


def forecast_report(forecast: "Forecast") -> Report:
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


def _certain_section(forecast: "Forecast") -> Section:
    certain = forecast.certain
    lines = [(axis, f"merged for their size: {_some(groups)}") for axis, groups in certain.merged.items()]
    lines += [(axis, f"suppressed for their size: {_some(groups)}") for axis, groups in certain.suppressed.items()]
    lines += [(axis, "cannot be published, whatever people answer") for axis in certain.lost]
    title = "Certain, from the roll alone"
    return Section(title, Points(lines)) if lines else Section(title, "Every group is large enough to stand by itself.")


def _some(groups: tuple[str, ...]) -> str:
    more = f" and {len(groups) - 5:,} more groups" if len(groups) > 5 else ""
    return "; ".join(groups[:5]) + more


def _chances_section(forecast: "Forecast") -> Part:
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


def _words(chance: "Chance") -> str:
    return percent(chance.share)


def _range(chance: "Chance") -> str:
    low, high = chance.interval
    return f"{percent(low)} to {percent(high)}"


def _shares(forecast: "Forecast") -> dict[str, dict[str, float]]:
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


def _groups_section(forecast: "Forecast") -> Part:
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

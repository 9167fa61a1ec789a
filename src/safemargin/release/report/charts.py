"""Charts about a release."""

from collections.abc import Mapping, Sequence

from safemargin.release.plan import Action
from safemargin.release.report.groups import Choice, DecidedGroup
from safemargin.ui import (
    GAP,
    LETTER,
    STACK_WIDTH,
    TEXT_MARK,
    TICK_MARK,
    WIDTH,
    Spec,
    percent,
    row_label,
    row_positions,
)

ACTION_COLOURS = {
    Action.EXACT: "#0072b2",
    Action.MERGED: "#56b4e9",
    Action.NOISED: "#e69f00",
    Action.SUPPRESSED: "url(#hatch)",
}
MOST_GROUPS = 40
MOST_OPTIONS = 8
WAY_COLOURS = ["#0072b2", "#56b4e9", "#e69f00", "#009e73"]
PANELS = 4
"""How many options stand side by side."""


def rates_chart(groups: Sequence[DecidedGroup], totals: Mapping[str, float]) -> Spec:
    """Published rates of the groups of one axis, one panel per option, coloured by what was done.

    `totals` has the share of everybody per option, drawn as a line.
    """
    rates = [rate for group in groups for option in totals if (rate := _rate(group, option)) is not None]
    top = max([0.01, *rates, *totals.values()])
    values = [
        _bar(row_label(position, _short(group)), group, option, totals[option], top)
        for position, group in enumerate(groups)
        for option in totals
    ]
    left, rows = row_positions(values)
    panel = (WIDTH - left) // min(len(totals), PANELS) - GAP
    scale = {"domain": [0, top * (1 + 8 * LETTER / panel)], "nice": False}
    x = {"type": "quantitative", "scale": scale, "axis": {"format": ".0%", "title": None}}
    layers = [
        {
            "mark": {"type": "bar", "height": {"band": 0.72}},
            "encoding": {"x": {**x, "field": "rate"}, "color": _actions("action")},
        },
        {"mark": {**TICK_MARK, "bandSize": 20}, "encoding": {"x": {**x, "field": "total"}}},
        {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}},
            "transform": [{"filter": "datum.high > datum.low"}],
        },
        {"mark": TEXT_MARK, "encoding": {"x": {**x, "field": "at"}, "text": {"field": "words"}}},
    ]
    return {
        "data": {"values": values},
        "facet": {"field": "option", "type": "nominal", "sort": list(totals), "header": {"labelLimit": panel * 3 // 4}},
        "columns": PANELS,
        "spacing": GAP,
        "spec": {"width": panel, "height": {"step": 20}, "encoding": {"y": rows}, "layer": layers},
    }


def strictness_chart(choices: Sequence[Choice]) -> Spec:
    """Categories that stay exact against the limit, a line per protection, with a ring where this release is."""
    here = choices[0]
    values = [
        {"limit": choice.beta, "kept": choice.categories, "way": choice.protect}
        for choice in choices
        if choice.state == "certified"
    ]
    ring = {"values": [{"limit": here.beta, "kept": here.categories, "words": "you are here"}]}
    x = {
        "field": "limit",
        "type": "quantitative",
        "scale": {"domain": [0, max(choice.beta for choice in choices) * 1.1], "nice": False},
        "axis": {"format": ".0%", "title": "limit", "tickCount": 5},
    }
    y = {"field": "kept", "type": "quantitative", "axis": {"title": "exact categories", "grid": True, "tickCount": 4}}
    ways = list(dict.fromkeys(value["way"] for value in values))
    legend = {"title": None, "orient": "top", "labelFontSize": 12}
    colour = {"field": "way", "type": "nominal", "scale": {"domain": ways, "range": WAY_COLOURS}, "legend": legend}
    dash = {"field": "way", "type": "nominal", "scale": {"domain": ways}, "legend": None}
    line = {"mark": {"type": "line", "point": True}, "encoding": {"x": x, "y": y, "color": colour, "strokeDash": dash}}
    mark = {"type": "point", "size": 260, "stroke": "#d55e00", "strokeWidth": 2.5, "filled": False}
    circle = {"data": ring, "mark": mark, "encoding": {"x": x, "y": y}}
    label = {
        "data": ring,
        "mark": {"type": "text", "align": "right", "dx": -14, "dy": 12, "fontWeight": "bold"},
        "encoding": {"x": x, "y": y, "text": {"field": "words"}},
    }
    size = {"width": STACK_WIDTH - 120, "height": 240}
    return {"data": {"values": values}, **size, "layer": [line, circle, label]}


def _bar(row: str, group: DecidedGroup, option: str, total: float, top: float) -> Spec:
    rate = _rate(group, option)
    text = "suppressed" if rate is None else percent(rate)
    return {
        "row": row,
        "option": option,
        "rate": top if rate is None else max(rate, 0),
        "at": top
        if rate is None
        else max(rate + group.margin_of_error / max(group.people, 1), total if rate < total < rate + top / 4 else 0, 0),
        "words": f"≈ {text}" if group.action is Action.NOISED and rate is not None else text,
        "action": str(Action.SUPPRESSED if rate is None else group.action),
        "total": total,
        "low": 0 if rate is None else max(rate - group.margin_of_error / max(group.people, 1), 0),
        "high": 0 if rate is None else min(rate + group.margin_of_error / max(group.people, 1), 1),
    }


def _actions(field: str) -> Spec:
    domain, colours = [str(action) for action in ACTION_COLOURS], list(ACTION_COLOURS.values())
    return {"field": field, "type": "nominal", "scale": {"domain": domain, "range": colours}, "legend": None}


def _rate(group: DecidedGroup, option: str) -> float | None:
    return group.counts[option] / group.people if option in group.counts and group.people else None


def _short(group: DecidedGroup) -> str:
    """A label that leaves room for the picture, and says what was done unless the group is published as it is."""
    first, *others = group.name.split(" | ")
    text = group.name if len(group.name) <= 26 else f"{first} + {len(others)}" if others else group.name
    return text if group.action is Action.EXACT else f"{text} ({group.action})"

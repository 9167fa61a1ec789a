"""Charts about a release."""

from collections.abc import Mapping, Sequence

from safemargin.audit.findings import Findings
from safemargin.core import VERDICTS
from safemargin.release.plan import Action
from safemargin.release.report.context import DecidedGroup, people_by_action
from safemargin.ui import (
    GAP,
    LETTER,
    STACK_WIDTH,
    TEXT_MARK,
    TICK_MARK,
    VERDICT_COLOURS,
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
        {"mark": TEXT_MARK, "encoding": {"x": {**x, "field": "at"}, "text": {"field": "words"}}},
    ]
    return {
        "data": {"values": values},
        "facet": {"field": "option", "type": "nominal", "sort": list(totals), "header": {"labelLimit": panel * 3 // 4}},
        "columns": PANELS,
        "spacing": GAP,
        "spec": {"width": panel, "height": {"step": 20}, "encoding": {"y": rows}, "layer": layers},
    }


def onlookers_chart(findings: Sequence[Findings]) -> Spec:
    """How the intervals of every onlooker divide into verdicts."""
    values = [
        {"row": row_label(position, seen.onlooker.name), "kind": verdict, "count": count, "order": order}
        for position, seen in enumerate(findings)
        for order, (verdict, count) in enumerate(seen.exposure.tallied(seen.target).items())
    ]
    return _stacked(values, _verdicts("kind"), "share of the intervals")


def loss_chart(axes: Mapping[str, Sequence[DecidedGroup]]) -> Spec:
    """How the people of every axis divide into groups by what was done."""
    values = [
        {"row": row_label(position, axis), "kind": str(action), "count": people, "order": order}
        for position, (axis, groups) in enumerate(axes.items())
        for order, (action, (_, people)) in enumerate(people_by_action(groups).items())
    ]
    return _stacked(values, _actions("kind"), "share of the people")


def _stacked(values: list[Spec], colour: Spec, title: str) -> Spec:
    left, rows = row_positions(values)
    axis = {"format": ".0%", "title": title, "tickCount": 5}
    return {
        "data": {"values": values},
        "width": STACK_WIDTH - left,
        "height": {"step": 30},
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": {
            "y": rows,
            "x": {"field": "count", "type": "quantitative", "aggregate": "sum", "stack": "normalize", "axis": axis},
            "color": colour,
            "order": {"field": "order", "type": "quantitative"},
        },
    }


def _bar(row: str, group: DecidedGroup, option: str, total: float, top: float) -> Spec:
    rate = _rate(group, option)
    text = "suppressed" if rate is None else percent(rate)
    return {
        "row": row,
        "option": option,
        "rate": top if rate is None else max(rate, 0),
        "at": top if rate is None else max(rate, total if rate < total < rate + top / 4 else 0, 0),
        "words": f"≈ {text}" if group.action is Action.NOISED and rate is not None else text,
        "action": str(Action.SUPPRESSED if rate is None else group.action),
        "total": total,
    }


def _actions(field: str) -> Spec:
    domain, colours = [str(action) for action in ACTION_COLOURS], list(ACTION_COLOURS.values())
    return {"field": field, "type": "nominal", "scale": {"domain": domain, "range": colours}, "legend": None}


def _verdicts(field: str) -> Spec:
    domain, colours = [str(verdict) for verdict in VERDICTS], [VERDICT_COLOURS[verdict] for verdict in VERDICTS]
    return {"field": field, "type": "nominal", "scale": {"domain": domain, "range": colours}, "legend": None}


def _rate(group: DecidedGroup, option: str) -> float | None:
    return group.counts[option] / group.people if option in group.counts and group.people else None


def _short(group: DecidedGroup) -> str:
    """A label that leaves room for the picture, and says what was done unless the group is published as it is."""
    first, *others = group.label.split(" | ")
    text = group.label if len(group.label) <= 26 else f"{first} + {len(others)}" if others else group.label
    return text if group.action is Action.EXACT else f"{text} ({group.action})"

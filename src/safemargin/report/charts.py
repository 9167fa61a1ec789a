"""Pictures as Vega-Lite specifications, and their rendering to SVG without a network.

The specifications are plain dictionaries: importing Altair would add half a second to every start of the program. The
tests check them against Altair's schema.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import vl_convert

from safemargin.model.comparison import Comparison
from safemargin.model.findings import Findings
from safemargin.model.plan import Action
from safemargin.model.target import VERDICTS, Verdict
from safemargin.report.groups import DecidedGroup, people_by_action
from safemargin.report.words import percent

Spec = dict[str, Any]

ACTION_COLOURS = {
    Action.EXACT: "#0072b2",
    Action.MERGED: "#56b4e9",
    Action.NOISED: "#e69f00",
    Action.WITHHELD: "url(#hatch)",
}
VERDICT_COLOURS = {Verdict.CONTAINED: "#009e73", Verdict.OPEN: "#8f86c9", Verdict.DISCLOSED: "#d55e00"}
"""From Okabe and Ito's set, which colour-blind readers can tell apart. The page defines the hatching."""

FAMILY_COLOURS = ["#888888", "#e69f00", "#cc79a7", "#56b4e9", "#8f86c9", "#009e73"]
FAMILY_SHAPES = ["cross", "circle", "triangle-down", "square", "diamond", "triangle-up"]
"""Of the ways to publish, in the order in which they are compared."""

MOST_GROUPS = 40
MOST_OPTIONS = 8
PANELS = 4
"""How many options stand side by side."""

WIDTH = 900
"""Of a picture with its labels, in pixels."""

STACK_WIDTH = 500
"""Of a picture that is to fit a phone."""

LETTER = 7.0
"""Room for a letter of a label in any reader's font: the renderer measures with another one."""

CONFIG: Spec = {
    "font": "system-ui, sans-serif",
    "background": "transparent",
    "aria": False,
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "gridColor": "#8884",
        "ticks": False,
    },
    "axisY": {"domain": False, "grid": False, "labelLimit": 0, "title": None, "labelPadding": 8},
    "axisX": {"domain": False, "tickCount": 3},
    "header": {"labelFontSize": 13, "labelFontWeight": "bold", "title": None, "labelAnchor": "start"},
    "text": {"fontSize": 11, "fill": "#000"},
}
LINE: Spec = {"type": "tick", "color": "#888", "thickness": 1.5}
WORDS: Spec = {"type": "text", "align": "left", "dx": 6}
GAP = 20
PLACE = 4
"""Digits before every label."""
LONGEST_LABEL = 52
"""Letters that are shown."""

SIZE = re.compile(r'<svg([^>]*?) width="(\d+)" height="(\d+)"')


def framed(spec: Spec) -> Spec:
    """The specification with what all pictures have in common, and without letters that cannot be drawn."""
    found: Spec = _drawable({"config": CONFIG, **spec})
    return found


def _drawable(value: Any) -> Any:
    """Control characters and the like would end the program that draws."""
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in value)
    if isinstance(value, dict):
        return {_drawable(key): _drawable(each) for key, each in value.items()}
    return [_drawable(each) for each in value] if isinstance(value, list | tuple) else value


def to_svg(spec: Spec, drawn: str | None = None) -> str:
    """The picture as an SVG element that takes the width of the page; `drawn` if the library drew it already."""
    svg: str = vl_convert.vegalite_to_svg(framed(spec)) if drawn is None else drawn
    return SIZE.sub(r'<svg\1 style="--natural: \2px"', svg, count=1)


def rates_chart(groups: Sequence[DecidedGroup], totals: Mapping[str, float]) -> Spec:
    """Published rates of the groups of one axis, one panel per option, coloured by what was done.

    `totals` has the share of everybody per option, drawn as a line.
    """
    rates = [rate for group in groups for option in totals if (rate := _rate(group, option)) is not None]
    top = max([0.01, *rates, *totals.values()])
    values = [
        _bar(_row(place, _short(group)), group, option, totals[option], top)
        for place, group in enumerate(groups)
        for option in totals
    ]
    left, rows = _rows(values)
    panel = (WIDTH - left) // min(len(totals), PANELS) - GAP
    scale = {"domain": [0, top * (1 + 8 * LETTER / panel)], "nice": False}
    x = {"type": "quantitative", "scale": scale, "axis": {"format": ".0%", "title": None}}
    layers = [
        {
            "mark": {"type": "bar", "height": {"band": 0.72}},
            "encoding": {"x": {**x, "field": "rate"}, "color": _actions("action")},
        },
        {"mark": {**LINE, "bandSize": 20}, "encoding": {"x": {**x, "field": "total"}}},
        {"mark": WORDS, "encoding": {"x": {**x, "field": "at"}, "text": {"field": "words"}}},
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
        {"row": _row(place, each.onlooker.name), "kind": verdict, "count": count, "order": order}
        for place, each in enumerate(findings)
        for order, (verdict, count) in enumerate(each.exposure.tallied(each.target).items())
    ]
    return _stacked(values, _verdicts("kind"), "share of the intervals")


def loss_chart(axes: Mapping[str, Sequence[DecidedGroup]]) -> Spec:
    """How the people of every axis divide into groups by what was done."""
    values = [
        {"row": _row(place, axis), "kind": str(action), "count": people, "order": order}
        for place, (axis, groups) in enumerate(axes.items())
        for order, (action, (_, people)) in enumerate(people_by_action(groups).items())
    ]
    return _stacked(values, _actions("kind"), "share of the people")


def tradeoff_chart(comparison: Comparison) -> Spec:
    """The error of every method against the people it exposes; both scales are logarithmic but for the zero."""
    values: list[Spec] = [
        {
            "family": each.family,
            "error": each.mean_error,
            "people": each.people_exposed,
            "words": "" if each.family != "global DP" else f"{each.loss:g}",
        }
        for each in comparison.methods
        if each.mean_error is not None
    ]
    families = list(dict.fromkeys(value["family"] for value in values))
    x = {"field": "error", **_symlog("mean error of a count", 0.1, [value["error"] for value in values])}
    y = {"field": "people", **_symlog("people exposed", 1, [value["people"] for value in values])}
    family = {"field": "family", "type": "nominal", "legend": {"title": None, "labelFontSize": 12, "labelLimit": 0}}
    colour = {**family, "scale": {"domain": families, "range": FAMILY_COLOURS[: len(families)]}}
    shape = {**family, "scale": {"domain": families, "range": FAMILY_SHAPES[: len(families)]}}
    points = {
        "mark": {"type": "point", "filled": True, "size": 160, "opacity": 0.85},
        "encoding": {"x": x, "y": y, "color": colour, "shape": shape},
    }
    words = {"mark": {**WORDS, "dx": 9, "dy": -9}, "encoding": {"x": x, "y": y, "text": {"field": "words"}}}
    return {"data": {"values": values}, "width": WIDTH - 260, "height": 300, "layer": [points, words]}


def _symlog(title: str, least: float, values: Sequence[float]) -> Spec:
    """A scale that starts with zero and then goes up by tens from `least`."""
    marks = [0.0, least]
    while marks[-1] < max(values, default=0.0):
        marks.append(marks[-1] * 10)
    axis = {"values": marks, "title": title, "grid": True, "format": ",~r"}
    scale = {"type": "symlog", "constant": least, "domain": [0, marks[-1]], "nice": False}
    return {"type": "quantitative", "scale": scale, "axis": axis}


def _stacked(values: list[Spec], colour: Spec, title: str) -> Spec:
    left, rows = _rows(values)
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
    words = "withheld" if rate is None else percent(rate)
    return {
        "row": row,
        "option": option,
        "rate": top if rate is None else max(rate, 0),
        "at": top if rate is None else max(rate, total if rate < total < rate + top / 4 else 0, 0),
        "words": f"≈ {words}" if group.action is Action.NOISED and rate is not None else words,
        "action": str(Action.WITHHELD if rate is None else group.action),
        "total": total,
    }


def _rows(values: Sequence[Spec]) -> tuple[int, Spec]:
    """Room for the labels, and the channel that puts every row at its place.

    Rows are keyed by place and label, so that they keep their order and equal labels stay apart.
    """
    room = int(LETTER * max(len(value["row"]) - PLACE for value in values)) + 12
    axis = {"labelExpr": f"substring(datum.label, {PLACE})", "minExtent": room, "maxExtent": room}
    return room, {"field": "row", "type": "nominal", "axis": axis}


def _row(place: int, text: str) -> str:
    return f"{place:0{PLACE}d}{_cut(text, LONGEST_LABEL)}"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


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

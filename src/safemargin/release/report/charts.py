"""Charts about a release."""

from collections.abc import Sequence

from safemargin.release.report.groups import Choice
from safemargin.ui import (
    STACK_WIDTH,
    Spec,
)

WAY_COLOURS = {"merge": "#2460a5", "noise": "#855600", "suppress": "#525b66"}
"""Each way in the colour of what it does; those that do several things in that of buttons."""
OTHER_COLOUR = "#1f4e79"


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
    colours = [WAY_COLOURS.get(str(way), OTHER_COLOUR) for way in ways]
    colour = {"field": "way", "type": "nominal", "scale": {"domain": ways, "range": colours}, "legend": legend}
    dash = {"field": "way", "type": "nominal", "scale": {"domain": ways}, "legend": None}
    line = {"mark": {"type": "line", "point": True}, "encoding": {"x": x, "y": y, "color": colour, "strokeDash": dash}}
    mark = {"type": "point", "size": 260, "stroke": "#1f4e79", "strokeWidth": 2.5, "filled": False}
    circle = {"data": ring, "mark": mark, "encoding": {"x": x, "y": y}}
    label = {
        "data": ring,
        "mark": {"type": "text", "align": "right", "dx": -14, "dy": 12, "fontWeight": "bold"},
        "encoding": {"x": x, "y": y, "text": {"field": "words"}},
    }
    size = {"width": STACK_WIDTH - 120, "height": 240}
    return {"data": {"values": values}, **size, "layer": [line, circle, label]}

"""Pictures as Vega-Lite specifications, and their rendering to SVG without a network.

The specifications are plain dictionaries: importing Altair would add half a second to every start of the program. The
tests check them against Altair's schema.
"""

import re
from collections.abc import Sequence
from typing import Any

import vl_convert

from safemargin.core import Verdict

Spec = dict[str, Any]
VERDICT_COLOURS = {Verdict.CONTAINED: "#009e73", Verdict.OPEN: "#8f86c9", Verdict.DISCLOSED: "#d55e00"}
"""From Okabe and Ito's set, which colour-blind readers can tell apart. The page defines the hatching."""
FAMILY_COLOURS = ["#888888", "#e69f00", "#cc79a7", "#56b4e9", "#8f86c9", "#009e73"]
FAMILY_SHAPES = ["cross", "circle", "triangle-down", "square", "diamond", "triangle-up"]
"""Of the ways to publish, in the order in which they are compared."""
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


def row_positions(values: Sequence[Spec]) -> tuple[int, Spec]:
    """Room for the labels, and the channel that puts every row at its place.

    Rows are keyed by place and label, so that they keep their order and equal labels stay apart.
    """
    room = int(LETTER * max(len(value["row"]) - PLACE for value in values)) + 12
    axis = {"labelExpr": f"substring(datum.label, {PLACE})", "minExtent": room, "maxExtent": room}
    return room, {"field": "row", "type": "nominal", "axis": axis}


def row_label(place: int, text: str) -> str:
    return f"{place:0{PLACE}d}{cut_label(text, LONGEST_LABEL)}"


def cut_label(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"

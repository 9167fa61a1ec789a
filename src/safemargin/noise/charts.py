"""Charts about noise, as Vega-Lite specifications from plain rows."""

from collections.abc import Mapping, Sequence

from safemargin.ui import STACK_WIDTH, Spec

MOST_LABELS = 9
"""Sizes that are written below a chart."""
LABEL_WIDTH = 135
"""Pixels for the names of rows."""


def _colours(field: str, colours: Mapping[str, str]) -> Spec:
    scale = {"domain": list(colours), "range": list(colours.values())}
    return {"field": field, "type": "nominal", "scale": scale, "legend": None}


def _squares(rows: Sequence[Spec], x: Spec, y: Spec, colour: Spec, text: Spec, ink: object = "#555") -> Spec:
    """A rectangle for every pair of ordinal values, with a short text on it."""
    x, y = ({"type": "ordinal", **axis} for axis in (x, y))
    color = ink if isinstance(ink, dict) else {"value": ink}
    rectangles = {"mark": {"type": "rect", "stroke": "#8884"}, "encoding": {"x": x, "y": y, "color": colour}}
    texts = {"mark": {"type": "text", "fontSize": 10}, "encoding": {"x": x, "y": y, "text": text, "color": color}}
    size = {"width": {"step": 34}, "height": {"step": 22}}
    return {"data": {"values": list(rows)}, **size, "layer": [rectangles, texts]}


def _blue(field: str, darkest: Spec, white_above: float) -> tuple[Spec, Spec]:
    """Darker blue for larger numbers, and white ink on what is dark."""
    scale = {**darkest, "range": ["#e8f1f8", "#0072b2"]}
    ink = {"condition": {"test": f"datum.{field} > {white_above:.3f}", "value": "#fff"}, "value": "#000"}
    return {"field": field, "type": "quantitative", "scale": scale, "legend": None}, ink


def plane_chart(points: Sequence[Spec], colours: Mapping[str, str]) -> Spec:
    """The fate of every variance `V` (across) and bound `E` (up), with a letter beside the colour."""
    columns = len({point["V"] for point in points})
    x = {"field": "V", "axis": {"title": "variance V", "labelAngle": 0, "labelOverlap": True, "format": "~r"}}
    y = {"field": "E", "sort": "descending", "axis": {"title": "bound E", "labelAngle": 0}}
    # Columns of at least ten pixels: the letters must stay legible.
    width = {"step": max(10, (STACK_WIDTH - 60) // columns)}
    return _squares(points, x, y, _colours("fate", colours), {"field": "mark"}) | {"width": width}


def band_chart(rows: Sequence[Spec], end: float, colours: Mapping[str, str]) -> Spec:
    """Bars of epsilon from 0 to `end`: each with its `row`, `from`, `to` and `fate`."""
    order = list(dict.fromkeys(row["row"] for row in rows))
    scale = {"domain": [0, end], "nice": False}
    return {
        "data": {"values": list(rows)},
        "width": STACK_WIDTH - LABEL_WIDTH,
        "height": {"step": 30},
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": {
            "y": {"field": "row", "type": "nominal", "scale": {"domain": order}, "axis": {"minExtent": LABEL_WIDTH}},
            "x": {"field": "from", "type": "quantitative", "scale": scale, "axis": {"title": "epsilon per count"}},
            "x2": {"field": "to"},
            "color": _colours("fate", colours),
        },
    }


def distortion_chart(rows: Sequence[Spec]) -> Spec:
    """Counts off by at least a share, by size: bars are expected, ticks were drawn. Logarithmic, without zeros."""
    thresholds = sorted({row["threshold"] for row in rows})
    most = max([1.0, *(max(row["expected"], row["seen"]) for row in rows)])
    # Bars start at one half: a logarithmic axis has no zero.
    scale = {"type": "log", "domain": [0.5, most * 1.3], "nice": False, "clamp": True}
    colour = {
        "field": "threshold",
        "type": "ordinal",
        "scale": {"domain": thresholds, "range": ["#56b4e9", "#e69f00", "#d55e00"][: len(thresholds)]},
        "legend": {"title": "off by", "format": ".0%", "labelFontSize": 12},
    }
    sizes = sorted({row["upto"] for row in rows})
    # Label every n-th class only, or the labels overlap.
    every = sizes[0] * -(-len(sizes) // MOST_LABELS)
    below = {"title": "count up to", "labelAngle": 0, "labelExpr": f"datum.value % {every} ? '' : datum.label"}
    x = {"field": "upto", "type": "ordinal", "scale": {"domain": sizes}, "axis": below}
    tens = [10**power for power in range(12) if 10**power <= most * 1.3]
    axis = {"title": "counts", "grid": True, "values": tens, "format": ",~r"}
    y = {"type": "quantitative", "scale": scale, "axis": axis}
    bars = {
        "mark": {"type": "bar", "opacity": 0.45},
        "encoding": {"x": x, "y": {**y, "field": "expected", "stack": None}, "y2": {"datum": 0.5}, "color": colour},
        "transform": [{"filter": "datum.expected >= 0.5"}],
    }
    ticks = {
        "mark": {"type": "tick", "thickness": 3, "width": {"band": 0.8}},
        "encoding": {"x": x, "y": {**y, "field": "seen"}, "color": colour},
        "transform": [{"filter": "datum.seen >= 1"}],
    }
    return {"data": {"values": list(rows)}, "width": STACK_WIDTH, "height": 220, "layer": [bars, ticks]}


def belief_chart(rows: Sequence[Spec]) -> Spec:
    """A row of squares per `printed` number, darker where a `true` count is more likely."""
    x = {"field": "true", "axis": {"title": "true count", "labelAngle": 0, "orient": "top"}}
    y = {"field": "printed", "axis": {"title": "printed"}}
    colour, ink = _blue("probability", {"domain": [0, 1]}, 0.5)
    return _squares(rows, x, y, colour, {"field": "label"}, ink)


def heat_chart(rows: Sequence[Spec], x_title: str, y_title: str) -> Spec:
    """A square per `x` and `y`, darker for a larger `value`, with its `label`."""
    x = {"field": "x", "axis": {"title": x_title, "labelAngle": 0, "format": "~g"}}
    y = {"field": "y", "sort": "descending", "axis": {"title": y_title, "format": "~g"}}
    middle = sum(row["value"] for row in rows) / max(1, len(rows))
    colour, ink = _blue("value", {}, 1.3 * middle)
    return _squares(rows, x, y, colour, {"field": "label"}, ink)


def curve_chart(rows: Sequence[Spec], x_title: str, y_title: str, log_x: bool = False, log_y: bool = False) -> Spec:
    """A line of `y` by `x` for every `line`."""

    def axis(field: str, title: str, is_log: bool) -> Spec:
        scale = {"type": "log"} if is_log else {"zero": False, "nice": False}
        return {"field": field, "type": "quantitative", "scale": scale, "axis": {"title": title, "format": "~g"}}

    colour = {"field": "line", "type": "nominal", "legend": {"title": None, "orient": "top"}}
    colour["scale"] = {"range": ["#0072b2", "#e69f00", "#d55e00", "#555555"]}
    encoding = {"x": axis("x", x_title, log_x), "y": axis("y", y_title, log_y), "color": colour}
    encoding["strokeDash"] = {"field": "line", "type": "nominal", "legend": None}
    return {
        "data": {"values": list(rows)},
        "width": STACK_WIDTH,
        "height": 240,
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": encoding,
    }


def histogram_chart(rows: Sequence[Spec]) -> Spec:
    """Bars of `count` by `class`, one row of bars per `kind`."""
    return {
        "data": {"values": list(rows)},
        "width": STACK_WIDTH,
        "height": 90,
        "mark": {"type": "bar", "color": "#0072b2"},
        "encoding": {
            "row": {"field": "kind", "type": "nominal", "header": {"title": None, "labelOrient": "top"}},
            "x": {"field": "class", "type": "ordinal", "sort": None, "axis": {"title": "from", "labelAngle": 0}},
            "y": {"field": "count", "type": "quantitative", "axis": {"title": "statistics", "tickMinStep": 1}},
        },
    }

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


def plane_chart(points: Sequence[Spec], colours: Mapping[str, str]) -> Spec:
    """The fate of every variance `V` (across) and bound `E` (up), with a letter beside the colour."""
    columns = len({point["V"] for point in points})
    across = {"title": "variance V", "labelAngle": 0, "labelOverlap": True, "format": "~r"}
    x = {"field": "V", "type": "ordinal", "axis": across}
    y = {"field": "E", "type": "ordinal", "sort": "descending", "axis": {"title": "bound E", "labelAngle": 0}}
    rectangles = {
        "mark": {"type": "rect", "stroke": "#8884"},
        "encoding": {"x": x, "y": y, "color": _colours("fate", colours)},
    }
    letters = {
        "mark": {"type": "text", "fontSize": 9, "fill": "#555"},
        "encoding": {"x": x, "y": y, "text": {"field": "mark"}},
    }
    # Columns of at least ten pixels: the letters must stay legible.
    width = {"step": max(10, (STACK_WIDTH - 60) // columns)}
    return {"data": {"values": list(points)}, "width": width, "height": {"step": 20}, "layer": [rectangles, letters]}


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
    x = {"field": "true", "type": "ordinal", "axis": {"title": "true count", "labelAngle": 0, "orient": "top"}}
    y = {"field": "printed", "type": "ordinal", "axis": {"title": "printed"}}
    scale = {"domain": [0, 1], "range": ["#e8f1f8", "#0072b2"]}
    colour = {"field": "probability", "type": "quantitative", "scale": scale, "legend": None}
    ink = {"condition": {"test": "datum.probability > 0.5", "value": "#fff"}, "value": "#000"}
    squares = {"mark": {"type": "rect", "stroke": "#8884"}, "encoding": {"x": x, "y": y, "color": colour}}
    numbers = {
        "mark": {"type": "text", "fontSize": 10},
        "encoding": {"x": x, "y": y, "text": {"field": "label"}, "color": ink},
    }
    size = {"width": {"step": 34}, "height": {"step": 24}}
    return {"data": {"values": list(rows)}, **size, "layer": [squares, numbers]}


def heat_chart(rows: Sequence[Spec], x_title: str, y_title: str) -> Spec:
    """A square per `x` and `y`, darker for a larger `value`, with its `label`; a `dot` marks what is meant."""
    x = {"field": "x", "type": "ordinal", "axis": {"title": x_title, "labelAngle": 0, "format": "~g"}}
    y = {"field": "y", "type": "ordinal", "sort": "descending", "axis": {"title": y_title, "format": "~g"}}
    colour = {"field": "value", "type": "quantitative", "scale": {"range": ["#e8f1f8", "#0072b2"]}, "legend": None}
    middle = sum(row["value"] for row in rows) / max(1, len(rows))
    ink = {"condition": {"test": f"datum.value > {1.3 * middle:.3f}", "value": "#fff"}, "value": "#000"}
    squares = {"mark": {"type": "rect", "stroke": "#8884"}, "encoding": {"x": x, "y": y, "color": colour}}
    labels = {
        "transform": [{"calculate": "datum.label + (datum.dot ? ' •' : '')", "as": "labels"}],
        "mark": {"type": "text", "fontSize": 10},
        "encoding": {"x": x, "y": y, "text": {"field": "labels"}, "color": ink},
    }
    size = {"width": {"step": 34}, "height": {"step": 22}}
    return {"data": {"values": list(rows)}, **size, "layer": [squares, labels]}


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

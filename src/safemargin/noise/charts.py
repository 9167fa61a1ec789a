"""Pictures about noise: the plane of variance and bound, the band of epsilon, and distortion by size."""

from collections.abc import Sequence

from safemargin.noise.plan import FATES, NoisePlan
from safemargin.ui import STACK_WIDTH, Spec

FATE_COLOURS = {
    "survives": "#0072b2",
    "relaxed": "#f0e442",
    "averaging": "#d9a07a",
    "bound told": "#cfcfcf",
    "too wide": "#b5b0d4",
    "impossible": "transparent",
}
"""From Okabe and Ito's set, paler where nothing survives."""

LETTERS = {"survives": "", "relaxed": "r", "averaging": "a", "bound told": "b", "too wide": "w", "impossible": ""}
"""Beside the colours, for readers and printers without."""

MOST_LABELS = 9
"""Sizes that are written below a picture."""

ROOM = 135
"""For the names of rows."""


def plane_chart(plan: NoisePlan) -> Spec:
    """What becomes of every variance (across) and bound (up)."""
    values = [
        {"V": point.variance, "E": point.bound, "fate": point.fate, "mark": LETTERS[point.fate]}
        for point in plan.points
    ]
    columns = len({value["V"] for value in values})
    x = {
        "field": "V",
        "type": "ordinal",
        "axis": {"title": "variance V", "labelAngle": 0, "labelOverlap": True, "format": "~r"},
    }
    y = {"field": "E", "type": "ordinal", "sort": "descending", "axis": {"title": "bound E", "labelAngle": 0}}
    colour = {
        "field": "fate",
        "type": "nominal",
        "scale": {"domain": list(FATES), "range": [FATE_COLOURS[fate] for fate in FATES]},
        "legend": None,
    }
    size = {"width": {"step": max(10, (STACK_WIDTH - 60) // columns)}, "height": {"step": 20}}
    rectangles = {
        "mark": {"type": "rect", "stroke": "#8884"},
        "encoding": {"x": x, "y": y, "color": colour},
    }
    letters = {
        "mark": {"type": "text", "fontSize": 9, "fill": "#555"},
        "encoding": {"x": x, "y": y, "text": {"field": "mark"}},
    }
    return {"data": {"values": values}, **size, "layer": [rectangles, letters]}


def band_chart(plan: NoisePlan) -> Spec:
    """Epsilons that averaging allows, that small areas need, and that meet both."""
    band = plan.band
    end = 1.25 * max(band.low, band.relaxed)
    rows = [
        {"row": "averaging allows", "from": 0.0, "to": band.high, "fate": "survives"},
        {"row": "averaging allows", "from": band.high, "to": band.relaxed, "fate": "relaxed"},
        {"row": "small areas need", "from": band.low, "to": end, "fate": "survives"},
    ]
    if band.is_open:
        rows.append({"row": "survives", "from": band.low, "to": band.high, "fate": "survives"})
    if max(band.low, band.high) < band.relaxed:
        rows.append({"row": "survives", "from": max(band.low, band.high), "to": band.relaxed, "fate": "relaxed"})
    order = ["averaging allows", "small areas need", "survives"]
    scale = {"domain": [0, end], "nice": False}
    x = {"field": "from", "type": "quantitative", "scale": scale, "axis": {"title": "epsilon per count"}}
    colours = [FATE_COLOURS["survives"], FATE_COLOURS["relaxed"]]
    return {
        "data": {"values": rows},
        "width": STACK_WIDTH - ROOM,
        "height": {"step": 30},
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": {
            "y": {"field": "row", "type": "nominal", "scale": {"domain": order}, "axis": {"minExtent": ROOM}},
            "x": x,
            "x2": {"field": "to"},
            "color": {
                "field": "fate",
                "type": "nominal",
                "scale": {"domain": ["survives", "relaxed"], "range": colours},
                "legend": None,
            },
        },
    }


def distortion_chart(rows: Sequence[Spec]) -> Spec:
    """Counts off by at least a share, by size: bars are expected, ticks were drawn. Logarithmic, zero left out."""
    thresholds = sorted({row["threshold"] for row in rows})
    colours = dict(zip(thresholds, ("#56b4e9", "#e69f00", "#d55e00"), strict=False))
    most = max([1.0, *(max(row["expected"], row["seen"]) for row in rows)])
    scale = {"type": "log", "domain": [0.5, most * 1.3], "nice": False, "clamp": True}
    kind = {
        "field": "threshold",
        "type": "ordinal",
        "scale": {"domain": thresholds, "range": list(colours.values())},
        "legend": {"title": "off by", "format": ".0%", "labelFontSize": 12},
    }
    sizes = sorted({row["upto"] for row in rows})
    every = sizes[0] * -(-len(sizes) // MOST_LABELS)
    label = f"datum.value % {every} ? '' : datum.label"
    below = {"title": "count up to", "labelAngle": 0, "labelExpr": label}
    x = {"field": "upto", "type": "ordinal", "scale": {"domain": sizes}, "axis": below}
    tens = [10**power for power in range(12) if 10**power <= most * 1.3]
    axis = {"title": "counts", "grid": True, "values": tens, "format": ",~r"}
    y = {"type": "quantitative", "scale": scale, "axis": axis}
    bars = {
        "mark": {"type": "bar", "opacity": 0.45},
        "encoding": {"x": x, "y": {**y, "field": "expected", "stack": None}, "y2": {"datum": 0.5}, "color": kind},
        "transform": [{"filter": "datum.expected >= 0.5"}],
    }
    ticks = {
        "mark": {"type": "tick", "thickness": 3, "width": {"band": 0.8}},
        "encoding": {"x": x, "y": {**y, "field": "seen"}, "color": kind},
        "transform": [{"filter": "datum.seen >= 1"}],
    }
    return {"data": {"values": list(rows)}, "width": STACK_WIDTH, "height": 220, "layer": [bars, ticks]}

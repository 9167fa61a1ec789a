"""Charts about a comparison."""

from collections.abc import Sequence

from safemargin.release.compare.comparison import Comparison
from safemargin.ui import FAMILY_COLOURS, FAMILY_SHAPES, TEXT_MARK, WIDTH, Spec


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
    words = {"mark": {**TEXT_MARK, "dx": 9, "dy": -9}, "encoding": {"x": x, "y": y, "text": {"field": "words"}}}
    return {"data": {"values": values}, "width": WIDTH - 260, "height": 300, "layer": [points, words]}


def _symlog(title: str, least: float, values: Sequence[float]) -> Spec:
    """A scale that starts with zero and then goes up by tens from `least`."""
    marks = [0.0, least]
    while marks[-1] < max(values, default=0.0):
        marks.append(marks[-1] * 10)
    axis = {"values": marks, "title": title, "grid": True, "format": ",~r"}
    scale = {"type": "symlog", "constant": least, "domain": [0, marks[-1]], "nice": False}
    return {"type": "quantitative", "scale": scale, "axis": axis}

"""Delta against epsilon as a chart, and what every page about an outcome says."""

from collections.abc import Sequence
from math import floor, log10

from safemargin.ui import STACK_WIDTH, TEXT_MARK, Spec

SMALLEST_DRAWN = 1e-12
"""Deltas below this are not drawn."""
LABELS_APART = 0.14
"""Of the width: points that are closer share a label."""
CAPTION = "Every marked pair of epsilon and delta holds; the smaller both are, the less one vote shows"
ALIKE = (
    "People vote alike: a vote is also a hint at how others voted, and delta counts that in. An onlooker who knows "
    "some of the votes can infer more."
)
ASSUMPTIONS = (
    "Votes are drawn independently: an onlooker who knows that people vote alike, or who knows some of the votes, can "
    "infer more.",
    "Delta is the largest gap that one vote makes in the chance of anything published, not the chance of a breach.",
    "A vote may still be guessed: a belief that was right before is as right after.",
)


def three_digits(value: float) -> str:
    """A probability with three digits.

    >>> three_digits(0.122463), three_digits(2.5e-9), three_digits(0)
    ('0.122', '2.5e-09', '0')
    """
    return f"{value:.3g}"


def curve_chart(curve: Sequence[tuple[float, float]]) -> Spec:
    """Delta against epsilon, up to where it is negligible; on a logarithmic scale if it falls far."""
    kept = [(epsilon, delta) for epsilon, delta in curve if delta > SMALLEST_DRAWN]
    ended = [point for point in curve if point[1] <= SMALLEST_DRAWN][:1]
    falls_far = len(kept) > 1 and kept[-1][1] < kept[0][1] / 100
    if not falls_far:
        kept += [(epsilon, 0.0) for epsilon, _ in ended]
    span = max(max((epsilon for epsilon, _ in kept), default=1.0), 1e-12)
    values: list[Spec] = []
    labelled = -span
    for epsilon, delta in kept:
        apart = epsilon - labelled >= LABELS_APART * span
        labelled = epsilon if apart else labelled
        values.append({"epsilon": epsilon, "delta": delta, "words": three_digits(delta) if apart else ""})
    x = {"field": "epsilon", "type": "quantitative", "axis": {"title": "epsilon", "grid": True, "tickCount": 5}}
    axis: Spec = {"title": "delta", "grid": True, "tickCount": 5}
    scale: Spec = {"nice": True, "zero": True}
    if falls_far:
        scale = {"type": "log", "domain": [10.0 ** floor(log10(kept[-1][1])), 1], "nice": False}
        axis["format"] = "~e"
    y = {"field": "delta", "type": "quantitative", "scale": scale, "axis": axis}
    return {
        "data": {"values": values},
        "width": STACK_WIDTH - 120,
        "height": 220,
        "layer": [
            {"mark": {"type": "line", "color": "#0072b2"}, "encoding": {"x": x, "y": y}},
            {"mark": {"type": "point", "filled": True, "size": 50, "color": "#0072b2"}, "encoding": {"x": x, "y": y}},
            {"mark": {**TEXT_MARK, "dy": -8}, "encoding": {"x": x, "y": y, "text": {"field": "words"}}},
        ],
    }

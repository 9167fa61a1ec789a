"""What a page for readers shows first: the result as one bar, what was kept, and how groups differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt

WIDEST_DOT, SMALLEST_DOT = 14.0, 2.5
"""Radius in pixels."""
LANES = 6
"""How many dots may stand above or below the line before they overlap."""
PLOT_WIDTH = 700.0
"""Pixels that dots are placed for; on a narrower screen they may overlap."""


@dataclass(frozen=True)
class ResultBar:
    """The count of every option over everybody, the largest first."""

    counts: Mapping[str, int] = field(hash=False)
    people: int

    @property
    def caption(self) -> str:
        """The shares in words."""
        return "; ".join(f"{name} {count / max(self.people, 1):.1%}" for name, count in self.counts.items())


@dataclass(frozen=True)
class Coverage:
    """One square per category, by how it is published; those of one group belong together."""

    groups: Sequence[tuple[str, int]]
    """Status, and how many categories the group has."""
    words: str


@dataclass(frozen=True)
class Dot:
    """One group: its share of an option, its people, and how it is published."""

    name: str
    rate: float
    people: int
    status: str


@dataclass(frozen=True)
class Strip:
    """One option: the groups along a scale of shares, and the share of everybody."""

    option: str
    dots: Sequence[Dot]
    overall: float

    def scale(self) -> tuple[float, float, list[float]]:
        """Where the scale begins and ends, and its ticks: steps of 1, 2, 5, 10 or 20 percent."""
        rates = [*(dot.rate for dot in self.dots), self.overall]
        low, high = min(rates), max(rates)
        step = next((step for step in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2) if high - low <= 7 * step), 0.2)
        first, last = int(low / step + 1e-9), -int(-(high / step) // 1)
        last = max(last, first + 1)
        return first * step, last * step, [place * step for place in range(first, last + 1)]

    def placed(self) -> list[tuple[Dot, float, float, float]]:
        """Every dot, large ones first: its place in percent, its distance from the line and its radius in pixels."""
        low, high, _ = self.scale()
        largest = max((dot.people for dot in self.dots), default=1)
        found: list[tuple[Dot, float, float, float]] = []
        # By stretches of the line as wide as two dots: whatever is not in this one or next to it is too far away.
        taken: dict[int, list[tuple[float, float, float]]] = {}
        for dot in sorted(self.dots, key=lambda dot: -dot.people):
            radius = max(WIDEST_DOT * sqrt(max(dot.people, 0) / max(largest, 1)), SMALLEST_DOT)
            at = (dot.rate - low) / (high - low)
            x = at * PLOT_WIDTH
            lanes = [0.0, *(sign * (lane + 1) * 7.0 for lane in range(LANES) for sign in (-1, 1))]
            place = int(x // (2 * WIDEST_DOT + 2 * SMALLEST_DOT))
            around = (each for next_to in (place - 1, place, place + 1) for each in taken.get(next_to, ()))
            near = [each for each in around if abs(each[0] - x) < each[2] + radius]
            y = next(
                (y for y in lanes if all((x - u) ** 2 + (y - v) ** 2 >= (radius + r) ** 2 for u, v, r in near)),
                0.0,
            )
            taken.setdefault(place, []).append((x, y, radius))
            found.append((dot, 100 * at, y, radius))
        return found


@dataclass(frozen=True)
class DotPlot:
    """How groups differ: one strip per option."""

    caption: str
    strips: Sequence[Strip]
    kinds: Sequence[str]


@dataclass(frozen=True)
class Protection:
    """How people were protected: sentences, beside a diagram of what is done."""

    kinds: Sequence[str]
    sentences: Sequence[str]


class SelfCheck:
    """A form in which the page checks the files that lie beside it."""


@dataclass(frozen=True)
class Downloads:
    """Files that lie beside the page."""

    files: Sequence[tuple[str, str]]
    """Text and name."""
    words: str = ""

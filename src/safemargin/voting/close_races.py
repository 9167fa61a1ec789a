"""Delta of scoring rules with three candidates at any number of voters, from the lines on which races are close.

Objects. Points of three candidates live on a grid of two dimensions. One vote instead of another makes r win instead of
s only if the lead of r over s is one of a few numbers c. Each c is a *line* on the grid. Along it, on the side where
the third candidate t falls behind, whether the winner changes depends on c alone from some point on.

So the chance of all such points is that of a few single points, around the place where all three tie, and of
half-lines. Both are sums over about 4,000 frequencies (`frequencies.py`), a half-line as a geometric series in each.

Invariants. Every point where the winner may change lies on exactly one line for (r, s). The remainder is proved: the
window, the dropped frequencies and rounding, together below 1e-11, whatever the number of voters. It is absolute, so
that this is for races that are close: with delta below 1e-5 other engines answer.

`race_planes.py` does the same in three dimensions, where lines become planes and half-lines become boxes.
"""

from dataclasses import dataclass
from itertools import permutations
from math import gcd

import numpy as np

from safemargin.core import FloatArray, IntArray, Progress
from safemargin.voting.chances import OutcomeDistribution
from safemargin.voting.election import VoterTypes
from safemargin.voting.frequencies import Spectrum, spectrum
from safemargin.voting.grid import VoteGrid, results_on
from safemargin.voting.scoring import Committee, Positional

MAX_VOTERS = 10**12
"""Products of two sides of a window fit into 64 bits."""


def applies(kinds: VoterTypes, grid: VoteGrid) -> bool:
    """One winner among three by points, two of whose differences are independent."""
    rule = kinds.rule
    is_scoring = isinstance(rule, Positional) and not isinstance(rule, Committee)
    return is_scoring and rule.candidates == 3 and grid.dimensions == 2 and 1 <= kinds.others <= MAX_VOTERS


@dataclass(frozen=True, eq=False)
class _Line:
    """Points `start + k step` on which r leads s by the same number of points; the third falls behind as k grows."""

    start: IntArray
    step: IntArray
    length: int
    """Single points that are looked at; from there on nothing changes."""


def _bezout(a: int, b: int) -> tuple[int, int]:
    """x and y with `a x + b y = gcd(a, b)`.

    >>> _bezout(6, 4), _bezout(0, -5)
    ((1, -1), (0, -1))
    """
    x, y, next_x, next_y = 1, 0, 0, 1
    while b:
        whole = a // b
        a, b = b, a - whole * b
        x, next_x = next_x, x - whole * next_x
        y, next_y = next_y, y - whole * next_y
    return (x, y) if a >= 0 else (-x, -y)


def _lines(kinds: VoterTypes, grid: VoteGrid, r: int, s: int, t: int) -> list[_Line]:
    """All lines on which a vote can make r win instead of s."""
    own = kinds.adds * grid.scale
    constant = kinds.others * grid.base + kinds.offset * grid.scale
    lead, third = grid.back[:, r] - grid.back[:, s], grid.back[:, r] - grid.back[:, t]
    at_first, at_third = int(constant[r] - constant[s]), int(constant[r] - constant[t])
    common = gcd(int(lead[0]), int(lead[1]))
    step = np.array([-lead[1], lead[0]], dtype=np.int64) // common
    step = step if int(third @ step) > 0 else -step
    change = own[:, r] - own[:, s]
    most = int(np.abs(own[:, :, None] - own[:, None, :]).max())
    found = []
    for margin in range(-int(change.max()), -int(change.min()) + 1):
        if (margin - at_first) % common:
            continue
        x, y = _bezout(int(lead[0]), int(lead[1]))
        factor = (margin - at_first) // common
        point = [x * factor, y * factor]  # of any size, so in Python's integers
        rise = int(third @ step)
        level = int(third[0]) * point[0] + int(third[1]) * point[1] + at_third
        behind = -(level // rise) - 2 * most // rise - 3
        start = np.array([value + behind * int(by) for value, by in zip(point, step, strict=True)], dtype=np.int64)
        found.append(_Line(start, step, 4 * most // rise + 8))
    return found


def _inside(law: Spectrum, line: _Line) -> tuple[int, int]:
    """From which k on, and below which, points of a line lie in the window."""
    first, last = -(10**18), 10**18
    for start, by, low, size in zip(line.start, line.step, law.low, law.size, strict=True):
        if by == 0:
            if not low <= start < low + size:
                return 0, 0
            continue
        ends = sorted((int(low - start) / int(by), int(low + size - 1 - start) / int(by)))
        first, last = max(first, int(np.ceil(ends[0] - 1e-9))), min(last, int(np.floor(ends[1] + 1e-9)))
    return first, last + 1


def count_close_races(kinds: VoterTypes, grid: VoteGrid, progress: Progress) -> OutcomeDistribution:
    """Differences of chances between any two votes. Chances themselves are not computed: for epsilon 0 only."""
    law = spectrum(kinds.weights, grid.steps, kinds.others)
    votes = len(kinds)
    gaps: FloatArray = np.zeros((votes, votes, 3))
    slack = 0.0
    for done, (r, s, t) in enumerate(permutations(range(3))):
        progress("adding close races", done, 6)
        instead = np.zeros((votes, votes))  # r with the first vote, s with the second
        for line in _lines(kinds, grid, r, s, t):
            first, below = _inside(law, line)
            chances = [
                law.along(line.start + k * line.step, line.step, 1) if first <= k < below else 0.0
                for k in range(line.length)
            ]
            tail = max(line.length - 1, first)
            chances[-1] = law.along(line.start + tail * line.step, line.step, below - tail)
            points = line.start + np.arange(line.length)[:, None] * line.step
            winners = results_on(kinds, grid, points)
            with_r, with_s = (winners == r) * np.array(chances), (winners == s).astype(np.float64)
            instead += with_r @ with_s.T
            slack += line.length * law.slack(1) + law.slack(max(below - tail, 0))
        gaps[:, :, r] += instead
        gaps[:, :, s] -= instead
    # gaps[x, y, r] has x for r and y for another; what is lost to another is the same with x and y exchanged.
    return OutcomeDistribution(np.full((votes, 3), np.nan), gaps, 0.0, 2 * slack)

"""A proved interval for delta, of rules whose sums live on a grid of three dimensions, at any number of voters.

Objects. The sums of the others' votes are a point p of the grid Z^3. A rule sees only in which order the sums are, so
one vote instead of another can change the result only where two sums are nearly equal: on a few *planes* `a.p = v`,
those with `lo <= v <= hi` for the primitive normal `a` of two sums. All of delta is the chance of such points, each
with the results that the votes lead to there, its *pattern*.

Method. In a basis of the grid in which `a` is an axis, the law of a plane is a Fourier sum over about 4,000 pairs of
frequencies (`frequencies.py`), and the chance of a box of a plane is a product of two geometric series in each of them:
exact up to rounding, however many points the box has. A box that no other plane cuts has one pattern. A box that one
plane cuts is shared out by how many of its points have which value there; all points of a box have nearly the same
chance, up to

    (length - 1) * sum over frequencies of |F| |exp(i theta) - 1|    per side,

so that this is off by at most the number of points times it. Any other box is halved, until it is too unlikely to
matter. What such boxes hold, what sharing out may be off by, dropped frequencies and rounding add up to the `slack`.

Invariant: delta lies within `slack` of the value, for whatever the pair of votes. A point on several planes is counted
on the first.

Example: maximin with three candidates and a million voters, where counting all sums would take 6e18 steps and drawing
leaves 5 %: the interval is 0.1 % wide after seconds.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from safemargin.core import BoolArray, FloatArray, IntArray, Progress
from safemargin.voting.chances import OutcomeDistribution, from_patterns, gather
from safemargin.voting.election import VoterTypes
from safemargin.voting.frequencies import Spectrum, spectrum
from safemargin.voting.grid import VoteGrid, results_on

ComplexArray = NDArray[np.complex128]

DIMENSIONS = 3
MAX_VOTES = 24
"""Kinds of votes: all rankings of four candidates."""
MAX_COLUMNS = 12
"""Sums of the rule, every pair of which is compared."""
MIN_OTHERS = 150
"""With fewer voters nearly all frequencies matter, and there are many; engines that are exact reach as far."""
MAX_WINDOW = 2.0**61
"""Cells of the window, which integers of 64 bits must hold."""
SHORT = 2
"""Entries of a basis of the grid."""
OUTSIDE, DROPPED = 1e-14, 1e-19
"""Of windows and frequencies: in three dimensions fewer digits are worth the time, a sixth of that of `frequencies.py`.
The interval pays for it."""
NEW_ROW = 30.0
"""How much wider votes may spread in a basis that serves one more tie."""
SMALL = 3e-8
"""Of the chance of a plane: what one box may leave open."""
MAX_BOXES = 60_000
"""Of one plane, at once; beyond, they count as open."""
ROUNDING = 1e-13
"""Of a geometric series and its product, relative to the sum of the moduli."""


@dataclass(frozen=True, eq=False)
class Tie:
    """All planes `normal.p = value` with `low <= value <= high`: here a vote may put one sum before another."""

    normal: IntArray
    low: int
    high: int


@dataclass(frozen=True, eq=False)
class PlaneLaw:
    """The law of the points of one plane, in a basis of it: moduli and angles by pairs of frequencies.

    `transform[f, g]` belongs to frequencies `sides[0][f]` and `sides[1][g]`, of a window from `low`, of `size`.
    """

    transform: ComplexArray
    sides: tuple[IntArray, IntArray]
    low: IntArray
    size: IntArray

    def chances(self, boxes: IntArray) -> FloatArray:
        """Of boxes: rows of first, last, first, last, both ends included."""
        parts = [self._series(side, boxes[:, 2 * side], boxes[:, 2 * side + 1]) for side in range(2)]
        return np.asarray(np.maximum(((parts[0] @ self.transform) * parts[1]).sum(axis=1).real, 0.0))

    def _series(self, side: int, first: IntArray, last: IntArray) -> ComplexArray:
        """The sum of `exp(-i theta x)` from first to last, as sine over sine; turns are taken off in integers."""
        frequency, length, start = self.sides[side], int(self.size[side]), int(self.low[side])
        count = last - first + 1
        angle = np.pi / length * ((frequency * (first + last - 2 * start)[:, None]) % (2 * length))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.sin(np.pi / length * ((frequency * count[:, None]) % (2 * length)))
            ratio = np.where(frequency == 0, count[:, None], ratio / np.sin(np.pi / length * frequency))
        return np.asarray(ratio * np.exp(-1j * angle))

    def steepness(self) -> FloatArray:
        """By how much the chances of two neighbours on each side can differ."""
        moduli = np.abs(self.transform)
        turns = [2 * np.abs(np.sin(np.pi / n * f)) for f, n in zip(self.sides, self.size.tolist(), strict=True)]
        return np.array([float(turns[0] @ moduli.sum(axis=1)), float(moduli.sum(axis=0) @ turns[1])])


def applies(kinds: VoterTypes, grid: VoteGrid) -> bool:
    """Three dimensions, few votes, every comparison of two sums changes from point to point, and short bases."""
    if grid.dimensions != DIMENSIONS or kinds.rule.needs_counts or kinds.others < MIN_OTHERS:
        return False
    if len(kinds) > MAX_VOTES or kinds.adds.shape[1] > MAX_COLUMNS:
        return False
    found = ties(kinds, grid)
    return found is not None and bases_of(found, grid.steps) is not None


def fits(kinds: VoterTypes, grid: VoteGrid) -> bool:
    """Whether windows in every basis fit into integers."""
    for basis, _ in bases_of(ties(kinds, grid) or [], grid.steps) or ():
        steps = grid.steps @ basis.T
        spread = kinds.others * (kinds.weights @ (steps - kinds.weights @ steps) ** 2)
        if float(np.prod(2 * np.sqrt(92 * spread) + 62 * (steps.max(axis=0) - steps.min(axis=0)) + 4)) > MAX_WINDOW:
            return False
    return True


def ties(kinds: VoterTypes, grid: VoteGrid) -> list[Tie] | None:
    """The planes on which a vote may matter, parallel ones together; none if a vote alone puts two sums in order.

    Two sums differ by a linear function of the point, so each pair of sums gives the planes on which some vote may turn
    the sign of the difference: a primitive normal, and the range of its values.
    """
    own = kinds.adds * grid.scale
    constant = kinds.others * grid.base + kinds.offset * grid.scale
    found: dict[tuple[int, ...], tuple[int, int]] = {}
    columns = own.shape[1]
    for k in range(columns):
        for m in range(k):
            normal = grid.back[:, k] - grid.back[:, m]
            change = own[:, k] - own[:, m]
            always = int(constant[k] - constant[m])
            if not normal.any():
                if len(set(np.sign(always + change).tolist())) > 1:
                    return None
                continue
            common = int(np.gcd.reduce(normal))
            common = common if normal[np.flatnonzero(normal)[0]] > 0 else -common
            # the sums differ by common * v + always, and this plus the change of some vote may be 0
            ends = [(-int(most) - always) / common for most in (change.max(), change.min())]
            low, high = int(np.ceil(min(ends))), int(np.floor(max(ends)))
            key = tuple((normal // common).tolist())
            before = found.get(key, (low, high))
            found[key] = min(low, before[0]), max(high, before[1])
    return [Tie(np.array(key, dtype=np.int64), low, high) for key, (low, high) in found.items() if low <= high]


def bases_of(found: list[Tie], steps: IntArray) -> list[tuple[IntArray, int]] | None:
    """For every tie a basis of the dual grid (rows) that has its normal as a row, and which row; one serves several.

    Of bases with further rows of entries up to `SHORT`, the one in which votes spread least, where a row that is no
    remaining tie's normal counts as `NEW_ROW` times wider. None if a normal has no such basis: then `applies` is false,
    and nothing else may be called.
    """
    bases: list[IntArray] = []
    chosen = []
    for number, tie in enumerate(found):
        if not any((basis == tie.normal).all(axis=1).any() for basis in bases):
            basis = _basis_with(tie.normal, steps, np.array([other.normal for other in found[number:]]))
            if basis is None:
                return None
            bases.append(basis)
        basis = next(basis for basis in bases if (basis == tie.normal).all(axis=1).any())
        chosen.append((basis, int(np.flatnonzero((basis == tie.normal).all(axis=1))[0])))
    return chosen


def _basis_with(normal: IntArray, steps: IntArray, wanted: IntArray) -> IntArray | None:
    """A basis with this row, and others of short rows; `wanted` ones rather than others."""
    rows = np.array(list(product(range(-SHORT, SHORT + 1), repeat=DIMENSIONS)), dtype=np.int64)
    is_new = (rows[:, None, :] == wanted[None]).all(axis=2).any(axis=1)
    spread = (steps @ rows.T).std(axis=0) * np.where(is_new, 1.0, NEW_ROW)
    first, second = np.nonzero(np.abs(np.cross(normal, rows) @ rows.T) == 1)
    if not len(first):
        return None
    best = int(np.argmin(spread[first] * spread[second]))
    return np.stack([normal, rows[first[best]], rows[second[best]]])


def count_race_planes(kinds: VoterTypes, grid: VoteGrid, progress: Progress) -> OutcomeDistribution:
    """Differences of chances between any two votes, and how far they may be off: for epsilon 0 only."""
    found = ties(kinds, grid) or []
    patterns: dict[bytes, float] = {}
    laws: dict[bytes, Spectrum] = {}
    slack = 0.0
    for number, (basis, row) in enumerate(bases_of(found, grid.steps) or ()):
        progress("adding race planes", number, len(found))
        law = laws.get(basis.tobytes())
        if law is None:
            law = spectrum(kinds.weights, grid.steps @ basis.T, kinds.others, OUTSIDE, DROPPED)
            laws[basis.tobytes()] = law
        order = [row, *(other for other in range(DIMENSIONS) if other != row)]
        back = np.rint(np.linalg.inv(basis[order])).astype(np.int64)
        normals = np.array([tie.normal @ back for tie in found])
        low, size = law.low[order], law.size[order]
        slack += 4 * OUTSIDE * DIMENSIONS
        for value in range(max(found[number].low, int(low[0])), min(found[number].high, int(low[0] + size[0]) - 1) + 1):
            plane = _Plane(kinds, grid, found, number, value, normals, back, plane_law(law, order, value))
            slack += plane.add_to(patterns)
            lost = law.dropped + (law.rounding + ROUNDING) * float(law.values.sum())
            slack += lost / float(size[0])  # of all points of the plane together
    chances = from_patterns(patterns, kinds.rule.outcomes, 0.0, slack) if patterns else None
    votes = len(kinds)
    gaps = np.zeros((votes, votes, kinds.rule.outcomes)) if chances is None else chances.gaps
    return OutcomeDistribution(np.full((votes, kinds.rule.outcomes), np.nan), gaps, 0.0, slack)


def plane_law(law: Spectrum, order: list[int], value: int) -> PlaneLaw:
    """The points with this value of the first coordinate, in this order: sums over its frequencies leave two."""
    size, low = law.size[order], law.low[order]
    signed = np.where(2 * law.frequencies > law.size, law.frequencies - law.size, law.frequencies)[:, order]
    turns = (signed[:, 0] * (value - int(low[0]))) % int(size[0]) / int(size[0])
    parts = law.values * np.exp(1j * (law.angles - 2 * np.pi * turns)) / np.prod(size.astype(np.float64))
    (first, row), (second, column) = (np.unique(signed[:, axis], return_inverse=True) for axis in (1, 2))
    cells, shape = row.ravel() * len(second) + column.ravel(), (len(first), len(second))
    transform = np.bincount(cells, parts.real, shape[0] * shape[1]).astype(np.complex128)
    transform.imag = np.bincount(cells, parts.imag, shape[0] * shape[1])
    return PlaneLaw(transform.reshape(shape), (first, second), low[1:], size[1:])


@dataclass(frozen=True, eq=False)
class _Plane:
    """One plane of a tie, with all ties in its basis: `normals[t]` are the coefficients of tie t."""

    kinds: VoterTypes
    grid: VoteGrid
    ties: list[Tie]
    number: int
    value: int
    normals: IntArray
    back: IntArray
    law: PlaneLaw

    def add_to(self, patterns: dict[bytes, float]) -> float:
        """Add the chances of all patterns of the plane; returns how much may be missing or wrong."""
        low, last = self.law.low, self.law.low + self.law.size - 1
        boxes = np.array([[low[0], last[0], low[1], last[1]]], dtype=np.int64)
        open_mass = SMALL * float(self.law.chances(boxes)[0])
        steepness = self.law.steepness()
        slack = 0.0
        while len(boxes):
            least, most = self._classes(boxes)
            cut = least != most
            whole = ~cut.any(axis=1)
            self._add_whole(patterns, boxes[whole], least[whole])
            boxes, cut = boxes[~whole], cut[~whole]
            chance = self.law.chances(boxes)
            # neither side of a box is so long that chances differ much: share it out by counting its points
            sides = np.stack([boxes[:, 1] - boxes[:, 0], boxes[:, 3] - boxes[:, 2]], axis=1)
            off = np.prod(sides + 1.0, axis=1) * (sides @ steepness)
            one = cut.sum(axis=1) == 1
            tie = np.argmax(cut, axis=1)
            slanted = (self.normals[tie, 1] != 0) & (self.normals[tie, 2] != 0)
            shared = one & slanted & (off <= open_mass)
            slack += float(off[shared & self._share(patterns, boxes, tie, chance, shared)].sum())
            gone = ~shared & (chance <= open_mass)
            left = ~shared & ~gone
            if left.sum() > MAX_BOXES:
                gone, left = gone | left, np.zeros_like(left)
            slack += float(chance[gone].sum())
            boxes = _split(boxes[left], (cut[left, :, None] * np.abs(self.normals[:, 1:])).max(axis=1))
        return slack

    def _classes(self, boxes: IntArray) -> tuple[IntArray, IntArray]:
        """For each box and tie the least and the greatest value, cut off beyond those that matter.

        A linear function on a box is least and greatest at corners, which the signs of its coefficients choose.
        """
        along = self.normals[:, 1:].T
        fixed = self.normals[:, 0] * self.value
        first, last = boxes[:, [0, 2]], boxes[:, [1, 3]]
        least = first @ np.maximum(along, 0) + last @ np.minimum(along, 0) + fixed
        most = last @ np.maximum(along, 0) + first @ np.minimum(along, 0) + fixed
        below = np.array([tie.low - 1 for tie in self.ties])
        above = np.array([tie.high + 1 for tie in self.ties])
        return np.clip(least, below, above), np.clip(most, below, above)

    def _is_counted(self, classes: IntArray) -> BoolArray:
        """Rows of values that lie on no earlier plane: these were counted there."""
        counted = np.ones(len(classes), dtype=bool)
        for number, tie in enumerate(self.ties[: self.number]):
            counted &= (classes[:, number] < tie.low) | (classes[:, number] > tie.high)
        return counted

    def _results(self, points: IntArray) -> IntArray:
        """The result at points of the plane, a row for each vote."""
        full = np.column_stack([np.full(len(points), self.value), points])
        return results_on(self.kinds, self.grid, full @ self.back.T)

    def _add_whole(self, patterns: dict[bytes, float], boxes: IntArray, classes: IntArray) -> None:
        """Boxes that no tie cuts."""
        boxes = boxes[self._is_counted(classes)]
        if not len(boxes):
            return
        results = self._results(boxes[:, [0, 2]])
        pivotal = (results != results[0]).any(axis=0)
        if pivotal.any():
            chance = self.law.chances(boxes[pivotal])
            gather(patterns, results[:, pivotal], chance, self.kinds.rule.outcomes)

    def _share(
        self, patterns: dict[bytes, float], boxes: IntArray, tie: IntArray, chance: FloatArray, shared: BoolArray
    ) -> BoolArray:
        """Share boxes that one tie cuts out by their points. Returns those in which the tie makes a difference."""
        matters = np.zeros(len(boxes), dtype=bool)
        for number in np.unique(tie[shared]).tolist():
            rows = np.flatnonzero(shared & (tie == number))
            matters[rows] = self._share_along(patterns, boxes[rows], number, chance[rows])
        return matters

    def _share_along(self, patterns: dict[bytes, float], boxes: IntArray, number: int, chance: FloatArray) -> BoolArray:
        """The same for boxes that are cut by one tie: a class for every value that matters, and two beyond."""
        values = np.arange(self.ties[number].low - 1, self.ties[number].high + 2)
        points, counts = self._points_by_value(boxes, number, values)
        flat = points.reshape(-1, 2)
        held = np.flatnonzero(counts.ravel() > 0)
        at_points = np.column_stack([flat[held, 0], flat[held, 0], flat[held, 1], flat[held, 1]])
        counted = self._is_counted(self._classes(at_points)[0])
        results = self._results(flat[held])
        results[:, ~counted] = 0  # as good as no point at all
        shares = (counts / counts.sum(axis=1, keepdims=True) * chance[:, None]).ravel()[held]
        pivotal = (results != results[0]).any(axis=0)
        if pivotal.any():
            gather(patterns, results[:, pivotal], shares[pivotal], self.kinds.rule.outcomes)
        matters = np.zeros(len(boxes), dtype=bool)
        matters[held[pivotal] // len(values)] = True
        return matters

    def _points_by_value(self, boxes: IntArray, number: int, values: IntArray) -> tuple[IntArray, IntArray]:
        """By box and value of a tie (the first and the last: that or beyond): a point, and how many there are."""
        fixed, along, across = (int(part) for part in self.normals[number])
        lengths = boxes[:, 1] - boxes[:, 0] + 1
        box = np.repeat(np.arange(len(boxes)), lengths)
        x = np.arange(len(box)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + boxes[box, 0]
        first, last = boxes[box, 2], boxes[box, 3]
        # from which y on (if the tie falls with y: below which) the value is at least v
        ends = values[None, 1:] - (fixed * self.value + along * x)[:, None]
        if across > 0:
            turn = np.clip(-(-ends // across), first[:, None], last[:, None] + 1)
            edges = np.column_stack([first, turn, last + 1])
        else:
            turn = np.clip(ends // across + 1, first[:, None], last[:, None] + 1)
            edges = np.column_stack([last + 1, turn, first])
        counts = np.abs(np.diff(edges, axis=1))
        y = np.minimum(edges[:, :-1], edges[:, 1:])
        total = np.zeros((len(boxes), len(values)), dtype=np.int64)
        np.add.at(total, box, counts)
        points = np.zeros((len(boxes), len(values), 2), dtype=np.int64)
        for place in range(len(values)):
            rows = np.flatnonzero(counts[:, place] > 0)
            points[box[rows], place] = np.stack([x[rows], y[rows, place]], axis=1)
        return points, total


def _split(boxes: IntArray, weights: IntArray) -> IntArray:
    """Every box cut in two, across the side along which the ties that cut it change more."""
    if not len(boxes):
        return boxes
    lengths = np.stack([boxes[:, 1] - boxes[:, 0], boxes[:, 3] - boxes[:, 2]], axis=1)
    side = np.argmax(lengths * np.maximum(weights, 0), axis=1)
    rows = np.arange(len(boxes))
    middle = (boxes[rows, 2 * side] + boxes[rows, 2 * side + 1]) // 2
    left, right = boxes.copy(), boxes.copy()
    left[rows, 2 * side + 1] = middle
    right[rows, 2 * side] = middle + 1
    return np.concatenate([left, right])

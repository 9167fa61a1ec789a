"""Random tables of a fiber: a chain that picks a move at random and a length along it with the exact conditional law.

Objects
    move        integer steps of the open counts that keep every equation; what follows from them moves along
    line        all tables that lie along a move from the present one, as far as counts stay between 0 and their room
    law         `uniform`, or `hypergeometric`: proportional to the product of 1 / x!, as if votes were dealt to people

Statement
    The choice of the move does not depend on the table, and along a line the next table is drawn from the law given the
    line (Gibbs sampling). So the law of all tables is left as it is: for tables x and y on one line both directions
    have the same probability flow. The chain reaches every table, since every integer combination of a basis of the
    kernel has a positive probability (Diaconis and Sturmfels 1998), with coefficients without a bound.

    Where the equations have more than `EFFORT.kernel_entries` entries there are exchanges of four counts only, and this
    may fail; so a sample of a very large system may miss tables. It is used for pictures and estimates, never to decide
    whether a cell is safe.

What callers may rely on
    * Every table that `chain` yields satisfies every fact, as moves keep equations and lines keep boxes.
    * Convergence is not proved. `possible.draw` drops a tenth of the draws and prints standard errors by batch means.
    * `reach` gives a number of tables that surely exist: moves without a common count combine freely.

Example
    On the square with margins of 2 the corner is uniform on 0, 1 and 2:

    >>> from safemargin.bounds.build import build_system
    >>> from safemargin.core import Axis, Onlooker, Schema, Table, Tally, exact_margins, frozen, numpy_generator
    >>> names, codes = ("row", "column"), frozen([[0, 0], [0, 1], [1, 0], [1, 1]], 2)
    >>> axes = Axis("row", ("a", "b")), Axis("column", ("c", "d"))
    >>> square = Table(Schema(axes, ("yes", "no")), (Tally(names, codes, frozen([[1, 0]] * 4, 2)),), ())
    >>> system = build_system(exact_margins(square), Onlooker())
    >>> walk = chain(system, np.array([1, 0] * 4), numpy_generator(1))
    >>> sorted({int(next(walk)[0]) for _ in range(50)})
    [0, 1, 2]
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from math import exp, gcd, lgamma

import numpy as np
from scipy import sparse

from safemargin.bounds.effort import EFFORT
from safemargin.bounds.fiber_equations import Echelon, Equations, eliminate
from safemargin.bounds.propagate import standard_form
from safemargin.bounds.system import System
from safemargin.core import UNBOUNDED, Generator, InputError, IntArray

LAWS = ("uniform", "hypergeometric")


Move = list[tuple[int, int]]
"""Places and steps."""


def chain(
    system: System, start: IntArray, generator: Generator, law: str = "uniform", between: int | None = None
) -> Iterator[IntArray]:
    """Tables without end, `between` moves apart, the first of them so many moves from `start`.

    `uniform`: every table alike. `hypergeometric`: a table as often as there are ways to give the votes to people, the
    product of `1 / x!`, with known people per profile also over those who are left.
    """
    if law not in LAWS:
        raise InputError(f"law {law!r} is unknown; the laws are {', '.join(LAWS)}")
    if start.shape != system.low.shape or not system.admits(start):
        raise InputError("the table to start from does not satisfy the facts")
    form = standard_form(system)
    walk = _Chain(system, form, start, law == "hypergeometric")
    kinds = _kinds(form, generator)
    pause = min(2 * len(form.loose), EFFORT.longest_pause) if between is None else between
    while True:
        for _ in range(max(pause, 1) if kinds else 0):
            draw = kinds[int(generator.integers(len(kinds)))]
            walk.step(draw(generator), generator)
        table = start.copy()
        table[form.loose] = form.base[form.loose] + walk.values[: len(form.loose)]
        yield table


def reach(system: System, start: IntArray, generator: Generator) -> int:
    """A number of tables that there are at least: moves from `start` that share no count can be combined freely."""
    form = standard_form(system)
    walk, kinds = _Chain(system, form, start, False), _kinds(form, generator)
    lines = []
    for draw in kinds:
        for _ in range(EFFORT.moves_per_count * len(form.loose)):
            change = walk.along_all(draw(generator))
            least, most = walk.ends(change)
            lines.append((most - least + 1, [unknown for unknown, _ in change]))
    used, number = set[int](), 1
    for length, places in sorted(lines, key=lambda line: (-(line[0] ** (1 / max(len(line[1]), 1))), line[1])):
        if length > 1 and used.isdisjoint(places):
            used.update(places)
            number *= length
    return number


class _Chain:
    """The open counts, what the ranges leave over and, last, who is left of each profile.

    `along[s]` lists what one step of open count s does to all of these; `offset` is what has to be added to a value to
    get the count whose factorial enters the law, -1 for what does not enter it.
    """

    def __init__(self, system: System, form: Equations, start: IntArray, weighted: bool) -> None:
        count = len(form.loose)
        follows = [sparse.eye_array(count, dtype=np.int64), -(form.matrix[:, count:].T @ form.matrix[:, :count])]
        values, room = [form.values(start)], [form.room]
        offset = [form.base[form.loose], np.full(len(form.room) - count, -1)]
        if weighted and system.people is not None:
            ones = np.ones(count, dtype=np.int64)
            shape = (len(system.people), count)
            follows.append(
                -sparse.csr_array((ones, (form.loose // system.n_free_options, np.arange(count))), shape=shape)
            )
            values.append(system.people - start.reshape(-1, system.n_free_options).sum(axis=1))
            room.append(np.full(len(system.people), UNBOUNDED))
            offset.append(np.zeros(len(system.people), dtype=np.int64))
        along = sparse.csc_array(sparse.vstack(follows))
        self.along = [
            list(zip(along.indices[a:b].tolist(), along.data[a:b].tolist(), strict=True))
            for a, b in zip(along.indptr, along.indptr[1:], strict=False)
        ]
        self.values: list[int] = np.concatenate(values).tolist()
        self.room: list[int] = np.concatenate(room).tolist()
        self.offset: list[int] | None = np.concatenate(offset).tolist() if weighted else None

    def step(self, move: Move, generator: Generator) -> None:
        """Go along a move, to any table on its line."""
        change = self.along_all(move)
        least, most = self.ends(change)
        if least == most or not change:
            return
        length = self._length(change, least, most, generator)
        for unknown, way in change:
            self.values[unknown] += length * way

    def along_all(self, move: Move) -> Move:
        """What a move of open counts does to everything."""
        if len(self.along) == len(self.values):  # nothing else follows from the open counts
            return move
        return gathered((unknown, size * step) for source, step in move for unknown, size in self.along[source])

    def ends(self, change: Move) -> tuple[int, int]:
        """How often a change can be made, backwards and forwards."""
        least, most = (-UNBOUNDED, UNBOUNDED) if change else (0, 0)
        for unknown, way in change:
            here = self.values[unknown]
            left = self.room[unknown] - here
            if way > 0:
                least, most = max(least, -(here // way)), min(most, left // way)
            else:
                least, most = max(least, -(left // -way)), min(most, here // -way)
        return least, most

    def _length(self, change: Move, least: int, most: int, generator: Generator) -> int:
        """How far to go along a line: uniform, or by the law, computed from logarithms of factorials."""
        if self.offset is None:
            return int(generator.integers(least, most + 1))
        counted = [
            (self.offset[unknown] + self.values[unknown], way) for unknown, way in change if self.offset[unknown] >= 0
        ]
        # Exact conditional law along the line, as in Gibbs sampling: no rejection, so no step is lost.
        if (most - least) * len(counted) < EFFORT.line_terms:
            logs = [-sum(lgamma(here + 1 + at * way) for here, way in counted) for at in range(least, most + 1)]
            top = max(logs)
            sums = list(accumulate(exp(log - top) for log in logs))
            return least + bisect_right(sums, generator.random() * sums[-1])
        base, ways = np.array(counted, dtype=np.float64).T
        from scipy.special import gammaln  # takes long to import

        weight = -gammaln(base + 1.0 + np.arange(least, most + 1)[:, None] * ways).sum(axis=1)
        chance = np.cumsum(np.exp(weight - weight.max()))
        return least + int(np.searchsorted(chance, generator.random() * chance[-1], side="right"))


def gathered(steps: Iterable[tuple[int, int]]) -> Move:
    """Steps at the same place added up."""
    sums: dict[int, int] = {}
    for unknown, step in steps:
        sums[unknown] = sums.get(unknown, 0) + step
    return [(unknown, step) for unknown, step in sums.items() if step]


Draw = Callable[[Generator], Move]


def _kinds(form: Equations, generator: Generator) -> list[Draw]:
    """Ways to draw a move that keeps every equation: exchanges, circuits, and sums of a basis.

    Circuits change as few unknowns as possible, so lines along them are long; sums of a basis make the chain
    irreducible.
    """
    count = len(form.loose)
    ranged = np.zeros(form.matrix.shape[0], dtype=bool)
    ranged[form.matrix[:, count:].nonzero()[0]] = True
    equations = sparse.csr_array(form.matrix[~ranged][:, :count])
    kinds: list[Draw] = []
    pairs = _pairs(equations, generator)
    if len(pairs.first):
        kinds.append(pairs.draw)
    if equations.shape[0] * count > EFFORT.kernel_entries:
        return kinds
    solved = _solve(equations.toarray(), generator)
    if len(solved.free):
        kinds.append(partial(_any_of, _circuits(solved, generator)))
        kinds.append(partial(_sum_of, _basis(solved, count)))
    return kinds


def _solve(equations: IntArray, generator: Generator) -> Echelon:
    """The kernel, with unknowns in random order."""
    nothing = np.zeros(len(equations), dtype=np.int64)
    solved = eliminate(equations, nothing, generator.permutation(equations.shape[1]))
    assert solved is not None
    return solved


def _circuits(solved: Echelon, generator: Generator) -> list[Move]:
    """Moves that change as few unknowns as possible, from many eliminations."""
    rows, count = len(solved.pivots), len(solved.pivots) + len(solved.free)
    independent = np.zeros((rows, count), dtype=np.int64)
    independent[np.arange(rows), solved.pivots] = solved.scale
    independent[:, solved.free] = solved.matrix
    turns = min(max(EFFORT.elimination_work // (rows * rows * count + 1), 4), EFFORT.eliminations)
    circuits: dict[tuple[tuple[int, int], ...], Move] = {}
    for _ in range(turns):
        for column in range(len(solved.free)):
            move = _circuit(solved, column)
            circuits.setdefault(
                tuple(sorted(move if min(move)[1] > 0 else [(unknown, -step) for unknown, step in move])), move
            )
        if len(circuits) > EFFORT.circuits:
            break
        solved = _solve(independent, generator)
    return list(circuits.values())


def _any_of(moves: list[Move], generator: Generator) -> Move:
    """One of these moves, each alike."""
    return moves[int(generator.integers(len(moves)))]


def _sum_of(basis: list[Move], generator: Generator) -> Move:
    """A sum of any number of moves of the basis, each any number of times; few and once mostly."""
    # Every integer combination of the basis has a positive probability: the chain is irreducible (Diaconis, Sturmfels).
    terms = int(generator.geometric(0.4))
    chosen = [basis[index] for index in generator.integers(len(basis), size=terms).tolist()]
    times = generator.geometric(0.7, size=terms) * (2 * generator.integers(2, size=terms) - 1)
    return gathered(
        (unknown, time * step) for time, move in zip(times.tolist(), chosen, strict=True) for unknown, step in move
    )


@dataclass(frozen=True)
class _Pairs:
    """Pairs of unknowns, sorted by the difference of their columns; `start` and `size` of the group each is in."""

    first: list[int]
    second: list[int]
    start: list[int]
    size: list[int]

    def draw(self, generator: Generator) -> Move:
        """One pair one way and another with the same difference the other way."""
        pair = int(generator.integers(len(self.first)))
        partner = self.start[pair] + int(generator.integers(self.size[pair]))
        way = ((self.first[pair], 1), (self.second[pair], -1))
        return gathered((*way, (self.first[partner], -1), (self.second[partner], 1)))


def _pairs(equations: sparse.csr_array, generator: Generator) -> _Pairs:
    """Pairs whose difference another pair has too: found by random marks, then compared."""
    # Random marks stand for columns, as in fingerprinting; equal marks are compared before they are believed.
    mark = generator.integers(-(2**62), 2**62, size=equations.shape[0])
    column = equations.T @ mark
    if len(column) <= EFFORT.all_pairs:
        first, second = np.triu_indices(len(column), 1)
    else:
        first, second = _neighbours(sparse.csc_array(equations), column, mark)
    difference = column[first] - column[second]
    first, second = np.where(difference < 0, second, first), np.where(difference < 0, first, second)
    difference = np.abs(difference)
    order = np.argsort(difference, kind="stable")
    first, second = first[order], second[order]
    heads, size = np.unique(difference[order], return_index=True, return_counts=True)[1:]
    start, size = np.repeat(heads, size), np.repeat(size, size)
    apart = sparse.csc_array(equations[:, first] - equations[:, second])
    unlike = np.diff(sparse.csc_array(apart - apart[:, start]).indptr) > 0
    kept = (size > 1) & ~np.isin(start, start[unlike])
    shift = np.cumsum(~kept)
    start = start - shift[start] if len(start) else start
    return _Pairs(first[kept].tolist(), second[kept].tolist(), start[kept].tolist(), size[kept].tolist())


def _neighbours(columns: sparse.csc_array, column: IntArray, mark: IntArray) -> tuple[IntArray, IntArray]:
    """Unknowns that share all equations but one, each with the next two of its kind."""
    unknown = np.repeat(np.arange(len(column)), np.diff(columns.indptr))
    key = column[unknown] - columns.data * mark[columns.indices]
    order = np.argsort(key, kind="stable")
    key, unknown = key[order], unknown[order]
    pairs = []
    for apart in (1, 2):
        same = np.flatnonzero(key[apart:] == key[:-apart])
        pairs.append((unknown[same], unknown[same + apart]))
    return np.concatenate([a for a, _ in pairs]), np.concatenate([b for _, b in pairs])


def _circuit(solved: Echelon, column: int) -> Move:
    """The move that changes one free unknown and as few others as possible."""
    used = np.flatnonzero(solved.matrix[:, column])
    coefficient, scale = solved.matrix[used, column], solved.scale[used]
    times = int(np.lcm.reduce(scale // np.gcd(scale, coefficient))) if len(used) else 1
    steps = (-coefficient * times // scale).tolist()
    return [(int(solved.free[column]), times), *zip(solved.pivots[used].tolist(), steps, strict=True)]


def _basis(solved: Echelon, count: int) -> list[Move]:
    """Moves whose integer combinations are all moves: a basis of the integer kernel.

    With scales of 1 the circuits of the free unknowns are one. Otherwise a lattice of values of the free unknowns is
    kept on which every solved unknown stays an integer (`_make_divisible`, row by row).
    """
    uneven = np.flatnonzero(solved.scale > 1).tolist()
    if not uneven:
        return [_circuit(solved, column) for column in range(len(solved.free))]
    lattice = np.eye(len(solved.free), dtype=object)
    for row in uneven:
        scale = int(solved.scale[row])
        _make_divisible(lattice, solved.matrix[row].astype(object) @ lattice % scale, scale)
    moves = np.zeros((len(solved.free), count), dtype=object)
    moves[:, solved.free] = lattice.T
    moves[:, solved.pivots] = -(lattice.T @ solved.matrix.T.astype(object)) // solved.scale.astype(object)
    return [[(unknown, int(step)) for unknown, step in enumerate(move) if step] for move in moves]


def _make_divisible(lattice: IntArray, rest: IntArray, scale: int) -> None:
    """Change a basis (columns) so that a row, whose products leave `rest`, is divisible by `scale` on all of it.

    Euclid's algorithm between columns until one remainder is left; that column is then multiplied by what is missing.
    """
    while np.count_nonzero(rest) > 1:
        filled = np.flatnonzero(rest)
        lead = filled[np.argmin(rest[filled])]
        for other in filled[filled != lead].tolist():
            lattice[:, other] -= rest[other] // rest[lead] * lattice[:, lead]
            rest[other] %= rest[lead]
    for lead in np.flatnonzero(rest).tolist():
        lattice[:, lead] *= scale // gcd(int(rest[lead]), scale)

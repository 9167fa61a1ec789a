"""What is to be protected, and moves: integer changes of suppressed counts that leave every sum unchanged.

Objects
    j           a cell of the tables, sums included; x[j] >= 1 is its count (empty cells are printed, not variables)
    E           one row per sum: E x = 0, a sum minus its parts
    S           the pattern: the cells that are not printed
    room[j]     x[j] - minimum[j], how far a suppressed count may fall; the minimum is 1, because zeros are printed
    m           a move inside S: integers with E m = 0, m[j] = 0 outside S, m[j] >= -room[j]

Statement
    Somebody who sees the printed counts, and knows that zeros are printed, cannot distinguish x from x + m for any
    move m inside S, and can exclude every other table. So a suppressed count is known exactly if m[j] = 0 for all
    moves, and to within tau if max m[j] - min m[j] <= tau. Two moves that differ by more at j prove the contrary,
    and addition verifies both.

What callers may rely on
    * A move stays one when more cells are suppressed, so `MoveStore` never forgets a move. Fewer cells: see `inside`.
    * An onlooker who knows more (`View`) excludes some moves and adds none: `PatternMoves.possible`.
    * `Boxes` returns integer moves only, and not all of them: a table of three axes has moves that no box is a part of.

Example
    One person is in the first cell. Suppressing it alone is no use, since its row gives it back; the box of four
    cells, rises and falls by one, leaves every sum as it is:

    >>> from safemargin.core import lattice
    >>> table = lattice([Hierarchy.flat("sex", ["f", "m"]), Hierarchy.flat("age", ["old", "young"])], [[1, 4], [5, 6]])
    >>> boxes = Boxes(table.trees, np.arange(1, 9))  # all cells but the grand total
    >>> [table.counts.ravel()[1:][j].item() for j in (3, 4, 6, 7)]
    [1, 4, 5, 6]
    >>> free, room = np.r_[[np.inf, np.inf, np.inf, 1, 1, np.inf, 1, 1], np.inf], np.r_[table.counts.ravel()[1:] - 1, 0]
    >>> price, cells, changes = boxes.cheapest(3, 1, free, room)
    >>> price, cells.tolist(), changes.tolist()
    (3.0, [3, 4, 6, 7], [1, -1, -1, 1])
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from scipy import sparse

from safemargin.core import BoolArray, FloatArray, Hierarchy, IntArray


@dataclass(frozen=True)
class View:
    """What an onlooker knows beside what is printed: counts of some cells, and lower limits of others."""

    known: tuple[int, ...] = ()
    at_least: tuple[tuple[int, int], ...] = ()

    def sees_more(self, suppressed: BoolArray) -> bool:
        """Whether some of it is not printed."""
        return any(suppressed[cell] for cell in self.known) or any(suppressed[cell] for cell, _ in self.at_least)


PUBLIC = View()


@dataclass(frozen=True)
class Problem:
    """Cells with a count of at least one, and cells that no table lists; `cell_ids` are their numbers in the tables.

    Empty cells, the grand total and what was published before are always printed.
    """

    cell_ids: IntArray
    counts: IntArray
    minimum: IntArray  # what a count is at least if it is not printed
    equations: sparse.csr_array
    sums: IntArray  # the number that each equation has among those of all tables
    primary: BoolArray
    forced: BoolArray  # cells that are never printed: primary, suppressed before, or in no table
    unlisted: BoolArray  # of these, the cells in no table; nothing is claimed about them
    candidates: BoolArray  # cells that secondary suppression may choose
    required_rise: IntArray  # how far the count of a primary cell must be able to rise; 0 where nothing is required
    width: int  # how far apart two possible values of a suppressed count must be
    preferred_rise: IntArray  # how far a primary count must be able to rise to leave the primary range
    views: tuple[View, ...]  # what onlookers know, the public first; `required_rise` is about the public only
    cost: IntArray  # of suppressing a cell
    level: IntArray  # how much a cell sums up: 0 for inner cells, most for totals, which everybody needs
    to_publish: BoolArray  # cells of the tables to be published
    boxes: "Boxes | None"  # of the only table

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.counts)

    def rise_for(self, view: View) -> IntArray:
        """`required_rise`, as far as it is about this onlooker."""
        return self.required_rise if view == PUBLIC else np.zeros(self.size, dtype=np.int64)

    def alone(self, unknown: BoolArray) -> IntArray:
        """Equations with a single unknown cell, which follows from the others."""
        return np.flatnonzero(abs(self.equations) @ unknown.astype(np.int64) == 1)

    def room(self, view: View) -> IntArray:
        """How far the count of each cell may fall for this onlooker."""
        least = self.minimum.copy()
        for cell, most in view.at_least:
            least[cell] = max(most, int(least[cell]))
        return self.counts - least


class MoveStore:
    """All moves found so far, kept sparse.

    Invariant: every stored move satisfies E m = 0 and m >= -room for the public. Whether it is inside a pattern is
    asked when the pattern is known, because a move stays possible when more cells are suppressed.
    """

    def __init__(self, counts: IntArray) -> None:
        self.counts, self.size = counts, len(counts)
        self.cells: list[IntArray] = []
        self.changes: list[IntArray] = []
        self._built = sparse.csr_array((0, self.size), dtype=np.int64)

    def add(self, move: IntArray) -> None:
        """Keep a move."""
        cells = np.flatnonzero(move)
        self.cells.append(cells)
        self.changes.append(move[cells])

    @property
    def matrix(self) -> sparse.csr_array:
        """One row per move."""
        if self._built.shape[0] < len(self.cells):
            starts = np.r_[0, np.cumsum([len(cells) for cells in self.cells])]
            parts = (np.concatenate(self.changes), np.concatenate(self.cells), starts)
            self._built = sparse.csr_array(parts, shape=(len(self.cells), self.size))
        return self._built

    def inside(self, suppressed: BoolArray) -> sparse.csr_array:
        """Moves that change suppressed cells only."""
        outside = abs(self.matrix) @ (~suppressed).astype(np.int64)
        return self.matrix[np.flatnonzero(outside == 0)].tocsr()


class PatternMoves:
    """The stored moves inside one set of suppressed cells, and those added later, in three arrays.

    `rows[k]` is the number of the move, `cells[k]` the cell and `changes[k]` what the move adds to it.
    """

    def __init__(self, store: MoveStore, suppressed: BoolArray) -> None:
        self.store = store
        moves = store.inside(suppressed).tocoo()
        self.rows, self.cells, self.changes = moves.row, moves.col, moves.data
        self.count = moves.shape[0]

    def add(self, move: IntArray) -> None:
        """Keep a move here and in the store."""
        self.store.add(move)
        cells = np.flatnonzero(move)
        self.rows = np.r_[self.rows, np.full(len(cells), self.count)]
        self.cells, self.changes = np.r_[self.cells, cells], np.r_[self.changes, move[cells]]
        self.count += 1

    def possible(self, view: View) -> BoolArray:
        """Which moves an onlooker with this view cannot exclude."""
        possible = np.ones(self.count, dtype=bool)
        if view.known:
            possible[self.rows[np.isin(self.cells, view.known)]] = False
        for cell, least in view.at_least:
            possible[self.rows[(self.cells == cell) & (self.store.counts[cell] + self.changes < least)]] = False
        return possible

    def ranges(self, view: View = PUBLIC) -> tuple[IntArray, IntArray]:
        """How far each count can rise and fall: max(0, max m[j]) and max(0, max -m[j]) over the moves of an onlooker.

        A count takes values `up + down` apart, so it is known to within tau at most if `up + down <= tau` for *all*
        moves. For the stored ones it is a lower bound of the true width: enough to protect, not enough to disclose.
        """
        used = self.possible(view)[self.rows] if view != PUBLIC else np.ones(len(self.rows), dtype=bool)
        up, down = np.zeros(self.store.size, dtype=np.int64), np.zeros(self.store.size, dtype=np.int64)
        np.maximum.at(up, self.cells[used], self.changes[used])
        np.maximum.at(down, self.cells[used], -self.changes[used])
        return up, down


class Boxes:
    """Box moves of one table: the hypercubes of Repsilber's method, with the margins as partners too.

    Along an axis, a sibling of a category changes the other way, the grand total the same way. With a sibling on one
    axis at least, every sum is unchanged. (Without one, the box holds the grand total, which never changes.)
    """

    def __init__(self, trees: Sequence[Hierarchy], cell_ids: IntArray) -> None:
        shape = tuple(len(tree.labels) for tree in trees)
        self.nodes = np.stack(np.unravel_index(cell_ids, shape), axis=1)
        position = np.full(prod(shape), len(cell_ids), dtype=np.int64)  # the last is for cells that are always printed
        position[cell_ids] = np.arange(len(cell_ids))
        self.position = position.reshape(shape)
        self.partners = [_partners(tree) for tree in trees]

    def cheapest(
        self, cell: int, amount: int, price: FloatArray, room: IntArray
    ) -> tuple[float, IntArray, IntArray] | None:
        """The cost, cells and changes of the cheapest box that changes `cell` by `amount`; None if there is none.

        A change of each cell costs its `price`, infinite if it is impossible; a count falls no further than `room`.
        Both have one entry more than there are cells, for those that are always printed.
        """
        nodes = self.nodes[cell].tolist()
        others, signs = zip(*(axis[node] for axis, node in zip(self.partners, nodes, strict=True)), strict=True)
        if not all(map(len, others)) or (amount < 0 and room[cell] < -amount):
            return None
        total = np.zeros([len(other) for other in others])
        corners = list(product((False, True), repeat=len(nodes)))[1:]
        for corner in corners:
            index = [other if far else [node] for other, far, node in zip(others, corner, nodes, strict=True)]
            sign = np.ix_(*(part if far else [1] for part, far in zip(signs, corner, strict=True)))
            cells = self.position[np.ix_(*index)]
            falls = prod(sign) * amount < 0
            total = total + np.where(falls & (room[cells] < abs(amount)), np.inf, price[cells])
        best = np.unravel_index(int(np.argmin(total)), total.shape)
        if not np.isfinite(total[best]):
            return None
        box, changes = [cell], [amount]
        for corner in corners:
            chosen = [o[b] if far else node for o, b, far, node in zip(others, best, corner, nodes, strict=True)]
            box.append(int(self.position[tuple(chosen)]))
            changes.append(amount * prod(int(s[b]) for s, b, far in zip(signs, best, corner, strict=True) if far))
        return float(total[best]), np.array(box), np.array(changes)


def _partners(tree: Hierarchy) -> list[tuple[IntArray, IntArray]]:
    """For every node its partners and their signs: none for groups between the categories and the grand total."""
    holders = [
        tuple(s for s, (_, parts) in enumerate(tree.splits) if node in parts) for node in range(len(tree.labels))
    ]
    of_total = tuple(s for s, (parent, _) in enumerate(tree.splits) if parent == 0)
    direct = [leaf for leaf in tree.leaves if holders[leaf] == of_total]
    partners = []
    for node in range(len(tree.labels)):
        siblings = [
            leaf for leaf in tree.leaves if leaf != node and node in tree.leaves and holders[leaf] == holders[node]
        ]
        same = direct if node == 0 else [0] if node in direct else []
        signs = np.r_[np.full(len(siblings), -1), np.ones(len(same))].astype(np.int64)
        partners.append((np.array([*siblings, *same], dtype=np.int64), signs))
    return partners

"""Clearing open cells by exchanges: what tables one exchange away from a known one show, and tables further away.

Objects
    twins       profiles that no published table distinguishes; a *class* is all twins of one
    piece       the part of a cell that lies in one class (`cells.CellPieces`)
    pair, key   as in `exchange.py`, between classes instead of profiles

Statements
    twins       twins may share out their votes in any way. Of a class with n people, m of them in the cell and c votes
                for an option in all, the cell can have any number from max(0, c - (n - m)) to min(m, c): the
                hypergeometric range.
    exchange    through a pair from a class of the cell to one outside, u votes can go if both have them and if u come
                back through other pairs of the key outside the cell. So the count of a cell rises by up to
                min(sum of u over its pairs, votes that can come back), and every number up to that is attained.

    Nothing has to be built: how far each cell goes up and down follows from sums over pairs. Each end is attained by
    some table; ends of two cells, or both ends of one, may need two tables.

What callers may rely on
    * All ends given here are attained by integer tables with all published sums, so `Level.show` may take them.
    * A cell with a profile that may not be changed (it has a floor, or a ceiling below its people) is *tied*: nothing
      is said about it, which leaves it open.
    * Cost: per block and pair of options O(pairs met); `EFFORT.few_pairs` and `common_options` keep this small.

Further tables come from random exchanges towards what is open and from letting some people answer
otherwise and mending the margins elsewhere (`perturb_and_repair`).

Example
    A class of 10 people with 4 times yes, 6 of them in the cell: between 0 and 4 of the 6 said yes. Of a class of 5
    people with 4 times yes, a cell of 3 has at least 4 - 2 = 2.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from safemargin.bounds.cells import CellPieces, Level, sums_by
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.exchange import Exchanges, common_options
from safemargin.bounds.system import System
from safemargin.core import BoolArray, IntArray, grouped, row_keys


@dataclass(frozen=True)
class _Meeting:
    """Pairs of a block met with pieces of cells, on the side of the first profile and of the second.

    Per side: the number of the pair, of the piece (-1 where the pair lies inside the cell and gives it nothing), and of
    the key and cell that they share, a *group*; `cell` and `key` are those of every group. Groups matter because what
    comes back must come through other pairs of the same key.
    """

    pair: tuple[IntArray, IntArray]
    piece: tuple[IntArray, IntArray]
    group: tuple[IntArray, IntArray]
    cell: IntArray
    key: IntArray

    def touched(self, units: IntArray) -> IntArray:
        """Per group, the units of pairs that lie in its cell on either side."""
        return sum((self.add(side, units[self.pair[side]]) for side in (0, 1)), np.zeros(len(self.cell), np.int64))

    def add(self, side: int, units: IntArray) -> IntArray:
        """Sums by group."""
        return sums_by(self.group[side], units, len(self.cell))


class ExchangeGraph:
    """How far exchanges lead from a table; depends on public facts only.

    `twins[e]` is the class of profile e and `first` one profile of every class; `loose` marks the classes all of whose
    profiles may be changed freely.
    """

    def __init__(self, exchanges: Exchanges) -> None:
        self.exchanges = exchanges
        tops = exchanges.blocks[list(exchanges.tops)].T + 1
        self.first, self.twins = grouped(row_keys(tops, [int(column.max(initial=0)) + 1 for column in tops.T]))
        low, high = exchanges.low, exchanges.high
        bound = ((low > 0) | (high < exchanges.people[:, None])).any(axis=1)
        self.loose = np.bincount(self.twins, bound, minlength=len(self.first)) == 0
        self.people = sums_by(self.twins, exchanges.people, len(self.first))
        self.are_profiles = len(self.first) == len(self.twins) and not (low > 0).any()
        self._pairs: dict[int, tuple[IntArray, IntArray, IntArray]] = {}

    def pieces(self, cell_of: IntArray, cells: int) -> CellPieces:
        """Cells, given as the cell of every profile, in pieces."""
        first, piece_of = grouped(cell_of * len(self.first) + self.twins)
        people = sums_by(piece_of, self.exchanges.people, len(first))
        return CellPieces(cell_of[first], self.twins[first], people, cells)

    def pairs(self, block: int) -> tuple[IntArray, IntArray, IntArray]:
        """Classes that differ in a block only and may exchange votes, with the key of their slices."""
        if block not in self._pairs:
            pairs = self.exchanges.pairs(block)
            first, second = self.twins[pairs.first], self.twins[pairs.second]
            usable = self.loose[first] & self.loose[second]
            self._pairs[block] = first[usable], second[usable], pairs.key[usable]
        return self._pairs[block]


class ExchangeNeighbourhood:
    """One table with all that are an exchange away from it.

    `pooled` has the counts per class: a column per option, one for what is left, then one per secret set of options.

    Around the table of sixes of the running example, an exchange moves up to four answers each way, which is as far as
    any table goes:

    >>> from safemargin.bounds.build import build_system
    >>> from safemargin.bounds.rounding import Rounder
    >>> from safemargin.core import exact_margins, onlooker_with_roll, table_of
    >>> table = table_of({"district": ("N", "S"), "age": ("old", "young")}, [[6, 4]] * 4, [10] * 4)
    >>> system = build_system(exact_margins(table), onlooker_with_roll(table, "joint"))
    >>> reach = ExchangeGraph(Rounder(system).exchanges)
    >>> *_, (least, most) = ExchangeNeighbourhood(reach, np.full(4, 6)).ends(reach.pieces(np.arange(4), 4))
    >>> least.tolist()[0], most.tolist()[0]
    ([2, 0], [10, 8])
    """

    def __init__(self, reach: ExchangeGraph, counts: IntArray, sets: Sequence[tuple[int, ...]] = ()) -> None:
        self.reach, self.counts = reach, counts
        profiles = reach.exchanges.matrix(counts)
        self.pooled = np.stack([sums_by(reach.twins, column, len(reach.first)) for column in profiles.T], axis=1)
        self.options = self.pooled.shape[1]
        self.totals = self.pooled.sum(axis=0)
        if sets:  # of a set, what its options have together
            self.pooled = np.column_stack([self.pooled, *(self.pooled[:, chosen].sum(axis=1) for chosen in sets)])
        self.sets = tuple(map(frozenset, sets))
        self._room: dict[tuple[int, int, int], tuple[IntArray, IntArray, IntArray]] = {}

    def ends(
        self,
        parts: CellPieces,
        wanted: tuple[BoolArray, BoolArray] | None = None,
        partners: BoolArray | None = None,
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Least and most of every cell and column (what is left of the people last), block by block.

        Only cells of which `parts` has all pieces are meant; each number is attained by some table. Exchanges are
        looked at for the columns that are `wanted` higher, and lower, if that is given: of K options there are
        K (K - 1) ordered pairs, and late in a search most columns are cleared. One of the two options of an exchange
        is among the `partners`. What is yielded widens from block to block.
        """
        reach = self.reach
        loose = sums_by(parts.cell, reach.loose[parts.twins], parts.cells)
        tied = loose < np.maximum(np.bincount(parts.cell, minlength=parts.cells), 1)
        parts = parts.of(~tied)
        here = self.pooled[parts.twins]
        # Twins may redistribute freely: the hypergeometric range of a part of a pool.
        least = np.maximum(parts.people[:, None] - (reach.people[parts.twins][:, None] - here), 0)
        most = np.minimum(parts.people[:, None], here)
        ends = parts.add(least), parts.add(most)
        yield _known(ends, tied)
        for block in reach.exchanges.tops if len(parts.cell) else ():
            if len(reach.pairs(block)[0]):
                self._exchange(block, parts, (least, most), ends, (wanted, partners))
                yield _known(ends, tied)

    def _exchange(
        self,
        block: int,
        parts: CellPieces,
        pieces: tuple[IntArray, IntArray],
        ends: tuple[IntArray, IntArray],
        asked: tuple[tuple[BoolArray, BoolArray] | None, BoolArray | None],
    ) -> None:
        """Widen the ends of cells by exchanges between the slices of a block: the statement *exchange* of the module.

        Changes `ends` in place. `pieces` are the ends of pieces by twins alone, on which exchanges come on top.
        """
        wanted, partners = asked
        met = _meeting(parts, *self.reach.pairs(block), len(self.reach.first))
        if not len(met.cell):
            return
        low, high = (parts.add(ends_of) for ends_of in pieces)
        for given, taken in permutations(range(self.options), 2):
            if partners is not None and not (partners[given] or partners[taken]):
                continue
            higher, lower = self._wanted(given, taken, wanted)
            if not any((*higher, *lower)):
                continue
            there, back, supply = self._rooms(block, given, taken)
            # What comes back must come from pairs outside the cell: those inside would undo the change.
            rest = np.maximum(supply[met.key] - met.touched(back), 0)
            for side in (0, 1):
                if not higher[side] and not lower[side]:
                    continue
                piece = met.piece[side]
                units = np.where(piece >= 0, there[met.pair[side]], 0)
                for column in higher[side]:
                    room = parts.people[piece] - pieces[1][piece, column]
                    more = np.minimum(met.add(side, np.minimum(units, room)), rest)
                    np.maximum.at(ends[1][:, column], met.cell, high[met.cell, column] + more)
                for column in lower[side]:
                    less = np.minimum(met.add(side, np.minimum(units, pieces[0][piece, column])), rest)
                    np.minimum.at(ends[0][:, column], met.cell, low[met.cell, column] - less)

    def partners(self, many: bool) -> Iterator[BoolArray | None]:
        """Options of which one is in every exchange, more and more of them; none for all, which many cells are not."""
        if self.options <= 2 * EFFORT.partners:
            yield None
            return
        for count in (1, EFFORT.partners):
            yield common_options(self.totals, count)
        if not many:
            yield None

    def _wanted(
        self, given: int, taken: int, wanted: tuple[BoolArray, BoolArray] | None
    ) -> tuple[tuple[list[int], list[int]], tuple[list[int], list[int]]]:
        """Per side of a pair, the columns that rise and those that fall, of those that are wanted to.

        On the first side people give up `given` and take up `taken`; on the second side the other way round. A column
        of a set of options changes only if one of the two is in it. Without `wanted`, every column that changes is
        meant.
        """
        gains, losses = self._changed(taken, given), self._changed(given, taken)
        if wanted is None:
            return (gains, losses), (losses, gains)
        up, down = wanted
        return (
            ([column for column in gains if up[column]], [column for column in losses if up[column]]),
            ([column for column in losses if down[column]], [column for column in gains if down[column]]),
        )

    def _changed(self, one: int, other: int) -> list[int]:
        """The columns that change when people go between two options, and change as the first of them does."""
        return [one, *(self.options + c for c, inside in enumerate(self.sets) if one in inside and other not in inside)]

    def _rooms(self, block: int, given: int, taken: int) -> tuple[IntArray, IntArray, IntArray]:
        """How many votes each pair can exchange one way and back, and how many back in all, by key."""
        key_of = block, given, taken
        if key_of not in self._room:
            first, second, key = self.reach.pairs(block)
            there = np.minimum(self.pooled[first, given], self.pooled[second, taken])
            back = np.minimum(self.pooled[first, taken], self.pooled[second, given])
            self._room[key_of] = there, back, sums_by(key, back, int(key.max()) + 1)
        return self._room[key_of]


def _meeting(parts: CellPieces, first: IntArray, second: IntArray, key: IntArray, classes: int) -> _Meeting:
    """Which pairs touch which cells, on either side; pairs with both ends in one cell change nothing there."""
    many = np.bincount(parts.twins, minlength=classes)
    if many.max(initial=0) < 2:
        pairs, pieces = _met_once(parts, first, second, classes)
    else:
        pairs, pieces = _met(parts, first, second, many)
    groups = [key[pair] * parts.cells + parts.cell[piece] for pair, (piece, _) in zip(pairs, pieces, strict=True)]
    head, group = grouped(np.concatenate(groups))
    cut = len(pairs[0])
    return _Meeting(
        pair=(pairs[0], pairs[1]),
        piece=(pieces[0][1], pieces[1][1]),
        group=(group[:cut], group[cut:]),
        cell=np.concatenate([parts.cell[piece] for piece, _ in pieces])[head],
        key=key[np.concatenate(pairs)][head],
    )


_Met = tuple[list[IntArray], list[tuple[IntArray, IntArray]]]
"""Per side the pairs, and their pieces: all of them, and -1 instead for a pair inside its cell."""


def _met_once(parts: CellPieces, first: IntArray, second: IntArray, classes: int) -> _Met:
    """Pairs and pieces where no class lies in two cells, as with most rolls: no sorting."""
    piece_of, cell_of = np.full(classes, -1), np.full(classes, -1)
    piece_of[parts.twins], cell_of[parts.twins] = np.arange(len(parts.twins)), parts.cell
    pairs, pieces = [], []
    for own, other in ((first, second), (second, first)):
        piece = piece_of[own]
        pair = np.flatnonzero(piece >= 0)
        piece = piece[pair]
        pairs.append(pair)
        pieces.append((piece, np.where(cell_of[other[pair]] == parts.cell[piece], -1, piece)))
    return pairs, pieces


def _met(parts: CellPieces, first: IntArray, second: IntArray, many: IntArray) -> _Met:
    """Pairs and pieces where classes lie in several cells: every pair is met once per cell, found by sorting."""
    classes, order = len(many), np.argsort(parts.twins, kind="stable")
    start = np.cumsum(many) - many
    have = parts.cell * classes + parts.twins  # ascending, as pieces are
    alone = bool((np.diff(parts.cell) > 0).all())  # cells of one piece have no pair inside
    pairs, pieces = [], []
    for own, other in ((first, second), (second, first)):
        pair = np.flatnonzero(many[own])
        count = many[own[pair]]
        nth = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        pair = np.repeat(pair, count)
        piece = order[nth + start[own[pair]]]
        pairs.append(pair)
        if alone:
            pieces.append((piece, piece))
            continue
        both = parts.cell[piece] * classes + other[pair]
        nearest = np.minimum(np.searchsorted(have, both), len(have) - 1)
        pieces.append((piece, np.where(have[nearest] == both, -1, piece)))
    return pairs, pieces


def _known(ends: tuple[IntArray, IntArray], tied: BoolArray) -> tuple[IntArray, IntArray]:
    """Ends that say nothing of cells with a profile that may not be changed."""
    nothing = np.iinfo(np.int64).max // 2
    return np.where(tied[:, None], nothing, ends[0]), np.where(tied[:, None], -nothing, ends[1])


def attain_by_exchanges(checked: list[Level], system: System, reach: ExchangeGraph, tables: Sequence[IntArray]) -> None:
    """What tables one exchange away from these show of open cells."""
    sets = checked[0].limits.sets if checked else ()
    count, few = len(system.options), max(len(reach.first) // EFFORT.batch_part, EFFORT.batch_pieces)
    for counts in tables:
        around = ExchangeNeighbourhood(reach, counts, sets)
        batch: list[tuple[Level, IntArray, CellPieces]] = []
        for level in checked:
            if level.open_cells:
                up, down = level.needs()
                asked: BoolArray = np.asarray((up | down).any(axis=1))
                if reach.are_profiles and len(level.first) == len(level.cell_of) and not sets:
                    # Every cell is a profile distinguished from all others: by pairs.
                    _attain_by_pairs(level, reach.exchanges, counts, asked, count)
                    continue
                rows = np.flatnonzero(asked)
                parts = level.pieces(reach.pieces).only(rows)
                # Few cells of many levels cost hardly more than those of one level: all look at every pair. Many cells
                # of one level have no class twice, which needs no sorting.
                if len(parts.cell) > few:
                    _attain_batch([(level, rows, parts)], around, count)
                else:
                    batch.append((level, rows, parts))
                if sum(len(other.cell) for _, _, other in batch) > few:
                    _attain_batch(batch, around, count)
                    batch = []
        _attain_batch(batch, around, count)


def _attain_batch(
    batch: Sequence[tuple[Level, IntArray, CellPieces]], around: ExchangeNeighbourhood, count: int
) -> None:
    """The same for some cells of each level, given with their pieces: with one common partner first.

    Nearly every cell is cleared by exchanges with the commonest option, 2 (K - 1) of them: the others are looked at for
    the few that are left, so that the work is linear in the options.
    """
    many = sum(len(parts.cell) for _, _, parts in batch) > EFFORT.batch_pieces
    for partners in around.partners(many):
        if not batch:
            return
        _attain_with(batch, around, count, partners)
        batch = [each for level, rows, parts in batch if (each := _still_open(level, rows, parts)) is not None]


def _still_open(level: Level, rows: IntArray, parts: CellPieces) -> tuple[Level, IntArray, CellPieces] | None:
    """Those of some cells that are open, with their pieces."""
    up, down = level.needs()
    kept = np.flatnonzero((up[rows] | down[rows]).any(axis=1))
    if not len(kept):
        return None
    return (level, rows, parts) if len(kept) == len(rows) else (level, rows[kept], parts.only(kept))


def _attain_with(
    batch: Sequence[tuple[Level, IntArray, CellPieces]],
    around: ExchangeNeighbourhood,
    count: int,
    partners: BoolArray | None,
) -> None:
    """The same by exchanges in which one of the options is a partner."""
    cuts = np.cumsum([0, *(len(rows) for _, rows, _ in batch)]).tolist()
    together = CellPieces(
        np.concatenate([parts.cell + cut for (_, _, parts), cut in zip(batch, cuts, strict=False)]),
        np.concatenate([parts.twins for _, _, parts in batch]),
        np.concatenate([parts.people for _, _, parts in batch]),
        cuts[-1],
    )
    width = around.pooled.shape[1]
    columns = np.r_[:count, around.options : width]  # without what is left of the people
    wanted = np.zeros(width, dtype=bool), np.zeros(width, dtype=bool)
    for level, rows, _ in batch:
        for ways, needed in zip(wanted, level.needs(), strict=True):
            ways[columns] |= needed[rows].any(axis=0)
    ends = around.ends(together, wanted, partners)
    # Ends only widen from block to block: of several small levels, the last ones say it all.
    for least, most in ends if len(batch) == 1 else deque(ends, maxlen=1):
        for (level, rows, _), start, end in zip(batch, cuts, cuts[1:], strict=False):
            level.show_some(rows, least[start:end, columns], most[start:end, columns])
        if not batch[0][0].open_cells:
            break


def _attain_by_pairs(level: Level, exchanges: Exchanges, counts: IntArray, asked: BoolArray, count: int) -> None:
    """The same for cells that are single profiles, distinguished from all others: no classes are needed."""
    rows, wanted = np.flatnonzero(asked), asked[level.cell_of]
    for least, most in exchanges.reach(counts, wanted, EFFORT.few_pairs):
        places = level.first[rows]
        level.show_some(rows, least[places, :count], most[places, :count])
        up, down = level.needs()
        left = (up[rows] | down[rows]).any(axis=1)
        wanted[places[~left]] = False  # the next blocks need not look at them
        rows = rows[left]
        if not len(rows):
            break

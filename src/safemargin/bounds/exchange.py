"""Exchanges of votes that leave every margin as it is.

Objects
    block       the slices of one published table: blocks[b][e] is the slice of profile e, or -1
    pair        two profiles that lie in the same slice of every block but one
    key         the two slices of that block which the pair connects

Statement
    Let (e, f) and (g, h) be pairs of one key: e and g in slice s, f and h in slice t of block b. Let one person of e go
    from option o to p, one of f from p to o, one of g from p to o and one of h from o to p. Then every published sum
    and the people of every profile stay as they are.

    Proof. Per option, s gains one in g for the one it loses in e, and t likewise. In every other block e and f share a
    slice, which gains what it loses, and so do g and h. Rolls count people, whose number does not change.

    These are moves of degree two of the toric model (Diaconis and Sturmfels 1998). They need not connect the fiber
    where
    tables of several axes are published; whoever needs all tables uses the moves of `fiber_sample.py`.

Invariants
    * Pairs depend on public facts only. A table enters only when votes are traded.
    * Profiles with a ceiling of their own stand in no pair (`alike`): a trade could pass it.
    * Pairs of one key share no profile, so all of them may trade at once.
    * A star around one hub per class is kept instead of all pairs: linear in the profiles, any two are two links apart.

Example
    Four profiles of two axes; both single axes are published. Profiles 0 and 1 differ in the second block only, and so
    do 2 and 3: one key, two pairs. Trading two votes leads from one diagonal to the other.

    >>> blocks = np.array([[0, 0, 1, 1], [2, 3, 2, 3]])
    >>> four = Exchanges(blocks, 4, np.array([2, 2, 2, 2]), np.zeros((4, 1), dtype=int), np.full((4, 1), 2))
    >>> pairs = four.pairs(1)
    >>> pairs.first.tolist(), pairs.second.tolist(), pairs.key.tolist()
    ([0, 2], [1, 3], [0, 0])
    >>> least, most = [*four.reach(np.array([2, 0, 0, 2]), np.full(4, True), 0.0)][-1]
    >>> least[:, 0].tolist(), most[:, 0].tolist()
    ([0, 0, 0, 0], [2, 2, 2, 2])
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from safemargin.bounds.effort import EFFORT
from safemargin.core import BoolArray, FloatArray, Generator, IntArray, distinct, grouped, row_keys


class Links(dict[int, dict[int, tuple[IntArray, IntArray]]]):
    """Per slice and neighbouring slice, pairs of profiles between them; neighbours with the most pairs first."""

    @cached_property
    def cheapest(self) -> float:
        """The least that a link costs, `1 + 100 / pairs`: one with few pairs is dear, as its votes are soon used up."""
        return 1 + 100 / max((len(first) for near in self.values() for first, _ in near.values()), default=1)


@dataclass(frozen=True)
class Pairs:
    """Profiles alike in every block but one: `first` in the commoner slice, `second` in another.

    `key` numbers the two slices; pairs of one key share no profile, and come largest first.
    """

    first: IntArray
    second: IntArray
    key: IntArray

    @cached_property
    def _by_first(self) -> tuple[IntArray, IntArray]:
        """Pairs sorted by their first profile, and where each first profile begins."""
        order = np.argsort(self.first, kind="stable")
        return order, np.flatnonzero(np.r_[True, np.diff(self.first[order]) > 0])

    @cached_property
    def _seconds(self) -> tuple[IntArray, IntArray]:
        """Pairs sorted by their second profile, with these profiles in order."""
        order = np.argsort(self.second, kind="stable")
        return order, self.second[order]

    @cached_property
    def _firsts(self) -> tuple[IntArray, IntArray]:
        """Pairs sorted by their first profile, with these profiles in order."""
        return self._by_first[0], self.first[self._by_first[0]]

    @cached_property
    def _key_starts(self) -> IntArray:
        """Where each key begins; pairs stand by key."""
        return np.flatnonzero(np.r_[True, np.diff(self.key) > 0]) if len(self.key) else np.zeros(0, dtype=np.int64)

    def with_first(self, profiles: IntArray) -> IntArray:
        """The pairs in which one of these profiles stands first, ascending."""
        return places_of(*self._firsts, profiles)

    def with_second(self, profiles: IntArray) -> IntArray:
        """The pairs in which one of these profiles stands second, ascending."""
        return places_of(*self._seconds, profiles)

    def of_same_key(self, chosen: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """All pairs with the key of a chosen one; where each key starts among them; and the key of every chosen one."""
        starts, ends = self._key_starts, np.r_[self._key_starts[1:], len(self.key)]
        keys, place = np.unique(np.searchsorted(starts, chosen, side="right") - 1, return_inverse=True)
        rows, begins = _ranges(starts[keys], ends[keys])
        return rows, begins, place

    def best(self, gain: FloatArray) -> IntArray:
        """For each profile that stands first its pair with the largest gain, in the order of the keys."""
        order, starts = self._by_first
        sorted_gain = gain[order]
        size = np.diff(np.r_[starts, len(order)])
        places = np.flatnonzero(sorted_gain == np.repeat(np.maximum.reduceat(sorted_gain, starts), size))
        hub = self.first[order[places]]
        chosen = order[places[np.r_[True, hub[1:] != hub[:-1]]]]
        return chosen[np.argsort(self.key[chosen], kind="stable")]


def _ranges(starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """All whole numbers from each start to each end, one range after the other, and where each range begins."""
    sizes = ends - starts
    begins = np.cumsum(sizes) - sizes
    return np.arange(int(sizes.sum())) + np.repeat(starts - begins, sizes), begins


def places_of(order: IntArray, ranked: IntArray, wanted: IntArray) -> IntArray:
    """Where one of the wanted values stands, ascending; `order` sorts the values, which are then `ranked`."""
    ends = (np.searchsorted(ranked, wanted, side=side) for side in ("left", "right"))
    places: IntArray = np.sort(order[_ranges(*ends)[0]])
    return places


def common_options(totals: IntArray, most: int = EFFORT.partners) -> BoolArray:
    """Which columns all others exchange votes with: all of them where there are few, else those with most votes."""
    common = np.ones(len(totals), dtype=bool)
    if len(totals) > 2 * EFFORT.partners:
        common[np.argsort(-totals, kind="stable")[most:]] = False
    return common


class Exchanges:
    """Where votes can be exchanged in a system with a joint roll; public facts only.

    `blocks` give the slice of every profile, out of so many `slices`; `low` and `high` end its counts, one column per
    variable. `tops` are the blocks that no other one refines; only these have pairs. Pairs and links are found once per
    block and kept.
    """

    def __init__(self, blocks: IntArray, slices: int, people: IntArray, low: IntArray, high: IntArray) -> None:
        self.blocks, self.slices, self.people, self.low, self.high = blocks, slices, people, low, high
        self.n_free_options = low.shape[1]
        self.tops = finest(blocks)
        self._pairs: dict[int, Pairs] = {}
        self._links: dict[int, Links] = {}

    def pairs(self, block: int) -> Pairs:
        """All pairs that differ in `block` only."""
        if block not in self._pairs:
            self._pairs[block] = self._find(block)
        return self._pairs[block]

    def links(self, block: int, most: int) -> Links:
        """Per slice and neighbouring slice: the largest pairs between them, at most so many."""
        if block not in self._links:
            self._links[block] = self.linked(block, self.pairs(block), most)
        return self._links[block]

    def linked(self, block: int, pairs: Pairs, most: int) -> Links:
        """Pairs by the two slices of `block` that they stand in, at most so many each; most pairs first per slice."""
        slices = self.blocks[block]
        links: dict[int, dict[int, tuple[IntArray, IntArray]]] = {}
        ends = np.r_[np.flatnonzero(np.diff(pairs.key)) + 1, len(pairs.key)].tolist() if len(pairs.key) else []
        for start, end in zip([0, *ends], ends, strict=False):
            few = slice(start, min(end, start + most))
            a, b = pairs.first[few], pairs.second[few]
            links.setdefault(int(slices[a[0]]), {})[int(slices[b[0]])] = (a, b)
            links.setdefault(int(slices[b[0]]), {})[int(slices[a[0]])] = (b, a)
        return Links(
            {here: dict(sorted(near.items(), key=lambda link: -len(link[1][0]))) for here, near in links.items()}
        )

    def _find(self, block: int) -> Pairs:
        """Pairs of profiles that differ in this block alone; none where nothing differs, or a finer block differs as
        well.
        """
        codes = self.blocks
        if block not in self.tops or (codes[block] == codes[block][:1]).all():
            none = np.zeros(0, dtype=np.int64)  # who differs there differs in a finer block too; or nothing differs
            return Pairs(none, none, none)
        return self.alike(block, codes[[top for top in self.tops if top != block]])

    def alike(self, block: int, others: IntArray) -> Pairs:
        """Pairs that differ in `block` and agree in every row of `others` (one code per profile).

        Each class of agreeing profiles gets a hub, a large one in the commonest slice; the pairs are the hub with every
        other profile of another slice. Profiles with a ceiling below their people stand in no pair.
        """
        codes, others = self.blocks, others.T + 1
        keys = row_keys(others, [int(column.max(initial=0)) + 1 for column in others.T])
        own = codes[block]
        order = self._hubs_first(keys, own)
        keys = keys[order]
        start = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
        # A star around one hub per key instead of all pairs: linear in the profiles, and any two are two links apart.
        first = np.repeat(order[start], np.diff(np.r_[start, len(keys)]))
        whole = np.asarray((self.high >= self.people[:, None]).all(axis=1))
        differs = np.flatnonzero((own[first] != own[order]) & whole[first] & whole[order])
        first, second = first[differs], order[differs]
        slices = row_keys(np.stack([own[first], own[second]], axis=1) + 1, [int(own.max()) + 2] * 2)
        key = grouped(slices)[1]
        if ((first[1:] == first[:-1]) & (key[1:] == key[:-1])).any():
            alone = grouped(key * len(own) + first)[0]
            first, second, key = first[alone], second[alone], key[alone]
        largest = np.argsort(key * len(own) + np.maximum(self._rank[first], self._rank[second]))
        return Pairs(first[largest], second[largest], key[largest])

    @cached_property
    def _by_size(self) -> IntArray:
        return np.argsort(-self.people, kind="stable")

    @cached_property
    def _rank(self) -> IntArray:
        """The place of every profile when they stand by size, the largest first."""
        rank = np.empty_like(self._by_size)
        rank[self._by_size] = np.arange(len(rank))
        return rank

    def _hubs_first(self, keys: IntArray, own: IntArray) -> IntArray:
        """Profiles by key, those in the commonest slice first, then the largest: a large hub has votes to exchange."""
        size = np.bincount(own + 1)
        common = np.argsort(np.argsort(-size, kind="stable"))[own + 1]
        # Three sort keys in one integer where they fit into 64 bits; else lexsort, which is slower.
        if (int(keys.max(initial=0)) + 1) * len(size) * len(keys) >= 2**62:
            return np.lexsort((self._rank, common, keys))
        together = (keys * len(size) + common) * len(keys) + self._rank  # sorting numbers is the quickest way
        together.sort()
        order: IntArray = self._by_size[together % max(len(keys), 1)]
        return order

    def reach(self, counts: IntArray, wanted: BoolArray, few: float) -> Iterator[tuple[IntArray, IntArray]]:
        """Block by block, the least and most of every entry (what is left last) over single exchanges from `counts`.

        Only profiles that are `wanted` are followed up (whoever asks may strike some off between blocks); where they
        have less than a share of `few` of the pairs, only these and their neighbours are looked at.
        """
        matrix = self.matrix(counts)
        common = common_options(matrix.sum(axis=0))
        least, most = matrix.copy(), matrix.copy()
        for block in range(len(self.blocks)):
            pairs = self.pairs(block)
            asked = wanted[pairs.first] | wanted[pairs.second]
            if not asked.any():
                continue
            if asked.mean() < few:
                touched = np.zeros(int(pairs.key[-1]) + 1, dtype=bool)
                touched[pairs.key[asked]] = True
                near = touched[pairs.key]  # votes come back through pairs of the same two slices
                pairs, asked = Pairs(pairs.first[near], pairs.second[near], pairs.key[near]), asked[near]
            chosen = np.flatnonzero(asked)
            lead = chosen[grouped(pairs.first[chosen])[0]]
            first, second = matrix[pairs.first], matrix[pairs.second]
            for given in range(matrix.shape[1]):
                for taken in range(matrix.shape[1]):
                    if given == taken or not (common[given] or common[taken]):
                        continue
                    # Votes go one way through one pair and must come back through others with the same two slices, or a
                    # margin changes.
                    back = np.minimum(first[:, taken], second[:, given])
                    supply = np.bincount(pairs.key, back).astype(np.int64)
                    for some, profiles, minus, plus in (
                        (lead, pairs.first[lead], given, taken),
                        (chosen, pairs.second[chosen], taken, given),
                    ):
                        units = np.minimum(first[some, given], second[some, taken])
                        units = np.minimum(units, supply[pairs.key[some]] - back[some])
                        least[profiles, minus] = np.minimum(least[profiles, minus], matrix[profiles, minus] - units)
                        most[profiles, plus] = np.maximum(most[profiles, plus], matrix[profiles, plus] + units)
            yield least, most

    def shuffle(self, counts: IntArray, want: FloatArray, generator: Generator) -> IntArray:
        """Another integer table with the same margins: many exchanges at once in every block.

        `want` says per profile and column where a higher (positive) or lower count is wanted; exchanges go there first.
        Halves of the profiles are drawn per block, so that votes have somewhere to come back from. The result satisfies
        every fact that `counts` does; callers check it by addition all the same.
        """
        matrix = self.matrix(counts).copy()
        count = len(self.blocks)
        for block in generator.permutation(count).tolist():
            pairs = self.pairs(block)
            if not len(pairs.key) or count < 2:
                continue
            other = int(generator.choice([number for number in range(count) if number != block]))
            halves = generator.random(self.slices + 1) - 0.5
            chance = halves[self.blocks[other]][pairs.first]
            options = generator.permutation(matrix.shape[1]).tolist()
            for given, taken in zip(options[::2], options[1::2], strict=False):
                gain = want[pairs.first, taken] - want[pairs.first, given]
                gain = gain + want[pairs.second, given] - want[pairs.second, taken] + chance
                order = pairs.best(np.abs(gain))
                _trade(matrix, pairs, order, gain[order] > 0, (given, taken))
        result: IntArray = matrix[:, : self.n_free_options].ravel()
        return result

    def matrix(self, counts: IntArray) -> IntArray:
        """Counts per profile and option, with what is left of its people in the last column."""
        chosen = counts.reshape(-1, self.n_free_options)
        return np.column_stack([chosen, self.people - chosen.sum(axis=1)])


def finest(blocks: IntArray) -> tuple[int, ...]:
    """The blocks that no other one refines: who agrees in all of these agrees in every block."""
    kept: list[tuple[int, IntArray]] = []
    sizes = [len(distinct(block)) for block in blocks]
    for block in sorted(range(len(blocks)), key=lambda place: (-sizes[place], place)):
        own = blocks[block]
        # A finer one has one slice of this for each of its own: that of any profile of it.
        if not any((own[some] == own).all() for _, some in kept):
            kept.append((block, _some_of_slice(own)))
    return tuple(sorted(block for block, _ in kept))


def _some_of_slice(block: IntArray) -> IntArray:
    """For every profile one that lies in the same slice, the same one for all of them."""
    some = np.zeros(int(block.max(initial=-1)) + 2, dtype=np.int64)
    some[block + 1] = np.arange(len(block))
    found: IntArray = some[block + 1]
    return found


def _trade(matrix: IntArray, pairs: Pairs, order: IntArray, half: BoolArray, options: tuple[int, int]) -> None:
    """Swap one way in one half of the pairs and back in the other, as much as both allow. No profile stands twice.

    Changes `matrix` in place. Per key the smaller of the two directions limits both, so the sums of its slices stay.
    """
    given, taken = options
    first, second, key = pairs.first[order], pairs.second[order], pairs.key[order]
    there = np.where(half, np.minimum(matrix[first, given], matrix[second, taken]), 0)
    back = np.where(half, 0, np.minimum(matrix[first, taken], matrix[second, given]))
    total = np.minimum(np.bincount(key, there), np.bincount(key, back)).astype(np.int64)
    for room, minus, plus in ((there, given, taken), (back, taken, given)):
        before = np.cumsum(room) - room
        start = np.r_[True, key[1:] != key[:-1]]
        before -= np.repeat(before[start], np.diff(np.r_[np.flatnonzero(start), len(key)]))
        # Pairs of one key in order until the smaller of both directions is used up: the sums of both slices stay.
        units = np.clip(total[key] - before, 0, room)
        matrix[first, minus] -= units
        matrix[first, plus] += units
        matrix[second, minus] += units
        matrix[second, plus] -= units

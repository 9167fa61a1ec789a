"""Areas with very many parts: further levels, on which nothing is measured.

Statement
    A level on which nothing is measured adds no information, so the least-squares estimate stays the same. Tables are
    integers, and are solved for the parts of one area at a time: with at most `GROUP` parts each, the time is linear in
    the number of areas, and every constraint still holds exactly, since groups add up to their area.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from safemargin.core import IntArray, frozen
from safemargin.topdown.design import Design, Spine

# Parts of one area from which on they are solved in groups. One problem of 16,000 parts with 8 counts took 7.7 s of
# CPU, one of 4,000 took 1.05 s and one of 1,000 took 0.25 s: rounding grows faster than its size, so it is cut.
MOST_PARTS, GROUP = 2_000, 1_000


def with_groups_of_areas(design: Design) -> tuple[Design, tuple[int, ...]]:
    """The same design with further levels where areas have very many parts, and the place of every level in it.

    Groups of parts, in their order, are areas that nothing is measured on: estimates are the same, and tables are
    solved group by group, in linear time.
    """
    spine = design.spine
    levels, names, parents, places = [spine.levels[0]], [spine.names[0]], [spine.parents[0]], [0]
    for level in range(1, len(spine.levels)):
        above, chain = spine.parents[level], list[IntArray]()
        while len(above) and int(np.bincount(above).max()) > MOST_PARTS:
            first = np.flatnonzero(np.diff(above, prepend=-1))
            rank = np.arange(len(above)) - first[above]  # parts of an area are contiguous
            new = np.diff(above, prepend=-1) + (rank % GROUP == 0) > 0
            chain.append(np.cumsum(new) - 1)
            above = above[new]
        for depth in reversed(range(len(chain))):
            levels.append(f"{spine.levels[level]}, groups {depth + 1}")
            parents.append(frozen(above if depth == len(chain) - 1 else chain[depth + 1]))
            names.append(tuple(f"{group + 1}" for group in range(len(parents[-1]))))
        levels.append(spine.levels[level])
        parents.append(frozen(chain[0]) if chain else above)
        names.append(spine.names[level])
        places.append(len(levels) - 1)
    if len(levels) == len(spine.levels):
        return design, tuple(places)
    shares, queries = [Fraction(0)] * len(levels), [{design.attributes.detailed: Fraction(1)} for _ in levels]
    for level, place in enumerate(places):
        shares[place], queries[place] = design.shares[level], dict(design.queries[level])
    wide = replace(
        design,
        spine=Spine(tuple(levels), tuple(names), tuple(parents)),
        shares=tuple(shares),
        queries=tuple(queries),
        exact=tuple((places[level], query) for level, query in design.exact),
        bounds=tuple((places[level], limit) for level, limit in design.bounds),
        earlier=tuple((places[level], limit) for level, limit in design.earlier),
        weighted=tuple((places[level], limit) for level, limit in design.weighted),
    )
    return wide, tuple(places)

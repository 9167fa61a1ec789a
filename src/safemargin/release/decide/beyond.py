"""Reasons that fix one count only: part of a block is beyond a strict limit, and all else is left open.

Objects
    block       groups that a release P merges, or a whole axis that it omits; not one of suppressed groups
    part        a child of the block in the tree of its axis
    beyond      a range of one option's count in a part, all of it outside the strict limits (`SumRange`)

Statement (docs/decide.md)
    Let every block of P have such a range. Every table W that agrees with P and with the ranges leads the rule to P.
    The part is irregular in W, whatever its count in the range and whatever the other options have. The strict limits
    are subadditive, so one of its groups is irregular as well, and so on down the tree: the block is not parted. The
    counts of the block itself, and of all others that P publishes, are those of P, so they are regular: nothing above
    them is merged. The first cut of W is the one of P, and what follows reads published counts only.

    So a certificate over all tables that agree with P and the ranges holds against somebody who knows the rule. It asks
    for less than one over tables with given sums of all options (`rerun.CounterfactualCause`), which are among them.

Invariants
    * Only the release, the roll and the rule are read.
    * The least count of a range, from the side of the target, is within the target: answers that explain a merge are
      not outside it by themselves.

Example
    Two strict limits of 92.5 %: of 200 people in a part, at least 186 with one answer. Of 150 people, 120 chose it all
    in all, so nobody can assume that 139 did: it explains nothing there.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from safemargin.core import UNBOUNDED, Group, Limits, PublishedTable, Schema, frozen
from safemargin.release.plan import SumRange

if TYPE_CHECKING:
    from safemargin.release.decide.rerun import ExplanationSearch
    from safemargin.release.rule.split import AxisPartition, GroupBlock

Ranked = tuple[float, SumRange]


def ranges_beyond(search: "ExplanationSearch", axis: int, block: "GroupBlock") -> list[SumRange]:
    """The ranges that explain one block, those first that change least; none where groups are suppressed one by one."""
    cover, limits = search.rule.covers[axis], search.rule.limits
    if cover.hides and search.candidate.splits[axis].is_published:
        return []
    sums, everybody = search.public_sums(axis, block), cover.split.size(block.whole)
    judged = ~np.array(limits.unchosen or (False,) * len(limits.floors))
    found: list[Ranked] = []
    for part in block.children:
        size = cover.split.size(part.whole)
        sizes = np.array([size])
        inner = limits.strict.least(sizes)[0] - 1, limits.strict.most(sizes)[0] + 1
        outer = limits.least(sizes)[0], limits.most(sizes)[0]
        for option in np.flatnonzero(judged[: limits.options]).tolist():
            least, most = max(int(sums[option]) - (everybody - size), 0), min(int(sums[option]), size)
            usual = int(sums[option]) * size / everybody
            if limits.has_ceiling[option] and (value := int(inner[1][option])) <= min(most, int(outer[1][option])):
                found.append((abs(value - usual), SumRange(cover.split.axis.name, part.whole, option, value, size)))
            if limits.has_floor[option] and (value := int(inner[0][option])) >= max(least, int(outer[0][option]), 0):
                found.append((abs(value - usual), SumRange(cover.split.axis.name, part.whole, option, 0, value)))
    return [each for _, each in sorted(found, key=lambda pair: (pair[0], sorted(pair[1].group), pair[1].option))]


def chosen_ranges(search: "ExplanationSearch", most: int) -> Iterator[tuple[SumRange, ...]]:
    """Sets of ranges, one per block, those first that change least; at most so many.

    Whoever tries them sets `search.failed` before the next is made: a range of one of these axes is then replaced.
    """
    lists = [ranges_beyond(search, axis, block) for axis, block in search.blocks]
    if not all(lists):
        return
    choice = [0] * len(lists)
    for _ in range(most):
        search.failed = ()
        yield tuple(ranges[place] for ranges, place in zip(lists, choice, strict=True))
        left = [number for number, place in enumerate(choice) if place + 1 < len(lists[number])]
        concerned = [number for number in left if lists[number][0].axis in search.failed] or left
        if not concerned:
            return
        choice[min(concerned, key=lambda number: choice[number])] += 1


def range_table(each: SumRange, schema: Schema) -> PublishedTable:
    """A range as a table of two groups of which nothing else is known."""
    inside: tuple[Group, ...] = (each.group, frozenset(schema.axis(each.axis).categories) - each.group)
    options = schema.options
    rows = len(inside) * len(options)
    lower, upper = np.zeros(rows, dtype=np.int64), np.full(rows, UNBOUNDED, dtype=np.int64)
    lower[each.option], upper[each.option] = each.least, each.most
    return PublishedTable(
        name=f"a part of {each.axis}",
        axes=(each.axis,),
        groups=(inside,),
        codes=frozen(np.repeat(np.arange(len(inside)), len(options))[:, None]),
        options=options,
        option=frozen(np.tile(np.arange(len(options)), len(inside))),
        lower=frozen(lower),
        upper=frozen(upper),
        status=("suppressed",) * rows,
    )


def is_beyond(split: "AxisPartition", block: "GroupBlock", ranges: Sequence[SumRange], limits: Limits) -> bool:
    """Whether one of these ranges, all of the axis, keeps a block together: all of it is outside the strict limits."""
    parts = {part.whole for part in block.children}
    for each in ranges:
        if each.group not in parts or not 0 <= each.option < limits.options:
            continue
        size = np.array([split.size(each.group)])
        least, most = limits.strict.least(size)[0, each.option], limits.strict.most(size)[0, each.option]
        judged = not limits.unchosen or not limits.unchosen[each.option]
        above = limits.has_ceiling[each.option] and each.least > most
        below = limits.has_floor[each.option] and each.most < least
        if judged and each.least <= each.most and (above or below):
            return True
    return False

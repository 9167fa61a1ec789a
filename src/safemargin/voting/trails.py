"""Trails: counts of votes reached from one another by turning votes of one kind into another, one at a time.

The chance that counts lie on a trail, with one vote against another, differs by its two ends only (Lemma 1): by the
chance of the exit with the first vote, less that of the entry with the second.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import factorial

Counts = tuple[int, ...]


@dataclass(frozen=True)
class Trail:
    """From `entry`, `length` votes of kind `start` become kind `end`."""

    entry: Counts
    start: int
    end: int
    length: int

    @property
    def exit(self) -> Counts:
        """Where it ends."""
        return self.points[-1]

    @property
    def points(self) -> list[Counts]:
        """All counts on it, the entry first.

        >>> Trail((5, 0), 0, 1, 2).points
        [(5, 0), (4, 1), (3, 2)]
        """
        found = []
        for moved in range(self.length + 1):
            counts = list(self.entry)
            counts[self.start] -= moved
            counts[self.end] += moved
            found.append(tuple(counts))
        return found


def chance(counts: Sequence[int], shares: Sequence[Fraction]) -> Fraction:
    """The multinomial chance of counts; none of negative ones."""
    if min(counts) < 0:
        return Fraction(0)
    found = Fraction(factorial(sum(counts)))
    for count, share in zip(counts, shares, strict=True):
        found *= share**count / factorial(count)
    return found


def chance_with(counts: Counts, vote: int, shares: Sequence[Fraction]) -> Fraction:
    """The chance of counts if one person casts `vote`: that the others make up the rest."""
    others = list(counts)
    others[vote] -= 1
    return chance(others, shares)


def ends_difference(trail: Trail, shares: Sequence[Fraction]) -> Fraction:
    """How much likelier the trail is with a vote of kind `start` than with one of kind `end`, from its ends alone."""
    return chance_with(trail.exit, trail.start, shares) - chance_with(trail.entry, trail.end, shares)


def trails_of(region: Callable[[Counts], bool], voters: int, kinds: int, start: int, end: int) -> Iterator[Trail]:
    """A region of counts parted into trails in one direction, each as long as can be."""

    def lines(left: int, place: int) -> Iterator[list[int]]:
        if place == kinds:
            yield []
        elif place in (start, end):
            yield from ([0, *rest] for rest in lines(left, place + 1))
        else:
            for count in range(left + 1):
                yield from ([count, *rest] for rest in lines(left - count, place + 1))

    for fixed in lines(voters, 0):
        free = voters - sum(fixed)
        begun: Counts | None = None
        for moved in range(free + 2):
            counts = list(fixed)
            counts[start], counts[end] = free - moved, moved
            inside = moved <= free and region(tuple(counts))
            if inside and begun is None:
                begun = tuple(counts)
            elif not inside and begun is not None:
                yield Trail(begun, start, end, begun[start] - (free - moved) - 1)
                begun = None

"""Counts over occupied profiles: what the office holds. Nothing here is published."""

from dataclasses import dataclass, field

import numpy as np

from safemargin.core.arrays import IntArray, frozen, group_sums, row_keys
from safemargin.core.axis import Schema
from safemargin.core.errors import InputError


@dataclass(frozen=True)
class Tally:
    """Counts per occupied combination of some axes: one row of `codes` and one row of `counts` each."""

    axes: tuple[str, ...]
    codes: IntArray
    counts: IntArray

    def __post_init__(self) -> None:
        if self.codes.shape != (len(self.counts), len(self.axes)):
            raise InputError(f"tally over {self.axes}: {self.codes.shape} codes for {len(self.counts)} counts")
        if (self.counts < 0).any():
            raise InputError(f"tally over {self.axes}: negative count {int(self.counts.min())}")

    @property
    def totals(self) -> IntArray:
        """Sum of every column."""
        sums: IntArray = self.counts.sum(axis=0)
        return sums

    def margin(self, axes: tuple[str, ...]) -> "Tally":
        """The tally summed over every axis that is not in `axes`."""
        if axes == self.axes:
            return self
        columns = [self.axes.index(name) for name in axes]
        codes = self.codes[:, columns]
        sizes = [int(codes[:, i].max(initial=0)) + 1 for i in range(len(columns))]
        first, sums = group_sums(row_keys(codes, sizes), self.counts)
        return Tally(axes, frozen(codes[first], len(axes)), frozen(sums, self.counts.shape[1]))


@dataclass(frozen=True)
class Inconsistency:
    """How far the totals of sealed elections over one electorate are apart (Remark 4 of the paper)."""

    rate: float = 0.0
    totals: dict[str, tuple[int, ...]] = field(default_factory=dict, hash=False)

    def slack(self, total: int) -> int:
        """How many votes a margin may be off, rounded up: the widening of its constraint."""
        return int(np.ceil(round(self.rate * total, 9)))


@dataclass(frozen=True)
class Table:
    """A population: who there is (`roll`, public in part) and what they chose (`votes`, secret).

    Microdata give one tally over all axes. Sealed elections give one tally per axis and none jointly: everything the
    product does to decide a release needs no more than that.
    """

    schema: Schema
    votes: tuple[Tally, ...]
    roll: tuple[Tally, ...]
    inconsistency: Inconsistency = Inconsistency()

    def __post_init__(self) -> None:
        if not self.votes or not any(len(tally.counts) for tally in self.votes):
            raise InputError("the table is empty: nobody is counted")

    def margin(self, axes: tuple[str, ...]) -> Tally:
        """Votes per option by `axes`, from any tally that contains them."""
        return _narrowest(self.votes, axes, "votes").margin(axes)

    def people(self, axes: tuple[str, ...]) -> Tally:
        """People on the roll by `axes`."""
        return _narrowest(self.roll, axes, "the roll").margin(axes)

    @property
    def knows_composition(self) -> bool:
        """Whether the roll is known jointly over all axes."""
        return any(set(tally.axes) >= set(self.schema.names) for tally in self.roll)

    @property
    def totals(self) -> IntArray:
        """Tier 0: votes per option over everybody."""
        return self.margin(()).counts[0] if self.margin(()).counts.size else self.votes[0].totals


def _narrowest(tallies: tuple[Tally, ...], axes: tuple[str, ...], what: str) -> Tally:
    holders = [tally for tally in tallies if set(tally.axes) >= set(axes)]
    if not holders:
        raise InputError(f"{what} are not known by {' x '.join(axes)}: no tally has these axes together")
    return min(holders, key=lambda tally: (len(tally.axes), len(tally.counts)))

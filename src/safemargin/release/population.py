"""Who there is and how they may answer: made-up answers for the people of a roll, before anything is counted.

Objects
    e          a profile: one category per axis, with N[e] people on the roll
    P[e, o]    the probability that somebody of profile e chooses option o; rows sum to 1
    T[e, o]    one draw: T[e] ~ Multinomial(N[e], P[e]), independent between profiles

Models for P
    stated     P[e, o] = s[o]: everybody chooses by the stated shares
    flat       the same, with s drawn uniformly from all share vectors in every draw (Dirichlet with parameters 1)
    last year  the table of maximum entropy with the roll of this year in which every group of every axis answers as it
               did then, found by iterative proportional fitting (Deming and Stephan 1940). A share of n people counts
               as (n * share + PRIOR * overall share) / (n + PRIOR); a group that was not there answers as everybody.

Where the roll is known by single axes only, the profiles are drawn too: every axis is dealt to the people at random.
Nothing here looks at answers of this year.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import Axis, FloatArray, Generator, InputError, Schema, Table, Tally, frozen

PRIOR = 2.0
"""People's worth of the overall share with which a share of last year is smoothed: no group is certain to agree."""
PASSES = 30
"""Passes of proportional fitting: margins agree to far less than the noise of a draw."""


@dataclass(frozen=True)
class CountedPopulation:
    """The people of a project without their answers: axes, options and the roll, and whether votes are sealed."""

    schema: Schema
    roll: tuple[Tally, ...]
    sealed: bool

    @property
    def people(self) -> int:
        """How many people there are."""
        return int(self.roll[0].counts.sum())

    @property
    def joint(self) -> Tally | None:
        """The roll over all axes together, where it is known."""
        names = self.schema.names
        known = next((tally for tally in self.roll if set(tally.axes) >= set(names)), None)
        return None if known is None else known.margin(names)

    @property
    def size(self) -> int:
        """How many counts a draw holds: profiles times options, at most one profile per person."""
        joint = self.joint
        profiles = self.people if joint is None else len(joint.counts)
        cells = int(np.prod([len(axis.categories) for axis in self.schema.axes], dtype=np.float64).clip(max=2**60))
        return min(profiles, cells) * len(self.schema.options)

    def profiles(self, draw: Generator) -> Tally:
        """The roll by profiles; drawn, where only the axes are known."""
        joint = self.joint
        if joint is not None:
            return joint
        columns = []
        for name in self.schema.names:
            alone = next(tally for tally in self.roll if name in tally.axes).margin((name,))
            people = np.repeat(alone.codes[:, 0], alone.counts[:, 0])
            columns.append(draw.permutation(people)[: self.people])
        codes, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
        return Tally(self.schema.names, frozen(codes, len(columns)), frozen(counts, 1))

    def answered(self, profiles: Tally, chances: FloatArray, draw: Generator) -> Table:
        """One draw of everybody's answers, as the project would count them."""
        votes = draw.multinomial(profiles.counts[:, 0], chances)
        joint = Tally(profiles.axes, profiles.codes, frozen(votes, votes.shape[1]))
        if not self.sealed:
            return Table(self.schema, (joint,), self.roll)
        single = tuple(joint.margin((name,)) for name in self.schema.names)
        return Table(self.schema, (*single, joint.margin(())), self.roll)


@dataclass(frozen=True)
class Model:
    """How people are thought to answer: stated shares, flat ones (none given), or those of last year by group."""

    words: str
    shares: Mapping[str, float] | None = None
    last: Table | None = None

    def chances(self, schema: Schema, profiles: Tally, draw: Generator) -> FloatArray:
        """P for every profile."""
        if self.last is not None:
            return fitted(schema, profiles, self.last)
        if self.shares is not None:
            overall = np.array([self.shares.get(option, 0.0) for option in schema.options])
        else:
            overall = draw.dirichlet(np.ones(len(schema.options)))
        return np.broadcast_to(overall / overall.sum(), (len(profiles.codes), len(overall)))


def fitted(schema: Schema, profiles: Tally, last: Table) -> FloatArray:
    """P in which every group of every axis answers as it did last year, as far as the roll of this year allows.

    Two groups of 100 people, two ages that are split evenly: the shares of both axes are met.

    >>> from safemargin.core import Axis
    >>> axes = Axis("area", ("N", "S")), Axis("age", ("old", "young"))
    >>> schema, codes = Schema(axes, ("A", "B")), frozen([[0, 0], [0, 1], [1, 0], [1, 1]], 2)
    >>> votes = Tally(schema.names, codes, frozen([[6000, 4000], [8000, 2000], [2000, 8000], [4000, 6000]], 2))
    >>> roll = Tally(schema.names, codes, frozen([50, 50, 50, 50], 1))
    >>> shares = fitted(schema, roll, Table(schema, (votes,), (roll,)))
    >>> [round(float(shares[rows, 0].mean()), 2) for rows in ([0, 1], [2, 3], [0, 2], [1, 3])]
    [0.7, 0.3, 0.4, 0.6]
    """
    people = profiles.counts[:, 0].astype(np.float64)
    overall = shares_of(schema.options, last.schema.options, last.totals[None, :].astype(np.float64), None)[0]
    table = people[:, None] * overall
    wanted = [_wanted(axis, schema.options, last, overall) for axis in schema.axes]
    for _ in range(PASSES):
        for column, shares in enumerate(wanted):
            codes = profiles.codes[:, column]
            sizes = np.bincount(codes, people, minlength=len(shares))
            now = np.stack([np.bincount(codes, part, minlength=len(shares)) for part in table.T], axis=1)
            ratio = np.divide(shares * sizes[:, None], now, out=np.ones_like(now), where=now > 0)
            table = table * ratio[codes]
        table *= (people / np.maximum(table.sum(axis=1), 1e-300))[:, None]
    chances: FloatArray = table / table.sum(axis=1, keepdims=True)
    return chances


def _wanted(axis: Axis, options: Sequence[str], last: Table, overall: FloatArray) -> FloatArray:
    """The shares of every category of an axis last year; those of everybody where it was not there."""
    if axis.name not in last.schema.names:
        return np.broadcast_to(overall, (len(axis.categories), len(overall)))
    then = last.margin((axis.name,))
    names = last.schema.axis(axis.name).categories
    counts = np.zeros((len(axis.categories), len(last.schema.options)))
    for code, row in zip(then.codes[:, 0].tolist(), then.counts, strict=True):
        if names[code] in axis.index:
            counts[axis.index[names[code]]] += row
    return shares_of(options, last.schema.options, counts, overall)


def shares_of(
    options: Sequence[str], then: Sequence[str], counts: FloatArray, overall: FloatArray | None
) -> FloatArray:
    """Shares per row under the options of this year, smoothed towards `overall`, or else towards equal shares."""
    columns = [then.index(option) if option in then else -1 for option in options]
    if not any(column >= 0 for column in columns):
        raise InputError(
            f"last year nobody could choose any of {', '.join(options)}; the options were {', '.join(then)}"
        )
    found = np.stack([counts[:, c] if c >= 0 else np.zeros(len(counts)) for c in columns], axis=1)
    prior = np.full(len(options), 1 / len(options)) if overall is None else overall
    shares: FloatArray = (found + PRIOR * prior) / (found.sum(axis=1, keepdims=True) + PRIOR)
    return shares

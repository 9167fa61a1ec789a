"""A second opinion on tables too large to enumerate: one program of scipy per end. Shares no code with `bounds`."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from safemargin.bounds import Exposure
from safemargin.core import PublishedTable, frozen

Counts = np.ndarray
"""People per combination of categories, with a last dimension for the options."""


def margin_of(
    counts: Counts,
    axes: Sequence[int],
    names: Sequence[Sequence[str]],
    options: Sequence[str] = (),
    people: bool = False,
) -> PublishedTable:
    """The exact margin over some axes; a joint roll of people omits empty combinations."""
    sums = counts.sum(axis=tuple(a for a in range(counts.ndim - 1) if a not in axes))
    codes = np.indices(sums.shape).reshape(len(axes) + 1, -1).T
    codes, values = (codes[sums.ravel() > 0], sums[sums > 0]) if people else (codes, sums.ravel())
    return PublishedTable(
        "roll" if people else " x ".join(f"a{a}" for a in axes) or "total",
        tuple(f"a{a}" for a in axes),
        tuple(tuple(frozenset([name]) for name in names[a]) for a in axes),
        frozen(codes[:, :-1], len(axes)),
        tuple(options),
        frozen(codes[:, -1] if options else np.full(len(values), -1)),
        frozen(values),
        frozen(values),
        ("exact",) * len(values),
        "people" if people else "count",
    )


def names_of(shape: Sequence[int]) -> list[list[str]]:
    """Names of categories."""
    return [[f"c{code:02d}" for code in range(size)] for size in shape]


def two_way(counts: Counts, names: Sequence[Sequence[str]]) -> list[PublishedTable]:
    """All two-way margins."""
    return [margin_of(counts, pair, names) for pair in combinations(range(counts.ndim - 1), 2)]


class Peer:
    """The integer tables with the margins of `counts` over `faces`, and at most `people` in each cell."""

    def __init__(self, counts: Counts, faces: Sequence[Sequence[int]], people: Counts | None = None) -> None:
        self.shape, self.options = counts.shape[:-1], counts.shape[-1]
        places = np.arange(counts.size).reshape(counts.shape)
        parts = []
        for face in faces:
            others = [a for a in range(len(self.shape)) if a not in face]
            parts.append(
                np.moveaxis(places, others, range(len(others)))
                .reshape(int(np.prod([self.shape[a] for a in others])), -1)
                .T
            )
        members = [row for part in parts for row in part]
        at = np.repeat(np.arange(len(members)), [len(row) for row in members])
        matrix = sparse.csr_array((np.ones(len(at)), (at, np.concatenate(members))), shape=(len(members), counts.size))
        sums = matrix @ counts.ravel()
        self.rows = [LinearConstraint(matrix, sums, sums)]
        if people is not None:
            cells = np.repeat(np.arange(people.size), self.options)
            shared = sparse.csr_array((np.ones(counts.size), (cells, np.arange(counts.size))))
            everybody = counts.sum() == people.sum()
            self.rows.append(LinearConstraint(shared, people.ravel() if everybody else 0, people.ravel()))

    def end(self, cell: Sequence[int], option: int, upwards: bool, whole: bool = True) -> float | None:
        """One end of one cell, or nothing if the solver does not come to its end."""
        place = int(np.ravel_multi_index([*cell, option], (*self.shape, self.options)))
        size = int(np.prod(self.shape)) * self.options
        cost = np.zeros(size)
        cost[place] = -1.0 if upwards else 1.0
        found = milp(
            cost,
            constraints=self.rows,
            integrality=np.full(size, int(whole)),
            bounds=Bounds(0, np.inf),
            options={"time_limit": 400.0, "mip_rel_gap": 0.0},
        )
        return float(cost[place] * found.fun) if found.status == 0 else None


def differences(
    exposure: Exposure, peer: Peer, names: Sequence[Sequence[str]], rng: np.random.Generator, ends: int
) -> tuple[list[str], int]:
    """Where a random sample of ends differs, and how many of them the peer could work out."""
    wrong, compared = [], 0
    order = [int(axis[1:]) for axis in exposure.cells.axes]
    for _ in range(ends):
        row, option = int(rng.integers(len(exposure.cells))), int(rng.integers(exposure.lower.shape[1]))
        upwards = bool(rng.integers(2))
        cell = [0] * len(order)
        for axis, name in zip(order, exposure.cells.cell(row).values(), strict=True):
            cell[axis] = list(names[axis]).index(name)
        theirs = peer.end(cell, option, upwards)
        ours = int((exposure.upper if upwards else exposure.lower)[row, option])
        if theirs is not None:
            compared += 1
            if round(theirs) != ours:
                wrong.append(f"{cell} option {option} {'upper' if upwards else 'lower'}: {ours}, peer {theirs}")
    return wrong, compared

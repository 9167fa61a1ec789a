"""Publishing the sums that a rule counts, such as the points of every candidate."""

from collections.abc import Sequence
from math import exp, inf, log

import numpy as np

from safemargin.core import no_progress
from safemargin.voting.chances import Worst
from safemargin.voting.election import Kinds
from safemargin.voting.lattice import VoteGrid, law_of


def sums_worst(kinds: Kinds, grid: VoteGrid, epsilons: Sequence[float]) -> list[Worst]:
    """Delta at every epsilon: laws of all sums with one vote, less those with another, where they are larger."""
    law = law_of(kinds, grid, no_progress)
    most = grid.steps.max(axis=0)
    whole = []
    for step in grid.steps:
        padded = np.zeros(tuple(size + int(more) for size, more in zip(law.shape, most, strict=True)))
        padded[tuple(slice(int(at), int(at) + size) for at, size in zip(step, law.shape, strict=True))] = law
        whole.append(padded)
    found = []
    for epsilon in epsilons:
        best, pair = 0.0, (0, 1)
        for x in range(len(kinds)):
            for y in range(len(kinds)):
                if x != y:
                    delta = float(np.maximum(whole[x] - exp(epsilon) * whole[y], 0.0).sum())
                    best, pair = (delta, (x, y)) if delta > best * (1 + 1e-12) else (best, pair)
        found.append(Worst(best, log(best) if best else -inf, pair, ()))
    return found

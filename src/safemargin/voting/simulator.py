"""The other definition: a simulator that does not see the vote must come as close to the result as delta allows.

A guarantee of the definition used elsewhere gives this one with the same numbers; the way back costs a factor.
"""

from math import exp

import numpy as np
from scipy.optimize import linprog

from safemargin.voting.chances import Chances


def simulator_delta(chances: Chances, epsilon: float = 0.0) -> float:
    """The least delta of any simulator, for one belief and nothing else known: a linear program."""
    likely = np.exp(chances.log_likely)
    votes, results = likely.shape
    factor = exp(epsilon)
    size = results + 2 * votes * results + 1  # the simulated law, two kinds of excess, delta
    rows: list[tuple[dict[int, float], float]] = []
    for vote in range(votes):
        up, down = results + vote * results, results + (votes + vote) * results
        for r in range(results):
            rows.append(({r: -factor, up + r: -1.0}, -float(likely[vote, r])))
            rows.append(({r: 1.0, down + r: -1.0}, factor * float(likely[vote, r])))
        for start in (up, down):
            rows.append(({**{start + r: 1.0 for r in range(results)}, size - 1: -1.0}, 0.0))
    matrix = np.zeros((len(rows), size))
    for number, (row, _) in enumerate(rows):
        for column, value in row.items():
            matrix[number, column] = value
    cost = np.zeros(size)
    cost[-1] = 1.0
    whole = np.zeros((1, size))
    whole[0, :results] = 1.0
    found = linprog(cost, matrix, [limit for _, limit in rows], whole, [1.0], method="highs")
    assert found.fun is not None
    return max(float(found.fun), 0.0)

"""Global differential privacy: noise on every count of every table, the totals too."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from safemargin.core import UNBOUNDED, IntArray, Publication, PublishedTable, about_a_person, frozen
from safemargin.release.compare.method import Case, Method, Tables
from safemargin.samplers.geometric import Geometric


def global_dp(case: Case) -> list[Method]:
    """One method per epsilon. A person is in one cell of every table, so the budget is split over the tables."""
    return [_with(case, epsilon) for epsilon in case.epsilons]


def _with(case: Case, epsilon: float) -> Method:
    noise = Geometric(epsilon / len(case.exact))
    words = f"one person more or less changes the odds of anything printed by at most e^{epsilon:g}"
    return Method(
        name=f"global DP, epsilon {epsilon:g}",
        family="global DP",
        does=f"two-sided geometric noise with epsilon {noise.epsilon:.3g} on every count of {len(case.exact)} tables",
        draw=partial(_draw, case.exact, noise),
        known=lambda tables, onlooker: Publication(tables, case.target),
        is_random=True,
        loss=epsilon,
        expected=noise.mean_size,
        guarantee=words,
        promises=(about_a_person(f"global DP, epsilon {epsilon:g}", words, epsilon),),
        auxiliary=f"whatever else somebody knows, one person changes the odds by at most e^{epsilon:g}",
    )


def _draw(exact: Tables, noise: Geometric, draws: int) -> Iterator[Tables]:
    counts = np.concatenate([table.lower for table in exact])
    ends = np.cumsum([len(table.lower) for table in exact])[:-1]
    for noisy in noise.protect(np.tile(counts, (draws, 1))):
        yield tuple(noised(table, mine) for table, mine in zip(exact, np.split(noisy, ends), strict=True))


def noised(table: PublishedTable, printed: IntArray) -> PublishedTable:
    """A table with `printed` in place of its counts, none of which is a fact."""
    rows = len(table.lower)
    return replace(
        table,
        lower=frozen(np.zeros(rows)),
        upper=frozen(np.full(rows, UNBOUNDED)),
        status=("noised",) * rows,
        noisy=frozen(printed),
    )

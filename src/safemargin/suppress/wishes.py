"""Among patterns of one size, one in which the fewest primary counts are known to lie in the primary range."""

import time

import numpy as np

from safemargin.core import BoolArray, IntArray
from safemargin.suppress.barriers import Reasons
from safemargin.suppress.coalition import PUBLIC
from safemargin.suppress.cover import Covering
from safemargin.suppress.problem import Problem
from safemargin.suppress.repair import Repair

ROUNDS = 200


def exposed(asked: Problem, repair: Repair, pattern: BoolArray) -> IntArray:
    """Primary cells of a pattern whose count cannot rise beyond the primary range."""
    wanted = asked.primary & (asked.wishes > 0)
    return np.array(repair.exposed(pattern, asked.wishes, wanted), dtype=np.int64)


def refine(
    asked: Problem,
    repair: Repair,
    covering: Covering,
    pattern: BoolArray,
    worst: IntArray,
    extra: int,
    deadline: float,
) -> tuple[BoolArray, IntArray]:
    """A pattern with fewer exposed cells than the `worst` ones of `pattern`, and at most `extra` cells more; and those.

    Only whole patterns are compared: a choice of cells that leaves one of them known yields barriers as in the search.
    """
    best, least = pattern, 0
    size = int((pattern & ~asked.gone).sum()) + extra
    _wish(asked, covering, pattern, worst)
    for _ in range(ROUNDS):
        if len(worst) <= least or time.monotonic() > deadline:
            break
        cover = covering.solve(max(deadline - time.monotonic(), 1.0), size)
        least = max(least, int(np.ceil(cover.bound - 1e-6)))
        trial = asked.gone | cover.chosen
        short = repair.lacks(trial)
        if short:
            reasons = Reasons(asked, trial)
            found = [reasons.find(view, cell) for view, cell in short]
            if not any([covering.add(barrier) for barrier in found if barrier is not None]):
                break
            continue
        now = exposed(asked, repair, trial)
        if len(now) < len(worst):
            best, worst = trial, now
        if not _wish(asked, covering, trial, np.setdiff1d(now, list(cover.given_up))):
            break
    return best, worst


def _wish(asked: Problem, covering: Covering, pattern: BoolArray, cells: IntArray) -> bool:
    """Barriers against the wishes of some cells; False if none is new."""
    reasons = Reasons(asked, pattern)
    new = False
    for cell in cells.tolist():
        barrier = reasons.rising(PUBLIC, cell, int(asked.wishes[cell]))
        new |= barrier is not None and covering.wish(barrier)
    return new

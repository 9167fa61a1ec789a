"""Cuts that rest on integrality: where a fractional move exists and no integer one.

Objects (as in `moves.py` and `cuts.py`)
    S           a trial, and i one of its cells, known to within tau although a fractional move changes it by more
    W           a set of cells that contains S

Statement
    No multipliers prove that i is held in place, since linear programs cannot show what only integers do. An integer
    program does, for W in place of S: if no integer move inside W changes i as required, none does inside any subset
    of W. So every pattern that protects i suppresses a cell outside W: the published cells outside W are a cut.

Method
    The larger W, the smaller and stronger the cut. Bisection adds blocks of cells as long as i stays where it is. Each
    step takes an integer program, so this is done for tables of a few hundred cells only. The proof rests on all
    counts of this table, so `Cut.proof` is None, and the cut is not carried to other tables.
"""

import numpy as np

from safemargin.core import BoolArray
from safemargin.suppress.cuts import Cut
from safemargin.suppress.finder import MoveFinder
from safemargin.suppress.moves import Problem, View


def integer_cut(problem: Problem, trial: BoolArray, view: View, cell: int) -> Cut | None:
    """A cut for a suppressed `cell` of a `trial` that rests on integrality; None if integer moves protect the cell."""
    moves = MoveFinder(problem)

    def impossible(suppressed: BoolArray, amounts: tuple[int, ...]) -> bool:
        moves.open(suppressed, None, view)
        return all(move is None and proved for move, proved in (moves.find(cell, amount) for amount in amounts))

    rise, width = int(problem.rise_for(view)[cell]), problem.width
    ways: list[tuple[int, ...]] = [(rise,)] if rise else []
    ways += [(up, up - width - 1) for up in range(1, width + 1)]
    amounts = next((way for way in ways if impossible(trial, way)), None)
    if amounts is None:
        return None
    suppressed = trial.copy()
    blocks = [np.setdiff1d(np.flatnonzero(problem.candidates & ~trial), view.known)]
    while blocks:  # bisection: a block that changes nothing is not part of the cut
        block = blocks.pop()
        wider = suppressed.copy()
        wider[block] = True
        if impossible(wider, amounts):
            suppressed = wider
        elif len(block) > 1:
            blocks += [block[: len(block) // 2], block[len(block) // 2 :]]
    cells = np.setdiff1d(np.flatnonzero(~suppressed & problem.candidates), view.known)
    return Cut(cell, amounts[0] if len(amounts) == 1 else 0, tuple(cells.tolist()), view, None)

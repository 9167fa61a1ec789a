"""Counts that nobody told, filled in: one population that has all the counts that are told."""

import numpy as np
from scipy import sparse

from safemargin.bounds.solver import Form, is_infeasible, solver_of, values_of
from safemargin.core import InputError, IntArray, TooLargeError
from safemargin.suppress.linked import NOT_TOLD, Linked

SECONDS = 60.0


def floors(tables: Linked) -> IntArray:
    """What a count is at least that is not printed: one in a gap, since zeros are published, none elsewhere."""
    floor: IntArray = np.r_[(tables.new | tables.gaps).astype(np.int64), np.zeros(len(tables.people), dtype=np.int64)]
    return floor


def fill(tables: Linked) -> IntArray:
    """A count for every cell, then for all people; those that are told stay as they are."""
    counts: IntArray = np.r_[tables.counts, np.full(len(tables.people), NOT_TOLD, dtype=np.int64)]
    asked = np.flatnonzero(counts == NOT_TOLD)
    if not len(asked):
        return counts
    told = np.where(counts == NOT_TOLD, 0, counts)
    left = (-(tables.equations @ told)).astype(np.float64)
    matrix = sparse.csc_array(tables.equations[:, asked].astype(np.float64))
    lower = floors(tables)[asked].astype(np.float64)
    form = Form(matrix, np.zeros(len(asked)), lower, np.full(len(asked), np.inf), left, left)
    solver = solver_of(form, {"time_limit": SECONDS}, whole=True)
    solver.run()
    values = values_of(solver)
    if values is None:
        if is_infeasible(solver):
            raise InputError("the tables contradict each other: no population has all of these counts")
        raise TooLargeError(f"no population with all of these counts was found in {SECONDS:.0f} s; give fewer tables")
    counts[asked] = np.rint(values).astype(np.int64)
    if (tables.equations @ counts).any():
        raise TooLargeError("no population of whole people with all of these counts was found; give fewer tables")
    return counts

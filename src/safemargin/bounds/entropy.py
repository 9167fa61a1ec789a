"""The maximum-entropy fit: what an analyst believes who knows the roll and the published facts, and nothing else.

Objects
    N[e], s[e, o]   people of profile e, and the share of them that the fit gives to option o
    A, l, u         the published sums: l <= A (N s) <= u, equal where a count is exact
    theta           one effect per published sum; the share is softmax of the effects that touch it

Statement
    Of all real-valued tables that satisfy every fact, the fit is the one whose answers are spread as evenly as
    possible: it has the largest sum over profiles of `people * entropy of the shares`. Its shares are logistic (two
    options) or multinomial (more) in one effect per published count (Csiszar 1975); people without a listed option are
    an option of their own. Unlike in `witness.py`, bounds of single counts are no part of its form: they would draw it
    to their middle.

Method
    The dual is convex: minimise sum_e N[e] log sum_o exp((A' theta)[e, o]) - theta . (l where theta > 0, u elsewhere).
    A range has a kink at theta = 0, where its sum is free to lie inside. Damped Newton over the rows that bind, with
    Armijo steps that stop at the kink.

What callers may rely on
    * A fit that is returned misses no sum by more than `EFFORT.fitted_miss`; where Newton does not get there, none is.
    * It is a belief, not a proof: nothing here is ever used to clear a cell of a release.

Example
    Without an interaction in the facts the fit has none: each profile gets the overall share.

    >>> from safemargin.bounds.build import build_system
    >>> from safemargin.core import exact_margins, onlooker_with_roll, table_of
    >>> votes = [[2, 8], [10, 0], [10, 0], [2, 8]]
    >>> table = table_of({"district": ("N", "S"), "age": ("old", "young")}, votes, [10] * 4)
    >>> system = build_system(exact_margins(table), onlooker_with_roll(table, "joint"))
    >>> fit_maximum_entropy(system, np.ones((4, 2), dtype=bool)).round(6).tolist()
    [[6.0, 4.0], [6.0, 4.0], [6.0, 4.0], [6.0, 4.0]]
"""

import numpy as np

from safemargin.bounds.effort import EFFORT
from safemargin.bounds.system import System
from safemargin.bounds.witness import SoftmaxDual, newton_step
from safemargin.core import BoolArray, FloatArray, one_thread


def fit_maximum_entropy(system: System, possible: BoolArray, prior: FloatArray | None = None) -> FloatArray | None:
    """Expected counts per profile (rows) and option (columns), what the variables leave last; none if it fails.

    `possible` is false where a count is known to be 0. The fit has no finite effects there, so such counts are
    excluded from it. With `prior` shares, in the same shape, the fit is the table nearest to them in information
    (iterative proportional fitting that starts from them).
    """
    dual = _Dual(system, possible, prior)
    with one_thread():
        values, residual = _minimise(dual)
    return values if residual < EFFORT.fitted_miss else None


class _Dual:
    """The convex dual: one effect `theta` per row; it is positive only at the least sum, negative only at the most."""

    def __init__(self, system: System, possible: BoolArray, prior: FloatArray | None) -> None:
        assert system.people is not None
        self.softmax = SoftmaxDual(system, system.low, system.high)
        self.free, self.people = system.n_free_options, system.people.astype(np.float64)
        self.span = np.repeat(self.people, system.n_free_options)
        self.barrier = np.where(possible, 0.0 if prior is None else np.log(prior), -np.inf)
        self.most = self.softmax.goal
        self.least = system.lower[self.softmax.rows].astype(np.float64)
        self.ranged = self.most > self.least

    def evaluate(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """The objective, and the shares of all options in every profile."""
        free = self.softmax.adjoint(theta).reshape(-1, self.free)
        logits = np.column_stack([free, np.zeros(len(free))]) + self.barrier
        # Shifted by the largest exponent, as softmax and log-sum-exp overflow otherwise.
        top = logits.max(axis=1, keepdims=True)
        weight = np.exp(logits - top)
        total = weight.sum(axis=1, keepdims=True)
        value = float(self.people @ (top + np.log(total))[:, 0])
        return value - float(theta @ np.where(theta > 0, self.least, self.most)), weight / total

    def gradient(self, theta: FloatArray, share: FloatArray) -> FloatArray:
        """The smallest subgradient: 0 for a row without effect whose sum lies in its range."""
        sums = self.softmax.sums(self.span * share[:, :-1].ravel())
        inside = np.clip(sums, self.least, self.most)
        return np.asarray(sums - np.where(theta > 0, self.least, np.where(theta < 0, self.most, inside)))

    def step(self, theta: FloatArray, share: FloatArray, gradient: FloatArray) -> FloatArray:
        """Newton's step over the rows that bind; other rows keep the effect 0.

        A range binds if it has an effect or its sum lies outside; the system is solved again without rows that would
        move the wrong way, until none does: at most one turn per row.
        """
        hessian = self.softmax.hessian(share[:, :-1].ravel(), self.span)
        binding = ~self.ranged | (theta != 0) | (gradient != 0)
        while True:
            step = np.zeros(len(theta))
            step[binding] = newton_step(hessian[np.ix_(binding, binding)], gradient[binding])
            # A row that begins to bind must move against its gradient; one that its neighbours push back does not bind.
            wrong = binding & self.ranged & (theta == 0) & (step * gradient < 0)
            if not wrong.any():
                return step
            binding &= ~wrong

    def move(self, theta: FloatArray, step: FloatArray) -> FloatArray:
        """Effects after a step; those of ranges stop at 0, where the objective has a kink."""
        moved = theta - step
        return np.where(self.ranged & (theta * moved < 0), 0.0, moved)


def _minimise(dual: _Dual) -> tuple[FloatArray, float]:
    """Damped Newton with Armijo steps, as in `witness.py`, over effects that stop at the kink of a range.

    Returns the table and the largest miss of a sum; a miss above the tolerance says that steps ran out or no step
    helped.
    """
    theta = np.zeros(len(dual.most))
    # Far below a person, and above the rounding of sums: shares of small profiles are right to six digits and more.
    tolerance = 1e-9 + 1e-13 * float(np.abs(dual.most).max(initial=0.0))
    value, share = dual.evaluate(theta)
    residual = np.inf
    for _ in range(EFFORT.newton_steps + EFFORT.range_steps * bool(dual.ranged.any())):
        gradient = dual.gradient(theta, share)
        residual = float(np.abs(gradient).max(initial=0.0))
        if residual < tolerance:
            break
        step = dual.step(theta, share, gradient)
        length, decrease = 1.0, float(gradient @ step)
        while length > 1e-6:
            moved = dual.move(theta, length * step)
            trial, shares = dual.evaluate(moved)
            # Armijo's condition; the last term forgives rounding of the objective itself.
            if trial <= value - 1e-4 * length * decrease + 1e-12 * abs(value):
                break
            length /= 2
        else:
            break
        theta, value, share = moved, trial, shares
    return share * dual.people[:, None], residual

"""Find a table inside the limits: the softmax dual, solved by damped Newton.

Objects
    e           a profile: one category per axis, with N[e] > 0 people on the roll
    T[e, o]     people of profile e who chose option o; the variables of a system, without its last option
    A           one row per published sum: (A T)[r] = b[r], or in a range [lower[r], upper[r]]
    f[o]        least share of option o in every profile (`floors_of`, from ceilings and floors of the target)
    theta       multipliers, one per row; A' theta are the logits

Statement
    If some T >= 0 has A T = b and f[o] N[e] <= T[e, o] for all e and o, then no published sum, and no combination of
    them, forces any checked cell below its floors: a cell is a sum of profiles. One table serves all cells at once.

Method
    Of such tables the one of largest entropy has the form T = N (f + (1 - sum f) softmax(A' theta)). Its dual is
    smooth, convex and has one unknown per row (Darroch and Ratcliff 1972; Boyd and Vandenberghe, section 5.2):

        minimise  g(theta) = sum_e span[e] * logsumexp((A' theta)[e]) - (b - A N f) . theta
        gradient  A T(theta) - b          hessian  A Cov(T(theta)) A'

    Damped Newton with Armijo steps. A row with a range has a slack variable, with a logistic share of its width. With
    one free option, a table lies between the known limits of each count instead (boxes and the logistic function).
    Where no table exists, theta diverges: theta . b exceeds the support function of all tables along theta, which is a
    Farkas certificate.

What callers may rely on
    * `SoftmaxDual.fit` returns a table whose largest miss of a row is `residual`. Nothing here is a proof.
    * Proofs are integer tables: `rounding.py` makes them, and addition verifies them.
    * Cost of a Newton step: O(profiles * options^2 * axes^2 + rows^3).
    * This is no maximum-entropy *belief* where counts have boxes: that is `entropy.py`.

Example
    Two districts of 100 people and two ages (60 and 40, 40 and 60 in the districts); 60 and 40 chose yes by district,
    50 and 50 by age. The table of largest entropy:

    >>> from safemargin.bounds.build import build_system
    >>> from safemargin.core import Axis, Schema, Table, Tally, as_published, frozen, onlooker_with_roll
    >>> axes = Axis("district", ("N", "S")), Axis("age", ("old", "young"))
    >>> codes, people = frozen([[0, 0], [0, 1], [1, 0], [1, 1]], 2), np.array([60, 40, 40, 60])
    >>> yes, names = np.array([35, 25, 15, 25]), ("district", "age")
    >>> votes = Tally(names, codes, frozen(np.stack([yes, people - yes], axis=1), 2))
    >>> table = Table(Schema(axes, ("yes", "no")), (votes,), (Tally(names, codes, frozen(people, 1)),))
    >>> published = tuple(as_published(table.margin((name,)), table.schema, name) for name in names)
    >>> system = build_system(published, onlooker_with_roll(table, "joint"))
    >>> SoftmaxDual(system, system.low, system.high).fit().values.round(2).tolist()
    [35.0, 25.0, 15.0, 25.0]
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice

import numpy as np
from scipy import linalg, sparse

from safemargin.bounds.cells import Level, coefficients_of_variables, open_cells, wanted_changes
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.schur import WideRows
from safemargin.bounds.system import System
from safemargin.core import UNBOUNDED, FloatArray, Generator, IntArray, Limits, distinct, one_thread


@dataclass(frozen=True)
class Fit:
    """A real-valued table: `values` per variable of the system; `residual` is its largest miss of a row.

    `multipliers` are the `theta` of the table, one per row. Where `impossible`, the limits admit no table, and the
    multipliers weigh the rows that no table satisfies together (Farkas).
    """

    values: FloatArray
    residual: float
    impossible: bool
    multipliers: FloatArray

    @property
    def found(self) -> bool:
        """Whether all rows hold but for rounding."""
        return not self.impossible and self.residual < 0.01


class SoftmaxDual:
    """All tables `theta` can reach for one system with a joint roll: boxes for single counts, or shares by softmax."""

    def __init__(self, system: System, low: IntArray, high: IntArray) -> None:
        assert system.people is not None
        self.system, self.people, self.shares = system, system.people.astype(np.float64), system.n_free_options > 1
        self.rows = np.flatnonzero((system.lower > 0) | (system.upper < UNBOUNDED))
        self.slice_of, self.weights = system.slice_of[self.rows], system.weights[self.rows].astype(np.float64)
        self.slices = system.slices.astype(np.float64)
        ceiling = np.minimum(high, _reach(system))
        lower = system.lower[self.rows]
        most = np.minimum(system.upper[self.rows], system.sums(ceiling)[self.rows])
        self.slack_rows = np.flatnonzero(most > lower)
        self.slack_width = (most - lower)[self.slack_rows].astype(np.float64)
        self.goal = np.maximum(most, lower).astype(np.float64)
        self.low, self.high = low.astype(np.float64), ceiling.astype(np.float64)
        # Shares of options that share people have no ceilings of their own: where nobody can be, the logit is endless.
        self.barrier = np.where((system.high == 0).reshape(-1, system.n_free_options), -np.inf, 0.0)

    def sums(self, values: FloatArray) -> FloatArray:
        """The value of every row."""
        per_slice = self.slices @ values.reshape(-1, self.system.n_free_options)
        return np.asarray((per_slice[self.slice_of] * self.weights).sum(axis=1))

    def adjoint(self, theta: FloatArray) -> FloatArray:
        """A' theta: what the multipliers of all rows add up to at each variable.

        `dot(adjoint(theta), values) == dot(theta, sums(values))`.
        """
        per_slice = np.zeros((self.slices.shape[0], self.system.n_free_options))
        np.add.at(per_slice, self.slice_of, theta[:, None] * self.weights)
        return np.asarray(self.slices.T @ per_slice).ravel()

    def fit(
        self,
        floors: FloatArray | None = None,
        tilt: FloatArray | None = None,
        steps: int | None = None,
        start: FloatArray | None = None,
    ) -> Fit:
        """The table with these least shares per option (the reference or unlisted option last) and this tilt.

        For boxes, `floors` is `[least share of the option, least share of the rest]`. A tilted table is mostly a place
        to round from, not a proof: unless `steps` says otherwise it gets fewer steps, and may miss a fact by a fraction
        of a person. `start` is the `theta` of an earlier fit.
        """
        system = self.system
        base, span = self._ranges(floors)
        if (span < 0).any():
            return Fit(base, np.inf, True, np.zeros(len(self.rows)))
        goal = self.goal - self.sums(base)
        shift = np.zeros(system.size) if tilt is None else tilt
        with one_thread():
            rough = tilt is not None and steps is None
            theta = np.zeros(len(goal)) if start is None else start
            limit = steps or (EFFORT.tilted_steps if rough else EFFORT.newton_steps)
            return _newton(self, base, span, goal, shift, theta, limit, EFFORT.tilted_miss if rough else 0.0)

    def independent(self, counts: FloatArray) -> FloatArray:
        """The `theta` of a table whose shares are as if axes were independent: where to start with many options.

        `counts` are those of every slice and option, the last one for what is left. Only complete blocks are used.
        """
        logits = np.log(counts[:, :-1] + 0.5) - np.log(counts[:, -1:] + 0.5)
        used = [distinct(block) for block in self.system.blocks if (block >= 0).all()]
        theta = np.zeros(len(self.rows))
        for slices in used:
            overall = counts[slices].sum(axis=0)
            # The shares of each block times those of the others, over those of everybody once for every block but one.
            shared = (np.log(overall[:-1] + 0.5) - np.log(overall[-1] + 0.5)) * (len(used) - 1) / len(used)
            own = np.flatnonzero(np.isin(self.slice_of, slices))
            theta[own] = (self.weights[own] * (logits[self.slice_of[own]] - shared)).sum(axis=1)
        return np.where((np.abs(self.weights).sum(axis=1) == 1), theta, 0.0)

    def tilted(self, tilt: FloatArray) -> FloatArray:
        """Values to round from, pulled by `tilt`."""
        return self.fit(tilt=tilt).values

    def _ranges(self, floors: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """The least of every variable, and how far it may rise above: the base and the span of the softmax.

        `floors` are shares that a tilt asks for: of all options, or, for a logistic fit of one option, from below and
        above.
        """
        free, people = self.system.n_free_options, self.people
        floors = np.zeros(free + 1) if floors is None else floors
        if self.shares:
            least = np.where(self.barrier < 0, 0.0, floors[:-1])
            left = people[:, None] * (1 - floors[-1] - least.sum(axis=1, keepdims=True))
            return (people[:, None] * least).ravel(), np.repeat(left, free)
        low = np.maximum(self.low, floors[0] * people)
        return low, np.minimum(self.high, (1 - floors[1]) * people) - low

    def shares_of(self, logits: FloatArray) -> FloatArray:
        """Share of its span that each variable takes at these logits: softmax per profile, or the logistic function."""
        if not self.shares:
            return _sigmoid(logits)
        shifted = logits.reshape(-1, self.system.n_free_options) + self.barrier
        top = np.maximum(shifted.max(axis=1, keepdims=True), 0.0)
        # Shift by the largest exponent (at least 0, the reference option's): no overflow in softmax.
        weight = np.exp(shifted - top)
        shares: FloatArray = (weight / (np.exp(-top) + weight.sum(axis=1, keepdims=True))).ravel()
        return shares

    def potential(self, logits: FloatArray, span: FloatArray) -> float:
        """The convex function whose gradient in the logits is the table: log-sum-exp per profile."""
        if not self.shares:
            return float(span @ np.logaddexp(0.0, logits))
        shifted = logits.reshape(-1, self.system.n_free_options) + self.barrier
        top = np.maximum(shifted.max(axis=1, keepdims=True), 0.0)
        # Log-sum-exp, shifted in the same way.
        log = top[:, 0] + np.log(np.exp(-top[:, 0]) + np.exp(shifted - top).sum(axis=1))
        return float(span[:: self.system.n_free_options] @ log)

    def support(self, logits: FloatArray, span: FloatArray) -> float:
        """The support function: the largest `dot(logits, values)` over all tables, and the limit of the potential."""
        if not self.shares:
            return float(span @ np.maximum(logits, 0.0))
        best = np.maximum((logits.reshape(-1, self.system.n_free_options) + self.barrier).max(axis=1), 0.0)
        return float(span[:: self.system.n_free_options] @ best)

    def hessian(self, share: FloatArray, span: FloatArray) -> FloatArray:
        """A Cov A': second derivatives of the potential by `theta`."""
        free = self.system.n_free_options
        part, size = share.reshape(-1, free), span.reshape(-1, free)
        # Hessian of the dual: covariance of the row sums under independent multinomials per profile.
        hessian = np.zeros((len(self.rows), len(self.rows)))
        for i in range(free):
            for j in range(i, free):
                if i == j:
                    weight = size[:, i] * part[:, i] * (1 - part[:, i])
                else:
                    weight = -size[:, i] * part[:, i] * part[:, j]
                crossed, one, other = self._crossed(weight), self._rows_about[i], self._rows_about[j]
                # Only rows that count the two options: with 20 options that is a hundredth of all pairs of rows.
                block = crossed[np.ix_(self.slice_of[one], self.slice_of[other])]
                block *= self.weights[one, i][:, None]
                block *= self.weights[other, j]
                if len(one) == len(other) == len(self.rows):
                    hessian += block
                    hessian += block.T if i != j else 0.0
                    continue
                hessian[np.ix_(one, other)] += block
                if i != j:
                    hessian[np.ix_(other, one)] += block.T
        return hessian

    def step(self, share: FloatArray, span: FloatArray, slack: FloatArray, gradient: FloatArray) -> FloatArray:
        """`gradient` divided by the Hessian, with the curvature `slack` of the rows that have a range."""
        if self._wide is not None:
            extra = np.zeros(len(self.rows))
            extra[self.slack_rows] = slack
            return self._wide.step(share, span, extra, gradient)
        hessian = self.hessian(share, span)
        hessian[self.slack_rows, self.slack_rows] += slack
        return newton_step(hessian, gradient)

    @cached_property
    def _wide(self) -> WideRows | None:
        """Rows in two parts, where there are too many for a square of them."""
        if self.slices.shape[0] <= EFFORT.dense_slices:
            return None
        wide = WideRows(self.system, self.slice_of, self.weights)
        return wide if wide.apply else None

    @cached_property
    def _rows_about(self) -> list[IntArray]:
        """Per free option the rows that count it."""
        return [np.flatnonzero(column) for column in self.weights.T]

    @cached_property
    def _placed(self) -> list[IntArray]:
        """The slice of each profile in each block; the number of slices where it has none."""
        return [np.where(block < 0, self.slices.shape[0], block) for block in self.system.blocks]

    @cached_property
    def _places(self) -> list[IntArray]:
        """Where each two blocks put each profile in a square of slices; pairs together until they fill it.

        Forty cycles have 3,160 pairs of blocks and often few profiles: a square for each pair would cost cycles^4.
        """
        width = self.slices.shape[0] + 1
        pairs = combinations(self._placed, 2)
        together = max(1, width**2 // max(1, len(self.people)))
        parts = []
        while some := list(islice(pairs, together)):
            parts.append(np.concatenate([first * width + second for first, second in some]))
        return parts

    @cached_property
    def _transposed(self) -> sparse.csr_array:
        return sparse.csr_array(self.slices.T)

    def _crossed(self, weight: FloatArray) -> FloatArray:
        """For each two slices the sum of `weight` over the profiles in both."""
        count = self.slices.shape[0]
        if count <= EFFORT.slices_to_pair:
            flat = np.zeros((count + 1) ** 2)  # the last row and column stand for no slice
            for index in self._places:
                flat += np.bincount(index, np.tile(weight, len(index) // len(weight)), minlength=flat.size)
            table = flat.reshape(count + 1, count + 1)
            table = table + table.T
            for block in self._placed:
                table.ravel()[:: count + 2] += np.bincount(block, weight, minlength=count + 1)
            return np.asarray(table)[:count, :count]
        slices = self.slices
        scaled = sparse.csr_array((weight[slices.indices], slices.indices, slices.indptr), shape=slices.shape)
        return np.asarray((scaled @ self._transposed).todense())


def floors_of(system: System, limits: Limits) -> FloatArray:
    """The least shares that `SoftmaxDual.fit` takes, from the limits of a target."""
    # Options without a floor may be chosen by nobody; sets of options have no shares of their own here.
    least = np.array([max(float(f), 0.0) for f in limits.floors[: limits.options]])
    rest = np.array([max(1 - float(c), 0.0) for c in limits.ceilings[: limits.options]])
    if system.n_free_options == 1:
        return np.array([least[0], rest[0]])
    return least if system.reference else np.append(least, 0.0)


def real_table(system: System, fit: Fit) -> list[FloatArray]:
    """A fit per profile and listed option; nothing if it misses a fact."""
    if not fit.found:
        return []
    values = fit.values.reshape(-1, system.n_free_options)
    if system.reference:
        assert system.people is not None
        values = np.column_stack([values, system.people - values.sum(axis=1)])
    return [values[:, : len(system.options)]]


def cleared_by_fits(checked: list[Level], dual: SoftmaxDual, limits: Limits, generator: Generator) -> int:
    """How many open cells real-valued tables clear: one inside the limits, some pulled each way, fewer at a time."""
    # The weaker statement: a table with fractions shows what linear programs cannot exclude, no more.
    system, cleared = dual.system, 0
    tables = real_table(system, dual.fit(floors=floors_of(system, limits)))
    for turn in range(EFFORT.real_fits):
        want = EFFORT.strong_tilt * wanted_changes(checked, generator)
        want *= generator.random((len(want), 1)) < 1 / (1 + turn)
        for way in (1.0, -1.0):
            tilt = way * coefficients_of_variables(want, system.reference)
            tables += real_table(system, dual.fit(tilt=tilt, steps=EFFORT.newton_steps))
        cleared = sum(level.cleared_by(tables) for level in checked if level.open_cells) if tables else 0
        if cleared == open_cells(checked):
            break
    return cleared


def _newton(
    dual: SoftmaxDual,
    base: FloatArray,
    span: FloatArray,
    goal: FloatArray,
    tilt: FloatArray,
    theta: FloatArray,
    steps: int,
    near: float,
) -> Fit:
    """Damped Newton from `theta`: until the largest miss of a row is below `near`, or rounding.

    The fit is `base + span * softmax(adjoint(theta) + tilt)`; its gradient is how far each row is missed.
    """
    scale = max(1.0, float(np.abs(goal).max(initial=0.0)))
    best = np.inf

    def objective(at: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        logits = dual.adjoint(at)
        slack = at[dual.slack_rows]
        value = dual.potential(logits + tilt, span) + float(dual.slack_width @ np.logaddexp(0.0, slack))
        return value - float(at @ goal), logits, slack

    value, logits, slack = objective(theta)
    for _ in range(steps):
        share, part = dual.shares_of(logits + tilt), _sigmoid(slack)
        values = base + span * share
        gradient = dual.sums(span * share) - goal
        gradient[dual.slack_rows] += dual.slack_width * part
        best = float(np.abs(gradient).max(initial=0.0))
        if best < max(near, 1e-9 * scale + 1e-6):
            break
        reach = dual.support(logits, span) + float(dual.slack_width @ np.maximum(slack, 0.0))
        # Farkas: theta . goal exceeds what any table reaches along theta, so no table has these sums; relative 1e-7.
        if reach - theta @ goal < -1e-7 * (scale + reach):
            return Fit(values, best, True, theta)
        step = dual.step(share, span, dual.slack_width * part * (1 - part), gradient)
        length, decrease = 1.0, float(gradient @ step)
        while length > 1e-6:
            trial, moved, slacked = objective(theta - length * step)
            # Armijo's condition; the last term forgives rounding of the objective itself.
            if trial <= value - 1e-4 * length * decrease + 1e-12 * abs(value):
                break
            length /= 2
        else:
            break
        theta = theta - length * step
        value, logits, slack = trial, moved, slacked
    return Fit(values, best, False, theta)


def newton_step(hessian: FloatArray, gradient: FloatArray) -> FloatArray:
    """`gradient` divided by the Hessian `hessian`, which may be singular; not longer than is useful."""
    diagonal = np.diagonal(hessian)
    # Dependent rows make the Hessian singular along directions that do not change the table: a tiny ridge picks one.
    ridge = EFFORT.newton_ridge * max(float(diagonal.max(initial=0.0)), 1e-300) + 1e-9 * diagonal
    try:
        factor = linalg.cho_factor(hessian + np.diag(ridge), check_finite=False)
        step: FloatArray = linalg.cho_solve(factor, gradient, check_finite=False)
    except linalg.LinAlgError:  # every share has run to one end of its range
        step = np.full(len(gradient), np.inf)
    if not np.isfinite(step).all():
        step = linalg.lstsq(hessian, gradient, check_finite=False)[0]
    return step * min(1.0, EFFORT.newton_longest_step / float(np.abs(step).max(initial=1.0)))


def _sigmoid(logits: FloatArray) -> FloatArray:
    # The logistic function by tanh: no overflow for large arguments.
    return 0.5 * (1.0 + np.tanh(0.5 * logits))


def _reach(system: System) -> IntArray:
    """A finite ceiling for variables that nothing limits: the largest total that is known."""
    finite = system.upper[system.upper < UNBOUNDED]
    return np.full(system.size, int(finite.max(initial=0)) + 1, dtype=np.int64)

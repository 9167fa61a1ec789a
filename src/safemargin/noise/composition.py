"""What many outputs cost together: epsilons that add up, and the law of the square root (section 2.1, footnote 12).

With `t` outputs of pure epsilon e each, the loss is at most t e for certain. Losses of single outputs have a mean of at
most e (exp(e) - 1) and rarely all go one way, so that up to a chance delta the loss is at most

    sqrt(2 t ln(1 / delta)) e + t e (exp(e) - 1)

(Dwork, Rothblum and Vadhan 2010; theorem 3.20 of Dwork and Roth 2014). The noise that a global epsilon demands then
grows like sqrt(t), not like t as in Eq. (9).
"""

import math

from safemargin.core import InputError
from safemargin.noise.calculators import Figure, compose, variance_of
from safemargin.samplers import at_least, inside, positive


def advanced_epsilon(outputs: int, epsilon: float, delta: float) -> float:
    """Epsilon of all outputs together, up to a chance delta: the smaller of both laws.

    >>> round(advanced_epsilon(100, 0.1, 1e-6), 3), advanced_epsilon(3, 0.1, 1e-6)
    (6.308, 0.30000000000000004)
    """
    at_least("outputs", outputs, 1)
    positive("epsilon", epsilon)
    inside("delta", delta)
    if epsilon > 50:
        return outputs * epsilon
    advanced = math.sqrt(2 * outputs * math.log(1 / delta)) * epsilon + outputs * epsilon * math.expm1(epsilon)
    return min(outputs * epsilon, advanced)


def share_of(outputs: int, epsilon: float, delta: float) -> float:
    """Epsilon of one output such that all of them together keep to `epsilon` up to a chance delta."""
    from scipy.optimize import brentq  # slow to import, and few commands need it

    least = positive("epsilon", epsilon) / at_least("outputs", outputs, 1)
    if advanced_epsilon(outputs, epsilon, delta) <= epsilon:  # one output
        return epsilon
    return float(brentq(lambda one: advanced_epsilon(outputs, one, delta) - epsilon, least, epsilon, xtol=1e-15))


def composition(outputs: int, epsilon: float, delta: float = 1e-6, people: int | None = None) -> Figure:
    """Noise on each of many outputs that share an epsilon: by adding up, and by the law of the square root."""
    if people is not None and at_least("people", people, 1) * delta > 1:
        raise InputError(f"delta = {delta:g}: is above 1 in {people:,} people; it must be below 1 / people")
    one = share_of(outputs, epsilon, delta)
    plain, root = compose(outputs, epsilon), math.sqrt(variance_of(one))
    sentence = (
        f"{outputs:,} outputs with epsilon {epsilon:g} in all: Laplace noise with a standard deviation of {plain:,.4g} "
        f"on each; up to a chance {delta:g}, {root:,.4g} (epsilon {one:.4g} each)."
    )
    inputs = {"outputs": outputs, "epsilon": epsilon, "delta": delta}
    return Figure(root, inputs, sentence, {"epsilon_each": one, "deviation_by_sum": plain, "deviation_by_root": root})

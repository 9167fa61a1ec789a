"""What the exact result of a release, the count of every option over everybody, discloses about one person.

Objects
    counts      of every option over everybody who answered; the result is all of them
    belief      everybody else chose independently, with the shares of the result (half an answer more per option, so
                that none is impossible) or with equal shares
    curve       pairs (epsilon, delta) of publishing all counts, by the closed form of the histogram

The statement compares two answers of one person, all others being as the belief says. It does not cover an onlooker
who knows answers of others, nor tables by group: these are what `release` decides about.

Example
    Of 100 people 40 said no. One vote changes the chance of any total by at most 8 in 100:

    >>> found = result_privacy(("yes", "no"), (60, 40))
    >>> found.pair, round(found.curve[0][1], 4)
    (('no', 'yes'), 0.0813)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log10

from safemargin.ui import Chart, Document, Paragraph, Points, Section, plural
from safemargin.voting.closed_forms import counts_worst
from safemargin.voting.privacy import ASSUMPTIONS, CAPTION, curve_chart, three_digits

NEARLY_NOTHING, LITTLE = 0.01, 0.1
"""Up to these gaps, a total says next to nothing, or little, about one vote."""
SMALL = 1e-6
"""The delta at which the result is described: one in a million."""
MAX_POINTS = 12
LARGE = 20.0
"""An epsilon that guarantees nothing."""


@dataclass(frozen=True)
class ResultPrivacy:
    """Pairs of epsilon and delta of publishing the counts of `options`, and the two options distinguished best."""

    voters: int
    options: tuple[str, ...]
    belief: str
    shares: tuple[Fraction, ...]
    curve: tuple[tuple[float, float], ...]
    epsilon: float
    delta: float
    pair: tuple[str, str]


def result_privacy(options: Sequence[str], counts: Sequence[int], belief: str = "result") -> ResultPrivacy | None:
    """How private the result is against somebody who believes in its shares, or that all options are equally likely.

    None where fewer than two options could be chosen, or nobody answered.
    """
    voters = sum(counts)
    if len(options) < 2 or voters == 0:
        return None
    if belief == "result":
        shares = tuple((count + Fraction(1, 2)) / (voters + Fraction(len(options), 2)) for count in counts)
        held = "everybody else chose independently, as in the result with half an answer more for each option"
    else:
        shares = (Fraction(1, len(options)),) * len(options)
        held = "everybody else chose independently, every option being equally likely"
    numbers = [float(share) for share in shares]
    start = counts_worst(voters, numbers)
    curve = [(0.0, start.delta)]
    curve += _curve_to_small(voters, numbers, 2 / (voters * min(numbers)) ** 0.5)
    small = [(epsilon, delta) for epsilon, delta in curve if delta <= SMALL]
    epsilon, delta = min(small) if small else curve[0]
    x, y = start.pair
    return ResultPrivacy(
        voters, tuple(options), held, shares, tuple(curve), epsilon, delta, (str(options[x]), str(options[y]))
    )


def _curve_to_small(voters: int, shares: Sequence[float], step: float) -> list[tuple[float, float]]:
    """Points of the curve down to one in a million: delta falls like a normal tail, so few are enough."""
    points: list[tuple[float, float]] = []
    epsilon = step
    while len(points) < MAX_POINTS and (not points or points[-1][1] > SMALL) and epsilon < LARGE:
        epsilon = _round_up(epsilon)
        points.append((epsilon, counts_worst(voters, shares, epsilon).delta))
        epsilon *= 1.5
    return points


def _round_up(value: float) -> float:
    """The value rounded up to two digits.

    >>> _round_up(0.01234)
    0.013
    """
    unit = 10.0 ** (ceil(log10(value)) - 2)
    return float(f"{ceil(value / unit - 1e-9) * unit:.2g}")


def _gap(privacy: ResultPrivacy) -> str:
    """Delta at epsilon 0 as a gap between chances: in 100 where it can be seen, else in a million."""
    delta = privacy.curve[0][1]
    return f"{100 * delta:.2g} in 100" if delta >= 0.001 else f"{1e6 * delta:.2g} in a million"


def result_words(privacy: ResultPrivacy) -> str:
    """One sentence that a clerk can read."""
    delta = privacy.curve[0][1]
    amount = "next to nothing" if delta <= NEARLY_NOTHING else "little" if delta <= LITTLE else "something"
    return (
        f"The total says {amount} about one vote: one vote changes the chance of any total by at most {_gap(privacy)}."
    )


def result_lines(privacy: ResultPrivacy) -> list[str]:
    """What the sentence means, and what it assumes."""
    first, second = privacy.pair
    hardly = ", and even these hardly" if privacy.curve[0][1] <= NEARLY_NOTHING else ""
    return [
        f"{first} and {second}, the two rarest options, are what the total distinguishes best{hardly}.",
        f"Publishing this result exactly is ({privacy.epsilon:g}, {three_digits(privacy.delta)})-private against an "
        f"onlooker who believes that {privacy.belief}.",
        f"{plural(privacy.voters, 'person')} answered. Who won alone discloses no more than the counts do.",
        *ASSUMPTIONS,
    ]


def result_document(privacy: ResultPrivacy) -> Document:
    """For `plan.json`."""
    return {
        "epsilon": privacy.epsilon,
        "delta": privacy.delta,
        "voters": privacy.voters,
        "belief": privacy.belief,
        "worst_pair": list(privacy.pair),
        "engine": "histogram formula",
        "curve": [list(point) for point in privacy.curve],
        "words": result_words(privacy),
    }


def result_section(privacy: ResultPrivacy) -> Section:
    """What the total itself discloses about one vote, for a page."""
    chart = Chart(lambda: curve_chart(privacy.curve), CAPTION, fits=True)
    lead = Paragraph(result_words(privacy), "strong")
    return Section("What the total discloses", lead, Points(result_lines(privacy)), chart)

"""Tables 1 and 2 of "How Private Are Commonly-Used Voting Rules?" (Liu, Lu, Xia, Zikas), as printed and corrected.

The printed numbers come out only if n counts the other voters, "Mean Square Error" is the mean of delta squared, and
for STV and maximin one fixed pair of votes stands for the worst pair.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.voting.ballots import Ranking
from safemargin.voting.belief import uniform
from safemargin.voting.election import Election
from safemargin.voting.private import chances_of
from safemargin.voting.rules import rule_named

OTHERS = tuple(range(1, 51))

PRINTED = {
    "borda": (1.347, 0.5263, 0.0566844201243),
    "stv": (1.495, 0.02669, 0.0542992943035),
    "maximin": (1.553, 4.433, 0.0377631805983),
    "plurality": (1.717, -0.09225, 0.0477175838906),
    "approval-2": (1.786, 0.3536, 0.0454223047191),
}
"""The slope, the constant and the "Mean Square Error" of every rule."""

FIXED_PAIRS: dict[str, tuple[Ranking, Ranking]] = {"stv": ((0, 1, 2), (2, 1, 0)), "maximin": ((1, 0, 2), (2, 0, 1))}
"""The pairs of votes with which the printed rows of two rules come out."""


@dataclass(frozen=True)
class Row:
    """1 / sqrt(slope n + constant) fitted to delta; the mean of delta squared; and the real mean square error."""

    rule: str
    slope: float
    constant: float
    mean_square: float
    error: float


def fit(rule: str, sizes: Sequence[int], deltas: Sequence[float]) -> Row:
    """Least squares of one over delta squared on n."""
    n, delta = np.asarray(sizes, dtype=np.float64), np.asarray(deltas)
    slope, constant = np.polyfit(n, delta**-2, 1)
    with np.errstate(invalid="ignore"):
        error = float(np.mean((delta - (slope * n + constant) ** -0.5) ** 2))
    return Row(rule, float(slope), float(constant), float(np.mean(delta**2)), error)


def deltas_of(rule: str, others: Sequence[int], pair: tuple[Ranking, Ranking] | None = None) -> list[float]:
    """Delta of the winner among three candidates, all rankings equally likely; of one pair of votes, or the worst."""
    found = []
    for count in others:
        chosen = rule_named(rule, 3)
        election = Election(chosen, count + 1, uniform(chosen))
        chances = chances_of(election)
        if pair is None:
            found.append(chances.worst().delta)
        else:
            x, y = (election.kinds.votes.index(vote) for vote in pair)
            found.append(float(np.maximum(chances.gaps[x, y], 0.0).sum() * np.exp(chances.shift)))
    return found


def table(mode: str = "corrected", rules: Sequence[str] = tuple(PRINTED)) -> list[Row]:
    """The rows of Tables 1 and 2: `paper` as printed, or `corrected` with the worst pair of votes throughout."""
    pairs = FIXED_PAIRS if mode == "paper" else {}
    return [fit(rule, OTHERS, deltas_of(rule, OTHERS, pairs.get(rule))) for rule in rules]


def by_parity(rule: str, others: Sequence[int] = OTHERS) -> tuple[Row, Row]:
    """Fits to odd and to even electorates apart: delta of some rules goes up and down between them."""
    odd, even = ([n for n in others if (n + 1) % 2 == rest] for rest in (1, 0))
    return fit(rule, odd, deltas_of(rule, odd)), fit(rule, even, deltas_of(rule, even))

"""Tables 1 and 2 of "How Private Are Commonly-Used Voting Rules?" (Liu, Lu, Xia, Zikas), as printed and corrected.

    python examples/voting_tables.py

For three candidates and all rankings equally likely, 1 / sqrt(a n + b) is fitted to delta of the winner. The printed
numbers come out only if n counts the other voters, "Mean Square Error" is the mean of delta squared, and one fixed pair
of votes stands for the worst pair in the rows of STV and maximin.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

import safemargin

OTHERS = range(1, 51)

PRINTED = {
    "borda": (1.347, 0.5263, 0.0566844201243),
    "stv": (1.495, 0.02669, 0.0542992943035),
    "maximin": (1.553, 4.433, 0.0377631805983),
    "plurality": (1.717, -0.09225, 0.0477175838906),
    "approval-2": (1.786, 0.3536, 0.0454223047191),
}
"""The slope, the constant and the "Mean Square Error" of every rule."""

FIXED_PAIRS = {"stv": ("a>b>c", "c>b>a"), "maximin": ("b>a>c", "c>a>b")}
"""The pairs of votes with which the printed rows of two rules come out."""


@dataclass(frozen=True)
class Row:
    """1 / sqrt(slope n + constant) fitted to delta; the mean of delta squared; and the real mean square error."""

    slope: float
    constant: float
    mean_square: float
    error: float


@cache
def measured(rule: str, others: int) -> safemargin.Result:
    """The privacy of the winner, with the chances of every winner for every vote."""
    return safemargin.outcome(rule, candidates=3, voters=others + 1, curve=[0.0])


def delta_of(rule: str, others: int, pair: tuple[str, str] | None) -> float:
    """Delta of the winner: of one pair of votes, or of the worst."""
    privacy = measured(rule, others)
    if pair is None:
        return privacy.delta
    first, second = (privacy.likely[vote] for vote in pair)
    return sum(max(first[winner] - second[winner], 0.0) for winner in first)


def fit(rule: str, pair: tuple[str, str] | None = None) -> Row:
    """Least squares of one over delta squared on n."""
    n = np.array(OTHERS, dtype=np.float64)
    delta = np.array([delta_of(rule, others, pair) for others in OTHERS])
    slope, constant = np.polyfit(n, delta**-2, 1)
    with np.errstate(invalid="ignore"):
        error = float(np.mean((delta - (slope * n + constant) ** -0.5) ** 2))
    return Row(float(slope), float(constant), float(np.mean(delta**2)), error)


def rows(corrected: bool) -> dict[str, Row]:
    """The rows of both tables, with the worst pair of votes throughout if `corrected`."""
    return {rule: fit(rule, None if corrected else FIXED_PAIRS.get(rule)) for rule in PRINTED}


def main() -> None:
    print("| rule | a, b as printed | corrected a, b | mean of delta squared, printed | corrected |")
    print("|---|---|---|---|---|")
    for rule, row in rows(corrected=True).items():
        slope, constant, square = PRINTED[rule]
        corrected = f"{row.slope:.4f}, {row.constant:.4f} | {square:.5f} | {row.mean_square:.5f}"
        print(f"| {rule} | {slope}, {constant} | {corrected} |")


if __name__ == "__main__":
    main()

"""Voting rules, one per file, and the names they are called by."""

from collections.abc import Callable, Mapping
from fractions import Fraction

from safemargin.core import InputError, exact_number
from safemargin.voting.rules.all_ties import AllTies
from safemargin.voting.rules.approval import Approval
from safemargin.voting.rules.borda import Borda
from safemargin.voting.rules.bucklin import Bucklin
from safemargin.voting.rules.copeland import Copeland
from safemargin.voting.rules.kemeny import Kemeny
from safemargin.voting.rules.majority import Majority
from safemargin.voting.rules.maximin import Maximin
from safemargin.voting.rules.plurality import Plurality
from safemargin.voting.rules.positional import Positional
from safemargin.voting.rules.ranked_pairs import RankedPairs
from safemargin.voting.rules.rule import Rule
from safemargin.voting.rules.schulze import Schulze
from safemargin.voting.rules.stv import Stv
from safemargin.voting.rules.veto import Veto

__all__ = ["NAMES", "AllTies", "Rule", "rule_named"]

PLAIN: Mapping[str, Callable[[int], Rule]] = {
    "plurality": Plurality,
    "veto": Veto.of,
    "borda": Borda.of,
    "stv": Stv,
    "stv-drop-first": lambda candidates: Stv(candidates, drop_first=True),
    "maximin": Maximin,
    "copeland": Copeland,
    "bucklin": Bucklin,
    "bucklin-simple": lambda candidates: Bucklin(candidates, simple=True),
    "ranked-pairs": RankedPairs,
    "schulze": Schulze,
    "kemeny": Kemeny,
}

NAMES = (*PLAIN, "approval-K", "positional:P1,P2,...", "majority", "majority:ALPHA")
"""What a user may write; K, P and ALPHA are numbers."""


def rule_named(name: str, candidates: int) -> Rule:
    """The rule that a user's word stands for.

    >>> rule_named("approval-2", 4).points
    (Fraction(1, 1), Fraction(1, 1), Fraction(0, 1), Fraction(0, 1))
    """
    if candidates < 2:
        raise InputError(f"candidates = {candidates}: there must be at least 2")
    word, _, numbers = name.partition(":")
    if name in PLAIN:
        return PLAIN[name](candidates)
    if word == "majority":
        return Majority(candidates, number(numbers, name) if numbers else Fraction(1, 2))
    if word == "positional" and numbers:
        return Positional(candidates, tuple(number(part, name) for part in numbers.split(",")))
    kind, _, count = name.rpartition("-")
    if kind == "approval" and count.isdigit():
        return Approval.of(candidates, int(count))
    raise InputError(f"rule {name!r}: unknown; known are {', '.join(NAMES)}")


def number(text: str, where: str) -> Fraction:
    """An exact number as people write it: 0.55, 2/3 or 1e-6."""
    try:
        return exact_number(text.strip())
    except ValueError:
        raise InputError(f"{where}: {text!r} is not a number") from None

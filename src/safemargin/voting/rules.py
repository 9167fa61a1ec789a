"""The table of voting rules and the names they are called by. A new rule is one class and one line here.

Objects
    statistics  what a vote adds to the sums of the rule: one row of integers per vote (Definition 5, generalised
                scoring rules)
    winners     the result that sums lead to; ties go to whoever comes first in the order of candidates
    AllTies     a rule whose result is the set of everybody who wins for some order of candidates

Invariants
    * A rule reads the sums alone: two elections with equal sums have one result. Engines rest on nothing else.
    * `adds_points`, `is_proved` and `needs_counts` state what engines may use; what a rule does not state is not used.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations

import numpy as np

from safemargin.core import InputError, IntArray, TooLargeError
from safemargin.voting.election import Ranking, Rule, number, ranking_text
from safemargin.voting.elimination import Bucklin, Stv
from safemargin.voting.pairwise import Copeland, Kemeny, Maximin, RankedPairs, Schulze
from safemargin.voting.scoring import Approval, Committee, Majority, Plurality, Positional
from safemargin.voting.several_seats import SeveralSeats

RULES: Mapping[str, Callable[[int], Rule]] = {
    "plurality": lambda candidates: Plurality.of(candidates, 1),
    "veto": lambda candidates: Positional(candidates, tuple(map(Fraction, [1] * (candidates - 1) + [0]))),
    "borda": lambda candidates: Positional(candidates, tuple(map(Fraction, range(candidates - 1, -1, -1)))),
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

NAMES = (*RULES, "approval-K", "committee-K", "stv-K", "positional:P1,P2,...", "majority", "majority:ALPHA")
"""What a user may write; K, P and ALPHA are numbers."""

ALIASES = {"irv": "stv", "instant-runoff": "stv", "ranked-choice": "stv"}
"""Other words for rules with one winner."""

MAX_TIED_CANDIDATES = 4


def rule_named(name: str, candidates: int, cast: tuple[Ranking, ...] = ()) -> Rule:
    """The rule that a user's word stands for; `cast` are the votes that can be cast, for rules that count each.

    >>> rule_named("approval-2", 4).points
    (Fraction(1, 1), Fraction(1, 1), Fraction(0, 1), Fraction(0, 1))
    """
    if candidates < 2:
        raise InputError(f"candidates = {candidates}: there must be at least 2")
    name = ALIASES.get(name, name)
    if name in RULES:
        return RULES[name](candidates)
    word, _, numbers = name.partition(":")
    if word == "majority":
        return Majority(candidates, number(numbers, name) if numbers else Fraction(1, 2))
    if word == "positional" and numbers:
        return Positional(candidates, tuple(number(part, name) for part in numbers.split(",")))
    kind, _, count = name.rpartition("-")
    if kind == "approval" and count.isdigit():
        return Approval.of(candidates, int(count))
    if kind == "committee" and count.isdigit():
        return Committee.for_seats(candidates, int(count))
    if kind == "stv" and count.isdigit():
        return SeveralSeats(candidates, int(count), cast)
    raise InputError(f"rule {name!r}: unknown; known are {', '.join(NAMES)}")


OwnWinner = Callable[[Mapping[str, int]], str]
"""A rule of one's own: from how often each ranking was cast, as in {"a>b>c": 2}, to the name of who wins."""


@dataclass(frozen=True)
class OwnRule(Rule):
    """A function of one's own as a rule: a vote adds one to the count of its ranking."""

    function: OwnWinner = field(default=lambda counts: "", compare=False)
    universe: tuple[Ranking, ...] = ()
    """Rankings that can be cast."""
    names: tuple[str, ...] = ()
    is_proved = False
    needs_counts = True

    def votes(self) -> tuple[Ranking, ...]:
        """All that can be cast."""
        return self.universe

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """A column for each ranking."""
        adds = np.zeros((len(votes), len(self.universe)), dtype=np.int64)
        adds[np.arange(len(votes)), [self.universe.index(vote) for vote in votes]] = 1
        return adds

    def winners(self, sums: IntArray) -> IntArray:
        """What the function says, asked once for each different row."""
        distinct, group = np.unique(sums, axis=0, return_inverse=True)
        texts = [ranking_text(vote, self.names) for vote in self.universe]
        answers = []
        for row in distinct.tolist():
            name = self.function({text: count for text, count in zip(texts, row, strict=True) if count})
            if name not in self.names:
                raise InputError(f"rule: returned {name!r:.60}; must be a candidate: {', '.join(self.names)}")
            answers.append(self.names.index(name))
        return np.array(answers, dtype=np.int64)[group.ravel()]


@dataclass(frozen=True)
class AllTies(Rule):
    """Everybody who wins when ties are broken in some order of the candidates; a set is a number in base two.

    >>> both = AllTies(2, rule_named("plurality", 2))
    >>> nobody_voted = both.statistics([(0, 1)]) * 0
    >>> both.winners(nobody_voted).tolist(), both.outcome_name(3, ("a", "b"))
    ([3], 'a=b')
    """

    rule: Rule
    is_proved = False  # the theorems are about one winner
    is_single = False

    def __post_init__(self) -> None:
        if not self.rule.is_single or isinstance(self.rule, OwnRule):
            raise InputError("ties = 'all': is for rules of this program with one winner")
        if self.candidates > MAX_TIED_CANDIDATES:
            raise TooLargeError(f"ties: {self.candidates} candidates have too many orders; name one of them")

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """Those of the rule for every order of the candidates."""
        orders = permutations(range(self.candidates))
        parts = [self.rule.statistics([tuple(order[c] for c in vote) for vote in votes]) for order in orders]
        return np.concatenate(parts, axis=1)

    def winners(self, sums: IntArray) -> IntArray:
        """The set of winners over all orders."""
        orders = list(permutations(range(self.candidates)))
        tied = np.zeros(len(sums), dtype=np.int64)
        for order, part in zip(orders, np.split(sums, len(orders), axis=1), strict=True):
            tied |= 1 << np.argsort(order)[self.rule.winners(part)]
        return tied

    def votes(self) -> tuple[Ranking, ...]:
        """Those of the rule."""
        return self.rule.votes()

    @property
    def outcomes(self) -> int:
        """Sets of candidates."""
        return 1 << self.candidates

    def outcome_name(self, outcome: int, names: Sequence[str]) -> str:
        """The names that tie."""
        return "=".join(name for candidate, name in enumerate(names) if outcome >> candidate & 1)

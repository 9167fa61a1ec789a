"""What was published about which population: read before a release, written with it."""

from safemargin.ledger.budget import Budget, budget, recommended_kappa
from safemargin.ledger.entry import Entry, Person, person, roll_of
from safemargin.ledger.file import read_ledger, recording
from safemargin.ledger.remember import check_same, compare, remember

__all__ = [
    "Budget",
    "Entry",
    "Person",
    "budget",
    "check_same",
    "compare",
    "person",
    "read_ledger",
    "recommended_kappa",
    "recording",
    "remember",
    "roll_of",
]

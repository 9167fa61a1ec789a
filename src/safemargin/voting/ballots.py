"""Votes: rankings of candidates, complete or not, as tuples of their numbers with the favourite first."""

from collections.abc import Sequence
from itertools import combinations, permutations
from math import factorial
from string import ascii_lowercase

from safemargin.core import InputError, TooLargeError

Ranking = tuple[int, ...]
"""Candidates by number, the favourite first; whoever is not named is behind all who are."""

MOST_RANKINGS = 5040
"""Rankings of seven candidates."""


def letters(candidates: int) -> tuple[str, ...]:
    """Names for candidates that have none.

    >>> letters(3)
    ('a', 'b', 'c')
    """
    if candidates <= len(ascii_lowercase):
        return tuple(ascii_lowercase[:candidates])
    return tuple(f"c{number}" for number in range(1, candidates + 1))


def rankings(candidates: int) -> tuple[Ranking, ...]:
    """All complete rankings, in the order of the alphabet."""
    if factorial(candidates) > MOST_RANKINGS:
        raise TooLargeError(
            f"{candidates} candidates: have more than {MOST_RANKINGS:,} rankings; name those that occur"
        )
    return tuple(permutations(range(candidates)))


def favourites(candidates: int) -> tuple[Ranking, ...]:
    """One ranking per favourite."""
    return tuple((first, *_others(candidates, (first,))) for first in range(candidates))


def approvals(candidates: int, count: int) -> tuple[Ranking, ...]:
    """One ranking per set of `count` candidates in front."""
    return tuple((*chosen, *_others(candidates, chosen)) for chosen in combinations(range(candidates), count))


def _others(candidates: int, chosen: Sequence[int]) -> tuple[int, ...]:
    return tuple(candidate for candidate in range(candidates) if candidate not in chosen)


def parse_ranking(text: str, names: Sequence[str], where: str) -> Ranking:
    """The ranking that `a>b>c` stands for.

    >>> parse_ranking("b > a", ("a", "b", "c"), "line 2")
    (1, 0)
    """
    places = {name: number for number, name in enumerate(names)}
    parts = [part.strip() for part in text.split(">")]
    if "" in parts:
        raise InputError(f"{where}: ranking {text!r}: has an empty place; write candidates as in a>b>c")
    for part in parts:
        if part not in places:
            raise InputError(f"{where}: ranking {text!r}: unknown candidate {part!r}; known are {', '.join(names)}")
        if parts.count(part) > 1:
            raise InputError(f"{where}: ranking {text!r}: names {part!r} twice")
    return tuple(places[part] for part in parts)


def ranking_text(ranking: Ranking, names: Sequence[str]) -> str:
    """A ranking as people write it.

    >>> ranking_text((1, 0), ("a", "b", "c"))
    'b>a'
    """
    return ">".join(names[candidate] for candidate in ranking)

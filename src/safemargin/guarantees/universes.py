"""Which data sets a guarantee compares, on domains that can be listed: universes made, moved and held against laws.

Universes are named lists of data sets. They may overlap, and need not hold every data set.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction

from safemargin.core import InputError
from safemargin.guarantees.exact import Data, Law, Metric, Output, largest_ratio

Budget = Fraction | float | None
"""As `check` takes it: a fraction is e to the epsilon, a float epsilon, None infinite."""


def universes_of(
    data: Iterable[Data], universe: Callable[[Data], Iterable[Data]]
) -> dict[frozenset[Data], tuple[Data, ...]]:
    """The universes of a function that gives each data set those it is compared with; each universe once.

    >>> list(universes_of([1, 2, 3], lambda x: [y for y in (1, 2, 3) if abs(x - y) < 2]).values())
    [(1, 2), (1, 2, 3), (2, 3)]
    """
    found: dict[frozenset[Data], tuple[Data, ...]] = {}
    for each in data:
        members = tuple(universe(each))
        found.setdefault(frozenset(members), members)
    return found


def unfold(data: Iterable[Data], distance: Metric[Data]) -> dict[Data, list[Data]]:
    """Invariants moved from the distance into universes: data sets that are finitely far apart, by the first of them.

    Refused where these do not part the domain.

    >>> unfold([1, 2, 3, 4], lambda a, b: abs(a - b) if a % 2 == b % 2 else math.inf)
    {1: [1, 3], 2: [2, 4]}
    """
    everything = list(data)
    found: dict[Data, list[Data]] = {}
    home: dict[Data, Data] = {}
    for each in everything:
        for first in found:
            if distance(first, each) < math.inf:
                home[each] = first
                found[first].append(each)
                break
        else:
            home[each] = each
            found[each] = [each]
    for one in everything:
        for other in everything:
            if (distance(one, other) < math.inf) != (home[one] == home[other]):
                raise InputError(
                    f"{one!r} and {other!r}: data sets finitely far apart do not part the domain into universes"
                )
    return found


def carried(
    universes: Mapping[Hashable, Iterable[Data]],
    budgets: Callable[[Hashable], Budget],
    finer: Mapping[Hashable, Iterable[Data]],
) -> dict[Hashable, Budget]:
    """What budgets on universes guarantee on finer ones: the least of those that hold all of one (Proposition 5).

    >>> carried({"all": [1, 2, 3], "few": [1, 2]}, {"all": 2.0, "few": 1.0}.__getitem__, {"a": [1, 2], "b": [3]})
    {'a': 1.0, 'b': 2.0}
    """
    wide = {name: set(members) for name, members in universes.items()}
    found: dict[Hashable, Budget] = {}
    for name, members in finer.items():
        inside = set(members)
        holding = [budgets(each) for each, held in wide.items() if inside <= held]
        if not holding:
            raise InputError(f"universe {name!r}: no universe with a budget holds all of it")
        found[name] = min(holding, key=_size)
    return found


def varying_pair(
    laws: Mapping[Data, Law[Output]], universes: Mapping[Hashable, Iterable[Data]], distance: Metric[Data]
) -> tuple[Data, Data] | None:
    """Two data sets of one universe, finitely far apart, whose outputs follow different laws.

    With any, no budget of nothing holds there (Proposition 2). None if the output tells nothing within universes.
    """
    for members in universes.values():
        listed = list(members)
        for one in listed:
            for other in listed:
                if largest_ratio(laws[one], laws[other])[1] and distance(one, other) < math.inf:
                    return one, other
    return None


def _size(budget: Budget) -> float:
    if budget is None:
        return math.inf
    return math.log(budget) if isinstance(budget, Fraction) else budget

"""What the rule discloses, compared with every way in which the protected groups can have voted."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from safemargin.bounds.rule import hull, suspects
from safemargin.core import Target


def splits(people: int, options: int) -> Iterator[tuple[int, ...]]:
    """Every way in which `people` choose between some options and none of them."""
    if options == 0:
        yield ()
        return
    for count in range(people + 1):
        for rest in splits(people - count, options - 1):
            yield (count, *rest)


def test_the_hull_is_exactly_what_the_rule_leaves() -> None:
    compared = 0
    for seed in range(80):
        rng = np.random.default_rng([seed, 41])
        groups = int(rng.integers(2, 4))
        options = int(rng.integers(1, 4 if groups == 2 else 3))
        people = rng.integers(1, 6 if options == 3 else 8, size=groups)
        covering = options > 1 and rng.random() < 0.6
        shares = [rng.dirichlet(np.full(options + (not covering), 0.6)) for _ in range(groups)]
        truth = np.array([rng.multinomial(n, share)[:options] for n, share in zip(people, shares, strict=True)])
        target = Target(beta=float(rng.choice([0.01, 0.05, 0.1, 0.3])), kappa=int(rng.integers(1, 4)), tau=0)
        sums = truth.sum(axis=0)
        limits = target.limits(sums.tolist(), int(people.sum()))
        least, most = limits.least(people), limits.most(people)
        possible = [
            np.array(chosen)
            for chosen in product(*(splits(int(n), options) for n in people))
            if (np.sum(chosen, axis=0) == sums).all() and ((chosen < least) | (chosen > most)).any()
        ]
        if not possible:
            continue
        lower, upper = hull(people, sums, limits)
        assert (lower == np.min(possible, axis=0)).all(), seed
        assert (upper == np.max(possible, axis=0)).all(), seed
        compared += 1
    assert compared > 40


def test_size_explains_a_merge_only_if_no_two_parts_are_large_enough() -> None:
    sizes = {"a": 5, "b": 90, "c": 40, "d": 3}
    assert suspects(frozenset("ab"), sizes, 10) == []
    assert suspects(frozenset("ad"), sizes, 10) == []
    assert suspects(frozenset("bc"), sizes, 10) == [(frozenset("b"), 90), (frozenset("c"), 40)]
    assert suspects(frozenset("bcd"), sizes, 10)[-1] == (frozenset("d"), 3)
    assert suspects(frozenset("ad"), {"a": 6, "d": 7}, 10) == []

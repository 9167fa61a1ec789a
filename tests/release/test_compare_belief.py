"""What a reader believes after each way to publish, against an enumeration of all counts of one axis."""

import math
from itertools import product

import pytest

from cases import Town
from safemargin.core import Target
from safemargin.release.compare.belief import largest_posterior
from safemargin.release.compare.methods import Case, PublishingMethod, coarsening, global_dp, suppression

SIZES, YES = {"A": 12, "B": 9, "C": 7}, {"A": 11, "B": 4, "C": 1}


def case() -> Case:
    people = {(name,): size for name, size in SIZES.items()}
    votes = {(name,): (YES[name], size - YES[name]) for name, size in SIZES.items()}
    town = Town(("site",), (tuple(SIZES),), ("yes", "no"), people, votes)
    return Case(town.table(), Target(beta=0.1, kappa=1, tau=0), (), epsilons=(1.0,), threshold=8)


def believed(weight: "dict[tuple[int, ...], float]") -> float:
    """The largest share of weight with a site beyond a limit."""
    low, high = 0.1, 0.9  # 16 of 28 said yes
    return max(
        sum(w for counts, w in weight.items() if not low * size <= counts[place] <= high * size) / sum(weight.values())
        for place, size in enumerate(SIZES.values())
    )


def every() -> "product[tuple[int, ...]]":
    return product(*(range(size + 1) for size in SIZES.values()))


def test_merged_categories_are_uniform_with_their_sum() -> None:
    """Coarsening to 8 merges C with B: only 5 of these 16 people are known to have said yes; A is printed."""
    (method,) = coarsening(case())
    (tables,) = method.draw(1)
    weight = {counts: 1.0 for counts in every() if counts[0] == 11 and counts[1] + counts[2] == 5}
    assert largest_posterior(case(), method, tables) == pytest.approx(believed(weight))


def test_a_suppressed_count_is_below_the_threshold() -> None:
    (method,) = suppression(case())
    (tables,) = method.draw(1)
    shown = {"A": 11}  # all other counts are below 8
    weight = {counts: 1.0 for counts in every() if sum(counts) == 16 and counts[0] == shown["A"]}
    weight = {counts: 1.0 for counts in weight if all(count < 8 for count in counts[1:])}
    assert largest_posterior(case(), method, tables) == pytest.approx(believed(weight))


def test_noise_of_global_privacy_has_its_law_and_no_exact_sum() -> None:
    method: PublishingMethod
    (method,) = global_dp(case())
    (tables,) = method.draw(1)
    table = next(each for each in tables if each.axes)
    assert table.noisy is not None
    noisy, epsilon = table.noisy.reshape(-1, 2).tolist(), 1.0 / 2
    weight = {
        counts: math.exp(
            -epsilon
            * sum(
                abs(count - yes) + abs(size - count - no)
                for count, size, (yes, no) in zip(counts, SIZES.values(), noisy, strict=True)
            )
        )
        for counts in every()
    }
    assert largest_posterior(case(), method, tables) == pytest.approx(believed(weight))

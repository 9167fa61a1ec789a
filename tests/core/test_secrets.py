"""Verdicts by secrets: the formula of the specification, and that two options and `both` are judged as ever."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from safemargin.core import InputError, Limits, Secrets, Target

Cases = tuple[np.ndarray, np.ndarray, np.ndarray]


def _before(limits: Limits, lower: np.ndarray, upper: np.ndarray, people: np.ndarray) -> np.ndarray:
    """The verdict per option as it was when every option had a floor and a ceiling."""
    width, size = upper - lower, people[:, None]
    least, most = limits.least(people), limits.most(people)
    spare = limits.tolerance(people)[:, None] - width
    around = np.maximum(spare, 0) if limits.hypothetical else 0
    inside = (lower - around >= least) & (upper + around <= most) & (size >= limits.kappa)
    outside = (upper < least) | (lower > most)
    inside |= np.array(limits.unchosen)
    return np.where(inside, 0, np.where(outside | (spare >= 0), 2, 1))


def _intervals(people: int, options: int) -> Cases:
    """All intervals of one option in groups of up to so many people; every column the same."""
    rows = [(n, lo, hi) for n in range(people + 1) for lo in range(n + 1) for hi in range(lo, n + 1)]
    size, lower, upper = np.array(rows).T
    return np.repeat(lower[:, None], options, 1), np.repeat(upper[:, None], options, 1), size


TARGETS = [
    Target(beta=beta, kappa=kappa, tau=tau) for beta in (0.02, 0.05, 0.2, 0.4) for kappa in (1, 5, 12) for tau in (0, 3)
]


@pytest.mark.parametrize("totals", [(50, 50), (3, 97), (0, 100), (30, 30), (1, 99)])
def test_two_options_are_judged_as_ever(totals: tuple[int, int]) -> None:
    lower, upper, people = _intervals(24, 2)
    for target in TARGETS:
        limits = target.limits(totals, 100)
        for judged in (limits, limits.strict, replace(limits, hypothetical=True)):
            assert (judged.verdicts(lower, upper, people) == _before(judged, lower, upper, people)).all()


@pytest.mark.parametrize("totals", [(50, 30, 20), (98, 1, 1), (0, 60, 40), (5, 5, 90)])
def test_both_is_what_every_option_had_before(totals: tuple[int, int, int]) -> None:
    lower, upper, people = _intervals(20, 3)
    for target in TARGETS:
        limits = replace(target, secrets=Secrets("both")).limits(totals, 100)
        for judged in (limits, limits.strict, replace(limits, hypothetical=True)):
            assert (judged.verdicts(lower, upper, people) == _before(judged, lower, upper, people)).all()


def _by_definition(n: int, lo: int, hi: int, share: Fraction, target: Target) -> int:
    """The verdict of one secret, word by word: section 1 of the specification of answers."""
    beta = Fraction(target.beta).limit_denominator(10**9)
    ceiling = 1 - min(beta, (1 - share) / 2)
    t = min(target.tau, n // 4) if n else -1
    if share in (0, 1) or (n >= target.kappa and hi <= ceiling * n):
        return 0
    if lo > ceiling * n or (hi - lo <= t and lo >= 1):
        return 2
    return 1


@pytest.mark.slow
def test_choice_is_the_formula_of_the_specification() -> None:
    lower, upper, people = _intervals(22, 3)
    totals = (60, 37, 3)
    for target in TARGETS:
        codes = target.limits(totals, 100).verdicts(lower, upper, people)
        rows = zip(people.tolist(), lower[:, 0].tolist(), upper[:, 0].tolist(), strict=True)
        for row, (n, lo, hi) in enumerate(rows):
            for option, total in enumerate(totals):
                assert codes[row, option] == _by_definition(n, lo, hi, Fraction(total, 100), target)


def test_sets_are_judged_like_options() -> None:
    """The halves of a scale of five: each is a column behind the options, with the formula of a secret."""
    target = Target(beta=0.1, kappa=4, tau=1, secrets=Secrets().with_halves("12345"))
    limits = target.limits((20, 20, 10, 25, 25), 100, "12345")
    assert limits.sets == ((0, 1), (3, 4)) and limits.names == ("1 or 2", "4 or 5")
    counts = np.array([[a, b, 0, c, 10 - a - b - c] for a in range(6) for b in range(3) for c in range(3)])
    codes = limits.verdicts(counts, counts, np.full(len(counts), 10))
    for row, counted in enumerate(counts.tolist()):
        low, high = counted[0] + counted[1], counted[3] + counted[4]
        assert codes[row, 5] == _by_definition(10, low, low, Fraction(40, 100), target)
        assert codes[row, 6] == _by_definition(10, high, high, Fraction(50, 100), target)


def test_families_by_option() -> None:
    secrets = Secrets.parse(
        {"default": "choice", "harassed": "both", "don't know": "none", "sets": [["no", "harassed"]]}
    )
    options = ("no", "harassed", "don't know", "yes")
    columns = secrets.columns(options)
    assert [(c.has_floor, c.has_ceiling) for c in columns] == [
        (False, True), (True, True), (False, False), (False, True), (False, True)
    ]  # fmt: skip
    assert Secrets.parse(secrets.stated()) == secrets
    # without a set, the complement of one option of three is a pair: it is a floor, never a column
    assert len(Secrets("both").columns(("a", "b", "c"))) == 3
    # an own set of two of three is the complement of the third: its floor
    three = Secrets(sets=(("a", "b"),)).columns(("a", "b", "c"))
    assert [column.has_floor for column in three] == [False, False, True]


def test_a_wide_scale_protects_each_half_with_the_middle() -> None:
    wide = Secrets(wide=True).with_halves("12345")
    columns = wide.columns("12345")
    assert [column.members for column in columns[5:]] == [(0, 1), (0, 1, 2)]
    assert all(column.has_floor and column.has_ceiling for column in columns[5:])  # a floor: the other half, wide


def test_small_counts_of_an_option_with_least() -> None:
    target = Target(kappa=5, tau=0, secrets=Secrets.parse({"ill": {"least": 3}}))
    limits = target.limits((10, 45, 45), 100, ("ill", "well", "other"))

    def verdict(lo: int, hi: int) -> int:
        lower, upper = np.array([[lo, 10, 10]]), np.array([[hi, 10, 10]])
        return int(limits.verdicts(lower, upper, np.array([50]))[0, 0])

    assert [verdict(*ends) for ends in ((0, 0), (1, 1), (2, 2), (1, 2), (3, 3), (0, 9), (2, 9))] == [
        0,
        2,
        2,
        2,
        0,
        1,
        1,
    ]


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ("some", "must be one of choice, both"),
        ({"x": "both"}, "there is no option 'x'"),
        ({"sets": [["a", "b", "c"]]}, "are all options"),
        ({"sets": [[]]}, "must list sets of options"),
        ({"a": {"least": 1}}, "whole number from 2"),
        ({"a": "rather"}, "must be one of choice, both, none"),
        (7, 'must be "choice", "both", or a table'),
    ],
)
def test_what_cannot_be_meant_is_refused(stated: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Secrets.parse(stated).check(("a", "b", "c"))
        raise AssertionError

"""The proved interval of rules on three dimensions, against whole laws, and what it says where there is none."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from evidence import sample
from safemargin.core import FloatArray, IntArray, no_progress
from safemargin.voting import race_planes
from safemargin.voting.crossings import crossings
from safemargin.voting.election import Belief, Election, rankings, uniform
from safemargin.voting.frequencies import Spectrum, spectrum
from safemargin.voting.grid import convolve, grid_of, transform
from safemargin.voting.measure import measure
from safemargin.voting.race_planes import applies, count_race_planes, ties
from safemargin.voting.rules import rule_named

Shares = tuple[int, ...]

CASES: list[tuple[str, int, int, Shares]] = [
    ("maximin", 3, 200, (1, 1, 1, 1, 1, 1)),
    ("borda", 4, 152, (1,) * 24),
    ("schulze", 3, 163, (20, 19, 18, 19, 21, 20)),
    ("veto", 4, 152, (1,) * 24),
    ("copeland", 3, 201, (11, 10, 10, 9, 10, 10)),
    ("kemeny", 3, 155, (1, 2, 2, 1, 1, 2)),
    ("ranked-pairs", 3, 180, (1, 1, 1, 1, 1, 1)),
    ("approval-2", 4, 160, (4, 5) * 12),
]


def election(rule: str, candidates: int, voters: int, shares: Shares) -> Election:
    belief = Belief(rankings(candidates), tuple(Fraction(each, sum(shares)) for each in shares))
    return Election(rule_named(rule, candidates), voters, belief, {rankings(candidates)[2]: 1})


def remembered() -> Callable[..., Spectrum]:
    """The frequencies of every basis, which take most of the time, computed once."""
    kept: dict[bytes, Spectrum] = {}

    def ask(weights: FloatArray, steps: IntArray, *rest: object) -> Spectrum:
        if steps.tobytes() not in kept:
            kept[steps.tobytes()] = spectrum(weights, steps, *rest)  # type: ignore[arg-type]
        return kept[steps.tobytes()]

    return ask


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "candidates", "voters", "shares"), sample(CASES, 1))
def test_every_gap_is_within_the_slack(
    monkeypatch: pytest.MonkeyPatch, rule: str, candidates: int, voters: int, shares: Shares
) -> None:
    """All differences between votes, by the whole law; also where boxes are shared out or left open early."""
    kinds = election(rule, candidates, voters, shares).kinds
    grid = grid_of(kinds)
    assert applies(kinds, grid)
    monkeypatch.setattr(race_planes, "spectrum", remembered())
    # the law of Borda has too many cells for a sum; a transform is another computation, too
    is_small = grid.additions(kinds.others) < 1e10
    law = convolve(kinds, grid) if is_small else transform(kinds, grid, crossings(kinds), no_progress)
    exact = law.gaps * np.exp(law.shift)
    slacks = []
    for small in (3e-8, 1e-4, 3e-3):
        monkeypatch.setattr(race_planes, "SMALL", small)
        found = count_race_planes(kinds, grid, no_progress)
        off = np.maximum(found.gaps - exact, 0).sum(axis=2), np.maximum(exact - found.gaps, 0).sum(axis=2)
        assert max(float(side.max()) for side in off) <= found.slack
        assert abs(found.worst().delta - law.worst().delta) <= found.slack
        slacks.append(found.slack)
    assert slacks[0] < 1e-5 < slacks[2] and slacks == sorted(slacks), "an interval that can fail, and that is narrow"


@pytest.mark.slow
@pytest.mark.parametrize("voters", sample([10_001, 1_000_001], 1))
def test_large_electorates(voters: int) -> None:
    """Maximin of three: delta times the root of n has settled, and the interval is proved, not drawn."""
    rule = rule_named("maximin", 3)
    found = measure(Election(rule, voters, uniform(rule)))
    low, high = found.interval
    assert found.engine == "race planes" and 0 < low <= found.delta <= high < low * 1.003
    assert "the interval is proved" in " ".join(found.notes)
    assert found.delta * voters**0.5 == pytest.approx(0.8195, rel=0.01)


def test_what_is_for_other_engines() -> None:
    for name, candidates, voters in (("borda", 3, 1_000), ("maximin", 3, 100), ("maximin", 4, 500), ("stv", 3, 500)):
        rule = rule_named(name, candidates)
        kinds = Election(rule, voters, uniform(rule)).kinds
        assert not applies(kinds, grid_of(kinds))


def test_planes_are_where_two_sums_are_nearly_equal() -> None:
    """A point lies on some plane exactly where two votes put some two sums in another order."""
    kinds = election("maximin", 3, 9, (1,) * 6).kinds
    grid = grid_of(kinds)
    found = ties(kinds, grid)
    assert found is not None
    points = np.array(np.meshgrid(*[np.arange(-2, 12)] * 3, indexing="ij")).reshape(3, -1).T
    sums = points @ grid.back + (kinds.others * grid.base + kinds.offset * grid.scale)
    orders = []
    for own in kinds.adds * grid.scale:
        voted = sums + own
        orders.append(np.sign(voted[:, :, None] - voted[:, None, :]))
    differs = (np.array(orders) != orders[0]).any(axis=(0, 2, 3))
    on_some = np.zeros(len(points), dtype=bool)
    for tie in found:
        level = points @ tie.normal
        on_some |= (level >= tie.low) & (level <= tie.high)
    assert not (differs & ~on_some).any() and (on_some & ~differs).sum() == 0

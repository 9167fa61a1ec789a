"""Two releases held together: whoever believes of some published groups that those who stayed kept their answers.

The attack is an integer program from the definition: one unknown per kind of people, answer then and answer now. A
belief about a group forbids that those who are in it in both cycles changed their answer.
"""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from evidence import seeds
from safemargin.bounds import TOGETHER, Proof, certify_with_earlier, together
from safemargin.core import Limits, PublishedTable, Target
from two_waves import Attack, Group, Kind, Profile, Waves, unrefuted


def random_waves(seed: int) -> tuple[Waves, list[dict[int, list[frozenset[str]]]]]:
    rng = np.random.default_rng([seed, 77])
    sizes = [(2, 2), (2, 3), (2, 2, 2)][seed % 3]
    axes = tuple("abc"[: len(sizes)])
    profiles = list(product(*([f"{axis}{n}" for n in range(size)] for axis, size in zip(axes, sizes, strict=True))))
    count = 2
    people: Counter[tuple[Kind, int, int]] = Counter()
    changing = rng.choice([0.0, 0.0, 0.02, 0.1])
    share = rng.dirichlet(np.full(count, 6.0))
    for profile in profiles:
        for kind, mean in (((profile, profile), 16), ((profile, None), 4), ((None, profile), 5)):
            for _ in range(rng.poisson(mean) if rng.random() < 0.85 else 0):
                then = int(rng.choice(count, p=share))
                now = int(rng.integers(count)) if rng.random() < changing else then
                people[kind, then if kind[0] else -1, now if kind[1] else -1] += 1
    merged = []
    for _ in range(2):
        groups: dict[int, list[frozenset[str]]] = {}
        for place, size in enumerate(sizes):
            names = [f"{axes[place]}{n}" for n in range(size)]
            if rng.random() < 0.9:
                joined = size > 2 and rng.random() < 0.3
                groups[place] = (
                    [frozenset(names[:2]), frozenset(names[2:])] if joined else [frozenset([n]) for n in names]
                )
        merged.append(groups)
    return Waves(axes, ("no", "yes"), people), merged


@pytest.mark.parametrize("seed", seeds(0, 2, 400))
def test_no_believer_breaks_what_is_certified(seed: int) -> None:
    waves, merged = random_waves(seed)
    target = Target(kappa=8, tau=seed % 2)
    totals = waves.counts(1, 0, None)
    limits = target.limits(totals.tolist(), int(totals.sum()))
    past = waves.past(waves.tables(0, merged[0]))
    proof = certify_with_earlier(waves.tables(1, merged[1]), past, limits)
    assert TOGETHER in proof.checked or proof.exposed
    if not proof.holds:
        return
    attack, rng = Attack(waves, merged), np.random.default_rng(seed)
    held = unrefuted(waves, merged)
    everybody: Group = (-1, frozenset())
    subsets = [[everybody], held, *([h for h in held if rng.random() < 0.6] for _ in range(2))]
    for beliefs in subsets:
        while beliefs and attack.run(beliefs, np.zeros(len(attack.columns))) is None and beliefs != [everybody]:
            beliefs = [belief for belief in beliefs if rng.random() < 0.7]  # some of them that are possible together
        assert attack.broken(beliefs, limits) == [], (seed, beliefs)


def test_a_decision_that_is_kept_is_the_one_that_would_be_made() -> None:
    """Equal arguments give the kept decision, and any other table or limit a new one."""
    waves, merged = random_waves(0)
    totals = waves.counts(1, 0, None)
    limits = Target(kappa=8).limits(totals.tolist(), int(totals.sum()))
    tables = waves.tables(1, merged[1])

    def decided(before: tuple[PublishedTable, ...], these: Limits = limits) -> Proof:
        return certify_with_earlier(tables, waves.past(before), these)

    first = decided(waves.tables(0, merged[0]))
    assert decided(waves.tables(0, merged[0])) is first
    together._DECIDED.clear()
    again = decided(waves.tables(0, merged[0]))
    assert again == first and again is not first
    fewer = waves.tables(0, {place: groups for place, groups in merged[0].items() if place})
    assert decided(fewer) is not again
    assert decided(waves.tables(0, merged[0]), replace(limits, tau=limits.tau + 1)) is not again


def three_groups(gained: int) -> tuple[Waves, dict[int, list[frozenset[str]]]]:
    """Profiles {0,1,2} x {0,1} x {0,1}: every two groups leave the joiners at 110 open, the three coded 1 do not."""
    people: Counter[tuple[Kind, int, int]] = Counter()
    for profile in product("012", "01", "01"):
        lost = {("0", "0", "0"): 80, ("2", "0", "0"): -gained}.get(profile, 0)
        people[(profile, profile), 1, 1] += 100 - max(lost, 0)
        people[(profile, profile), 0, 0] += 100 - max(-lost, 0)
        people[(profile, profile), 1, 0] += max(lost, 0)
        people[(profile, profile), 0, 1] += max(-lost, 0)
    for joined, yes in ((("1", "1", "0"), 0), (("1", "0", "1"), 20), (("0", "1", "1"), 20)):
        people[(None, joined), -1, 1] += yes
        people[(None, joined), -1, 0] += 40 - yes
    groups = {place: [frozenset(name) for name in names] for place, names in enumerate(("012", "01", "01"))}
    return Waves(("a", "b", "c"), ("no", "yes"), +people), groups


@pytest.mark.parametrize("gained", [40, 10])
def test_pairs_of_groups_are_not_enough(gained: int) -> None:
    """With 40 the totals alone say that no joiner said yes; with 10 they are refuted, and say nothing."""
    waves, groups = three_groups(gained)
    totals = waves.counts(1, 0, None)
    limits = Target().limits(totals.tolist(), int(totals.sum()))
    attack = Attack(waves, [groups, groups])
    coded = [(place, frozenset("1")) for place in range(3)]
    inside = np.array([float(c[0] == (None, ("1", "1", "0")) and c[2] == 1) for c in attack.columns])
    assert attack.run(coded, -inside) == 0
    assert all(attack.run([c for c in coded if c != left], -inside) == -20 for left in coded)
    tables = waves.tables(1, groups)
    proof = certify_with_earlier(tables, waves.past(waves.tables(0, groups)), limits)
    assert not proof.holds
    if gained == 10:
        assert any("joined" in str(cell.cell) and cell.people == 40 for cell in proof.exposed)


@pytest.mark.slow
def test_joiners_in_a_corner_are_protected_at_any_size() -> None:
    """[[100, 100], [100, 0]] among joiners, 0 of the first 100 said yes; beside 14,000 other profiles."""
    people: Counter[tuple[Kind, int, int]] = Counter()
    rng = np.random.default_rng(3)
    names = [[f"{axis}{n}" for n in range(24)] for axis in "abc"]
    for profile in product(*names):
        if profile[0] in ("a0", "a1") or profile[1] in ("b0", "b1"):
            continue
        yes = int(rng.binomial(4, 0.5))
        people[(profile, profile), 1, 1] += yes
        people[(profile, profile), 0, 0] += 4 - yes
    for a, b, size, yes in ((0, 0, 100, 0), (0, 1, 100, 50), (1, 0, 100, 50)):
        stayed: Profile = (f"a{a}", f"b{b}", "c0")
        people[(stayed, stayed), 1, 1] += 300
        people[(stayed, stayed), 0, 0] += 300
        people[(None, stayed), -1, 1] += yes
        people[(None, stayed), -1, 0] += size - yes
    waves = Waves(("a", "b", "c"), ("no", "yes"), +people)
    groups = {place: [frozenset([name]) for name in names[place]] for place in range(3)}
    totals = waves.counts(1, 0, None)
    limits = Target().limits(totals.tolist(), int(totals.sum()))
    proof = certify_with_earlier(waves.tables(1, groups), waves.past(waves.tables(0, groups)), limits)
    assert not proof.holds

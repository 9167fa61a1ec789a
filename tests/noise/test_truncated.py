"""Truncated noise: deltas by the definition, bounds as inverses, and the planner that uses them."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from safemargin import noise
from safemargin.core import InputError
from safemargin.noise.calculators import NoiseRequirements
from safemargin.noise.laws import hockey_stick, law_variance, truncated_bound, truncated_delta, truncated_law
from safemargin.noise.pictures import averaging_rows, exposure_rows, tail_rows, tuple_rows, utility_rows
from safemargin.noise.plan import MOST_DROPPED, plan
from safemargin.noise.planner import cut
from safemargin.noise.programme import parse_programme
from safemargin.noise.redundancy import Output, count

PROGRAMME = """
[variables]
SEX = 2
AGE = 6
WORK = 5
[[tables]]
name = "a"
axes = ["SEX", "AGE"]
[[tables]]
name = "b"
axes = ["SEX", "WORK"]
[[tables]]
name = "c"
axes = ["SEX", "AGE", "WORK"]
"""


@pytest.mark.parametrize("variance", [0.5, 2.0, 9.0])
@pytest.mark.parametrize(("bound", "change", "epsilon"), [(3, 1, 0.5), (5, 1, 1.0), (4, 2, 0.3), (12, 3, 2.0)])
def test_delta_of_truncated_gaussian_noise_is_that_of_the_definition(
    variance: float, bound: int, change: int, epsilon: float
) -> None:
    """The largest gap of Eq. (2) over all sets: on every result, what exceeds exp(epsilon) times its neighbour."""
    weights = {k: math.exp(-(k**2) / (2 * variance)) for k in range(-bound, bound + 1)}
    law = {k: weight / sum(weights.values()) for k, weight in weights.items()}
    values = range(-bound - change, bound + change + 1)
    gaps = [law.get(k, 0.0) - math.exp(epsilon) * law.get(k + change, 0.0) for k in values]
    best = sum(gap for gap in gaps if gap > 0)
    assert truncated_delta(epsilon, bound, change, "gaussian", variance) == pytest.approx(best, rel=1e-9)
    if len(gaps) <= 12:  # all sets one by one
        sets = itertools.product((0, 1), repeat=len(gaps))
        assert max(sum(np.array(chosen) * gaps) for chosen in sets) == pytest.approx(best)


def test_the_bound_of_gaussian_noise_is_the_smallest() -> None:
    for delta in (0.2, 0.05, 0.012):
        bound = truncated_bound(1.0, delta, 1, "gaussian", 4.0)
        assert truncated_delta(1.0, bound, 1, "gaussian", 4.0) <= delta
        assert bound == 1 or truncated_delta(1.0, bound - 1, 1, "gaussian", 4.0) > delta
    with pytest.raises(InputError, match="no bound is enough; without one delta is 0.0"):
        truncated_bound(1.0, 1e-9, 1, "gaussian", 4.0)


def test_the_setups_of_rinott_and_others() -> None:
    """Section 4.1 quotes bounds of 7 to 12 for epsilon 0.5 and 1.5 and delta 2e-5 and 8e-3, with Laplace and Gaussian
    noise; geometric noise needs 7 for the weakest pair, as there."""
    assert noise.truncated(0.5, delta=0.008).value == 7
    assert noise.truncated(1.5, delta=2e-5).value == 7
    assert 7 <= noise.truncated(0.5, delta=0.008, law="laplace").value <= 8  # type: ignore[operator]


def test_the_command_takes_all_three_laws() -> None:
    figure = noise.truncated(1.0, bound=6, law="gaussian", variance=4.0)
    assert figure.value == truncated_delta(1.0, 6, 1, "gaussian", 4.0)
    assert "Discrete Gaussian noise with variance 4, drawn again beyond 6" in figure.sentence
    for wrong, said in (
        ({"law": "dice"}, "law = 'dice'"),
        ({"law": "gaussian"}, "variance goes with the law gaussian"),
        ({"variance": 2.0}, "variance goes with the law gaussian"),
    ):
        with pytest.raises(InputError, match=said):
            noise.truncated(1.0, bound=3, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("law", ["geometric", "gaussian"])
def test_the_planner_cuts_noise_to_the_variance(law: str) -> None:
    point = cut(law, 6, 2.0, {"SEX": {2: 1000}}, NoiseRequirements())
    assert point is not None
    chances = truncated_law(law, point.parameter, 6)
    assert law_variance(chances) == pytest.approx(2.0) and point.delta == hockey_stick(chances, point.epsilon)
    # By brute force over three noise terms: how likely |F + M - T| exceeds what a bound of 5 could do.
    one = sum(
        a * b * c
        for (i, a), (j, b), (k, c) in itertools.product(enumerate(chances, -6), repeat=3)
        if abs(i + j - k) > 15
    )
    assert point.disclosed == pytest.approx(1 - (1 - one) ** 1000, rel=1e-6)
    assert cut(law, 1, 2.0, {}, NoiseRequirements()) is None, "no noise within 1 has variance 2"


def test_a_plan_without_a_programme() -> None:
    """The figures of the EU census: k/t^2 = .0867 and .0118, 28 million tuples of Germany, 37,000 areas of France."""
    made = plan(kt2=0.0867, kt2_fresh=0.0118, tuples=28_000_000, areas=37_000)
    assert round(made.least_variance, 2) == 2.92 and made.recommended is not None and made.recommended.bound == 7
    assert round(made.band.low, 2) == 0.58 and round(made.band.high, 2) == 0.31 and round(made.band.once, 2) == 0.83
    assert made.riskiest is None and "The most exposed estimate is worth k/t^2 = 0.0867" in made.sentences[1]
    assert "noise that survives" in made.to_html() and made.to_json()["details"]["riskiest"] is None
    for wrong in ({}, {"kt2": 0.1}, {"kt2": 0.1, "tuples": 5}):
        with pytest.raises(InputError, match="go together|give a programme"):
            plan(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="give a programme, or kt2"):
        plan(parse_programme(PROGRAMME), kt2=0.1, tuples=2, areas=3)


def test_the_table_to_drop_leaves_room() -> None:
    """Brute force over all tables: the one that is dropped first lowers the variance that is needed most."""
    programme = parse_programme(PROGRAMME)
    narrow: dict[str, Any] = {"largest_bound": 2, "confidence": 0.5}
    made = plan(programme, **narrow)
    assert made.recommended is None and made.drop is not None
    needed = {}
    for table in programme.tables:
        axes = [
            [programme.variables[v].name for v, _ in other.axes] for other in programme.tables if other is not table
        ]
        kept = [f"[[tables]]\naxes = {names}" for names in axes]
        head = PROGRAMME[: PROGRAMME.index("[[tables]]")]
        needed[table.name] = plan(parse_programme(head + "\n".join(kept)), **narrow).least_variance
    assert needed[made.drop.tables[0]] == min(needed.values())
    assert any("Drop" in sentence or "still needed" in sentence for sentence in made.sentences)


def test_many_tables_to_drop_end_with_what_is_still_needed() -> None:
    axes = "\n".join(f"[[tables]]\naxes = {list(three)}" for three in itertools.combinations("ABCDEF", 3))
    variables = "\n".join(f"{name} = 3" for name in "ABCDEF")
    made = plan(parse_programme(f"[variables]\n{variables}\n{axes}\n"), confidence=0.3, largest_bound=1)
    assert made.drop is not None and len(made.drop.tables) == MOST_DROPPED and made.drop.recommended is None
    assert any("is still needed" in sentence for sentence in made.sentences)


def test_the_pictures_hold_what_the_formulas_say() -> None:
    output = count(parse_programme(PROGRAMME), "small")
    wishes = NoiseRequirements()
    # Fig. 1: by convolution of three laws of largest entropy within 5 of variance 2.
    row = next(row for row in tuple_rows(10**6, wishes) if (row["x"], row["y"]) == (2.0, 5))
    assert row["value"] == pytest.approx(math.log10(7_488_040), abs=1e-6) and row["label"] == "7 •"
    # Fig. 2: k/t^2 = .1 with variance 2 is 73.6 %; here the next value on the grid, by the normal law.
    for row in averaging_rows(output, "V", (2.0,), wishes):
        chance = math.erf(0.5 / math.sqrt(2 * 2.0 * row["y"]))
        assert row["value"] == pytest.approx(100 * chance) and row["label"].endswith("•") == (chance <= 0.68)
    own = {row["y"] for row in averaging_rows(output, "epsilon", (0.5,), wishes)}
    assert round(output.ratio, 4) in own
    # Fig. 4: exp(-epsilon E), and one over the number of areas (six ages are the finest breakdown).
    for row in tail_rows(output):
        size = {"beyond 20": 20, "beyond 50": 50, "beyond 100": 100}.get(row["line"])
        assert row["y"] == pytest.approx(1 / 6 if size is None else max(math.exp(-row["x"] * size), 1e-12))
    # Fig. 5: ln(t / (1 - a)) / E.
    for row in utility_rows(output, wishes):
        if row["line"] == "needed by small areas":
            assert row["y"] == pytest.approx(math.log(6 / 0.32) / row["x"])
    # Fig. 7: the three steps of annex B.3 by hand, on sets of variables (Eqs. 21 and 22).
    sizes, tables = {"S": 2, "A": 6, "W": 5}, ("SA", "SW", "SAW")
    margins = [frozenset(part) for table in tables for n in range(4) for part in itertools.combinations(table, n)]
    for kind, listed in (("with SPSN", sorted(set(margins), key=sorted)), ("without SPSN", margins)):
        best = []
        for statistic in set(margins):
            sums = sorted(math.prod(sizes[v] for v in other - statistic) for other in listed if statistic <= other)
            ratios = [sum(sums[:t]) / t**2 for t in range(1, len(sums) + 1)]
            stop = next((t for t in range(1, len(ratios)) if ratios[t] > ratios[t - 1]), len(ratios))
            best.append(ratios[stop - 1])
        drawn = {row["class"]: row["count"] for row in exposure_rows(output) if row["kind"] == kind}
        assert sum(drawn.values()) == len(best) == 8
        assert drawn["1 or more"] == sum(ratio >= 1 for ratio in best)
        assert drawn["0.7"] == sum(0.7 <= ratio < 0.8 for ratio in best)


def test_no_statistic_is_drawn_without_a_programme() -> None:
    made = plan(kt2=0.1, tuples=100, areas=10)
    assert isinstance(made.output, Output) and "Fig. 7" not in made.to_html()

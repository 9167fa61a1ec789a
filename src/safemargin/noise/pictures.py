"""The paper's pictures for a programme: Figs. 1, 2, 4 (its last panel), 5 and 7, as charts with captions."""

import math

import numpy as np

from safemargin.noise.calculators import (
    NoiseRequirements,
    epsilon_of,
    gaussian_success,
    reveal_chance,
    tail_chance,
    tuples_needed,
    utility_limit,
    variance_needed,
    variance_of,
)
from safemargin.noise.charts import curve_chart, heat_chart, histogram_chart
from safemargin.noise.redundancy import Output
from safemargin.ui import Spec

DOT = " •"
"""Marks noise that a constraint allows."""
ERRORS = (20, 50, 100)
"""Errors whose chance Fig. 4 draws against epsilon."""
VARIANCES = tuple(0.5 * n for n in range(1, 13))
EPSILONS = tuple(0.1 * n for n in range(1, 16))
RATIOS = tuple(10 ** (n / 4) for n in range(-9, 2))
"""k/t^2 from 0.0056 to 1.8, as the paper draws it."""


def pictures(output: Output, wishes: NoiseRequirements) -> list[tuple[str, Spec, str]]:
    """Heading, chart and caption of every picture."""
    most = max((sum(by.values()) for by in output.tuples.values()), default=0)
    needed = f"Logarithm of how many counts beside two parts disclose E at {wishes.confidence:.0%}; "
    drawn: list[tuple[str, Spec, str]] = [
        (
            "Tuples that disclose the bound (Fig. 1)",
            heat_chart(tuple_rows(most, wishes), "variance V", "bound E"),
            f"{needed}a dot: more than the {most:,} that are published, so that E stays confidential",
        )
    ]
    for name, letter, values in (("variance V", "V", VARIANCES), ("epsilon", "epsilon", EPSILONS)):
        drawn.append(
            (
                f"Averaging by {letter} (Fig. 2)",
                heat_chart(averaging_rows(output, letter, values, wishes), name, "k/t^2"),
                "Percent of cases in which a mean is right (Gaussian); a dot: at most what you accept. "
                f"Smallest here: {output.ratio:.3g}, with new noise in every table {min(output.fresh_ratios):.3g}",
            )
        )
    drawn += [
        (
            "Noise beyond an error (Fig. 4)",
            curve_chart(tail_rows(output), "epsilon per count", "chance", log_y=True),
            "Chance that noise exceeds 20, 50 or 100; the level line is one over the number of small areas",
        ),
        (
            "Epsilon that small areas need (Fig. 5)",
            curve_chart(utility_rows(output, wishes), "error that no area exceeds", "epsilon", log_x=True, log_y=True),
            f"By the largest error accepted, {output.small_areas:,} small areas at {wishes.confidence:.0%}",
        ),
    ]
    if output.statistics:
        drawn.append(
            (
                "How exposed statistics are (Fig. 7)",
                histogram_chart(exposure_rows(output)),
                "Statistics by the smallest k/t^2 of the three steps, with and without SPSN, and by the ratio of both",
            )
        )
    return drawn


def tuple_rows(most: int, wishes: NoiseRequirements) -> list[Spec]:
    """For every variance and bound, the logarithm of how many tuples of two parts disclose the bound (Eq. 11)."""
    rows: list[Spec] = []
    for bound in range(1, wishes.largest_bound + 1):
        for variance in VARIANCES:
            if variance <= bound * (bound + 1) / 3:
                needed = tuples_needed(reveal_chance(bound, variance, 2), wishes.confidence)
                size = math.inf if needed is None else math.log10(needed)
                rows.append(
                    {
                        "x": variance,
                        "y": bound,
                        "value": min(size, 20.0),
                        "label": f"{min(size, 99):.0f}{DOT if needed is None or needed > most else ''}",
                    }
                )
    return rows


def averaging_rows(output: Output, letter: str, values: tuple[float, ...], wishes: NoiseRequirements) -> list[Spec]:
    """For every k/t^2 and noise, how often a mean is right (annex B.3)."""
    own = {round(ratio, 4) for ratio in (output.ratio, min(output.fresh_ratios))}
    rows: list[Spec] = []
    for ratio in sorted({*(round(ratio, 4) for ratio in RATIOS), *own}):
        for value in values:
            variance = value if letter == "V" else variance_of(value)
            chance = gaussian_success(ratio, variance)
            rows.append(
                {
                    "x": round(value, 2),
                    "y": ratio,
                    "value": 100 * chance,
                    "label": f"{100 * chance:.0f}{DOT if chance <= wishes.confidence else ''}",
                }
            )
    return rows


def tail_rows(output: Output) -> list[Spec]:
    """Chance of noise beyond an error by epsilon (Eq. 15), and one over the number of small areas."""
    epsilons = np.geomspace(0.025, 0.8, 40).tolist()
    rows: list[Spec] = [
        {"x": epsilon, "y": max(tail_chance(error, epsilon), 1e-12), "line": f"beyond {error}"}
        for error in ERRORS
        for epsilon in epsilons
    ]
    level = 1 / output.small_areas
    return [*rows, *({"x": epsilon, "y": level, "line": "1 / small areas"} for epsilon in epsilons)]


def utility_rows(output: Output, wishes: NoiseRequirements) -> list[Spec]:
    """Epsilon by the error that no small area exceeds (Eq. 16), and the most that averaging allows."""
    errors = np.geomspace(1, 1000, 40).tolist()
    allowed = epsilon_of(variance_needed(min(output.fresh_ratios), wishes.confidence))
    rows: list[Spec] = []
    for error in errors:
        needed = utility_limit(output.small_areas, error, wishes.confidence)
        rows += [
            {"x": error, "y": needed, "line": "needed by small areas"},
            {"x": error, "y": allowed, "line": "allowed by averaging"},
        ]
    return rows


def exposure_rows(output: Output) -> list[Spec]:
    """How many statistics have their smallest k/t^2 in each class, with and without SPSN, and the ratio of both."""
    edges = np.append(np.arange(0, 1.1, 0.1), np.inf)
    same = {entry.statistic: float(entry.best_ratio) for entry in output.statistics}
    fresh = {entry.statistic: float(entry.best_ratio) for entry in output.fresh}
    kinds = {
        "with SPSN": list(same.values()),
        "without SPSN": list(fresh.values()),
        "ratio without / with": [fresh[name] / value for name, value in same.items() if fresh[name] != value],
    }
    return [
        {"class": f"{low:.1f}" if low < 1 else "1 or more", "count": int(often), "kind": kind}
        for kind, values in kinds.items()
        for low, often in zip(edges[:-1], np.histogram(np.round(values, 9), edges)[0], strict=True)
    ]

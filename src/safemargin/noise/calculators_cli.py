"""Commands about noise on counts: calculators, each one figure with what it was worked out from."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated

import typer

from safemargin.core import InputError, numpy_generator
from safemargin.noise.averaging import (
    CONFIDENCE,
    MOST_COUNTS,
    chebyshev_success,
    epsilon_of,
    gaussian_success,
    simulate,
    simulate_epsilon,
    variance_needed,
    variance_of,
)
from safemargin.noise.limits import (
    CENSUS_SHARE,
    composed_noise,
    reconstruction_limit,
    reidentified,
    table_epsilon,
    tail_chance,
    utility_limit,
)
from safemargin.noise.margins import exploit as run_exploit
from safemargin.noise.reveal import reveal_chance, reveal_risk, tuples_needed
from safemargin.samplers.checks import LARGEST_BOUND, at_least
from safemargin.ui import Json, out, print_json

Confidence = Annotated[float, typer.Option(help="How sure the onlooker may be, or the office wants to be.")]
Epsilon = Annotated[float, typer.Option(help="Epsilon of the noise on one count.")]
Variance = Annotated[float, typer.Option(help="Variance of the noise on one count.")]
Bound = Annotated[int, typer.Option(help="Largest size of the noise.")]
Ratio = Annotated[float, typer.Option("--kt2", help="k / t^2: noisy counts added up, over representations squared.")]

REPRESENTATIONS = 100
"""Of a simulated mean, unless the user says how many."""


def answer(
    as_json: bool, value: object, inputs: Mapping[str, object], words: str, details: Mapping[str, object] | None = None
) -> None:
    """Print a figure, in words or as a document."""
    if as_json:
        print_json({"value": value, "inputs": dict(inputs), **({"details": dict(details)} if details else {})})
    else:
        out.print(words, markup=False)


def reconstruct(
    people: Annotated[int, typer.Option(help="Records of the database.")],
    confidence: Confidence = 0.99,
    as_json: Json = False,
) -> None:
    """Epsilon per count above which a database can be rebuilt from very many counts.

    Example: safemargin noise reconstruct --people 1000000 --confidence 0.99
    """
    value = reconstruction_limit(people, confidence)
    counts = people * math.log(people) ** 2
    words = (
        f"From epsilon {value:.4f} per count on, {counts:,.0f} random counts of {people:,} yes-or-no records "
        f"give the records away ({confidence:.0%} sure)."
    )
    answer(as_json, value, {"people": people, "confidence": confidence}, words)


def compose(
    outputs: Annotated[int, typer.Option(help="Independent representations of the total.")],
    epsilon: Annotated[float, typer.Option(help="Epsilon of everything that is published.")],
    as_json: Json = False,
) -> None:
    """Size of the noise on each count when many counts share one epsilon.

    Example: safemargin noise compose --outputs 2775 --epsilon 1
    """
    value = composed_noise(outputs, epsilon)
    words = f"Noise of standard deviation {value:,.1f} on every count: epsilon {epsilon:g} over {outputs:,} outputs."
    answer(as_json, value, {"outputs": outputs, "epsilon": epsilon}, words)


def budget(
    epsilon: Annotated[float, typer.Option(help="Epsilon of the whole census.")],
    part: Annotated[float, typer.Option("--share", help="Part of it that one table gets.")] = CENSUS_SHARE,
    as_json: Json = False,
) -> None:
    """What one table of a census gets of a global epsilon, and the size of its noise.

    Example: safemargin noise budget --epsilon 0.25
    """
    value = table_epsilon(epsilon, part)
    size = math.sqrt(variance_of(value))
    words = f"Epsilon {value:.4g} for the table: noise of standard deviation {size:,.1f} on every count."
    answer(as_json, value, {"epsilon": epsilon, "share": part}, words, {"standard_deviation": size})


def reveal(
    bound: Bound,
    variance: Annotated[float | None, typer.Option(help="Variance of the noise; without it, noise is uniform.")] = None,
    parts: Annotated[int, typer.Option(help="Counts that a total adds up.")] = 2,
    tuples: Annotated[int | None, typer.Option(help="How many such tuples are published.")] = None,
    confidence: Confidence = CONFIDENCE,
    as_json: Json = False,
) -> None:
    """Chance that counts and their total give the bound of the noise away.

    Example: safemargin noise reveal --bound 5 --variance 2
    """
    chance = reveal_chance(bound, variance, parts)
    needed = tuples_needed(chance, confidence)
    risk = None if tuples is None else reveal_risk(chance, tuples)
    words = (
        f"One total with its {parts} parts tells the bound {bound} with chance {chance:.3g}; "
        + ("no number of them is enough." if needed is None else f"{needed:,} of them do, {confidence:.0%} sure.")
        + ("" if risk is None else f" Among {tuples:,} of them, the chance is {risk:.3g}.")
    )
    inputs = {"bound": bound, "variance": variance, "parts": parts, "tuples": tuples, "confidence": confidence}
    answer(as_json, chance, inputs, words, {"tuples_needed": needed, "risk": risk})


def exploit(
    counts: Annotated[str, typer.Option(help="Noisy counts, e.g. 3,2.")],
    total: Annotated[int, typer.Option(help="Their noisy total.")],
    bound: Bound,
    as_json: Json = False,
) -> None:
    """True counts that fit noisy ones and their total, once the bound is known.

    Example: safemargin noise exploit --counts 3,2 --total 11 --bound 2
    """
    try:
        given = [int(text) for text in counts.split(",")]
    except ValueError:
        raise InputError(f"--counts {counts!r}: give whole numbers between commas, as in 3,2") from None
    found = run_exploit(given, total, bound)
    ranges = [f"{a}" if a == b else f"{a} to {b}" for a, b in zip(found.lower, found.upper, strict=True)]
    verdict = "All true counts are known" if found.is_disclosed else "The true counts are not all known"
    words = f"{verdict}: {', '.join(ranges[:-1])}, total {ranges[-1]}."
    value = [list(pair) for pair in zip(found.lower, found.upper, strict=True)]
    inputs = {"counts": given, "total": total, "bound": bound}
    answer(as_json, list(found.lower) if found.is_disclosed else None, inputs, words, {"intervals": value})


def average(
    ratio: Annotated[float | None, typer.Option("--kt2", help="k / t^2; or give --k and --t.")] = None,
    variance: Annotated[float | None, typer.Option(help="Variance of the noise on one count.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="In place of the variance: Laplace noise.")] = None,
    k: Annotated[int | None, typer.Option("--k", help="Noisy counts added up in all.")] = None,
    t: Annotated[int | None, typer.Option("--t", help="Representations that are averaged.")] = None,
    bound: Annotated[int | None, typer.Option(help="Largest size of simulated noise.")] = None,
    samples: Annotated[int, typer.Option(help="How many means to simulate; 0 for none.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of the simulation.")] = 1,
    as_json: Json = False,
) -> None:
    """Chance that the mean of all representations of a count is the true count: Gaussian, at least, and simulated.

    Example: safemargin noise average --kt2 0.1 --variance 2
    """
    said = k is not None or bound is not None
    k, t, ratio = _representations(k, t, ratio)
    if (variance is None) == (epsilon is None):
        raise InputError("give one of --variance and --epsilon")
    spread = variance_of(epsilon) if epsilon is not None else variance
    assert spread is not None
    chance, least = gaussian_success(ratio, spread), chebyshev_success(ratio, spread)
    words = f"The mean is the true count with chance {chance:.1%} (Gaussian), at least {least:.1%} (Chebyshev)."
    details: dict[str, object] = {"chebyshev": least, "simulated": None}
    limit = None if epsilon is not None else bound or max(10, math.ceil(4 * math.sqrt(spread)))
    if samples and not said and (k > MOST_COUNTS or (limit or 0) > LARGEST_BOUND):
        words += "\nNone were simulated: there would be too many counts, or values of the noise."
    elif samples:
        generator = numpy_generator(seed)
        if epsilon is not None or limit is None:
            seen = simulate_epsilon(k, t, epsilon or 0.0, samples=samples, generator=generator)
        else:
            seen = simulate(k, t, spread, limit, samples=samples, generator=generator)
        low, high = seen.interval()
        details["simulated"] = {"right": seen.right, "samples": samples, "rate": seen.rate, "interval": [low, high]}
        within = "" if limit is None else f" within {limit}"
        words += (
            f"\n{seen.right:,} of {samples:,} simulated means were right ({low:.1%} to {high:.1%}), "
            f"each of {t:,} representations that add up {k:,} counts with noise{within}."
        )
    inputs = {"kt2": ratio, "variance": spread, "k": k, "t": t, "bound": limit, "samples": samples, "seed": seed}
    answer(as_json, chance, inputs, words, details)


def _representations(k: int | None, t: int | None, ratio: float | None) -> tuple[int, int, float]:
    """Whole numbers for a ratio, or the ratio of whole numbers."""
    if k is not None and t is not None and ratio is None:
        if k < t or t < 1:
            raise InputError(f"--k {k} --t {t}: each of the t representations adds up at least one count")
        return k, t, k / t**2
    if ratio is None or k is not None or t is not None:
        raise InputError("give --kt2 alone, or --k with --t")
    gaussian_success(ratio, 1.0)  # refuses what is no ratio
    exact = Fraction(ratio)
    times = max(REPRESENTATIONS, math.ceil(1 / exact))
    return max(1, round(exact * times**2)), times, ratio


def variance(ratio: Ratio, confidence: Confidence = CONFIDENCE, as_json: Json = False) -> None:
    """Smallest variance, and largest epsilon, that keep averaging from being right too often.

    Example: safemargin noise variance --kt2 0.0867
    """
    value = variance_needed(ratio, confidence)
    epsilon = epsilon_of(value)
    words = f"Variance {value:.3g} at least, or epsilon {epsilon:.3g} at most: a mean is right in {confidence:.0%}."
    answer(as_json, value, {"kt2": ratio, "confidence": confidence}, words, {"epsilon": epsilon})


def utility(
    areas: Annotated[int, typer.Option(help="Small areas whose counts are published.")],
    error: Annotated[float, typer.Option(help="Error that no area may exceed.")] = 20,
    confidence: Confidence = CONFIDENCE,
    as_json: Json = False,
) -> None:
    """Smallest epsilon with which no small area is off by more than an error.

    Example: safemargin noise utility --areas 37000 --error 20
    """
    value = utility_limit(areas, error, confidence)
    words = f"Epsilon {value:.3g} at least, or one of {areas:,} counts is off by more than {error:g} too often."
    answer(as_json, value, {"areas": areas, "error": error, "confidence": confidence}, words)


def tail(
    epsilon: Epsilon,
    error: Annotated[float | None, typer.Option(help="Error to exceed.")] = None,
    count: Annotated[float | None, typer.Option(help="In place of --error: a count...")] = None,
    relative: Annotated[float | None, typer.Option(help="...and a share of it, e.g. 0.5.")] = None,
    counts: Annotated[int, typer.Option(help="How many counts have such noise.")] = 1,
    as_json: Json = False,
) -> None:
    """Chance that Laplace noise exceeds an error, and how many counts that hits.

    Example: safemargin noise tail --epsilon 0.1 --count 80 --relative 0.5 --counts 11680
    """
    if error is None:
        if count is None or relative is None:
            raise InputError("give --error, or --count with --relative")
        error = count * relative
    elif count is not None or relative is not None:
        raise InputError("give --error alone, or --count with --relative")
    at_least("counts", counts, 0)
    value = tail_chance(error, epsilon)
    words = f"Noise exceeds {error:g} with chance {value:.3%}: {value * counts:,.1f} of {counts:,} counts expected."
    answer(as_json, value, {"epsilon": epsilon, "error": error, "counts": counts}, words, {"expected": value * counts})


def reidentify(
    reconstructed: Annotated[float, typer.Option(help="Share of records that are rebuilt rightly.")],
    matched: Annotated[float, typer.Option(help="Share of those that are matched with the right person.")],
    as_json: Json = False,
) -> None:
    """Share of people who are named rightly.

    Example: safemargin noise reidentify --reconstructed 0.5 --matched 0.4
    """
    value = reidentified(reconstructed, matched)
    words = f"{value:.1%} of the people are named rightly."
    answer(as_json, value, {"reconstructed": reconstructed, "matched": matched}, words)

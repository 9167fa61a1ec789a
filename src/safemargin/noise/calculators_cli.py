"""Calculators about noise: arguments, one call, one figure with what it was computed from."""

from typing import Annotated

import typer

import safemargin.noise as api
from safemargin.noise.calculators import CONFIDENCE
from safemargin.ui import Json, parse_integers, print_result

Confidence = Annotated[float, typer.Option(help="How sure the onlooker may be, or the office wants to be.")]
Epsilon = Annotated[float, typer.Option(help="Epsilon of the noise on one count.")]
Bound = Annotated[int, typer.Option(help="Largest size of the noise.")]
Ratio = Annotated[float, typer.Option("--kt2", help="k / t^2: noisy counts added up, over representations squared.")]


def reconstruct(
    people: Annotated[int, typer.Option(help="Records of the database.")],
    confidence: Confidence = 0.99,
    as_json: Json = False,
) -> None:
    """Epsilon per count above which a database can be reconstructed from very many counts.

    Example: safemargin noise reconstruct --people 1000000 --confidence 0.99
    """
    print_result(api.reconstruct(people, confidence), as_json)


def reveal(
    bound: Bound,
    variance: Annotated[float | None, typer.Option(help="Variance of the noise; uniform noise without it.")] = None,
    parts: Annotated[int, typer.Option(help="Counts that a total adds up.")] = 2,
    tuples: Annotated[int | None, typer.Option(help="Number of such totals that are published.")] = None,
    confidence: Confidence = CONFIDENCE,
    as_json: Json = False,
) -> None:
    """Chance that counts and their total disclose the bound of the noise.

    Example: safemargin noise reveal --bound 5 --variance 2
    """
    print_result(api.reveal(bound, variance, parts, tuples, confidence), as_json)


def exploit(
    counts: Annotated[str, typer.Option(help="Noisy counts, e.g. 3,2.")],
    total: Annotated[int, typer.Option(help="Their noisy total.")],
    bound: Bound,
    as_json: Json = False,
) -> None:
    """True counts that fit noisy ones and their total, once the bound is known.

    Example: safemargin noise exploit --counts 3,2 --total 11 --bound 2
    """
    print_result(api.exploit(parse_integers(counts), total, bound), as_json)


def average(
    ratio: Annotated[float | None, typer.Option("--kt2", help="k / t^2; or give --k and --t.")] = None,
    variance: Annotated[float | None, typer.Option(help="Variance of the noise on one count.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Epsilon of Laplace noise, in place of --variance.")] = None,
    k: Annotated[int | None, typer.Option("--k", help="Noisy counts added up in all.")] = None,
    t: Annotated[int | None, typer.Option("--t", help="Representations that are averaged.")] = None,
    bound: Annotated[int | None, typer.Option(help="Largest size of simulated noise.")] = None,
    samples: Annotated[int, typer.Option(help="Number of simulated means; 0 for none.")] = 1000,
    seed: Annotated[int, typer.Option(help="Random seed of the simulation.")] = 1,
    as_json: Json = False,
) -> None:
    """Chance that the mean of all representations of a count is the true count: Gaussian, at least, and simulated.

    Example: safemargin noise average --kt2 0.1 --variance 2
    """
    print_result(api.average(ratio, variance, epsilon, k, t, bound, samples, seed), as_json)


def variance(ratio: Ratio, confidence: Confidence = CONFIDENCE, as_json: Json = False) -> None:
    """Smallest variance, and largest epsilon, that keep averaging from being right too often.

    Example: safemargin noise variance --kt2 0.0867
    """
    print_result(api.variance(ratio, confidence), as_json)


def utility(
    areas: Annotated[int, typer.Option(help="Small areas whose counts are published.")],
    error: Annotated[float, typer.Option(help="Error that no area may exceed.")] = 20,
    confidence: Confidence = CONFIDENCE,
    as_json: Json = False,
) -> None:
    """Smallest epsilon with which no small area is off by more than an error.

    Example: safemargin noise utility --areas 37000 --error 20
    """
    print_result(api.utility(areas, error, confidence), as_json)


def tail(
    epsilon: Epsilon,
    error: Annotated[float | None, typer.Option(help="Error to exceed.")] = None,
    count: Annotated[float | None, typer.Option(help="A count, with --relative, in place of --error.")] = None,
    relative: Annotated[float | None, typer.Option(help="Share of --count to exceed, e.g. 0.5.")] = None,
    counts: Annotated[int, typer.Option(help="Number of counts with such noise.")] = 1,
    as_json: Json = False,
) -> None:
    """Chance that Laplace noise exceeds an error, and in how many counts it does.

    Example: safemargin noise tail --epsilon 0.1 --count 80 --relative 0.5 --counts 11680
    """
    print_result(api.tail(epsilon, error, count, relative, counts), as_json)


def truncated(
    epsilon: Epsilon,
    bound: Annotated[float | None, typer.Option(help="Bound beyond which noise is drawn again.")] = None,
    delta: Annotated[float | None, typer.Option(help="Largest delta, in place of --bound.")] = None,
    change: Annotated[int, typer.Option(help="Change of all counts by one person.")] = 1,
    laplace: Annotated[bool, typer.Option("--laplace", help="Laplace instead of two-sided geometric noise.")] = False,
    as_json: Json = False,
) -> None:
    """Delta of noise with a bound, or the smallest bound for a delta.

    Example: safemargin noise truncated --epsilon 0.5 --bound 12
    """
    print_result(api.truncated(epsilon, bound, delta, change, laplace), as_json)

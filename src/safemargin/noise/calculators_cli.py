"""Commands that compute one figure: each has the parameters of its function, and a text for each in help."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

import safemargin.noise as api
from safemargin import ui

CONFIDENCE = "How sure the onlooker may be, or the office wants to be."
EPSILON = "Epsilon of the noise on one count."
RATIO = "k / t^2: noisy counts added up, over representations squared."
SEED = "Random seed of the simulation."
LAW = "Law of the noise: geometric, laplace or gaussian."


def calculator(function: Callable[..., ui.Result], example: str, **helps: str) -> Callable[..., None]:
    """A command for a function that computes a figure; a list of integers is typed as 3,2."""
    parameters = []
    for name, text in helps.items():
        known = inspect.signature(function, eval_str=True).parameters[name]
        kind = str if "Sequence" in str(known.annotation) else known.annotation
        flags = [f"--{name.replace('_', '-')}"]  # a flag alone: there is no --no-...
        parameters.append(known.replace(annotation=Annotated[kind, typer.Option(*flags, help=text)]))
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters.append(inspect.Parameter("as_json", keyword, default=False, annotation=ui.Json))

    def run(**values: Any) -> None:
        as_json = values.pop("as_json")
        if isinstance(values.get("counts"), str):
            values["counts"] = ui.parse_integers(values["counts"])
        ui.print_result(function(**values), as_json)

    run.__name__ = function.__name__
    run.__doc__ = (
        f"{(inspect.getdoc(function) or '').splitlines()[0]}\n\nExample: safemargin noise {function.__name__} {example}"
    )
    signature = inspect.Signature([parameter.replace(kind=keyword) for parameter in parameters])
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


COMMANDS = (
    calculator(
        api.average,
        "--kt2 0.1 --variance 2",
        kt2="k / t^2; or give --k and --t.",
        variance="Variance of the noise on one count.",
        epsilon="Epsilon of Laplace noise, in place of --variance.",
        k="Noisy counts added up in all.",
        t="Representations that are averaged.",
        bound="Largest size of simulated noise.",
        samples="Number of simulated means; 0 for none.",
        seed=SEED,
    ),
    calculator(api.variance, "--kt2 0.0867", kt2=RATIO, confidence=CONFIDENCE),
    calculator(
        api.reveal,
        "--bound 5 --variance 2",
        bound="Largest size of the noise.",
        variance="Variance of the noise; uniform noise without it.",
        parts="Counts that a total adds up.",
        tuples="Number of such totals that are published.",
        confidence=CONFIDENCE,
    ),
    calculator(
        api.exploit,
        "--counts 3,2 --total 11 --bound 2",
        counts="Noisy counts, e.g. 3,2.",
        total="Their noisy total.",
        bound="Largest size of the noise.",
    ),
    calculator(
        api.truncated,
        "--epsilon 0.5 --bound 12",
        epsilon="Epsilon of the noise on one count; with --law gaussian, that for which delta is computed.",
        bound="Bound beyond which noise is drawn again.",
        delta="Largest delta, in place of --bound.",
        change="Change of all counts by one person.",
        law=LAW,
        variance="With --law gaussian: variance of the noise without a bound.",
    ),
    calculator(api.reconstruct, "--people 1000000 --confidence 0.99", people="Records.", confidence=CONFIDENCE),
    calculator(
        api.utility,
        "--areas 37000 --error 20",
        areas="Small areas whose counts are published.",
        error="Error that no area may exceed.",
        confidence=CONFIDENCE,
    ),
    calculator(
        api.tail,
        "--epsilon 0.1 --count 80 --relative 0.5 --counts 11680",
        epsilon=EPSILON,
        error="Error to exceed.",
        count="A count, with --relative, in place of --error.",
        relative="Share of --count to exceed, e.g. 0.5.",
        counts="Number of counts with such noise.",
    ),
    calculator(
        api.interval,
        "--printed 14 --variance 2 --bound 5",
        printed="Printed number, or the sum of several.",
        terms="Noisy counts that were added up.",
        variance="Variance of bounded noise, with --bound.",
        bound="Largest size of the noise.",
        epsilon="Epsilon of two-sided geometric noise, in place of --variance.",
        confidence="How often the interval must hold the true count.",
    ),
)

"""The privacy guarantee of a TopDown release, derived by the rules of `guarantees`.

Statement (Bailie, Gong and Meng on the 2020 census, Theorem 2 and appendix H)
    Between data sets that agree on the invariants and differ in one record, the release is rho²-zCDP:

    1. Each noisy margin is a discrete Gaussian of parameter v. One record moves two counts by one each, which costs
       1 / v in rho² (Canonne, Kamath and Steinke 2022).
    2. All margins together cost the sum (composition), which is the budget, as shares add up to 1.
    3. Exact margins cost nothing among data sets that agree on them, and everything among others (Proposition 1).
    4. Estimates and integer tables are functions of both (post-processing).

    `guarantee.json` has this tree.

Two epsilons
    `epsilon` follows from rho² by the formula of Bun and Steinke, rho² + 2 rho sqrt(ln(1 / delta)).
    `epsilon_by_losses` is the least with delta by the law of the privacy loss of all counts that a record moves; it is
    usually smaller.

Not covered, and said so
    Bounds and impossible cells are taken for facts about every data set; releases that earlier tables are from add
    their own budget; in a joint release a person who moves changes two households (`movers.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from safemargin.core import (
    Change,
    Distance,
    Guarantee,
    Invariant,
    Measure,
    Population,
    Records,
    at_least,
    counts,
    named,
)
from safemargin.guarantees import (
    compose_parts,
    convert_unit,
    loss_epsilon,
    post_process,
    publish_invariants,
    published_epsilon,
)
from safemargin.topdown.attributes import MarginQuery
from safemargin.topdown.design import Design
from safemargin.topdown.movers import ALONE

MECHANISM = "TopDown"
PUBLIC = "bounds and impossible cells are assumed to be public facts about every data set"
Movers = Mapping[tuple[int, MarginQuery], int]  # squared change through one person, by level and margin
EARLIER = "the guarantees of the releases that earlier tables are from add to this one"


def neighbours(design: Design) -> str:
    """Which data sets the guarantee is about."""
    many = "people" if design.unit == "person" else f"{design.unit}s"
    return f"data sets of equally many {many} that agree on the invariants and differ in one {design.unit}'s record"


def summarise(design: Design, areas_from_data: bool, composed: Guarantee | None = None) -> dict[str, object]:
    """The guarantee in short, with all it does not cover; `composed` includes earlier releases.

    `epsilon` follows from rho², `epsilon_by_losses` from the noise of all counts that one record moves. The noise of
    earlier releases is unknown here, so with them there is only the former.
    """
    kinds, levels = design.attributes, design.spine.levels
    everybody = "people" if design.unit == "person" else f"{design.unit}s"
    invariants = [f"number of all {everybody}"]
    invariants += [
        f"{kinds.title(query)} of {f'every {levels[level]}' if level else f'all {everybody}'}"
        for level, query in design.exact
        if level or query.axes
    ]
    invariants += [f"which areas of level {levels[-1]} have people"] * areas_from_data
    invariants += [str(invariant) for invariant in _exact_bounds(design)]
    together = {}
    if composed is not None and composed.budget is not None:
        epsilon = published_epsilon(float(composed.budget), design.delta)
        together = {"with_earlier": {"rho_squared": str(composed.budget), "epsilon": epsilon}}
    return {
        "mechanism": "TopDown with discrete Gaussian noise",
        "measure": "zero-concentrated differential privacy",
        "rho_squared": str(design.rho_squared),
        "epsilon": published_epsilon(float(design.rho_squared), design.delta),
        "epsilon_by_losses": loss_epsilon(design.moved, design.delta),
        "delta": design.delta,
        "neighbours": neighbours(design),
        "invariants": invariants,
        "impossible_cells": int(design.impossible.sum()),
        "public_bounds": [f"{kinds.title(limit.query)} of {levels[level]}" for level, limit in design.bounds],
        "earlier_tables": [
            *(f"{kinds.title(limit.query)} of {levels[level]}" for level, limit in design.earlier),
            *dict.fromkeys(
                f"people who fit into the {design.unit}s of {levels[level]}" for level, _ in design.weighted
            ),
        ],
        **together,
    }


def derive_guarantee(
    design: Design, areas_from_data: bool, population: Population | None = None, movers: Movers | None = None
) -> Guarantee:
    """The guarantee with its derivation: noise on every margin, invariants, and tables computed from both.

    With `movers` it is about one person, who may move from one household to another: each noisy margin of households is
    paid for by its own largest squared change (`topdown.movers`).
    """
    tables = post_process(_measured(design, areas_from_data, population, movers), MECHANISM)
    return replace(
        tables,
        statement=_statement(design),
        remarks=(PUBLIC, *([EARLIER] if design.earlier or design.weighted else [])),
    )


def compose_earlier(design: Design, areas_from_data: bool, earlier: Sequence[Guarantee]) -> Guarantee:
    """The guarantee of this release and of those whose tables it agrees with: its tables are computed from both."""
    parts = [_measured(design, areas_from_data), *earlier]
    both = compose_parts(parts, "noisy and exact margins, and earlier releases")
    return replace(post_process(both, MECHANISM), statement=_statement(design), remarks=(PUBLIC,))


def _statement(design: Design) -> str:
    """The guarantee in one sentence, for the file that others read."""
    return (
        f"Noisy margins on {len(design.spine.levels)} levels, and tables computed from them and from exact counts. "
        f"Holds for {neighbours(design)}."
    )


def _measured(
    design: Design, areas_from_data: bool, population: Population | None = None, movers: Movers | None = None
) -> Guarantee:
    """The guarantee of all counts that tables are computed from."""
    population, invariants = population or population_of(design), _invariants(design, areas_from_data)
    noisy = []
    for level in range(len(design.spine.levels)):
        for query, variance in design.measured(level).items():
            answer = Guarantee(
                f"{design.attributes.title(query)} of every {design.spine.levels[level]} with parameter {variance}",
                "",
                1 / variance,
                invariants,
                population,
                Change(Distance.HAMMING, design.unit),
                Measure.ZCDP,
                rule="discrete Gaussian noise: one changed record changes two counts of a margin by one",
            )
            noisy.append(answer if movers is None else _of_movers(answer, variance, movers[level, query]))
    # Among data sets that agree on the invariants, publishing them costs nothing (Proposition 1 of the paper).
    free = publish_invariants(noisy[0], invariants, "exact counts")
    return compose_parts([*noisy, free], "noisy and exact margins")


def _of_movers(answer: Guarantee, variance: Fraction, squares: int) -> Guarantee:
    """A noisy margin of households per person: half the squared change over the parameter."""
    most = "one record" if squares <= ALONE else "two records"
    how = f"{most} of a {answer.change.unit}; squared changes of this margin sum to {squares}"
    return convert_unit(answer, "person", squares / (2 * variance), how)


def population_of(design: Design) -> Population:
    """People with their areas and attributes. An area determines the wider ones, a category its groups."""
    levels, kinds = design.spine.levels[1:], design.attributes
    nested = [(narrow, wide) for wide, narrow in zip(levels, levels[1:], strict=False)]
    nested += [(kinds.names[grouping.axis], grouping.name) for grouping in kinds.groupings]
    variables = (*levels, *kinds.names, *(grouping.name for grouping in kinds.groupings))
    return Population(
        f"{design.unit} records", records=(Records(f"{design.unit}s", variables, free=True),), determines=tuple(nested)
    )


def _invariants(design: Design, areas_from_data: bool) -> tuple[Invariant, ...]:
    """Exact margins, and which areas have people if the areas are taken from the data."""
    levels, kinds = design.spine.levels, design.attributes
    exact = [
        counts(f"{design.unit}s", *([levels[level]] if level else []), *(name for name, _ in kinds.columns(query)))
        for level, query in design.exact
    ]
    present = [at_least(1, f"{design.unit}s", levels[-1])] if areas_from_data else []
    return tuple(dict.fromkeys((*exact, *present, *_exact_bounds(design))))


def _exact_bounds(design: Design) -> list[Invariant]:
    """Counts that bounds fix: at least as many as at most, such as one person in every single room.

    A count that is bounded from both sides by one number is published by its bound, whatever the number rests on.
    Bounds that only keep cells empty are like impossible cells: public facts.
    """
    levels, kinds, invariants = design.spine.levels, design.attributes, []
    for level, limit in design.bounds:
        fixed = limit.low == limit.high
        by = (*([levels[level]] if level else []), *(name for name, _ in kinds.columns(limit.query)))
        if fixed.all():
            invariants.append(counts(f"{design.unit}s", *by))
        elif (fixed & (limit.low > 0)).any():
            invariants.append(named(f"{counts(f'{design.unit}s', *by)} in {int(fixed.sum()):,} cells that bounds fix"))
    return invariants

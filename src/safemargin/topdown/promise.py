"""What a TopDown release promises, and why, as JSON that other programs read."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from safemargin.account.conversion import published_epsilon
from safemargin.account.losses import loss_epsilon
from safemargin.account.rules import compose, post_process
from safemargin.model.attributes import Query
from safemargin.model.design import Design
from safemargin.model.guarantee import Guarantee
from safemargin.model.guarantee_file import guarantee_from

UNIT, RECORDS = "person", "persons"
PUBLIC = "bounds and cells that hold nobody are taken for public facts about every data set"
BESIDE = "the promises of the releases that earlier tables are from count beside this one"
NEIGHBOURS = "data sets of equally many people that agree on the invariants and differ in one person's record"


def summary(design: Design, areas_from_data: bool, whole: Guarantee | None = None) -> dict[str, object]:
    """The promise in the words of a report, with everything that it leaves out; `whole` is with earlier releases.

    `epsilon` follows from rho, and `epsilon_by_losses` from the noise of all counts that one record moves. The noise of
    earlier releases is not looked at, so for all together there is only the former.
    """
    kinds, levels = design.attributes, design.spine.levels
    invariants = ["number of all people"]
    invariants += [
        f"{kinds.title(query)} of {f'every {levels[level]}' if level else 'all people'}"
        for level, query in design.exact
        if level or query.axes
    ]
    invariants += [_inhabited(design)] * areas_from_data
    together = {}
    if whole is not None and whole.budget is not None:
        epsilon = published_epsilon(float(whole.budget), design.delta)
        together = {"with_earlier": {"rho": str(whole.budget), "epsilon": epsilon}}
    return {
        "mechanism": "TopDown with discrete Gaussian noise",
        "measure": "zero-concentrated differential privacy",
        "rho": str(design.rho),
        "epsilon": published_epsilon(float(design.rho), design.delta),
        "epsilon_by_losses": loss_epsilon(design.moved, design.delta),
        "delta": design.delta,
        "neighbours": NEIGHBOURS,
        "invariants": invariants,
        "impossible_cells": int(design.impossible.sum()),
        "public_bounds": [f"{kinds.title(limit.query)} of {levels[level]}" for level, limit in design.bounds],
        "earlier_tables": [f"{kinds.title(limit.query)} of {levels[level]}" for level, limit in design.earlier],
        **together,
    }


def with_earlier(design: Design, areas_from_data: bool, earlier: Sequence[Guarantee]) -> Guarantee:
    """The promise of this release and of those whose tables it agrees with: tables are computed from both."""
    mine = guarantee_from(derivation(design, areas_from_data), "promise")
    both = compose([*mine.premises, *earlier], "noisy and exact margins, and earlier releases")
    return replace(post_process(both, mine.mechanism), statement=mine.statement, remarks=(PUBLIC,))


def derivation(design: Design, areas_from_data: bool) -> dict[str, object]:
    """The promise as a tree: each node has its rule and what it rests on. Budgets are fractions."""
    flavour = _flavour(design, areas_from_data)
    leaves = [
        _node(
            f"{design.attributes.title(query)} of every {design.spine.levels[level]} with parameter {variance}",
            1 / variance,
            "discrete Gaussian noise: one changed record changes two counts of a margin by one",
            flavour,
        )
        for level in range(len(design.spine.levels))
        for query, variance in design.measured(level).items()
    ]
    free = _node("exact counts", Fraction(0), "invariants are free (Proposition 1)", flavour)
    measured = _node("noisy and exact margins", design.rho, "composition", flavour, [*leaves, free])
    found = _node("TopDown", design.rho, "post-processing", flavour, [measured])
    statement = (
        f"Noisy margins on {len(design.spine.levels)} levels, and tables computed from them and from what is exact. "
        f"Holds for {NEIGHBOURS}."
    )
    remarks = [PUBLIC, *([BESIDE] if design.earlier else [])]
    return {"schema": 1, **found, "statement": statement, "remarks": remarks}


def _node(
    mechanism: str,
    budget: Fraction,
    rule: str,
    flavour: Mapping[str, object],
    premises: list[dict[str, object]] | None = None,
) -> dict[str, object]:
    found = {"mechanism": mechanism, **flavour, "budget": {"rho_squared": str(budget)}, "rule": rule}
    return {**found, "premises": premises} if premises else found


def _flavour(design: Design, areas_from_data: bool) -> dict[str, object]:
    """Everything but the budget: the same for all nodes."""
    levels, kinds = design.spine.levels[1:], design.attributes
    invariants: list[object] = [_counts(design, level, query) for level, query in design.exact]
    if areas_from_data:
        invariants.append({**_counts(design, design.spine.last, Query(())), "at_least": 1})
    nested = [[narrow, wide] for wide, narrow in zip(levels, levels[1:], strict=False)]
    nested += [[kinds.names[each.axis], each.name] for each in kinds.groupings]
    variables = [*levels, *kinds.names, *(each.name for each in kinds.groupings)]
    records = [{"kind": RECORDS, "variables": variables, "free": True}]
    return {
        "invariants": invariants,
        "population": {"name": f"{UNIT} records", "records": records, "determines": nested},
        "change": {"distance": "hamming", "unit": UNIT},
        "measure": "zcdp",
    }


def _counts(design: Design, level: int, query: Query) -> dict[str, object]:
    area = [design.spine.levels[level]] if level else []
    return {"counts": RECORDS, "by": [*area, *(name for name, _ in design.attributes.columns(query))]}


def _inhabited(design: Design) -> str:
    return f"which areas of level {design.spine.levels[-1]} have people"

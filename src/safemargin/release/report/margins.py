"""Tables of several axes in a report: which are published, what that is worth, and why the others are not."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from safemargin.core import label
from safemargin.release.plan import Plan
from safemargin.release.report.groups import Orders

COLUMNS = ("table", "cells", "counts for", "why")


def margins_document(plan: Plan, certificates: Mapping[str, str], orders: Orders | None = None) -> dict[str, Any]:
    """The parts `margins` and `maximum` of a document; nothing if no table of several axes was asked for."""
    if plan.maximum is None:
        return {}
    found = []
    for each in plan.margins:
        rejected = plan.rejected.get(each.name)
        found.append(
            {
                "margin": list(each.axes),
                "published": each.is_published,
                "groups": {
                    axis: [label(group, (orders or {}).get(axis, ())) for group in groups]
                    for axis, groups in zip(each.axes, each.groups, strict=False)
                },
                "cells": each.cells,
                "all_cells": each.all_cells,
                "value": each.value,
                "weight": each.weight,
                "reason": each.reason,
                "refused": {**asdict(rejected.refusal), "words": str(rejected.refusal)} if rejected else None,
                "certificate": certificates.get(each.name),
            }
        )
    return {"margins": found, "maximum": {**asdict(plan.maximum), "gap": plan.maximum.gap}}


def margin_rows(plan: Plan) -> list[tuple[str, str, str, str]]:
    """One row per table that was asked for, under `COLUMNS`."""
    return [
        (
            each.name,
            f"{each.cells:,} of {each.all_cells:,}" if each.is_published else "-",
            f"{each.value:g} of {each.weight:g}",
            each.reason,
        )
        for each in plan.margins
    ]


def maximum_words(plan: Plan) -> str:
    """How good the choice is."""
    if plan.maximum is None:
        return ""
    best = plan.maximum
    tests = f"{best.proofs:,} release{'s' if best.proofs != 1 else ''} put to the test"
    if best.unproved:
        tests += f", {best.unproved:,} of them neither shown to be safe nor refuted"
    if best.gap <= 1e-6 * max(best.value, 1.0):
        return f"Worth {best.value:g}: no safe choice of the tables asked for is worth more ({tests})."
    most = f"the best safe choice is worth {best.bound:g} at most, a gap of {best.gap:g}"
    return f"Worth {best.value:g}; {most} ({tests})."


def refusal_lines(plan: Plan) -> list[str]:
    """Whom each table that is left out would give away."""
    return [str(each.refusal) for each in plan.rejected.values()]

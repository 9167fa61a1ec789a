"""A release, or a draft that was refused, as a JSON document."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from safemargin.core import label
from safemargin.guarantees import document as guarantee_document
from safemargin.release.plan import Plan
from safemargin.release.report.context import ReportContext
from safemargin.release.report.groups import Orders, decision_label
from safemargin.ui import SCHEMA, UNNAMED_COUNT, Document


def release_document(
    context: ReportContext, published: Sequence[str] = (), certificates: Mapping[str, str] | None = None
) -> Document:
    """What is published, what was done with every group and why. It holds reasons, so it is confidential.

    `published` are the files that are written for the public; `certificates` prove, by margin, why one is omitted.
    """
    plan = context.plan
    document = {
        "schema": SCHEMA,
        "certified": bool(published),
        "published": list(published),
        "cells": [
            {
                "cell": group.cell,
                "people": group.people,
                "action": str(group.action),
                "reason": group.reason,
                "counts": {option or UNNAMED_COUNT: count for option, count in group.counts.items()},
            }
            for group in context.groups
        ],
        "certificate": next((name for name in published if name.endswith("/certificate.json")), ""),
        "refused": [{**asdict(refusal), "words": str(refusal)} for refusal in plan.refusals],
        "guarantees": [guarantee_document(guarantee) for guarantee in plan.guarantees],
        "noised": [
            {
                "cell": {each.axis: label(each.group, context.orders.get(each.axis, ()))},
                "posterior": float(each.chance),
                "secret": each.secret,
                "draw_counted": each.counted,
            }
            for each in context.publication.noised
        ],
        "irregular": [
            f"{decision.axis} {decision_label(decision, context.orders)}".strip() for decision in plan.irregular
        ],
        "exposed_people": plan.exposed_people,
        "total_exposes": context.total_exposes,
        "notes": list(plan.notes),
    }
    if context.outcome is not None:
        document["outcome"] = context.outcome
    return document | _margins_document(plan, certificates or {}, context.orders)


def _margins_document(plan: Plan, certificates: Mapping[str, str], orders: Orders) -> Document:
    """The parts `margins` and `maximum` of a document; nothing if no table of several axes was asked for."""
    if plan.maximum is None:
        return {}
    margins = []
    for margin in plan.margins:
        rejected = plan.rejected.get(margin.name)
        margins.append(
            {
                "margin": list(margin.axes),
                "published": margin.is_published,
                "groups": {
                    axis: [label(group, orders.get(axis, ())) for group in groups]
                    for axis, groups in zip(margin.axes, margin.groups, strict=False)
                },
                "suppressed": [
                    {axis: label(group, orders.get(axis, ())) for axis, group in zip(margin.axes, cell, strict=True)}
                    for cell in margin.hidden
                ],
                "cells": margin.cells,
                "all_cells": margin.all_cells,
                "value": margin.value,
                "weight": margin.weight,
                "reason": margin.reason,
                "refused": {**asdict(rejected.refusal), "words": str(rejected.refusal)} if rejected else None,
                "certificate": certificates.get(margin.name),
            }
        )
    return {"margins": margins, "maximum": {**asdict(plan.maximum), "gap": plan.maximum.gap}}

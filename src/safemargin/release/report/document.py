"""A release as a JSON document."""

from collections.abc import Sequence
from dataclasses import asdict

from safemargin.guarantees.guarantee_file import document as guarantee_document
from safemargin.release.draft import Draft
from safemargin.release.plan import Plan
from safemargin.release.report.groups import Orders, decided_groups, decision_label
from safemargin.ui import SCHEMA, UNNAMED_COUNT, Document


def release_document(
    plan: Plan, release: Draft, published: Sequence[str], certificate_file: str, *, orders: Orders | None = None
) -> Document:
    """What is published, what was done with every group and why. It holds reasons, so it stays inside."""
    return {
        "schema": SCHEMA,
        "certified": plan.certificate.certified,
        "published": list(published),
        "cells": [
            {
                "cell": group.cell,
                "people": group.people,
                "action": str(group.action),
                "reason": group.reason,
                "counts": {option or UNNAMED_COUNT: count for option, count in group.counts.items()},
            }
            for group in decided_groups(plan, release, orders)
        ],
        "certificate": certificate_file,
        "refused": [{**asdict(refusal), "words": str(refusal)} for refusal in plan.refusals],
        "guarantees": [guarantee_document(guarantee) for guarantee in plan.guarantees],
        "irregular": [
            f"{decision.axis} {decision_label(decision, orders or {})}".strip() for decision in plan.irregular
        ],
        "exposed_people": plan.exposed_people,
        "notes": list(plan.notes),
    }

"""Suppression by threshold: small counts are left out, and nothing is done about what they follow from."""

from dataclasses import replace

import numpy as np

from safemargin.core import UNBOUNDED, BoolArray, Onlooker, Publication, PublishedTable, frozen
from safemargin.release.compare.method import Case, Method, Tables


def suppression(case: Case) -> list[Method]:
    """No count under the threshold is printed."""
    printed = tuple(_without_small(table, case.threshold) for table in case.exact)
    return [
        Method(
            name=f"suppression under {case.threshold}",
            family="suppression",
            does=f"counts under {case.threshold} are left out; nothing else is done",
            draw=lambda draws: [printed] * draws,
            known=lambda tables, onlooker: Publication(_bounded(tables, onlooker, case.threshold), case.target),
        )
    ]


def _without_small(table: PublishedTable, threshold: int) -> PublishedTable:
    small = table.lower < threshold
    return replace(
        table,
        lower=frozen(np.where(small, 0, table.lower)),
        upper=frozen(np.where(small, UNBOUNDED, table.upper)),
        status=tuple(np.where(small, "suppressed", table.status).tolist()),
    )


def _bounded(tables: Tables, onlooker: Onlooker, threshold: int) -> Tables:
    """Who knows the rule knows that a missing count is below the threshold."""
    if not onlooker.knows_rule:
        return tables
    return tuple(
        replace(table, upper=frozen(np.minimum(table.upper, np.where(_hidden(table), threshold - 1, UNBOUNDED))))
        for table in tables
    )


def _hidden(table: PublishedTable) -> BoolArray:
    return np.array([word == "suppressed" for word in table.status])

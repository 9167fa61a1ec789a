"""Coarsening by threshold: categories are merged until every group has enough people on the roll."""

from safemargin.core import Publication, merged_margin
from safemargin.release.compare.method import Case, Method
from safemargin.release.decide.schedule import by_size


def coarsening(case: Case) -> list[Method]:
    """Merging as our own schedule begins, with the threshold as the least size, and nothing after it."""
    merged = [by_size(one, case.threshold) for one in case.splits]
    axes = [merged_margin(case.table, one.axis.name, one.groups) for one in merged if one.is_published]
    printed = (case.exact[0], *axes)
    return [
        Method(
            name=f"coarsening to {case.threshold}",
            family="coarsening",
            does=f"categories are merged until every group has {case.threshold} people",
            draw=lambda draws: [printed] * draws,
            known=lambda tables, onlooker: Publication(tables, case.target),
        )
    ]

"""Nothing done: every count exactly, for reference."""

from safemargin.core import Publication
from safemargin.release.compare.method import Case, Method


def untouched(case: Case) -> list[Method]:
    """All margins as they are."""
    return [
        Method(
            name="nothing done",
            family="nothing done",
            does="every count is printed exactly",
            draw=lambda draws: [case.exact] * draws,
            known=lambda tables, onlooker: Publication(tables, case.target),
        )
    ]

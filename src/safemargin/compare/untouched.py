"""Nothing done: every count exactly, for reference."""

from safemargin.compare.method import Case, Method
from safemargin.model.release import Release


def untouched(case: Case) -> list[Method]:
    """All margins as they are."""
    return [
        Method(
            name="nothing done",
            family="nothing done",
            does="every count is printed exactly",
            draw=lambda draws: [case.exact] * draws,
            known=lambda tables, onlooker: Release(tables, case.target),
        )
    ]

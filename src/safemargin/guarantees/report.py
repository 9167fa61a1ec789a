"""What all reports on guarantees share: the derivation as text and the table side by side."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from safemargin.core import Guarantee, Measure
from safemargin.guarantees.conversion import published_epsilon
from safemargin.guarantees.guarantee_file import read_guarantee
from safemargin.ui import Html, element

SCALES = "These budgets are on one scale only where all other columns agree: do not rank guarantees by them."
COLUMNS = ("guarantee", "measure", "change", "invariants", "budget")
Source = Path | str | Guarantee
"""A guarantee, or the file that holds one."""


def as_guarantee(source: Source) -> Guarantee:
    """The guarantee itself, or the one in a file."""
    return source if isinstance(source, Guarantee) else read_guarantee(source)


def derivation(guarantee: Guarantee, depth: int | None = None, indent: int = 1) -> Iterable[str]:
    """The tree of rules, one line per step, deepest last; `depth` cuts it."""
    yield f"{'  ' * indent}{guarantee.amount}  {guarantee.mechanism}  [{guarantee.rule}]"
    if depth is not None and indent > depth:
        return
    for premise in guarantee.premises:
        yield from derivation(premise, depth, indent + 1)


def derivation_details(guarantee: Guarantee) -> Html:
    """The tree of rules behind a guarantee, folded."""
    return folded(guarantee.mechanism, "\n".join(derivation(guarantee, indent=0)))


def folded(summary: str, text: str) -> Html:
    """A text that opens on a click."""
    return element("details", element("summary", summary), element("pre", text))


def side_by_side(guarantees: Sequence[Guarantee], delta: float = 1e-10) -> list[list[str]]:
    """One row per guarantee with the columns in `COLUMNS`."""
    return [
        [
            guarantee.mechanism,
            str(guarantee.measure),
            str(guarantee.change) if guarantee.budget is not None else "-",
            "; ".join(map(str, guarantee.invariants)) or "none",
            f"{guarantee.amount}{_shown_epsilon(guarantee, delta)}",
        ]
        for guarantee in guarantees
    ]


def _shown_epsilon(guarantee: Guarantee, delta: float) -> str:
    if guarantee.measure is not Measure.ZCDP or guarantee.budget in (None, math.inf):
        return ""
    return f" (epsilon {published_epsilon(float(guarantee.budget or 0), delta):.2f} at delta {delta:g})"

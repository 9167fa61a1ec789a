"""Ways to swap that have no guarantee, for comparison: what one run gives, and the folder it is written to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from safemargin.core import Guarantee, IntArray
from safemargin.io import new_folder
from safemargin.swap.permutation import StratumCells, swap
from safemargin.swap.swap import guarantee
from safemargin.swap.tables import Roles, Run, TableError

Simulate = Callable[[Path], "Simulated"]
Tell = Callable[["Simulated", Path], None]


@dataclass(frozen=True)
class Baseline:
    """Permutation swapping of the same records, once, at the rate of those that changed: what it guarantees and does.

    In small strata it changes fewer: nobody is exchanged alone.
    """

    guarantee: Guarantee
    rate: Fraction
    changed: int
    errors: Mapping[str, tuple[TableError, ...]]


@dataclass(frozen=True)
class Simulated:
    """One run. It looks at data, and has no guarantee that would let the result leave.

    `counts` are what happened to records, under a heading each; `errors` are those of tables by area.
    """

    method: str
    roles: Roles
    unit: str
    rate: Fraction
    records: int
    selected: int
    changed: int
    counts: Mapping[str, Mapping[str, int]]
    guarantee: Guarantee
    errors: Mapping[str, tuple[TableError, ...]]
    beside: Baseline | None
    file: str


def beside(run: Run, cells: StratumCells, ids: IntArray, roles: Roles, unit: str, rate: Fraction) -> Baseline | None:
    """The same records by permutation swapping within the strata of `cells`; None at a rate of 0 or 1.

    The result of `run` is replaced by this one.
    """
    if not 0 < rate < 1:
        return None
    run.forget()
    changed = run.apply(cells, ids, swap(cells, rate))
    run.check()
    return Baseline(guarantee(roles, unit, rate, run.strata(cells, ids)), rate, changed, run.errors_by_area())


def simulate(folder: Path, file_format: str, run: Simulate, tell: Tell) -> Simulated:
    """Run into the part `inside/` of a new folder, or leave nothing behind; `tell` adds what is said about it."""
    with new_folder(folder) as draft:
        inside = draft / "inside"
        inside.mkdir()
        found = run(inside / f"swapped.{file_format}")
        tell(found, inside)
    return found

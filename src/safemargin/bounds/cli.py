"""Arguments that `bound` and `audit` share."""

from dataclasses import dataclass
from pathlib import Path

from safemargin.bounds.export import cells_csv
from safemargin.bounds.exposure import Exposure
from safemargin.core import Target
from safemargin.io import axes
from safemargin.ui import write_text


@dataclass(frozen=True)
class Ask:
    """Which cells are bounded, and how far: `enough` is a width from which on no interval is worked out further."""

    target: tuple[str, ...] | None
    enough: int | None
    fiber: bool

    @classmethod
    def of(cls, target: str | None, aim: Target, decide: bool) -> "Ask":
        """What `--target` and `--decide` ask for."""
        return cls(axes(target), aim.tau if decide else None, not decide)


def export_cells(path: Path | None, exposure: Exposure, aim: Target) -> None:
    if path is not None:
        write_text(path, cells_csv(exposure, aim))

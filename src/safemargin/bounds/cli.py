"""Arguments that `bound` and `audit` share, and the files that a certificate speaks about."""

from dataclasses import dataclass
from pathlib import Path

from safemargin.bounds.certificate import SourceFile, source_of
from safemargin.bounds.exposure import Exposure
from safemargin.bounds.report import cells_csv
from safemargin.core import Target
from safemargin.io import axes, skip_rules
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


def sources_of(
    files: list[Path] | None, role: str, count: str, option: str, by: str | None = None, skip: list[str] | None = None
) -> list[SourceFile]:
    """How `files` are read, for a certificate."""
    reading = {"count": count, "option": option, "by": axes(by), "skip": skip_rules(skip)}
    return [source_of(file, role, **reading) for file in files or []]

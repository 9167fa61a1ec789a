"""The files that a certificate speaks about."""

from pathlib import Path

from safemargin.bounds.certificate import SourceFile, source_of
from safemargin.io import axes, skip_rules


def sources_of(
    files: list[Path] | None, role: str, count: str, option: str, by: str | None = None, skip: list[str] | None = None
) -> list[SourceFile]:
    """How `files` are read, for a certificate."""
    reading = {"count": count, "option": option, "by": axes(by), "skip": skip_rules(skip)}
    return [source_of(file, role, **reading) for file in files or []]

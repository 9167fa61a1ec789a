"""The files that a certificate speaks about."""

from pathlib import Path

from safemargin.bounds.certificate import SourceFile
from safemargin.io import axes, hash_file, skip_rules


def sources_of(
    files: list[Path] | None, role: str, count: str, option: str, by: str | None = None, skip: list[str] | None = None
) -> list[SourceFile]:
    """How `files` are read, for a certificate."""
    names, rules = axes(by), skip_rules(skip)
    return [SourceFile(file.name, role, hash_file(file), count, option, names, rules) for file in files or []]

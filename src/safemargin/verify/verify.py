"""Checking a certificate: hashes, additions and comparisons of whole numbers. Nothing here searches or solves."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safemargin.bounds.certificate import (
    KIND,
    SCHEMA,
    SUPPRESSION,
    SourceFile,
    Verification,
    digest,
    parse,
    source_of,
)
from safemargin.bounds.check import check
from safemargin.core import InputError, PublishedTable
from safemargin.io import hash_file
from safemargin.suppress.check import check_pattern

__all__ = ["Reader", "Verification", "source_of", "verify"]
Reader = Callable[[Path, SourceFile], PublishedTable]
"""Reads a tidy file in the way that a certificate says."""
TIDY = {".csv", ".tsv", ".parquet", ".gz"}
UNSPOKEN = "the certificate does not speak about this file"


@dataclass(frozen=True)
class Given:
    """The files that somebody hands in: those named one by one, and those that lie in a folder that was named."""

    named: Mapping[str, Mapping[str, Path]]
    lying: Mapping[str, Path]

    def find(self, name: str, role: str) -> Path:
        """The file of this name, in this role."""
        path = self.named[role].get(name) or self.lying.get(name)
        if path is None:
            how = {"roll": " with --roll", "fact": " with --fact"}.get(role, "")
            raise InputError(f"{name}: the certificate speaks about this file; give it{how}, or a folder that holds it")
        return path


def verify(
    certificate: Path, files: Sequence[Path], rolls: Sequence[Path] = (), facts: Sequence[Path] = (), *, read: Reader
) -> Verification:
    """Check a certificate of intervals, or of a release, against tables, rolls and facts, or folders with them."""
    document = _load(certificate)
    given = _given(certificate, {"table": files, "roll": rolls, "fact": facts})
    if document.get("kind") == KIND:
        return _verify_intervals(certificate, document, given, read)
    if document.get("kind") == SUPPRESSION:
        return _verify_pattern(certificate, document, given)
    if isinstance(document.get("files"), dict) and "statement" in document:
        return _verify_release(certificate, document, given)
    raise InputError(f"{certificate}: is not a certificate of safemargin")


def _load(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_no_key_twice)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as a certificate ({error})") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InputError(f"{path}: is not a certificate with schema {SCHEMA}")
    return document


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _given(certificate: Path, paths: Mapping[str, Sequence[Path]]) -> Given:
    named: dict[str, dict[str, Path]] = {role: {} for role in paths}
    lying: dict[str, Path] = {}
    for role, path in ((role, path) for role, each in paths.items() for path in each):
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder")
        folder = path.is_dir()
        for file in sorted(path.iterdir()) if folder else [path]:
            if file.is_dir() or file.resolve() == certificate.resolve():
                continue
            other = (lying if folder else named[role]).setdefault(file.name, file)
            if other != file:
                raise InputError(f"{other} and {file}: files of the same name; a certificate tells files by name")
    return Given(named, lying)


def _verify_release(path: Path, document: dict[str, Any], given: Given) -> Verification:
    """The certificate that stands beside a release: its hashes, and those of the manifest."""
    hashes = {str(name): str(value) for name, value in document["files"].items()}
    failures = [_changed(name) for name, value in hashes.items() if hash_file(given.find(name, "table")) != value]
    failures += [f"{name}: {UNSPOKEN}" for name in given.named["table"] if name not in {*hashes, "manifest.json"}]
    if document.get("certified") is not True:
        failures.append("it says itself that the release is not certified")
    if (manifest := path.parent / "manifest.json").is_file():
        stated = _load(manifest).get("files")
        if not isinstance(stated, dict) or not {**hashes, path.name: hash_file(path)}.items() <= stated.items():
            failures.append("manifest.json: names other files or hashes")
    unchecked = (
        f"the statement {document['statement']!r}. It rests on integer tables made from the joint roll, which "
        "are not in this file. `safemargin audit` with --roll and --certificate writes proofs that can be checked.",
        *_not_covered(given, hashes),
    )
    return Verification("release", len(hashes), failures=tuple(failures), unchecked=unchecked)


def _verify_pattern(path: Path, document: dict[str, Any], given: Given) -> Verification:
    """The certificate of suppressed cells, with the files that have the gaps and those that were out before."""
    files = document.get("files")
    if not isinstance(files, dict) or not files:
        raise InputError(f"{path}: is not a certificate of a pattern (files)")
    found = {str(name): given.find(str(name), "table") for name in files}
    failures = tuple(_changed(name) for name, file in found.items() if hash_file(file) != files[name])
    if failures:
        return Verification(SUPPRESSION, len(files), failures=failures)
    return check_pattern(path, document, found)


def _verify_intervals(path: Path, document: dict[str, Any], given: Given, read: Reader) -> Verification:
    if document.get("sha256") != digest(document):
        return Verification(KIND, 0, failures=("it was changed after it was written: its seal does not match",))
    try:
        stated = parse(document)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    found = [(source, given.find(source.name, source.role)) for source in stated.sources]
    failures = [_changed(source.name) for source, file in found if hash_file(file) != source.sha256]
    spoken = {(source.role, source.name) for source in stated.sources}
    failures += [
        f"{name}: {UNSPOKEN}" for role, named in given.named.items() for name in named if (role, name) not in spoken
    ]
    if failures:
        return Verification(KIND, len(found), failures=tuple(failures))
    tables = [(source.role, read(file, source)) for source, file in found]
    unchecked = _left_out(stated.sources) + _not_covered(given, {source.name for source in stated.sources})
    return check(stated, tables, tuple(unchecked))


def _changed(name: str) -> str:
    return f"{name}: is not the file that the certificate speaks about; its hash differs"


def _left_out(sources: Sequence[SourceFile]) -> list[str]:
    return [
        f"{source.name}: rows with {column} = {value!r}, which the certificate leaves out (skip {column}={value})."
        for source in sources
        for column, value in source.skip
    ]


def _not_covered(given: Given, names: Mapping[str, str] | set[str]) -> list[str]:
    stems = {name.split(".")[0] for name in names}
    others = [n for n, path in given.lying.items() if path.suffix in TIDY and n.split(".")[0] not in stems]
    return [f"{name}, which lies in the folder but is not in the certificate." for name in others]

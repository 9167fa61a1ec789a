"""Verify a certificate by hashes, additions and comparisons of integers. Nothing here searches or solves.

The part that wrote a certificate knows how to check it: intervals by `bounds`, suppression by `suppress`; that of a
release states hashes only.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from safemargin.bounds.certificate import (
    KIND,
    SCHEMA,
    SUPPRESSION,
    SourceFile,
    Verification,
    digest,
    parse,
)
from safemargin.bounds.check import check
from safemargin.core import InputError
from safemargin.io import hash_file, read_tidy
from safemargin.suppress.check import check_pattern
from safemargin.ui import Document, Result, header, joined, paragraphs, points, render_page, section

Files = str | Path | Sequence[str | Path]
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
            how = {"roll": " as `roll`", "fact": " as `facts`"}.get(role, "")
            raise InputError(f"{name}: the certificate speaks about this file; give it{how}, or a folder that holds it")
        return path


@dataclass(frozen=True)
class CertificateCheck(Verification, Result):
    """What was verified, and what fails."""

    def to_json(self) -> Document:
        """The document of `verify --json`."""
        return self.document()

    def show(self, console: Console) -> None:
        """Print what was verified; a line per kind of claim."""
        for line in self.lines():
            console.print(line, soft_wrap=True, markup=False)

    def to_html(self) -> str:
        """The same lines as a page."""
        banner = ("The certificate holds." if self.holds else "The certificate does not hold.", "")
        body = [section("What was checked", paragraphs(*self.lines()))]
        body += [section("Claims that fail", points(self.failures))] if self.failures else []
        return render_page("Verify", header("Verify", banner=banner), joined(body))


def verify(certificate: str | Path, files: Files, roll: Files = (), facts: Files = ()) -> CertificateCheck:
    """Verify a certificate of intervals, of suppression or of a release with integer addition alone.

    `files` are the tables that it speaks about, or folders with them; `roll` and `facts` those of the onlooker.
    """
    path = Path(certificate)
    document = _load(path)
    given = _given(path, {"table": _paths(files), "roll": _paths(roll), "fact": _paths(facts)})
    if document.get("kind") == KIND:
        checked = _verify_intervals(path, document, given)
    elif document.get("kind") == SUPPRESSION:
        checked = _verify_pattern(path, document, given)
    elif isinstance(document.get("files"), dict) and "statement" in document:
        checked = _verify_release(path, document, given)
    else:
        raise InputError(f"{path}: is not a certificate of safemargin")
    return CertificateCheck(**vars(checked))


def _paths(files: Files) -> list[Path]:
    return [Path(files)] if isinstance(files, str | Path) else [Path(file) for file in files]


def _load(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_no_key_twice)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as a certificate ({error})") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InputError(f"{path}: is not a certificate with schema {SCHEMA}")
    return document


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    checked = dict(pairs)
    if len(checked) < len(pairs):
        raise ValueError("a key occurs twice")
    return checked


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
                raise InputError(f"{other} and {file}: files of the same name; a certificate identifies files by name")
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
        "are not in this file. An audit with the roll and a certificate writes proofs that can be verified.",
        *_not_covered(given, hashes),
    )
    return Verification("release", len(hashes), failures=tuple(failures), unchecked=unchecked)


def _verify_pattern(path: Path, document: dict[str, Any], given: Given) -> Verification:
    """The certificate of suppressed cells, with the files that have the gaps and those that were out before."""
    files = document.get("files")
    if not isinstance(files, dict) or not files:
        raise InputError(f"{path}: is not a certificate of a pattern (files)")
    checked = {str(name): given.find(str(name), "table") for name in files}
    failures = tuple(_changed(name) for name, file in checked.items() if hash_file(file) != files[name])
    if failures:
        return Verification(SUPPRESSION, len(files), failures=failures)
    return check_pattern(path, document, checked)


def _verify_intervals(path: Path, document: dict[str, Any], given: Given) -> Verification:
    if document.get("sha256") != digest(document):
        return Verification(KIND, 0, failures=("it was changed after it was written: its seal does not match",))
    try:
        stated = parse(document)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    listed = [(source, given.find(source.name, source.role)) for source in stated.sources]
    failures = [_changed(source.name) for source, file in listed if hash_file(file) != source.sha256]
    spoken = {(source.role, source.name) for source in stated.sources}
    failures += [
        f"{name}: {UNSPOKEN}" for role, named in given.named.items() for name in named if (role, name) not in spoken
    ]
    if failures:
        return Verification(KIND, len(listed), failures=tuple(failures))
    tables = [(s.role, read_tidy(file, count=s.count, option=s.option, axes=s.by, skip=s.skip)) for s, file in listed]
    unchecked = _left_out(stated.sources) + _not_covered(given, {source.name for source in stated.sources})
    return check(stated, tables, tuple(unchecked))


def _changed(name: str) -> str:
    return f"{name}: is not the file that the certificate speaks about; its hash differs"


def _left_out(sources: Sequence[SourceFile]) -> list[str]:
    return [
        f"{source.name}: rows with {column} = {value!r}, which the certificate omits (skip {column}={value})."
        for source in sources
        for column, value in source.skip
    ]


def _not_covered(given: Given, names: Mapping[str, str] | set[str]) -> list[str]:
    stems = {name.split(".")[0] for name in names}
    others = [n for n, path in given.lying.items() if path.suffix in TIDY and n.split(".")[0] not in stems]
    return [f"{name}, which lies in the folder but is not in the certificate." for name in others]

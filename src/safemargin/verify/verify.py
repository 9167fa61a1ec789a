"""Verify a certificate by hashes, additions and comparisons of integers. Nothing here searches or solves.

The part that wrote a certificate knows how to check it: intervals by `bounds`, suppression by `suppress`; that of a
release states hashes only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from safemargin import __version__, ui
from safemargin.bounds import KIND, SUPPRESSION, SourceFile, Verification, check, digest, parse
from safemargin.core import InputError
from safemargin.io import MANIFEST, axes, hash_file, read_manifest, read_tidy, skip_rules
from safemargin.release.witnesses import WITNESSES
from safemargin.suppress.check import check_pattern
from safemargin.verify.given import Given, given_files, load
from safemargin.verify.published import PAGE, SIGNATURE, changed, verify_release

Files = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class CertificateCheck(Verification, ui.Result):
    """What was verified, and what fails; `statement` is what the certificate says, `origin` which one it is and when it
    was checked, for the page.
    """

    statement: str = ""
    origin: Mapping[str, str] = field(default_factory=dict, hash=False)

    def to_json(self) -> ui.Document:
        """The document of `verify --json`."""
        return self.document()

    def to_report(self) -> ui.Report:
        first, *others = self.lines()
        state, headline = ("sound", "The certificate holds.") if self.holds else ("unsound", "The certificate fails.")
        return ui.Report(
            "Verify",
            ui.OnPage(ui.Headline(state, headline, first)),
            ui.InTerminal(ui.Paragraph(first, state)),
            *(ui.Paragraph(line) for line in others),
            ui.OnPage(ui.Section("What it states", self.statement)) if self.statement and self.holds else None,
            ui.OnPage(ui.Section("This check", ui.Particulars(self.origin))) if self.origin else None,
        )


def verify(
    certificate: str | Path,
    files: Files,
    roll: Files = (),
    facts: Files = (),
    *,
    count: str = "count",
    option: str = "option",
    by: str | Sequence[str] | None = None,
    skip: Sequence[str] = (),
    key: str | Path | None = None,
    rerun: bool = False,
) -> CertificateCheck:
    """Verify a certificate of intervals, of suppression or of a release with integer addition alone.

    `files` are the tables that it speaks about, or folders with them; `roll` and `facts` those of the onlooker.
    `count`, `option`, `by` and `skip` say how tables are read: a certificate that reads them in another way is refused.
    With a public `key` of minisign, the manifest of a release must be signed with it. With the joint `roll`, the
    witness tables of a release are checked against what it publishes; with `rerun`, the rule is run on each of them.
    """
    path = Path(certificate)
    document = load(path)
    given = given_files(path, {"table": _paths(files), "roll": _paths(roll), "fact": _paths(facts)})
    for name, said in (("key", key is not None), ("rerun", rerun)):
        if said and "kind" in document:
            raise InputError(f"{name}: is for certificates of releases; this one is of another kind")
    if document.get("kind") == KIND:
        names = axes(by if by is None or isinstance(by, str) else ",".join(by))
        reading = TableReading(count, option, names, skip_rules(list(skip)))
        checked = _verify_intervals(path, document, given, reading)
    elif document.get("kind") == SUPPRESSION:
        checked = _verify_pattern(path, document, given)
    elif isinstance(document.get("files"), dict) and "statement" in document:
        checked = verify_release(path, document, given, None if key is None else Path(key), rerun)
    else:
        raise InputError(f"{path}: is not a certificate of safemargin")
    origin = {"certificate": path.name, "SHA-256 of the certificate": hash_file(path)}
    if document.get("title"):
        origin = {"release": str(document["title"])} | origin
    origin |= {"checked on": date.today().isoformat(), "with": f"safemargin {__version__}"}
    return CertificateCheck(**vars(checked), statement=str(document.get("statement", "")), origin=origin)


def _paths(files: Files) -> list[Path]:
    return [Path(files)] if isinstance(files, str | Path) else [Path(file) for file in files]


def _verify_pattern(path: Path, document: dict[str, Any], given: Given) -> Verification:
    """The certificate of suppressed cells, with the files that have the gaps and those that were out before."""
    files = document.get("files")
    if not isinstance(files, dict) or not files:
        raise InputError(f"{path}: is not a certificate of a pattern (files)")
    checked = {str(name): given.find(str(name), "table") for name in files}
    failures = [changed(name) for name, file in checked.items() if hash_file(file) != files[name]]
    failures += given.unspoken({("table", name) for name in checked}, {MANIFEST, SIGNATURE})
    if MANIFEST in given.lying:
        failures += [
            f"{MANIFEST}: names another hash of {name}"
            for name, mark in read_manifest(given.lying[MANIFEST]).files.items()
            if name not in files or files[name] != mark
        ]
    if failures:
        return Verification(SUPPRESSION, len(files), failures=tuple(failures))
    return check_pattern(path, document, checked)


@dataclass(frozen=True)
class TableReading:
    """How whoever verifies reads the tables: columns of counts, answers and axes, and rows that are skipped."""

    count: str
    option: str
    by: tuple[str, ...] | None
    skip: tuple[tuple[str, str], ...]

    def failures(self, source: SourceFile) -> list[str]:
        """Where the certificate reads a file in another way, each with the parameter that would allow it."""
        table = source.role == "table"
        expected = {
            "count": "people" if source.role == "roll" else self.count,
            "option": self.option,
            "by": sorted(self.by) if table and self.by is not None else None,
            "skip": sorted(f"{column}={value}" for column, value in self.skip) if table else [],
        }
        stated = {
            "count": source.count,
            "option": source.option,
            "by": None if source.by is None else sorted(source.by),
            "skip": sorted(f"{column}={value}" for column, value in source.skip),
        }
        return [
            f"{source.name}: the certificate reads it with {name} = {value!r}, not {expected[name]!r}; "
            f"if that is right, give `{name}`"
            for name, value in stated.items()
            if value != expected[name]
        ]


def _verify_intervals(path: Path, document: dict[str, Any], given: Given, reading: TableReading) -> Verification:
    if document.get("sha256") != digest(document):
        return Verification(KIND, 0, failures=("it was changed after it was written: its seal does not match",))
    try:
        stated = parse(document)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    listed = [(source, given.find(source.name, source.role)) for source in stated.sources]
    failures = [changed(source.name) for source, file in listed if hash_file(file) != source.sha256]
    failures += [failure for source in stated.sources for failure in reading.failures(source)]
    companions, broken = _companions(given, {source.name for source in stated.sources})
    failures += given.unspoken({(source.role, source.name) for source in stated.sources}, companions) + broken
    if failures:
        return Verification(KIND, len(listed), failures=tuple(failures))
    tables = [(s.role, read_tidy(file, count=s.count, option=s.option, axes=s.by, skip=s.skip)) for s, file in listed]
    return check(stated, tables, tuple(_skipped(stated.sources)))


def _companions(given: Given, names: set[str]) -> tuple[set[str], list[str]]:
    """In the folder of a release: other formats of the tables, certificate and manifest; and what is wrong there."""
    path = given.lying.get("certificate.json")
    if path is None or MANIFEST not in given.lying or "certificate.json" in names:
        return set(), []
    document = load(path)
    if not isinstance(document.get("files"), dict):
        return set(), []
    inside = {name: file for name, file in given.lying.items() if file.parent == path.parent and file != path}
    release = verify_release(path, document, Given({"table": {}}, inside, given.folders))
    stems = {name.rpartition(".")[0] for name in names}
    others = {str(name) for name in document["files"] if str(name).rpartition(".")[0] in stems}
    beside = {MANIFEST, SIGNATURE, PAGE, WITNESSES, path.name}
    return others | beside, [f"{path.name}: {failure}" for failure in release.failures]


def _skipped(sources: Sequence[SourceFile]) -> list[str]:
    return [
        f"{source.name}: rows with {column} = {value!r}, which the certificate omits (skip {column}={value})."
        for source in sources
        for column, value in source.skip
    ]

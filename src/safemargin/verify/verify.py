"""Verify a certificate by hashes, additions and comparisons of integers. Nothing here searches or solves.

The part that wrote a certificate knows how to check it: intervals by `bounds`, suppression by `suppress`; that of a
release states hashes only.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safemargin import __version__, bounds, io, ui
from safemargin.bounds import KIND, SUPPRESSION, Verification
from safemargin.checker import CERTIFICATE, FAILS, HOLDS, MANIFEST, NOT_CHECKED, PAGE, SIGNATURE
from safemargin.core import InputError
from safemargin.io import read_json
from safemargin.verify.given import PUBLISHED, Given, changed, given_files, load
from safemargin.verify.published import RELEASE, verify_release

if TYPE_CHECKING:
    from safemargin.bounds import SourceFile

# Names of `bounds` and `io` are loaded where they are used: a release needs the checker alone, and no array library.
Files = str | Path | Sequence[str | Path]


UNCHECKED = "Not checked:"
"""How a line begins about what was not shown."""
HEADLINES = {
    HOLDS: ("sound", "The certificate holds."),
    FAILS: ("unsound", "The certificate fails."),
    NOT_CHECKED: ("partly", ""),
}


@dataclass(frozen=True)
class CertificateCheck(Verification, ui.Result):
    """What was verified, and what fails; `statement` is the strongest that was checked, `origin` which certificate it
    is and when it was checked, for the page.
    """

    statement: str = ""
    origin: Mapping[str, str] = field(default_factory=dict, hash=False)

    def to_json(self) -> ui.Document:
        """The document of `verify --json`."""
        return self.document()

    def to_report(self) -> ui.Report:
        first, *others = self.lines()
        state, headline = HEADLINES[self.outcome]
        done = [line for line in others if not line.startswith(UNCHECKED)]
        left = [line.removeprefix(UNCHECKED).strip() for line in others if line.startswith(UNCHECKED)]
        left = [f"{line[:1].upper()}{line[1:]}" for line in left]
        return ui.Report(
            "Verify",
            ui.OnPage(ui.Headline(state, headline or first, first if headline else "")),
            ui.InTerminal(ui.Paragraph(headline, state)) if self.holds else None,
            ui.InTerminal(ui.Paragraph(first, "warning" if state == "partly" else state)),
            ui.InTerminal(*(ui.Paragraph(line) for line in others)),
            ui.OnPage(
                ui.Section("Findings" if state == "unsound" else "Checked", ui.Points(done)) if done else None,
                ui.Section("Not checked", ui.Points(left)) if left else None,
            ),
            ui.Section("What was checked", self.statement) if self.statement and self.holds else None,
            ui.OnPage(ui.Section("This check", ui.Particulars(self.origin))) if self.origin else None,
        )


def verify(
    certificate: str | Path,
    files: Files = (),
    roll: Files = (),
    facts: Files = (),
    *,
    auditors: str | Path | None = None,
    count: str = "count",
    option: str = "option",
    by: str | Sequence[str] | None = None,
    skip: Sequence[str] = (),
    key: str | Path | None = None,
    rerun: bool = False,
    whole_page: bool = False,
) -> CertificateCheck:
    """Verify a certificate of intervals, of suppression or of a release with integer addition alone.

    Of a release, and of tables with suppressed counts, `certificate` is the published folder; `files` are then tables
    that were published before. With the folder for `auditors`, its witness tables are checked
    against what it publishes; with `rerun`, the rule is run on each of them; with a public `key` of minisign, its
    manifest must be signed with it; a `roll` of one's own must be the one that auditors got; with `whole_page`, the
    page is made anew from the tables, and must show the same.

    Of other certificates, `files` are the tables that they speak about, or folders with them; `roll` and `facts` those
    of the onlooker. `count`, `option`, `by` and `skip` say how tables are read: a certificate that reads them in
    another way is refused.
    """
    path = Path(certificate)
    folder = _release_folder(path)
    if folder is not None:
        rolls = _paths(roll)
        others = [file for file in _paths(files) if file.resolve() != folder.resolve()]
        if (others and (folder / PAGE).exists()) or len(rolls) > 1 or _paths(facts):
            raise InputError(f"{folder}: a release is verified as a whole: give its published folder, and nothing else")
        given_auditors = None if auditors is None else Path(auditors)
        own = rolls[0] if rolls else None
        public_key = None if key is None else Path(key)
        checked, statement = verify_release(folder, given_auditors, public_key, own, rerun, others, whole_page)
        return CertificateCheck(**vars(checked), statement=statement, origin=_origin(folder / "certificate.json"))
    document = load(path)
    given = given_files(path, {"table": _paths(files), "roll": _paths(roll), "fact": _paths(facts)})
    for name, said in (
        ("key", key is not None),
        ("rerun", rerun),
        ("auditors", auditors is not None),
        ("page", whole_page),
    ):
        if said:
            raise InputError(f"{name}: is for certificates of releases; this one is of another kind")
    if document.get("kind") == KIND:
        names = io.axes(by if by is None or isinstance(by, str) else ",".join(by))
        reading = TableReading(count, option, names, io.skip_rules(list(skip)))
        checked = _verify_intervals(path, document, given, reading)
    elif document.get("kind") == SUPPRESSION:
        checked = _verify_pattern(path, document, given)
    else:
        raise InputError(f"{path}: is not a certificate of safemargin, or one of another version")
    return CertificateCheck(**vars(checked), origin=_origin(path))


def _release_folder(path: Path) -> Path | None:
    """The published folder of a release, where `path` is one, or the certificate in one; else nothing."""
    if path.is_dir():
        inside = path / PUBLISHED
        if (inside / MANIFEST).is_file() and not (path / MANIFEST).exists():
            raise InputError(
                f"{path}: is the whole folder of the office; what is published is a part of it: give {inside}"
            )
        return path
    if path.name != CERTIFICATE or not path.is_file():
        return None
    document = read_json(path)
    return path.parent if isinstance(document, dict) and document.get("kind") == RELEASE else None


def _origin(path: Path) -> dict[str, str]:
    """Which certificate was checked, and when."""
    origin = {"certificate": path.name}
    if path.is_file():
        origin["SHA-256 of the certificate"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return origin | {"checked on": date.today().isoformat(), "with": f"safemargin {__version__}"}


def _paths(files: Files) -> list[Path]:
    return [Path(files)] if isinstance(files, str | Path) else [Path(file) for file in files]


def _verify_pattern(path: Path, document: dict[str, Any], given: Given) -> Verification:
    """The certificate of suppressed cells, with the files that have the gaps and those that were out before."""
    files = document.get("files")
    if not isinstance(files, dict) or not files:
        raise InputError(f"{path}: is not a certificate of a pattern (files)")
    checked = {str(name): given.find(str(name), "table") for name in files}
    failures = [changed(name) for name, file in checked.items() if io.hash_file(file) != files[name]]
    failures += given.unreferenced({("table", name) for name in checked}, {MANIFEST, SIGNATURE, CERTIFICATE})
    if MANIFEST in given.in_folder:
        failures += [
            f"{MANIFEST}: names another hash of {name}"
            for name, mark in io.read_manifest(given.in_folder[MANIFEST]).files.items()
            if name != CERTIFICATE and (name not in files or files[name] != mark)
        ]
    if failures:
        return Verification(SUPPRESSION, len(files), failures=tuple(failures))
    found: Verification = import_module("safemargin.suppress.check").check_pattern(path, document, checked)
    return found


@dataclass(frozen=True)
class TableReading:
    """How whoever verifies reads the tables: columns of counts, answers and axes, and rows that are skipped."""

    count: str
    option: str
    by: tuple[str, ...] | None
    skip: tuple[tuple[str, str], ...]

    def failures(self, source: "SourceFile") -> list[str]:
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
    if document.get("sha256") != bounds.digest(document):
        return Verification(KIND, 0, failures=("it was changed after it was written: its seal does not match",))
    try:
        stated = bounds.parse(document)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    listed = [(source, given.find(source.name, source.role)) for source in stated.sources]
    failures = [changed(source.name) for source, file in listed if io.hash_file(file) != source.sha256]
    failures += [failure for source in stated.sources for failure in reading.failures(source)]
    companions, broken = _companions(given, {source.name for source in stated.sources})
    failures += given.unreferenced({(source.role, source.name) for source in stated.sources}, companions) + broken
    if failures:
        return Verification(KIND, len(listed), failures=tuple(failures))
    tables = [
        (s.role, io.read_tidy(file, count=s.count, option=s.option, axes=s.by, skip=s.skip)) for s, file in listed
    ]
    return bounds.check(stated, tables, tuple(_skipped(stated.sources)))


def _companions(given: Given, names: set[str]) -> tuple[set[str], list[str]]:
    """In the folder of a release: other formats of the tables, certificate and manifest; and what is wrong there."""
    path = given.in_folder.get(CERTIFICATE)
    if path is None or MANIFEST not in given.in_folder or CERTIFICATE in names:
        return set(), []
    document = read_json(path)
    if not isinstance(document, dict) or document.get("kind") != RELEASE:
        return set(), []
    release, _ = verify_release(path.parent)
    stems = {name.rpartition(".")[0] for name in names}
    tables = document["tables"] if not release.failures else []
    files = [str(name) for table in tables for name in table["files"]]
    others = {name for name in files if name.rpartition(".")[0].removesuffix(".sdmx") in stems}
    beside = {MANIFEST, SIGNATURE, PAGE, CERTIFICATE}
    return others | beside, [f"{path.name}: {failure}" for failure in release.failures]


def _skipped(sources: "Sequence[SourceFile]") -> list[str]:
    return [
        f"{source.name}: rows with {column} = {value!r}, which the certificate omits (skip {column}={value})."
        for source in sources
        for column, value in source.skip
    ]

"""Verify the folder of a release: what `safemargin.checker` checks, further formats, and the rule."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safemargin import checker, core, io
from safemargin.bounds import SUPPRESSION, Verification
from safemargin.core import InputError

if TYPE_CHECKING:
    from safemargin.core import PublishedTable, Target

# What reads further formats, and the rule, is loaded where it is used: hashes and additions need none of it.
Row = dict[str, Any]
RELEASE = "release"


def verify_release(
    folder: Path,
    auditors: Path | None = None,
    key: Path | None = None,
    roll: Path | None = None,
    rerun: bool = False,
    earlier: Sequence[Path] = (),
    whole_page: bool = False,
) -> tuple[Verification, str]:
    """What is found in a published folder, and the strongest statement that was checked.

    With the folder for `auditors` the witnesses are added up; with `rerun`, the rule is run on each of them as well.
    Tables with suppressed counts may have `earlier` ones that their certificate is about, too. With `whole_page`, the
    page is made anew.
    """
    if rerun and auditors is None:
        raise InputError("rerun: needs the folder for auditors of the release; give it as `auditors`")
    key_bytes, roll_bytes = (None if path is None else io.read_bytes(path) for path in (key, roll))
    try:
        files = checker.read_folder(str(folder))
        held = None if auditors is None else checker.read_folder(str(auditors))
    except checker.Finding as finding:
        return Verification(RELEASE, 0, failures=(str(finding),), is_proved=False), ""
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror})") from None
    more = {path.name: io.read_bytes(path) for path in earlier}
    result = checker.check(files, held, key=key_bytes, roll=roll_bytes, more=more)
    is_release = checker.PAGE in files
    found = Verification(
        RELEASE if is_release else SUPPRESSION,
        result.files,
        cells=result.cells,
        proved=result.cells if result.is_proved and not is_release else 0,
        tables=result.tables + result.moves,
        failures=tuple(result.failures),
        unchecked=tuple(result.unchecked),
        warnings=tuple(result.warnings),
        is_proved=result.is_proved,
    )
    if found.failures or checker.CERTIFICATE not in files:  # swapped records and noisy tables have a manifest only
        return found, ""
    if not is_release:
        return found, result.statement
    certificate = json.loads(files[checker.CERTIFICATE])
    found = _with_figures(_with_other_formats(found, certificate, files), certificate, files)
    if whole_page and not found.failures:
        found = _with_page(found, certificate, files)
    if rerun and held is not None and not found.failures:
        return _rerun(found, certificate, files, held)
    return found, result.statement


def _rerun(
    found: Verification, certificate: Mapping[str, Any], files: checker.Files, auditors: checker.Files
) -> tuple[Verification, str]:
    """The same, with the rule run on every witness: then the statement holds for somebody who knows it."""
    if certificate["rule"]["label"] != "rerun":
        note = "the rule was not shown for this release, so there is nothing to run."
        return replace(found, unchecked=(*found.unchecked, note)), checker.statement(certificate)
    if not found.is_proved:
        return found, ""
    # Running the rule searches and solves: nothing of that is loaded to verify by addition.
    stated = json.loads(files[checker.MANIFEST])
    names = [question["question"] for question in certificate["questions"]]
    if names == [""]:
        again: Callable[..., Iterator[str]] = import_module("safemargin.release.replay").rerun_failures
        carried = import_module("safemargin.release.witnesses").carried_in(auditors)
        failures = [*again(carried, core.Target(**stated["target"]), _printed(certificate, files))]
        reruns = len(carried.tables)
    else:
        module = import_module("safemargin.release.question_replay")
        targets = _targets(certificate, stated)
        reruns, failures = module.rerun_questions(
            auditors, targets, [_printed(certificate, files, name) for name in names]
        )
    if failures:
        return replace(found, failures=tuple(failures), is_proved=False), ""
    unchecked = tuple(note for note in found.unchecked if note != checker.RULE_NOTE)
    return replace(found, unchecked=unchecked, reruns=reruns), checker.statement(certificate)


def _targets(certificate: Mapping[str, Any], manifest: Mapping[str, Any]) -> "list[Target]":
    """The target of every question as the manifest states it, if it is the one that the certificate is about."""
    targets = []
    for question, stated in zip(certificate["questions"], manifest["questions"], strict=True):
        target, options = core.Target(**{**stated["target"], "guard": manifest["target"]["guard"]}), question["options"]
        secrets = {frozenset(secret["options"]) for secret in question["secrets"]}
        found = {frozenset(options[number] for number in each) for each in target.secrets.of(options)}
        common = replace(target, secrets=core.Secrets(), guard=None, epsilon_max=1.0)
        whole = replace(core.Target(**manifest["target"]), secrets=core.Secrets(), guard=None, epsilon_max=1.0)
        if stated["question"] != question["question"] or found - {frozenset(options)} != secrets or common != whole:
            raise InputError(f"{checker.MANIFEST}: {question['question']}: has another target than the certificate")
        targets.append(target)
    return targets


def _printed(certificate: Mapping[str, Any], files: checker.Files, question: str = "") -> "list[PublishedTable]":
    """The tables as a reader has them, of one question where there are several."""
    tables: list[PublishedTable] = []
    with io.scratch_folder() as place:
        for table in certificate["tables"]:
            name = next(name for name in table["files"] if checker.is_read(name))
            path = place / f"{len(tables)}.csv"
            rows = _rows(name, files[name], place)
            if question:
                own = [row for row in rows if _text(row["question"]) == question]
                rows = [{key: value for key, value in row.items() if key != "question"} for row in own]
            if rows:
                path.write_bytes(import_module("safemargin.io.writers").csv_bytes(rows))
                tables.append(replace(io.read_tidy(path), name=table["name"]))
    return tables


def _with_figures(found: Verification, certificate: Mapping[str, Any], files: checker.Files) -> Verification:
    """The same, with the files of figures compared with what follows from the tables."""
    if not certificate.get("figures"):
        return found
    stated, tables = json.loads(files[checker.MANIFEST]).get("questions"), {}
    scales = {each["question"]: tuple(each["options"]) for each in stated or () if each["ordered"] is True}
    with io.scratch_folder() as place:
        for table in certificate["tables"]:
            name = next(name for name in table["files"] if checker.is_read(name))
            tables[table["name"]] = name.rpartition(".")[0], _rows(name, files[name], place)
    figure_failures = import_module("safemargin.verify.questions").figure_failures
    failures = tuple(figure_failures(certificate["figures"], files, tables, scales))
    unchecked = tuple(note for note in found.unchecked if note != checker.FIGURES_NOTE)
    return replace(
        found, failures=(*found.failures, *failures), unchecked=unchecked, is_proved=found.is_proved and not failures
    )


def _with_page(found: Verification, certificate: Mapping[str, Any], files: checker.Files) -> Verification:
    """The same, with the page compared with the one that follows from the tables."""
    old = checker.PAGE_NOTE
    if len(certificate["questions"]) > 1:  # of which the page has pictures of other figures
        return found
    module, manifest = import_module("safemargin.verify.page"), json.loads(files[checker.MANIFEST])
    anew = module.made_anew(certificate, manifest, _printed(certificate, files), checker.PAGE)
    failures, is_same = module.compare_pages(files[checker.PAGE].decode(), anew)
    more = () if is_same else (module.PICTURES,)
    stated = f"what {checker.MANIFEST} states beside what the certificate does."
    unchecked = (*more, *(stated if note == old else note for note in found.unchecked))
    return replace(found, failures=tuple(failures), unchecked=unchecked, is_proved=found.is_proved and not failures)


def _with_other_formats(found: Verification, certificate: Mapping[str, Any], files: checker.Files) -> Verification:
    """The same, with formats compared that the standard library does not read."""
    failures, compared = [], []
    further = [table for table in certificate["tables"] if not all(map(checker.is_read, table["files"]))]
    if not further:  # the checker compared them all
        return found
    with io.scratch_folder() as place:
        for table in further:
            first = None
            for name in sorted(table["files"], key=lambda name: not checker.is_read(name)):
                rows = _comparable(_rows(name, files[name], place))
                first = first or rows
                if rows != first:
                    failures.append(f"{name}: prints other rows than the other formats of {table['name']}")
                compared.append(checker.FORMAT_NOTE.format(name))
    unchecked = tuple(note for note in found.unchecked if note not in compared)
    return replace(found, failures=tuple(failures), unchecked=unchecked, is_proved=found.is_proved and not failures)


def _rows(name: str, content: bytes, place: Path) -> list[Row]:
    """The rows of a published table in any of the formats that a release writes; an empty cell is None."""
    import duckdb

    try:
        if name.endswith(".json"):
            return list(checker.parse_json(name, content))
        if name.endswith(".csv"):
            return io.tidy_rows(checker.parse_csv(name, content))
        path = place / "table"
        path.write_bytes(content)
        if name.endswith(".xlsx"):
            return io.xlsx_rows(content)
        if name.endswith(".px"):
            return io.px_rows(path)
        if name.endswith(".parquet"):
            with duckdb.connect() as database, io.interruptible(database):
                found = database.execute("SELECT * FROM read_parquet(?)", [str(path)])
                columns = [column[0] for column in found.description or ()]
                return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
    except (OSError, ValueError, RecursionError, duckdb.Error, checker.Finding) as error:
        raise InputError(f"{name}: cannot be read as a table ({str(error).splitlines()[0]})") from None
    raise InputError(f"{name}: a release has tables in CSV, SDMX-CSV, PX, JSON, Parquet and Excel only")


def _comparable(rows: list[Row]) -> list[tuple[tuple[str, str], ...]]:
    """Rows in whatever order: PX has the order of its variables, whichever row a table begins with."""
    return sorted(tuple(sorted((key, _text(value)) for key, value in row.items())) for row in rows)


def _text(value: object) -> str:
    """A value as text, without the apostrophes that `quote_formulas` puts before it in CSV only."""
    text = "" if value is None else str(value)
    while (less := io.unquoted(text)) != text:
        text = less
    return text

"""The tables of a release of several questions, question by question, and the figures that follow from them.

Files have a column `question`: the rows of each question are tables of their own. `derived.csv` and wide files are made
again from the tidy rows, and must be the same.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from safemargin.bounds import QUESTIONS, Verification
from safemargin.core import InputError
from safemargin.io import MANIFEST, hash_file, read_json, unquoted
from safemargin.release.derived import derived_rows, wide_rows

Row = dict[str, Any]
DERIVED, WIDE = "derived.csv", "_wide.csv"
CERTIFICATE, PAGE = "certificate.json", "index.html"
OWN = (CERTIFICATE, PAGE)


def is_figure(name: str, files: Sequence[str]) -> bool:
    """Whether a file holds figures that follow from other files of the release."""
    stem = name.removesuffix(WIDE)
    return name == DERIVED or (stem != name and any(other.rpartition(".")[0] == stem for other in files))


def by_question(
    tables: Mapping[str, Sequence[Row]], stated: object
) -> tuple[dict[str, dict[str, Sequence[Row]]], list[str]]:
    """The tables of every question, without the column that names it; and what is wrong with that column."""
    listed = stated if isinstance(stated, list) else []
    names = [str(each.get("question")) for each in listed if isinstance(each, dict)]
    if not names or len(set(names)) < len(names) or len(names) < len(listed):
        return {}, ["its questions have no names of their own"]
    parts: dict[str, dict[str, Sequence[Row]]] = {name: {} for name in names}
    for file, rows in tables.items():
        inside: dict[str, list[Row]] = {}
        for row in rows:
            if next(iter(row)) != "question":
                return {}, [f"{file}: its first column is not question"]
            inside.setdefault(unquoted(str(row["question"])), []).append(
                {key: value for key, value in row.items() if key != "question"}
            )
        for name, own in inside.items():
            if name not in parts:
                return {}, [f"{file}: the certificate does not name its question {name!r:.60}"]
            parts[name][file] = own
    return parts, []


def figure_failures(files: Mapping[str, Path], tables: Mapping[str, Sequence[Row]], stated: object) -> list[str]:
    """Files of figures that do not follow from the tables."""
    failures = []
    first: dict[str, Sequence[Row]] = {}
    for name, rows in tables.items():
        first.setdefault(name.rpartition(".")[0], rows)
    listed = stated if isinstance(stated, list) else []
    scales = {str(each["question"]): tuple(each["options"]) for each in listed if each.get("ordered") is True}
    for name, path in files.items():
        if name == DERIVED:
            with_names = {_table_name(stem, rows): rows for stem, rows in first.items()}
            made = derived_rows(with_names, scales)
            keys: tuple[str, ...] = ("question", "table", "group", "figure", "value")
        else:
            made = wide_rows(first[name.removesuffix(WIDE)])
            keys = tuple(made[0]) if made else ()
        with path.open(encoding="utf-8", newline="") as file:
            read = [tuple(unquoted(row.get(key) or "") for key in keys) for row in csv.DictReader(file)]
        wanted = [tuple("" if row[key] is None else unquoted(str(row[key])) for key in keys) for row in made]
        if sorted(read) != sorted(wanted):
            failures.append(f"{name}: does not follow from the tables of the release")
    return failures


def _table_name(stem: str, rows: Sequence[Row]) -> str:
    """The name of a table: its axes, which its file name may have had to change."""
    axes = [column for column in rows[0] if column not in ("question", "option", "count", "status")]
    return " x ".join(axes) or "total"


def verify_questions(folder: Path) -> tuple[Verification, str]:
    """What is found in the published folder of several questions: hashes, tables and figures; not the statement."""
    certificate, manifest = read_json(folder / CERTIFICATE), read_json(folder / MANIFEST)
    if not isinstance(certificate, dict) or not isinstance(manifest, dict):
        raise InputError(f"{folder}: has no certificate and manifest of a release")
    hashes, listed = certificate.get("files"), manifest.get("files")
    if not isinstance(hashes, dict) or not isinstance(listed, dict) or certificate.get("certified") is not True:
        return Verification(QUESTIONS, 0, failures=("it does not say which files are certified",), is_proved=False), ""
    beside = {MANIFEST, f"{MANIFEST}.minisig"}
    there = {path.name: path for path in folder.iterdir() if path.name not in beside}
    failures = [f"{name}: is missing" for name in {*hashes, *listed} if name not in there]
    failures += [f"{name}: the manifest does not name this file" for name in there if name not in listed]
    marks = {name: hash_file(path) for name, path in there.items()}
    failures += [f"{name}: its hash differs from the manifest" for name in there if listed.get(name) != marks[name]]
    failures += [f"{name}: its hash differs from the certificate" for name in hashes if hashes[name] != marks.get(name)]
    failures += [f"{name}: the certificate does not name this file" for name in set(there) - {*hashes, *OWN}]
    same = ("questions", "groups", "target", "onlookers", "rule", "statement")
    failures += [f"{MANIFEST}: states other {name}" for name in same if certificate.get(name) != manifest.get(name)]
    if not failures:
        figures = {name: there[name] for name in hashes if is_figure(name, list(hashes))}
        tables = {name: _read(there[name]) for name in hashes if name not in figures}
        parts, failures = by_question(tables, certificate.get("questions"))
        for name, own in parts.items():
            failures += [f"{name}: {failure}" for failure in _own_failures(own)]
        failures = failures or figure_failures(figures, tables, certificate.get("questions"))
    statement = str(certificate.get("statement", ""))
    note = f"the statement {statement!r}: no witnesses are carried for several questions."
    found = Verification(QUESTIONS, len(hashes), failures=tuple(failures), unchecked=(note,), is_proved=False)
    return found, "" if failures else statement


def _read(path: Path) -> list[Row]:
    """The rows of a table; an empty cell is None."""
    if path.suffix == ".json":
        rows = read_json(path)
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return [{name: value or None for name, value in row.items()} for row in csv.DictReader(file)]
    with duckdb.connect() as database:
        found = database.execute("select * from read_parquet(?)", [str(path)])
        columns = [column[0] for column in found.description]
        return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]


def _own_failures(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """What is wrong with the tables of one question: counts that are none, formats that differ, other totals."""
    first: dict[str, tuple[str, list[tuple[str, ...]]]] = {}
    sums: dict[str, dict[str, int]] = {}
    for name, rows in tables.items():
        for number, row in enumerate(rows, 1):
            count, status = row.get("count"), row.get("status")
            is_number = isinstance(count, int) or (isinstance(count, str) and count.isdigit())
            if status not in ("exact", "merged", "suppressed") or (count is None) != (status == "suppressed"):
                return [f"{name}: row {number} has a count and a status that do not fit"]
            if count is not None and (not is_number or int(count) < 0):
                return [f"{name}: row {number}: its count is not a number of people"]
        printed = sorted(tuple(unquoted("" if v is None else str(v)) for v in row.values()) for row in rows)
        other, known = first.setdefault(name.rpartition(".")[0], (name, printed))
        if known != printed:
            return [f"{name}: prints other rows than {other}"]
        if all(row["status"] != "suppressed" for row in rows):
            for row in rows:
                own = sums.setdefault(name, {})
                own[str(row["option"])] = own.get(str(row["option"]), 0) + int(row["count"])
    totals = {tuple(sorted((unquoted(option), count) for option, count in own.items())) for own in sums.values()}
    if not any(set(rows[0]) == {"option", "count", "status"} for rows in tables.values()):
        return ["no file holds the total"]
    return ["its tables add up to different totals"] if len(totals) > 1 else []

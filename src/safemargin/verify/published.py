"""Verify the folder of a release: its certificate, its manifest and its tables hold each other."""

import csv
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from safemargin.bounds import Verification, binding_failures, target_failures
from safemargin.core import InputError
from safemargin.io import MANIFEST, hash_file, px_rows, read_text, tidy_rows, unquoted
from safemargin.release.witnesses import WITNESSES
from safemargin.verify.given import Given, load
from safemargin.verify.signature import SUFFIX, signature_failures
from safemargin.verify.witnesses import WitnessCheck, check_witnesses

SIGNATURE = f"{MANIFEST}{SUFFIX}"
PAGE = "index.html"
"""The page for the public beside the tables; the manifest states its hash."""
Row = dict[str, Any]
COUNTED = ("exact", "merged", "noised")
STATUSES = (*COUNTED, "suppressed")


def verify_release(
    path: Path, document: dict[str, Any], given: Given, key: Path | None = None, rerun: bool = False
) -> Verification:
    """The certificate that stands beside a release: hashes, the manifest, what every table prints, and the witnesses.

    With a public `key`, the manifest must be signed with it. With `rerun`, the rule is run on every witness.
    """
    hashes = {str(name): str(value) for name, value in document["files"].items()}
    listed = {name: given.find(name, "table") for name in hashes}
    failures = [changed(name) for name, file in listed.items() if hash_file(file) != hashes[name]]
    rolls = given.named.get("roll", {})
    spoken = {("table", name) for name in (*hashes, MANIFEST, SIGNATURE, PAGE)}
    failures += given.unspoken(spoken | {("roll", name) for name in rolls})
    failures += _statement_failures(document)
    notes: list[str] = []
    manifest = given.named["table"].get(MANIFEST) or given.lying.get(MANIFEST) or path.parent / MANIFEST
    if manifest.is_file():
        stated = load(manifest)
        page = manifest.with_name(PAGE)  # older releases have none
        stands = {PAGE: hash_file(page)} if page.is_file() else {}
        failures += _file_failures(stated.get("files"), {**hashes, path.name: hash_file(path), **stands})
        failures += [f"{MANIFEST}: {failure}" for failure in binding_failures(document, stated)]
        signature = manifest.with_name(SIGNATURE)
        if key is not None:
            failures += signature_failures(manifest, signature, key)
        elif signature.is_file():
            notes.append(f"{SIGNATURE}: who signed the manifest; give the `key` of the office.")
    else:
        failures.append(f"{MANIFEST}: is missing; a certificate of a release holds only together with it")
    checked = WitnessCheck()
    if not failures:
        tables = {name: _rows(name, file) for name, file in listed.items() if name != WITNESSES}
        failures = [failure for name, rows in tables.items() for failure in _table_failures(name, rows)]
        failures = failures or _format_failures(tables)
        if not failures:
            notes += _other_totals(tables)
            checked = check_witnesses(document, listed, tables, list(rolls.values()), rerun)
    statement = [] if checked.proves else [f"the statement {document['statement']!r}"]
    return Verification(
        "release",
        len(hashes),
        cells=checked.cells,
        tables=checked.tables,
        reruns=checked.reruns,
        failures=(*failures, *checked.failures),
        unchecked=(*statement, *checked.unchecked, *notes),
    )


def changed(name: str) -> str:
    """The failure of a file that has another hash."""
    return f"{name}: is not the file that the certificate speaks about; its hash differs"


def _statement_failures(document: Mapping[str, Any]) -> list[str]:
    """What makes a statement one about nothing."""
    failures = []
    if document.get("certified") is not True:
        failures.append("it says itself that the release is not certified")
    if not document["files"]:
        failures.append("it speaks about no file")
    if not isinstance(document["statement"], str) or not document["statement"].strip():
        failures.append("its statement is empty")
    checked = document.get("checked")
    numbers = list(checked.values()) if isinstance(checked, dict) else []
    if not any(isinstance(number, int) and number > 0 for number in numbers):
        failures.append("it says that no cell was checked")
    return failures + target_failures(document.get("target"))


def _file_failures(stated: object, wanted: Mapping[str, str]) -> list[str]:
    """Where a manifest lists other files or hashes than the certificate."""
    if not isinstance(stated, dict):
        return [f"{MANIFEST}: names no files"]
    failures = [f"{MANIFEST}: does not name {name}" for name in wanted if name not in stated]
    failures += [f"{MANIFEST}: names {name}, which the certificate does not" for name in stated if name not in wanted]
    differing = [name for name, value in wanted.items() if name in stated and stated[name] != value]
    return failures + [f"{MANIFEST}: names another hash of {name}" for name in differing]


def _rows(name: str, path: Path) -> list[Row]:
    """The rows of a published table in any of the formats that a release writes; an empty cell is None."""
    try:
        if path.suffix == ".json":
            rows = json.loads(read_text(path))
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise ValueError("it is not a list of rows")
            return rows
        if path.suffix == ".csv":
            with path.open(encoding="utf-8", newline="") as file:
                return tidy_rows([{key: value or None for key, value in row.items()} for row in csv.DictReader(file)])
        if path.suffix == ".px":
            return px_rows(path)
        if path.suffix == ".parquet":
            with duckdb.connect() as database:
                found = database.execute("SELECT * FROM read_parquet(?)", [str(path)])
                columns = [column[0] for column in found.description or ()]
                return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
    except (OSError, ValueError, RecursionError, duckdb.Error) as error:
        raise InputError(f"{name}: cannot be read as a table ({str(error).splitlines()[0]})") from None
    raise InputError(f"{name}: a release has tables in CSV, SDMX-CSV, PX, JSON and Parquet only")


def _table_failures(name: str, rows: Sequence[Row]) -> list[str]:
    """What no table of a release prints: other columns, gaps without a reason, counts that are none."""
    columns = list(rows[0]) if rows else []
    if columns[-2:] != ["count", "status"]:
        return [f"{name}: its last columns are {', '.join(map(str, columns[-2:])) or 'none'}, not count and status"]
    if any(list(row) != columns for row in rows):
        return [f"{name}: a row has other columns than the first"]
    seen: set[tuple[str, ...]] = set()
    for number, row in enumerate(rows, 1):
        labels = tuple(str(row[column]) for column in columns[:-2])
        fault = _row_fault(row)
        if any(row[column] is None for column in columns[:-2]):
            fault = "has an empty label"
        elif labels in seen:
            fault = "occurs twice"
        seen.add(labels)
        if fault:
            return [f"{name}: row {number} ({', '.join(labels) or 'everybody'}): {fault}"]
    return []


def _row_fault(row: Row) -> str:
    count, status = row["count"], row["status"]
    if status not in STATUSES:
        return f"its status is {status!r}, not one of {', '.join(STATUSES)}"
    if status == "suppressed":
        return "" if count is None else "has a count although it is suppressed"
    if count is None:
        return f"has no count although its status is {status}"
    if isinstance(count, bool) or not re.fullmatch(r"-?[0-9]+", str(count)):
        return f"its count {str(count)!r:.60} is not an integer"
    return "its count is negative" if int(count) < 0 and status != "noised" else ""


def _format_failures(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """Where two formats of a table differ, or there is no table of everybody."""
    first: dict[str, tuple[str, list[tuple[tuple[str, str], ...]]]] = {}
    failures = []
    for name, rows in tables.items():
        # PX has the order of its variables, whichever row a table begins with.
        printed = sorted(tuple((key, _printed(value)) for key, value in row.items()) for row in rows)
        other, known = first.setdefault(name.rpartition(".")[0].removesuffix(".sdmx"), (name, printed))
        if known != printed:
            failures.append(f"{name}: prints other rows than {other}")
    if not any(_is_total(rows) for rows in tables.values()):
        failures.append("no file holds the total")
    return failures


def _printed(value: object) -> str:
    """A value as text, without the apostrophes that `quote_formulas` puts before it in CSV only."""
    text = "" if value is None else str(value)
    while (less := unquoted(text)) != text:
        text = less
    return text


def _is_total(rows: Sequence[Row]) -> bool:
    return set(rows[0]) <= {"option", "count", "status"}


def _sums(rows: Sequence[Row]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for row in rows:
        option = str(row.get("option", ""))
        sums[option] = sums.get(option, 0) + int(row["count"])
    return sums


def _other_totals(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """Tables that add up to another total: sealed elections may, and nothing in the folder shows whether these do."""
    total = next(_sums(rows) for rows in tables.values() if _is_total(rows))
    whole = {name: rows for name, rows in tables.items() if all(row["status"] in ("exact", "merged") for row in rows)}
    return [
        f"why {name} adds up to other totals than the file of the total."
        for name, rows in whole.items()
        if _sums(rows) != total
    ]

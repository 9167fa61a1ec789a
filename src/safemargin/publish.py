"""From a plan to a release, and from a release to files. The only caller of mechanisms; writes all or nothing."""

import csv
import hashlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import duckdb
import numpy as np

from safemargin.account import one_count_suffices
from safemargin.errors import OutputError
from safemargin.mechanisms.geometric import Geometric
from safemargin.model.arrays import frozen
from safemargin.model.guarantee import Guarantee
from safemargin.model.guarantee_file import document
from safemargin.model.margins import as_published, merged_margin, printed, protected_margin
from safemargin.model.plan import Action, Plan
from safemargin.model.published import PublishedTable
from safemargin.model.release import Release
from safemargin.model.table import Table
from safemargin.model.universe import named

RULE = (
    "Groups with fewer than kappa people are merged at the least loss, by the roll alone. Groups whose shares lie "
    "outside the limits are merged or withheld together with those that cover them: neighbours in the order, "
    "in the same area or of nearly the same size on the roll, two by two, then blocks of these. Axes are merged "
    "further, or left out, until no cell of any combination of axes is given away by all tables together, or "
    "with earlier releases."
)
"""How cells are protected, as the manifest tells everybody."""

NOISE_RULE = (
    "Groups are noised in units of two or a few of nearly the same size, neighbours, or in the same area, by the roll "
    "alone. Each group is moved towards the nearest limit by a number of answers drawn from the law that the promise "
    "about noise states; units in which one is carried over, or lies outside, are noised."
)
"""How noised groups are chosen."""

CROSSED_RULE = (
    "Tables of several axes have the groups of their axes, merged until every cell has kappa people and shares within "
    "the limits. Of those asked for, the most valuable set is published that gives no cell away, with all other tables."
)


def publish(plan: Plan, table: Table, onlookers: Sequence[str] = ()) -> Release:
    """Carry a plan out: exact counts where it says so, fresh noise where it says so, nothing of the rest."""
    tables = [as_published(table.margin(()), table.schema, "total")]
    for axis in table.schema.names:
        decisions = plan.axis(axis)
        if len(decisions) < 2:
            continue
        groups = [decision.group for decision in decisions]
        hidden = {d.group: d for d in decisions if d.action in (Action.NOISED, Action.WITHHELD)}
        status = str(next(iter(hidden.values())).action) if hidden else "withheld"
        published = protected_margin(table, axis, groups, hidden, status)
        if status == Action.NOISED:
            sizes = {group: decision.people for group, decision in hidden.items()}
            epsilon = next(iter(hidden.values())).epsilon
            published = _with_noise(published, table, axis, sizes, epsilon or 0.0)
        tables.append(published)
    for margin in plan.margins:
        if margin.is_published:
            tables.append(printed(table, margin.axes, dict(zip(margin.axes, margin.groups, strict=True))))
    return Release(
        tables=tuple(tables),
        target=plan.target,
        guarantees=tuple(_beside(each, plan) for each in plan.guarantees),
        certificate=plan.certificate,
        onlookers=tuple(onlookers),
        rule=" ".join([RULE, *([NOISE_RULE] if plan.guarantees else []), *([CROSSED_RULE] if plan.maximum else [])]),
        witness=plan.witness,
    )


def _beside(guarantee: Guarantee, plan: Plan) -> Guarantee:
    """A promise with the tables of several axes among what it leaves as it is."""
    crossed = (named(f"every count of {margin.name}") for margin in plan.margins if margin.is_published)
    return replace(guarantee, invariants=(*guarantee.invariants, *crossed))


def _with_noise(
    published: PublishedTable, table: Table, axis: str, sizes: Mapping[frozenset[str], int], epsilon: float
) -> PublishedTable:
    exact = merged_margin(table, axis, published.groups[0])
    noisy = np.array(exact.lower)
    rows = np.flatnonzero(np.array(published.status) == "noised")
    people = int(table.people(()).counts.sum())
    if one_count_suffices(table.schema, people == int(table.totals.sum())):
        first = rows[published.option[rows] == 0]
        noisy[first] = Geometric(epsilon).protect(noisy[first])
        for row in rows[published.option[rows] == 1]:
            noisy[row] = sizes[published.groups[0][published.codes[row, 0]]] - noisy[row - 1]
    else:
        noisy[rows] = Geometric(epsilon).protect(noisy[rows])
    kept = np.where(np.isin(np.arange(len(noisy)), rows), noisy, 0)
    return replace(published, noisy=frozen(kept))


def rows_of(table: PublishedTable, orders: Mapping[str, tuple[str, ...]]) -> list[dict[str, object]]:
    """A table as tidy rows: labels, option, count (none if withheld), status."""
    rows: list[dict[str, object]] = []
    for row, status in enumerate(table.status):
        line: dict[str, object] = dict(table.cell(row, dict(orders)))
        if table.options:
            line["option"] = table.options[table.option[row]]
        count: int | None = int(table.lower[row])
        if status == "noised" and table.noisy is not None:
            count = int(table.noisy[row])
        elif status == "withheld":
            count = None
        rows.append({**line, table.measure: count, "status": status})
    return rows


def release_files(
    release: Release, formats: Sequence[str], orders: Mapping[str, tuple[str, ...]], title: str = ""
) -> dict[str, bytes]:
    """Every file of a release by name: tables in each format, the certificate, and the manifest with their hashes."""
    files: dict[str, bytes] = {}
    taken = {"certificate", "manifest"}
    for table in release.tables:
        rows = rows_of(table, orders)
        name = file_name(table.name)
        while name.lower() in taken:  # an axis may be called like another file
            name = f"by_{name}"
        taken.add(name.lower())
        for form in formats:
            files[f"{name}.{form}"] = WRITERS[form](rows)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    public: dict[str, object] = {
        "schema": 1,
        "title": title,
        "target": asdict(release.target),
        "onlookers": list(release.onlookers),
        "rule": release.rule,
    }
    if release.certificate is not None:
        certificate = {**public, **asdict(release.certificate), "files": hashes}
        files["certificate.json"] = _json(certificate)
        hashes["certificate.json"] = hashlib.sha256(files["certificate.json"]).hexdigest()
    guarantees = [document(guarantee) for guarantee in release.guarantees]
    statement = release.certificate.statement if release.certificate else ""
    files["manifest.json"] = _json({**public, "statement": statement, "guarantees": guarantees, "files": hashes})
    return files


def file_name(name: str) -> str:
    """A table's name as a file name that is safe everywhere."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name) or "table"


def check_folder(folder: Path) -> None:
    """Refuse to write where something is already: better said before the work than after it."""
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise OutputError(f"{folder}: {place} is a file, not a folder; name another")
    try:
        if folder.exists() and any(folder.iterdir()):
            raise OutputError(f"{folder}: the output folder is not empty; name another or remove it")
    except OSError as error:
        raise OutputError(f"{folder}: cannot be read ({error.strerror})") from error


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A draft that becomes a new or empty folder when all went well, and else leaves nothing behind."""
    check_folder(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror})") from error
    try:
        yield draft
        draft.chmod(0o755)
        os.replace(draft, folder)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror})") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write all files into a new or empty folder, or nothing at all."""
    with new_folder(folder) as draft:
        for name, content in files.items():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def _json(document: object) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def _csv(rows: Sequence[Mapping[str, object]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _parquet(rows: Sequence[Mapping[str, object]]) -> bytes:
    columns = list(rows[0])
    types = {"count": "BIGINT", "people": "BIGINT"}
    declared = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}" {types.get(name, "VARCHAR")}' for name in columns)
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as database:
        database.execute(f"CREATE TABLE tidy ({declared})")
        marks = ", ".join("?" for _ in columns)
        database.executemany(f"INSERT INTO tidy VALUES ({marks})", [[row[name] for name in columns] for row in rows])
        path = Path(folder) / "tidy.parquet"
        database.execute("COPY tidy TO ? (FORMAT parquet)", [str(path)])
        return path.read_bytes()


WRITERS: Mapping[str, Callable[[Sequence[Mapping[str, object]]], bytes]] = {
    "csv": _csv,
    "parquet": _parquet,
    "json": _json,
}
"""Formats that a table can be published in."""

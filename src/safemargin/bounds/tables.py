"""Tables as somebody hands them over, and the onlooker who sees them.

One door for `bound`, `audit` and `fiber`: files, DataFrames or rows become `PublishedTable`s (what was printed), and
rolls, facts and earlier releases become an `Onlooker` (what somebody knows). Invariants: how a file was read is
returned, never only logged; several questions about the same people are refused or doubted, since their people would
count once per question; nothing is guessed about an axis that tables do not name.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safemargin.bounds.certificate import SourceFile
from safemargin.core import InputError, Onlooker, PublishedTable
from safemargin.io import (
    MANIFEST,
    ReadingOptions,
    ReadTable,
    as_reading,
    axes,
    hash_file,
    load_tables,
    onlooker_from_files,
    read_json,
    skip_rules,
    with_earlier_tables,
)

Data = Any
"""A path, a DataFrame (pandas or polars), an Arrow table, or rows as mappings; or several of these in a list."""


def read_public(
    tables: Data,
    roll: Data = (),
    facts: Data = (),
    *,
    count: str = "count",
    option: str = "option",
    by: str | Sequence[str] | None = None,
    skip: Sequence[str] = (),
    hierarchy: Sequence[str] = (),
    earlier: Data = (),
    earlier_roll: Data = (),
    knows_rule: bool = False,
    reading: ReadingOptions | Mapping[str, Any] | Sequence[str] | None = None,
) -> tuple[tuple[PublishedTable, ...], Onlooker, tuple[ReadTable, ...]]:
    """The tables, and the onlooker who sees them, knows `roll` and `facts`, and kept the `earlier` tables.

    Also how every table was read that is not a `PublishedTable` already, rolls, facts and earlier ones included:
    callers pass on every doubt in it, since a doubtful reading is never an all-clear. `by` names the axes, `skip` the
    rows to omit (`COLUMN=VALUE`), `hierarchy` files of areas; `reading` holds the rarer choices of how a file is
    read.
    """
    listed = _listed(tables)
    if not listed:
        raise InputError("tables: give at least one table")
    names = by if by is None or isinstance(by, str) else ",".join(by)
    shown = tuple(table for table in listed if isinstance(table, PublishedTable))
    files = [table for table in listed if not isinstance(table, PublishedTable)]
    refuse_questions(files)
    reads = load_tables(files, count, option, names, list(skip), list(hierarchy), as_reading(reading))
    reads = tuple(map(_doubt_questions, reads))
    shown += tuple(table for read in reads for table in read.tables())
    onlooker, known = onlooker_from_files(shown, _listed(roll), _listed(facts), count, option, knows_rule)
    onlooker, past = with_earlier_tables(onlooker, _listed(earlier), _listed(earlier_roll), count, option)
    return shown, onlooker, (*reads, *known, *past)


def refuse_questions(files: Sequence[object]) -> None:
    """Refuse tables of a release of several questions: their people would be counted once per question."""
    for file in files:
        manifest = Path(file).parent / MANIFEST if isinstance(file, str | Path) else None
        if manifest is not None and manifest.is_file():
            stated = read_json(manifest)
            if isinstance(stated, dict) and isinstance(stated.get("questions"), list):
                raise InputError(
                    f"{file}: holds several questions about the same people; give files with the rows of one question, "
                    "without the column 'question'"
                )


def _doubt_questions(read: ReadTable) -> ReadTable:
    """Doubt an axis that is called as the column in which a release of several questions names them.

    It may be an axis all the same, so the table is read; a doubtful reading is never an all-clear.
    """
    for axis in read.axes:
        if axis.name.strip().casefold() in ("question", "questions"):
            return read.doubted(
                f"column {axis.name!r} may name several questions about the same people, who then count once for each; "
                "give the rows of one question, without that column"
            )
    return read


def axis_names(target: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Axes from names, or from one text with commas; none for the joint cells.

    >>> axis_names("district,age"), axis_names(["age"]), axis_names(""), axis_names(None)
    (('district', 'age'), ('age',), (), None)
    """
    return axes(target) if target is None or isinstance(target, str) else tuple(target)


def checked_tolerance(tolerance: float) -> float:
    """The share by which totals may disagree; an error names what is outside [0, 1)."""
    if not 0 <= tolerance < 1:
        raise InputError(f"tolerance = {tolerance}: must be at least 0 and below 1")
    return tolerance


def _listed(data: Data) -> list[Any]:
    """Several tables as they are; one table (rows are one) in a list; files by their path.

    >>> _listed([{"age": "old", "count": 3}]), _listed(())
    ([[{'age': 'old', 'count': 3}]], [])
    >>> [str(path) for path in _listed(["votes.csv", "roll.csv"])]
    ['votes.csv', 'roll.csv']
    """
    one = not isinstance(data, list | tuple) or (data and all(isinstance(row, Mapping) for row in data))
    return [Path(table) if isinstance(table, str) else table for table in ([data] if one else data)]


def sources_of(
    files: list[Path] | None, role: str, count: str, option: str, by: str | None = None, skip: list[str] | None = None
) -> list[SourceFile]:
    """How `files` are read, for a certificate: their names, hashes and roles, with the columns that counts and options
    are in.

    A certificate names files without their folders, so that whoever checks it may keep them elsewhere.
    """
    names, rules = axes(by), skip_rules(skip)
    return [SourceFile(file.name, role, hash_file(file), count, option, names, rules) for file in files or []]

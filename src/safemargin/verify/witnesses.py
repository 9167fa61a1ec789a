"""Verify the witnesses of a release by addition: they agree with what is published, and differ as they must.

Only `rerun` goes further and runs the rule on each of them; that part is loaded when it is asked for.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from safemargin.bounds import System, build_system, digest, shown_by
from safemargin.core import (
    JOINER,
    UNBOUNDED,
    InputError,
    IntArray,
    Onlooker,
    PublishedTable,
    Schema,
    Table,
    Target,
    as_published,
    frozen,
    merged_margin,
)
from safemargin.io import read_bytes, read_tidy, unquoted
from safemargin.release.plan import RULE_NOT_SHOWN
from safemargin.release.witnesses import REASONS, WITNESSES, Carried, unmasked

Rows = Sequence[Mapping[str, Any]]
MOST_NAMED = 3


@dataclass(frozen=True)
class WitnessCheck:
    """What was verified of witnesses: how many tables, for how many cells, and on how many the rule was run.

    `proves` says that they show all that the statement says.
    """

    tables: int = 0
    cells: int = 0
    reruns: int = 0
    failures: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    proves: bool = False


def check_witnesses(
    document: Mapping[str, Any],
    files: Mapping[str, Path],
    tables: Mapping[str, Rows],
    roll: Sequence[Path],
    rerun: bool,
) -> WitnessCheck:
    """Verify what a certificate says about witnesses; `files` and `tables` are those of the release by name."""
    is_run = document.get("rule") == "rerun"
    if not is_run and (rerun or WITNESSES not in files):
        said = "it does not say that the rule was run on other answers (rule = 'not shown')"
        return WitnessCheck(failures=(said,) if rerun else ())
    carried = document.get("carried")
    held = carried if isinstance(carried, dict) else {}
    if WITNESSES not in files:
        reason = held.get("reason")
        if rerun or reason not in REASONS:
            why = f" ({reason})" if reason in REASONS else ""
            return WitnessCheck(
                failures=(f"{WITNESSES}: is not there, so nothing shows what rule = 'rerun' says{why}",)
            )
        return WitnessCheck(unchecked=(f"the witnesses of the statement: {reason}.",))
    if not roll:
        if rerun:
            raise InputError("rerun: needs the joint roll of the release; give it as `roll`")
        return WitnessCheck(unchecked=(f"{WITNESSES}: give the joint roll as `roll`; nobody else can read it.",))
    release = digest({name: mark for name, mark in document["files"].items() if name != WITNESSES})
    try:
        opened = unmasked(read_bytes(files[WITNESSES]), [read_tidy(path, count="people") for path in roll], release)
        tables_stated = document.get("witnesses") if is_run else held.get("tables")
        if not len(opened.tables) == tables_stated == held.get("tables"):
            stated = f"{tables_stated!r:.20} witnesses"
            return WitnessCheck(
                failures=(f"{WITNESSES}: holds {len(opened.tables)} tables, the certificate says {stated}",)
            )
        printed = [_table(name, rows, opened.schema) for name, rows in _once(tables)]
    except InputError as error:
        return WitnessCheck(failures=(str(error),))
    failures = _misfits(opened, printed)
    cells, unshown = (0, []) if failures else _unshown(opened, printed, document)
    failures += unshown
    if rerun and not failures:
        # Running the rule searches and solves: nothing of that is loaded to verify by addition.
        again: Callable[..., Iterator[str]] = import_module("safemargin.release.again").rerun_failures
        failures += again(opened, Target(**document["target"]), printed)
    note = (
        ()
        if rerun or not is_run
        else (
            f"that the rule publishes the same for the tables in {WITNESSES}; run this again with --rerun (in Python: "
            "rerun=True).",
        )
    )
    # A statement about somebody who does not know the rule is shown by addition alone.
    proves = not failures and (rerun or (not is_run and RULE_NOT_SHOWN in str(document.get("statement"))))
    return WitnessCheck(len(opened.tables), cells, len(opened.tables) if rerun else 0, tuple(failures), note, proves)


def _once(tables: Mapping[str, Rows]) -> list[tuple[str, Rows]]:
    """Every table in one of its formats, which all print the same."""
    return list({name.rpartition(".")[0]: (name, rows) for name, rows in tables.items()}.values())


def _groups(texts: Sequence[str], known: Mapping[str, int]) -> list[tuple[str, frozenset[str]]]:
    """The labels of a column and the categories each stands for, without the apostrophes of `quote_formulas`.

    A category may begin with an apostrophe itself: they are taken away only where not all labels are known with them.
    """
    for read in (str, unquoted):
        labels = [(text, frozenset([text] if text in known else text.split(JOINER))) for text in map(read, texts)]
        if all(group <= known.keys() for _, group in labels):
            return labels
    return labels


def _table(name: str, rows: Rows, schema: Schema) -> PublishedTable:
    """The rows of a published file; labels are categories of the axes, or several of them."""
    axes = tuple(column for column in rows[0] if column not in ("option", "count", "status"))
    groups: list[dict[frozenset[str], int]] = [{} for _ in axes]
    codes = np.zeros((len(rows), len(axes)), dtype=np.int64)
    for a, axis in enumerate(axes):
        for number, (text, group) in enumerate(_groups([str(row[axis]) for row in rows], schema.axis(axis).index)):
            if not group <= schema.axis(axis).index.keys():
                raise InputError(f"{name}: {axis} {text!r:.60}: is no group of categories of the witnesses")
            codes[number, a] = groups[a].setdefault(group, len(groups[a]))
    known_options = {option: place for place, option in enumerate(schema.options)}
    chosen = _groups([str(row["option"]) for row in rows], known_options)
    if not all(text in known_options for text, _ in chosen):
        raise InputError(f"{name}: has other options than the witnesses")
    option = [known_options[text] for text, _ in chosen]
    counts = [None if row["status"] == "suppressed" else int(row["count"]) for row in rows]
    return PublishedTable(
        name=name,
        axes=axes,
        groups=tuple(tuple(of) for of in groups),
        codes=frozen(codes, len(axes)),
        options=schema.options,
        option=frozen(option),
        lower=frozen([0 if count is None else count for count in counts]),
        upper=frozen([UNBOUNDED if count is None else count for count in counts]),
        status=tuple(str(row["status"]) for row in rows),
    )


def _roll(carried: Carried) -> PublishedTable:
    return as_published(carried.roll, carried.schema, "roll", roll=True)


def _parts(carried: Carried) -> list[PublishedTable]:
    """The sums that all witnesses share, as the first of them has them."""
    first = Table(carried.schema, carried.tables[:1], (carried.roll,))
    return [merged_margin(first, axis, groups) for axis, groups in carried.parts]


def _misfits(carried: Carried, printed: Sequence[PublishedTable]) -> list[str]:
    """The first fault of every witness that nobody could have answered, or that adds up to other published counts."""
    failures = []
    for number, witness in enumerate(carried.tables, 1):
        named = f"{WITNESSES}: table {number}"
        if (witness.counts.sum(axis=1) > carried.roll.counts[:, 0]).any():
            failures.append(f"{named}: has more answers of some kind than the roll has people")
            continue
        held = Table(carried.schema, (witness,), (carried.roll,))
        for table in (*printed, *_parts(carried)):
            if fault := _misfit(held, table):
                failures.append(f"{named}: does not agree with {fault}")
                break
    return failures


def _misfit(held: Table, table: PublishedTable) -> str:
    """The first count of a published table that a witness does not add up to."""
    groups = [{name: code for code, group in enumerate(groups) for name in group} for groups in table.groups]
    votes = held.margin(table.axes)
    labels = [held.schema.axis(axis).categories for axis in table.axes]
    sums: dict[tuple[int, ...], IntArray] = {}
    for codes, counts in zip(votes.codes.tolist(), votes.counts, strict=True):
        cell = tuple(of.get(names[code], -1) for of, names, code in zip(groups, labels, codes, strict=True))
        sums[cell] = sums[cell] + counts if cell in sums else counts
    for row, cell in enumerate(map(tuple, table.codes.tolist())):
        option, stated = int(table.option[row]), int(table.lower[row])
        count = int(sums[cell][option]) if cell in sums else 0
        if int(table.upper[row]) < UNBOUNDED and count != stated:
            where = ", ".join([*table.cell(row).values(), table.options[option]])
            return f"{table.name} ({where}: {count:,} instead of {stated:,})"
    return ""


def _unshown(carried: Carried, printed: Sequence[PublishedTable], document: Mapping[str, Any]) -> tuple[int, list[str]]:
    """How many cells were looked at, and those that no witness shows within the limits, or no two far enough apart."""
    known = build_system((*printed, *_parts(carried)), Onlooker(roll=(_roll(carried),)))
    row_of = {tuple(row): place for place, row in enumerate(_named(carried))}
    order = [row_of[tuple(row)] for row in _profiles(known)]
    tables = [witness.counts[order][:, : known.free].ravel() for witness in carried.tables]
    limits = Target(**document["target"]).limits(carried.tables[0].totals.tolist(), int(carried.roll.counts.sum()))
    # With assumed sums, the true interval may be wider than the one that they leave.
    shown = shown_by(known, replace(limits, hypothetical=bool(carried.parts)), tables)
    stated, joint = document.get("checked", {}).get("joint cells"), len(carried.roll.codes)
    failures = [f"it says that {stated!r:.20} joint cells were checked; the roll has {joint:,}"] * (stated != joint)
    linear = document.get("linear")
    if len(shown.missing) > (linear if isinstance(linear, int) and document.get("proved") == "linear" else 0):
        some = "; ".join(
            f"{', '.join(f'{axis} {name}' for axis, name in cell.items())}, {option}: {people:,} people"
            for cell, option, people in shown.missing[:MOST_NAMED]
        )
        failures.append(f"{WITNESSES}: does not show {len(shown.missing):,} counts within the target ({some})")
    return shown.cells, failures


def _named(carried: Carried) -> list[list[str]]:
    """The categories of every profile of the witnesses, axes by name."""
    order = sorted(range(len(carried.schema.axes)), key=lambda a: carried.schema.names[a])
    axes = carried.schema.axes
    return [[axes[a].categories[row[a]] for a in order] for row in carried.roll.codes.tolist()]


def _profiles(known: System) -> list[list[str]]:
    """The same of a system."""
    order = sorted(range(len(known.axes)), key=lambda a: known.axes[a])
    return [[known.categories[a][row[a]] for a in order] for row in known.codes.tolist()]

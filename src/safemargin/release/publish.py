"""From a plan to tables, and from tables to the bytes of files. Nothing is written here."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from safemargin.core import (
    Guarantee,
    InputError,
    Publication,
    PublishedTable,
    Table,
    as_published,
    frozen,
    merged_margin,
    named,
    printed,
    protected_margin,
)
from safemargin.guarantees import document, one_count_suffices
from safemargin.io import (
    MANIFEST,
    WRITERS,
    file_name,
    hash_bytes,
    json_bytes,
    manifest_bytes,
    quoted_formulas,
    roll_bytes,
    rows_of,
)
from safemargin.release.fields import Fields
from safemargin.release.plan import Action, Plan
from safemargin.release.report.public import public_page
from safemargin.release.witnesses import WitnessBundle, auditor_files
from safemargin.samplers import Geometric

PAGE = "index.html"
"""The page for the public beside the tables."""
RULE = (
    "Groups with fewer than kappa people are merged at the least loss, by the roll alone. Groups whose shares lie "
    "outside limits that are stricter than the target by a guard are merged together with those that cover them: "
    "neighbours in the order, in the same area or of nearly the same size on the roll, two by two, then blocks of "
    "these; or they are suppressed, with the smallest other groups that have a third as many people, until what all of "
    "them add up to is within these limits. Axes are merged further along the same blocks, or omitted, until no cell "
    "of any combination of axes is disclosed by all tables together, or with earlier releases, and answers within the "
    "target are known that lead to the same release."
)
"""How cells are protected, as the manifest says."""
NOISE_RULE = (
    "Groups are noised in units of two or a few of nearly the same size, neighbours, or in the same area, by the roll "
    "alone. Each group is moved towards the nearest limit by a number of answers drawn from the law that the guarantee "
    "of the noise states; units in which one is carried over, or lies outside, are noised."
)
"""How noised groups are chosen."""
AXIS_NOISE_RULE = "Every count of an axis with an epsilon of its own is noised, whatever the answers are."
SENSITIVE_RULE = (
    "Groups with a sensitive category are suppressed or noised whatever their size and shares, and never one alone."
)
CROSSED_RULE = (
    "Tables of several axes have the groups of their axes, merged until every cell has kappa people and shares within "
    "the limits; or single cells are suppressed, with the smallest others that have a third as many people, until what "
    "those of one group add up to is within these limits and no cell is disclosed. Of those asked for, the most "
    "valuable set is published that discloses no cell, together with all other tables."
)


def publish(plan: Plan, table: Table) -> Publication:
    """Carry a plan out: exact counts where it says so, fresh noise where it says so, nothing of the rest."""
    tables = [as_published(table.margin(()), table.schema, "total")]
    for axis in table.schema.names:
        decisions = plan.axis(axis)
        if len(decisions) < 2:
            continue
        groups = [decision.group for decision in decisions]
        hidden = {d.group: d for d in decisions if d.action in (Action.NOISED, Action.SUPPRESSED)}
        status = str(next(iter(hidden.values())).action) if hidden else "suppressed"
        published = protected_margin(table, axis, groups, hidden, status)
        if status == Action.NOISED:
            sizes = {group: decision.people for group, decision in hidden.items()}
            epsilon = next(iter(hidden.values())).epsilon
            published = _with_noise(published, table, axis, sizes, epsilon or 0.0)
        tables.append(published)
    for margin in plan.margins:
        if margin.is_published:
            partitions = dict(zip(margin.axes, margin.groups, strict=True))
            tables.append(printed(table, margin.axes, partitions, margin.hidden))
    return Publication(
        tables=tuple(tables),
        target=plan.target,
        guarantees=tuple(_beside(guarantee, plan) for guarantee in plan.guarantees),
        rule=" ".join(_rule_texts(plan)),
        witness=plan.witness,
    )


def _rule_texts(plan: Plan) -> list[str]:
    texts = [
        (RULE, True),
        (SENSITIVE_RULE, bool(plan.target.sensitive)),
        (NOISE_RULE, any(guarantee.choice for guarantee in plan.guarantees)),
        (AXIS_NOISE_RULE, any(not guarantee.choice for guarantee in plan.guarantees)),
        (CROSSED_RULE, plan.maximum is not None),
    ]
    return [text for text, applies in texts if applies]


def _beside(guarantee: Guarantee, plan: Plan) -> Guarantee:
    """A guarantee with the tables of several axes among what it leaves unchanged."""
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


def release_files(
    publication: Publication,
    fields: Fields,
    carried: WitnessBundle | str,
    *,
    formats: Sequence[str],
    quote_formulas: bool = False,
    orders: Mapping[str, tuple[str, ...]],
    onlookers: Sequence[str] = (),
    ledger: Mapping[str, str] | None = None,
    inconsistency: Mapping[str, object] | None = None,
    attacks: Sequence[Mapping[str, object]] = (),
    salt: str | None = None,
) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Every file for the public, by name, and every file for auditors.

    These are tables in each format, certificate, page, and the manifest, which commits to the folder for auditors.

    `fields` are those of the certificate; `carried` are its witnesses, or why there are none. `ledger` is what the
    manifest says about the ledger that the release is recorded in, `inconsistency` how far sealed totals are apart;
    `attacks` those that were tried, by onlooker, and those that were not and why; `salt` is as in
    `auditor_files`.
    """
    auditors = auditor_files(carried, salt)
    files: dict[str, bytes] = {}
    stated_tables = []
    for table, stated in zip(publication.tables, _tables(fields), strict=True):
        own = _table_files(table, formats, quote_formulas, orders, files)
        files |= own
        stated_tables.append({**stated, "files": {name: hash_bytes(content) for name, content in own.items()}})
    certificate = {**fields, "tables": stated_tables, "auditors": hash_bytes(auditors[MANIFEST])}
    files["certificate.json"] = json_bytes(certificate)
    hashes = {name: hash_bytes(content) for name, content in files.items()}
    page = public_page(
        certificate, publication.tables, hashes, orders=orders, onlookers=onlookers, rule=publication.rule
    )
    files[PAGE] = page.encode()
    hashes[PAGE] = hash_bytes(files[PAGE])
    common = {key: certificate[key] for key in ("schema", "kind", "title", "statement", "auditors")}
    said: dict[str, object] = {
        **common,
        "target": {**publication.target.stated(), "guard": publication.target.band},
        "onlookers": list(onlookers),
        "rule": fields["rule"]["label"],
        "rule_text": publication.rule,
        "attacks": [dict(each) for each in attacks],
        **({} if inconsistency is None else {"inconsistency": dict(inconsistency)}),
        "guarantees": [document(guarantee) for guarantee in publication.guarantees],
        **({} if ledger is None else {"ledger": dict(ledger)}),
    }
    files[MANIFEST] = manifest_bytes(said, hashes)
    return files, auditors


def _tables(fields: Fields) -> list[Fields]:
    tables: list[Fields] = fields["tables"]
    return tables


def _table_files(
    table: PublishedTable,
    formats: Sequence[str],
    quote_formulas: bool,
    orders: Mapping[str, tuple[str, ...]],
    others: Mapping[str, bytes],
) -> dict[str, bytes]:
    """One table in each format, by file name; `others` are the files that have names already."""
    taken = {"certificate", "manifest", "index", *(name.partition(".")[0].lower() for name in others)}
    rows, name = rows_of(table, orders), file_name(table.name)
    while name.partition(".")[0].lower() in taken:  # an axis may be called like another file
        name = f"by_{name}"
    quoted = quoted_formulas(rows) if quote_formulas else rows
    return {f"{name}.{form}": WRITERS[form](quoted if "csv" in form else rows) for form in formats}


def frame_of(rows: Sequence[Mapping[str, object]]) -> Any:
    """Rows as a pandas DataFrame, or a polars one where pandas is not installed."""
    for name in ("pandas", "polars"):
        try:
            return import_module(name).DataFrame(list(rows))
        except ImportError:
            continue
    raise InputError("tables as DataFrames need pandas or polars; install one of them")


def roll_file(table: Table) -> bytes:
    """The joint roll, which `verify` needs to read the witnesses; nothing where nobody knows it."""
    if not table.knows_composition:
        return b""
    roll = as_published(table.people(table.schema.names), table.schema, "roll", roll=True)
    return roll_bytes(roll)  # readers of rolls take the apostrophes away

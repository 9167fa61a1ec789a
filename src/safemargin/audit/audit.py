"""Attack tables that somebody published: the function behind the command `audit`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from safemargin.audit.attack import attack
from safemargin.audit.findings import Findings
from safemargin.audit.manifest import read_manifest
from safemargin.audit.small import SMALLEST
from safemargin.bounds import (
    Data,
    SourceFile,
    axis_names,
    checked_tolerance,
    measured_slack,
    prove_intervals,
    read_public,
    sources_of,
)
from safemargin.core import InputError, Progress, Publication, PublishedTable, no_progress
from safemargin.io import ReadingOptions, ReadTable
from safemargin.ui import override_target, target_of_tables, write_text


def audit(
    tables: Data | Sequence[PublishedTable] | Publication,
    *,
    roll: Data = (),
    facts: Data = (),
    target: str | Sequence[str] | None = None,
    beta: float | None = None,
    kappa: int | None = None,
    tau: int | None = None,
    count: str = "count",
    option: str = "option",
    by: str | Sequence[str] | None = None,
    skip: Sequence[str] = (),
    hierarchy: Sequence[str] = (),
    tolerance: float = 0.0,
    decide: bool = False,
    manifest: Path | str | None = None,
    earlier: Data = (),
    earlier_roll: Data = (),
    certificate: Path | str | None = None,
    reading: ReadingOptions | Mapping[str, Any] | Sequence[str] | None = None,
    progress: Progress = no_progress,
) -> Findings:
    """Run every attack on published tables, ours or not, as somebody who sees them and knows `roll` and `facts`.

    `tables` are tidy tables or outputs of other tools: files, DataFrames, Arrow tables, rows or `PublishedTable`s.
    The `manifest` of a release states its target, and then its rule is known. A printed group of 1 to 3 people is a
    finding; with `kappa`, one of fewer than that many. `target` names the axes whose cells are bounded. With `decide`,
    cells are only classified against `tau`. `earlier` are tables published before, with `earlier_roll`. `certificate`
    is a file for a proof of every interval; the tables must then be files. `reading` corrects how tables are read
    (rows, columns, answers, totals, suppressed, rounded, encoding, decimal, thousands, sheet, header, skip_lines).
    """
    if decide and certificate is not None:
        raise InputError("certificate: proves every interval, but decide leaves most of them unknown; give one of them")
    published = _publication(tables, manifest)
    columns: dict[str, Any] = {"count": count, "option": option, "by": by, "skip": skip}
    shown, onlooker, reads = read_public(
        tables.tables if isinstance(tables, Publication) else tables,
        roll,
        facts,
        **columns,
        hierarchy=hierarchy,
        earlier=earlier,
        earlier_roll=earlier_roll,
        knows_rule=published is not None and bool(published.rule),
        reading=reading,
    )
    if published is None:
        aim = target_of_tables(onlooker, beta, kappa, tau)
    else:
        aim = override_target(published.target, beta, kappa, tau)
    # What is audited is published counts, also where their column is called `people`, as in a roll.
    shown = tuple(replace(table, measure="count") if table.measure == "people" else table for table in shown)
    if certificate is not None:
        _check_provable(reads)
    slack = measured_slack(shown, checked_tolerance(tolerance))
    findings = attack(
        replace(published or Publication((), aim), tables=shown, target=aim),
        onlooker,
        target=axis_names(target),
        slack=slack,
        sharp=True,
        enough=aim.tau if decide else None,
        fiber=not decide,
        smallest=SMALLEST if kappa is None else kappa - 1,
        progress=progress,
    )
    if certificate is not None:
        sources, exposure = _sources(tables, roll, facts, **columns), findings.exposure
        proofs = prove_intervals(shown, onlooker, exposure, sources, slack=slack, target=aim, progress=progress)
        write_text(Path(certificate), json.dumps(proofs.document(), ensure_ascii=False) + "\n")
    return replace(findings, reads=reads, shown=shown, slack=slack, is_proved=certificate is not None)


def _check_provable(reads: Sequence[ReadTable]) -> None:
    """Refuse a certificate of tables that `verify` would read otherwise: it knows tidy tables without sums."""
    for read in reads:
        if not read.form.is_tidy or len(read.tables()) > 1:
            raise InputError(f"certificate: {read.name} is not a tidy table without sums; give one per margin")


def _publication(
    tables: Data | Sequence[PublishedTable] | Publication, manifest: Path | str | None
) -> Publication | None:
    """The release that is audited, with its target and rule, if it is one."""
    if manifest is not None:
        return read_manifest(Path(manifest), _files("manifest", "tables", tables))
    return tables if isinstance(tables, Publication) else None


def _sources(
    tables: Data | Sequence[PublishedTable] | Publication,
    roll: Data,
    facts: Data,
    count: str,
    option: str,
    by: str | Sequence[str] | None,
    skip: Sequence[str],
) -> list[SourceFile]:
    """The files that a certificate of the intervals speaks about, and how each was read."""
    names = by if by is None or isinstance(by, str) else ",".join(by)
    sources = sources_of(_files("certificate", "tables", tables), "table", count, option, names, list(skip))
    sources += sources_of(_files("certificate", "roll", roll), "roll", "people", option)
    return sources + sources_of(_files("certificate", "facts", facts), "fact", count, option)


def _files(document: str, name: str, data: Data | Sequence[PublishedTable] | Publication) -> list[Path]:
    """The files that a certificate or manifest speaks about."""
    listed: Sequence[object] = list(data) if isinstance(data, list | tuple) else [data]
    paths = [Path(item) for item in listed if isinstance(item, str | Path)]
    if len(paths) < len(listed):
        raise InputError(f"{document}: {name} must be files, whose hashes it states")
    return paths

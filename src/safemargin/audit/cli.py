"""Commands about published tables: what follows from them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from safemargin.audit.audit import audit as run_audit
from safemargin.audit.findings import Findings
from safemargin.audit.manifest import read_manifest, read_promises
from safemargin.audit.report import findings_document, show_findings
from safemargin.bounds.certificate import SourceFile
from safemargin.bounds.cli import Ask, export_cells, sources_of
from safemargin.bounds.proof import certificate as run_proof
from safemargin.bounds.system import measured_slack
from safemargin.core import InputError, Onlooker, Publication, PublishedTable, Target
from safemargin.io import onlooker_from_files, read_tables, with_earlier_tables
from safemargin.ui import (
    Axes,
    Beta,
    By,
    Count,
    DecideOnly,
    EarlierRolls,
    EarlierTables,
    Facts,
    Hierarchy,
    Json,
    Kappa,
    Option,
    Rolls,
    Skip,
    Tau,
    Tolerance,
    check_tolerance,
    out,
    override_target,
    print_json,
    progress_bar,
    write_text,
)


def audit(
    files: Annotated[list[Path], typer.Argument(help="Published tables, tidy or as other tools write them.")],
    roll: Rolls = None,
    fact: Facts = None,
    target: Axes = None,
    beta: Beta = None,
    kappa: Kappa = None,
    tau: Tau = None,
    count: Count = "count",
    option: Option = "option",
    by: By = None,
    skip: Skip = None,
    hierarchy: Hierarchy = None,
    tolerance: Tolerance = 0.0,
    decide: DecideOnly = False,
    manifest: Annotated[
        Path | None, typer.Option(help="Manifest of a release: its target, and its rule is known.")
    ] = None,
    earlier: EarlierTables = None,
    earlier_roll: EarlierRolls = None,
    export: Annotated[Path | None, typer.Option(help="Also write all cells to this CSV file.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="Also prove every interval in this JSON file.")] = None,
    as_json: Json = False,
) -> None:
    """Attack tables that somebody published, ours or not.

    Example: safemargin audit published/*.csv --roll roll.csv
    """
    if decide and certificate is not None:
        raise InputError("--certificate proves every interval, --decide leaves most of them unknown: give one of them")
    stated, rule = (Target(), "") if manifest is None else read_manifest(manifest)
    aim = override_target(stated, beta, kappa, tau)
    tables = read_tables(files, count, option, by, skip, hierarchy)
    onlooker = onlooker_from_files(tables, roll, fact, count, option, bool(rule))
    onlooker = with_earlier_tables(onlooker, earlier, earlier_roll, count, option)
    slack = measured_slack(tables, check_tolerance(tolerance))
    promises = () if manifest is None else read_promises(manifest)
    release = Publication(tables, aim, guarantees=promises, rule=rule)
    findings = _attack(release, onlooker, slack, Ask.of(target, aim, decide))
    export_cells(export, findings.exposure, aim)
    if certificate is not None:
        sources = sources_of(files, "table", count, option, by, skip)
        sources += sources_of(roll, "roll", "people", option) + sources_of(fact, "fact", count, option)
        _prove(certificate, tables, findings, sources, slack)
    if as_json:
        print_json(findings_document(findings))
    else:
        show_findings(out, findings)
    if not findings.is_safe:
        raise typer.Exit(1)


def _attack(release: Publication, onlooker: Onlooker, slack: int, effort: Ask) -> Findings:
    with progress_bar("attacking") as progress:
        return run_audit(
            release,
            onlooker,
            target=effort.target,
            slack=slack,
            sharp=True,
            enough=effort.enough,
            fiber=effort.fiber,
            progress=progress,
        )


def _prove(
    path: Path, tables: tuple[PublishedTable, ...], findings: Findings, sources: Sequence[SourceFile], slack: int
) -> None:
    """Write a proof of every interval."""
    with progress_bar("proving") as progress:
        proofs = run_proof(
            tables,
            findings.onlooker,
            findings.exposure,
            sources,
            slack=slack,
            target=findings.target,
            progress=progress,
        )
    write_text(path, json.dumps(proofs.document(), ensure_ascii=False) + "\n")

"""Commands about published tables: what follows from them."""

import json
from pathlib import Path
from typing import Annotated

import typer

from safemargin.audit import audit as run_audit
from safemargin.bounds import bound as run_bound
from safemargin.bounds.proof import certificate as run_proof
from safemargin.bounds.system import measured_slack
from safemargin.cli.options import (
    Axes,
    Beta,
    By,
    Count,
    Deciding,
    EarlierRolls,
    Facts,
    Hierarchy,
    Kappa,
    Option,
    Remembered,
    Rolls,
    Skip,
    Tau,
    Tolerance,
    aimed,
    axes,
    project_in,
    public,
    read_tables,
    remembering,
    share,
    sources_of,
)
from safemargin.cli.terminal import Json, out, print_json, progress_bar, write
from safemargin.errors import InputError
from safemargin.model.release import Release
from safemargin.model.target import Target
from safemargin.pipeline import onlookers_of
from safemargin.project import Project
from safemargin.report import exposure_document, findings_document, show_exposure, show_findings
from safemargin.report.export import cells_csv
from safemargin.report.ranking import SORTS
from safemargin.tabulate import tabulate
from safemargin.verify.manifest import read_manifest


def bound(
    files: Annotated[list[Path], typer.Argument(help="One project file (.toml), or tidy tables.")],
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
    tolerance: Tolerance = 0.0,
    decide: Deciding = False,
    sort: Annotated[str, typer.Option(help="verdict, width, people or cell.")] = "verdict",
    limit: Annotated[int, typer.Option(help="How many cells to print.")] = 30,
    export: Annotated[Path | None, typer.Option(help="Also write all cells to this CSV file.")] = None,
    as_json: Json = False,
) -> None:
    """Interval, shares, width, t and verdict of every cell, if every axis were published exactly.

    Example: safemargin bound project.toml --target religion,age
    """
    wanted = axes(target)
    if sort not in SORTS:
        raise InputError(f"--sort {sort!r}: must be one of {', '.join(SORTS)}")
    given = project_in(files, {"--roll": roll, "--fact": fact, "--by": by, "--skip": skip})
    if given is not None:
        project = Project.load(given)
        aim = aimed(project.target, beta, kappa, tau)
        table = tabulate(project)
        with progress_bar("bounding") as progress:
            exposure = run_bound(
                table,
                onlookers_of(project, table)[0],
                target=wanted,
                enough=aim.tau if decide else None,
                fiber=not decide,
                progress=progress,
            )
    else:
        aim = aimed(Target(), beta, kappa, tau)
        tables = read_tables(files, count, option, by, skip)
        onlooker = public(tables, roll, fact, count, option)
        slack = measured_slack(tables, share(tolerance))
        with progress_bar("bounding") as progress:
            exposure = run_bound(
                tables,
                onlooker,
                target=wanted,
                slack=slack,
                enough=aim.tau if decide else None,
                fiber=not decide,
                progress=progress,
            )
    if export is not None:
        write(export, cells_csv(exposure, aim))
    if as_json:
        print_json(exposure_document(exposure, aim))
    else:
        show_exposure(out, exposure, aim, limit=limit, sort=sort)
    if exposure.tallied(aim)["disclosed"]:
        raise typer.Exit(1)


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
    decide: Deciding = False,
    manifest: Annotated[
        Path | None, typer.Option(help="Manifest of a release: its target, and its rule is known.")
    ] = None,
    earlier: Remembered = None,
    earlier_roll: EarlierRolls = None,
    variance: Annotated[
        float | None, typer.Option("--noise-variance", help="Variance of noisy counts: attack those too.")
    ] = None,
    noise_bound: Annotated[int | None, typer.Option(help="Largest size of that noise, if it is known.")] = None,
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
    aim = aimed(stated, beta, kappa, tau)
    tables = read_tables(files, count, option, by, skip, hierarchy)
    onlooker = public(tables, roll, fact, count, option, bool(rule))
    onlooker = remembering(onlooker, earlier, earlier_roll, count, option)
    slack = measured_slack(tables, share(tolerance))
    with progress_bar("attacking") as progress:
        findings = run_audit(
            Release(tables, aim, rule=rule),
            onlooker,
            target=axes(target),
            slack=slack,
            sharp=True,
            enough=aim.tau if decide else None,
            fiber=not decide,
            variance=variance,
            noise_bound=noise_bound,
            progress=progress,
        )
    if export is not None:
        write(export, cells_csv(findings.exposure, aim))
    if certificate is not None:
        sources = sources_of(files, "table", count, option, by, skip)
        sources += sources_of(roll, "roll", "people", option) + sources_of(fact, "fact", count, option)
        with progress_bar("proving") as progress:
            proofs = run_proof(tables, onlooker, findings.exposure, sources, slack=slack, target=aim, progress=progress)
        write(certificate, json.dumps(proofs.document(), ensure_ascii=False) + "\n")
    if as_json:
        print_json(findings_document(findings))
    else:
        show_findings(out, findings)
    if not findings.is_safe:
        raise typer.Exit(1)

"""Commands about published tables: what follows from them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
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
from safemargin.model.certificate import Source
from safemargin.model.exposure import Exposure
from safemargin.model.findings import Findings
from safemargin.model.onlooker import Onlooker
from safemargin.model.published import PublishedTable
from safemargin.model.release import Release
from safemargin.model.target import Target
from safemargin.pipeline import onlookers_of
from safemargin.project import Project
from safemargin.report import exposure_document, findings_document, show_exposure, show_findings
from safemargin.report.export import cells_csv
from safemargin.report.ranking import SORTS
from safemargin.tabulate import tabulate
from safemargin.verify.manifest import read_manifest, read_promises


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
    if sort not in SORTS:
        raise InputError(f"--sort {sort!r}: must be one of {', '.join(SORTS)}")
    given = project_in(files, {"--roll": roll, "--fact": fact, "--by": by, "--skip": skip})
    if given is not None:
        project = Project.load(given)
        aim = aimed(project.target, beta, kappa, tau)
        exposure = _bound_project(project, _Effort.of(target, aim, decide))
    else:
        aim = aimed(Target(), beta, kappa, tau)
        tables = read_tables(files, count, option, by, skip)
        onlooker = public(tables, roll, fact, count, option)
        exposure = _bound_tables(tables, onlooker, share(tolerance), _Effort.of(target, aim, decide))
    _export(export, exposure, aim)
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
    promises = () if manifest is None else read_promises(manifest)
    release = Release(tables, aim, guarantees=promises, rule=rule)
    findings = _attack(release, onlooker, slack, _Effort.of(target, aim, decide), variance, noise_bound)
    _export(export, findings.exposure, aim)
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


@dataclass(frozen=True)
class _Effort:
    """Which cells are bounded, and how far: `enough` is a width from which on no interval is worked out further."""

    target: tuple[str, ...] | None
    enough: int | None
    fiber: bool

    @classmethod
    def of(cls, target: str | None, aim: Target, decide: bool) -> "_Effort":
        """What `--target` and `--decide` ask for."""
        return cls(axes(target), aim.tau if decide else None, not decide)


def _bound_project(project: Project, effort: _Effort) -> Exposure:
    table = tabulate(project)
    with progress_bar("bounding") as progress:
        return run_bound(
            table,
            onlookers_of(project, table)[0],
            target=effort.target,
            enough=effort.enough,
            fiber=effort.fiber,
            progress=progress,
        )


def _bound_tables(
    tables: tuple[PublishedTable, ...], onlooker: Onlooker, tolerance: float, effort: _Effort
) -> Exposure:
    slack = measured_slack(tables, tolerance)
    with progress_bar("bounding") as progress:
        return run_bound(
            tables,
            onlooker,
            target=effort.target,
            slack=slack,
            enough=effort.enough,
            fiber=effort.fiber,
            progress=progress,
        )


def _attack(
    release: Release, onlooker: Onlooker, slack: int, effort: _Effort, variance: float | None, noise_bound: int | None
) -> Findings:
    with progress_bar("attacking") as progress:
        return run_audit(
            release,
            onlooker,
            target=effort.target,
            slack=slack,
            sharp=True,
            enough=effort.enough,
            fiber=effort.fiber,
            variance=variance,
            noise_bound=noise_bound,
            progress=progress,
        )


def _prove(
    path: Path, tables: tuple[PublishedTable, ...], findings: Findings, sources: Sequence[Source], slack: int
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
    write(path, json.dumps(proofs.document(), ensure_ascii=False) + "\n")


def _export(path: Path | None, exposure: Exposure, aim: Target) -> None:
    if path is not None:
        write(path, cells_csv(exposure, aim))

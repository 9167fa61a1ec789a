"""The command that releases a project."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.release.project import Project
from safemargin.release.release import Outcome, run
from safemargin.release.report.text import show_release
from safemargin.ui import Json, out, print_json, progress_bar


def release(
    project: Annotated[Path, typer.Argument(help="Project file (TOML).")],
    folder: Annotated[Path, typer.Option("--out", help="New folder for tables, certificate and report.")],
    explain: Annotated[bool, typer.Option("--explain", help="Tell whom tables left out would expose.")] = False,
    as_json: Json = False,
) -> None:
    """Tabulate, decide, publish, audit and report; nothing is published unless the certificate holds.

    Example: safemargin release project.toml --out release
    """
    finish_release(project, folder, as_json, explain)


def finish_release(project: Path, folder: Path, as_json: bool, explain: bool = False) -> None:
    """Run a project, print what came of it, and exit with 1 if it is not safe."""
    with progress_bar("starting") as progress:
        outcome: Outcome = run(Project.load(project), folder, progress)
    if as_json:
        print_json(outcome.document)
    else:
        certificates = {name: str(folder / file) for name, file in outcome.certificates.items()}
        show_release(out, outcome.plan, outcome.release, outcome.findings, folder, certificates if explain else None)
    if not outcome.is_safe:
        raise typer.Exit(1)

"""Commands about projects: from a data file to a release."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.cli.options import Json
from safemargin.cli.terminal import notes, out, print_json, write
from safemargin.demo import write_city
from safemargin.errors import InputError, OutputError
from safemargin.pipeline import Outcome, run
from safemargin.project import Project, project_schema
from safemargin.publish import check_folder
from safemargin.report import show_release
from safemargin.tabulate.propose import propose_project


def demo(
    folder: Annotated[Path, typer.Argument(help="Where to put the city, its release and the report.")] = Path("demo"),
    as_json: Json = False,
) -> None:
    """Write a synthetic city of 500,000 voters, release it, and leave everything in a folder.

    Example: safemargin demo city
    """
    check_folder(folder)
    with notes.status("building the city"):
        project = write_city(folder)
    _finish_release(project, folder / "release", as_json)


def init(
    data: Annotated[Path, typer.Argument(help="CSV, Parquet, JSON lines or SQLite file.")],
    out_file: Annotated[Path | None, typer.Option("--out", help="Project file to write.")] = None,
    as_json: Json = False,
) -> None:
    """Look at the columns of a data file and write a commented project file to edit.

    Example: safemargin init voters.csv
    """
    path = out_file or data.parent / "project.toml"
    if path.exists():
        raise OutputError(f"{path}: exists already; name another with --out")
    if path.parent.resolve() != data.parent.resolve():
        raise InputError(f"{path}: put the project file beside {data.name}, so that its paths stay relative")
    text = propose_project(data)
    write(path, text)
    if as_json:
        print_json({"schema": 1, "project": str(path), "text": text})
    else:
        out.print(f"{path} written. Read it, edit it, then: safemargin release {path} --out release", soft_wrap=True)


def release(
    project: Annotated[Path, typer.Argument(help="Project file (TOML).")],
    folder: Annotated[Path, typer.Option("--out", help="New folder for tables, certificate and report.")],
    explain: Annotated[bool, typer.Option("--explain", help="Tell whom tables left out would expose.")] = False,
    as_json: Json = False,
) -> None:
    """Tabulate, decide, publish, audit and report; nothing is published unless the certificate holds.

    Example: safemargin release project.toml --out release
    """
    _finish_release(project, folder, as_json, explain)


def _finish_release(project: Path, folder: Path, as_json: bool, explain: bool = False) -> None:
    with notes.status("starting") as status:
        outcome: Outcome = run(Project.load(project), folder, lambda words: status.update(words))
    if as_json:
        print_json(outcome.document)
    else:
        certificates = {name: str(folder / file) for name, file in outcome.certificates.items()}
        show_release(out, outcome.plan, outcome.release, outcome.findings, folder, certificates if explain else None)
    if not outcome.is_safe:
        raise typer.Exit(1)


def schema(as_json: Json = False) -> None:
    """Print the JSON Schema of project files, for editors and other programs.

    Example: safemargin schema > project.schema.json
    """
    print_json(project_schema())

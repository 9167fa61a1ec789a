"""Commands from which a project starts: a synthetic city, a look at a data file, the schema of project files."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError, OutputError
from safemargin.io import check_folder
from safemargin.release.cli import finish_release
from safemargin.release.demo import write_city
from safemargin.release.init.propose import propose_project
from safemargin.release.project import project_schema
from safemargin.ui import Json, notes, out, print_json, write_text


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
    finish_release(project, folder / "release", as_json)


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
    write_text(path, text)
    if as_json:
        print_json({"schema": 1, "project": str(path), "text": text})
    else:
        out.print(f"{path} written. Read it, edit it, then: safemargin release {path} --out release", soft_wrap=True)


def schema(as_json: Json = False) -> None:
    """Print the JSON Schema of project files, for editors and other programs.

    Example: safemargin schema > project.schema.json
    """
    print_json(project_schema())

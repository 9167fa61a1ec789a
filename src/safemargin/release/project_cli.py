"""Commands from which a project starts: a look at a data file, the schema of project files."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError, OutputError
from safemargin.release.init.propose import propose_project
from safemargin.release.project import project_schema
from safemargin.ui import Json, out, print_json, write_text


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

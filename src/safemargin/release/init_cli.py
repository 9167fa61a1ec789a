"""The command `init`: arguments, one call, and what is printed."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.release.init import init as run_init
from safemargin.ui import (
    Json,
    out,
    print_json,
)


def init(
    data: Annotated[Path, typer.Argument(help="CSV, Parquet, JSON lines, SQLite, PX, Excel, SPSS or Stata file.")],
    out_file: Annotated[
        Path | None, typer.Option("--out", help="Project file to write. Default: project.toml in the current folder.")
    ] = None,
    answer: Annotated[str | None, typer.Option(help="Column with the answer.")] = None,
    answers: Annotated[
        str | None, typer.Option(help="Columns of several questions, e.g. q1,q2 or a pattern such as 'q*'.")
    ] = None,
    count: Annotated[str | None, typer.Option(help="Column with the number of people a row stands for.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of a CSV file that is not UTF-8, e.g. cp1252.")] = None,
    as_json: Json = False,
) -> None:
    """Look at the columns of a data file and write a commented project file to edit.

    Example: safemargin init voters.csv --answer vote
    """
    proposal = run_init(data, answer=answer, answers=answers, count=count, encoding=encoding)
    path = proposal.write(out_file)
    if as_json:
        print_json({**proposal.to_json(), "project": str(path)})
    else:
        first = "Answer the QUESTION in it" if "# QUESTION:" in proposal.text else "Read it, edit it"
        out.print(f"{path} written. {first}, then: safemargin release {path} --out release", soft_wrap=True)

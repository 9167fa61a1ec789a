"""The command that checks certificates."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.bounds.cli import read_source
from safemargin.ui import Facts, Json, Rolls, out, print_json
from safemargin.verify.verify import verify as run_verify


def verify(
    certificate: Annotated[Path, typer.Argument(help="Certificate (JSON) of an audit or of a release.")],
    files: Annotated[list[Path], typer.Argument(help="The tables it speaks about, or a folder that holds them.")],
    roll: Rolls = None,
    fact: Facts = None,
    as_json: Json = False,
) -> None:
    """Check a certificate by addition: no solver, no search, whole numbers only.

    Example: safemargin verify certificate.json published --roll roll.csv
    """
    found = run_verify(certificate, files, roll or [], fact or [], read=read_source)
    if as_json:
        print_json(found.document())
    else:
        for line in found.lines():
            out.print(line, soft_wrap=True, markup=False)
    if not found.holds:
        raise typer.Exit(1)

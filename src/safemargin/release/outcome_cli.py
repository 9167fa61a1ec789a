"""What the exact result of a project discloses."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError
from safemargin.release.inputs import tabulate
from safemargin.release.project import Project
from safemargin.ui import Json, out, print_json
from safemargin.voting.result import result_document, result_lines, result_privacy


def outcome(
    path: Annotated[Path, typer.Argument(metavar="PROJECT", help="Project file (TOML).")], as_json: Json = False
) -> None:
    """What the exact result of a project discloses about one person.

    Example: safemargin outcome project.toml
    """
    project = Project.load(path)
    table = tabulate(project)
    privacy = result_privacy(table.schema.options, table.totals.tolist(), project.outcome.belief)
    if privacy is None:
        raise InputError(
            f"{path}: the result has fewer than two options, or no answers; no two votes can be distinguished"
        )
    document = {"schema": 1, **result_document(privacy)}
    if as_json:
        print_json(document)
        return
    out.print(document["words"], soft_wrap=False)
    for line in result_lines(privacy):
        out.print(f"- {line}")
    for point, delta in privacy.curve:
        out.print(f"  epsilon {point:<7g} delta {delta:.3g}")

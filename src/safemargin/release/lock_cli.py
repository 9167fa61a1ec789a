"""The command `lock`: arguments, one call, and what is printed. Its forecast loads much that a release needs not."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.release.lock import lock as run_lock
from safemargin.ui import Json, print_result, progress_bar


def lock(
    project: Annotated[Path, typer.Argument(help="Project file (TOML) with a section [ledger].")],
    draws: Annotated[
        int | None, typer.Option(help="How often the forecast draws answers; 0: only what the roll settles.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the limits of a project, their hash and a forecast into its ledger before the count.

    Example: safemargin lock project.toml
    """
    with progress_bar("starting") as progress:
        made = run_lock(project, draws=draws, progress=progress)
    print_result(made, as_json)

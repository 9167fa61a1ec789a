"""The command `growth`: arguments, one call, and what is printed."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.release.growth import growth as run_growth
from safemargin.release.project import Project
from safemargin.ui import (
    Json,
    Page,
    check_page,
    print_result,
    progress_bar,
)


def growth(
    project: Annotated[Path, typer.Argument(help="Project file (TOML).")],
    order: Annotated[int, typer.Option(help="Largest number of axes in a table.")] = 3,
    axes: Annotated[int, typer.Option(help="Largest number of axes that are looked at together.")] = 4,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Measure where disclosure begins as more axes and larger tables of your own data are published exactly.

    Example: safemargin growth project.toml --order 2 --out growth.html
    """
    check_page(page)
    with progress_bar("starting") as progress:
        result = run_growth(Project.load(project), order=order, axes=axes, progress=progress)
    print_result(result, as_json, page)

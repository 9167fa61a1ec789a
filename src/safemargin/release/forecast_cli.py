"""The command `forecast`: arguments, one call, and what is printed."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.release.forecast import forecast as run_forecast
from safemargin.release.project import Project
from safemargin.ui import (
    Json,
    Page,
    check_page,
    print_result,
    progress_bar,
)


def forecast(
    project: Annotated[Path, typer.Argument(help="Project file (TOML).")],
    votes: Annotated[Path | None, typer.Option(help="Data of last year, read as the project reads its own.")] = None,
    shares: Annotated[str | None, typer.Option(help="Shares of the answers, e.g. yes=.6,no=.4.")] = None,
    draws: Annotated[
        int | None, typer.Option(help="How often answers are drawn; 0: only what the roll settles.")
    ] = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Read off the roll which groups will be merged, and how likely each table is exact, merged or lost.

    Example: safemargin forecast project.toml --shares yes=.6,no=.4 --out forecast.html
    """
    check_page(page)
    with progress_bar("starting") as progress:
        result = run_forecast(Project.load(project), votes=votes, shares=shares, draws=draws, progress=progress)
    print_result(result, as_json, page)

"""The command `compare`: arguments, one call, and what is printed."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.release.compare.compare import DRAWS, EPSILONS, THRESHOLD, compare as run_compare
from safemargin.release.project import Project
from safemargin.ui import (
    Json,
    Page,
    check_page,
    print_result,
    progress_bar,
)


def compare(
    project: Annotated[Path, typer.Argument(help="Project file (TOML).")],
    epsilon: Annotated[
        list[float] | None, typer.Option(help="Loss of differential privacy; repeatable. Default: 0.1, 1, 10.")
    ] = None,
    threshold: Annotated[
        int, typer.Option(help="Smallest count that suppression prints; smallest group of coarsening.")
    ] = THRESHOLD,
    draws: Annotated[int, typer.Option(help="Number of noise draws; errors are means.")] = DRAWS,
    seed_free: Annotated[
        bool, typer.Option("--seed-free", help="Draw fresh record keys, not the same ones in every run.")
    ] = False,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Measure ways to publish on your own data: global and local DP, suppression, coarsening, cell keys, safemargin.

    Example: safemargin compare project.toml --epsilon 0.5 --epsilon 2 --out comparison.html
    """
    check_page(page)
    with progress_bar("starting") as progress:
        comparison = run_compare(
            Project.load(project),
            epsilons=epsilon or EPSILONS,
            threshold=threshold,
            draws=draws,
            seed=None if seed_free else 0,
            progress=progress,
        )
    print_result(comparison, as_json, page)

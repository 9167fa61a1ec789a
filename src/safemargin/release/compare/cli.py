"""The command that compares ways to publish."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import OutputError
from safemargin.release.compare.compare import DRAWS, EPSILONS, THRESHOLD
from safemargin.release.compare.measure import measure
from safemargin.release.compare.report import comparison_document, comparison_page, show_comparison
from safemargin.release.project import Project
from safemargin.ui import Json, out, print_json, progress_bar, write_text


def compare(
    project: Annotated[Path, typer.Argument(help="Project file (TOML).")],
    epsilon: Annotated[
        list[float] | None, typer.Option(help="Loss of global differential privacy; repeatable. Default: 0.1, 1, 10.")
    ] = None,
    threshold: Annotated[int, typer.Option(help="Least count of suppression, least size of coarsening.")] = THRESHOLD,
    draws: Annotated[int, typer.Option(help="How often noise is drawn; errors are means.")] = DRAWS,
    seed_free: Annotated[
        bool, typer.Option("--seed-free", help="Draw record keys afresh, not the same in every run.")
    ] = False,
    page: Annotated[Path | None, typer.Option("--out", help="Also write a page with a picture (HTML).")] = None,
    as_json: Json = False,
) -> None:
    """Measure ways to publish on your own data: global DP, suppression, coarsening, cell key, and ours.

    Example: safemargin compare project.toml --epsilon 0.5 --epsilon 2 --out comparison.html
    """
    if page is not None and (page.is_dir() or not page.parent.is_dir()):
        raise OutputError(f"{page}: cannot be written; name a file in a folder that exists")
    described = Project.load(project)
    with progress_bar("starting") as progress:
        comparison = measure(
            described,
            epsilons=epsilon or EPSILONS,
            threshold=threshold,
            draws=draws,
            seed=None if seed_free else 0,
            progress=progress,
        )
    if page is not None:
        title = f"{described.title or project.stem}: ways to publish"
        write_text(page, comparison_page(title, comparison))
    if as_json:
        print_json(comparison_document(comparison))
    else:
        show_comparison(out, comparison)

"""Commands about programmes of tables: how often counts are represented, and which noise survives."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.cli.options import Json
from safemargin.cli.terminal import notes, out, print_json, write
from safemargin.noise.averaging import CONFIDENCE
from safemargin.noise.plan import Wishes, plan_noise
from safemargin.noise.programme import load_programme
from safemargin.noise.redundancy import redundancies
from safemargin.report.planning import (
    plan_document,
    plan_page,
    redundancy_document,
    show_plan,
    show_redundancies,
)

File = Annotated[Path, typer.Argument(help="Programme of tables (TOML).")]


def redundancy(
    programme: File,
    without_spsn: Annotated[
        bool, typer.Option("--without-spsn", help="The same participants get new noise in every table.")
    ] = False,
    limit: Annotated[int, typer.Option(help="How many statistics to print.")] = 10,
    as_json: Json = False,
) -> None:
    """How often every statistic of a programme is represented, the easiest to average first.

    Example: safemargin noise redundancy programme.toml
    """
    with notes.status("counting"):
        found = redundancies(load_programme(programme), same_noise=not without_spsn)
    if as_json:
        print_json(redundancy_document(str(programme), found, not without_spsn))
    else:
        show_redundancies(out, found, limit)


def plan(
    programme: File,
    confidence: Annotated[float, typer.Option(help="How sure an onlooker may be.")] = CONFIDENCE,
    largest_bound: Annotated[int, typer.Option(help="Largest bound of noise that users accept.")] = 10,
    area_error: Annotated[float, typer.Option(help="Error that no small area may exceed.")] = 20,
    page: Annotated[Path | None, typer.Option("--out", help="Also write a page with both pictures (HTML).")] = None,
    as_json: Json = False,
) -> None:
    """Which noise a programme of tables leaves room for, with a recommendation.

    Example: safemargin noise plan programme.toml --out plan.html
    """
    listed = load_programme(programme)
    with notes.status("planning"):
        found = plan_noise(listed, Wishes(confidence, largest_bound, area_error))
    if page is not None:
        write(page, plan_page(found, redundancies(listed)))
    if as_json:
        print_json(plan_document(str(programme), found))
    else:
        show_plan(out, found)

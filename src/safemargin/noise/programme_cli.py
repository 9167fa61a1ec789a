"""Commands about programmes of tables: how often counts are represented, which noise survives, and publishing."""

import json
from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError
from safemargin.io import WRITERS, check_folder, file_name, rows_of, write_folder
from safemargin.noise.averaging import CONFIDENCE
from safemargin.noise.plan import Wishes, plan_noise
from safemargin.noise.plan_report import plan_document, plan_page, redundancy_document, show_plan, show_redundancies
from safemargin.noise.programme import load_programme
from safemargin.noise.publish import perturb_programme
from safemargin.noise.redundancy import redundancies
from safemargin.samplers.checks import at_least
from safemargin.samplers.ptable_design import ptable, request
from safemargin.ui import Json, notes, out, plural, print_json, write_text

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
    at_least("limit", limit, 0)
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
        write_text(page, plan_page(found, redundancies(listed)))
    if as_json:
        print_json(plan_document(str(programme), found))
    else:
        show_plan(out, found)


def publish(
    programme: File,
    records: Annotated[Path, typer.Option(help="People, one row each (CSV or Parquet), a column per level.")],
    identity: Annotated[str, typer.Option("--id", help="Column that tells people apart, the same in every release.")],
    secret: Annotated[Path, typer.Option(help="File of at least 16 random bytes; keep it, and keep it secret.")],
    folder: Annotated[Path, typer.Option("--out", help="New folder for the tables.")],
    variance: Annotated[float | None, typer.Option(help="Variance of the noise; otherwise as planned.")] = None,
    bound: Annotated[int | None, typer.Option(help="Largest size of the noise; otherwise as planned.")] = None,
    as_json: Json = False,
) -> None:
    """Publish a whole programme with cell keys: the same people have the same noise in every table.

    Example: safemargin noise publish programme.toml --records people.csv --id person --secret secret.key --out tables
    """
    check_folder(folder)
    listed = load_programme(programme)
    if (variance is None) != (bound is None):
        raise InputError("give --variance with --bound, or neither")
    if variance is None or bound is None:
        best = plan_noise(listed).recommended
        if best is None:
            raise InputError(f"{programme}: no noise within 10 survives (see noise plan); give --variance and --bound")
        variance, bound = best.variance, best.bound
    with notes.status("publishing"):
        found = perturb_programme(listed, records, identity, secret, ptable(request(bound, variance))[0])
        orders: dict[str, tuple[str, ...]] = {}
        files = {
            f"published/{file_name(table.name)}.csv": WRITERS["csv"](rows_of(table, orders)) for table in found.tables
        }
        inside = {"variance": variance, "bound": bound, "people": found.people, "tables": sorted(files)}
        files["inside/parameters.json"] = (json.dumps(inside, indent=2) + "\n").encode()
        write_folder(folder, files)
    inputs = {"programme": str(programme), "records": str(records), "variance": variance, "bound": bound}
    if as_json:
        print_json({"value": len(found.tables), "inputs": inputs, "details": {"files": sorted(files)}})
    else:
        out.print(
            f"{plural(len(found.tables), 'statistic')} of {plural(found.people, 'person')} in {folder}/published, with "
            f"noise of variance {variance:g} within {bound}; the bound is in inside/parameters.json and stays there.",
            markup=False,
        )

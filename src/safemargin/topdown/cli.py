"""The command for tables of areas with differential privacy."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError
from safemargin.topdown.country import write_country
from safemargin.topdown.folder import write_text
from safemargin.topdown.report import areas_document, areas_page, plan_document, show_areas, show_plan
from safemargin.topdown.topdown import plan, recompute, run
from safemargin.ui import Json, out, print_json, progress_bar

PAGE = "inside/report.html"


def topdown(
    source: Annotated[
        Path | None, typer.Argument(help="TopDown file (TOML), or a published folder, to compute it again.")
    ] = None,
    folder: Annotated[Path | None, typer.Option("--out", help="Folder to write, or to go on with.")] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(help="People as another method made them, to compare errors, e.g. swapping=swapped.parquet."),
    ] = None,
    planned: Annotated[
        bool,
        typer.Option(
            "--plan", help="Only say what would be promised, and how precise estimates would be; nothing is drawn."
        ),
    ] = False,
    demo: Annotated[Path | None, typer.Option(help="Only write a synthetic country into this folder.")] = None,
    people: Annotated[int, typer.Option(help="People of the synthetic country.")] = 100_000,
    blocks: Annotated[int, typer.Option(help="Blocks of the synthetic country.")] = 1_000,
    as_json: Json = False,
) -> None:
    """Noisy measurements of areas in a tree, unbiased estimates, and tables of whole people that add up.

    Example: safemargin topdown country/topdown.toml --out country/release
    """
    if demo is not None:
        path = write_country(demo, people, blocks)
        if as_json:
            print_json({"schema": 1, "project": str(path)})
        else:
            out.print(f"Written: {path}", markup=False, soft_wrap=True)
        return
    if source is None:
        raise InputError("name a TopDown file (TOML), or a folder with --demo")
    if source.is_dir():
        _again(source, as_json)
        return
    if planned:
        expected = plan(source)
        if as_json:
            print_json(plan_document(expected.promise, expected.queries))
        else:
            show_plan(out, expected.promise, expected.queries)
        return
    folder = folder or source.parent / f"{source.stem}-release"
    with progress_bar("starting") as progress:
        found = run(source, folder, beside=_files(beside), progress=progress)
    values = found.design, found.promise, found.accuracy
    write_text(folder / PAGE, areas_page(found.title, *values))
    if as_json:
        print_json(areas_document(*values, str(found.published), str(folder / PAGE)))
    else:
        show_areas(out, *values, str(folder))


def _again(published: Path, as_json: bool) -> None:
    with progress_bar("starting") as progress:
        found = recompute(published, progress)
    agrees = not found.different and not found.changed_files
    if as_json:
        changed = list(found.changed_files)
        print_json({"schema": 1, "counts": found.counts, "different": found.different, "changed_files": changed})
    else:
        out.print(f"{found.counts:,} counts computed again from the public measurements: {found.different:,} differ.")
        for name in found.changed_files:
            out.print(f"{name}: is not as the manifest says", markup=False)
    if not agrees:
        raise typer.Exit(1)


def _files(texts: list[str] | None) -> dict[str, Path]:
    found = {}
    for text in texts or []:
        name, sign, file = text.partition("=")
        if not (name and sign and file):
            raise InputError(f"--beside {text!r}: say a name and a file, as in swapping=swapped.parquet")
        if name in found:
            raise InputError(f"--beside {text!r}: {name!r} is named twice")
        found[name] = Path(file)
    return found

"""The commands that release: a project or a data file, and the synthetic city."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import Progress, RefusedError, Target
from safemargin.io import axes, check_folder
from safemargin.release.demo import write_city
from safemargin.release.draft import Draft
from safemargin.release.release import Release
from safemargin.release.release import release as run_release
from safemargin.ui import Beta, Json, Kappa, Rolls, Tau, out, override_target, print_json, progress_bar


def release(
    data: Annotated[Path, typer.Argument(help="Project file (TOML); or a data file, with --answer and --by.")],
    folder: Annotated[Path, typer.Option("--out", help="New folder for tables, certificate and report.")],
    answer: Annotated[str | None, typer.Option(help="Column with the answers, for a data file.")] = None,
    by: Annotated[str | None, typer.Option(help="Columns to count by, e.g. district,age.")] = None,
    roll: Rolls = None,
    beta: Beta = None,
    kappa: Kappa = None,
    tau: Tau = None,
    protect: Annotated[
        str | None, typer.Option(help="How near-unanimous groups are protected: merge, noise or suppress.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the release.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show whom omitted tables would expose.")] = False,
    as_json: Json = False,
) -> None:
    """Decide what may be published, prove it, attack it and write it; nothing is published unless it is safe.

    Example: safemargin release project.toml --out release
    """
    check_folder(folder)
    aim = None if (beta, kappa, tau) == (None, None, None) else override_target(Target(), beta, kappa, tau)
    with progress_bar("starting") as progress:
        result = attempt(
            data,
            progress,
            answer=answer,
            by=axes(by),
            roll=roll,
            target=aim,
            protect=protect,
            title=title,
        )
    finish(result, folder, as_json, explain)


def demo(
    folder: Annotated[Path, typer.Argument(help="Folder for the city, its release and the report.")] = Path("demo"),
    as_json: Json = False,
) -> None:
    """Write a synthetic city of 500,000 voters, release it, and leave everything in a folder.

    Example: safemargin demo city
    """
    check_folder(folder)
    with progress_bar("building the city") as progress:
        result = attempt(write_city(folder), progress)
    finish(result, folder / "release", as_json)


def attempt(data: Path, progress: Progress, **said: object) -> Release | Draft:
    """The release, or the draft that was refused."""
    try:
        return run_release(data, progress=progress, **said)  # type: ignore[arg-type]
    except RefusedError as error:
        if not isinstance(error.draft, Draft):
            raise
        return error.draft


def finish(result: Release | Draft, folder: Path, as_json: bool, explain: bool = False) -> None:
    """Write a release, or the report of a refused one; print it, and exit with 1 if it was refused."""
    result.write(folder)
    if as_json:
        print_json(result.to_json(folder))
    else:
        result.show(out, folder, explain)
    if isinstance(result, Draft):
        raise typer.Exit(1)

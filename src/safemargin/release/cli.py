"""The commands about releases: arguments, one call, and what is printed."""

from pathlib import Path
from typing import Annotated, Any

import typer

from safemargin.core import InputError, Progress, RefusedError, Target
from safemargin.io import axes, check_folder, stale_drafts
from safemargin.release.draft import Draft
from safemargin.release.ledger.ledger import ledger as run_ledger
from safemargin.release.project import Project, schema as run_schema
from safemargin.release.release import Release, demo as run_demo, release as run_release
from safemargin.ui import (
    Beta,
    Json,
    Kappa,
    Master,
    Page,
    Rolls,
    Tau,
    check_page,
    note,
    out,
    override_target,
    print_json,
    print_result,
    progress_bar,
)


def release(
    data: Annotated[Path, typer.Argument(help="Project file (TOML); or a data file, with --answer and --by.")],
    folder: Annotated[Path, typer.Option("--out", help="New folder for tables, certificate and report.")],
    answer: Annotated[str | None, typer.Option(help="Column with the answers, for a data file.")] = None,
    answers: Annotated[
        str | None, typer.Option(help='Columns of several questions, e.g. q1,q2 or a pattern such as "q*".')
    ] = None,
    by: Annotated[str | None, typer.Option(help="Columns to count by, e.g. district,age.")] = None,
    roll: Rolls = None,
    beta: Beta = None,
    kappa: Kappa = None,
    tau: Tau = None,
    protect: Annotated[
        str | None, typer.Option(help="How near-unanimous groups are protected: auto, merge, noise or suppress.")
    ] = None,
    tables: Annotated[
        list[str] | None,
        typer.Option(help="Axes to cross in one more table, e.g. district,age; repeatable. In a project: [tables]."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the release.")] = None,
    engine: Annotated[str | None, typer.Option(help="What counts the rows: duckdb (default) or spark.")] = None,
    master: Master = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show whom omitted tables would expose.")] = False,
    draft: Annotated[
        bool, typer.Option("--draft", help="Write the confidential report only; publish nothing.")
    ] = False,
    alternatives: Annotated[
        bool, typer.Option("--alternatives", help="Compute all other protections and limits, however long it takes.")
    ] = False,
    decided_by: Annotated[str | None, typer.Option(help="Name for the decision record.")] = None,
    checked_by: Annotated[str | None, typer.Option(help="Second name for the decision record.")] = None,
    as_json: Json = False,
) -> None:
    """Decide what may be published, prove it, attack it and write it; nothing is published unless it is safe.

    Example: safemargin release project.toml --out release
    """
    check_folder(folder)
    stated = Project.load(data).target if data.suffix == ".toml" else Target()
    aim = None if (beta, kappa, tau) == (None, None, None) else override_target(stated, beta, kappa, tau)
    with progress_bar("starting") as progress:
        result = _attempt(
            data,
            progress,
            answer=answer,
            answers=answers if answers is None or set(answers) & set("*?[") else axes(answers),
            by=axes(by),
            roll=roll,
            target=aim,
            protect=protect,
            tables={"margins": [axes(names) for names in tables]} if tables else None,
            title=title,
            engine=engine,
            master=master,
            alternatives=alternatives,
        )
        if isinstance(result, Release) and not draft:
            result.write(folder, (decided_by or "", checked_by or ""))
        else:
            result = result.draft if isinstance(result, Release) else result
            result.write(folder)
    _print(result, folder, as_json, explain)


def demo(
    folder: Annotated[Path | None, typer.Argument(help="The same as --out.")] = None,
    out_folder: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for the city, its release and the report; demo if none is given."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a synthetic city of 500,000 voters, release it, and leave everything in a folder.

    Example: safemargin demo --out city
    """
    if folder is not None and out_folder is not None:
        raise InputError(f"--out {out_folder}: the folder is given twice, also as {folder}; give one")
    folder = folder or out_folder or Path("demo")
    with progress_bar("building the city") as progress:
        result = run_demo(folder, progress=progress)
    _print(result, folder / "release", as_json)


def _attempt(data: Path, progress: Progress, **overrides: Any) -> Release | Draft:
    """The release, or the draft that was refused."""
    try:
        return run_release(data, progress=progress, **overrides)
    except RefusedError as error:
        if not isinstance(error.draft, Draft):
            raise
        return error.draft


def _print(result: Release | Draft, folder: Path, as_json: bool, explain: bool = False) -> None:
    """Print what was written to a folder; exit with 1 if it was refused, or if the total alone exposes everybody."""
    if as_json:
        print_json(result.to_json(folder))
    else:
        result.show(out, folder, explain)
    draft = result if isinstance(result, Draft) else result.draft
    if not draft.preview or draft.total_exposes:
        raise typer.Exit(1)


def ledger(
    file: Annotated[Path, typer.Argument(help="Ledger (SQLite) that a project names.")],
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove drafts that killed runs left beside the ledger, and list them.")
    ] = False,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """List what was published about which population, and how much of the budget is used.

    Example: safemargin ledger ledger.sqlite
    """
    check_page(page)
    left = stale_drafts(file.resolve().parent) if clean else []
    result = run_ledger(file)  # settles what was interrupted, so no draft is waited for, and removes them
    for draft in left:
        note(f"{draft}: cannot be removed" if draft.exists() else f"removed {draft}")
    print_result(result, as_json, page)


def schema(as_json: Json = False) -> None:
    """Print the JSON Schema of project files, for editors and other programs.

    Example: safemargin schema > project.schema.json
    """
    print_json(run_schema())

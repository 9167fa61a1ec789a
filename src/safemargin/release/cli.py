"""The commands about releases: arguments, one call, and what is printed."""

from pathlib import Path
from typing import Annotated, Any

import typer

from safemargin.core import InputError, Progress, RefusedError, Target
from safemargin.io import axes, check_folder, stale_drafts
from safemargin.release.compare.compare import DRAWS, EPSILONS, THRESHOLD
from safemargin.release.compare.compare import compare as run_compare
from safemargin.release.draft import Draft
from safemargin.release.forecast import forecast as run_forecast
from safemargin.release.growth import growth as run_growth
from safemargin.release.init import init as run_init
from safemargin.release.ledger.ledger import ledger as run_ledger
from safemargin.release.lock import lock as run_lock
from safemargin.release.project import Project
from safemargin.release.project import schema as run_schema
from safemargin.release.release import Release
from safemargin.release.release import demo as run_demo
from safemargin.release.release import release as run_release
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


def _attempt(data: Path, progress: Progress, **said: Any) -> Release | Draft:
    """The release, or the draft that was refused."""
    try:
        return run_release(data, progress=progress, **said)
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


def compare(
    project: Annotated[Path, typer.Argument(help="Project file (TOML).")],
    epsilon: Annotated[
        list[float] | None, typer.Option(help="Loss of global differential privacy; repeatable. Default: 0.1, 1, 10.")
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
    """Measure ways to publish on your own data: global DP, suppression, coarsening, cell keys, and safemargin.

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


def init(
    data: Annotated[Path, typer.Argument(help="CSV, Parquet, JSON lines, SQLite, PX, Excel, SPSS or Stata file.")],
    out_file: Annotated[
        Path | None, typer.Option("--out", help="Project file to write. Default: project.toml in the current folder.")
    ] = None,
    answer: Annotated[str | None, typer.Option(help="Column with the answer.")] = None,
    answers: Annotated[
        str | None, typer.Option(help="Columns of several questions, e.g. q1,q2 or a pattern such as 'q*'.")
    ] = None,
    count: Annotated[str | None, typer.Option(help="Column with the number of people a row stands for.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of a CSV file that is not UTF-8, e.g. cp1252.")] = None,
    as_json: Json = False,
) -> None:
    """Look at the columns of a data file and write a commented project file to edit.

    Example: safemargin init voters.csv --answer vote
    """
    proposal = run_init(data, answer=answer, answers=answers, count=count, encoding=encoding)
    path = proposal.write(out_file)
    if as_json:
        print_json({**proposal.to_json(), "project": str(path)})
    else:
        first = "Answer the QUESTION in it" if "# QUESTION:" in proposal.text else "Read it, edit it"
        out.print(f"{path} written. {first}, then: safemargin release {path} --out release", soft_wrap=True)


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

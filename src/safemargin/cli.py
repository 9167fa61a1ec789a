"""The command line: parse, call one library function, print."""

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from safemargin.audit import audit as run_audit
from safemargin.bounds import bound as run_bound
from safemargin.bounds.proof import certificate as run_proof
from safemargin.bounds.system import measured_slack
from safemargin.demo import write_city
from safemargin.errors import InputError, OutputError, SafemarginError
from safemargin.model.certificate import Source
from safemargin.model.onlooker import Onlooker
from safemargin.model.published import PublishedTable
from safemargin.model.release import Release
from safemargin.model.target import Target
from safemargin.pipeline import Outcome, onlookers_of, run
from safemargin.project import Project, project_schema
from safemargin.publish import check_folder
from safemargin.report import (
    exposure_document,
    findings_document,
    show_exposure,
    show_findings,
    show_release,
)
from safemargin.report.export import cells_csv
from safemargin.report.ranking import SORTS
from safemargin.tabulate import tabulate
from safemargin.tabulate.propose import propose_project
from safemargin.tabulate.tidy import read_tidy
from safemargin.verify import source_of
from safemargin.verify import verify as run_verify
from safemargin.verify.manifest import read_manifest

app = typer.Typer(
    help="Publish group counts exactly where that is provably safe, protected where it is not.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
out = Console(highlight=False)
notes = Console(stderr=True, highlight=False)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
Beta = Annotated[float | None, typer.Option(help="No share forced outside [beta, 1 - beta].")]
Kappa = Annotated[int | None, typer.Option(help="Nobody among fewer than this in a published group.")]
Tau = Annotated[int | None, typer.Option(help="No count known to within this many.")]
Rolls = Annotated[list[Path] | None, typer.Option("--roll", help="Tidy file of people, joint or by axis; repeatable.")]
Facts = Annotated[list[Path] | None, typer.Option("--fact", help="Tidy file of auxiliary facts; repeatable.")]
Axes = Annotated[str | None, typer.Option("--target", help="Bound the cells of these axes, e.g. religion,age.")]
Count = Annotated[str, typer.Option("--count", help="Column that holds the counts.")]
Option = Annotated[str, typer.Option("--option", help="Column that holds the answers.")]
By = Annotated[str | None, typer.Option("--by", help="Columns that are axes, e.g. county,mode; others are ignored.")]
Skip = Annotated[list[str] | None, typer.Option("--skip", help="Leave out rows, e.g. votes=-1; repeatable.")]
Deciding = Annotated[
    bool,
    typer.Option("--decide", help="Only decide which cells are known to within tau: quick, intervals may be wide."),
]
Tolerance = Annotated[float, typer.Option(help="How far totals may be apart, as a share of all.")]


def main() -> None:
    """Run the command; an error of ours is one line and exit code 2."""
    warnings.simplefilter("always")
    warnings.showwarning = _note_warning
    try:
        app(prog_name="safemargin")
    except SafemarginError as error:
        _note(str(error))
        sys.exit(2)


def _note_warning(message: Warning | str, *_: object, **__: object) -> None:
    _note(f"warning: {message}")


def _note(words: str) -> None:
    """One line on standard error, whatever a name in it holds."""
    print(f"safemargin: {' '.join(words.splitlines())}", file=sys.stderr)


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(installed_version("safemargin"))
        raise typer.Exit


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="Where to put the city, its release and the report.")] = Path("demo"),
    as_json: Json = False,
) -> None:
    """Write a synthetic city of 500,000 voters, release it, and leave everything in a folder.

    Example: safemargin demo city
    """
    check_folder(folder)
    with notes.status("building the city"):
        project = write_city(folder)
    _finish_release(project, folder / "release", as_json)


@app.command()
def init(
    data: Annotated[Path, typer.Argument(help="CSV, Parquet, JSON lines or SQLite file.")],
    out_file: Annotated[Path | None, typer.Option("--out", help="Project file to write.")] = None,
    as_json: Json = False,
) -> None:
    """Look at the columns of a data file and write a commented project file to edit.

    Example: safemargin init voters.csv
    """
    path = out_file or data.parent / "project.toml"
    if path.exists():
        raise OutputError(f"{path}: exists already; name another with --out")
    if path.parent.resolve() != data.parent.resolve():
        raise InputError(f"{path}: put the project file beside {data.name}, so that its paths stay relative")
    text = propose_project(data)
    _write(path, text)
    if as_json:
        _print_json({"schema": 1, "project": str(path), "text": text})
    else:
        out.print(f"{path} written. Read it, edit it, then: safemargin release {path} --out release", soft_wrap=True)


@app.command()
def release(
    project: Annotated[Path, typer.Argument(help="Project file (TOML).")],
    folder: Annotated[Path, typer.Option("--out", help="New folder for tables, certificate and report.")],
    as_json: Json = False,
) -> None:
    """Tabulate, decide, publish, audit and report; nothing is published unless the certificate holds.

    Example: safemargin release project.toml --out release
    """
    _finish_release(project, folder, as_json)


def _finish_release(project: Path, folder: Path, as_json: bool) -> None:
    with notes.status("starting") as status:
        outcome: Outcome = run(Project.load(project), folder, lambda words: status.update(words))
    if as_json:
        _print_json(outcome.document)
    else:
        show_release(out, outcome.plan, outcome.release, outcome.findings, folder)
    if not outcome.is_safe:
        raise typer.Exit(1)


@app.command()
def bound(
    files: Annotated[list[Path], typer.Argument(help="One project file (.toml), or tidy tables.")],
    roll: Rolls = None,
    fact: Facts = None,
    target: Axes = None,
    beta: Beta = None,
    kappa: Kappa = None,
    tau: Tau = None,
    count: Count = "count",
    option: Option = "option",
    by: By = None,
    skip: Skip = None,
    tolerance: Tolerance = 0.0,
    decide: Deciding = False,
    sort: Annotated[str, typer.Option(help="verdict, width, people or cell.")] = "verdict",
    limit: Annotated[int, typer.Option(help="How many cells to print.")] = 30,
    export: Annotated[Path | None, typer.Option(help="Also write all cells to this CSV file.")] = None,
    as_json: Json = False,
) -> None:
    """Interval, shares, width, t and verdict of every cell, if every axis were published exactly.

    Example: safemargin bound project.toml --target religion,age
    """
    wanted = _axes(target)
    if sort not in SORTS:
        raise InputError(f"--sort {sort!r}: must be one of {', '.join(SORTS)}")
    if files[0].suffix == ".toml":
        _check_alone(files, {"--roll": roll, "--fact": fact, "--by": by, "--skip": skip})
        project = Project.load(files[0])
        aim = _target(project.target, beta, kappa, tau)
        table = tabulate(project)
        with _progress("bounding") as progress:
            exposure = run_bound(
                table,
                onlookers_of(project, table)[0],
                target=wanted,
                enough=aim.tau if decide else None,
                progress=progress,
            )
    else:
        aim = _target(Target(), beta, kappa, tau)
        tables = _tables(files, count, option, by, skip)
        onlooker = Onlooker("public", _tables(roll or [], "people", option), _tables(fact or [], count, option))
        slack = measured_slack(tables, _share(tolerance))
        with _progress("bounding") as progress:
            exposure = run_bound(
                tables, onlooker, target=wanted, slack=slack, enough=aim.tau if decide else None, progress=progress
            )
    if export is not None:
        _write(export, cells_csv(exposure, aim))
    if as_json:
        _print_json(exposure_document(exposure, aim))
    else:
        show_exposure(out, exposure, aim, limit=limit, sort=sort)
    if exposure.tallied(aim)["disclosed"]:
        raise typer.Exit(1)


@app.command()
def audit(
    files: Annotated[list[Path], typer.Argument(help="Published tables (tidy CSV or Parquet).")],
    roll: Rolls = None,
    fact: Facts = None,
    target: Axes = None,
    beta: Beta = None,
    kappa: Kappa = None,
    tau: Tau = None,
    count: Count = "count",
    option: Option = "option",
    by: By = None,
    skip: Skip = None,
    tolerance: Tolerance = 0.0,
    decide: Deciding = False,
    manifest: Annotated[
        Path | None, typer.Option(help="Manifest of a release: its target, and its rule is known.")
    ] = None,
    export: Annotated[Path | None, typer.Option(help="Also write all cells to this CSV file.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="Also prove every interval in this JSON file.")] = None,
    as_json: Json = False,
) -> None:
    """Attack tables that somebody published, ours or not.

    Example: safemargin audit published/*.csv --roll roll.csv
    """
    if decide and certificate is not None:
        raise InputError("--certificate proves every interval, --decide leaves most of them unknown: give one of them")
    stated, rule = (Target(), "") if manifest is None else read_manifest(manifest)
    aim = _target(stated, beta, kappa, tau)
    tables = _tables(files, count, option, by, skip)
    onlooker = Onlooker("public", _tables(roll or [], "people", option), _tables(fact or [], count, option), bool(rule))
    slack = measured_slack(tables, _share(tolerance))
    with _progress("attacking") as progress:
        findings = run_audit(
            Release(tables, aim, rule=rule),
            onlooker,
            target=_axes(target),
            slack=slack,
            sharp=True,
            enough=aim.tau if decide else None,
            progress=progress,
        )
    if export is not None:
        _write(export, cells_csv(findings.exposure, aim))
    if certificate is not None:
        sources = _sources(files, "table", count, option, by, skip)
        sources += _sources(roll, "roll", "people", option) + _sources(fact, "fact", count, option)
        with _progress("proving") as progress:
            proofs = run_proof(tables, onlooker, findings.exposure, sources, slack=slack, target=aim, progress=progress)
        _write(certificate, json.dumps(proofs.document(), ensure_ascii=False) + "\n")
    if as_json:
        _print_json(findings_document(findings))
    else:
        show_findings(out, findings)
    if not findings.is_safe:
        raise typer.Exit(1)


@app.command()
def verify(
    certificate: Annotated[Path, typer.Argument(help="Certificate (JSON) of an audit or of a release.")],
    files: Annotated[list[Path], typer.Argument(help="The tables it speaks about, or a folder that holds them.")],
    roll: Rolls = None,
    fact: Facts = None,
    as_json: Json = False,
) -> None:
    """Check a certificate by addition: no solver, no search, whole numbers only.

    Example: safemargin verify certificate.json published --roll roll.csv
    """
    found = run_verify(certificate, files, roll or [], fact or [], read=_read_source)
    if as_json:
        _print_json(found.document())
    else:
        for line in found.lines():
            out.print(line, soft_wrap=True, markup=False)
    if not found.holds:
        raise typer.Exit(1)


@app.command()
def schema(as_json: Json = False) -> None:
    """Print the JSON Schema of project files, for editors and other programs.

    Example: safemargin schema > project.schema.json
    """
    _print_json(project_schema())


def _tables(
    files: list[Path], count: str, option: str, by: str | None = None, skip: list[str] | None = None
) -> tuple[PublishedTable, ...]:
    rules = _rules(skip)
    return tuple(read_tidy(file, count=count, option=option, axes=_axes(by), skip=rules) for file in files)


def _sources(
    files: list[Path] | None, role: str, count: str, option: str, by: str | None = None, skip: list[str] | None = None
) -> list[Source]:
    reading = {"count": count, "option": option, "by": _axes(by), "skip": _rules(skip)}
    return [source_of(file, role, **reading) for file in files or []]


def _read_source(path: Path, source: Source) -> PublishedTable:
    return read_tidy(path, count=source.count, option=source.option, axes=source.by, skip=source.skip)


def _rules(skip: list[str] | None) -> tuple[tuple[str, str], ...]:
    for rule in skip or []:
        if "=" not in rule:
            raise InputError(f"--skip {rule!r}: say which value of the column, as in {rule}=-1")
    return tuple((column, value) for column, _, value in (rule.partition("=") for rule in skip or []))


def _check_alone(files: list[Path], others: dict[str, object]) -> None:
    """A project file says all of it: what it would not use is refused."""
    if len(files) > 1:
        raise InputError(f"{files[0]}: is a project, which names its files itself; leave out {files[1]}")
    for name, value in others.items():
        if value:
            raise InputError(f"{files[0]}: is a project, which says all of it; leave out {name}")


def _share(tolerance: float) -> float:
    if not 0 <= tolerance < 1:
        raise InputError(f"--tolerance = {tolerance}: must be at least 0 and below 1")
    return tolerance


def _axes(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def _target(stated: Target, beta: float | None, kappa: int | None, tau: int | None) -> Target:
    return Target(
        stated.beta if beta is None else beta,
        stated.kappa if kappa is None else kappa,
        stated.tau if tau is None else tau,
        stated.epsilon_max,
    )


def _print_json(document: dict[str, object]) -> None:
    json.dump(document, sys.stdout, ensure_ascii=False)
    sys.stdout.write("\n")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from error


@contextmanager
def _progress(words: str) -> Iterator[Callable[[int, int], None]]:
    """A bar with the time left, on standard error, gone when done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as bar:
        task = bar.add_task(words, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


if __name__ == "__main__":
    main()

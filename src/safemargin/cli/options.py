"""Options that several commands share, and what they stand for."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from safemargin.errors import InputError
from safemargin.ledger import compare
from safemargin.model.certificate import Source
from safemargin.model.onlooker import Onlooker
from safemargin.model.published import PublishedTable
from safemargin.model.target import Target
from safemargin.tabulate.facts import check_facts
from safemargin.tabulate.published import read_published
from safemargin.tabulate.tidy import read_tidy
from safemargin.verify import source_of

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
Remembered = Annotated[
    list[Path] | None, typer.Option("--earlier", help="Earlier tables, or the folder they are in; repeatable.")
]
EarlierRolls = Annotated[
    list[Path] | None, typer.Option("--earlier-roll", help="Tidy file of people then; repeatable.")
]
Hierarchy = Annotated[
    list[str] | None, typer.Option("--hierarchy", help="Hierarchy of an axis, e.g. region=region.hrc; repeatable.")
]
Deciding = Annotated[
    bool,
    typer.Option("--decide", help="Only decide which cells are known to within tau: quick, intervals may be wide."),
]
Tolerance = Annotated[float, typer.Option(help="How far totals may be apart, as a share of all.")]


def read_tables(
    files: list[Path],
    count: str,
    option: str,
    by: str | None = None,
    skip: list[str] | None = None,
    hierarchy: list[str] | None = None,
) -> tuple[PublishedTable, ...]:
    """The published tables in `files`."""
    return read_published(
        files, count=count, option=option, axes=axes(by), skip=_rules(skip), hierarchies=hierarchies(hierarchy)
    )


def hierarchies(texts: list[str] | None) -> dict[str, list[Path]]:
    """Files with hierarchies by axis, from `axis=file.hrc`."""
    found: dict[str, list[Path]] = {}
    for text in texts or []:
        name, sign, file = text.partition("=")
        if not (name and sign and file):
            raise InputError(f"--hierarchy {text!r}: say which axis and which file, as in region=region.hrc")
        found.setdefault(name, []).append(Path(file))
    return found


def public(
    tables: tuple[PublishedTable, ...],
    roll: list[Path] | None,
    fact: list[Path] | None,
    count: str,
    option: str,
    knows_rule: bool = False,
) -> Onlooker:
    """Who sees the tables and knows what these files say."""
    rolls, facts = read_tables(roll or [], "people", option), read_tables(fact or [], count, option)
    check_facts(facts, (*tables, *rolls), option)
    return Onlooker("public", rolls, facts, knows_rule)


def remembering(
    onlooker: Onlooker, earlier: list[Path] | None, rolls: list[Path] | None, count: str, option: str
) -> Onlooker:
    """The onlooker with the earlier tables in mind."""
    if not earlier:
        if rolls:
            raise InputError("--earlier-roll: name the tables published then with --earlier")
        return onlooker
    if not rolls or not onlooker.roll:
        raise InputError("--earlier: give --roll and --earlier-roll, so that those who came and went are known")
    files = [file for path in earlier for file in (_tables_in(path) if path.is_dir() else [path])]
    folder = earlier[0].resolve()
    folder = folder.parent if folder.name == "published" else folder
    cycle = folder.name if len(earlier) == 1 and earlier[0].is_dir() else "the earlier tables"
    before = read_tables(rolls, "people", option)
    past = compare(read_tables(files, count, option), cycle, before, onlooker.roll)
    return replace(onlooker, past=past)


def _tables_in(folder: Path) -> list[Path]:
    for ending in ("csv", "parquet"):
        if found := sorted(folder.glob(f"*.{ending}")):
            return found
    raise InputError(f"{folder}: holds no table (CSV or Parquet)")


def sources_of(
    files: list[Path] | None, role: str, count: str, option: str, by: str | None = None, skip: list[str] | None = None
) -> list[Source]:
    """How `files` are read, for a certificate."""
    reading = {"count": count, "option": option, "by": axes(by), "skip": _rules(skip)}
    return [source_of(file, role, **reading) for file in files or []]


def read_source(path: Path, source: Source) -> PublishedTable:
    """A file that a certificate speaks about, as it says."""
    return read_tidy(path, count=source.count, option=source.option, axes=source.by, skip=source.skip)


def _rules(skip: list[str] | None) -> tuple[tuple[str, str], ...]:
    for rule in skip or []:
        if "=" not in rule:
            raise InputError(f"--skip {rule!r}: say which value of the column, as in {rule}=-1")
    return tuple((column, value) for column, _, value in (rule.partition("=") for rule in skip or []))


def project_in(files: list[Path], others: dict[str, object]) -> Path | None:
    """The project file, if one is given. It says all of it: what it would not use is refused."""
    project = next((file for file in files if file.suffix == ".toml"), None)
    if project is None:
        return None
    if len(files) > 1:
        other = next((file for file in files if file != project), project)
        raise InputError(f"{project}: is a project, which stands alone and names its files itself; leave out {other}")
    for name, value in others.items():
        if value:
            raise InputError(f"{project}: is a project, which says all of it; leave out {name}")
    return project


def share(tolerance: float) -> float:
    """A tolerance that makes sense."""
    if not 0 <= tolerance < 1:
        raise InputError(f"--tolerance = {tolerance}: must be at least 0 and below 1")
    return tolerance


def axes(text: str | None) -> tuple[str, ...] | None:
    """Names of axes between commas."""
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def aimed(stated: Target, beta: float | None, kappa: int | None, tau: int | None) -> Target:
    """The stated target, with what the options say instead."""
    return Target(
        stated.beta if beta is None else beta,
        stated.kappa if kappa is None else kappa,
        stated.tau if tau is None else tau,
        stated.epsilon_max,
    )

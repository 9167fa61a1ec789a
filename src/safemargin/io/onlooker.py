"""Onlookers from files: tables, rolls, facts and earlier tables."""

from dataclasses import replace
from pathlib import Path

from safemargin.core import InputError, Onlooker, PublishedTable, recall
from safemargin.io.facts import check_facts
from safemargin.io.tables import read_published


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
        files, count=count, option=option, axes=axes(by), skip=skip_rules(skip), hierarchies=hierarchies(hierarchy)
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
    past = recall(read_tables(files, count, option), cycle, before, onlooker.roll)
    return replace(onlooker, past=past)


def _tables_in(folder: Path) -> list[Path]:
    for ending in ("csv", "parquet"):
        if found := sorted(folder.glob(f"*.{ending}")):
            return found
    raise InputError(f"{folder}: holds no table (CSV or Parquet)")


def skip_rules(skip: list[str] | None) -> tuple[tuple[str, str], ...]:
    for rule in skip or []:
        if "=" not in rule:
            raise InputError(f"--skip {rule!r}: say which value of the column, as in {rule}=-1")
    return tuple((column, value) for column, _, value in (rule.partition("=") for rule in skip or []))


def axes(text: str | None) -> tuple[str, ...] | None:
    """Names of axes between commas."""
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())

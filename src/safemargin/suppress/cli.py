"""The command that suppresses cells of frequency tables."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError, Progress, RefusedError
from safemargin.io import axes, check_folder, hierarchies, write_folder
from safemargin.suppress.frequency import read_linked
from safemargin.suppress.pattern import Pattern
from safemargin.suppress.report import pattern_csv, pattern_document, show_pattern, warnings_of
from safemargin.suppress.suppress import SECONDS
from safemargin.suppress.suppress import suppress as run_suppress
from safemargin.ui import By, Hierarchy, Json, note, notes, out, print_json, unused_folder

PATTERN, CERTIFICATE = "pattern.csv", "inside/certificate.json"


def suppress(
    tables: Annotated[
        list[Path], typer.Argument(help="Tidy counts (CSV or Parquet); several tables must be about the same people.")
    ],
    primary: Annotated[str, typer.Option(help="Counts to protect, e.g. 1-3.")] = "1-3",
    hierarchy: Hierarchy = None,
    protect: Annotated[
        int | None, typer.Option(help="No primary count may be known to be less than this, e.g. 4.")
    ] = None,
    tau: Annotated[int, typer.Option(help="No suppressed count known to within this many.")] = 0,
    insiders: Annotated[
        int, typer.Option(help="So many members together, who know their own cells, cannot tell other counts.")
    ] = 0,
    published: Annotated[
        list[Path] | None, typer.Option(help="A table about the same people that is out already; repeatable.")
    ] = None,
    extra: Annotated[
        int | None,
        typer.Option(help="Cells to spend beyond the fewest, so that fewer primary counts are known to be primary."),
    ] = None,
    count: Annotated[str | None, typer.Option("--count", help="Column that holds the counts.")] = None,
    by: By = None,
    seconds: Annotated[float, typer.Option(help="How long to look for fewer cells.")] = SECONDS,
    folder: Annotated[
        Path | None, typer.Option("--out", help="New folder for the pattern and its certificate.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Suppress small counts of tables and as few others as possible, so that none can be told from the rest.

    Example: safemargin suppress table.csv --primary 1-3 --hierarchy region=region.hrc

    Several: safemargin suppress region-age.csv region-sex.csv --published last-month.csv
    """
    if folder is not None:
        check_folder(folder)
    earlier = published or []
    names = _names(tables, earlier)
    counts = read_linked(tables, hierarchies(hierarchy), earlier=earlier, count=count, axes=axes(by))
    with _searching() as progress:
        pattern = run_suppress(
            counts,
            _range(primary),
            protect=protect,
            tau=tau,
            insiders=insiders,
            extra=extra,
            seconds=seconds,
            progress=progress,
        )
    for line in warnings_of(pattern):
        note(f"warning: {line}")
    folder = folder or unused_folder(Path(f"{tables[0].name.split('.')[0]}-suppressed"))
    _write(folder, pattern, names, earlier)
    if as_json:
        print_json(pattern_document(pattern, str(folder / CERTIFICATE)))
    else:
        show_pattern(out, pattern, str(folder))


@contextmanager
def _searching() -> Iterator[Progress]:
    """Shows how far the search is; a refusal is told and ends the command."""
    with notes.status("suppressing") as status:
        try:
            yield lambda step, done=0, total=None: status.update(step)
        except RefusedError as error:
            note(str(error))
            raise typer.Exit(1) from None


def _write(folder: Path, pattern: Pattern, names: list[str], earlier: list[Path]) -> None:
    """The tables with their gaps, and the certificate, which names these files and those that are out by their hash."""
    texts = {name: pattern_csv(pattern, at).encode() for at, name in enumerate(names)}
    contents = texts | {path.name: path.read_bytes() for path in earlier}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    proof = pattern.certificate(hashes)
    write_folder(folder, {**texts, CERTIFICATE: (json.dumps(proof, ensure_ascii=False) + "\n").encode()})


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    try:
        return int(first), int(last or first)
    except ValueError:
        raise InputError(f"--primary {text!r}: say the smallest and the largest count, as in 1-3") from None


def _names(tables: list[Path], earlier: list[Path]) -> list[str]:
    """What the files with gaps are called: no two alike, and none like one that is out."""
    stems = [path.name.split(".")[0] for path in tables]
    names = [PATTERN] if len(tables) == 1 else [f"{stem}.csv" for stem in stems]
    taken = {path.name for path in earlier}
    if taken & set(names):
        names = [f"{stem}-{PATTERN}" for stem in stems]
    if len({*names, *taken}) < len(names) + len(taken):
        raise InputError(f"{', '.join(map(str, (*tables, *earlier)))}: files of the same name; rename one")
    return names

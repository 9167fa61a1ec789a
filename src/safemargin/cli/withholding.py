"""The command that withholds cells of one frequency table."""

import hashlib
import json
from pathlib import Path
from typing import Annotated

import typer

from safemargin.cli.options import By, Hierarchy, axes, hierarchies
from safemargin.cli.terminal import Json, free_folder, note, notes, out, print_json
from safemargin.decide.withhold import SECONDS
from safemargin.decide.withhold import withhold as run_withhold
from safemargin.errors import InputError, RefusedError
from safemargin.publish import check_folder, write_folder
from safemargin.report.pattern import pattern_csv, pattern_document, show_pattern
from safemargin.tabulate.frequency import read_frequencies

PATTERN, CERTIFICATE = "pattern.csv", "inside/certificate.json"


def withhold(
    table: Annotated[Path, typer.Argument(help="Tidy counts of one table (CSV or Parquet).")],
    primary: Annotated[str, typer.Option(help="Counts to protect, e.g. 1-3.")] = "1-3",
    hierarchy: Hierarchy = None,
    protect: Annotated[
        int | None, typer.Option(help="No primary count may be known to be less than this, e.g. 4.")
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
    """Withhold small counts of one table and as few others as possible, so that none can be told from the rest.

    Example: safemargin withhold table.csv --primary 1-3 --hierarchy region=region.hrc
    """
    if folder is not None:
        check_folder(folder)
    counts = read_frequencies(table, hierarchies(hierarchy), count=count, axes=axes(by))
    with notes.status("withholding") as status:
        try:
            pattern = run_withhold(
                counts,
                _range(primary),
                protect=protect,
                extra=extra,
                seconds=seconds,
                progress=lambda least, size: status.update(f"withholding: {size:,} cells, at least {least:,} needed"),
            )
        except RefusedError as error:
            note(str(error))
            raise typer.Exit(1) from None
    folder = folder or free_folder(Path(f"{table.name.split('.')[0]}-withheld"))
    text = pattern_csv(pattern).encode()
    proof = pattern.certificate(PATTERN, hashlib.sha256(text).hexdigest())
    write_folder(folder, {PATTERN: text, CERTIFICATE: (json.dumps(proof, ensure_ascii=False) + "\n").encode()})
    if as_json:
        print_json(pattern_document(pattern, str(folder / PATTERN), str(folder / CERTIFICATE)))
    else:
        show_pattern(out, pattern, str(folder))


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    try:
        return int(first), int(last or first)
    except ValueError:
        raise InputError(f"--primary {text!r}: say the smallest and the largest count, as in 1-3") from None

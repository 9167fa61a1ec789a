"""The command `suppress`."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError
from safemargin.io import axes, check_folder, hierarchies, whole_number
from safemargin.suppress.report import CERTIFICATE
from safemargin.suppress.suppress import SECONDS, suppress as run_suppress
from safemargin.ui import (
    By,
    Hierarchy,
    Json,
    Reading,
    call,
    note,
    out,
    print_json,
    progress_bar,
    unused_folder,
)


def suppress(
    tables: Annotated[
        list[Path],
        typer.Argument(help="Tables of counts, or records with --by; several must be about the same people."),
    ],
    primary: Annotated[str, typer.Option(help="Counts to protect, e.g. 1-3.")] = "1-3",
    hierarchy: Hierarchy = None,
    protect: Annotated[
        int | None, typer.Option(help="Every primary count must be possibly this large or larger, e.g. 4.")
    ] = None,
    tau: Annotated[
        int, typer.Option(help="A suppressed count is disclosed if its interval is no wider than this.")
    ] = 0,
    insiders: Annotated[
        int, typer.Option(help="Protect against a coalition of this many respondents who know their own cells.")
    ] = 0,
    published: Annotated[
        list[Path] | None, typer.Option(help="A table about the same people that was published before (repeatable).")
    ] = None,
    extra: Annotated[
        int | None, typer.Option(help="Extra cells to suppress, to hide which suppressions were primary.")
    ] = None,
    count: Annotated[str | None, typer.Option("--count", help="Column that holds the counts.")] = None,
    by: By = None,
    cost: Annotated[
        str | None, typer.Option(help="Column with the cost of suppressing a cell, or people: its count.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="Margin to print where possible: sex, or region=north (repeatable).")
    ] = None,
    seconds: Annotated[float, typer.Option(help="Time limit of the search.")] = SECONDS,
    reading: Reading = None,
    ledger: Annotated[
        Path | None, typer.Option(help="SQLite file that remembers tables about the same people; made if missing.")
    ] = None,
    population: Annotated[str | None, typer.Option(help="With --ledger: whom the tables are about.")] = None,
    cycle: Annotated[str | None, typer.Option(help="With --ledger: what this publication is called.")] = None,
    folder: Annotated[Path | None, typer.Option("--out", help="New folder for published/ and confidential/.")] = None,
    as_json: Json = False,
) -> None:
    """Suppress small counts of tables and as few others as possible, so that none can be inferred from the rest.

    Example: safemargin suppress table.csv --primary 1-3 --hierarchy region=region.hrc

    Records: safemargin suppress people.csv --by region,sex --keep region

    Several: safemargin suppress region-age.csv region-sex.csv --published last-month.csv

    Later: safemargin suppress more.csv --ledger ledger.sqlite --population staff --cycle 2026-b
    """
    if folder is not None:
        check_folder(folder)
    with progress_bar("suppressing") as progress:
        result = call(
            run_suppress,
            locals(),
            primary=_range(primary),
            hierarchy=hierarchies(hierarchy),
            published=published or (),
            by=axes(by),
            keep=keep or (),
        )
    for line in result.warnings():
        note(f"warning: {line}")
    folder = result.write(folder or unused_folder(Path(f"{tables[0].name.split('.')[0]}-suppressed")))
    if as_json:
        print_json({**result.to_json(), "certificate": str(folder / CERTIFICATE)})
    else:
        result.show(out)
        out.print(f"Written to {folder}.", soft_wrap=True)


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    try:
        return whole_number(first), whole_number(last or first)
    except ValueError:
        raise InputError(f"--primary {text[:60]!r}: give the smallest and the largest count, e.g. 1-3") from None

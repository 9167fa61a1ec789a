"""The commands about p-tables and the cell key method."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError, OutputError, write_secret
from safemargin.guarantees.guarantee_file import GUARANTEE_FILE, guarantee_text, read_guarantee
from safemargin.io import axes, check_folder, hierarchies, write_folder
from safemargin.noise.belief_report import beliefs_document, beliefs_page, show_beliefs
from safemargin.noise.keyed_records import Columns
from safemargin.noise.perturb import perturb as run_perturb
from safemargin.noise.posterior import posterior as run_posterior
from safemargin.noise.posterior_sum import posterior_of_sum
from safemargin.noise.priors import read_counts, read_prior
from safemargin.noise.ptable_file import ons_text, ptable_text, read_ptable
from safemargin.noise.ptable_report import (
    perturbed_csv,
    perturbed_document,
    ptable_document,
    show_perturbed,
    show_ptable,
)
from safemargin.samplers.ptable import KeyTable, PTable, key_table
from safemargin.samplers.ptable_design import Missed, fallen_short, reference_ptable, request, without_js
from safemargin.samplers.ptable_design import ptable as make_ptable
from safemargin.ui import SCHEMA, By, Hierarchy, Json, note, out, print_json, progress_bar, unused_folder, write_text

Variance = Annotated[str | None, typer.Option("--variance", help="Variance of the noise, e.g. 2.")]
Bound = Annotated[int | None, typer.Option("--bound", help="Largest noise, e.g. 5.")]
Js = Annotated[int, typer.Option("--js", help="No number from 1 to this is printed.")]
Compatible = Annotated[
    bool, typer.Option("--compatible", help="As the R package ptable makes it, also where its variance falls short.")
]
Free = Annotated[
    list[int] | None, typer.Option("--free", help="With --compatible: a count for which mono is off; repeatable.")
]
Given = Annotated[Path | None, typer.Option("--ptable", help="A p-table: R, tau-ARGUS, ONS or parts.")]
Biased = Annotated[bool, typer.Option("--biased", help="Accept a p-table whose noise does not have mean 0.")]


def ptable(
    variance: Variance = None,
    bound: Bound = None,
    js: Js = 0,
    compatible: Compatible = False,
    free: Free = None,
    given: Given = None,
    biased: Biased = False,
    file: Annotated[Path | None, typer.Option("--out", help="Write the table to this file.")] = None,
    form: Annotated[str, typer.Option("--form", help="Of the file: r, tau-argus, ons or parts.")] = "r",
    modulus: Annotated[int, typer.Option("--modulus", help="Keys of the ONS form: 0 to one less.")] = 256,
    as_json: Json = False,
) -> None:
    """Make, read or convert a p-table: how likely each noise is on each count, and what that promises.

    Example: safemargin noise ptable --variance 2 --bound 5 --js 0 --out ptable.csv
    """
    table, missed = _table(variance, bound, js, compatible, free, given, biased)
    laws = table.table if isinstance(table, KeyTable) else table
    if file is not None:
        if form == "ons":
            write_text(file, ons_text(table if isinstance(table, KeyTable) else key_table(table, modulus)))
        else:
            write_text(file, ptable_text(laws, form))
    plain = without_js(laws)
    if as_json:
        print_json(ptable_document(laws, missed, plain))
        for each in missed:
            note(str(each))
    else:
        show_ptable(out, laws, missed, plain)


def perturb(
    records: Annotated[Path, typer.Argument(help="Records, one per row (CSV, Parquet, JSON lines).")],
    by: By = None,
    variance: Variance = None,
    bound: Bound = None,
    js: Js = 0,
    compatible: Compatible = False,
    given: Given = None,
    biased: Biased = False,
    record_key: Annotated[str | None, typer.Option("--record-key", help="Column with record keys.")] = None,
    identity: Annotated[str | None, typer.Option("--id", help="Column with a stable id of each record.")] = None,
    secret: Annotated[
        Path | None, typer.Option("--secret", help="File with the secret that ids are hashed with.")
    ] = None,
    whole: Annotated[int | None, typer.Option("--modulus", help="Record keys are whole numbers below this.")] = None,
    count: Annotated[
        str | None, typer.Option("--count", help="Column with the number of records a row is for.")
    ] = None,
    weight: Annotated[str | None, typer.Option("--weight", help="Column with sampling weights.")] = None,
    hierarchy: Hierarchy = None,
    after: Annotated[
        Path | None, typer.Option("--after", help="The records were swapped with this promise (JSON).")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--out", help="New folder for the table; by default the name of the file with -noised."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Count records with all margins, and add the noise that the people in each cell pick: the cell key method.

    Example: safemargin noise perturb people.csv --by sex,age --id person --secret secret.key --variance 2 --bound 5
    """
    if folder is None and not as_json:
        folder = unused_folder(Path(f"{records.name.split('.')[0]}-noised"))
    if folder is not None:
        check_folder(folder)
    table, missed = _table(variance, bound, js, compatible, None, given, biased)
    for each in missed:
        note(str(each))
    columns = Columns(axes(by) or (), record_key, identity, count, weight)
    before = None if after is None else read_guarantee(after)
    with progress_bar("hashing ids") as progress:
        found = run_perturb(
            records, columns, table, hierarchies(hierarchy), secret=secret, whole=whole, after=before, progress=progress
        )
    files: list[str] = []
    if folder is not None:
        written = {"published/table.csv": perturbed_csv(found), "inside/table.csv": perturbed_csv(found, inside=True)}
        if after is not None:
            written[f"published/{GUARANTEE_FILE}"] = guarantee_text(found.guarantee)
        write_folder(folder, {name: text.encode() for name, text in written.items()})
        files = [str(folder / name) for name in written]
    if as_json:
        print_json(perturbed_document(found, files))
    else:
        show_perturbed(out, found, files)


def posterior(
    table: Annotated[Path | None, typer.Argument(help="A noised table (CSV): only its numbers are looked at.")] = None,
    variance: Variance = None,
    bound: Bound = None,
    js: Js = 0,
    compatible: Compatible = False,
    given: Given = None,
    biased: Biased = False,
    prior: Annotated[
        Path | None, typer.Option("--prior", help="File with count and probability, or a table whose sizes are it.")
    ] = None,
    count: Annotated[str | None, typer.Option("--count", help="Column that holds the counts.")] = None,
    small: Annotated[int, typer.Option("--small", help="Counts from 1 to this are told apart.")] = 3,
    parts: Annotated[
        str | None, typer.Option("--parts", help="Printed numbers of cells that add up, e.g. 4,6.")
    ] = None,
    total: Annotated[int | None, typer.Option("--total", help="With --parts: the printed number of their sum.")] = None,
    independent: Annotated[
        bool,
        typer.Option("--independent", help="With --parts: noise is drawn for every cell, not by keys that add up."),
    ] = False,
    top: Annotated[int | None, typer.Option("--to", help="Largest printed number to look at.")] = None,
    page: Annotated[Path | None, typer.Option("--out", help="Also write a page with a picture (HTML).")] = None,
    as_json: Json = False,
) -> None:
    """Tell what an onlooker who knows the p-table believes about the count behind each printed number.

    Example: safemargin noise posterior --variance 2 --bound 5 --prior sizes.csv --out risk.html
    """
    if page is not None and (page.is_dir() or not page.parent.is_dir()):
        raise OutputError(f"{page}: cannot be written; name a file in a folder that exists")
    made, missed = _table(variance, bound, js, compatible, None, given, biased)
    for each in missed:
        note(str(each))
    laws = made.table if isinstance(made, KeyTable) else made
    sizes = None if prior is None else read_prior(prior, count)
    if parts is None and total is None:
        printed = None if table is None else read_counts(table, count)
        found = run_posterior(laws, sizes, printed, top=top, small=small)
    else:
        found = posterior_of_sum(laws, *_sum(parts, total), sizes, small=small, keyed=not independent)
    if page is not None:
        write_text(page, beliefs_page("What noised counts tell", found))
    if as_json:
        print_json(beliefs_document(found))
    else:
        show_beliefs(out, found)


def key(
    file: Annotated[Path, typer.Argument(help="New file for the secret.")],
    as_json: Json = False,
) -> None:
    """Write a fresh secret for record keys, readable by you alone; keep it as long as tables must agree.

    Example: safemargin noise key secret.key
    """
    write_secret(file)
    if as_json:
        print_json({"schema": SCHEMA, "file": str(file)})
    note(f"{file}: keep it apart from data and tables; who has it and the ids can take the noise off")


def _sum(parts: str | None, total: int | None) -> tuple[list[int], int]:
    if parts is None or total is None:
        raise InputError("--parts and --total go together, as in --parts 4,6 --total 14")
    try:
        numbers = [int(text) for text in parts.split(",")]
    except ValueError:
        numbers = [-1]
    if min(*numbers, total, 0) < 0:
        raise InputError(f"--parts {parts} --total {total}: give whole numbers that are not negative, as in 4,6")
    return numbers, total


def _table(
    variance: str | None,
    bound: int | None,
    js: int,
    compatible: bool,
    free: list[int] | None,
    given: Path | None,
    biased: bool,
) -> tuple[PTable | KeyTable, tuple[Missed, ...]]:
    """The p-table that the options say: read, or made."""
    if given is not None:
        if variance is not None or bound is not None or js or compatible:
            raise InputError(f"--ptable {given}: says all of it; leave out --variance, --bound, --js and --compatible")
        return read_ptable(given, biased=biased), ()
    if variance is None or bound is None:
        raise InputError("say --variance and --bound, e.g. --variance 2 --bound 5, or --ptable FILE")
    wanted = request(bound, variance, js)
    if free and not compatible:
        raise InputError("--free: is an option of --compatible; otherwise no count is held to be monotone")
    if compatible:
        table = reference_ptable(wanted, free or ())
        return table, fallen_short(table, wanted)
    return make_ptable(wanted)

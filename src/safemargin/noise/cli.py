"""The group of commands about noise on counts: arguments and one call each."""

from pathlib import Path
from typing import Annotated

import typer

import safemargin.noise as api
from safemargin import ui
from safemargin.io import axes, check_folder, hierarchies
from safemargin.noise.calculators import CONFIDENCE
from safemargin.noise.calculators_cli import COMMANDS
from safemargin.samplers import Missed, at_least

ProgrammeFile = Annotated[Path, typer.Argument(help="Programme of tables (TOML).")]
Variance = Annotated[str | None, typer.Option("--variance", help="Variance of the noise, e.g. 2.")]
Bound = Annotated[int | None, typer.Option("--bound", help="Largest size of the noise, e.g. 5.")]
Js = Annotated[int, typer.Option("--js", help="No number from 1 to this is printed.")]
Compatible = Annotated[
    bool, typer.Option("--compatible", help="Numbers of the R package ptable, even where its variance falls short.")
]
Given = Annotated[Path | None, typer.Option("--ptable", help="File with a p-table: R, tau-ARGUS, ONS or parts.")]
Biased = Annotated[bool, typer.Option("--biased", help="Accept a p-table whose noise does not have mean 0.")]
Page = Annotated[Path | None, typer.Option("--out", help="Also write a page with charts (HTML).")]


def redundancy(
    programme: ProgrammeFile,
    without_spsn: Annotated[
        bool, typer.Option("--without-spsn", help="The same participants get new noise in every table.")
    ] = False,
    limit: Annotated[int, typer.Option(help="Number of statistics to print.")] = 10,
    as_json: ui.Json = False,
) -> None:
    """Count how often every statistic of a programme is represented, the easiest to average first.

    Example: safemargin noise redundancy programme.toml
    """
    at_least("limit", limit, 0)
    with ui.notes.status("counting"):
        result = api.redundancy(programme, same_noise=not without_spsn, limit=limit)
    ui.print_result(result, as_json)


def plan(
    programme: Annotated[Path | None, typer.Argument(help="Programme of tables (TOML).")] = None,
    confidence: Annotated[float, typer.Option(help="How sure an onlooker may be.")] = CONFIDENCE,
    largest_bound: Annotated[int, typer.Option(help="Largest bound of noise that users accept.")] = 10,
    area_error: Annotated[float, typer.Option(help="Error that no small area may exceed.")] = 20,
    kt2: Annotated[float | None, typer.Option("--kt2", help="Without a programme: smallest k / t^2.")] = None,
    kt2_fresh: Annotated[
        float | None, typer.Option("--kt2-fresh", help="The same with new noise in every table.")
    ] = None,
    tuples: Annotated[int | None, typer.Option(help="Without a programme: counts beside two parts.")] = None,
    areas: Annotated[int | None, typer.Option(help="Without a programme: number of small areas.")] = None,
    page: Page = None,
    as_json: ui.Json = False,
) -> None:
    """Recommend noise for a programme of tables.

    Example: safemargin noise plan programme.toml --out plan.html
    """
    with ui.notes.status("planning"):
        result = ui.call(api.plan, locals())
    ui.print_result(result, as_json, page)


def publish(
    programme: ProgrammeFile,
    records: Annotated[Path, typer.Option(help="People, one row each (CSV or Parquet), a column per level.")],
    folder: Annotated[Path, typer.Option("--out", help="New folder for the tables.")],
    id: Annotated[
        str | None, typer.Option("--id", help="Column that distinguishes people, the same in every release.")
    ] = None,
    secret: Annotated[
        Path | None, typer.Option(help="File of at least 16 random bytes; keep it, and keep it secret.")
    ] = None,
    variance: Annotated[float | None, typer.Option(help="Variance of the noise; otherwise as planned.")] = None,
    bound: Annotated[int | None, typer.Option(help="Largest size of the noise; otherwise as planned.")] = None,
    law: Annotated[
        str, typer.Option(help="Noise by cell keys (keys), or drawn: geometric, laplace or gaussian.")
    ] = "keys",
    epsilon: Annotated[float | None, typer.Option(help="Epsilon of drawn noise on one count.")] = None,
    delta: Annotated[float | None, typer.Option(help="Largest delta of drawn noise on one count, for a bound.")] = None,
    sampler: Annotated[str | None, typer.Option(help="How noise is drawn: inversion or opendp.")] = None,
    as_json: ui.Json = False,
) -> None:
    """Publish a whole programme: with cell keys the same people have the same noise in every table.

    Example: safemargin noise publish programme.toml --records people.csv --id person --secret secret.key --out tables
    """
    check_folder(folder)
    with ui.notes.status("publishing"):
        result = ui.call(api.publish, locals())
        result.write(folder)
    ui.print_result(result, as_json)


def attack(
    files: Annotated[list[Path], typer.Argument(help="Published tables (tidy), noisy rows with the status noised.")],
    variance: Annotated[float | None, typer.Option(help="Variance of the noise; otherwise estimated.")] = None,
    bound: Annotated[int | None, typer.Option(help="Largest size of the noise, if it is known.")] = None,
    before: Annotated[
        list[Path] | None, typer.Option(help="Tables published earlier about almost the same people (repeatable).")
    ] = None,
    target: Annotated[
        list[str] | None, typer.Option(help="Axes of counts to average, e.g. sex,age (repeatable).")
    ] = None,
    truth: Annotated[list[Path] | None, typer.Option(help="True tables, to count right guesses (repeatable).")] = None,
    confidence: Annotated[float, typer.Option(help="How sure an attack must be for a count to be disclosed.")] = 0.95,
    count: ui.Count = "count",
    option: ui.Option = "option",
    by: ui.By = None,
    skip: ui.Skip = None,
    hierarchy: ui.Hierarchy = None,
    limit: Annotated[int, typer.Option(help="Number of counts to print per attack.")] = 10,
    as_json: ui.Json = False,
) -> None:
    """Attack noisy tables: averaging, revealing the bound, exploiting margins, differencing.

    The exit code is 1 if any count is disclosed.

    Example: safemargin noise attack published/*.csv --variance 2
    """
    with ui.notes.status("attacking"):
        targets = None if target is None else [axes(text) or () for text in target]
        result = ui.call(api.attack, locals(), "files", "target", tables=files, before=before or [])
    ui.print_result(result, as_json)
    if result.sure():
        raise typer.Exit(1)


def distort(
    file: Annotated[Path, typer.Argument(help="Areas with their counts, one row each (CSV or Parquet).")],
    count: Annotated[str, typer.Option(help="Column with the total of an area.")] = "count",
    parts: Annotated[str | None, typer.Option(help="Columns that add up to it, e.g. F,M.")] = None,
    halves: Annotated[
        bool, typer.Option("--halves", help="Without --parts: draw two parts of equal chance, as by sex.")
    ] = False,
    printed: Annotated[
        str | None, typer.Option(help="Columns with the printed counts, parts first; otherwise noise is drawn.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Columns that name an area, e.g. country,name.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Epsilon of two-sided geometric noise.")] = None,
    variance: Annotated[float | None, typer.Option(help="Variance of bounded noise, with --bound.")] = None,
    bound: Annotated[int | None, typer.Option(help="Bound of the noise, with --variance.")] = None,
    below: Annotated[int, typer.Option(help="Largest size that is studied.")] = 500,
    width: Annotated[int, typer.Option(help="Width of a size class.")] = 20,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 1,
    page: Page = None,
    as_json: ui.Json = False,
) -> None:
    """Measure how noise distorts small areas by size, and which of them vanish or become negative.

    Example: safemargin noise distort areas.csv --count population --name name --epsilon 0.1
    """
    with ui.notes.status("distorting"):
        columns = {"parts": axes(parts) or (), "printed": axes(printed) or (), "name": axes(name) or ()}
        result = ui.call(api.distort, locals(), "file", "columns", areas=file, **columns)
    ui.print_result(result, as_json, page)


def independence(
    table: Annotated[Path, typer.Argument(help="A noised table (tidy) of two or more axes.")],
    by: ui.By = None,
    variance: Annotated[float | None, typer.Option(help="Variance of bounded noise, with --bound.")] = None,
    bound: Annotated[int | None, typer.Option(help="Largest size of the noise.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Epsilon of two-sided geometric noise.")] = None,
    samples: Annotated[int, typer.Option(help="Number of simulated tables.")] = 2000,
    seed: Annotated[int, typer.Option(help="Random seed of the simulation.")] = 1,
    count: ui.Count = "count",
    as_json: ui.Json = False,
) -> None:
    """Test whether two axes of a noised table are independent, with the noise taken into account.

    Example: safemargin noise independence published/table.csv --by sex,age --variance 2 --bound 5
    """
    with ui.notes.status("simulating"):
        result = ui.call(api.independence, locals(), "by", axes=axes(by) or ())
    ui.print_result(result, as_json)


def ptable(
    variance: Variance = None,
    bound: Bound = None,
    js: Js = 0,
    compatible: Compatible = False,
    free: Annotated[
        list[int] | None, typer.Option("--free", help="With --compatible: a count with mono off (repeatable).")
    ] = None,
    ptable: Given = None,
    biased: Biased = False,
    file: Annotated[Path | None, typer.Option("--out", help="Write the table to this file.")] = None,
    form: Annotated[str, typer.Option("--form", help="Form of the file: r, tau-argus, ons or parts.")] = "r",
    modulus: Annotated[int, typer.Option("--modulus", help="Keys of the form ons are below this.")] = 256,
    as_json: ui.Json = False,
) -> None:
    """Make, read or convert a p-table: how likely each noise is on each count, and its privacy guarantee.

    Example: safemargin noise ptable --variance 2 --bound 5 --js 0 --out ptable.csv
    """
    result = api.ptable(variance, bound, js, compatible, free or (), ptable, biased)
    if file is not None:
        result.write(file, form, modulus)
    if as_json:
        _note_missed(result.missed)
    ui.print_result(result, as_json)


def key(file: Annotated[Path, typer.Argument(help="New file for the secret.")], as_json: ui.Json = False) -> None:
    """Write a fresh secret for record keys, readable by you alone; keep it as long as tables must agree.

    Example: safemargin noise key secret.key
    """
    api.key(file)
    if as_json:
        ui.print_json({"schema": ui.SCHEMA, "file": str(file)})
    ui.note(f"{file}: keep it apart from data and tables; whoever has it and the ids can remove the noise")


def perturb(
    records: Annotated[Path, typer.Argument(help="Records, one per row (CSV, Parquet, JSON lines).")],
    by: ui.By = None,
    variance: Variance = None,
    bound: Bound = None,
    js: Js = 0,
    compatible: Compatible = False,
    ptable: Given = None,
    biased: Biased = False,
    record_key: Annotated[str | None, typer.Option("--record-key", help="Column with record keys.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Column with a stable id of each record.")] = None,
    secret: Annotated[Path | None, typer.Option("--secret", help="File with the secret to hash ids with.")] = None,
    modulus: Annotated[int | None, typer.Option("--modulus", help="Record keys are integers below this.")] = None,
    count: Annotated[str | None, typer.Option("--count", help="Column with the number of records of a row.")] = None,
    weight: Annotated[str | None, typer.Option("--weight", help="Column with sampling weights.")] = None,
    hierarchy: ui.Hierarchy = None,
    after: Annotated[
        Path | None, typer.Option("--after", help="Guarantee (JSON) with which the records were swapped.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--out", help="New folder for the table; by default the name of the file with -noised."),
    ] = None,
    as_json: ui.Json = False,
) -> None:
    """Count records with all margins, and add the noise that the people in each cell select: the cell key method.

    Example: safemargin noise perturb people.csv --by sex,age --id person --secret secret.key --variance 2 --bound 5
    """
    # With --json and no folder nothing is written: the document holds the table.
    if folder is None and not as_json:
        folder = ui.unused_folder(Path(f"{records.name.split('.')[0]}-noised"))
    if folder is not None:
        check_folder(folder)
    with ui.progress_bar("hashing ids") as progress:
        grouped = {"by": axes(by) or (), "hierarchies": hierarchies(hierarchy)}
        result = ui.call(api.perturb, locals(), "grouped", "hierarchy", **grouped)
    _note_missed(result.missed)
    files: list[str] = []
    if folder is not None:
        result.write(folder)
        files = [str(folder / name) for name in result.files]
    if as_json:
        ui.print_json({**result.to_json(), "files": files})
        return
    result.show(ui.out)
    for file in files:
        ui.say(ui.out, file)


def posterior(
    table: Annotated[Path | None, typer.Argument(help="A noised table (CSV), of which the numbers are used.")] = None,
    variance: Variance = None,
    bound: Bound = None,
    js: Js = 0,
    compatible: Compatible = False,
    ptable: Given = None,
    biased: Biased = False,
    prior: Annotated[
        Path | None, typer.Option("--prior", help="File with count and probability, or a table with typical sizes.")
    ] = None,
    count: Annotated[str | None, typer.Option("--count", help="Column that holds the counts.")] = None,
    small: Annotated[int, typer.Option("--small", help="Counts from 1 to this are reported as small.")] = 3,
    parts: Annotated[
        str | None, typer.Option("--parts", help="Printed numbers of cells that add up, e.g. 4,6.")
    ] = None,
    total: Annotated[int | None, typer.Option("--total", help="With --parts: the printed number of their sum.")] = None,
    independent: Annotated[
        bool,
        typer.Option("--independent", help="With --parts: noise is drawn for every cell, not by keys that add up."),
    ] = False,
    to: Annotated[int | None, typer.Option("--to", help="Largest printed number to report.")] = None,
    page: Page = None,
    as_json: ui.Json = False,
) -> None:
    """Infer what an onlooker who knows the p-table believes about the count behind each printed number.

    Example: safemargin noise posterior --variance 2 --bound 5 --prior sizes.csv --out risk.html
    """
    ui.check_page(page)
    cells = None if parts is None else ui.parse_integers(parts)
    result = ui.call(api.posterior, locals(), "table", "cells", printed=table, parts=cells)
    _note_missed(result.missed)
    ui.print_result(result, as_json, page)


def _note_missed(missed: tuple[Missed, ...]) -> None:
    for count in missed:
        ui.note(str(count))


noise = typer.Typer(help="Plan, apply and attack noise on counts.", no_args_is_help=True, rich_markup_mode=None)
for command in (redundancy, plan, publish, ptable, key, perturb, posterior, attack, distort, independence, *COMMANDS):
    noise.command()(command)

"""The group of commands about noise on counts: which parameters of a function can be typed, and their help."""

from pathlib import Path
from typing import Annotated, Any

import typer

import safemargin.noise as api
from safemargin import ui
from safemargin.core import InputError
from safemargin.io import axes, check_folder, hierarchies
from safemargin.samplers import Missed
from safemargin.ui import command, show_with_page

Variance = Annotated[str | None, typer.Option("--variance", help="Variance of the noise, e.g. 2.")]
Bound = Annotated[int | None, typer.Option("--bound", help="Largest size of the noise, e.g. 5.")]
Js = Annotated[int, typer.Option("--js", help="No number from 1 to this is printed.")]
Compatible = Annotated[
    bool, typer.Option("--compatible", help="Numbers of the R package ptable, even where its variance falls short.")
]
Given = Annotated[Path | None, typer.Option("--ptable", help="File with a p-table: R, tau-ARGUS, ONS or parts.")]
Biased = Annotated[bool, typer.Option("--biased", help="Accept a p-table whose noise does not have mean 0.")]


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
    cells: Annotated[
        str | None, typer.Option("--cells", help="Two counts that are printed with their total: delta of the three.")
    ] = None,
    as_json: ui.Json = False,
) -> None:
    """Make, read or convert a p-table: how likely each noise is on each count, and its privacy guarantee.

    Example: safemargin noise ptable --variance 2 --bound 5 --js 0 --out ptable.csv
    """
    pair = None if cells is None else _two_counts(cells)
    result = api.ptable(variance, bound, js, compatible, free or (), ptable, biased, pair)
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
    engine: ui.Engine = "duckdb",
    master: ui.Master = None,
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


def _two_counts(text: str) -> tuple[int, int]:
    counts = ui.parse_integers(text)
    if len(counts) != 2:
        raise InputError(f"cells = {text}: give two counts, e.g. 7,4")
    return counts[0], counts[1]


def _note_missed(missed: tuple[Missed, ...]) -> None:
    for count in missed:
        ui.note(str(count))


def _new_folder(folder: Path) -> Path:
    check_folder(folder)  # before anything is computed
    return folder


def _write_programme(
    result: Any,
    folder: Annotated[Path, typer.Option("--out", callback=_new_folder, help="New folder for the tables.")],
    as_json: ui.Json = False,
) -> None:
    """Write the tables."""
    result.write(folder)
    ui.print_result(result, as_json)


def _show_attacks(result: Any, as_json: ui.Json = False) -> None:
    """Print what was recovered.

    The exit code is 1 if any count is disclosed.
    """
    ui.print_result(result, as_json)
    if result.sure():
        raise typer.Exit(1)


def _show_beliefs(result: Any, page: ui.Page = None, as_json: ui.Json = False) -> None:
    """Print what is believed."""
    _note_missed(result.missed)
    ui.print_result(result, as_json, page)


COMMANDS = (
    command(
        api.plan,
        "noise plan programme.toml --out plan.html",
        show_with_page,
        "planning",
        programme=typer.Argument(help="Programme of tables (TOML)."),
        confidence="How sure an onlooker may be.",
        largest_bound="Largest bound of noise that users accept.",
        area_error="Error that no small area may exceed.",
        kt2="Without a programme: smallest k / t^2.",
        kt2_fresh="The same with new noise in every table.",
        tuples="Without a programme: counts beside two parts.",
        areas="Without a programme: number of small areas.",
    ),
    command(
        api.publish,
        "noise publish programme.toml --records people.csv --id person --secret secret.key --out tables",
        _write_programme,
        "publishing",
        programme=typer.Argument(help="Programme of tables (TOML)."),
        records="People, one row each (CSV or Parquet), a column per level.",
        id="Column that distinguishes people, the same in every release.",
        secret="File of at least 16 random bytes; keep it, and keep it secret.",  # noqa: S106 - the text of its help
        variance="Variance of the noise; otherwise as planned.",
        bound="Largest size of the noise; otherwise as planned.",
        law="Noise by cell keys (keys), or drawn: geometric, laplace or gaussian.",
        epsilon="Epsilon of drawn noise on one count.",
        delta="Largest delta of drawn noise on one count, for a bound.",
        sampler="How noise is drawn: inversion or opendp.",
    ),
    ptable,
    key,
    perturb,
    command(
        api.posterior,
        "noise posterior --variance 2 --bound 5 --prior sizes.csv --out risk.html",
        _show_beliefs,
        printed=typer.Argument(help="A noised table (CSV), of which the numbers are used."),
        variance=Variance,
        bound=Bound,
        js=Js,
        compatible=Compatible,
        ptable=Given,
        biased=Biased,
        prior="File with count and probability, or a table with typical sizes.",
        count="Column that holds the counts.",
        small="Counts from 1 to this are reported as small.",
        parts="Printed numbers of cells that add up, e.g. 4,6.",
        total="With --parts: the printed number of their sum.",
        independent="With --parts: noise is drawn for every cell, not by keys that add up.",
        to="Largest printed number to report.",
    ),
    command(
        api.attack,
        "noise attack published/*.csv --variance 2",
        _show_attacks,
        "attacking",
        tables=typer.Argument(help="Published tables (tidy), noisy rows with the status noised."),
        variance="Variance of the noise; otherwise estimated.",
        bound="Largest size of the noise, if it is known.",
        law="Law of the noise: gaussian, geometric, laplace, uniform or entropy; otherwise the likeliest.",
        before="Tables published earlier about almost the same people (repeatable).",
        targets=typer.Option("--target", help="Axes of counts to average, e.g. sex,age (repeatable)."),
        truth="True tables, to count right guesses (repeatable).",
        confidence="How sure an attack must be for a count to be disclosed.",
        count=ui.Count,
        option=ui.Option,
        by=ui.By,
        skip=ui.Skip,
        hierarchy=ui.Hierarchy,
        limit="Number of counts to print per attack.",
    ),
)

noise = typer.Typer(help="Plan, apply and attack noise on counts.", no_args_is_help=True, rich_markup_mode=None)
for member in COMMANDS:
    noise.command()(member)

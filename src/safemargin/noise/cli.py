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

CONFIDENCE = "How sure the onlooker may be, or the office wants to be."
SEED = "Random seed of the simulation."
Programme = Annotated[Path, typer.Argument(help="Programme of tables (TOML).")]
Variance = Annotated[str | None, typer.Option("--variance", help="Variance of the noise, e.g. 2.")]
Bound = Annotated[int | None, typer.Option("--bound", help="Largest size of the noise, e.g. 5.")]
Js = Annotated[int, typer.Option("--js", help="No number from 1 to this is printed.")]
Compatible = Annotated[
    bool, typer.Option("--compatible", help="Numbers of the R package ptable, even where its variance falls short.")
]
Given = Annotated[Path | None, typer.Option("--ptable", help="File with a p-table: R, tau-ARGUS, ONS or parts.")]
Biased = Annotated[bool, typer.Option("--biased", help="Accept a p-table whose noise does not have mean 0.")]


def redundancy(
    programme: Programme,
    without_spsn: Annotated[
        bool, typer.Option("--without-spsn", help="The same participants get new noise in every table.")
    ] = False,
    limit: Annotated[int, typer.Option(help="Number of statistics to print.")] = 10,
    as_json: ui.Json = False,
) -> None:
    """Count how often every statistic of a programme is represented, the easiest to average first.

    Example: safemargin noise redundancy programme.toml
    """
    with ui.notes.status("counting"):
        result = api.redundancy(programme, same_noise=not without_spsn, limit=limit)
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
    redundancy,
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
    command(
        api.distort,
        "noise distort areas.csv --count population --name name --epsilon 0.1",
        show_with_page,
        "distorting",
        areas=typer.Argument(help="Areas with their counts, one row each (CSV or Parquet)."),
        count="Column with the total of an area.",
        parts="Columns that add up to it, e.g. F,M.",
        halves="Without --parts: draw two parts of equal chance, as by sex.",
        printed="Columns with the printed counts, parts first; otherwise noise is drawn.",
        name="Columns that name an area, e.g. country,name.",
        epsilon="Epsilon of two-sided geometric noise.",
        variance="Variance of bounded noise, with --bound.",
        bound="Bound of the noise, with --variance.",
        below="Largest size that is studied.",
        width="Width of a size class.",
        seed="Random seed.",
    ),
    command(
        api.independence,
        "noise independence published/table.csv --by sex,age --variance 2 --bound 5",
        busy="simulating",
        table=typer.Argument(help="A noised table (tidy) of two or more axes."),
        axes=ui.By,
        variance="Variance of bounded noise, with --bound.",
        bound="Largest size of the noise.",
        epsilon="Epsilon of two-sided geometric noise.",
        samples="Number of simulated tables.",
        seed=SEED,
        count=ui.Count,
    ),
    command(
        api.average,
        "noise average --kt2 0.1 --variance 2",
        kt2="k / t^2; or give --k and --t.",
        variance="Variance of the noise on one count.",
        epsilon="Epsilon of Laplace noise, in place of --variance.",
        k="Noisy counts added up in all.",
        t="Representations that are averaged.",
        bound="Largest size of simulated noise.",
        samples="Number of simulated means; 0 for none.",
        seed=SEED,
        within="A mean that is off by less counts as right (xi of Eq. 12).",
        cells="Counts of a histogram that must all be right.",
    ),
    command(
        api.composition,
        "noise composition --outputs 2775 --epsilon 1 --delta 1e-9",
        outputs=typer.Option(min=1, help="Counts or tables that share the epsilon."),
        epsilon=typer.Option(help="Epsilon of all of them together."),
        delta="Chance with which the law of the square root may fail.",
        people="People in the data: delta must be below 1 / people.",
    ),
    command(
        api.variance,
        "noise variance --kt2 0.0867",
        kt2="k / t^2: noisy counts added up, over representations squared.",
        confidence=CONFIDENCE,
    ),
    command(
        api.reveal,
        "noise reveal --bound 5 --variance 2",
        bound="Largest size of the noise.",
        variance="Variance of the noise; uniform noise without it.",
        parts="Counts that a total adds up.",
        tuples="Number of such totals that are published.",
        confidence=CONFIDENCE,
    ),
    command(
        api.exploit,
        "noise exploit --counts 3,2 --total 11 --bound 2",
        counts="Noisy counts, e.g. 3,2.",
        total="Their noisy total.",
        bound="Largest size of the noise.",
        zeros="Counts of nobody get no noise: a printed count other than 0 is one of somebody.",
    ),
    command(
        api.truncated,
        "noise truncated --epsilon 0.5 --bound 12",
        epsilon="Epsilon of the noise on one count; with --law gaussian, that for which delta is computed.",
        bound="Bound beyond which noise is drawn again.",
        delta="Largest delta, in place of --bound.",
        change="Change of all counts by one person.",
        law="Law of the noise: geometric, laplace or gaussian.",
        variance="With --law gaussian: variance of the noise without a bound.",
        people="People in the data, to say whether delta is above 1 / people.",
    ),
    command(
        api.reconstruct,
        "noise reconstruct --people 1000000 --confidence 0.99",
        people="Records.",
        confidence=CONFIDENCE,
    ),
    command(
        api.utility,
        "noise utility --areas 37000 --error 20",
        areas="Small areas whose counts are published.",
        error="Error that no area may exceed.",
        confidence=CONFIDENCE,
    ),
    command(
        api.tail,
        "noise tail --epsilon 0.1 --count 80 --relative 0.5 --counts 11680",
        epsilon="Epsilon of the noise on one count.",
        error="Error to exceed.",
        count="A count, with --relative, in place of --error.",
        relative="Share of --count to exceed, e.g. 0.5.",
        counts="Number of counts with such noise.",
    ),
    command(
        api.interval,
        "noise interval --printed 14 --variance 2 --bound 5",
        printed="Printed number, or the sum of several.",
        terms="Noisy counts that were added up.",
        variance="Variance of bounded noise, with --bound.",
        bound="Largest size of the noise.",
        epsilon="Epsilon of two-sided geometric noise, in place of --variance.",
        confidence="How often the interval must hold the true count.",
    ),
)

noise = typer.Typer(help="Plan, apply and attack noise on counts.", no_args_is_help=True, rich_markup_mode=None)
for member in COMMANDS:
    noise.command()(member)

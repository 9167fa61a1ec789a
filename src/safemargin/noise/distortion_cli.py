"""The command that measures what noise does to small areas."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from safemargin.core import InputError, numpy_generator
from safemargin.io import axes
from safemargin.noise.areas import read_areas
from safemargin.noise.distortion import BELOW, WIDTH, Areas, BoundedNoise, EpsilonNoise, distortion, halved
from safemargin.noise.distortion_report import distortion_document, distortion_page, show_distortion
from safemargin.ui import Json, notes, out, print_json, write_text


def distort(
    file: Annotated[Path, typer.Argument(help="Areas with their counts, one row each (CSV or Parquet).")],
    count: Annotated[str, typer.Option(help="Column with the total of an area.")] = "count",
    parts: Annotated[str | None, typer.Option(help="Columns that add up to it, e.g. F,M.")] = None,
    halves: Annotated[
        bool, typer.Option("--halves", help="Without --parts: draw two parts of equal chance, as by sex.")
    ] = False,
    printed: Annotated[
        str | None, typer.Option(help="Columns with what was printed, parts first; otherwise noise is drawn.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Columns that name an area, e.g. country,name.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Two-sided geometric noise with this epsilon.")] = None,
    variance: Annotated[float | None, typer.Option(help="Or bounded noise of this variance...")] = None,
    bound: Annotated[int | None, typer.Option(help="...and this bound.")] = None,
    below: Annotated[int, typer.Option(help="Sizes that are looked at.")] = BELOW,
    width: Annotated[int, typer.Option(help="Of a class of sizes.")] = WIDTH,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 1,
    page: Annotated[Path | None, typer.Option("--out", help="Also write a page with pictures (HTML).")] = None,
    as_json: Json = False,
) -> None:
    """How noise distorts small areas by size, and which of them vanish or become negative.

    Example: safemargin noise distort areas.csv --count population --name name --epsilon 0.1
    """
    if (epsilon is None) == (variance is None) or (variance is None) != (bound is None):
        raise InputError("give --epsilon, or --variance with --bound")
    noise = BoundedNoise(variance, bound) if variance is not None and bound is not None else EpsilonNoise(epsilon or 0)
    columns, shown = (*(axes(parts) or ()), count), axes(printed) or ()
    if printed is not None and (halves or len(shown) != len(columns)):
        raise InputError(f"--printed {printed}: name one column for each of {', '.join(columns)}, without --halves")
    with notes.status("reading"):
        names, read, left_out = read_areas(file, axes(name) or (), (*columns, *shown))
    counts = read[:, : len(columns)]
    if (counts < 0).any():
        raise InputError(f"{file}: {columns[int(np.argwhere(counts < 0)[0][1])]}: a true count is negative")
    generator = numpy_generator(seed)
    if halves and parts is None:
        columns, counts = ("first half", "second half", count), halved(counts[:, 0], generator)
    with notes.status("distorting"):
        noisy = read[:, len(columns) :] if shown else counts + noise.draw(counts.shape, generator)
        found = distortion(Areas(names, columns, counts), noisy, noise, width=width, below=below)
    inputs: dict[str, object] = {
        "file": str(file),
        "areas": len(names),
        "without_count": left_out,
        "epsilon": epsilon,
        "variance": variance,
        "bound": bound,
        "seed": seed,
    }
    if page is not None:
        law = f"epsilon {epsilon:g}" if epsilon is not None else f"variance {variance:g} within {bound}"
        write_text(page, distortion_page(f"{file.stem}: distortion", f"{len(names):,} areas; noise with {law}.", found))
    if as_json:
        print_json(distortion_document(found, inputs))
    else:
        show_distortion(out, found)

"""The command `topdown`."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError
from safemargin.topdown.country import write_country
from safemargin.topdown.report import Recomputation, TopDownRelease
from safemargin.topdown.topdown import JointRelease, topdown as run_topdown
from safemargin.ui import Json, out, print_json, print_result, progress_bar


def topdown(
    source: Annotated[
        Path | None, typer.Argument(help="TopDown file (TOML), or the public folder of a release, to compute it again.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="Output folder; an interrupted run in it is resumed.")
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(help="Records protected by another method, to compare errors with, e.g. swapping=file.parquet."),
    ] = None,
    attack: Annotated[
        str | None,
        typer.Option(help="Attack all tables: what an onlooker knows, and what they state, e.g. sex,age:tenure."),
    ] = None,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Only print the guarantee and the precision of estimates; draw no noise."),
    ] = False,
    demo: Annotated[Path | None, typer.Option(help="Only write a synthetic country into this folder.")] = None,
    people: Annotated[int, typer.Option(help="People of the synthetic country.")] = 100_000,
    blocks: Annotated[int, typer.Option(help="Blocks of the synthetic country.")] = 1_000,
    as_json: Json = False,
) -> None:
    """Publish counts of areas in a tree with differential privacy: measurements, estimates and integer tables.

    Example: safemargin topdown country/topdown.toml --out country/release
    """
    if demo is not None:
        path = write_country(demo, people, blocks)
        if as_json:
            print_json({"schema": 1, "project": str(path)})
        else:
            out.print(f"Written: {path}", markup=False, soft_wrap=True)
        return
    if source is None:
        raise InputError("name a TopDown file (TOML), or a folder with --demo")
    with progress_bar("starting") as progress:
        result = run_topdown(
            source, folder, beside=_files(beside), attack=_attack(attack), plan=plan, progress=progress
        )
    print_result(result, as_json)
    if isinstance(result, TopDownRelease | JointRelease) and not as_json:
        written = result.folder if isinstance(result, JointRelease) else result.published.parent
        out.print(f"\nWritten to {written}.", markup=False, soft_wrap=True)
    if isinstance(result, Recomputation) and not result.agrees:
        raise typer.Exit(1)


def _attack(text: str | None) -> tuple[tuple[str, ...], str] | None:
    """What an onlooker knows and what they state, from `sex,age:tenure`; an error shows the form.

    >>> _attack("sex,age:tenure")
    (('sex', 'age'), 'tenure')
    """
    if text is None:
        return None
    known, sign, secret = text.rpartition(":")
    if not (known and sign and secret):
        raise InputError(f"--attack {text!r}: give known attributes and another one, e.g. sex,age:tenure")
    return tuple(known.split(",")), secret


def _files(texts: list[str] | None) -> dict[str, Path]:
    """Files of other methods by name, from `name=file`; an error shows the form, or the name that comes twice.

    >>> {name: str(path) for name, path in _files(["swapping=swapped.parquet"]).items()}
    {'swapping': 'swapped.parquet'}
    """
    files: dict[str, Path] = {}
    for text in texts or []:
        name, sign, file = text.partition("=")
        if not (name and sign and file):
            raise InputError(f"--beside {text!r}: give a name and a file, e.g. swapping=swapped.parquet")
        if name in files:
            raise InputError(f"--beside {text!r}: {name!r} is named twice")
        files[name] = Path(file)
    return files

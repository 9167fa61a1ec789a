"""The command `verify`: arguments and one call."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.ui import By, Count, Facts, Json, Option, Page, Rolls, Skip, call, check_page, print_result
from safemargin.verify.sign import sign as run_sign
from safemargin.verify.verify import verify as run_verify


def verify(
    certificate: Annotated[Path, typer.Argument(help="Certificate (JSON) of an audit or of a release.")],
    files: Annotated[list[Path], typer.Argument(help="The tables it speaks about, or a folder that holds them.")],
    roll: Rolls = None,
    fact: Facts = None,
    count: Count = "count",
    option: Option = "option",
    by: By = None,
    skip: Skip = None,
    key: Annotated[
        Path | None, typer.Option(help="Public key (minisign) with which the manifest of a release must be signed.")
    ] = None,
    rerun: Annotated[
        bool, typer.Option("--rerun", help="Run the rule on every witness table of a release; needs the joint roll.")
    ] = False,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Verify a certificate with integer addition alone: no solver, no search. Only --rerun runs the whole rule.

    Example: safemargin verify certificate.json published --roll roll.csv --rerun
    """
    check_page(page)
    checked = call(run_verify, locals(), "fact", roll=roll or (), facts=fact or (), skip=skip or ())
    print_result(checked, as_json, page)
    if not checked.holds:
        raise typer.Exit(1)


def sign(
    folder: Annotated[Path | None, typer.Argument(help="Folder that a command wrote, with a manifest.")] = None,
    key: Annotated[Path, typer.Option(help="Secret key (minisign).")] = Path("office.key"),
    new: Annotated[bool, typer.Option("--new", help="Make a pair of keys; the public one ends in .pub.")] = False,
    as_json: Json = False,
) -> None:
    """Sign the manifest of published tables with an office's own key (Ed25519, minisign).

    Example: safemargin sign release --key office.key

    First: safemargin sign --new --key office.key
    """
    print_result(run_sign(folder, key=key, new=new), as_json)

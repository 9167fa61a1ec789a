"""The command `verify`: arguments and one call."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from safemargin.checker import EXIT_CODES
from safemargin.ui import By, Count, Facts, Json, Option, Page, Rolls, Skip, call, check_page, print_result
from safemargin.verify.verify import verify as run_verify


def verify(
    certificate: Annotated[
        Path, typer.Argument(help="Published folder of a release, or the certificate (JSON) of an audit or pattern.")
    ],
    files: Annotated[
        list[Path] | None, typer.Argument(help="Of an audit or pattern: the tables, or a folder that holds them.")
    ] = None,
    auditors: Annotated[Path | None, typer.Option(help="Folder for auditors of a release: roll and witnesses.")] = None,
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
        bool, typer.Option("--rerun", help="Run the rule on every witness table of a release; needs --auditors.")
    ] = False,
    whole_page: Annotated[
        bool, typer.Option("--page", help="Make the page of a release anew from its tables, and compare the two.")
    ] = False,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Verify a certificate with integer addition alone: no solver, no search. Only --rerun runs the whole rule.

    Exit code: 0 if it holds, 1 if it fails, 3 if what was given does not show it.

    Example: safemargin verify release/published --auditors release/auditors --rerun
    """
    check_page(page)
    given = {"files": files or (), "roll": roll or (), "facts": fact or (), "skip": skip or ()}
    checked = call(run_verify, locals(), "fact", "given", **given)
    print_result(checked, as_json, page)
    if not checked.holds:
        raise typer.Exit(EXIT_CODES[checked.outcome])


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
    run_sign = import_module("safemargin.verify.sign").sign  # signing needs more than verifying
    print_result(run_sign(folder, key=key, new=new), as_json)

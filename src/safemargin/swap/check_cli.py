"""The command that checks swapping on a small stratum."""

from typing import Annotated

import typer

from safemargin.guarantees.exact import Holds
from safemargin.guarantees.report import checked_document, show_checked
from safemargin.guarantees.swap_loss import rate_of
from safemargin.swap.check import WAYS, check_swapping
from safemargin.ui import Json, notes, out, parse_integers, print_json


def check(
    held: Annotated[str, typer.Option(help="Counts of the held values of a small stratum, e.g. 1,1,2,2.")],
    swapped: Annotated[str, typer.Option(help="Counts of the swapped values.")],
    rate: Annotated[str, typer.Option(help="Swap rate, e.g. 0.1, or one for each held value.")],
    variant: Annotated[str, typer.Option(help=f"One of {', '.join(WAYS)}.")] = "permutation",
    imputed: Annotated[
        str | None, typer.Option(help="Held values, counted from 0, of imputed records: never selected.")
    ] = None,
    without: Annotated[str, typer.Option(help="Invariant that is dropped: held or swapped.")] = "",
    as_json: Json = False,
) -> None:
    """The exact loss of swapping on a small stratum, and whether the guarantee of Theorem 1 holds there.

    Example: safemargin guarantee check --held 1,1,1 --swapped 1,1,1 --rate 0.1 --variant pairs
    """
    rates = [rate_of(part) for part in rate.split(",")]
    with notes.status("going through all permutations"):
        found, claimed, exact = check_swapping(
            parse_integers(held),
            parse_integers(swapped),
            rates[0] if len(rates) == 1 else rates,
            variant,
            imputed=() if imputed is None else parse_integers(imputed),
            without=without,
        )
    if as_json:
        print_json(checked_document(found, claimed, exact))
    else:
        show_checked(out, found, claimed, exact)
    if found.verdict is Holds.VIOLATED:
        raise typer.Exit(1)

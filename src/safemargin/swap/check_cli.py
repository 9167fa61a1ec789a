"""The command that checks swapping on a small stratum; it is a member of the group `guarantee`."""

from typing import Annotated

import typer

from safemargin.guarantees import Holds
from safemargin.swap.check import WAYS
from safemargin.swap.check import check as check_swapping
from safemargin.ui import Json, notes, parse_integers, print_result


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
    """Compute the exact loss of swapping on a small stratum, and check the guarantee of Theorem 1 there.

    Example: safemargin guarantee check --held 1,1,1 --swapped 1,1,1 --rate 0.1 --variant pairs
    """
    with notes.status("going through all permutations"):
        result = check_swapping(
            parse_integers(held),
            parse_integers(swapped),
            rate.split(",") if "," in rate else rate,
            variant=variant,
            imputed=() if imputed is None else parse_integers(imputed),
            without=without,
        )
    print_result(result, as_json)
    if result.verdict is Holds.VIOLATED:
        raise typer.Exit(1)

"""What the verifier found about a small mechanism, for readers."""

import math

from rich.console import Console
from rich.text import Text

from safemargin.guarantees.exact import Holds
from safemargin.guarantees.mechanism_check import Verified
from safemargin.ui import SCHEMA, Document, finite, text_table

VERBS = {
    Holds.HOLDS: "The guarantee holds",
    Holds.TIGHT: "The guarantee holds and is tight",
    Holds.VIOLATED: "The guarantee is violated",
    None: "No budget is claimed",
}


def verified_document(found: Verified) -> Document:
    """The document of `guarantee verify --json`."""
    pair = found.losses[found.worst].pair
    return {
        "schema": SCHEMA,
        "verdict": None if found.verdict is None else str(found.verdict),
        "measure": str(found.mechanism.guarantee.measure),
        "claimed": None
        if found.mechanism.guarantee.budget is None
        else finite(float(found.mechanism.guarantee.budget)),
        "loss": finite(found.loss),
        "universes": {
            name: {"data_sets": loss.size, "neighbours": loss.neighbours, "loss": finite(found.in_measure(name))}
            for name, loss in found.losses.items()
        },
        "witness": None
        if found.pair is None
        else {
            "one": found.pair[0],
            "other": found.pair[1],
            **(
                {}
                if found.rho_squared or pair is None
                else {"output": pair.output, "ratio": "infinite" if pair.ratio is None else str(pair.ratio)}
            ),
        },
        "protects": not found.is_trivial,
    }


def show_verified(console: Console, found: Verified) -> None:
    """The verdict, the loss of every universe, and the pair that loses most."""
    guarantee = found.mechanism.guarantee
    name = "rho²" if found.rho_squared else "epsilon"
    console.print(Text(f"{VERBS[found.verdict]}: {guarantee.amount} claimed, {name} = {_shown(found.loss)} found."))
    rows = [
        [each, f"{loss.size:,}", f"{loss.neighbours:,}", _shown(found.in_measure(each))]
        for each, loss in found.losses.items()
    ]
    console.print(text_table(["universe", "data sets", "neighbours", name], rows))
    pair = found.losses[found.worst].pair
    if found.pair is not None and found.rho_squared:
        console.print(Text(f"Most is lost between {found.pair[0]} and {found.pair[1]}."))
    elif pair is not None:
        odds = "possible" if pair.ratio is None else f"{float(pair.ratio):.6g} times as likely"
        only = " only" if pair.ratio is None else ""
        console.print(
            Text(
                f"Most is lost between {pair.one} and {pair.other}, {pair.distance:g} apart: the output "
                f"{pair.output} is {odds} from {pair.one}{only}."
            )
        )
    if found.is_trivial:
        console.print(Text("Every universe holds one data set: the invariants tell all, and nothing is protected."))
    elif not any(loss.neighbours for loss in found.losses.values()):
        console.print(
            Text("No two data sets of a universe are at distance one: a check of neighbours passes anything.")
        )


def _shown(value: float) -> str:
    return "infinite" if math.isinf(value) else f"{value:.6g}"

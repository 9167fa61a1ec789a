"""The command `rules`: arguments and one call."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.ui import Json, call, print_result, progress_bar
from safemargin.voting.compare_rules import rules as rank_rules


def rules(
    candidates: Annotated[str | None, typer.Option(help="Number of candidates, or their names: a,b,c.")] = None,
    voters: Annotated[int | None, typer.Option(help="Number of people who vote.")] = None,
    belief: Annotated[
        list[str] | None, typer.Option(help="uniform, result, or a CSV file (ranking, probability); repeatable.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option("--rule", help="Rules to rank; repeatable. All if none.")] = None,
    epsilon: Annotated[float, typer.Option(help="Probabilities may differ by a factor of exp(epsilon).")] = 0.0,
    votes: Annotated[Path | None, typer.Option(help="Votes cast (CSV or PrefLib).")] = None,
    axioms: Annotated[bool, typer.Option("--axioms", help="Also print which axioms each rule satisfies.")] = False,
    draws: Annotated[
        int, typer.Option(min=1000, help="Monte Carlo sample size, used only if no exact algorithm applies.")
    ] = 20_000,
    page: Annotated[Path | None, typer.Option("--out", help="Write a page with a picture (HTML).")] = None,
    as_json: Json = False,
) -> None:
    """Rank voting rules by how little the winner shows about one vote.

    Example: safemargin rules --candidates 3 --voters 20 --out rules.html
    """
    with progress_bar("measuring") as progress:
        others = {"belief": belief or (), "only": only or (), "picture": page is not None}
        ranking = call(rank_rules, locals(), "others", **others)
    print_result(ranking, as_json, page)

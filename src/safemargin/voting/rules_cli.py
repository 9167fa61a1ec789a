"""The command `rules`: arguments and one call."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.ui import Json, call, print_result, progress_bar
from safemargin.voting.cli import Beliefs, Candidates, Draws, Epsilon, Picture, Voters
from safemargin.voting.compare_rules import rules as rank_rules


def rules(
    candidates: Candidates = None,
    voters: Voters = None,
    belief: Beliefs = None,
    only: Annotated[list[str] | None, typer.Option("--rule", help="Rules to rank; repeatable. All if none.")] = None,
    epsilon: Epsilon = 0.0,
    votes: Annotated[Path | None, typer.Option(help="Votes cast (CSV or PrefLib).")] = None,
    axioms: Annotated[bool, typer.Option("--axioms", help="Also print which axioms each rule satisfies.")] = False,
    draws: Draws = 20_000,
    page: Picture = None,
    as_json: Json = False,
) -> None:
    """Rank voting rules by how little the winner shows about one vote.

    Example: safemargin rules --candidates 3 --voters 20 --out rules.html
    """
    with progress_bar("measuring") as progress:
        others = {"belief": belief or (), "only": only or (), "picture": page is not None}
        ranking = call(rank_rules, locals(), "others", **others)
    print_result(ranking, as_json, page)

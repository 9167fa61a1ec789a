"""The command `outcome`: arguments and one call."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError
from safemargin.ui import Json, call, print_result, progress_bar
from safemargin.voting.outcome import outcome as measure_outcome

Candidates = Annotated[str | None, typer.Option(help="Number of candidates, or their names: a,b,c.")]
Voters = Annotated[int | None, typer.Option(help="Number of people who vote.")]
Beliefs = Annotated[
    list[str] | None, typer.Option(help="uniform, result, smoothed, or a CSV file (ranking, probability); repeatable.")
]
Epsilon = Annotated[float, typer.Option(help="Probabilities may differ by a factor of exp(epsilon).")]
Draws = Annotated[int, typer.Option(min=1000, help="Monte Carlo sample size, used only if no exact algorithm applies.")]
Picture = Annotated[Path | None, typer.Option("--out", help="Write a page with a picture (HTML).")]


def outcome(
    project: Annotated[Path | None, typer.Argument(help="Project file (TOML): the result of its release.")] = None,
    rule: Annotated[str, typer.Option(help="Voting rule, e.g. plurality, borda, stv, approval-2.")] = "plurality",
    candidates: Candidates = None,
    voters: Voters = None,
    belief: Beliefs = None,
    publish: Annotated[
        str, typer.Option(help="winner, histogram, tops, scores, or groups (with a belief by group).")
    ] = "winner",
    epsilon: Epsilon = 0.0,
    curve: Annotated[bool, typer.Option("--curve", help="Also print delta for other epsilons.")] = False,
    delta: Annotated[
        float | None, typer.Option("--delta", help="Find the smallest electorate and the least epsilon for this delta.")
    ] = None,
    votes: Annotated[Path | None, typer.Option(help="Votes cast (CSV or PrefLib): also print the winner.")] = None,
    known: Annotated[Path | None, typer.Option(help="Votes that the onlooker knows (CSV).")] = None,
    leaked: Annotated[int, typer.Option(help="Suppose that this many more votes are known, the worst ones.")] = 0,
    ties: Annotated[str | None, typer.Option(help="Order in which ties are broken: b,a,c; or all.")] = None,
    engine: Annotated[str | None, typer.Option(help="Preferred algorithm; ignored where it does not apply.")] = None,
    rational: Annotated[bool, typer.Option("--rational", help="Also print delta as a fraction.")] = False,
    classify: Annotated[bool, typer.Option("--class", help="Also print how delta falls with more voters.")] = False,
    simulator: Annotated[
        bool, typer.Option("--simulator", help="Also print delta by the definition with a simulator.")
    ] = False,
    trails: Annotated[
        bool, typer.Option("--trails", help="Also list the trails that delta is the sum of (small elections).")
    ] = False,
    waves: Annotated[
        int, typer.Option(help="Winners and groups of this many waves together; everybody votes anew in each.")
    ] = 1,
    draws: Draws = 200_000,
    page: Picture = None,
    as_json: Json = False,
) -> None:
    """Show how private an exact result is: delta, and the pair of votes an observer can best distinguish.

    Example: safemargin outcome --rule borda --candidates 3 --voters 50 --belief uniform
    """
    if project is not None:
        raise InputError(f"{project}: is not a project file; its name must end in .toml")
    with progress_bar("computing") as progress:
        privacy = call(measure_outcome, locals(), "project", belief=belief or (), curve=curve or page is not None)
    print_result(privacy, as_json, page)

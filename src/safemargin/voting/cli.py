"""The command about outcomes: what the exact result tells about one vote."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError
from safemargin.ui import Json, element, out, print_json, progress_bar, render_page, to_svg, write_text
from safemargin.voting.private import CURVE
from safemargin.voting.question import Question, make_ready
from safemargin.voting.report import answer_body, answer_document, show_answer
from safemargin.voting.result_report import curve_chart
from safemargin.voting.stability import classify


def outcome(
    project: Annotated[Path | None, typer.Argument(help="Project file (TOML): the result of its release.")] = None,
    rule: Annotated[str, typer.Option(help="Voting rule, e.g. plurality, borda, stv, approval-2.")] = "plurality",
    candidates: Annotated[str | None, typer.Option(help="How many, or their names: a,b,c.")] = None,
    voters: Annotated[int | None, typer.Option(help="How many people vote.")] = None,
    belief: Annotated[
        list[str] | None, typer.Option(help="uniform, result, or a CSV file (ranking, probability); repeatable.")
    ] = None,
    publish: Annotated[str, typer.Option(help="winner, histogram, tops or scores.")] = "winner",
    epsilon: Annotated[float, typer.Option(help="How far chances may differ by a factor.")] = 0.0,
    curve: Annotated[bool, typer.Option("--curve", help="Also print delta for other epsilons.")] = False,
    wanted: Annotated[
        float | None, typer.Option("--delta", help="Find the smallest electorate and the least epsilon.")
    ] = None,
    votes: Annotated[Path | None, typer.Option(help="Votes cast (CSV or PrefLib): who won.")] = None,
    known: Annotated[Path | None, typer.Option(help="Votes that the adversary knows (CSV).")] = None,
    leaked: Annotated[int, typer.Option(help="Suppose that so many more votes are known, the worst ones.")] = 0,
    ties: Annotated[str | None, typer.Option(help="Order in which ties are broken: b,a,c; or all.")] = None,
    engine: Annotated[str | None, typer.Option(help="Use this engine, if it can.")] = None,
    rational: Annotated[bool, typer.Option("--rational", help="Also print delta as a fraction.")] = False,
    classed: Annotated[bool, typer.Option("--class", help="Tell how delta falls as the electorate grows.")] = False,
    draws: Annotated[int, typer.Option(min=1000, help="Elections drawn where nothing else answers.")] = 200_000,
    page: Annotated[Path | None, typer.Option("--out", help="Write a page with a picture (HTML).")] = None,
    as_json: Json = False,
) -> None:
    """How private an exact result is: delta, the votes that are told apart best, and how it was computed.

    Example: safemargin outcome --rule borda --candidates 3 --voters 50 --belief uniform
    """
    if project is not None:
        raise InputError(f"{project}: is not a project file; its name must end in .toml")
    beliefs = tuple(belief or (["result"] if votes else ["uniform"]))
    points = CURVE if curve or page is not None else ()
    question = Question(
        rule, candidates, voters, beliefs, publish, epsilon, points, ties, known, votes, leaked, engine, rational, draws
    )
    setting = make_ready(question)
    with progress_bar("computing") as progress:
        answer = setting.answer(progress)
        stability = classify(setting.elections[0]) if classed and setting.elections else None
        sought = None if wanted is None else (wanted, setting.smallest(wanted), setting.least_epsilon(wanted))
    document = answer_document(answer, rule, stability, sought)
    if setting.winner is not None:
        document["winner"] = setting.winner
    if page is not None:
        picture = to_svg(curve_chart(answer.curve)) if answer.curve else ""
        title = f"How private is the outcome? {rule}, {answer.voters:,} voters"
        write_text(page, render_page(title, element("h1", title), answer_body(answer, picture)))
    if as_json:
        print_json(document)
    else:
        show_answer(out, document)

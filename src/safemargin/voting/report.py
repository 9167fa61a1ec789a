"""Answers about outcomes: in words, as a document, and as a page."""

from math import isfinite, log

from rich.console import Console
from rich.text import Text

from safemargin.ui import SCHEMA, Document, Html, element, figure, joined, paragraphs, points, section, table
from safemargin.voting.private import Answer
from safemargin.voting.result_report import ASSUMPTIONS, CAPTION, small
from safemargin.voting.stability import Stability

PUBLISHED_WORDS = {
    "winner": "the winner",
    "histogram": "how many cast each ranking",
    "tops": "how many put each candidate first",
    "scores": "the sums that the rule counts",
}


def answer_words(answer: Answer) -> str:
    """The answer in one sentence; where it was drawn or searched, with the upper end of its interval."""
    delta = small(answer.delta) if answer.exact else f"at most {small(answer.interval[1])}"
    return (
        f"Publishing {PUBLISHED_WORDS[answer.publish]} exactly is "
        f"({answer.epsilon:g}, {delta})-private "
        f"against an adversary who believes that {answer.belief}."
    )


def pair_words(answer: Answer) -> str:
    """The worst pair of votes in words."""
    first, second = answer.pair
    if answer.delta == 0 and answer.log_delta == -float("inf"):
        return "No vote makes a difference."
    towards = f" makes {' or '.join(answer.results)} likelier" if answer.results else " shows best"
    return f"Somebody who votes {first} rather than {second} is most exposed: it{towards}."


def answer_document(
    answer: Answer,
    rule: str,
    stability: Stability | None = None,
    wanted: tuple[float, int, float] | None = None,
) -> Document:
    """The JSON of `outcome`; `wanted` is a delta, the smallest electorate for it and the least epsilon."""
    found: Document = {
        "schema": SCHEMA,
        "delta": answer.delta,
        "epsilon": answer.epsilon,
        "exact": answer.exact,
        "interval": list(answer.interval),
        "engine": answer.engine,
        "worst_pair": list(answer.pair),
        "results": list(answer.results),
        "log10_delta": answer.log_delta / log(10) if isfinite(answer.log_delta) else None,
        "publish": answer.publish,
        "rule": rule,
        "candidates": list(answer.names),
        "voters": answer.voters,
        "belief": answer.belief,
        "notes": list(answer.notes),
        "words": f"{answer_words(answer)} {pair_words(answer)}",
    }
    if answer.fraction is not None:
        found["fraction"] = str(answer.fraction)
    if answer.curve:
        found["curve"] = [list(point) for point in answer.curve]
        pure = answer.pure_epsilon
        found["pure_epsilon"] = pure if pure is not None and isfinite(pure) else None
    if stability is not None:
        found["class"] = {"kind": stability.kind, "rate": stability.rate, "words": stability.words}
    if wanted is not None:
        delta, voters, epsilon = wanted
        found["wanted_delta"], found["smallest_electorate"] = delta, voters
        found["least_epsilon"] = epsilon if isfinite(epsilon) else None
    return found


def show_answer(console: Console, document: Document) -> None:
    """The same document in a terminal."""

    def say(words: object, style: str = "") -> None:
        console.print(Text(str(words), style=style))

    low, high = document["interval"]
    say(document["words"])
    say(f"delta {document['delta']:.10g} at epsilon {document['epsilon']:g} ({document['engine']})", "bold")
    if not document["exact"]:
        say(f"Drawn at random: delta lies in [{low:.4g}, {high:.4g}] in 95 of 100 runs.", "yellow")
    if document["delta"] == 0 and document["log10_delta"] is not None:
        say(f"log10 of delta is {document['log10_delta']:.6g}.")
    if "fraction" in document:
        say(f"As a fraction: {document['fraction']}.")
    if "class" in document:
        say(f"As the electorate grows: {document['class']['words']} ({document['class']['kind']}).")
    if "smallest_electorate" in document:
        say(f"Smallest electorate with delta {document['wanted_delta']:g}: {document['smallest_electorate']:,}.")
    if document.get("least_epsilon") is not None:
        voters, epsilon = document["voters"], document["least_epsilon"]
        say(f"With {voters:,} voters, delta {document['wanted_delta']:g} needs epsilon {epsilon:.6g}.")
    for epsilon, delta in document.get("curve", ()):
        say(f"  epsilon {epsilon:<6g} delta {small(delta)}")
    if document.get("pure_epsilon") is not None:
        say(f"With delta 0: epsilon {document['pure_epsilon']:.6g}.")
    for words in document["notes"]:
        say(f"Note: {words}.", "dim")


def answer_body(answer: Answer, draw: str) -> Html:
    """The parts of a page about one answer."""
    rows = [(f"{epsilon:g}", small(delta)) for epsilon, delta in answer.curve]
    return joined(
        [
            section(
                "What the result itself tells",
                paragraphs(element("strong", answer_words(answer)), pair_words(answer)),
                figure(draw, CAPTION, fits=True) if draw else "",
                table(("epsilon", "delta"), rows, ("epsilon", "delta"), "compact") if rows else "",
            ),
            section("What is taken for granted", points([*ASSUMPTIONS, f"Engine: {answer.engine}."])),
        ]
    )

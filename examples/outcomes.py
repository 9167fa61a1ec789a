"""Who wins real ranked elections under each rule, and how measure the winner and the counts are.

    python examples/outcomes.py preflib_ranked_elections_dev.parquet [elections]

The file has a row per election and ranking, with columns `election`, `count` and `order` (numbers of candidates between
commas), as in PrefLib. A vote that puts several on one place is read up to there. The onlooker believes that everybody
else votes independently with the shares of the result. Prints a Markdown table: the winner under each rule and,
in brackets, delta at epsilon 0 of publishing it.
"""

import sys

import duckdb

from safemargin.voting.election import Election, from_counts
from safemargin.voting.measure import OutcomePrivacy, measure
from safemargin.voting.reading import preflib_order
from safemargin.voting.rules import rule_named

RULES = "plurality veto approval-3 borda stv maximin copeland bucklin bucklin-simple ranked-pairs schulze".split()


def elections(path: str) -> dict[str, dict[tuple[int, ...], int]]:
    """Counts of rankings by election; candidates are numbered from 0."""
    query = f"""select election, "order", sum("count") from '{path}' group by all order by all"""
    found: dict[str, dict[tuple[int, ...], int]] = {}
    for election, order, count in duckdb.sql(query).fetchall():
        named = order.split("{")[0].strip(",").split(",")
        if named == [""]:
            continue
        places = {str(number): number - 1 for number in range(1, 100)}
        vote = preflib_order(named, places, election)
        counts = found.setdefault(election, {})
        counts[vote] = counts.get(vote, 0) + int(count)
    return found


def shown(answer: OutcomePrivacy) -> str:
    """Delta, and how sure it is."""
    if answer.exact:
        return f"{answer.delta:.2g}"
    low, high = answer.interval
    return f"{low:.1g} to {high:.1g}"


def main() -> None:
    path, most = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    columns = ["election", "voters", "cands", *RULES, "δ tops", "δ histogram"]
    print("| " + " | ".join(columns) + " |")
    print("|---" * len(columns) + "|")
    for name, counts in list(elections(path).items())[:most]:
        votes, voters = tuple(counts), sum(counts.values())
        size = 1 + max(max(vote) for vote in votes)
        winners = [rule_named(rule, size).winner(votes, tuple(counts.values())) + 1 for rule in RULES]
        belief = from_counts(counts, votes, "the result")
        held = [Election(rule_named(rule, size), voters, belief) for rule in RULES]
        answers = [shown(measure(each, draws=4_000)) for each in held]
        cells = [f"{winner} ({delta})" for winner, delta in zip(winners, answers, strict=True)]
        counted = [shown(measure(held[0], what)) for what in ("tops", "histogram")]
        short = name.replace("2007 Scotland ", "").replace(" Mayoral Election", "")
        row = [short, f"{voters:,}", str(size), *cells, *counted]
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()

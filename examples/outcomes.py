"""Who wins real ranked elections under each rule, and how private the winner and the counts are.

    python examples/outcomes.py preflib_ranked_elections_dev.parquet [elections]

The file has a row per election and ranking, with columns `election`, `count` and `order` (numbers of candidates between
commas), as in PrefLib. A vote that ranks several candidates equally is read up to there. The onlooker believes that
everybody else votes independently with the shares of the result. Prints a Markdown table: the winner under each rule
and, in brackets, delta at epsilon 0 of publishing it.
"""

import sys
import tempfile
from pathlib import Path

import duckdb

import safemargin

RULES = "plurality veto approval-3 borda stv maximin copeland bucklin bucklin-simple ranked-pairs schulze".split()


def elections(path: str) -> dict[str, dict[tuple[str, ...], int]]:
    """Counts of rankings by election, each ranking up to where several are on one place."""
    query = f"""select election, "order", sum("count") from '{path}' group by all order by all"""
    rankings: dict[str, dict[tuple[str, ...], int]] = {}
    for election, order, count in duckdb.sql(query).fetchall():
        vote = tuple(order.split("{")[0].strip(",").split(","))
        if vote != ("",):
            counts = rankings.setdefault(election, {})
            counts[vote] = counts.get(vote, 0) + int(count)
    return rankings


def write_votes(path: Path, counts: dict[tuple[str, ...], int]) -> None:
    """The votes as `safemargin outcome --votes` reads them."""
    path.write_text("ranking,count\n" + "".join(f"{'>'.join(vote)},{count}\n" for vote, count in counts.items()))


def interval(privacy: safemargin.Result) -> str:
    """Delta, and how sure it is."""
    document = privacy.to_json()
    low, high = document["interval"]
    return f"{document['delta']:.2g}" if document["exact"] else f"{low:.1g} to {high:.1g}"


def main() -> None:
    path, most = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    columns = ["election", "voters", "cands", *RULES, "δ tops", "δ histogram"]
    print("| " + " | ".join(columns) + " |")
    print("|---" * len(columns) + "|")
    for name, counts in list(elections(path).items())[:most]:
        named = sorted({candidate for vote in counts for candidate in vote}, key=int)  # ties go to the lower number
        cells = []
        with tempfile.TemporaryDirectory() as folder:
            votes = Path(folder) / "votes.csv"
            write_votes(votes, counts)
            for rule in RULES:
                privacy = safemargin.outcome(rule, votes=votes, ties=named, draws=4_000)
                cells.append(f"{privacy.winner} ({interval(privacy)})")
            for published in ("tops", "histogram"):
                cells.append(interval(safemargin.outcome(votes=votes, ties=named, publish=published)))
        short = name.replace("2007 Scotland ", "").replace(" Mayoral Election", "")
        row = [short, f"{sum(counts.values()):,}", str(len(named)), *cells]
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()

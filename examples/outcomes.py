"""Who wins real ranked elections under each rule, and how private the winner and the counts are.

    python examples/outcomes.py preflib_ranked_elections_dev.parquet [elections]

The file has a row per election and ranking, with columns `election`, `count` and `order` (numbers of candidates between
commas), as in PrefLib. A vote that ranks several candidates equally is read up to there. The onlooker believes that
everybody else votes independently with the shares of the result. Prints a Markdown table: the winner under each rule
and, in brackets, delta at epsilon 0 of publishing it.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

import safemargin

RULES = "plurality veto approval-3 borda stv maximin copeland bucklin bucklin-simple ranked-pairs schulze".split()
DRAWS = 4_000


def write_elections(path: str, folder: Path) -> dict[str, Path]:
    """Every election as a PrefLib file, by its name."""
    query = f"""select election, "order", sum("count")::bigint from '{path}' group by all order by all"""
    votes: dict[str, list[tuple[int, str]]] = {}
    for election, order, count in duckdb.sql(query).fetchall():
        ranked = order.split("{")[0].strip(",")
        if ranked:
            votes.setdefault(election, []).append((count, ranked))
    files = {}
    for number, (election, rankings) in enumerate(votes.items()):
        size = max(int(candidate) for _, ranked in rankings for candidate in ranked.split(","))
        names = [f"# ALTERNATIVE NAME {candidate}: {candidate}" for candidate in range(1, size + 1)]
        lines = [f"{count}: {ranked}" for count, ranked in rankings]
        files[election] = folder / f"{number}.soi"
        files[election].write_text("\n".join([*names, *lines, ""]), encoding="utf-8")
    return files


def shown(privacy: safemargin.Result) -> str:
    """Delta, and how sure it is."""
    document = privacy.to_json()
    if document["exact"]:
        return f"{document['delta']:.2g}"
    low, high = document["interval"]
    return f"{low:.1g} to {high:.1g}"


def main() -> None:
    path, most = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    columns = ["election", "voters", "cands", *RULES, "δ tops", "δ histogram"]
    print("| " + " | ".join(columns) + " |")
    print("|---" * len(columns) + "|")
    with TemporaryDirectory() as folder:
        for name, file in list(write_elections(path, Path(folder)).items())[:most]:
            results = [safemargin.outcome(rule, votes=file, draws=DRAWS) for rule in RULES]
            cells = [f"{result.winner} ({shown(result)})" for result in results]
            counted = [safemargin.outcome("plurality", votes=file, publish=what) for what in ("tops", "histogram")]
            short = name.replace("2007 Scotland ", "").replace(" Mayoral Election", "")
            size = str(len(results[0].names))
            row = [short, f"{results[0].voters:,}", size, *cells, *map(shown, counted)]
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()

"""Engines for the privacy of an outcome against plain enumeration, in one run; then how far they reach.

    python benchmarks/bench_outcome.py [reach]

All rankings equally likely. Every engine must agree with enumeration to 1e-12. With `reach`, also the largest cases,
without a peer: plurality with 10 candidates and a million voters, Borda and STV with 2,000, a majority of 10 million.
"""

import sys
import time
from collections.abc import Callable

from safemargin.core import no_progress
from safemargin.voting.chances import OutcomeDistribution
from safemargin.voting.crossings import crossings
from safemargin.voting.election import Election, uniform
from safemargin.voting.elimination import count_transfers
from safemargin.voting.grid import convolve, enumerate_votes, grid_of, transform
from safemargin.voting.measure import measure
from safemargin.voting.plurality import count_trails
from safemargin.voting.rules import rule_named

CASES: list[tuple[str, int, str, Callable[[Election], OutcomeDistribution]]] = [
    ("borda", 50, "convolution", lambda e: convolve(e.kinds, grid_of(e.kinds))),
    ("borda", 50, "FFT", lambda e: transform(e.kinds, grid_of(e.kinds), crossings(e.kinds), no_progress)),
    ("maximin", 50, "convolution", lambda e: convolve(e.kinds, grid_of(e.kinds))),
    ("stv", 50, "dynamic programming", lambda e: count_transfers(e.kinds)),
    ("plurality", 2000, "trails", lambda e: count_trails(e.kinds)),
]
REACH = [("plurality", 10, 1_000_000), ("borda", 3, 2_000), ("stv", 3, 2_000), ("majority", 2, 10_000_000)]


def timed(work: Callable[[Election], OutcomeDistribution], election: Election) -> tuple[float, float]:
    """CPU seconds and delta."""
    start = time.process_time()
    delta = work(election).worst().delta
    return time.process_time() - start, delta


def main() -> None:
    for name, voters, engine, run in CASES:
        rule = rule_named(name, 3)
        election = Election(rule, voters, uniform(rule))
        slow, expected = timed(lambda e: enumerate_votes(e.kinds), election)
        fast, delta = timed(run, election)
        assert abs(delta - expected) < 1e-12
        print(f"{name} n={voters} {engine}: {fast:.3f} s, enumeration {slow:.2f} s, ratio {slow / max(fast, 1e-4):.0f}")
    if len(sys.argv) > 1:
        for name, size, voters in REACH:
            rule = rule_named(name, size)
            start = time.process_time()
            answer = measure(Election(rule, voters, uniform(rule)))
            taken = time.process_time() - start
            print(f"{name} m={size} n={voters:,}: delta {answer.delta:.6g}, {answer.engine}, {taken:.1f} CPU s")


if __name__ == "__main__":
    main()

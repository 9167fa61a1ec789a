"""Several questions in one release: CPU seconds, results that are exact, and the label.

    python benchmarks/bench_questions.py [--large]

20 questions of 5 options by 3 axes for 1,000 people; with `--large` also 200 questions for 50,000 people by 4 axes with
2,000 occupied profiles. Answers are random and follow the first axis a little.
"""

import argparse
import time
from collections.abc import Sequence

import numpy as np
import pyarrow

import safemargin
from safemargin.core import Target


def answers(people: int, questions: int, sizes: Sequence[int], profiles: int) -> pyarrow.Table:
    """A row per person: a category of every axis, and an answer from 1 to 5 to every question."""
    rng = np.random.default_rng(1)
    every = np.unique(rng.integers(0, sizes, size=(2 * profiles, len(sizes))), axis=0)
    held = rng.permutation(every)[:profiles]
    chosen = held[rng.choice(len(held), people, p=rng.dirichlet(np.full(len(held), 0.8)))]
    level = 3.2 + rng.normal(0, 0.4, questions)[None, :] + 0.2 * (chosen[:, :1] / sizes[0] - 0.5)
    scale = np.clip(np.rint(level + rng.normal(0, 1.1, level.shape)), 1, 5).astype(int)
    columns = {name: [f"{name}{code:02d}" for code in chosen[:, a]] for a, name in enumerate("abcd"[: len(sizes)])}
    return pyarrow.table(columns | {f"q{q}": scale[:, q].astype(str) for q in range(questions)})


def measure(people: int, questions: int, sizes: Sequence[int], profiles: int) -> None:
    table = answers(people, questions, sizes, profiles)
    started = time.process_time()
    made = safemargin.release(table, answers="q*", by=list("abcd"[: len(sizes)]), target=Target(kappa=10))
    seconds, exact = time.process_time() - started, made.to_json()["exact"]
    print(
        f"{questions} questions, {people:,} people, {len(sizes)} axes: {seconds:.1f} CPU s, "
        f"{exact['cells']:,} of {exact['of']:,} results exact, rule {made.certificate.rule}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true")
    large = parser.parse_args().large
    measure(1_000, 20, (5, 5, 3), 75)
    if large:
        measure(50_000, 200, (20, 10, 8, 5), 2_000)

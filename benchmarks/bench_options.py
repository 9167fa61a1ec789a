"""CPU seconds of a release by the number of options: 200,000 people by four axes, 2 to 20 options.

    python benchmarks/bench_options.py [--people 200000] [--options 2 3 5 10 20] [--seed 0]

Prints one line per number of options: CPU seconds of deciding and attacking (alternatives are not computed), seconds
per option, the label of the rule, and what is exact. The goal is that seconds grow at most linearly with the options.
"""

import argparse
import time

import numpy as np

from safemargin.core import Axis, Onlooker, Schema, Table, Tally, Target, frozen, no_progress, onlooker_with_roll
from safemargin.release.decide.decide import decide

AXES = {"district": 60, "age": 8, "tenure": 5, "sector": 12}


def electorate(people: int, options: int, seed: int) -> Table:
    """People at random, districts of unequal size, and options whose shares differ by district and age."""
    generator = np.random.default_rng(seed)
    columns = [generator.choice(size, people, p=generator.dirichlet(np.full(size, 5.0))) for size in AXES.values()]
    base = generator.dirichlet(np.full(options, 3.0))
    lean = [generator.normal(0, 0.3, (size, options)) for size in AXES.values()]
    score = np.log(base) + sum(part[column] for part, column in zip(lean, columns, strict=True))
    answers = (score + generator.gumbel(size=(people, options))).argmax(axis=1)  # Gumbel-max draws by these shares
    codes, place = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    votes = np.zeros((len(codes), options), dtype=np.int64)
    np.add.at(votes, (place.ravel(), answers), 1)
    axes = tuple(Axis(name, tuple(f"{name}{code:02d}" for code in range(size))) for name, size in AXES.items())
    schema = Schema(axes, tuple(f"option {number + 1}" for number in range(options)))
    roll = Tally(schema.names, frozen(codes, len(axes)), frozen(votes.sum(axis=1), 1))
    return Table(schema, (Tally(schema.names, roll.codes, frozen(votes, options)),), (roll,))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=200_000)
    parser.add_argument("--options", type=int, nargs="+", default=[2, 3, 5, 10, 20])
    parser.add_argument("--seed", type=int, default=0)
    said = parser.parse_args()
    print("options  CPU s  CPU s per option  rule       exact groups")
    for options in said.options:
        table = electorate(said.people, options, said.seed)
        onlookers: tuple[Onlooker, ...] = (onlooker_with_roll(table, "joint"),)
        started = time.process_time()
        plan = decide(table, Target(), onlookers, progress=no_progress)
        seconds = time.process_time() - started
        exact = sum(str(decision.action) == "exact" for decision in plan.decisions)
        each, groups = seconds / options, f"{exact} of {len(plan.decisions)}"
        print(f"{options:7}  {seconds:5.1f}  {each:16.2f}  {plan.certificate.rule:9}  {groups}", flush=True)


if __name__ == "__main__":
    main()

"""An onlooker who lists every answer to several questions, by the definition: all tuples that lead to the same files.

Shares no code with the search for witnesses. `F` is the whole rule for all questions; `F^-1(P)` are the tuples of
tables, one per question, for which it publishes the same as for the true answers. Populations are so small that every
table that agrees with what is printed can be listed. The rule reads sums of single axes only, so it is run once for all
tables with the same sums. What is left of a question is the set of its tables that occur in some tuple.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

from cases import Town
from reruns import random_secrets, secrets_by_hand
from safemargin.core import Axis, Schema, Table, Tally, Target, frozen, onlooker_with_roll
from safemargin.release.decide.decide import decide
from safemargin.release.decide.shared_groups import decide_common
from safemargin.release.plan import Plan
from safemargin.release.publish import publish

MOST_TABLES, MOST_RUNS = 20_000, 400
Votes = tuple[tuple[int, ...], ...]
"""Answers by profile and option."""


@dataclass(frozen=True)
class Survey:
    """The same people, one town per question with those who answered it; `grouping` and `protect` as in a project."""

    towns: tuple[Town, ...]
    targets: tuple[Target, ...]
    grouping: str
    protect: str

    def run(self, votes: Sequence[Votes]) -> tuple[Sequence[Plan], tuple[Any, ...]]:
        """The whole rule on these answers, and everything that it prints."""
        towns = [
            Town(t.axes, t.categories, t.options, t.people, dict(zip(t.people, own, strict=True)))
            for t, own in zip(self.towns, votes, strict=True)
        ]
        tables = [town.table() for town in towns]
        watching = [[onlooker_with_roll(table, "joint")] for table in tables]
        if self.grouping == "common" and len(tables) > 1:
            plans: Sequence[Plan] = decide_common(
                self.everybody(), tables, self.targets, watching, protect=self.protect
            )
        else:
            each = zip(tables, self.targets, watching, strict=True)
            plans = [decide(table, target, onlookers, protect=self.protect) for table, target, onlookers in each]
        label = all(plan.certificate.rule == "rerun" for plan in plans)
        shown: list[Any] = [label, all(plan.certificate.certified for plan in plans)]
        for plan, table in zip(plans, tables, strict=True):
            for each_table in publish(plan, table).tables:
                cells = [tuple(each_table.cell(row).items()) for row in range(len(each_table.lower))]
                counts = [each_table.option.tolist(), each_table.lower.tolist(), each_table.upper.tolist()]
                shown.append((each_table.name, tuple(cells), *map(tuple, counts)))
        return plans, tuple(shown)

    def everybody(self) -> Table:
        """The roll of everybody: a person of the largest roll answered the others too."""
        people: dict[tuple[str, ...], int] = {}
        for town in self.towns:
            for profile, number in town.people.items():
                people[profile] = max(people.get(profile, 0), number)
        first = self.towns[0]
        schema = Schema(tuple(Axis(a, c) for a, c in zip(first.axes, first.categories, strict=True)), ("answered",))
        codes = [[schema.axes[a].index[name] for a, name in enumerate(profile)] for profile in people]
        roll = Tally(first.axes, frozen(codes, len(first.axes)), frozen(list(people.values()), 1))
        return Table(schema, (roll,), (roll,))

    @property
    def truth(self) -> list[Votes]:
        return [tuple(town.votes.values()) for town in self.towns]


def random_survey(seed: int, questions: int, grouping: str, protect: str, options: Sequence[int] = (2, 3)) -> Survey:
    """At most 30 people on one axis of three or four groups, or two of two; answers that are often nearly alike."""
    rng = np.random.default_rng([seed, 271])
    names, sizes = (("p",), (int(rng.integers(3, 5)),)) if rng.random() < 0.6 else (("p", "q"), (2, 2))
    categories = tuple(tuple(f"{name}{i}" for i in range(size)) for name, size in zip(names, sizes, strict=True))
    cells = list(product(*categories))
    most = 30 // len(cells)
    roll = {cell: int(rng.integers(max(most - 3, 2), most + 1)) for cell in cells}
    kappa, tau = int(rng.choice([2, 3, 5])), int(rng.choice([0, 0, 1]))
    towns, targets = [], []
    for number in range(questions):
        count = int(rng.choice(options))
        people = {cell: n - int(rng.random() < 0.2) for cell, n in roll.items()} if number else dict(roll)
        votes = {}
        for cell, n in people.items():
            shares = rng.dirichlet(np.full(count, 0.6)) if rng.random() < 0.6 else np.full(count, 1 / count)
            votes[cell] = tuple(rng.multinomial(n, shares).tolist())
        letters = tuple("ABCD"[:count])
        towns.append(Town(names, categories, letters, people, votes))
        secrets = random_secrets(seed * 10 + number, letters)
        targets.append(Target(beta=float(rng.choice([0.1, 0.2])), kappa=kappa, tau=tau, secrets=secrets))
    return Survey(tuple(towns), tuple(replace_beta(targets)), grouping, protect)


def replace_beta(targets: Sequence[Target]) -> Iterator[Target]:
    """All questions have the limits of the first: a project states them once."""
    for target in targets:
        yield Target(beta=targets[0].beta, kappa=target.kappa, tau=target.tau, secrets=target.secrets)


def compositions(people: int, options: int) -> list[tuple[int, ...]]:
    """All ways in which so many people choose among the options."""
    if options == 1:
        return [(people,)]
    return [(first, *rest) for first in range(people + 1) for rest in compositions(people - first, options - 1)]


def agreeing(town: Town, printed: Sequence[tuple[Mapping[str, Sequence[str]], str, int]]) -> np.ndarray | None:
    """Every table of answers that agrees with the printed counts (groups by axis, option, count); none if too many."""
    profiles = list(town.people)
    facts = []
    for groups, option, count in printed:
        inside = [all(p[town.axes.index(a)] in names for a, names in groups.items()) for p in profiles]
        facts.append((np.array(inside), town.options.index(option), count))
    found = np.zeros((1, 0, len(town.options)), dtype=np.int64)
    for place, profile in enumerate(profiles):
        own = np.array(compositions(town.people[profile], len(town.options)))
        found = np.concatenate([np.repeat(found, len(own), axis=0), np.tile(own, (len(found), 1))[:, None, :]], axis=1)
        keep = np.ones(len(found), dtype=bool)
        for inside, option, count in facts:  # what is left of the group can still be chosen, or not
            sums = found[:, inside[: place + 1], option].sum(axis=1)
            left = sum(
                town.people[p] for p, is_in in zip(profiles[place + 1 :], inside[place + 1 :], strict=True) if is_in
            )
            keep &= (sums <= count) & (sums + left >= count)
        found = found[keep]
        if len(found) > MOST_TABLES:
            return None
    return found


def printed_counts(town: Town, plan: Plan) -> list[tuple[Mapping[str, Sequence[str]], str, int]]:
    """What is printed of a question, as facts about its tables."""
    facts = []
    for table in publish(plan, town.table()).tables:
        for row in range(len(table.lower)):
            if table.lower[row] == table.upper[row]:
                groups = {a: sorted(table.groups[i][table.codes[row, i]]) for i, a in enumerate(table.axes)}
                facts.append((groups, table.options[table.option[row]], int(table.lower[row])))
    return facts


def axis_sums(town: Town, tables: np.ndarray) -> list[bytes]:
    """What the rule reads of every table: the counts of every category of single axes."""
    sums = []
    for a, names in enumerate(town.categories):
        for name in names:
            inside = np.array([profile[a] == name for profile in town.people])
            sums.append(tables[:, inside].sum(axis=1))
    return [row.tobytes() for row in np.concatenate(sums, axis=1)]


def possible(survey: Survey, plans: Sequence[Plan], shown: object) -> list[np.ndarray] | None:
    """Per question its tables that occur in `F^-1(P)`; none if there are too many to list."""
    listed, classes = [], []
    for town, plan in zip(survey.towns, plans, strict=True):
        tables = agreeing(town, printed_counts(town, plan))
        if tables is None:
            return None
        sums = axis_sums(town, tables)
        listed.append((tables, sums))
        classes.append({key: number for number, key in enumerate(sums)})  # one table of every class
    if int(np.prod([len(each) for each in classes])) > MOST_RUNS:
        return None
    left: list[set[bytes]] = [set() for _ in classes]
    for chosen in product(*classes):
        votes = [
            tuple(map(tuple, tables[own[key]].tolist()))
            for (tables, _), own, key in zip(listed, classes, chosen, strict=True)
        ]
        if survey.run(votes)[1] == shown:
            for found, key in zip(left, chosen, strict=True):
                found.add(key)
    return [tables[[key in kept for key in sums]] for (tables, sums), kept in zip(listed, left, strict=True)]


def cells_of(town: Town, plan: Plan) -> dict[str, np.ndarray]:
    """Profiles, categories, published groups, and two of those together: which profiles are in each."""
    profiles = list(town.people)
    parts: list[dict[str, np.ndarray]] = []
    for a, axis in enumerate(town.axes):
        groups = {f"{axis} {name}": {name} for name in town.categories[a]}
        groups |= {f"{axis} {'|'.join(sorted(d.group))}": set(d.group) for d in plan.axis(axis)}
        parts.append({name: np.array([p[a] in inside for p in profiles]) for name, inside in groups.items()})
    cells = {name: inside for part in parts for name, inside in part.items()}
    for one, other in combinations(parts, 2):
        cells |= {f"{a}, {b}": x & y for (a, x), (b, y) in product(one.items(), other.items())}
    return {name: inside for name, inside in cells.items() if inside.any()}


def disclosed(town: Town, target: Target, plan: Plan, tables: np.ndarray) -> list[str]:
    """Cells and secrets that are disclosed if just these tables are possible, by section 1 of docs/target.md."""
    people = np.array(list(town.people.values()))
    everybody, beta = int(people.sum()), Fraction(target.beta).limit_denominator(10**9)
    secrets, few = secrets_by_hand(town.options, target.secrets)
    totals = np.array(list(town.votes.values())).sum(axis=0)
    found = []
    for name, inside in cells_of(town, plan).items():
        size = int(people[inside].sum())
        counts = tables[:, inside].sum(axis=1)
        for secret in secrets:
            chosen = sorted(secret)
            total = int(totals[chosen].sum())
            share = Fraction(total, everybody)
            ceiling, near = (1 - min(beta, (1 - share) / 2)) * size, min(target.tau, size // 4)
            values = counts[:, chosen].sum(axis=1)
            intervals = (int(values.min()), int(values.max())), (max(total - (everybody - size), 0), min(total, size))
            verdicts = [_is_disclosed(low, high, size, share, ceiling, near, target.kappa, few.get(secret, 0))
                        for low, high in intervals]  # fmt: skip
            if verdicts[0] and not verdicts[1]:  # what the total and the roll alone disclose does not count
                found.append(f"{name}: {[town.options[o] for o in chosen]} {intervals[0]} of {size}")
    return found


def _is_disclosed(
    low: int, high: int, size: int, share: Fraction, ceiling: Fraction, near: int, kappa: int, few: int
) -> bool:
    if share in (0, 1):
        return False
    if few and low >= 1 and high <= few:
        return True
    if size >= kappa and high <= ceiling:
        return False
    return low > ceiling or (high - low <= near and low >= 1)

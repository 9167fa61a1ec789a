"""An attack from the definition: somebody who knows the roll and the rule, and runs the whole program on other answers.

Shares no code with the search for witnesses. Everything that the onlooker cannot exclude is a table `W` of answers by
full profile that agrees with what is published and for which the program publishes the same files. Tables are collected
by Markov moves (two people exchange answers, two others exchange them back) from starting points that are put through
the program; moves keep the counts of every group that the roll alone makes, and without tables of several axes the
program reads nothing else. For a cell that is not shown to be open in this way, integer programs look for other tables,
which are put through the program too. If none has a count within the target, or all together leave it known to within
`tau`, that is a break.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from itertools import combinations, product
from math import ceil, floor
from unittest.mock import patch

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from cases import Town
from safemargin.core import Limits, Secrets, Table, Target, onlooker_with_roll
from safemargin.release.decide.decide import decide
from safemargin.release.decide.maximise import maximise
from safemargin.release.plan import Plan, Wanted
from safemargin.release.publish import publish
from safemargin.release.rule.candidates import Candidate, ReleaseRule
from safemargin.release.rule.protect import by_size
from safemargin.release.rule.split import unmerged_split

Cells = dict[tuple[tuple[str, ...], tuple[str, ...]], list[int]]
"""Profiles (by number) of every cell, by its axes and categories."""


def random_city(
    seed: int,
    most: int = 5_000,
    axes: Sequence[int] = (2, 3, 4),
    wide: bool = False,
    answers: Sequence[int] = (2, 2, 2, 3),
) -> tuple[Town, Target]:
    """A population of uneven groups whose answers follow their categories, more or less strongly.

    The first axis of a `wide` city has 8 to 12 categories, of which `auto` suppresses single ones.
    """
    rng = np.random.default_rng([seed, 99])
    count, options = int(rng.choice(axes)), int(rng.choice(answers))
    people = int(np.exp(rng.uniform(np.log(60), np.log(most))))
    widest = 5 if count > 3 else 7
    names = "pqrs"[:count]
    categories = [tuple(f"{name}{i}" for i in range(int(rng.integers(2, widest)))) for name in names]
    if wide:
        categories[0] = tuple(f"p{i}" for i in range(int(rng.integers(8, 13))))
    cells = list(product(*categories))
    weights = rng.gamma(1.0, size=len(cells))
    sizes = [rng.dirichlet(np.full(len(each), 1.5)) for each in categories]
    spread = float(rng.choice([0.3, 0.8, 1.5, 2.5]))
    pulls = [rng.normal(0, spread, (len(each), options)) for each in categories]
    base = rng.normal(0, 0.5, options)
    codes = [[categories[a].index(name) for a, name in enumerate(cell)] for cell in cells]
    weights *= np.array([np.prod([sizes[a][code] for a, code in enumerate(row)]) for row in codes])
    numbers = rng.multinomial(people, weights / weights.sum())
    there, votes = {}, {}
    for cell, row, number in zip(cells, codes, numbers.tolist(), strict=True):
        if number:
            pull = base + sum(pulls[a][code] for a, code in enumerate(row))
            chances = np.exp(pull - pull.max())
            there[cell] = number
            votes[cell] = tuple(rng.multinomial(number, chances / chances.sum()).tolist())
    target = Target(
        beta=float(rng.choice([0.05, 0.05, 0.1])), kappa=int(rng.choice([5, 10, 30])), tau=int(rng.choice([0, 0, 1, 3]))
    )
    return Town(tuple(names), tuple(categories), tuple("ABCDEF"[:options]), there, votes), target


def random_secrets(seed: int, options: Sequence[str]) -> Secrets:
    """Secrets of every kind: families for all options and for some, halves of a scale, own sets, small counts."""
    rng = np.random.default_rng([seed, 98])
    one, other = rng.choice(len(options), 2, replace=False).tolist()
    kinds: list[object] = [
        "choice",
        "both",
        {options[one]: "both"},
        {options[one]: "none"},
        {options[one]: "none", options[other]: "both"},
        {options[one]: {"least": int(rng.integers(2, 5))}},
        *([{"sets": [[options[one], options[other]]]}] if len(options) > 2 else []),
    ]
    secrets = Secrets.parse(kinds[int(rng.integers(len(kinds)))])
    if len(options) < 4 or rng.random() >= 0.4:
        return secrets
    return replace(secrets, wide=bool(rng.random() < 0.5)).with_halves(options)


@contextmanager
def remembered_proofs() -> Iterator[None]:
    """Prove each release once: the proof looks at nothing but the release, which a test checks, and takes longest."""
    module = import_module("safemargin.release.decide.decide")
    known: dict[object, object] = {}
    real = module.prove

    def prove(rule: ReleaseRule, candidate: Candidate, *rest: object, **said: object) -> object:
        key = public_key(rule, candidate), said.get("insist", True)
        if key not in known:
            known[key] = real(rule, candidate, *rest, **said)
        return known[key]

    with patch.object(module, "prove", prove):
        yield


def public_key(rule: ReleaseRule, candidate: Candidate) -> object:
    """Everything that a release prints."""
    tables = candidate.tables(rule.table)
    return candidate.key(), tuple((t.axes, t.codes.tobytes(), t.lower.tobytes(), t.upper.tobytes()) for t in tables)


Ran = tuple[Plan, tuple[object, ...]]


def unguarded(place: Town, target: Target) -> Ran:
    """The program as it would be without its guard: decisions at the limits of the target, and no witness asked for."""
    with patch.object(Limits, "strict", property(lambda limits: limits)):
        return run(place, target, knows_rule=False)


def run(place: Town, target: Target, knows_rule: bool = True) -> Ran:
    """The whole program, and everything that it shows: tables in the order of their rows, and the certificate."""
    table = place.table()
    plan = decide(table, target, [onlooker_with_roll(table, "joint", knows_rule=knows_rule)])
    return plan, what_is_shown(plan, table)


def what_is_shown(plan: Plan, table: Table) -> tuple[object, ...]:
    """Everything that a plan shows: the certificate, and the rows of its tables."""
    shown: list[object] = [plan.certificate]
    for made in publish(plan, table).tables:
        labels = [tuple(made.cell(row).items()) for row in range(len(made.lower))]
        shown.append((made.name, labels, made.option.tolist(), made.lower.tolist(), made.upper.tolist()))
    return tuple(shown)


def with_votes(place: Town, votes: np.ndarray) -> Town:
    """The same people with other answers, given in the order of the profiles."""
    return replace(place, votes=dict(zip(place.people, map(tuple, votes.tolist()), strict=True)))


def witnesses(place: Town, plan: Plan) -> Iterator[np.ndarray]:
    """The tables of the certificate, by profile and option."""
    for table in plan.tables:
        names = [tuple(place.categories[a][code] for a, code in enumerate(row)) for row in table.codes.tolist()]
        listed = dict(zip(names, table.counts, strict=True))
        yield np.array([listed[profile] for profile in place.people])


def cells_of(place: Town) -> Cells:
    """Every cell of any axes that has people."""
    cells: Cells = {}
    for size in range(1, len(place.axes) + 1):
        for chosen in combinations(range(len(place.axes)), size):
            for number, profile in enumerate(place.people):
                key = tuple(place.axes[a] for a in chosen), tuple(profile[a] for a in chosen)
                cells.setdefault(key, []).append(number)
    return cells


@dataclass
class Ranges:
    """Per cell (rows) and secret: the lowest and highest count seen, and whether one within the limits was."""

    lower: np.ndarray
    upper: np.ndarray
    within: np.ndarray


def limits_by_hand(place: Town, target: Target, people: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least and most count per cell and option of two, from the words of docs/target.md."""
    totals = [place.count((), (), option) for option in place.options]
    everybody = sum(place.people.values())
    beta = Fraction(target.beta).limit_denominator(10**9)
    shares = [Fraction(total, everybody) for total in totals]
    floors = [min(beta, share / 2) if len(place.options) == 2 else Fraction(0) for share in shares]
    rests = [min(beta, (1 - share) / 2) for share in shares]
    least = [[ceil(floor_ * n) for floor_ in floors] for n in people.tolist()]
    most = [[floor((1 - rest) * n) for rest in rests] for n in people.tolist()]
    return np.array(least), np.array(most)


def secrets_by_hand(options: Sequence[str], secrets: Secrets) -> tuple[list[frozenset[int]], dict[frozenset[int], int]]:
    """Every set of options that is secret, and the small counts of options that are, from docs/target.md."""
    every, listed = frozenset(range(len(options))), list[frozenset[int]]()
    for number, option in enumerate(options):
        family = dict(secrets.options).get(option, secrets.default)
        listed += [frozenset([number])] if family != "none" else []
        listed += [every - {number}] if family == "both" else []
    listed += [frozenset(options.index(name) for name in names) for names in secrets.sets]
    few = {frozenset([options.index(option)]): least - 1 for option, least in secrets.least}
    return list(dict.fromkeys([*listed, *few])), few


def roll_groups(place: Town, target: Target) -> list[tuple[int, ...]]:
    """Per profile the groups of its categories once those below `kappa` are merged, which the roll alone decides."""
    table = place.table()
    homes = []
    for name in place.axes:
        groups = by_size(unmerged_split(table, name), target.kappa).groups
        homes.append({category: number for number, group in enumerate(groups) for category in group})
    return [tuple(home[name] for home, name in zip(homes, profile, strict=True)) for profile in place.people]


def part_groups(place: Town, plan: Plan) -> list[tuple[int, ...]]:
    """Per profile the groups whose sums all witnesses share; of axes without such groups, the published ones."""
    parts = dict(plan.shared_sums)
    homes = []
    for name in place.axes:
        groups = parts.get(name) or [decision.group for decision in plan.axis(name)]
        homes.append({category: number for number, group in enumerate(groups) for category in group})
    return [tuple(home[name] for home, name in zip(homes, profile, strict=True)) for profile in place.people]


def exchanges(
    groups: list[tuple[int, ...]], rng: np.random.Generator, votes: np.ndarray, moves: int, together: int = 1
) -> Iterator[np.ndarray]:
    """Tables on a random walk of exchanges that leave every count of every group of the roll as it is, and with
    `together` 2 those of every pair of groups.

    Two profiles and a partition of the axes into `together + 1` parts span a cube: its corner `S` takes the groups of
    the second profile on the parts in `S` and those of the first elsewhere, and people there change their answer with
    the sign of `S`. A table of at most `together` axes lacks a part, along which changes cancel.
    """
    inside: dict[tuple[int, ...], list[int]] = {}
    for number, group in enumerate(groups):
        inside.setdefault(group, []).append(number)
    votes = votes.copy()
    corners = list(product((0, 1), repeat=together + 1))
    for _ in range(moves):
        first, second = (int(n) for n in rng.integers(len(groups), size=2))
        part = rng.integers(together + 1, size=len(groups[0])).tolist()
        both, change = (groups[first], groups[second]), np.zeros(len(groups), dtype=np.int64)
        named = [tuple(both[corner[p]][a] for a, p in enumerate(part)) for corner in corners]
        if not all(name in inside for name in named):
            continue
        for corner, name in zip(corners, named, strict=True):
            change[int(rng.choice(inside[name]))] += (-1) ** sum(corner)
        one, two = rng.choice(votes.shape[1], 2, replace=False)
        up, down = change > 0, change < 0
        if not up.any():
            continue
        room = int(min((votes[up, one] // change[up]).min(), (votes[down, two] // -change[down]).min()))
        if room:
            units = int(rng.integers(1, room + 1))
            votes[:, one] -= units * change
            votes[:, two] += units * change
            yield votes


def group_counts(groups: list[tuple[int, ...]], votes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Per axis and group of the roll which profiles are in it, and the counts of its options."""
    codes = np.array(groups)
    masks = [codes[:, a] == group for a in range(codes.shape[1]) for group in np.unique(codes[:, a])]
    return [(mask, votes[mask].sum(axis=0)) for mask in masks]


def printed_facts(place: Town, plan: Plan) -> list[tuple[np.ndarray, int, int]]:
    """Every count that is printed: which profiles are in its cell, its option, and the count."""
    facts, profiles = [], list(place.people)
    for table in publish(plan, place.table()).tables:
        for row in range(len(table.lower)):
            if table.lower[row] == table.upper[row]:
                groups = [(place.axes.index(a), table.groups[i][table.codes[row, i]]) for i, a in enumerate(table.axes)]
                inside = np.array([all(profile[a] in group for a, group in groups) for profile in profiles])
                facts.append((inside, int(table.option[row]), int(table.lower[row])))
    return facts


def nearest_table(
    place: Town,
    plan: Plan,
    groups: list[tuple[int, ...]],
    votes: np.ndarray,
    cell: np.ndarray,
    ends: tuple[int, int],
    weights: np.random.Generator,
) -> np.ndarray | None:
    """The table that agrees with what is published, has a cell (1 per count in it) between two ends, and changes the
    counts by group of the roll least, with random weights.
    """
    people, (profiles, options) = np.array(list(place.people.values())), votes.shape
    facts = printed_facts(place, plan)
    inner = [mask for mask, _ in group_counts(groups, votes)]
    columns = profiles * options
    moved = [(mask, o) for mask in inner for o in range(options)]

    def row(mask: np.ndarray, option: int) -> np.ndarray:
        entries = np.zeros((profiles, options))
        entries[mask, option] = 1
        return entries.ravel()

    fixed = [row(mask, o) for mask, o, _ in facts] + [np.repeat(np.eye(profiles)[n], options) for n in range(profiles)]
    sums = [count for _, _, count in facts] + people.tolist()
    free = np.stack([row(mask, o) for mask, o in moved])
    away = np.array([votes[mask, o].sum() for mask, o in moved])
    both = np.hstack([free, -np.eye(len(moved)), np.eye(len(moved))])
    wide = np.hstack([np.stack([*fixed, cell.ravel()]), np.zeros((len(fixed) + 1, 2 * len(moved)))])
    rules = LinearConstraint(csr_array(np.vstack([wide, both])), np.r_[sums, ends[0], away], np.r_[sums, ends[1], away])
    cost = np.r_[np.zeros(columns), 1 + weights.random(2 * len(moved))]
    best = milp(cost, constraints=rules, integrality=np.ones(len(cost)), bounds=Bounds(0, np.inf))
    return None if best.x is None else np.rint(best.x[:columns]).astype(np.int64).reshape(votes.shape)


def breaks(
    place: Town,
    target: Target,
    plan: Plan,
    shown: object,
    starts: Sequence[np.ndarray],
    moves: int = 300,
    program: Callable[[Town, Target], Ran] = run,
    groups: list[tuple[int, ...]] | None = None,
    together: int = 1,
) -> list[object]:
    """Cells that somebody who knows the rule confines, given `starts` for which the program publishes the same.

    `groups` are those that rolls alone make; the program reads no finer counts, of at most `together` axes at once.
    """
    cells, groups = cells_of(place), groups or roll_groups(place, target)
    members = np.zeros((len(cells), len(place.people)), dtype=np.int64)
    for row, inside in enumerate(cells.values()):
        members[row, inside] = 1
    people = members @ np.array(list(place.people.values()))
    secrets, few_of = secrets_by_hand(place.options, target.secrets)
    chosen = np.array([[option in secret for secret in secrets] for option in range(len(place.options))], dtype=float)
    few = np.array([few_of.get(secret, 0) for secret in secrets])
    least, most, stated = _counts_by_hand(place, target, people, secrets)
    tolerance = np.minimum(target.tau, people // 4)[:, None]
    sensitive = np.array([tuple(zip(*cell, strict=True)) in [(pair,) for pair in target.sensitive] for cell in cells])
    seen = Ranges(np.full(least.shape, 2**40), np.full(least.shape, -1), np.zeros(least.shape, dtype=bool))

    weights = members.astype(np.float64)  # counts stay far below 2**53, so products of floats are exact

    def look(tables: Iterable[np.ndarray]) -> None:
        """Take the counts of all cells of some tables."""
        listed = [table.copy() for table in tables]
        if listed:
            counts = np.tensordot(np.array(listed, dtype=np.float64), weights, (1, 1)).transpose(0, 2, 1) @ chosen
            seen.lower = np.minimum(seen.lower, counts.min(axis=0).astype(np.int64))
            seen.upper = np.maximum(seen.upper, counts.max(axis=0).astype(np.int64))
            seen.within |= ((counts >= least) & (counts <= most)).any(axis=0)

    def disclosed() -> np.ndarray:
        contained = ((people >= target.kappa) & ~sensitive)[:, None]
        inside = (seen.lower >= least) & (seen.upper <= most) & contained & ((seen.lower > few) | (seen.upper < 1))
        outside = (seen.upper < least) | (seen.lower > most) | (~seen.within & (least <= most))
        outside |= (seen.lower >= 1) & (seen.upper <= few)
        says = (seen.lower >= 1) | sensitive[:, None]  # nobody within a secret is no disclosure of it
        return stated & ~inside & (outside | ((seen.upper - seen.lower <= tolerance) & says))

    rng = np.random.default_rng(1)
    for start in starts:
        look([start])
        look(exchanges(groups, rng, start, moves, together))
        if not disclosed().any():
            return []
    found: list[object] = []
    for row, option in np.argwhere(disclosed()).tolist():
        inside, members_of = list(cells.values())[row], sorted(secrets[option])
        ends_of = int(least[row, option]), int(most[row, option])
        if known_before(place, int(people[row]), members_of, ends_of, int(tolerance[row, 0])):
            continue
        cell = np.zeros((len(place.people), len(place.options)))
        cell[np.ix_(inside, members_of)] = 1
        # What exchanges did not reach, programs may: with few changes to any group, or to those of the witnesses.
        for start, grouping, high in product(starts[::-1] * 3, (part_groups(place, plan), groups), (True, False)):
            if disclosed()[row, option]:
                low, top, size = int(least[row, option]), int(most[row, option]), int(people[row])
                narrow, last = int(tolerance[row, 0]) + 1, int(few[option])
                if seen.lower[row, option] >= 1 and seen.upper[row, option] <= last:
                    ends = (last + 1, size) if high else (0, 0)  # more than a small count, or nobody
                elif not seen.within[row, option] and low <= top:
                    ends = (low, top)
                elif high:
                    ends = (max(low, int(seen.lower[row, option]) + narrow), size)
                else:
                    ends = (0, max(min(top, int(seen.upper[row, option]) - narrow), 0))  # or nobody within the secret
                votes = nearest_table(place, plan, grouping, start, cell, ends, rng) if ends[0] <= ends[1] else None
                if votes is None:  # wide enough in one step is too much: one person further, to either side
                    ends = (int(seen.upper[row, option]) + 1, size) if high else (0, int(seen.lower[row, option]) - 1)
                    votes = nearest_table(place, plan, grouping, start, cell, ends, rng) if ends[0] <= ends[1] else None
                if votes is not None and program(with_votes(place, votes), target)[1] == shown:
                    look([votes])
                    look(exchanges(groups, rng, votes, moves, together))
        if disclosed()[row, option]:
            left = int(seen.lower[row, option]), int(seen.upper[row, option])
            found.append((list(cells)[row], " or ".join(place.options[o] for o in members_of), int(people[row]), *left))
    return found


def _counts_by_hand(
    place: Town, target: Target, people: np.ndarray, secrets: Sequence[frozenset[int]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Least and most count per cell and secret that it may be known to have, and whether there is anything to know.

    A secret has a least count where its complement is a secret as well: more than its ceiling would be known of that.
    """
    everybody, every = sum(place.people.values()), frozenset(range(len(place.options)))
    beta = Fraction(target.beta).limit_denominator(10**9)
    totals = [place.count((), (), option) for option in place.options]
    shares = {secret: Fraction(sum(totals[o] for o in secret), everybody) for secret in secrets}
    rest = {secret: min(beta, (1 - share) / 2) for secret, share in shares.items()}
    least = [[ceil(rest[every - s] * n) if every - s in rest else 0 for s in secrets] for n in people.tolist()]
    most = [[floor((1 - rest[s]) * n) for s in secrets] for n in people.tolist()]
    return np.array(least), np.array(most), np.array([shares[secret] not in (0, 1) for secret in secrets])


def known_before(place: Town, people: int, options: Sequence[int], ends: tuple[int, int], tolerance: int) -> bool:
    """Whether the total alone, which is always published, confines a cell of this size."""
    total = sum(place.count((), (), place.options[option]) for option in options)
    others = sum(place.people.values()) - people
    lower, upper = max(0, total - others), min(total, people)
    return bool(upper < ends[0] or lower > ends[1] or upper - lower <= tolerance)


def attacked(
    place: Town, target: Target, program: Callable[[Town, Target], Ran] = run, most: int = 4
) -> tuple[Plan, list[object], bool]:
    """Run the program, rerun it on the true answers and on up to `most` witnesses of its certificate, and attack.

    The last value says whether all of these lead to the same files.
    """
    with remembered_proofs():
        return _attacked(place, target, program, most)


def _attacked(
    place: Town, target: Target, program: Callable[[Town, Target], Ran], most: int
) -> tuple[Plan, list[object], bool]:
    plan, shown = program(place, target)
    if program is run and plan.certificate.rule != "rerun":
        return plan, [], True  # it says itself that nothing was shown against somebody who knows the rule
    starts = [np.array(list(place.votes.values()))]
    groups, different = roll_groups(place, target), {}
    for votes in witnesses(place, plan) if plan.certificate.rule == "rerun" else ():
        different[tuple(tuple(counts.tolist()) for _, counts in group_counts(groups, votes))] = votes
    # An onlooker believes nothing: only what was put through the program counts as possible.
    starts += list(different.values())[:most]
    same = all(program(with_votes(place, votes), target)[1] == shown for votes in starts[1:])
    return plan, breaks(place, target, plan, shown, starts if same else starts[:1], program=program), same


def crossed_program(seed: int, place: Town) -> Callable[[Town, Target], Ran]:
    """The program as it runs where tables of two axes are asked for: one pair, or several."""
    rng = np.random.default_rng([seed, 97])
    pairs = list(combinations(place.axes, 2))
    count = int(rng.integers(1, len(pairs) + 1))
    wanted = [Wanted(pairs[n]) for n in sorted(rng.choice(len(pairs), count, replace=False).tolist())]
    protect = str(rng.choice(["auto", "merge"]))

    def program(other: Town, target: Target) -> Ran:
        table = other.table()
        watching = [onlooker_with_roll(table, "joint")]
        plan = decide(table, target, watching, protect=protect)
        plan = maximise(plan, table, wanted, watching, protect=protect)
        return plan, what_is_shown(plan, table)

    return program


def attacked_crossed(seed: int, place: Town, target: Target) -> tuple[Plan, list[object], bool]:
    """Attack a release with tables of two axes: by somebody who knows the rule where the label says that it holds
    against them, else by somebody who takes every table that agrees with what is printed for possible.
    """
    with remembered_proofs():
        program = crossed_program(seed, place)
        plan, shown = program(place, target)
        if not plan.certificate.certified:
            return plan, [], True
        is_rule = plan.certificate.rule == "rerun"
        starts = [np.array(list(place.votes.values()))]
        tables = list(witnesses(place, plan))[:4] if is_rule else []
        same = all(program(with_votes(place, votes), target)[1] == shown for votes in tables)
        knows: Callable[[Town, Target], Ran] = program if is_rule else lambda *_: (plan, shown)
        starts += tables if same else []
        return plan, breaks(place, target, plan, shown, starts, program=knows, together=2), same

"""Delta of random elections against brute force from Definition 2: 13 rules, 3 to 7 candidates, incomplete votes.

The rules are written here once more, from docs/rules.md and for votes that name only some candidates.
"""

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from math import exp, factorial, lgamma
from pathlib import Path

import pytest

from evidence import seeds
from safemargin.core import TooLargeError
from safemargin.voting.crossings import crossings
from safemargin.voting.election import Election
from safemargin.voting.outcome import outcome
from safemargin.voting.reading import read_belief
from safemargin.voting.rules import rule_named
from safemargin.voting.sampling import sample

Vote = tuple[int, ...]
Votes = tuple[Vote, ...]
NAMES = "abcdefghijkl"


def place(vote: Vote, c: int) -> int:
    """The place of a candidate; whoever is not named is behind all who are."""
    return vote.index(c) if c in vote else 99


def margin(votes: Votes, a: int, b: int) -> int:
    return sum((place(v, a) < place(v, b)) - (place(v, b) < place(v, a)) for v in votes)


def first_of(scores: list[Fraction] | list[int]) -> int:
    return scores.index(max(scores))  # type: ignore[type-var]


def points(weights: list[int], unnamed_share: bool = True) -> Callable[[Votes, int], int]:
    def summed(votes: Votes, m: int) -> list[Fraction]:
        scores = [Fraction(0)] * m
        for vote in votes:
            left = weights[len(vote) :]
            rest = Fraction(sum(left), len(left)) if left and unnamed_share else Fraction(0)
            for c in range(m):
                scores[c] += weights[vote.index(c)] if c in vote else rest
        return scores

    def winner(votes: Votes, m: int) -> int:
        return first_of(summed(votes, m))

    winner.scores = summed  # type: ignore[attr-defined]
    return winner


def stv(votes: Votes, m: int, drop_first: bool = False) -> int:
    standing = list(range(m))
    while len(standing) > 1:
        tops = Counter(next((c for c in vote if c in standing), None) for vote in votes)
        lowest = [c for c in standing if tops[c] == min(tops[d] for d in standing)]
        standing.remove(lowest[0] if drop_first and len(standing) > 2 else lowest[-1])
    return standing[0]


def bucklin(votes: Votes, m: int, simple: bool = False) -> int:
    for opened in range(1, m + 1):
        mentions = [sum(c in vote[:opened] for vote in votes) for c in range(m)]
        over = [c for c in range(m) if 2 * mentions[c] > len(votes)]
        if over:
            return over[0] if simple else first_of(mentions)
    return first_of(mentions)


def maximin(votes: Votes, m: int) -> int:
    return first_of([min(margin(votes, a, b) for b in range(m) if b != a) for a in range(m)])


def copeland(votes: Votes, m: int) -> int:
    duels = {(a, b): margin(votes, a, b) for a, b in permutations(range(m), 2)}
    return first_of([sum((duels[a, b] > 0) - (duels[a, b] < 0) for b in range(m) if b != a) for a in range(m)])


def schulze(votes: Votes, m: int) -> int:
    strength = {(a, b): margin(votes, a, b) for a, b in permutations(range(m), 2)}
    for k, a, b in product(range(m), repeat=3):
        if len({k, a, b}) == 3:
            strength[a, b] = max(strength[a, b], min(strength[a, k], strength[k, b]))
    return next(a for a in range(m) if all(strength[a, b] >= strength[b, a] for b in range(m) if b != a))


def ranked_pairs(votes: Votes, m: int) -> int:
    duels = sorted((-margin(votes, a, b), a, b) for a, b in permutations(range(m), 2))
    below: dict[int, set[int]] = {c: set() for c in range(m)}

    def reaches(a: int, b: int) -> bool:
        return a == b or any(reaches(c, b) for c in below[a])

    for less, a, b in duels:
        if less <= 0 and not reaches(b, a):
            below[a].add(b)
    return next(c for c in range(m) if not any(c in under for under in below.values()))


def kemeny(votes: Votes, m: int) -> int:
    duels = {(a, b): margin(votes, a, b) for a, b in permutations(range(m), 2)}
    orders = list(permutations(range(m)))
    scores = [sum(duels[o[i], o[j]] for i in range(m) for j in range(i + 1, m)) for o in orders]
    return orders[first_of(scores)][0]


DUELS = (maximin, copeland, schulze, ranked_pairs)


def plain_rules(m: int) -> dict[str, Callable[[Votes, int], int]]:
    rules = {
        "plurality": points([1] + [0] * (m - 1), unnamed_share=False),
        "veto": points([1] * (m - 1) + [0]),
        "approval-2": points([1, 1] + [0] * (m - 2), unnamed_share=False),
        "borda": points(list(range(m - 1, -1, -1))),
        "stv": stv,
        "stv-drop-first": lambda votes, m: stv(votes, m, drop_first=True),
        "maximin": maximin,
        "copeland": copeland,
        "bucklin": bucklin,
        "bucklin-simple": lambda votes, m: bucklin(votes, m, simple=True),
        "ranked-pairs": ranked_pairs,
        "schulze": schulze,
    }
    return {**rules, "kemeny": kemeny} if m <= 6 else rules  # as many as it is offered for


def chances(
    result: Callable[[Votes], object], n: int, shares: dict[Vote, Fraction], votes: list[Vote]
) -> dict[Vote, Counter[object]]:
    """How likely every result is with each vote of the person, over all multisets of the others' votes."""
    likely: dict[Vote, Counter[object]] = {vote: Counter() for vote in votes}
    for others in combinations_with_replacement(shares, n - 1):
        weight = Fraction(factorial(n - 1))
        for vote, count in Counter(others).items():
            weight *= shares[vote] ** count / factorial(count)
        for vote in votes:
            likely[vote][result((*others, vote))] += weight  # type: ignore[assignment]
    return likely


def largest(likely: dict[Vote, Counter[object]], epsilon: float) -> float:
    """The largest sum of positive parts over ordered pairs of votes."""
    return max(
        sum(max(float(x[r]) - exp(epsilon) * float(y[r]), 0.0) for r in x)
        for x in likely.values()
        for y in likely.values()
    )


def tied(rule: Callable[[Votes, int], int], votes: Votes, m: int) -> frozenset[int]:
    """Everybody who wins in some order of the candidates."""
    winners = set()
    for order in permutations(range(m)):
        renamed = tuple(tuple(order[c] for c in vote) for vote in votes)
        winners.add(order.index(rule(renamed, m)))
    return frozenset(winners)


def scores_of(rule: Callable[[Votes, int], int], votes: Votes, m: int) -> object:
    """The sums of a rule: points of every candidate, or margins of every duel."""
    if rule in DUELS:
        return tuple(margin(votes, a, b) for a, b in permutations(range(m), 2))
    return tuple(rule.scores(votes, m))  # type: ignore[attr-defined]


def published(rule: Callable[[Votes, int], int], publish: str, m: int) -> Callable[[Votes], object]:
    if publish == "winner":
        return lambda votes: rule(votes, m)
    if publish == "all ties":
        return lambda votes: tied(rule, votes, m)
    if publish == "tops":
        return lambda votes: tuple(sorted(Counter(vote[0] for vote in votes).items()))
    if publish == "scores":
        return lambda votes: scores_of(rule, votes, m)
    return lambda votes: tuple(sorted(Counter(votes).items()))


def write_belief(path: Path, shares: dict[Vote, Fraction]) -> Path:
    rows = [f"{'>'.join(NAMES[c] for c in vote)},{share}" for vote, share in shares.items()]
    path.write_text("ranking,probability\n" + "\n".join(rows) + "\n")
    return path


def random_shares(draw: random.Random, m: int) -> dict[Vote, Fraction]:
    """Three to five votes, some of which name only a few candidates."""
    votes: set[Vote] = set()
    while len(votes) < draw.randint(3, 5):
        order = draw.sample(range(m), m)
        votes.add(tuple(order[: draw.choice([1, 2, m, m])]))
    weights = [draw.randint(1, 6) for _ in votes]
    return {vote: Fraction(weight, sum(weights)) for vote, weight in zip(sorted(votes), weights, strict=True)}


def check(seed: int, folder: Path) -> int:
    """One election with one or two beliefs under one rule: every publication. Returns how many deltas were compared."""
    draw = random.Random(seed)
    m = draw.choice([3, 3, 4, 4, 5, 6, 7])
    name = draw.choice(list(plain_rules(m)))
    rule, n, epsilon = plain_rules(m)[name], draw.randint(2, 5), draw.choice([0.0, 0.0, 0.3, 1.0])
    n = min(n, 3) if name == "kemeny" and m == 6 else n  # 720 orders for every election
    beliefs = [random_shares(draw, m) for _ in range(draw.choice([1, 1, 2]))]
    files = [write_belief(folder / f"{number}.csv", shares) for number, shares in enumerate(beliefs)]
    forms = ["winner", "histogram", "tops"] + (["all ties"] if m <= 4 and draw.random() < 0.3 else [])
    forms += ["scores"] if hasattr(rule, "scores") or rule in DUELS else []
    compared = 0
    for publish in forms:
        alike = [{published(rule, publish, m)((vote,)) for vote in shares} for shares in beliefs]
        if publish in ("tops", "scores") and any(len(results) < 2 for results in alike):
            continue
        result = published(rule, publish, m)
        expected = max(largest(chances(result, n, shares, list(shares)), epsilon) for shares in beliefs)
        got = outcome(
            name,
            ",".join(NAMES[:m]),
            n,
            files,
            publish="winner" if publish == "all ties" else publish,
            epsilon=epsilon,
            ties="all" if publish == "all ties" else None,
        )
        assert got.exact and got.delta == pytest.approx(expected, abs=1e-9), (seed, name, publish, beliefs)
        compared += 1
    return compared


@pytest.mark.parametrize("part", range(4))
def test_random_elections(part: int, tmp_path: Path) -> None:
    assert sum(check(seed, tmp_path) for seed in range(part * 12, part * 12 + 12)) >= 24


@pytest.mark.slow
def test_three_thousand_random_elections(tmp_path: Path) -> None:
    """All 3,000 compare more than 9,000 deltas."""
    chosen = seeds(20_000, 100, 3_000)
    assert sum(check(seed, tmp_path) for seed in chosen) >= 3 * len(chosen)


@pytest.mark.parametrize("publish", ["winner", "histogram", "tops", "scores"])
@pytest.mark.parametrize("name", list(plain_rules(3)))
def test_every_ranking_equally_likely(name: str, publish: str) -> None:
    """Rules that distinguish few rankings still have all of them behind the votes that they count."""
    rule, shares = plain_rules(3)[name], dict.fromkeys(permutations(range(3)), Fraction(1, 6))
    if publish == "scores" and not hasattr(rule, "scores") and rule not in DUELS:
        return
    expected = largest(chances(published(rule, publish, 3), 4, shares, list(shares)), 0.2)
    got = outcome(name, 3, 4, publish=publish, epsilon=0.2)
    assert got.exact and got.delta == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("publish", ["winner", "histogram", "tops", "groups"])
@pytest.mark.parametrize("rule", ["plurality", "borda", "stv", "copeland"])
def test_groups_with_shares_of_their_own(rule: str, publish: str, tmp_path: Path) -> None:
    """Every profile of three and two voters with different shares, for a person in either group."""
    groups = {"North": (3, {(0, 1, 2): Fraction(3, 5), (1, 2, 0): Fraction(2, 5)}), "South": (2, {
        (1, 0, 2): Fraction(1, 4), (2, 0, 1): Fraction(1, 4), (0, 1, 2): Fraction(1, 2)})}  # fmt: skip
    rows = [
        f"{group},{size},{'>'.join(NAMES[c] for c in vote)},{share}"
        for group, (size, shares) in groups.items()
        for vote, share in shares.items()
    ]
    file = tmp_path / "groups.csv"
    file.write_text("group,voters,ranking,probability\n" + "\n".join(rows) + "\n")
    plain, best = plain_rules(3)[rule], 0.0
    for own in groups:
        others = [(group, shares) for group, (size, shares) in groups.items() for _ in range(size - (group == own))]
        likely: dict[Vote, Counter[object]] = {vote: Counter() for vote in groups[own][1]}
        for profile in product(*(shares for _, shares in others)):
            weight = Fraction(1)
            for vote, (_, shares) in zip(profile, others, strict=True):
                weight *= shares[vote]
            for vote in likely:
                everybody = (*profile, vote)
                if publish == "groups":
                    labels = [*(group for group, _ in others), own]
                    result: object = tuple(sorted(Counter(zip(labels, everybody, strict=True)).items()))
                else:
                    result = published(plain, publish, 3)(everybody)
                likely[vote][result] += weight  # type: ignore[assignment]
        best = max(best, largest(likely, 0.2))
    got = outcome(rule, "a,b,c", belief=file, publish=publish, epsilon=0.2)
    assert got.voters == 5 and got.delta == pytest.approx(best, abs=1e-9)


def test_votes_that_count_alike(tmp_path: Path) -> None:
    """Nothing distinguishes them: delta is 0 by every question, or for everybody of a group who is sure to vote so."""
    file = tmp_path / "alike.csv"
    file.write_text("ranking,probability\na,1/7\na>b>c,6/7\n")
    found = outcome("plurality", "a,b,c", 5, file, delta=0.2, rational=True, curve=True)
    assert found.exact and found.delta == 0 and found.fraction == 0 and found.wanted == (0.2, 1, 0.0)
    file.write_text("group,voters,ranking,probability\nN,2,a,1/3\nN,2,a>b,2/3\nS,1,b,1/2\nS,1,a,1/2\n")
    for publish, delta in (("tops", 1.0), ("scores", 1.0), ("winner", 0.0)):
        assert outcome("plurality", "a,b", belief=file, publish=publish).delta == pytest.approx(delta, abs=1e-12)


@pytest.mark.parametrize("publish", ["winner", "histogram", "tops"])
@pytest.mark.parametrize("rule", ["plurality", "borda", "stv", "maximin"])
def test_an_urn(rule: str, publish: str, tmp_path: Path) -> None:
    """Votes drawn one by one from the urn, every sequence; the person's vote is the first (they are exchangeable)."""
    balls = {(0, 1, 2): Fraction(2), (1, 2, 0): Fraction(1, 2), (2, 0, 1): Fraction(1)}
    file = tmp_path / "urn.csv"
    file.write_text("ranking,balls\n" + "".join(f"{'>'.join(NAMES[c] for c in v)},{b}\n" for v, b in balls.items()))
    plain, n = plain_rules(3)[rule], 5
    likely: dict[Vote, Counter[object]] = {vote: Counter() for vote in balls}
    for first in balls:
        for others in product(balls, repeat=n - 1):
            urn, weight = dict(balls), Fraction(1)
            urn[first] += 1
            for vote in others:
                weight *= urn[vote] / sum(urn.values())
                urn[vote] += 1
            likely[first][published(plain, publish, 3)((first, *others))] += weight  # type: ignore[assignment]
    for epsilon in (0.0, 0.5):
        got = outcome(rule, "a,b,c", n, file, publish=publish, epsilon=epsilon)
        assert got.delta == pytest.approx(largest(likely, epsilon), abs=1e-9)


def test_an_urn_with_known_votes_is_an_urn_with_their_balls(tmp_path: Path) -> None:
    urn, more = tmp_path / "urn.csv", tmp_path / "more.csv"
    urn.write_text("ranking,balls\na>b,1\nb>a,2\n")
    known = tmp_path / "known.csv"
    known.write_text("ranking,count\na>b,2\nb>a,1\n")
    got = outcome("plurality", "a,b", 8, urn, known=known)

    # by hand: five voters are left, the urn holds 3 and 3 balls, and a needs 4 of 8 first places, 2 more than are known
    def law(k: int, n: int, a: float, b: float) -> float:
        logs = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + lgamma(k + a) + lgamma(n - k + b)
        return exp(logs - lgamma(n + a + b) - lgamma(a) - lgamma(b) + lgamma(a + b))

    with_a = sum(law(k, 4, 4, 3) for k in range(5) if 2 + k + 1 >= 4)
    with_b = sum(law(k, 4, 3, 4) for k in range(5) if 2 + k >= 4)
    assert got.delta == pytest.approx(abs(with_a - with_b), abs=1e-12)
    more.write_text("ranking,balls\na>b,1\nb>a,0\n")
    with pytest.raises(Exception, match="balls"):
        outcome("plurality", "a,b", 8, more)


def test_mallows_models_are_shares_by_distance(tmp_path: Path) -> None:
    file = tmp_path / "mallows.csv"
    file.write_text("ranking,dispersion,weight\na>b>c,1/2,3\nc>b>a,1/4,1\n")
    shares: Counter[Vote] = Counter()
    for center, factor, weight in (((0, 1, 2), Fraction(1, 2), 3), ((2, 1, 0), Fraction(1, 4), 1)):
        powers = {}
        for vote in permutations(range(3)):
            pairs = [(a, b) for a in range(3) for b in range(3) if place(center, a) < place(center, b)]
            powers[vote] = factor ** sum(place(vote, b) < place(vote, a) for a, b in pairs)
        for vote, power in powers.items():
            shares[vote] += power / sum(powers.values()) * Fraction(weight, 4)  # type: ignore[assignment]
    expected = largest(chances(lambda votes: plain_rules(3)["borda"](votes, 3), 4, shares, list(shares)), 0)  # type: ignore[arg-type]
    assert outcome("borda", "a,b,c", 4, file).delta == pytest.approx(expected, abs=1e-12)


def test_a_rule_of_ones_own(tmp_path: Path) -> None:
    def anti_plurality(counts: dict[str, int]) -> str:
        last = Counter({vote[-1]: 0 for vote in counts})
        for vote, count in counts.items():
            last[vote[-1]] += count
        return min("abc", key=lambda name: (last[name], name))

    own = outcome(anti_plurality, candidates=3, voters=6)  # type: ignore[arg-type]
    assert own.delta == pytest.approx(outcome("veto", candidates=3, voters=6).delta, abs=1e-12)
    assert own.rule == "anti_plurality"
    with pytest.raises(Exception, match="must be a candidate"):
        outcome(lambda counts: "nobody", candidates=3, voters=3)


def test_a_rule_of_ones_own_need_not_be_monotone(tmp_path: Path) -> None:
    """Of two candidates the first wins with an odd number of votes: by hand, with 1/3 for each and three others."""
    file = write_belief(tmp_path / "belief.csv", {(0, 1): Fraction(1, 3), (1, 0): Fraction(2, 3)})
    odd = Fraction(3 * 4 + 1, 27)  # one or three of three others
    got = outcome(lambda counts: "ba"[counts.get("a>b", 0) % 2], "a,b", 4, file)  # type: ignore[misc]
    assert got.exact and got.delta == pytest.approx(float(abs(1 - 2 * odd)), abs=1e-12)


@pytest.mark.parametrize("engine", [None, "trails", "enumeration"])
@pytest.mark.parametrize(("m", "seats"), [(3, 2), (4, 2), (10, 4), (12, 6)])
def test_committees(m: int, seats: int, engine: str | None, tmp_path: Path) -> None:
    """Also with hundreds of committees, those of the last candidates being the likely ones."""
    shares = {(c,): Fraction(1, 4) for c in range(m - 4, m)} if m > 7 else random_shares(random.Random(m), m)

    def committee(votes: Votes) -> frozenset[int]:
        tops = Counter(vote[0] for vote in votes)
        return frozenset(sorted(range(m), key=lambda c: (-tops[c], c))[:seats])

    file = write_belief(tmp_path / "belief.csv", shares)
    expected = largest(chances(committee, 5, shares, list(shares)), 0.0)
    got = outcome(f"committee-{seats}", ",".join(NAMES[:m]), 5, file, engine=engine)
    assert got.exact and got.delta == pytest.approx(expected, abs=1e-12)
    assert all(name.count("+") == seats - 1 for name in got.results)


def test_committees_that_are_drawn() -> None:
    """Too many votes for every exact engine; committees by the thousand are refused in place of filling the memory."""
    low, high = outcome("committee-2", 6, 300, draws=4_000).interval
    assert 0.03 < low < high < 0.08
    with pytest.raises(TooLargeError, match="924 possible results are too many to draw"):
        outcome("committee-6", 12, 100)


def test_ties_of_committees_are_refused() -> None:
    """Committees of all but one are as many as candidates, and still no single winners."""
    with pytest.raises(Exception, match="one winner"):
        outcome("committee-2", 3, 5, ties="all")


@pytest.mark.slow
def test_intervals_of_draws_hold_in_95_of_100_runs(tmp_path: Path) -> None:
    """400 runs with fixed seeds: 20 elections, each drawn 20 times. Nothing here depends on chance."""
    held = 0
    for seed in range(20):
        draw = random.Random(seed)
        shares = random_shares(draw, 3)
        name = draw.choice(list(plain_rules(3)))
        belief = read_belief(write_belief(tmp_path / "belief.csv", shares), tuple("abc"))
        election = Election(rule_named(name, 3), draw.randint(6, 20), belief)  # type: ignore[arg-type]
        exact = outcome(name, "a,b,c", election.voters, tmp_path / "belief.csv").delta
        if len(election.kinds) < 2:
            held += 20
            continue
        ties = crossings(election.kinds, 2)
        for run in range(20):
            estimate = sample(election.kinds, ties, 0.0, 4_000, 1_000 * seed + run)
            held += estimate.low - 1e-12 <= exact <= estimate.high + 1e-12
    assert held >= 380

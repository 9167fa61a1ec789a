"""Voting rules and the definition of privacy, written plainly and slowly, to hold the real ones against.

Nothing here is shared with the package: a profile is a list of rankings, and every profile is looked at.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from math import factorial, lcm, prod

Ranking = tuple[int, ...]
Profile = tuple[Ranking, ...]


def best(scores: Sequence[object]) -> int:
    return max(range(len(scores)), key=lambda c: (scores[c], -c))  # type: ignore[type-var, return-value]


def margin(profile: Profile, a: int, b: int) -> int:
    return sum(1 if vote.index(a) < vote.index(b) else -1 for vote in profile)


def positional(points: Sequence[int]) -> Callable[[Profile], int]:
    return lambda profile: best([sum(points[vote.index(c)] for vote in profile) for c in range(len(points))])


def stv(profile: Profile) -> int:
    standing = sorted(profile[0])
    while len(standing) > 1:
        tops = Counter(next(c for c in vote if c in standing) for vote in profile)
        standing.remove(max(c for c in standing if tops[c] == min(tops[d] for d in standing)))
    return standing[0]


def maximin(profile: Profile) -> int:
    m = len(profile[0])
    return best([min(margin(profile, a, b) for b in range(m) if b != a) for a in range(m)])


def copeland(profile: Profile) -> int:
    m = len(profile[0])
    signs = [[(d > 0) - (d < 0) for b in range(m) if b != a for d in [margin(profile, a, b)]] for a in range(m)]
    return best([sum(row) for row in signs])


def bucklin(profile: Profile, simple: bool = False) -> int:
    m = len(profile[0])
    for k in range(1, m + 1):
        mentions = [sum(c in vote[:k] for vote in profile) for c in range(m)]
        over = [c for c in range(m) if 2 * mentions[c] > len(profile)]
        if over:
            return over[0] if simple else best(mentions)
    raise AssertionError


def ranked_pairs(profile: Profile) -> int:
    m = len(profile[0])
    duels = sorted((-margin(profile, a, b), a, b) for a in range(m) for b in range(m) if a != b)
    below: dict[int, set[int]] = {c: set() for c in range(m)}

    def reaches(a: int, b: int) -> bool:
        return a == b or any(reaches(c, b) for c in below[a])

    for less, a, b in duels:
        if less <= 0 and not reaches(b, a):
            below[a].add(b)
    return next(c for c in range(m) if not any(c in below[d] for d in range(m)))


def schulze(profile: Profile) -> int:
    m = len(profile[0])
    strength = {(a, b): margin(profile, a, b) for a in range(m) for b in range(m) if a != b}
    for k in range(m):
        for a, b in permutations(range(m), 2):
            if k not in (a, b):
                strength[a, b] = max(strength[a, b], min(strength[a, k], strength[k, b]))
    return next(a for a in range(m) if all(strength[a, b] >= strength[b, a] for b in range(m) if b != a))


def kemeny(profile: Profile) -> int:
    m = len(profile[0])
    duels = {(a, b): margin(profile, a, b) for a in range(m) for b in range(m) if a != b}
    orders = list(permutations(range(m)))
    scores = [sum(duels[o[i], o[j]] for i in range(m) for j in range(i + 1, m)) for o in orders]
    return orders[best(scores)][0]


def plain_rules(m: int) -> dict[str, Callable[[Profile], int]]:
    found: dict[str, Callable[[Profile], int]] = {
        "plurality": positional([1] + [0] * (m - 1)),
        "veto": positional([1] * (m - 1) + [0]),
        "approval-2": positional([1, 1] + [0] * (m - 2)),
        "borda": positional(list(range(m - 1, -1, -1))),
        "positional:" + ",".join(str(p) for p in [5, 2, 1, 0][:m]): positional([5, 2, 1, 0][:m]),
        "stv": stv,
        "maximin": maximin,
        "copeland": copeland,
        "bucklin": bucklin,
        "bucklin-simple": lambda profile: bucklin(profile, simple=True),
        "ranked-pairs": ranked_pairs,
        "schulze": schulze,
        "kemeny": kemeny,
    }
    return found


def by_definition(
    rule: Callable[[Profile], int], m: int, n: int, shares: dict[Ranking, Fraction], factor: Fraction = Fraction(1)
) -> Fraction:
    """Delta from the definition: all profiles of the others, all pairs of votes, all sets of results."""
    votes = list(shares)

    @cache
    def wins(profile: Profile) -> int:
        return rule(profile)

    # Chances in units of one common denominator: integers, which add up exactly and quickly.
    unit = lcm(*(share.denominator for share in shares.values()))
    parts = {vote: int(share * unit) for vote, share in shares.items()}
    likely = {vote: [0] * m for vote in votes}
    weights: Counter[Profile] = Counter()
    for others in product(votes, repeat=n - 1):
        weights[tuple(sorted(others))] += 1
    for others, count in weights.items():
        weight = count * prod(parts[vote] for vote in others)
        for vote in votes:
            likely[vote][wins(tuple(sorted((*others, vote))))] += weight
    sets = [[c for c in range(m) if bits >> c & 1] for bits in range(2**m)]
    largest = max(
        sum(factor.denominator * likely[x][c] - factor.numerator * likely[y][c] for c in some)
        for x in votes
        for y in votes
        for some in sets
    )
    return Fraction(largest, factor.denominator * unit ** (n - 1))


def stv_of(m: int, drop_first: bool = False) -> Callable[[Profile], int]:
    """STV that also counts votes which do not name everybody."""

    def winner(profile: Profile) -> int:
        standing = list(range(m))
        while len(standing) > 1:
            tops = Counter(top for vote in profile for top in [next((c for c in vote if c in standing), None)])
            lowest = [c for c in standing if tops[c] == min(tops[d] for d in standing)]
            standing.remove(lowest[0] if drop_first and len(standing) > 2 else lowest[-1])
        return standing[0]

    return winner


def by_multisets(
    rule: Callable[[Profile], object], n: int, shares: dict[Ranking, Fraction], factor: Fraction = Fraction(1)
) -> Fraction:
    """The same delta for any kind of result: multisets of the others' votes, and the positive part of every result."""
    votes = list(shares)
    likely: dict[Ranking, Counter[object]] = {vote: Counter() for vote in votes}
    for others in combinations_with_replacement(votes, n - 1):
        weight = Fraction(factorial(n - 1))
        for vote, count in Counter(others).items():
            weight *= shares[vote] ** count / factorial(count)
        for vote in votes:
            likely[vote][rule((*others, vote))] += weight  # type: ignore[assignment]
    return max(
        sum((max(likely[x][r] - factor * likely[y][r], Fraction(0)) for r in likely[x]), Fraction(0))  # type: ignore[type-var]
        for x in votes
        for y in votes
    )

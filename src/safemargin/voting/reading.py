"""Ballots and beliefs from files: CSV with a column `ranking`, or PrefLib."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path

from safemargin.core import InputError
from safemargin.io import BadText, is_number, read_sheet, read_text, whole_number
from safemargin.voting.election import (
    Belief,
    GroupedBelief,
    Ranking,
    ShareBox,
    UrnBelief,
    from_counts,
    number,
    parse_ranking,
    places_in,
    rankings,
    strict_ranking,
)

PREFLIB = (".soc", ".soi", ".toc", ".toi")
LIKE_TIES = (",", ";", "|", "/", "&", "+")
"""What people also write between candidates on one place; a name may hold it, but not between two other names."""
CLOSE = Fraction(1, 10**9)
"""How far printed probabilities may be from summing to one; they are then divided by their sum."""


@dataclass(frozen=True)
class Ballots:
    """How often each ranking was cast, and the names of the candidates."""

    names: tuple[str, ...]
    counts: dict[Ranking, int]

    @property
    def voters(self) -> int:
        """How many votes."""
        return sum(self.counts.values())

    def in_order(self, names: Sequence[str]) -> "Ballots":
        """The same with the candidates in another order."""
        numbers = {name: number for number, name in enumerate(names)}
        counts = {tuple(numbers[self.names[c]] for c in vote): count for vote, count in self.counts.items()}
        return Ballots(tuple(names), counts)


def _lines(path: Path) -> list[str]:
    return read_text(path).splitlines()


def _rows(path: Path) -> list[tuple[str, dict[str, str]]]:
    """The rows of a CSV file, each with file and line for messages."""
    sheet = read_sheet(path)
    if "ranking" not in sheet.columns:
        raise InputError(f"{path}: column 'ranking' is missing")
    rows = zip(*sheet.columns.values(), strict=True)
    return [(f"{path}: {sheet.place(n)}", dict(zip(sheet.columns, row, strict=True))) for n, row in enumerate(rows)]


def names_in(path: Path) -> tuple[str, ...]:
    """Candidates that a CSV file names, in alphabetical order."""
    rows = [(where, row["ranking"], places_in(row["ranking"])) for where, row in _rows(path)]
    names = {name for _, _, places in rows for place in places for name in place} - {""}
    for where, text, places in rows:
        for name in (name for place in places for name in place):
            parts = [part.strip() for mark in LIKE_TIES if mark in name for part in name.split(mark)]
            if parts and names.issuperset(parts):
                raise InputError(f"{where}: ranking {text!r}: {name!r} looks like a tie; write it as {{a,b}} or a=b")
    return tuple(sorted(names))


AnyBelief = Belief | ShareBox | GroupedBelief | UrnBelief
"""What a file of beliefs can hold."""


def read_belief(path: Path, names: tuple[str, ...] | None = None) -> AnyBelief:
    """`probability` of each ranking, or `low` and `high`, or `count` of a poll or an earlier result, or `balls` of an
    urn, or `dispersion` of Mallows models; with `group` and `voters`, `probability` by group."""
    rows = _rows(path)
    names = names or names_in(path)
    if rows:
        _check_form(path, set(rows[0][1]))
    if rows and {"group", "voters", "probability"} <= set(rows[0][1]):
        return _read_groups(path, rows, names)
    if rows and "dispersion" in rows[0][1]:
        return _read_mallows(path, rows, names)
    votes: dict[Ranking, None] = {}
    for where, row in rows:
        vote = parse_ranking(row["ranking"], names, where)
        if vote in votes:
            raise InputError(f"{where}: ranking {row['ranking']!r} occurs twice")
        votes[vote] = None
    columns = set(rows[0][1]) if rows else set()

    def numbers(column: str) -> list[Fraction]:
        return [number(row[column], f"{where}: {column}") for where, row in rows]

    if "probability" in columns:
        return _stated(path, tuple(votes), numbers("probability"), [where for where, _ in rows])
    if {"low", "high"} <= columns:
        text = f"the probabilities lie within the intervals of {path.name}"
        return ShareBox(tuple(votes), tuple(numbers("low")), tuple(numbers("high")), text)
    if "count" in columns:
        counts = dict(zip(votes, [_count(row["count"], where) for where, row in rows], strict=True))
        text = f"votes fall as in {path.name}, fitted with half a vote more for each"
        return from_counts(counts, tuple(votes), text)
    if "balls" in columns:
        balls = numbers("balls")
        if min(balls) <= 0:
            raise InputError(f"{path}: balls: every ranking needs a number above 0")
        text = f"votes come from the urn of {path.name}: every vote makes others like it likelier"
        shares = tuple(ball / sum(balls) for ball in balls)
        return UrnBelief(Belief(tuple(votes), shares, text), sum(balls, Fraction(0)))
    raise InputError(
        f"{path}: needs a column 'probability', or 'low' and 'high', or 'count', or 'balls', or 'dispersion'"
    )


FORMS = (
    {"group", "voters", "probability"},
    {"dispersion", "weight"},
    {"dispersion"},
    {"probability"},
    {"low", "high"},
    {"count"},
    {"balls"},
)
"""The columns that a file of beliefs may have beside `ranking`; the first form that is there is read."""


def _check_form(path: Path, columns: set[str]) -> None:
    """Refuse columns that would have no effect: two forms in one file, or a name that is not known."""
    form = next((form for form in FORMS if form <= columns), None)
    if form is not None and (more := sorted(columns - form - {"ranking"})):
        used = ", ".join(sorted(form))
        raise InputError(f"{path}: column {more[0]!r} would have no effect beside {used}; remove it")


def _read_groups(path: Path, rows: list[tuple[str, dict[str, str]]], names: tuple[str, ...]) -> GroupedBelief:
    """Rows of every group: how many voters it has, the same in each, and the probability of each ranking."""
    sizes: dict[str, int] = {}
    shares: dict[str, dict[Ranking, Fraction]] = {}
    for where, row in rows:
        group, size = row["group"], _count(row["voters"], where)
        if sizes.setdefault(group, size) != size:
            raise InputError(f"{where}: group {group!r}: has {size} voters here and {sizes[group]} before")
        vote = parse_ranking(row["ranking"], names, where)
        if vote in shares.setdefault(group, {}):
            raise InputError(f"{where}: ranking {row['ranking']!r} occurs twice in group {group!r}")
        shares[group][vote] = number(row["probability"], f"{where}: probability")
    beliefs = []
    for group, own in shares.items():
        places = [f"{path}: group {group!r}"] * len(own)
        beliefs.append(_stated(path, tuple(own), list(own.values()), places))
    text = f"votes are independent and fall in every group with the probabilities of {path.name}"
    return GroupedBelief(tuple(sizes), tuple(sizes.values()), tuple(beliefs), text)


def mallows(center: Ranking, dispersion: Fraction) -> dict[Ranking, Fraction]:
    """Shares of all rankings in a Mallows model: `dispersion` to the number of pairs that a ranking has against the
    centre.

    With dispersion 1/2, every pair that is turned round halves the share (Mallows 1957):

    >>> [str(share) for share in mallows((0, 1, 2), Fraction(1, 2)).values()]
    ['8/21', '4/21', '4/21', '2/21', '2/21', '1/21']
    """
    if not 0 < dispersion <= 1:
        raise InputError(f"belief: dispersion = {float(dispersion):g}: must be above 0 and at most 1")
    places = {candidate: place for place, candidate in enumerate(center)}
    powers = {}
    for ranking in rankings(len(center)):
        against = sum(places[a] > places[b] for a, b in combinations(ranking, 2))
        powers[ranking] = dispersion**against
    total = sum(powers.values())
    return {ranking: power / total for ranking, power in powers.items()}


def _read_mallows(path: Path, rows: list[tuple[str, dict[str, str]]], names: tuple[str, ...]) -> Belief:
    """A mixture of Mallows models: the ranking in the middle of each, its dispersion, and its weight."""
    shares: dict[Ranking, Fraction] = {}
    weights = [number(row.get("weight", "1"), f"{where}: weight") for where, row in rows]
    if min(weights) < 0 or not sum(weights):
        raise InputError(f"{path}: weight: must be at least 0, and above 0 for one row")
    for (where, row), weight in zip(rows, weights, strict=True):
        center = parse_ranking(row["ranking"], names, where)
        if len(center) < len(names):
            raise InputError(f"{where}: ranking {row['ranking']!r}: must name every candidate")
        for vote, share in mallows(center, number(row["dispersion"], f"{where}: dispersion")).items():
            shares[vote] = shares.get(vote, Fraction(0)) + share * weight / sum(weights)
    return Belief(tuple(shares), tuple(shares.values()), f"votes fall as in the Mallows models of {path.name}")


def _stated(path: Path, votes: tuple[Ranking, ...], shares: list[Fraction], lines: list[str]) -> Belief:
    """The belief that a column of probabilities states; they must add up to 1, but for rounding, and are divided by
    their sum.

    Votes of probability 0 are not votes of the belief: nobody is thought to cast them, so nothing is said about them.
    """
    for where, share in zip(lines, shares, strict=True):
        if share < 0:
            raise InputError(f"{where}: probability {float(share):g} is below 0")
    total = sum(shares, Fraction(0))
    if abs(total - 1) > CLOSE:
        raise InputError(f"{path}: the probabilities sum to {float(total):.12g}, not to 1")
    kept = [(vote, share / total) for vote, share in zip(votes, shares, strict=True) if share]
    text = f"votes fall with the probabilities of {path.name}"
    return Belief(tuple(vote for vote, _ in kept), tuple(share for _, share in kept), text)


def read_ballots(path: Path, names: tuple[str, ...] | None = None) -> Ballots:
    """Votes that were cast: CSV with `ranking` and, unless every row is one vote, `count`; or a PrefLib file."""
    if path.suffix.lower() in PREFLIB:
        return _read_preflib(path)
    names = names or names_in(path)
    counts: dict[Ranking, int] = {}
    rows = _rows(path)
    # A column of numbers that is not called `count` is most likely how often a vote was cast: 90 votes would be one.
    for column in rows[0][1] if rows and "count" not in rows[0][1] else ():
        if column != "ranking" and all(is_number(row[column]) for _, row in rows):
            raise InputError(f"{path}: column {column!r} holds numbers only; call it 'count', or remove it")
    for where, row in rows:
        vote = parse_ranking(row["ranking"], names, where)
        counts[vote] = counts.get(vote, 0) + _count(row.get("count", "1"), where)
    return Ballots(names, counts)


def _count(text: str, where: str) -> int:
    """How often a vote was cast, as a whole number; an error names the line."""
    try:
        return whole_number(text)
    except BadText as reason:
        raise InputError(f"{where}: count {text!r} {reason}") from None


def _read_preflib(path: Path) -> Ballots:
    """Both formats: names in comments, or in lines after their number."""
    names: dict[str, str] = {}
    body = []
    for line in (text.strip() for text in _lines(path)):
        if named := re.match(r"#\s*ALTERNATIVE NAME (\d+):\s*(.*)", line):
            names[named[1]] = named[2].strip()
        elif line and not line.startswith("#"):
            body.append(line)
    if not names and body and body[0].isdigit():
        size = int(body[0])
        pairs = [line.partition(",") for line in body[1 : size + 1]]
        names = {key.strip(): name.strip() for key, _, name in pairs}
        body = [line.replace(",", ":", 1) for line in body[size + 2 :]]
    if not names:
        raise InputError(f"{path}: names no candidates; is it a PrefLib file?")
    twice = next((name for name in names.values() if list(names.values()).count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{path}: two candidates are called {twice!r}")
    numbers = {key: candidate for candidate, key in enumerate(names)}
    counts: dict[Ranking, int] = {}
    for line in body:
        count, _, order = line.partition(":")
        where = f"{path}: vote {line!r}"
        vote = strict_ranking(preflib_places(order, where), numbers, where)
        counts[vote] = counts.get(vote, 0) + _count(count, where)
    return Ballots(tuple(names.values()), counts)


def preflib_places(order: str, where: str) -> list[tuple[str, ...]]:
    """The places of a PrefLib order such as `1,{2,3},4`; braces hold candidates in one place.

    >>> preflib_places("1,{2,3},4", "line 1")
    [('1',), ('2', '3'), ('4',)]
    """
    places: list[tuple[str, ...]] = []
    for tied, single in re.findall(r"\{([^{}]*)\}|([^,{}]+|[{}])", order):
        if single in ("{", "}"):
            raise InputError(f"{where}: has a brace without its pair")
        if names := tuple(part.strip() for part in (tied or single).split(",") if part.strip()):
            places.append(names)
    return places

"""Ballots and beliefs from files: CSV with a column `ranking`, or PrefLib."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from safemargin.core import InputError
from safemargin.voting.ballots import Ranking, parse_ranking
from safemargin.voting.belief import Belief, ShareBox, from_counts
from safemargin.voting.rules import number

PREFLIB = (".soc", ".soi", ".toc", ".toi")
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


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8; save the file as UTF-8") from None


def _rows(path: Path) -> list[tuple[str, dict[str, str]]]:
    """The rows of a CSV file, each with its place in words."""
    reader = csv.DictReader(_lines(path))
    if "ranking" not in (reader.fieldnames or ()):
        raise InputError(f"{path}: column 'ranking' is missing")
    return [(f"{path}: line {line}", row) for line, row in enumerate(reader, 2)]


def _names(rows: Sequence[tuple[str, dict[str, str]]]) -> tuple[str, ...]:
    """Candidates that are named, in the order of the alphabet."""
    return tuple(sorted({part.strip() for _, row in rows for part in (row["ranking"] or "").split(">")} - {""}))


def names_in(path: Path) -> tuple[str, ...]:
    """Candidates that a CSV file names."""
    return _names(_rows(path))


def read_belief(path: Path, names: tuple[str, ...] | None = None) -> tuple[Belief | ShareBox, tuple[str, ...]]:
    """What a file says: `probability` of each ranking, or `low` and `high`, or `count` of a poll or an earlier result.

    Without `names`, candidates are those in the file, in the order of the alphabet.
    """
    rows = _rows(path)
    names = names or _names(rows)
    seen: dict[Ranking, dict[str, str]] = {}
    for where, row in rows:
        vote = parse_ranking(row["ranking"] or "", names, where)
        if vote in seen:
            raise InputError(f"{where}: ranking {row['ranking']!r} occurs twice")
        seen[vote] = row
    columns = set(rows[0][1]) if rows else set()

    def numbers(column: str) -> list[Fraction]:
        return [number(row[column] or "", f"{where}: {column}") for where, row in rows]

    if "probability" in columns:
        return _stated(path, tuple(seen), numbers("probability"), [where for where, _ in rows]), names
    if {"low", "high"} <= columns:
        words = f"the probabilities lie within the intervals of {path.name}"
        return ShareBox(tuple(seen), tuple(numbers("low")), tuple(numbers("high")), words), names
    if "count" in columns:
        cast = [_count(row["count"] or "", where) for where, row in rows]
        counts = dict(zip(seen, cast, strict=True))
        words = f"votes fall as in {path.name}, fitted with half a vote more for each"
        return from_counts(counts, tuple(seen), words), names
    raise InputError(f"{path}: needs a column 'probability', or 'low' and 'high', or 'count'")


def _stated(path: Path, votes: tuple[Ranking, ...], shares: list[Fraction], places: list[str]) -> Belief:
    for where, share in zip(places, shares, strict=True):
        if share < 0:
            raise InputError(f"{where}: probability {float(share):g} is below 0")
    total = sum(shares, Fraction(0))
    if abs(total - 1) > CLOSE:
        raise InputError(f"{path}: the probabilities sum to {float(total):.12g}, not to 1")
    kept = [(vote, share / total) for vote, share in zip(votes, shares, strict=True) if share]
    words = f"votes fall with the probabilities of {path.name}"
    return Belief(tuple(vote for vote, _ in kept), tuple(share for _, share in kept), words)


def read_ballots(path: Path, names: tuple[str, ...] | None = None) -> Ballots:
    """Votes that were cast: CSV with `ranking` and, unless every row is one vote, `count`; or a PrefLib file."""
    if path.suffix.lower() in PREFLIB:
        return _preflib(path)
    rows = _rows(path)
    names = names or _names(rows)
    counts: dict[Ranking, int] = {}
    for where, row in rows:
        vote = parse_ranking(row["ranking"] or "", names, where)
        counts[vote] = counts.get(vote, 0) + _count(row.get("count") or "1", where)
    return Ballots(names, counts)


def _count(text: str, where: str) -> int:
    if not text.strip().isdigit():
        raise InputError(f"{where}: count {text!r} is not a whole number")
    return int(text)


def _preflib(path: Path) -> Ballots:
    """Both formats: names in comments, or in lines after their number."""
    lines = [line.strip() for line in _lines(path) if line.strip()]
    names: dict[str, str] = {}
    body = []
    for line in lines:
        if found := re.match(r"#\s*ALTERNATIVE NAME (\d+):\s*(.*)", line):
            names[found[1]] = found[2].strip()
        elif not line.startswith("#"):
            body.append(line)
    if not names and body and body[0].isdigit():
        size = int(body[0])
        names = dict(_split(line) for line in body[1 : size + 1])
        body = [line.replace(",", ":", 1) for line in body[size + 2 :]]
    if not names:
        raise InputError(f"{path}: names no candidates; is it a PrefLib file?")
    places = {key: place for place, key in enumerate(names)}
    counts: dict[Ranking, int] = {}
    for line in body:
        count, _, order = line.partition(":")
        where = f"{path}: vote {line!r}"
        if "{" in order:
            raise InputError(f"{where}: puts candidates on one place; only strict orders are read")
        parts = [part.strip() for part in order.split(",") if part.strip()]
        vote = preflib_order(parts, places, where)
        counts[vote] = counts.get(vote, 0) + _count(count, where)
    return Ballots(tuple(names.values()), counts)


def _split(line: str) -> tuple[str, str]:
    key, _, name = line.partition(",")
    return key.strip(), name.strip()


def preflib_order(parts: Sequence[str], places: dict[str, int], where: str) -> Ranking:
    """A ranking as numbers of candidates."""
    for part in parts:
        if part not in places:
            raise InputError(f"{where}: unknown candidate {part!r}")
        if parts.count(part) > 1:
            raise InputError(f"{where}: names {part!r} twice")
    if not parts:
        raise InputError(f"{where}: names nobody")
    return tuple(places[part] for part in parts)

"""A question as a user puts it: words for rule, candidates, belief and known votes, made into elections."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import inf
from pathlib import Path

from safemargin.core import InputError, Progress, no_progress
from safemargin.voting.ballots import letters
from safemargin.voting.belief import Belief, ShareBox, from_counts, uniform
from safemargin.voting.boxes import worst_in
from safemargin.voting.election import Election
from safemargin.voting.enumeration import ways
from safemargin.voting.private import Answer, least_epsilon, private, worst_of
from safemargin.voting.reading import Ballots, names_in, read_ballots, read_belief
from safemargin.voting.rules import rule_named
from safemargin.voting.rules.all_ties import AllTies
from safemargin.voting.rules.rule import Rule
from safemargin.voting.sampling import DRAWS
from safemargin.voting.stability import smallest_electorate

ALL_TIES = "all"
MOST_LEAKS = 500


@dataclass(frozen=True)
class Question:
    """What is asked, before anything is computed."""

    rule: str
    candidates: str | None = None
    voters: int | None = None
    beliefs: tuple[str, ...] = ("uniform",)
    publish: str = "winner"
    epsilon: float = 0.0
    curve: tuple[float, ...] = ()
    ties: str | None = None
    known: Path | None = None
    votes: Path | None = None
    leaked: int = 0
    engine: str | None = None
    rational: bool = False
    draws: int = DRAWS
    seed: int = 0


@dataclass(frozen=True)
class Setting:
    """A question made ready: elections, one per belief, and the votes that were cast if there are some."""

    question: Question
    rule: Rule
    names: tuple[str, ...]
    elections: tuple[Election, ...]
    boxes: tuple[ShareBox, ...]
    winner: str | None = None

    def answer(self, progress: Progress = no_progress) -> Answer:
        """The largest delta over all beliefs."""
        asked = self.question
        how = {"engine": asked.engine, "draws": asked.draws, "seed": asked.seed, "rational": asked.rational}

        def one(election: Election) -> Answer:
            return private(election, asked.publish, asked.epsilon, curve=asked.curve, progress=progress, **how)  # type: ignore[arg-type]

        answers = [one(each) for election in self.elections for each in _leaking(election, asked.leaked)]
        answers += [worst_in(box, self._template(box), asked.publish, asked.epsilon) for box in self.boxes]
        return worst_of(answers)

    def least_epsilon(self, target: float) -> float:
        """The least epsilon with delta at most `target`, whichever belief is held."""
        return max((least_epsilon(each, self.question.publish, target) for each in self.elections), default=inf)

    def smallest(self, target: float) -> int:
        """The least number of voters from which on delta is at most `target`, whichever belief is held."""
        asked = self.question

        def delta_of(voters: int) -> float:
            if any(sum(election.known.values()) >= voters for election in self.elections):
                return 1.0
            elections = [replace(election, voters=voters) for election in self.elections]
            return max(private(each, asked.publish, asked.epsilon, draws=asked.draws).delta for each in elections)

        if not self.elections:
            raise InputError("--delta: give a belief, not intervals")
        return smallest_electorate(delta_of, target)

    def _template(self, box: ShareBox) -> Election:
        total = sum(box.low)
        start = Belief(box.votes, tuple(low / total for low in box.low), box.words)
        voters = self.question.voters
        assert voters is not None
        known = self.elections[0].known if self.elections else {}
        return Election(self.rule, voters, start, known, self.names)


def _leaking(election: Election, count: int) -> list[Election]:
    """The election with `count` votes more known, in every way they can have been cast."""
    votes = election.kinds.votes
    if count < 0 or ways(count, len(votes)) > MOST_LEAKS:
        raise InputError(f"--leaked {count}: must be from 0 to what can be tried; name the votes with --known")
    found = []
    for some in combinations_with_replacement(votes, count):
        known = dict(election.known)
        for vote in some:
            known[vote] = known.get(vote, 0) + 1
        found.append(replace(election, known=known))
    return found


def make_ready(question: Question) -> Setting:
    """Read the files that a question names and check that all fits together."""
    ballots = read_ballots(question.votes) if question.votes is not None else None
    names = _named(question, ballots) or _named_in_files(question)
    found: list[Belief | ShareBox] = []
    for word in question.beliefs:
        if word in ("uniform", "result"):
            continue
        belief, read = read_belief(Path(word), names)
        names = names or read
        found.append(belief)
    if names is None:
        raise InputError("--candidates: say how many candidates there are, or name them, as in a,b,c")
    names = _in_order(names, question.ties)
    if names != (ballots.names if ballots else names) and ballots is not None:
        ballots = _renumbered(ballots, names)
    if found and question.ties not in (None, ALL_TIES):
        found = [read_belief(Path(word), names)[0] for word in question.beliefs if word not in ("uniform", "result")]
    rule = rule_named(question.rule, len(names))
    rule = AllTies(len(names), rule) if question.ties == ALL_TIES else rule
    for word in question.beliefs:
        if word == "uniform":
            found.append(uniform(rule))
        elif word == "result":
            found.append(_as_cast(ballots))
    voters = question.voters if question.voters is not None or ballots is None else ballots.voters
    if voters is None:
        raise InputError("--voters: say how many people vote")
    known = read_ballots(question.known, names).counts if question.known is not None else {}
    elections = tuple(Election(rule, voters, belief, known, names) for belief in found if isinstance(belief, Belief))
    boxes = tuple(belief for belief in found if isinstance(belief, ShareBox))
    winner = None
    if ballots is not None:
        cast = rule.winner(tuple(ballots.counts), tuple(ballots.counts.values()))
        winner = rule.outcome_name(cast, names)
    return Setting(replace(question, voters=voters), rule, names, elections, boxes, winner)


def _named(question: Question, ballots: Ballots | None) -> tuple[str, ...] | None:
    if ballots is not None:
        return ballots.names
    text = question.candidates
    if text is None:
        return None
    if text.isdigit():
        named = _named_in_files(question)  # which may have other names than letters
        return named if named is not None and len(named) == int(text) else letters(int(text))
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if len(set(names)) < len(names):
        raise InputError(f"--candidates {text!r}: names somebody twice")
    return names


def _named_in_files(question: Question) -> tuple[str, ...] | None:
    """Candidates of all belief files, in the order of the alphabet."""
    files = [Path(word) for word in question.beliefs if word not in ("uniform", "result")]
    found = {name for path in files for name in names_in(path)}
    return tuple(sorted(found)) if found else None


def _in_order(names: tuple[str, ...], ties: str | None) -> tuple[str, ...]:
    """Candidates in the order in which ties are broken."""
    if ties in (None, ALL_TIES):
        return names
    assert ties is not None
    order = tuple(part.strip() for part in ties.split(","))
    if sorted(order) != sorted(names):
        raise InputError(f"--ties {ties!r}: must name every candidate once ({', '.join(names)}), or be 'all'")
    return order


def _renumbered(ballots: Ballots, names: Sequence[str]) -> Ballots:
    place = {name: number for number, name in enumerate(names)}
    counts = {tuple(place[ballots.names[c]] for c in vote): count for vote, count in ballots.counts.items()}
    return Ballots(tuple(names), counts)


def _as_cast(ballots: Ballots | None) -> Belief:
    if ballots is None:
        raise InputError("--belief result: needs the votes that were cast; name their file with --votes")
    return from_counts(ballots.counts, tuple(ballots.counts), "everybody else votes independently, as in the result")

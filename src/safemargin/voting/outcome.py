"""The public function: what the exact result of a vote discloses about one person's vote."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import inf
from pathlib import Path

from safemargin.core import InputError, Progress, no_progress
from safemargin.voting.chances import ways
from safemargin.voting.dependent import measure_grouped, measure_urn
from safemargin.voting.election import (
    Belief,
    Election,
    GroupedBelief,
    Ranking,
    Rule,
    ShareBox,
    UrnBelief,
    from_counts,
    letters,
    rankings,
    uniform,
)
from safemargin.voting.measure import CURVE, chances_of, counted_kinds, least_epsilon, measure, worst_in
from safemargin.voting.privacy import OutcomePrivacy, Stability, worst_of
from safemargin.voting.reading import AnyBelief, Ballots, names_in, read_ballots, read_belief
from safemargin.voting.rules import AllTies, OwnRule, OwnWinner, rule_named
from safemargin.voting.sampling import DRAWS
from safemargin.voting.scoring import Majority
from safemargin.voting.stability import classify, classify_counts, slowest, smallest_electorate
from safemargin.voting.trails import TrailSum, trail_sum
from safemargin.voting.waves import MOST_WAVES

ALL_TIES = "all"
MAX_LEAKS = 500
"""Ways in which leaked votes can have been cast that are tried."""
NOT_FILES = ("uniform", "result", "smoothed")
"""Words for beliefs; all others are files."""


def outcome(
    rule: str | OwnWinner = "plurality",
    candidates: str | int | Sequence[str] | None = None,
    voters: int | None = None,
    belief: str | Path | Sequence[str | Path] = (),
    *,
    publish: str = "winner",
    epsilon: float = 0.0,
    curve: bool | Sequence[float] = False,
    delta: float | None = None,
    votes: str | Path | None = None,
    known: str | Path | None = None,
    leaked: int = 0,
    ties: str | Sequence[str] | None = None,
    engine: str | None = None,
    rational: bool = False,
    classify: bool = False,
    simulator: bool = False,
    trails: bool = False,
    waves: int = 1,
    draws: int = DRAWS,
    progress: Progress = no_progress,
) -> OutcomePrivacy:
    """How private publishing a result exactly is: delta, the worst pair of votes, and how it was computed.

    `rule` is the name of a rule, or a function of your own that gets how often each ranking was cast and returns who
    wins. `belief` is what an onlooker thinks about the votes of others: "uniform", "result" (the shares of `votes`),
    "smoothed" (with half a vote more for each ranking), a CSV file, or several of these, of which any may be held.
    `delta` asks for the smallest electorate and the least epsilon, `classify` for how delta falls as the electorate
    grows, `trails` for the histograms at which delta arises (Definition 4). `waves` is for "groups": winners and
    histograms of several waves together, in each of which everybody votes anew.

    >>> round(outcome("majority", candidates=2, voters=5).delta, 3)
    0.375
    """
    chosen, ballots, seen, held, names = _electorate(rule, candidates, belief, votes, known, ties)
    voters = _voters(voters, ballots, held)
    elections = [Election(chosen, voters, item, seen, names) for item in held if isinstance(item, Belief)]
    others = [item for item in held if not isinstance(item, Belief)]
    if simulator and len(held) > 1:
        raise InputError("simulator: give one belief; with several the simulator may depend on the other votes")
    for name, asked in (("classify", classify), ("delta", delta is not None), ("rational", rational)):
        if asked and others and not all(isinstance(item, ShareBox) for item in others):
            raise InputError(f"{name}: is for beliefs whose votes are independent and drawn alike")
    if waves != 1 and (publish != "groups" or not all(isinstance(item, GroupedBelief) for item in held)):
        raise InputError("waves: is for publish = groups, with beliefs by group")
    if not 1 <= waves <= MOST_WAVES:
        raise InputError(f"waves = {waves}: must be from 1 to {MOST_WAVES}")
    points = CURVE if curve is True else tuple(curve or ())
    options = {"curve": points, "engine": engine, "rational": rational, "simulator": simulator, "draws": draws}
    values = [
        measure(case, publish, epsilon, progress=progress, **options)  # type: ignore[arg-type]
        for election in elections
        for case in _leaking(election, leaked)
    ]
    for item in others:
        election = Election(chosen, voters, item.start, seen, names)
        values.append(_measure_other(election, item, publish, epsilon, points, progress, waves))
    return replace(
        worst_of(values),
        rule=rule if isinstance(rule, str) else getattr(rule, "__name__", "own rule"),
        winner=None if ballots is None else _winner(chosen, ballots),
        stability=_classify(elections, publish, epsilon) if classify and elections else None,
        wanted=None if delta is None else _search(elections, publish, epsilon, delta, draws),
        trails=_trails(elections, len(held) > 1 or leaked > 0, publish, epsilon) if trails else None,
    )


def _trails(elections: Sequence[Election], several: bool, publish: str, epsilon: float) -> TrailSum:
    """The ends of trails whose sum is delta."""
    if several or not elections or publish != "winner" or epsilon != 0:
        raise InputError("trails: needs the winner as publication, epsilon 0, and one belief with independent votes")
    if len(elections[0].kinds) < 2:
        return TrailSum((), ())
    worst = chances_of(elections[0]).worst()
    return trail_sum(elections[0], worst.pair, worst.results)


def _electorate(
    rule: str | OwnWinner,
    candidates: str | int | Sequence[str] | None,
    belief: str | Path | Sequence[str | Path],
    votes: str | Path | None,
    known: str | Path | None,
    ties: str | Sequence[str] | None,
) -> tuple[Rule, Ballots | None, Mapping[Ranking, int], list[AnyBelief], tuple[str, ...]]:
    """The rule, the votes cast, those that are known, the beliefs about the others, and the candidates."""
    given = [belief] if isinstance(belief, str | Path) else list(belief)
    beliefs = [str(word) for word in given] or ["uniform" if votes is None else "result"]
    files = [Path(word) for word in beliefs if word not in NOT_FILES]
    ballots = None if votes is None else read_ballots(Path(votes))
    order = ties.split(",") if isinstance(ties, str) and ties != ALL_TIES else ties
    names = _in_order(_names(candidates, ballots, files), order)
    if ballots is not None:
        ballots = ballots.in_order(names)
    held: list[AnyBelief] = [read_belief(path, names) for path in files]
    seen = {} if known is None else read_ballots(Path(known), names).counts
    if callable(rule):
        chosen: Rule = _own_rule(rule, names, held, ballots, seen)
    else:
        chosen = rule_named(rule, len(names), () if "uniform" in beliefs else _named_votes(held, ballots, seen))
    chosen = AllTies(len(names), chosen) if ties == ALL_TIES else chosen
    held += [uniform(chosen)] if "uniform" in beliefs else []
    held += [_as_cast(ballots, word) for word in ("result", "smoothed") if word in beliefs]
    return chosen, ballots, seen, held, names


def _winner(rule: Rule, ballots: Ballots) -> str:
    """Who won with the votes that were cast, by name."""
    return rule.outcome_name(rule.winner(tuple(ballots.counts), tuple(ballots.counts.values())), ballots.names)


def _voters(voters: int | None, ballots: Ballots | None, held: Sequence[AnyBelief]) -> int:
    """How many people vote: as stated, as many as votes were cast, or as the groups of a belief have."""
    counted = [item.voters for item in held if isinstance(item, GroupedBelief)]
    counted += [] if ballots is None else [ballots.voters]
    if voters is None and not counted:
        raise InputError("voters: say how many people vote")
    total = voters if voters is not None else counted[0]
    for item in held:
        if isinstance(item, GroupedBelief) and item.voters != total:
            raise InputError(f"voters = {total:,}: the groups of the belief have {item.voters:,} voters")
    return total


def _own_rule(
    function: OwnWinner,
    names: tuple[str, ...],
    held: Sequence[AnyBelief],
    ballots: Ballots | None,
    known: Mapping[Ranking, int],
) -> OwnRule:
    """The rule that somebody wrote as a function of votes, over the rankings that can be cast.

    The rankings are those that beliefs and known votes name, or all of them where these name none.
    """
    return OwnRule(len(names), function, _named_votes(held, ballots, known) or rankings(len(names)), names)


def _named_votes(
    held: Sequence[AnyBelief], ballots: Ballots | None, known: Mapping[Ranking, int]
) -> tuple[Ranking, ...]:
    """The votes of all beliefs read from files, of the votes cast and of those known, sorted, each once.

    `()` if none names any, which `_own_rule` takes as all rankings.
    """
    votes = {vote for item in held for vote in item.start.votes} | set(known)
    votes |= set() if ballots is None else set(ballots.counts)
    return tuple(sorted(votes))


def _measure_other(
    election: Election,
    item: ShareBox | GroupedBelief | UrnBelief,
    publish: str,
    epsilon: float,
    curve: Sequence[float],
    progress: Progress,
    waves: int,
) -> OutcomePrivacy:
    """Beliefs that are not independent draws from one law."""
    if isinstance(item, ShareBox):
        return worst_in(item, election, publish, epsilon)
    if isinstance(item, GroupedBelief):
        privacy = measure_grouped(election, item, publish, epsilon, curve, progress, waves)
    else:
        privacy = replace(measure_urn(election, item, publish, epsilon, curve, progress), dependent=True)
    return replace(privacy, belief=election.belief.words, names=election.candidates)


def _leaking(election: Election, count: int) -> list[Election]:
    """The election with `count` votes more known, in every way they can have been cast.

    Whoever gets to know other people's votes infers more; as it is not said which, all cases are measured and the worst
    is taken. Beyond `MAX_LEAKS` cases the votes must be named.
    """
    votes = election.kinds.votes
    if count < 0 or ways(count, len(votes)) > MAX_LEAKS:
        raise InputError(f"leaked = {count}: must be from 0 to what can be tried; name the votes in `known`")
    cases = []
    for leaked in combinations_with_replacement(votes, count):
        known = dict(election.known)
        for vote in leaked:
            known[vote] = known.get(vote, 0) + 1
        cases.append(replace(election, known=known))
    return cases


def _classify(elections: Sequence[Election], publish: str, epsilon: float) -> Stability:
    """The class whichever belief is held; scores are between the winner and the counts."""
    if publish == "winner":
        return slowest([classify(election) for election in elections])
    if publish == "scores":
        text = "it is proved only that delta falls at least like 1/sqrt(voters), as that of all counts does"
        return Stability("uncovered", 0.0, text)
    return slowest([classify_counts(counted_kinds(election, publish)[1], epsilon) for election in elections])


def _search(
    elections: Sequence[Election], publish: str, epsilon: float, delta: float, draws: int
) -> tuple[float, int, float]:
    """The smallest electorate and the least epsilon for a delta, whichever belief is held.

    Delta need not fall with every voter, only over a `period` (parity; for a qualified majority its denominator), so
    `smallest_electorate` looks at whole periods.
    """
    if not elections:
        raise InputError("delta: give a belief, not intervals")

    def delta_of(voters: int) -> float:
        if any(sum(election.known.values()) >= voters for election in elections):
            return 1.0
        cases = [replace(election, voters=voters) for election in elections]
        return max(measure(case, publish, epsilon, draws=draws).delta for case in cases)

    rule = elections[0].rule
    period = 2 * rule.alpha.denominator if isinstance(rule, Majority) else 2
    smallest = smallest_electorate(delta_of, delta, period)
    return delta, smallest, max((least_epsilon(case, publish, delta) for case in elections), default=inf)


def _names(candidates: str | int | Sequence[str] | None, ballots: Ballots | None, files: list[Path]) -> tuple[str, ...]:
    """Names of the candidates: from the votes, as given, or those in the files of beliefs, in alphabetical order."""
    if ballots is not None:
        return ballots.names
    in_files = tuple(sorted({name for path in files for name in names_in(path)}))
    if candidates is None:
        if not in_files:
            raise InputError("candidates: say how many candidates there are, or name them, as in a,b,c")
        return in_files
    if isinstance(candidates, int) or (isinstance(candidates, str) and candidates.isdigit()):
        if len(str(candidates)) > 4 or not str(candidates).isascii():
            raise InputError(f"candidates = {str(candidates)[:30]}: give a number up to 9,999, or their names")
        count = int(candidates)
        return in_files if len(in_files) == count else letters(count)
    parts = candidates.split(",") if isinstance(candidates, str) else candidates
    names = tuple(part.strip() for part in parts if part.strip())
    if len(set(names)) < len(names):
        raise InputError(f"candidates = {', '.join(names)}: names somebody twice")
    return names


def _in_order(names: tuple[str, ...], ties: Sequence[str] | str | None) -> tuple[str, ...]:
    """Candidates in the order in which ties are broken."""
    if ties is None or isinstance(ties, str):
        return names
    order = tuple(part.strip() for part in ties)
    if sorted(order) != sorted(names):
        raise InputError(f"ties = {','.join(order)}: must name every candidate once ({', '.join(names)}), or be 'all'")
    return order


def _as_cast(ballots: Ballots | None, word: str) -> Belief:
    """The shares of the result, or these with half a vote more for each ranking that was cast."""
    if ballots is None:
        raise InputError(f"belief = {word!r}: needs the votes that were cast; name their file in `votes`")
    votes = tuple(vote for vote, count in ballots.counts.items() if count)
    if word == "smoothed":
        text = "everybody else votes independently, as in the result with half a vote more for each ranking"
        return from_counts(ballots.counts, votes, text)
    shares = tuple(Fraction(ballots.counts[vote], ballots.voters) for vote in votes)
    return Belief(votes, shares, "everybody else votes independently, with the shares of the result")

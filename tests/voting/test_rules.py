"""Rules, axioms, ties, incomplete votes, and files."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from safemargin.core import InputError
from safemargin.voting.chances import all_counts
from safemargin.voting.crossings import hyperplanes
from safemargin.voting.election import Belief, Election, ShareBox, from_counts, rankings, uniform
from safemargin.voting.measure import measure, worst_in
from safemargin.voting.reading import names_in, read_ballots, read_belief
from safemargin.voting.rules import AllTies, rule_named

RULES = "plurality veto borda stv maximin copeland bucklin bucklin-simple ranked-pairs schulze kemeny".split()


def test_veto_is_two_approval_of_three() -> None:
    votes = rankings(3)
    for counts in all_counts(5, 6):
        for row in counts[::7]:
            assert rule_named("veto", 3).winner(votes, row) == rule_named("approval-2", 3).winner(votes, row)


def test_rules_of_margins_agree_where_no_margin_is_zero_or_equal() -> None:
    votes, checked = rankings(3), 0
    maximin, others = rule_named("maximin", 3), [rule_named(r, 3) for r in ("schulze", "ranked-pairs", "kemeny")]
    for counts in all_counts(9, 6):
        margins = counts @ maximin.statistics(votes)
        sizes = np.abs(margins[:, [0, 1, 3]])
        clear = (np.sort(sizes, axis=1)[:, 0] > 0) & (np.diff(np.sort(sizes, axis=1), axis=1) > 0).all(axis=1)
        expected = maximin.winners(margins[clear])
        for rule in others:
            assert (rule.winners(counts[clear] @ rule.statistics(votes)) == expected).all()
        checked += int(clear.sum())
    assert checked > 100


@pytest.mark.parametrize("name", RULES)
def test_only_the_order_of_the_sums_counts(name: str) -> None:
    """The winner stays the same if all sums are stretched and moved together, and follows the signs of differences."""
    rule = rule_named(name, 3)
    (counts,) = all_counts(6, 6)
    sums = counts @ rule.statistics(rankings(3))
    winners = rule.winners(sums)
    assert (rule.winners(3 * sums + 5) == winners).all()
    signs = np.sign(counts @ hyperplanes(rule.statistics(rankings(3))).T)
    seen: dict[bytes, int] = {}
    for row, winner in zip(signs, winners.tolist(), strict=True):
        assert seen.setdefault(row.tobytes(), winner) == winner


def test_all_winners_of_a_tie() -> None:
    rule = AllTies(3, rule_named("plurality", 3))
    assert rule.winner(rankings(3), [1, 0, 1, 0, 0, 0]) == 0b011
    assert rule.outcome_name(0b011, ("a", "b", "c")) == "a=b"
    assert (
        measure(Election(rule, 4, uniform(rule))).delta
        >= measure(Election(rule_named("plurality", 3), 4, uniform(rule_named("plurality", 3)))).delta
    )


def test_incomplete_votes() -> None:
    votes = [(0,), (1, 2), (2, 1, 0)]
    assert rule_named("borda", 3).statistics(votes).tolist() == [[4, 1, 1], [0, 4, 2], [0, 2, 4]]
    assert rule_named("approval-2", 3).statistics(votes).tolist() == [[1, 0, 0], [0, 1, 1], [0, 1, 1]]
    assert rule_named("stv", 3).winner(votes, [2, 1, 2]) == 2
    assert rule_named("stv", 5).winner([(0,), (1, 2), (2, 1, 0)], [2, 1, 2]) == 2
    assert rule_named("bucklin", 3).winner([(0,), (1,), (2,)], [1, 2, 1]) == 1
    assert rule_named("maximin", 3).winner(votes, [1, 1, 1]) == 1


@pytest.mark.parametrize(
    ("name", "size", "words"),
    [
        ("dictator", 3, "rule 'dictator': unknown"),
        ("approval-3", 3, "approval-3"),
        ("majority", 3, "has two candidates"),
        ("majority:2", 2, "must lie between 0 and 1"),
        ("positional:1,x,0", 3, "'x' is not a number"),
        ("positional:1,1e-99999999,0", 3, "'1e-99999999' is not a number"),
        ("positional:0,1,2", 3, "a later place"),
        ("positional:1,0", 3, "one number per place"),
        ("kemeny", 9, "at most 6"),
        ("borda", 1, "at least 2"),
    ],
)
def test_wrong_rules(name: str, size: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        rule_named(name, size)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ranking,probability\na>b,0.5\nb>a,0.6\n", "sum to 1.1, not to 1"),
        ("ranking,probability\na>a,1\n", "names 'a' twice"),
        ("ranking,probability\na>d,1\n", "unknown candidate 'd'"),
        ("ranking,probability\na>,1\n", "empty place"),
        ("ranking,probability\na>b,1.5\nb>a,-0.5\n", "below 0"),
        ("ranking,probability\na>b,half\n", "'half' is not a number"),
        ("ranking,probability\na>b,0.5\na>b,0.5\n", "occurs twice"),
        ("vote,probability\na>b,1\n", "column 'ranking' is missing"),
        ("ranking,weight\na>b,1\n", "needs a column 'probability'"),
        ("ranking,low,high\na>b,0.1,0.2\nb>a,0.1,0.3\n", "no probabilities within"),
    ],
)
def test_wrong_beliefs(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "belief.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read_belief(path, ("a", "b", "c"))


def test_beliefs_from_polls_and_intervals(tmp_path: Path) -> None:
    path = tmp_path / "poll.csv"
    path.write_text("ranking,count\na>b,30\nb>a,20\n")
    belief = read_belief(path)
    assert isinstance(belief, Belief) and names_in(path) == ("a", "b")
    assert belief.shares == (Fraction(61, 102), Fraction(41, 102))
    path.write_text("ranking,low,high\na>b,0.46,0.73\nb>a,0.27,0.54\n")
    box = read_belief(path)
    assert isinstance(box, ShareBox)
    rule = rule_named("majority", 2)
    found = worst_in(box, Election(rule, 21, belief), "winner", 0.0)
    assert found.delta == pytest.approx(measure(Election(rule, 21, uniform(rule))).delta, rel=1e-3) and not found.exact


def test_the_worst_of_intervals_for_counts_is_exact() -> None:
    low, high = (Fraction(1, 10), Fraction(1, 5), Fraction(3, 10)), (Fraction(2, 5), Fraction(2, 5), Fraction(4, 5))
    box = ShareBox(((0, 1, 2), (1, 0, 2), (2, 0, 1)), low, high)
    rule = rule_named("plurality", 3)
    start = Election(rule, 30, Belief(box.votes, (Fraction(1, 3),) * 3))
    found = worst_in(box, start, "histogram", 0.0)
    worst = Belief(box.votes, (Fraction(1, 10), Fraction(1, 5), Fraction(7, 10)))
    assert found.exact and found.delta == pytest.approx(measure(Election(rule, 30, worst), "histogram").delta)


NEW = """# FILE NAME: x.soi
# ALTERNATIVE NAME 1: Ann
# ALTERNATIVE NAME 2: Bob
# ALTERNATIVE NAME 3: Cem
5: 1,2
3: 3
2: 2,3,1
"""
OLD = "3\n1,Ann\n2,Bob\n3,Cem\n10,10,3\n5,1,2\n3,3\n2,2,3,1\n"


@pytest.mark.parametrize("text", [NEW, OLD], ids=["new", "old"])
def test_preflib(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.soi"
    path.write_text(text)
    ballots = read_ballots(path)
    assert ballots.names == ("Ann", "Bob", "Cem") and ballots.voters == 10
    assert ballots.counts == {(0, 1): 5, (2,): 3, (1, 2, 0): 2}
    votes, counts = tuple(ballots.counts), tuple(ballots.counts.values())
    assert rule_named("stv", 3).winner(votes, counts) == 0
    assert from_counts(ballots.counts, votes, "").shares[0] == Fraction(11, 23)


@pytest.mark.parametrize(
    ("line", "words"), [("2: 1,1", "names '1' twice"), ("2: 9", "unknown candidate '9'"), ("2: {1,2}", "one place")]
)
def test_wrong_preflib(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "x.toi"
    path.write_text(NEW + line + "\n")
    with pytest.raises(InputError, match=words):
        read_ballots(path)


@pytest.mark.parametrize("line", ["2: 3,{1,2}", "2:3 , { 2 , 1 }", "2: 3"])
def test_a_tie_of_all_others_at_the_end_of_a_preflib_vote(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.toc"
    path.write_text(NEW + line + "\n")
    assert read_ballots(path).counts == {(0, 1): 5, (2,): 5, (1, 2, 0): 2}


def test_two_candidates_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "x.soc"
    path.write_text(NEW.replace("Cem", "Ann"))
    with pytest.raises(InputError, match="two candidates are called 'Ann'"):
        read_ballots(path)


@pytest.mark.parametrize("last", ["{a,c}", "a=c", "c ~ a", ""])
def test_a_tie_of_all_others_at_the_end_of_a_vote_is_as_if_it_stopped_there(tmp_path: Path, last: str) -> None:
    path = tmp_path / "votes.csv"
    ranking = f'"b>{last}"' if last else "b"
    path.write_text(f"ranking,count\n{ranking},2\na>b>c,3\n")
    ballots = read_ballots(path)
    assert ballots.names == ("a", "b", "c") and ballots.counts == {(1,): 2, (0, 1, 2): 3}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ranking\na=b>c\n", r"line 2: ranking 'a=b>c': puts a, b on one place"),
        ('ranking\na>b>c\n"{a,b}>c"\n', r"line 3: ranking '{a,b}>c': puts a, b on one place"),
        ('ranking\na>b>c>d\n"a>{b,c}"\n', r"line 3: .* puts b, c on one place"),
        ('ranking\na>b>c\n"a>b,c"\n', r"line 3: ranking 'a>b,c': 'b,c' looks like a tie"),
        ("ranking\na>b>c\na>b|c\n", r"line 3: .*'b\|c' looks like a tie"),
        ("ranking\na>b>c\na=b=c\n", r"puts a, b, c on one place"),
        ('ranking,count\n"a>b,2\nb>a,3\n', r"is not valid CSV"),
        ("ranking,count\na>b,2,9\nb>a,3\n", r"line 2: has 3 fields, the header has 2"),
        ("ranking,count\na>b\nb>a,3\n", r"line 2: has 1 fields, the header has 2"),
        ("ranking,count,count\na>b,2,9\nb>a,3,1\n", r"column 'count' occurs twice"),
        ("ranking,,count\na>b,2,9\nb>a,3,1\n", r"column 2 has no name"),
        ("ranking,count\na>b,\nb>a,3\n", r"line 2: count '' is not a number"),
        ("ranking,count\na>b,\u00b2\nb>a,3\n", r"line 2: count '\u00b2' is not a number"),
    ],
)
def test_votes_that_could_be_misread_are_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        read_ballots(path)


@pytest.mark.parametrize("header", ["probability", "low,high"])
def test_beliefs_are_read_as_strictly_as_votes(tmp_path: Path, header: str) -> None:
    path = tmp_path / "belief.csv"
    numbers = ",".join(["0.5"] * len(header.split(",")))
    path.write_text(f"ranking,{header}\na>b>c,{numbers}\na=b>c,{numbers}\n")
    with pytest.raises(InputError, match="line 3: .*puts a, b on one place"):
        read_belief(path)
    path.write_text(f"ranking,{header}\na>b>c,{numbers}\nb>a>c,{numbers},1\n")
    with pytest.raises(InputError, match="line 3: has"):
        read_belief(path)


def test_a_name_that_is_stated_may_hold_any_sign(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text('ranking\n"Smith, J>a=b"\na=b\n')
    assert read_ballots(path, ("a=b", "Smith, J")).counts == {(1, 0): 1, (0,): 1}
    assert names_in(path) == ("Smith, J", "a", "b")


def test_the_last_two_of_stv_and_even_duels_of_ranked_pairs() -> None:
    """By hand. STV: c has fewest and is dropped, a and b have two votes each: the first wins, whoever is dropped first.

    Ranked pairs: b beats c by 2 and c beats a by 2; a against b is even. Locked first are b>c and c>a, so that a>b
    would close a cycle and b wins. With no other duel decided, the even one goes to the earlier candidate.
    """
    votes, counts = [(0, 1, 2), (1, 0, 2), (2, 0, 1), (2, 1, 0)], [2, 2, 0, 0]
    assert rule_named("stv", 3).winner(votes, counts) == rule_named("stv-drop-first", 3).winner(votes, counts) == 0
    # Three with one vote each: `stv` drops c and then b; `stv-drop-first` drops a, whose vote goes to b.
    even = [(0, 1, 2), (1, 2, 0), (2, 1, 0)]
    assert rule_named("stv", 3).winner(even, [1, 1, 1]) == 1, "c is dropped, and its vote goes to b"
    assert rule_named("stv-drop-first", 3).winner([(0, 2, 1), *even[1:]], [1, 1, 1]) == 2, "a is dropped, to c"
    pairs = rule_named("ranked-pairs", 3)
    assert pairs.winner([(1, 2, 0), (1, 2, 0), (2, 0, 1), (0, 1, 2)], [1, 1, 1, 1]) == 1
    assert pairs.winner([(0, 1, 2), (2, 1, 0)], [1, 1]) == 0, "all duels are even"


@pytest.mark.parametrize("name", ["maximin", "copeland", "ranked-pairs", "schulze", "stv", "bucklin", "bucklin-simple"])
def test_a_settled_election_has_the_same_winner_whatever_is_added(name: str) -> None:
    rng, rule = np.random.default_rng(7), rule_named(name, 4)
    short = {vote[:size] for vote in rankings(4) for size in (1, 2, 4)}
    votes = sorted(short)
    adds = rule.statistics(votes)
    shares = rng.dirichlet(np.full(len(votes), 0.2), size=400)
    sums = np.stack([rng.multinomial(rng.integers(5, 60), share) for share in shares]) @ adds
    settled = rule.settled(sums)
    assert 20 < settled.sum() < 400
    for add in adds:
        assert (rule.winners(sums + add)[settled] == rule.winners(sums)[settled]).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ranking,votes\na>b,10\nb>a,90\n", "column 'votes' holds numbers only; call it 'count', or remove it"),
        ("ranking,count\na>b,１０\nb>a,90\n", "line 2: count '１０' is not a number"),
        ("ranking,count\na>b,2.5\nb>a,90\n", "line 2: count '2.5' is not a whole number"),
    ],
)
def test_no_vote_vanishes_from_a_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        read_ballots(path)


def test_columns_of_a_belief_that_would_have_no_effect(tmp_path: Path) -> None:
    path = tmp_path / "belief.csv"
    path.write_text("ranking,probability,count\na>b,0.5,10\nb>a,0.5,90\n")
    with pytest.raises(InputError, match="column 'count' would have no effect beside probability; remove it"):
        read_belief(path)

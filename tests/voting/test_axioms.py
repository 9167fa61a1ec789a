"""Axioms on which the classes of Theorem 3 rest, checked on all small elections and in neighbourhoods."""

import pytest

from safemargin.voting.axioms import CounterExample, check_axioms, not_canceling, not_monotone, raised, share_held
from safemargin.voting.rules import RULES, rule_named

PROVED = [name for name in RULES if rule_named(name, 3).is_proved]


def test_raised_votes() -> None:
    assert raised((2, 1, 0), 0) == [(0, 2, 1), (2, 0, 1)]


@pytest.mark.parametrize("name", PROVED)
def test_rules_that_are_proved_are_monotone_and_canceling_out(name: str) -> None:
    rule = rule_named(name, 3)
    assert not_monotone(rule, 7) is None and not_canceling(rule, 7) is None


def test_stv_and_bucklin_are_not_proved() -> None:
    assert set(RULES) - set(PROVED) == {"stv", "stv-drop-first", "bucklin", "bucklin-simple"}
    stv = rule_named("stv", 3)
    assert not_monotone(stv, 6) is None
    assert not_monotone(stv, 7) == CounterExample((0, 2, 2, 0, 1, 2), 0, ((2, 0, 1), (0, 2, 1)), 1)
    for name, then in (("bucklin", 1), ("bucklin-simple", 0)):  # one vote, cba
        assert not_canceling(rule_named(name, 3), 1) == CounterExample((0, 0, 0, 0, 0, 1), 2, None, then)


@pytest.mark.parametrize("name", ["plurality", "veto", "borda", "maximin", "copeland"])
def test_local_stability(name: str) -> None:
    rule = rule_named(name, 3)
    assert share_held(rule, printed=False) == 1.0
    assert 0.3 < share_held(rule, printed=True) < 0.7


def test_axioms_in_words() -> None:
    stv = check_axioms(rule_named("stv", 3))
    assert stv.monotone == "no: with 2 a>c>b, 2 b>a>c, 1 c>a>b, 2 c>b>a, a wins; after c>a>b becomes a>c>b, b"
    assert stv.canceling == "yes"


def test_axioms_about_one_winner_are_not_shown_for_committees() -> None:
    """Outcomes are numbers of committees: member a of a+b who is raised was said to have lost to b, which is a+c."""
    found = check_axioms(rule_named("committee-2", 3), 4)
    assert (found.monotone, found.stable) == ("not shown", "not shown") and found.canceling == "yes"
    example = CounterExample((1, 0, 0, 0, 0, 0), 0, None, 2)
    assert example.text(rule_named("committee-2", 3)).endswith("a+b wins; after one more of every ranking, b+c")

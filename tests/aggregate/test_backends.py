"""Every backend gives the same exact totals; no party alone learns an answer where that is claimed."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import chisquare

from safemargin.aggregate.backends import BACKENDS, PRIME, Shamir, Shares, make_backend
from safemargin.aggregate.party_views import coalition_learns, views
from safemargin.core import InputError, IntArray

MASKED = [name for name, backend in BACKENDS.items() if not backend.proves]
"""Backends whose messages are whole numbers that are added up; those with proofs are in test_parties.py."""


def totals(name: str, values: IntArray, largest: int) -> list[int]:
    backend = make_backend(name, values.shape[1], len(values), largest)
    messages = backend.protect(values)
    for role in backend.roles:
        backend.check(role.name, messages[role.name][0])
    sums = {role.name: backend.add(role.name, messages[role.name]) for role in backend.roles}
    return backend.combine(sums, len(values)).tolist()


@pytest.mark.parametrize("name", [name for name in MASKED if name != "polyveil-scalar"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_totals_are_exact(name: str, data: st.DataObject) -> None:
    clients, questions = data.draw(st.integers(3, 9)), data.draw(st.integers(1, 4))
    largest = data.draw(st.sampled_from([1, 3, 10]))
    rows = st.lists(st.integers(0, largest), min_size=questions, max_size=questions)
    values = np.array(data.draw(st.lists(rows, min_size=clients, max_size=clients)))
    assert totals(name, values, largest) == values.sum(axis=0).tolist()


@pytest.mark.parametrize("name", MASKED)
def test_answers_out_of_range_are_refused(name: str) -> None:
    backend = make_backend(name, 2, 3)
    for wrong in ([[0, 2]], [[0, -1]], [[0, 0, 0]]):
        with pytest.raises(InputError):
            backend.protect(np.array(wrong))


def test_a_total_beyond_the_modulus_is_refused() -> None:
    with pytest.raises(InputError, match="pass 2\\^63"):
        Shares(1, 2**40, 2**30)
    with pytest.raises(InputError, match="pass 2\\^56"):
        Shamir(1, 2**40, 2**20)


def test_wide_shares_are_used_where_totals_need_them() -> None:
    values = np.full((4, 1), 2**30)
    backend = Shares(1, 4, 2**30)
    assert backend.bits == 64
    messages = backend.protect(values)
    sums = {name: backend.add(name, rows) for name, rows in messages.items()}
    assert backend.combine(sums, 4).tolist() == [2**32]


def test_any_threshold_of_aggregators_opens_and_a_wrong_sum_is_noticed() -> None:
    values = np.arange(12).reshape(4, 3)
    backend = Shamir(3, 4, 15)
    messages = backend.protect(values)
    sums = {name: backend.add(name, rows) for name, rows in messages.items()}
    for two in combinations(sums, 2):
        assert backend.combine({name: sums[name] for name in two}, 4).tolist() == values.sum(axis=0).tolist()
    with pytest.raises(InputError, match="2 aggregators are needed"):
        backend.combine(dict(list(sums.items())[:1]), 4)
    name = next(iter(sums))
    with pytest.raises(InputError, match="do not lie on one polynomial"):
        backend.combine({**sums, name: (sums[name] + 1) % PRIME}, 4)


def test_field_sums_of_many_clients_do_not_overflow() -> None:
    backend = Shamir(1, 10**6, 1)
    rows = np.full((1_000, 1), PRIME - 1)
    assert backend.add("", rows).tolist() == [(PRIME - 1) * 1_000 % PRIME]


@pytest.mark.parametrize("name", ["shares", "shamir"])
@pytest.mark.statistical
def test_one_party_sees_uniform_noise(name: str) -> None:
    """The top four bits of a message in 16 classes, for each answer and party: six tests at 1e-8 each."""
    for answer in (0, 1):
        backend = make_backend(name, 1, 40_000)
        messages = backend.protect(np.full((40_000, 1), answer))
        modulus = 2**32 if name == "shares" else PRIME
        for rows in messages.values():
            classes = rows[:, 0].astype(object) * 16 // modulus
            counts = Counter(classes.tolist())
            assert chisquare([counts[c] for c in range(16)]).pvalue > 1e-8


def test_coalitions() -> None:
    values = np.random.default_rng(3).integers(0, 2, size=(6, 3))
    for name in ("shares", "shamir"):
        backend = make_backend(name, 3, 6)
        messages = backend.protect(values)
        roles = [role.name for role in backend.roles]
        assert coalition_learns(backend, messages, {roles[0]}) is None
        learnt = coalition_learns(backend, messages, set(roles))
        assert learnt is not None and learnt.tolist() == values.tolist()
    for name in ("polyveil-two-layer", "polyveil-shuffled"):
        backend = make_backend(name, 3, 6)
        messages = backend.protect(values)
        roles = [role.name for role in backend.roles]
        assert coalition_learns(backend, messages, {roles[1]}) is None
        learnt = coalition_learns(backend, messages, set(roles))
        assert learnt is not None and learnt.tolist() == values.tolist()


@pytest.mark.parametrize("name", ["polyveil", "polyveil-compressed"])
def test_the_server_of_the_first_algorithms_reads_every_client(name: str) -> None:
    values = np.random.default_rng(4).integers(0, 2, size=(30, 4))
    backend = make_backend(name, 4, 30)
    messages = backend.protect(values)
    learnt = coalition_learns(backend, messages, {"server"})
    assert learnt is not None and learnt.tolist() == values.tolist()


@pytest.mark.parametrize("name", MASKED)
def test_views_hold_what_was_sent(name: str) -> None:
    backend = make_backend(name, 2, 5)
    values = np.random.default_rng(1).integers(0, 2, size=(5, 2))
    messages = backend.protect(values)
    seen = views(backend, messages)
    assert [view.role for view in seen] == [*backend.parties, "server, from the roles"]
    for view, role in zip(seen, backend.roles, strict=False):
        assert [len(message) for message in view.messages] == [role.width] * 5
    assert backend.bytes_per_client == sum(role.width for role in backend.roles)


def test_unknown_backends_are_refused() -> None:
    with pytest.raises(InputError, match="must be one of prio3, prio3-one"):
        make_backend("magic", 1, 3)


def test_weighted_digits_give_counts() -> None:
    for values in product(range(4), repeat=3):
        column = np.array(values)[:, None]
        assert totals("polyveil-compressed", column, 3) == [sum(values)]

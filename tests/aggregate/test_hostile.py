"""Clients and servers that do not follow the protocol, against parties as web services."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.testclient import TestClient

from safemargin.aggregate.backends import PRIME, Shamir, make_backend
from safemargin.aggregate.party import ask_agreed_over_http, make_app
from safemargin.aggregate.server import collect_sum as collect
from safemargin.aggregate.session import SessionParty, encode_numbers
from safemargin.aggregate.session_file import SessionFile, make_session
from safemargin.aggregate.sets import set_digest
from safemargin.core import InputError
from safemargin.parties.signature import VERSION, public_hex, sign

NAMES = [f"c{number}" for number in range(6)]
VALUES = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 0], [1, 1]])


class Net:
    """All parties of a session, and whoever wants to talk to them."""

    def __init__(self, folder: Path, backend: str, name: str = "s", keys: Any = None) -> None:
        self.name, self.server = name, Ed25519PrivateKey.generate()
        self.keys = keys or {client: Ed25519PrivateKey.generate() for client in NAMES}
        self.backend = make_backend(backend, 2, 6)
        addresses = {role: f"http://127.0.0.1:{number + 1}" for number, role in enumerate(self.backend.parties)}
        session = SessionFile(
            version=VERSION,
            name=name,
            backend=backend,
            questions=["a", "b"],
            largest=1,
            least=3,
            parties=addresses,
            clients={client: public_hex(key) for client, key in self.keys.items()},
            server=public_hex(self.server),
        )
        self.session, self.away, self.web = make_session(session), set[str](), dict[str, TestClient]()
        self.parties = {
            role: SessionParty(folder / f"{name}{number}.sqlite", role, self.backend, name)
            for number, role in enumerate(self.backend.parties)
        }
        self.roles = [role.name for role in self.backend.roles]
        self.names = {address: role for role, address in addresses.items()}

    async def agreed(self, address: str) -> str | None:
        role = self.names[address]
        return None if role in self.away else self.parties[role].agreed

    def start(self, stack: ExitStack) -> "Net":
        for role, party in self.parties.items():
            self.web[role] = stack.enter_context(TestClient(make_app(self.session, party, self.agreed)))
        return self

    def post(self, role: str, path: str, body: bytes, signature: str = "", client: str = "") -> Any:
        headers = {"x-signature": signature, "x-client": client}
        return self.web[role].post(f"/v1/{path}", content=body, headers=headers)

    def send_all(self) -> None:
        for role, rows in self.backend.protect(VALUES).items():
            for client, row in zip(NAMES, rows, strict=True):
                body = encode_numbers(row, self.backend, role)
                signature = sign(self.keys[client], self.name, role, client, "message", body)
                assert self.post(role, "message", body, signature, client).status_code == 200

    def ask(self, role: str, step: str, document: Any = None) -> Any:
        body = b"" if document is None else json.dumps(document).encode()
        answer = self.post(role, step, body, sign(self.server, self.name, role, "server", step, body))
        return answer.status_code, answer.json()

    def agree(self, role: str, clients: list[str]) -> None:
        assert self.ask(role, "close")[0] == 200
        assert self.ask(role, "agree", {"clients": clients}) == (200, {"digest": set_digest(clients)})


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("backend", ["shares", "shamir", "polyveil-two-layer"])
def test_parties_do_not_open_different_sets(tmp_path: Path, stack: ExitStack, backend: str) -> None:
    """A server that agrees everybody with one party and everybody but one with the next gets nothing.

    With Shamir's shares and one aggregator on its side it could else open both sums, hence the answers of one client.
    """
    net = Net(tmp_path, backend).start(stack)
    net.send_all()
    one, other, *rest = net.roles
    net.agree(one, NAMES)
    code, answer = net.ask(one, "result")
    assert code == 409 and "parties agreed to this set" in answer["refused"]
    net.agree(other, NAMES[:5])
    for role in (one, other):
        code, answer = net.ask(role, "result")
        assert code == 409 and "another set" in answer["refused"]
    assert all(net.ask(role, "result")[0] == 409 for role in rest)


def test_shamir_opens_while_one_party_is_away(tmp_path: Path, stack: ExitStack) -> None:
    net = Net(tmp_path, "shamir").start(stack)
    net.send_all()
    for role in net.roles[:2]:
        net.agree(role, NAMES)
    net.away = {net.roles[2]}
    sums = {role: np.array(net.ask(role, "result")[1]["rows"][0]) for role in net.roles[:2]}
    assert net.backend.combine(sums, 6).tolist() == VALUES.sum(axis=0).tolist()
    net.away = {net.roles[1]}
    code, answer = net.ask(net.roles[0], "result")
    assert code == 409 and "1 parties agreed" in answer["refused"]


def test_two_sets_cannot_both_reach_the_threshold() -> None:
    assert 2 * Shamir.threshold > Shamir.aggregators


def test_a_set_of_three_is_opened_whoever_is_in_it(tmp_path: Path, stack: ExitStack) -> None:
    """What holds and what does not: the minimum counts clients, so two accomplices of the server show the third."""
    net = Net(tmp_path, "shares").start(stack)
    net.send_all()
    for role in net.roles:
        assert net.ask(role, "close")[0] == 200
        assert net.ask(role, "agree", {"clients": ["c0", "c1"]})[0] == 409
        assert net.ask(role, "agree", {"clients": ["c0", "c0", "c1"]})[0] == 409
        assert net.ask(role, "agree", {"clients": ["c0", "c1", "stranger"]})[0] == 409
        net.agree(role, ["c0", "c1", "c2"])
        assert net.ask(role, "agree", {"clients": NAMES})[0] == 409
    sums = {role: np.array(net.ask(role, "result")[1]["rows"][0]) for role in net.roles}
    assert (net.backend.combine(sums, 3) - VALUES[1:3].sum(axis=0)).tolist() == VALUES[0].tolist()


def test_messages_count_in_their_session_and_role_only(tmp_path: Path, stack: ExitStack) -> None:
    net = Net(tmp_path, "shares").start(stack)
    later = Net(tmp_path, "shares", "later", net.keys).start(stack)
    role, other = net.roles
    body = bytes(8)
    signature = sign(net.keys["c0"], "s", role, "c0", "message", body)
    assert later.post(role, "message", body, signature, "c0").status_code == 401
    assert net.post(other, "message", body, signature, "c0").status_code == 401
    assert net.post(role, "message", body, signature, "c1").status_code == 401
    assert net.post(role, "message", bytes(7) + b"\1", signature, "c0").status_code == 401
    stranger = sign(Ed25519PrivateKey.generate(), "s", role, "new", "message", body)
    assert net.post(role, "message", body, stranger, "new").status_code == 401
    assert net.post(role, "message", body, "no hex", "c0").status_code == 401
    assert net.parties[role].status().held == later.parties[role].status().held == 0
    assert net.post(role, "message", body, signature, "c0").status_code == 200
    step = sign(net.server, "s", role, "server", "close", b"")
    assert later.post(role, "close", b"", step).status_code == net.post(other, "close", b"", step).status_code == 401
    assert net.post(role, "close", b"", sign(net.keys["c0"], "s", role, "server", "close", b"")).status_code == 401
    assert net.ask(role, "close") == (200, {"clients": ["c0"]})
    late = sign(net.keys["c1"], "s", role, "c1", "message", body)
    assert net.post(role, "message", body, late, "c1").status_code == 409
    assert net.ask(role, "result")[0] == 409


@pytest.mark.parametrize("path", ["message", "close", "agree", "result", "relay", "other"])
def test_long_bodies_are_cut_off(tmp_path: Path, stack: ExitStack, path: str) -> None:
    net = Net(tmp_path, "shares").start(stack)
    assert net.web[net.roles[0]].post(f"/v1/{path}", content=bytes(5_000_000)).status_code == 413


@pytest.mark.parametrize(
    "document", [[], 5, {}, {"clients": 5}, {"clients": [[1], [2], [3]]}, {"clients": [1, "a", None]}]
)
def test_odd_steps_are_refused(tmp_path: Path, stack: ExitStack, document: Any) -> None:
    net = Net(tmp_path, "shares").start(stack)
    net.ask(net.roles[0], "close")
    assert net.ask(net.roles[0], "agree", document)[0] == 409


def test_numbers_beyond_their_range_are_refused() -> None:
    """Sums of 64-bit words wrap around: a matrix of huge entries could have the right sums."""
    shamir = make_backend("shamir", 1, 3)
    for value in (-1, PRIME, 2**63 - 1):
        with pytest.raises(InputError):
            shamir.check("aggregator 1", np.array([value]))
    full, scale = make_backend("polyveil-two-layer", 2, 3), 8 * 2**20
    full.check("aggregator", full.protect(np.array([[1, 0]]))["aggregator"][0])
    row = [2**62, 2**62, 2**62, 2**62 + scale]  # adds up to the scale modulo 2^64
    with pytest.raises(InputError):
        full.check("aggregator", np.array([np.roll(row, shift) for shift in range(4)]).ravel())


def test_sets_have_names_of_their_own() -> None:
    assert set_digest(["a\nb", "c"]) != set_digest(["a", "b\nc"]) and set_digest(["a", "a"]) == set_digest(["a"])


def test_a_party_that_is_away_agreed_to_nothing() -> None:
    assert asyncio.run(ask_agreed_over_http("http://127.0.0.1:9")) is None


@pytest.mark.parametrize("backend", ["shares", "shamir"])
def test_an_honest_server_is_served(tmp_path: Path, stack: ExitStack, backend: str) -> None:
    net = Net(tmp_path, backend).start(stack)
    net.send_all()

    def ask(role: str, step: str, body: bytes) -> dict[str, Any]:
        code, answer = net.ask(role, step, json.loads(body) if body else None)
        assert code == 200
        return dict(answer)

    assert collect(net.session, net.server, ask).totals.tolist() == VALUES.sum(axis=0).tolist()

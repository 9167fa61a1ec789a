"""Sessions: one set of clients for all parties, whatever is lost, repeated, changed or killed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.testclient import TestClient

from safemargin.aggregate.backends import make_backend
from safemargin.aggregate.party import SERVER, make_app
from safemargin.aggregate.rehearsal import run_session
from safemargin.aggregate.server import collect_sum as collect
from safemargin.aggregate.session import SessionParty, encode_numbers
from safemargin.aggregate.session_file import Session, SessionFile, make_session, read_session
from safemargin.aggregate.sets import check_overlap
from safemargin.core import InputError
from safemargin.parties.signature import VERSION, public_hex, sign

CLIENTS = [f"c{number}" for number in range(6)]


def party(path: Path, role: int = 0, clients: int = 6) -> SessionParty:
    backend = make_backend("shares", 2, clients)
    return SessionParty(path / f"{role}.sqlite", backend.roles[role].name, backend, "s")


def bodies(values: list[list[int]]) -> list[list[bytes]]:
    """Messages by role, then by client."""
    backend = make_backend("shares", 2, 6)
    messages = backend.protect(np.array(values))
    return [[encode_numbers(row, backend, role.name) for row in messages[role.name]] for role in backend.roles]


def test_nothing_is_opened_before_a_set_is_agreed(tmp_path: Path) -> None:
    one = party(tmp_path)
    assert one.accept([("c0", bodies([[1, 0]] * 6)[0][0])]) == [None]
    with pytest.raises(InputError, match="before all parties agreed"):
        one.result()
    with pytest.raises(InputError, match="open still"):
        one.agree(CLIENTS)


def test_repeats_are_harmless_and_changes_are_refused(tmp_path: Path) -> None:
    first, second = bodies([[1, 0]] * 6)[0][:2]
    one = party(tmp_path)
    assert one.accept([("c0", first), ("c0", first), ("c0", second)]) == [None, None, "a second message of one client"]
    assert one.close() == one.close() == ["c0"]
    assert one.accept([("c0", first)]) == [None]
    assert one.accept([("c1", second)]) == ["too late: the set of clients is fixed"]
    assert one.accept([("c2", second[:-1])]) == ["too late: the set of clients is fixed"]
    assert one.status().refused["a second message of one client"] == 1


def test_torn_messages_are_refused(tmp_path: Path) -> None:
    one = party(tmp_path)
    body = bodies([[1, 0]] * 6)[0][0]
    assert one.accept([("c0", body[:5])]) == ["not a message that an honest client sends"]
    assert one.status().held == 0


def test_a_party_goes_on_after_it_was_closed_and_opened_again(tmp_path: Path) -> None:
    values = [[1, 0], [0, 1], [1, 1], [0, 0], [1, 0], [1, 1]]
    parts = bodies(values)
    for role in (0, 1):
        party(tmp_path, role).accept(list(zip(CLIENTS, parts[role], strict=True)))
    sums = {}
    for role in (0, 1):
        again = party(tmp_path, role)
        assert again.close() == CLIENTS
        again.agree(CLIENTS[:5])
        reopened = party(tmp_path, role)
        assert reopened.state == "agreed"
        sums[reopened.role] = reopened.result()[0]
    backend = make_backend("shares", 2, 6)
    assert backend.combine(sums, 5).tolist() == np.array(values[:5]).sum(axis=0).tolist()


def test_a_party_agrees_to_one_set_only(tmp_path: Path) -> None:
    one = party(tmp_path)
    one.accept(list(zip(CLIENTS, bodies([[1, 0]] * 6)[0], strict=True)))
    one.close()
    with pytest.raises(InputError, match="at least 3"):
        one.agree(CLIENTS[:2])
    with pytest.raises(InputError, match="never reached this party"):
        one.agree([*CLIENTS[:3], "c9"])
    digest = one.agree(CLIENTS[:4])
    assert one.agree(CLIENTS[:4]) == digest
    with pytest.raises(InputError, match="another set"):
        one.agree(CLIENTS[:5])


def test_overlapping_sets_are_refused() -> None:
    before = [frozenset(CLIENTS)]
    check_overlap(before, frozenset(CLIENTS), 3)
    check_overlap(before, frozenset({"x", "y", "z"}), 3)
    check_overlap(before, frozenset(CLIENTS[:3]), 3)
    for new in (CLIENTS[:5], [*CLIENTS, "x"], [*CLIENTS[:4], "x", "y", "z"]):
        with pytest.raises(InputError, match="the difference is about"):
            check_overlap(before, frozenset(new), 3)


def test_an_earlier_sum_is_remembered(tmp_path: Path) -> None:
    earlier = party(tmp_path)
    earlier.accept(list(zip(CLIENTS, bodies([[1, 0]] * 6)[0], strict=True)))
    earlier.close()
    earlier.agree(CLIENTS[:5])
    backend = make_backend("shares", 2, 6)
    one = SessionParty(tmp_path / "second.sqlite", backend.roles[0].name, backend, "another session")
    one.accept(list(zip(CLIENTS, bodies([[1, 0]] * 6)[0], strict=True)))
    one.close()
    with pytest.raises(InputError, match="the difference is about 1"):
        one.agree(CLIENTS)


def test_files_of_other_sessions_are_refused(tmp_path: Path) -> None:
    party(tmp_path)
    backend = make_backend("shares", 2, 6)
    with pytest.raises(InputError, match="belongs to session 's'"):
        SessionParty(tmp_path / "0.sqlite", backend.roles[0].name, backend, "another")


class Web:
    """All parties of a session as web applications in this process."""

    def __init__(self, folder: Path, backend: str = "shares") -> None:
        self.keys = {client: Ed25519PrivateKey.generate() for client in CLIENTS}
        self.server = Ed25519PrivateKey.generate()
        roles = make_backend(backend, 2, 6).parties
        stated = SessionFile(
            version=VERSION,
            name="s",
            backend=backend,
            questions=["a", "b"],
            largest=1,
            least=3,
            parties={role: f"http://127.0.0.1:{number + 1}" for number, role in enumerate(roles)},
            clients={client: public_hex(key) for client, key in self.keys.items()},
            server=public_hex(self.server),
        )
        self.session: Session = make_session(stated)
        self.parties = {
            role: SessionParty(folder / f"{number}.sqlite", role, self.session.backend, "s")
            for number, role in enumerate(roles)
        }
        self.web = {
            role: TestClient(make_app(self.session, each, self.ask_agreed)) for role, each in self.parties.items()
        }

    async def ask_agreed(self, address: str) -> str | None:
        return next(self.parties[role].agreed for role, at in self.session.file.parties.items() if at == address)

    def __enter__(self) -> "Web":
        for client in self.web.values():
            client.__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        for client in self.web.values():
            client.__exit__(*details)

    def send(self, client: str, role: str, body: bytes, **other: Any) -> int:
        key = other.get("key", self.keys.get(client))
        signature = sign(key, other.get("session", "s"), other.get("to", role), client, "message", body)
        headers = {"x-client": client, "x-signature": signature}
        return int(self.web[role].post("/v1/message", content=body, headers=headers).status_code)

    def ask(self, role: str, purpose: str, body: bytes) -> dict[str, Any]:
        signature = sign(self.server, "s", role, SERVER, purpose, body)
        answer = self.web[role].post(f"/v1/{purpose}", content=body, headers={"x-signature": signature})
        if answer.status_code != 200:
            raise InputError(f"{role}: {answer.json()['refused']}")
        return dict(answer.json())


@pytest.mark.parametrize("backend", ["shares", "shamir", "polyveil", "polyveil-compressed", "polyveil-two-layer"])
def test_sums_over_http(tmp_path: Path, backend: str) -> None:
    values = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 0], [1, 1]])
    with Web(tmp_path, backend) as web:
        messages = web.session.backend.protect(values)
        for number, client in enumerate(CLIENTS):
            for place, role in enumerate(messages):
                if number == 5 and place:
                    continue  # the last client reaches one party only
                body = encode_numbers(messages[role][number], web.session.backend, role)
                assert web.send(client, role, body) == 200
        summed = collect(web.session, web.server, web.ask)
        assert summed.clients == tuple(CLIENTS[:5])
        assert summed.totals.tolist() == values[:5].sum(axis=0).tolist()
        again = collect(web.session, web.server, web.ask)
        assert again.totals.tolist() == summed.totals.tolist()


def test_a_message_that_is_added_twice_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A party that adds one message twice: the server sees more messages than clients."""
    with Web(tmp_path) as web:
        messages = web.session.backend.protect(np.zeros((6, 2), dtype=np.int64))
        for number, client in enumerate(CLIENTS):
            for role in messages:
                assert web.send(client, role, encode_numbers(messages[role][number], web.session.backend, role)) == 200
        assert collect(web.session, web.server, web.ask).added == 6
        first = web.parties[next(iter(web.parties))]
        held = first.messages()
        twice = np.concatenate([held, np.zeros_like(held[:1])])
        monkeypatch.setattr(first, "messages", lambda: twice)
        assert collect(web.session, web.server, web.ask).added == 7


def test_messages_that_are_not_authentic_are_refused_and_counted(tmp_path: Path) -> None:
    with Web(tmp_path) as web:
        role, other = web.parties
        body = bodies([[1, 0]] * 6)[0][0]
        assert web.send("c0", role, body, key=web.keys["c1"]) == 401
        assert web.send("c0", role, body, session="another") == 401
        assert web.send("c0", role, body, to=other) == 401
        assert web.send("nobody", role, body, key=web.keys["c1"]) == 401
        assert web.send("c0", role, body + bytes(99)) == 413
        assert web.send("c0", role, body[:-1]) == 409
        status = web.web[role].get("/v1/status").json()
        assert status["held"] == 0 and sum(status["refused"].values()) == 6
        assert web.web[role].post("/v1/close", content=b"", headers={"x-signature": "00"}).status_code == 401
        assert web.send("c0", role, body) == 200


def test_steps_are_bound_to_their_purpose(tmp_path: Path) -> None:
    with Web(tmp_path) as web:
        role = next(iter(web.parties))
        signature = sign(web.server, "s", role, SERVER, "close", b"")
        answer = web.web[role].post("/v1/result", content=b"", headers={"x-signature": signature})
        assert answer.status_code == 401
        with pytest.raises(InputError, match="before all parties agreed"):
            web.ask(role, "result", b"")
        with pytest.raises(InputError):
            web.ask(role, "agree", b"{")
        with pytest.raises(InputError, match="no step"):
            web.ask(role, "dance", b"")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"version": 2}, "version 2"),
        ({"backend": "magic"}, "must be one of"),
        ({"parties": {}}, "is not a party"),
        ({"server": "00"}, "public key"),
        ({"least": "many"}, "least"),
        ({"more": 1}, "more"),
    ],
)
def test_session_files_are_checked(tmp_path: Path, change: dict[str, Any], match: str) -> None:
    web = Web(tmp_path)
    document = {**json.loads(web.session.file.model_dump_json()), **change}
    path = tmp_path / "session.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=match):
        read_session(path)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["shares", "shamir", "polyveil-shuffled", "polyveil-two-layer"])
def test_rehearsal_with_processes_that_are_killed(backend: str) -> None:
    run = run_session(120, 4, backend=backend, dropouts=0.1)
    assert run.holds and run.restarts == len(make_backend(backend, 4, 120).roles)
    assert run.counted == 108 and run.dropped == 12
    assert set(run.refused) == {
        "a second message of one client",
        "not a message that an honest client sends",
        "the signature does not fit the client, the session or the role",
    }

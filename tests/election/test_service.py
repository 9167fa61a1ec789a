"""The HTTP interfaces: described by OpenAPI, tried with schemathesis, and silent about everything."""

import asyncio
import contextlib
import hashlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from hypothesis import HealthCheck, given, settings
from starlette.requests import Request
from starlette.testclient import TestClient

from election_world import ESCROW, PLAN, World
from safemargin import election
from safemargin.core import InputError, OutputError
from safemargin.election.board import Head
from safemargin.election.client import Connection, ask_over_http, witness
from safemargin.election.keys import canonical, operator_bytes
from safemargin.election.manifests import KnownElection
from safemargin.election.service import ANSWER_SIZE, Service, make_app, open_role, openapi
from safemargin.election.setup import parse_plan
from safemargin.parties import service as parties_service

pytestmark = pytest.mark.full

ROLES = list(parse_plan(PLAN).parties)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("services")).begin().enrol()


@pytest.fixture(scope="module")
def escrowed(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("escrow"), plan=ESCROW).begin()


def attempt_all(world: World, name: str) -> None:
    """Made-up requests for every route of a role."""
    import schemathesis  # a second of imports, for this test only

    app = make_app(world.roles[name])
    seen: set[int] = set()
    with TestClient(app) as client:
        for made in schemathesis.openapi.from_asgi("/openapi.json", app).get_all_operations():
            attempt(client, made.ok(), seen)
    assert seen - {200}, "made-up messages are refused"


def attempt(client: TestClient, operation: Any, seen: set[int]) -> None:
    """Made-up requests for one route."""

    @settings(max_examples=12, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy())
    def once(case: Any) -> None:
        body = case.body if isinstance(case.body, bytes) else str(case.body or "").encode(errors="replace")
        headers = {key: str(value) for key, value in (case.headers or {}).items()}
        answer = client.request(case.method, case.formatted_path, content=body, headers=headers)
        seen.add(answer.status_code)
        assert answer.status_code < 500
        assert str(answer.status_code) in operation.definition.raw["responses"], answer.status_code
        if answer.status_code >= 400:
            assert set(answer.json()) == {"type", "title", "status"}, "nothing about what was sent"
        assert not operation.path.endswith("/post") or len(answer.content) == ANSWER_SIZE

    once()


@pytest.mark.slow
@pytest.mark.parametrize("name", ROLES)
def test_no_request_makes_a_service_fail(world: World, name: str) -> None:
    """Every route of every role: never a 5xx, only documented answers, no word about what was sent."""
    attempt_all(world, name)


@pytest.mark.parametrize("name", ["escrow-1", "issuer-1", "collector", "registrar"])
def test_no_request_makes_a_service_with_escrow_fail(escrowed: World, name: str) -> None:
    """The trustees of the exception, and the roles that have more steps with it."""
    attempt_all(escrowed, name)


def test_answers_on_the_anonymous_route_have_one_size(world: World) -> None:
    """Taken, refused, too short, too long: nobody who counts bytes can distinguish them."""
    wallet = world.wallets["row 000"]
    wallet.cast(wallet.prepare("age", "yes"))
    message = wallet.message("age")
    with TestClient(make_app(world.roles["box"])) as client:
        bodies = (message, b"", message[:-1], message * 2, bytes(10))
        answers = [client.post("/v1/post", content=body) for body in bodies]
    assert [answer.status_code for answer in answers] == [202, 422, 422, 422, 422]
    assert {len(answer.content) for answer in answers} == {ANSWER_SIZE}
    assert len({answer.content for answer in answers[1:]}) == 1


def signed(
    world: World, sender: str, receiver: str, step: str, boot: str, nonce: str, body: bytes = b""
) -> dict[str, str]:
    """The headers of a signed request."""
    digest = hashlib.sha256(body).hexdigest()
    stated = operator_bytes(digest, boot, nonce)
    signature = world.election.sign(world.secrets[sender].signing, sender, receiver, step, stated)
    return {"x-party": sender, "x-boot": boot, "x-nonce": nonce, "x-digest": digest, "x-signature": signature}


def test_operators_sign_and_strangers_get_nothing(world: World) -> None:
    """A signature is about one step, one message, one running process, and is good for one request."""
    with TestClient(make_app(world.roles["issuer-1"])) as client:
        boot = client.get("/healthz").json()["boot"]

        def ask(step: str, headers: dict[str, str], body: bytes = b"") -> int:
            return client.post(f"/v1/{step}", headers=headers, content=body).status_code

        nonces = (f"{number:032x}" for number in range(100))
        assert ask("lodged", {}) == 401
        assert ask("lodged", signed(world, "box", "issuer-1", "lodged", boot, next(nonces))) == 401, "not its role"
        assert ask("close", signed(world, "issuer-2", "issuer-1", "close", boot, next(nonces))) == 401
        own = signed(world, "issuer-1", "issuer-1", "status", boot, next(nonces))
        assert ask("status", own) == 200 and ask("status", own) == 401, "replayed"
        assert ask("close", signed(world, "issuer-1", "issuer-1", "status", boot, next(nonces))) == 401
        fresh = signed(world, "issuer-1", "issuer-1", "status", boot, next(nonces))
        assert ask("status", fresh, b"x") == 401
        assert ask("status", signed(world, "issuer-1", "issuer-1", "status", "00" * 32, next(nonces))) == 401
        assert ask("lodged", signed(world, "issuer-2", "issuer-1", "lodged", boot, next(nonces))) == 200
        assert ask("sign", {}, bytes(300_000)) == 413
        assert client.get("/v1/lodged").status_code == 405 and client.get("/nothing").status_code == 404
        refused = client.post("/v1/sign", content=world.wallets["row 000"].requests().replace(b"row 000", b"row 001"))
        assert refused.status_code == 422 and b"row" not in refused.content


def test_a_stalled_message_ends(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding 19: a body whose next part never comes is given up."""
    monkeypatch.setattr(parties_service, "STALLED", 0.05)
    made = Service(world.roles["issuer-1"])

    class Slow:
        path_params: ClassVar[dict[str, str]] = {"step": "sign"}
        headers: ClassVar[dict[str, str]] = {}

        async def stream(self) -> AsyncIterator[bytes]:
            yield b"{"
            await asyncio.sleep(30)

    answer = asyncio.run(made.answer(cast(Request, Slow())))
    assert answer.status_code == 413


def test_documents_describe_every_step(world: World) -> None:
    for role in world.roles.values():
        document = openapi(role)
        assert document["openapi"] == "3.1.0"
        assert {f"/v1/{step.name}" for step in role.all_steps} | {"/healthz"} == set(document["paths"])


def test_a_role_is_opened_from_its_folder_by_one_process(world: World, tmp_path: Path) -> None:
    world.secrets["box"].write(tmp_path / "keys.json")
    (tmp_path / "manifest.json").write_bytes(world.election.content)
    role = open_role(tmp_path)
    assert role.name == "box" and role.run("status")
    script = (
        "import sys, pathlib; from safemargin.election.service import open_role; open_role(pathlib.Path(sys.argv[1]))"
    )
    ran = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert "another process works in this folder" in ran.stderr


def test_a_party_that_is_away_is_named(world: World) -> None:
    parties = [{**party.model_dump(), "address": "https://127.0.0.1:9"} for party in world.election.manifest.parties]
    away = KnownElection.parse(json.dumps({**world.election.manifest.model_dump(), "parties": parties}).encode())
    with ask_over_http(away, None, 0.0) as ask, pytest.raises(InputError, match="box does not answer"):
        ask("box", "post", b"")


def test_a_fork_is_noticed_by_services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer to strangers has no words: its status says that this was no absence."""
    world = World(tmp_path).begin()
    parties = [{**party.model_dump(), "address": "https://127.0.0.1:9"} for party in world.election.manifest.parties]
    served = KnownElection.parse(json.dumps({**world.election.manifest.model_dump(), "parties": parties}).encode())
    size = len(world.board.contents)
    other = Head(size + 1, bytes(32), {})
    world.role("issuer-1").store("heads").add({other.size.to_bytes(8, "big"): canonical(other.document())})
    with contextlib.ExitStack() as stack:
        clients = {name: stack.enter_context(TestClient(make_app(role))) for name, role in world.roles.items()}
        monkeypatch.setattr(
            Connection,
            "_post",
            lambda self, party, path, body, headers: clients[party.name].post(path, content=body, headers=headers),
        )
        ask = stack.enter_context(ask_over_http(served, None, 0.0))
        witness(served, ask)  # the board is shorter than what issuer-1 signed: two of three are enough
        ask("board", "append", world.role("collector").run("announce"))
        with pytest.raises(InputError, match="issuer-1 signed another log than board shows: the board was forked"):
            witness(served, ask)


def test_a_step_on_a_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite has errors of its own; nobody has to report a disk that is full."""

    class Full:
        name, closed = "registrar", False

        def run(self, *_: object) -> bytes:
            raise sqlite3.OperationalError("database or disk is full")

        def close(self) -> None:
            self.closed = True

    role = Full()
    monkeypatch.setattr("safemargin.election.api.open_role", lambda *_: role)
    with pytest.raises(OutputError, match=r"its database cannot be written \(database or disk is full\)"):
        election.step(tmp_path, "roll", out=tmp_path / "answer")
    assert role.closed and list(tmp_path.iterdir()) == []

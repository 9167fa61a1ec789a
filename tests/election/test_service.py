"""The HTTP interfaces: described by OpenAPI, tried with schemathesis, and silent about everything."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from starlette.testclient import TestClient

from election_world import ESCROW, PLAN, World
from safemargin.core import InputError
from safemargin.election.client import ask_over_http
from safemargin.election.service import ANSWER_SIZE, make_app, open_role, openapi
from safemargin.election.setup import parse_plan

ROLES = list(parse_plan(PLAN).parties)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("services")).until_issued()


@pytest.fixture(scope="module")
def escrowed(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("escrow"), plan=ESCROW).until_enrolled()


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
        assert "/post/" not in operation.path or len(answer.content) == ANSWER_SIZE

    once()


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
    onion = world.wallets["row 000"].cast("age", "yes", world.board.signers)
    with TestClient(make_app(world.roles["mixer-1"])) as client:
        answers = [client.post("/v1/post/age", content=body) for body in (onion, b"", onion[:-1], onion * 2, bytes(10))]
    assert [answer.status_code for answer in answers] == [202, 422, 422, 422, 422]
    assert {len(answer.content) for answer in answers} == {ANSWER_SIZE}
    assert len({answer.content for answer in answers[1:]}) == 1


def test_operators_sign_and_strangers_get_nothing(world: World) -> None:
    with TestClient(make_app(world.roles["issuer-1"])) as client:
        assert client.post("/v1/lodged").status_code == 401
        digest = hashlib.sha256(b"").hexdigest()
        other = world.election.sign(
            world.secrets["issuer-2"].signing, "issuer-2", "issuer-1", "lodged", digest.encode()
        )
        headers = {"x-digest": digest, "x-signature": other}
        assert client.post("/v1/lodged", headers=headers).status_code == 401
        own = world.election.sign(world.secrets["issuer-1"].signing, "issuer-1", "issuer-1", "lodged", digest.encode())
        headers["x-signature"] = own
        assert client.post("/v1/lodged", headers=headers).status_code == 200
        assert client.post("/v1/close", headers=headers).status_code == 401, "a signature is about one step"
        assert client.post("/v1/lodged", headers=headers, content=b"x").status_code == 401, "and one message"
        assert client.post("/v1/sign", content=bytes(70_000)).status_code == 413
        assert client.get("/v1/lodged").status_code == 405 and client.get("/nothing").status_code == 404
        refused = client.post(
            "/v1/sign", content=world.wallets["row 000"].request("age").replace(b"row 000", b"row 001")
        )
        assert refused.status_code == 422 and b"row" not in refused.content


def test_documents_describe_every_step(world: World) -> None:
    for role in world.roles.values():
        document = openapi(role)
        assert document["openapi"] == "3.1.0"
        assert {f"/v1/{step.name}" for step in role.all_steps} | {"/healthz"} == set(document["paths"])


def test_a_role_is_opened_from_its_folder(world: World, tmp_path: Path) -> None:
    world.secrets["mixer-2"].write(tmp_path / "keys.json")
    (tmp_path / "manifest.json").write_bytes(world.election.content)
    role = open_role(tmp_path)
    assert role.name == "mixer-2" and role.run("approve")
    with pytest.raises(InputError, match="does not answer"):
        ask_over_http(world.election, {"mixer-2": "http://127.0.0.1:9"}, None, 0.0)("mixer-2", "mix", b"")

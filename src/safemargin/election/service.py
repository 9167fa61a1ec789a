"""A role as a web service: one starlette application, with an OpenAPI document written beside its routes."""

import hashlib
import json
from importlib import import_module
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from safemargin.core import InputError
from safemargin.election.board import LOCK
from safemargin.election.keys import new_seed, operator_bytes
from safemargin.election.manifests import KnownElection
from safemargin.election.role import Answer, ConflictError, Role, Step
from safemargin.election.secret import Secret
from safemargin.parties.files import keep_lock
from safemargin.parties.service import BatchQueue, BusyError, read_body, run_service

ANSWER_SIZE = 512
"""Bytes of every answer on an anonymous route, also of a refusal: a reader of lengths learns nothing."""
LONGEST = 1 << 18
"""Bytes of a message by somebody who is not known."""
LONGEST_SIGNED = 1 << 30
"""Bytes of a message that a party signed."""
NONCES = 100_000
"""Nonces of signed requests that a process remembers; after so many it wants to be started again."""
OCTETS = "application/octet-stream"
PROBLEM = "application/problem+json"
TITLES = {
    503: "busy",
    401: "not signed",
    404: "not found",
    405: "not allowed",
    409: "conflict",
    413: "too long",
    422: "refused",
}
CLASSES = {
    "registrar": "issuing:Registrar",
    "issuer": "issuing:Issuer",
    "box": "collecting:BallotBox",
    "collector": "collecting:Collector",
    "board": "keeper:BoardKeeper",
    "trustee": "trustee:Trustee",
    "escrow": "opening:EscrowTrustee",
}
"""Where each role is. A process loads its own role only: issuing never meets collecting."""
MANIFEST, KEYS = "manifest.json", "keys.json"
CERTIFICATE, CERTIFICATE_KEY = "tls.crt", "tls.key"


def open_role(folder: Path, place: str | None = None) -> Role:
    """The role of a folder: its manifest, its keys, and its storage there or in the database `place`."""
    secret, election = Secret.read(folder / KEYS), KnownElection.read(folder / MANIFEST)
    if secret.name not in election.parties:
        raise InputError(f"{folder / KEYS}: {secret.name} is no party of this election")
    keep_lock(folder / LOCK, f"{folder}: another process works in this folder; ask its service instead")
    return role_class(election.parties[secret.name].role)(election, secret, place or folder)


def role_class(role: str) -> type[Role]:
    """The class of a role, loaded now."""
    module, _, name = CLASSES[role].partition(":")
    found: type[Role] = getattr(import_module(f"safemargin.election.{module}"), name)
    return found


class Service:
    """Steps of a role over HTTP; messages that wait for one step are handled and stored together."""

    def __init__(self, role: Role) -> None:
        self.role, self.steps = role, {step.name: step for step in role.all_steps}
        self.queue: BatchQueue[bytes, Answer] = BatchQueue(
            role.name, lambda step, bodies: self.steps[step].handle(bodies), InputError("refused")
        )
        self.boot = new_seed().hex()
        """Of this process: a signed request is for it alone, and cannot be replayed after a restart."""
        self.nonces: set[str] = set()

    async def answer(self, request: Request) -> Response:
        """One step for one message."""
        step = self.steps.get(request.path_params["step"])
        if step is None:
            return refuse(404)
        signed = step.caller in ("operator", "party")
        if signed and not self._is_asked_by_right(request, step):
            return refuse(401)
        try:
            body = await read_body(request, LONGEST_SIGNED if signed else step.size or LONGEST)
        except TimeoutError:
            return refuse(413, step)
        if body is None:
            return refuse(413, step)
        if signed and hashlib.sha256(body).hexdigest() != request.headers.get("x-digest"):
            return refuse(401)
        try:
            record = await self.queue.answer(step.name, body)
        except BusyError:
            return refuse(503, step)
        if isinstance(record, InputError):
            code = 409 if isinstance(record, ConflictError) else 422
            return refuse(code, step, str(record) if signed else None)
        if step.caller == "anonymous":
            return Response(record.ljust(ANSWER_SIZE), 202, media_type=OCTETS)
        return Response(record, media_type=OCTETS)

    def _is_asked_by_right(self, request: Request, step: Step) -> bool:
        """Whether a party that may ask signed this request, for this process and not before.

        The signature is about the hash of the message, so that it is checked before a long message is read.
        """
        role, nonce = self.role, request.headers.get("x-nonce", "")
        sender = request.headers.get("x-party", "")
        party = role.election.parties.get(sender)
        if party is None or (sender != role.name and party.role not in step.roles) or not 16 <= len(nonce) <= 64:
            return False
        if request.headers.get("x-boot") != self.boot or nonce in self.nonces or len(self.nonces) >= NONCES:
            return False
        stated = operator_bytes(request.headers.get("x-digest", ""), self.boot, nonce)
        if not role.election.is_signed(request.headers.get("x-signature", ""), sender, role.name, step.name, stated):
            return False
        self.nonces.add(nonce)
        return True


def refuse(code: int, step: Step | None = None, detail: str | None = None) -> Response:
    """A problem document (RFC 9457) that repeats nothing; on anonymous routes all of one size and one status."""
    if step is not None and step.caller == "anonymous":
        body = {"type": "about:blank", "title": TITLES[422], "status": 422}
        return Response(json.dumps(body).ljust(ANSWER_SIZE), 422, media_type=PROBLEM)
    body = {"type": "about:blank", "title": TITLES[code], "status": code}
    return Response(json.dumps(body | ({"detail": detail} if detail else {})), code, media_type=PROBLEM)


def make_app(role: Role) -> Starlette:
    """The web application of one role."""
    service = Service(role)
    document = openapi(role)

    async def describe(_: Request) -> JSONResponse:
        return JSONResponse(document)

    async def health(_: Request) -> JSONResponse:
        return JSONResponse({"name": role.name, "election": role.election.mid.hex(), "boot": service.boot})

    async def problem(_: Request, error: Exception) -> Response:
        code = getattr(error, "status_code", 404)
        return refuse(code if code in TITLES else 404)

    return Starlette(
        routes=[
            Route("/openapi.json", describe),
            Route("/healthz", health),
            Route("/v1/{step:path}", service.answer, methods=["POST"]),
        ],
        exception_handlers={404: problem, 405: problem},
        lifespan=service.queue.lifespan,
    )


def openapi(role: Role) -> dict[str, Any]:
    """The OpenAPI 3.1 document of a role."""
    problem = {"content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    paths: dict[str, Any] = {
        "/healthz": {
            "get": {
                "operationId": "health",
                "summary": "Which party of which election this is",
                "responses": {"200": {"description": "Running", "content": {"application/json": {"schema": {}}}}},
            }
        }
    }
    for step in role.all_steps:
        done = {"description": "Done", "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}}
        schema: dict[str, Any] = {"type": "string", "format": "binary"}
        if step.size is not None:
            schema |= {"minLength": step.size, "maxLength": step.size}
        refusals = ("422",) if step.caller == "anonymous" else ("401", "409", "413", "422", "503")
        operation: dict[str, Any] = {
            "operationId": step.name.replace("/", "_").replace(" ", "_"),
            "summary": step.summary,
            "requestBody": {"required": True, "content": {OCTETS: {"schema": schema}}},
            "responses": {
                "202" if step.caller == "anonymous" else "200": done,
                **{code: {"description": TITLES[int(code)], **problem} for code in refusals},
            },
        }
        if step.caller in ("operator", "party"):
            operation["parameters"] = [
                {"name": name, "in": "header", "required": True, "schema": {"type": "string", "pattern": "^[ -~]*$"}}
                for name in ("x-party", "x-boot", "x-nonce", "x-digest", "x-signature")
            ]
        paths[f"/v1/{step.name}"] = {"post": operation}
    fields = {"type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"}}
    fields |= {"detail": {"type": "string"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"safemargin election: {role.election.parties[role.name].role}", "version": "1"},
        "paths": paths,
        "components": {
            "schemas": {"Problem": {"type": "object", "required": ["type", "title", "status"], "properties": fields}}
        },
    }


def serve(folder: Path, port: int, place: str | None = None, host: str = "127.0.0.1") -> None:
    """Serve the role of a folder until the process is stopped, over TLS if the folder has a certificate.

    No request is logged.
    """
    role = open_role(folder, place)
    certificate = folder / CERTIFICATE
    run_service(make_app(role), host, port, (certificate, folder / CERTIFICATE_KEY) if certificate.exists() else None)

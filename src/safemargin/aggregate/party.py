"""One party as a web service: it accepts clients' messages and obeys the server's signed steps."""

import json
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from safemargin.aggregate.backend import MaskedReport
from safemargin.aggregate.identity import Identity
from safemargin.aggregate.prio3.scheme import Held
from safemargin.aggregate.session import SessionParty
from safemargin.aggregate.session_file import Session, verify_key
from safemargin.core import InputError
from safemargin.io import parse_json
from safemargin.parties.certificates import trust
from safemargin.parties.files import keep_lock
from safemargin.parties.service import BatchQueue, BusyError, read_body, run_service
from safemargin.parties.signature import is_signed, sign

SERVER = "server"
BUSY = "this party cannot store the message now; send it again"
"""The answer where too many messages wait, or storing one failed."""
REPORTS = 250
"""Reports that two aggregators verify at a time."""

AskAgreed = Callable[[str], Awaitable[str | None]]
"""Asks the party at an address for the name of the set that it agreed to; None if it did not, or is away."""

Exchange = Callable[[str, bytes, str], Awaitable[dict[str, Any]]]
"""Sends verifier shares to the aggregator of a role, with a signature, and gives its answer."""


def exchange_over_http(session: Session) -> Exchange:
    """An exchange with the party at its address, over TLS where the address says so."""

    async def exchange(role: str, body: bytes, signature: str) -> dict[str, Any]:
        context = trust(session.file.certificates.get(role, ""))
        async with httpx2.AsyncClient(timeout=120.0, verify=context) as http:
            try:
                answer = await http.post(
                    f"{session.file.parties[role]}/v1/exchange", content=body, headers={"x-signature": signature}
                )
                document: dict[str, Any] = answer.json()
            except (httpx2.HTTPError, ValueError) as error:
                raise InputError(f"{role}: cannot be reached ({error})") from None
        if answer.status_code != 200:
            raise InputError(f"{role}: {document.get('refused')}")
        return document

    return exchange


async def ask_agreed_over_http(address: str, certificate: str = "") -> str | None:
    """The answer of a party's status."""
    try:
        async with httpx2.AsyncClient(timeout=10.0, verify=trust(certificate)) as http:
            agreed = (await http.get(f"{address}/v1/status")).json()["agreed"]
    except (httpx2.HTTPError, ValueError, KeyError, TypeError):
        return None
    return None if agreed is None else str(agreed)


class PartyService:
    """Routes of one party. Messages that wait are committed together, then all of them are answered."""

    def __init__(
        self,
        session: Session,
        party: SessionParty,
        ask_agreed: AskAgreed,
        exchange: Exchange,
        key: Ed25519PrivateKey | None,
    ) -> None:
        self.session, self.party, self.ask_agreed, self.exchange, self.key = session, party, ask_agreed, exchange, key
        self.longest_step = max(party.width, len(json.dumps(list(session.file.clients))) + 1_000)
        """Bytes of a step: the longest names all clients."""
        self.queue: BatchQueue[tuple[str, bytes], str | None] = BatchQueue(
            party.role, lambda _, messages: party.accept(messages), BUSY
        )

    async def message(self, request: Request) -> JSONResponse:
        """Keep a client's message, or say why not."""
        client, body = request.headers.get("x-client", ""), await _body(request, self.party.width)
        if body is None:
            return self._refuse_message(413, "the message is longer than any of this session, or it stalled")
        if not self._signed(request, client, "message", body):
            return self._refuse_message(401, "the signature does not fit the client, the session or the role")
        try:
            reason = await self.queue.answer("message", (client, body))
        except BusyError:
            reason = BUSY
        if reason is None:
            return JSONResponse({"held": True})
        return _refuse(503 if reason == BUSY else 409, reason)

    def _refuse_message(self, code: int, reason: str) -> JSONResponse:
        self.party.count_refusals([reason])
        return _refuse(code, reason)

    async def step(self, request: Request) -> JSONResponse:
        """Close, agree or result: steps that only the server may ask for."""
        purpose, body = request.path_params["purpose"], await _body(request, self.longest_step)
        if body is None:
            return _refuse(413, "the step is longer than any of this session")
        if not self._signed(request, SERVER, purpose, body):
            return _refuse(401, "only the server of this session may ask for this")
        try:
            if purpose == "close":
                return JSONResponse({"clients": self.party.close()})
            if purpose == "agree":
                return JSONResponse({"digest": self.party.agree(parse_json(body.decode(), "message")["clients"])})
            if purpose == "result":
                await self._check_agreement()
                return JSONResponse(self._signed_result())
            if purpose == "verify":
                return JSONResponse(await self._verify())
            if purpose == "valid":
                return JSONResponse({"clients": self.party.valid()})
            if purpose == "relay":
                return JSONResponse(await self._relayed(body))
        except (InputError, ValueError, KeyError, TypeError) as error:
            return _refuse(409, str(error))
        except (sqlite3.Error, OSError) as error:  # a full disk, say: whoever runs the party mends it, then asks again
            print(f"safemargin: {self.party.role}: {purpose}: {type(error).__name__}: {error}", file=sys.stderr)
            return _refuse(500, "its disk cannot be read or written now; ask again when that is mended")
        return _refuse(404, f"there is no step {purpose!r}")

    def _signed_result(self) -> dict[str, Any]:
        """What this party passes on, with its signature: a statement that it cannot deny later."""
        rows = self.party.passed()
        stated = {"rows": rows, "added": self.party.added, "agreed": self.party.agreed}
        if self.key is None:
            return stated
        body = json.dumps(stated, sort_keys=True).encode()
        return {**stated, "signature": sign(self.key, self.session.file.name, SERVER, self.party.role, "result", body)}

    async def _verify(self) -> dict[str, Any]:
        """Verify all reports that wait, together with the other aggregator; both store the same verdicts."""
        if self.key is None:
            raise InputError(f"{self.party.role}: has no key to sign with")
        (other,) = (role.name for role in self.session.backend.roles if role.name != self.party.role)
        waiting = self.party.unjudged()
        for start in range(0, len(waiting), REPORTS):
            clients = waiting[start : start + REPORTS]
            held = self.party.start(clients)
            own = [each.verifier if each else b"" for each in held]
            body = json.dumps({"clients": clients, "verifiers": [each.hex() for each in own]}).encode()
            signature = sign(self.key, self.session.file.name, other, self.party.role, "exchange", body)
            answer = await self.exchange(other, body, signature)
            theirs = {name: bytes.fromhex(share) for name, share in answer["verifiers"].items()}
            # Reports that the other aggregator does not hold are lost for everybody alike: they get no verdict.
            both = [place for place, name in enumerate(clients) if name in theirs]
            self._judge([clients[p] for p in both], [held[p] for p in both], own, theirs, both)
        return {"valid": len(self.party.valid()), "waiting": len(self.party.unjudged())}

    def _judge(
        self,
        clients: list[str],
        held: list[Held | None],
        own: list[bytes],
        theirs: dict[str, bytes],
        places: list[int],
    ) -> None:
        first = self.party.role == self.session.backend.roles[0].name
        pairs = [(own[place], theirs[name]) for place, name in zip(places, clients, strict=True)]
        self.party.judge(clients, held, pairs if first else [(b, a) for a, b in pairs])

    async def exchanged(self, request: Request) -> JSONResponse:
        """The other aggregator's verifier shares: judge these reports, and answer with the own shares."""
        limit = 2_000 + REPORTS * (2 * self.party.width + 8_000)
        body = await _body(request, limit)
        if body is None:
            return _refuse(413, "more reports than are verified at a time")
        others = [role.name for role in self.session.backend.roles if role.name != self.party.role]
        key = self.session.parties.get(others[0]) if self.session.backend.proves else None
        signature = request.headers.get("x-signature", "")
        if not is_signed(key, signature, self.session.file.name, self.party.role, others[0], "exchange", body):
            return _refuse(401, "only the other aggregator of this session may ask for this")
        try:
            asked = parse_json(body.decode(), "message")
            known = set(self.party.close())
            theirs = {
                name: bytes.fromhex(share)
                for name, share in zip(asked["clients"], asked["verifiers"], strict=True)
                if name in known
            }
            clients = list(theirs)
            held = self.party.start(clients)
            own = [each.verifier if each else b"" for each in held]
            self._judge(clients, held, own, theirs, list(range(len(clients))))
        except (InputError, ValueError, KeyError, TypeError) as error:
            return _refuse(409, str(error))
        return JSONResponse({"verifiers": {name: share.hex() for name, share in zip(clients, own, strict=True)}})

    async def _check_agreement(self) -> None:
        """Ask the other parties which set they agreed to: the server's word is not enough.

        A server that agrees one set with one party and another set with the next could take their difference.
        """
        own, same = self.party.agreed, 1
        for role in self.session.backend.roles if own else ():
            if role.name != self.party.role:
                agreed = await self.ask_agreed(self.session.file.parties[role.name])
                if agreed not in (None, own):
                    raise InputError(f"{role.name} agreed to another set of clients")
                same += agreed == own
        if own and same < self.session.backend.needed:
            raise InputError(f"{same} parties agreed to this set of clients: {self.session.backend.needed} are needed")

    async def _relayed(self, ticket: bytes) -> dict[str, Any]:
        """Fetch what a shuffler passes on, with the server's signature for it, and add it up.

        So the server gets a sum, and this party gets numbers without names.
        """
        source = parse_json(ticket.decode(), "message")
        role = next(each for each in self.session.backend.roles if each.relay == self.party.role)
        certificate = self.session.file.certificates.get(role.name, "")
        async with httpx2.AsyncClient(timeout=60.0, verify=trust(certificate)) as http:
            answer = await http.post(
                f"{self.session.file.parties[role.name]}/v1/result", headers={"x-signature": source["signature"]}
            )
        if answer.status_code != 200:
            raise InputError(f"{role.name}: {answer.json().get('refused')}")
        rows = np.array(answer.json()["rows"], dtype=np.int64)
        assert isinstance(self.session.backend, MaskedReport)
        return {"rows": [self.session.backend.add(role.name, rows).tolist()], "added": len(rows)}

    async def status(self, request: Request) -> JSONResponse:
        """How far the session is; no answer of anybody."""
        status = self.party.status()
        return JSONResponse(
            {"state": status.state, "held": status.held, "refused": status.refused, "agreed": self.party.agreed}
        )

    def _signed(self, request: Request, sender: str, purpose: str, body: bytes) -> bool:
        key = self.session.server if purpose != "message" else self.session.keys.get(sender)
        signature = request.headers.get("x-signature", "")
        return is_signed(key, signature, self.session.file.name, self.party.role, sender, purpose, body)


async def _body(request: Request, most: int) -> bytes | None:
    """The body, unless it is too long or stalls: a sender must not fill the memory, nor hold a connection for ever."""
    try:
        return await read_body(request, most)
    except TimeoutError:
        return None


def _refuse(code: int, reason: str) -> JSONResponse:
    return JSONResponse({"refused": reason}, status_code=code)


def make_app(
    session: Session,
    party: SessionParty,
    ask_agreed: AskAgreed | None = None,
    exchange: Exchange | None = None,
    key: Ed25519PrivateKey | None = None,
) -> Starlette:
    """The web application of one party."""
    certificates = {address: session.file.certificates.get(role, "") for role, address in session.file.parties.items()}

    async def over_http(address: str) -> str | None:
        return await ask_agreed_over_http(address, certificates.get(address, ""))

    service = PartyService(session, party, ask_agreed or over_http, exchange or exchange_over_http(session), key)

    return Starlette(
        routes=[
            Route("/v1/message", service.message, methods=["POST"]),
            Route("/v1/status", service.status),
            Route("/v1/exchange", service.exchanged, methods=["POST"]),
            Route("/v1/{purpose}", service.step, methods=["POST"]),
        ],
        lifespan=service.queue.lifespan,
    )


def run_party(
    session: Session,
    role: str,
    identity: Identity,
    database: Path,
    *,
    host: str = "127.0.0.1",
    port: int,
    tls: tuple[Path, Path] | None = None,
) -> None:
    """Serve one role until the process is stopped.

    The lock is on the database, not on its folder: one party may serve several sessions from one folder.
    """
    keep_lock(Path(f"{database}.lock"), f"{database}: another process serves this party")
    party = SessionParty(
        database, role, session.backend, session.file.name, session.file.least, verify_key(session, identity, role)
    )
    run_service(make_app(session, party, key=identity.signing), host, port, tls)

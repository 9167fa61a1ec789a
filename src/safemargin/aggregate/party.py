"""One party as a web service: it accepts clients' messages and obeys the server's signed steps."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from safemargin.aggregate.session import SessionParty
from safemargin.aggregate.session_file import Session, read_session
from safemargin.aggregate.signature import is_signed
from safemargin.core import InputError

SERVER = "server"
BATCH = 500
"""Messages that are committed together: one sync to disk for all of them, before any is acknowledged."""


AskAgreed = Callable[[str], Awaitable[str | None]]
"""Asks the party at an address for the name of the set that it agreed to; None if it did not, or is away."""


async def ask_agreed_over_http(address: str) -> str | None:
    """The answer of a party's status."""
    try:
        async with httpx2.AsyncClient(timeout=10.0) as http:
            agreed = (await http.get(f"{address}/v1/status")).json()["agreed"]
    except (httpx2.HTTPError, ValueError, KeyError, TypeError):
        return None
    return None if agreed is None else str(agreed)


class PartyService:
    """Routes of one party. Messages wait in a queue for the next commit, then all of them are answered."""

    def __init__(self, session: Session, party: SessionParty, ask_agreed: AskAgreed) -> None:
        self.session, self.party, self.ask_agreed = session, party, ask_agreed
        self.longest_step = max(party.width, len(json.dumps(list(session.file.clients))) + 1_000)
        """Bytes of a step: the longest names all clients."""
        self.queue: asyncio.Queue[tuple[str, bytes, asyncio.Future[str | None]]] = asyncio.Queue()

    async def commit(self) -> None:
        """Write waiting messages in batches, for as long as the service runs."""
        while True:
            batch = [await self.queue.get()]
            while len(batch) < BATCH and not self.queue.empty():
                batch.append(self.queue.get_nowait())
            answers = self.party.accept([(client, body) for client, body, _ in batch])
            for (_, _, future), answer in zip(batch, answers, strict=True):
                if not future.done():
                    future.set_result(answer)

    async def message(self, request: Request) -> JSONResponse:
        """Keep a client's message, or say why not."""
        client, body = request.headers.get("x-client", ""), await self._body(request, self.party.width)
        if body is None:
            return self._refuse_message(413, "the message is longer than any of this session")
        if not self._signed(request, client, "message", body):
            return self._refuse_message(401, "the signature does not fit the client, the session or the role")
        future: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        await self.queue.put((client, body, future))
        reason = await future
        return JSONResponse({"held": True}) if reason is None else _refuse(409, reason)

    def _refuse_message(self, code: int, reason: str) -> JSONResponse:
        self.party.count_refusals([reason])
        return _refuse(code, reason)

    async def step(self, request: Request) -> JSONResponse:
        """Close, agree or result: steps that only the server may ask for."""
        purpose, body = request.path_params["purpose"], await self._body(request, self.longest_step)
        if body is None:
            return _refuse(413, "the step is longer than any of this session")
        if not self._signed(request, SERVER, purpose, body):
            return _refuse(401, "only the server of this session may ask for this")
        try:
            if purpose == "close":
                return JSONResponse({"clients": self.party.close()})
            if purpose == "agree":
                return JSONResponse({"digest": self.party.agree(json.loads(body)["clients"])})
            if purpose == "result":
                await self._check_agreement()
                return JSONResponse({"rows": self.party.result().tolist(), "added": self.party.added})
            if purpose == "relay":
                return JSONResponse(await self._relayed(body))
        except (InputError, ValueError, KeyError, TypeError) as error:
            return _refuse(409, str(error))
        return _refuse(404, f"there is no step {purpose!r}")

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
        source = json.loads(ticket)
        role = next(each for each in self.session.backend.roles if each.relay == self.party.role)
        async with httpx2.AsyncClient(timeout=60.0) as http:
            answer = await http.post(
                f"{self.session.file.parties[role.name]}/v1/result", headers={"x-signature": source["signature"]}
            )
        if answer.status_code != 200:
            raise InputError(f"{role.name}: {answer.json().get('refused')}")
        rows = np.array(answer.json()["rows"], dtype=np.int64)
        return {"rows": [self.session.backend.add(role.name, rows).tolist()], "added": len(rows)}

    async def status(self, request: Request) -> JSONResponse:
        """How far the session is; no answer of anybody."""
        status = self.party.status()
        return JSONResponse(
            {"state": status.state, "held": status.held, "refused": status.refused, "agreed": self.party.agreed}
        )

    async def _body(self, request: Request, most: int) -> bytes | None:
        """The body, unless it is too long: a sender must not fill the memory."""
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > most:
                return None
        return body

    def _signed(self, request: Request, sender: str, purpose: str, body: bytes) -> bool:
        key = self.session.server if purpose != "message" else self.session.keys.get(sender)
        signature = request.headers.get("x-signature", "")
        return is_signed(key, signature, self.session.file.name, self.party.role, sender, purpose, body)


def _refuse(code: int, reason: str) -> JSONResponse:
    return JSONResponse({"refused": reason}, status_code=code)


def make_app(session: Session, party: SessionParty, ask_agreed: AskAgreed = ask_agreed_over_http) -> Starlette:
    """The web application of one party."""
    service = PartyService(session, party, ask_agreed)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(service.commit())
        yield
        task.cancel()

    return Starlette(
        routes=[
            Route("/v1/message", service.message, methods=["POST"]),
            Route("/v1/status", service.status),
            Route("/v1/{purpose}", service.step, methods=["POST"]),
        ],
        lifespan=lifespan,
    )


def run_party(session_file: Path, role: str, database: Path, port: int) -> None:
    """Serve one role on loopback until the process is stopped."""
    session = read_session(session_file)
    party = SessionParty(database, role, session.backend, session.file.name, session.file.least)
    uvicorn.run(make_app(session, party), host="127.0.0.1", port=port, log_level="error", access_log=False)


if __name__ == "__main__":
    run_party(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))

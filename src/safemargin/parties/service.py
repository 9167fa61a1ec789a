"""A party as a web service: bodies of limited length, a queue of limited length, and one commit for many messages."""

import asyncio
import contextlib
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Generic, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from uvicorn.protocols.http.h11_impl import H11Protocol

from safemargin.core import system_below

STALLED = 30.0
"""Seconds within which the head of a request, and each next part of a message, must come."""
SLOWEST = 1024
"""Bytes per second that a message has to arrive with, after that."""
WAITING, CONCURRENT = 5_000, 400
"""Messages that may wait, and connections at one time; more are refused and can be sent again."""
BATCH = 500
"""Messages that are handled together: one sync to disk for all of them, before any is answered."""
FIRST_PORT, PORTS = 12_000, 18_000
"""Ports to choose from for parties on one machine."""

Message = TypeVar("Message")
Answer = TypeVar("Answer")


class BusyError(Exception):
    """Too many messages wait: this one was not taken, and can be sent again."""


class BatchQueue(Generic[Message, Answer]):
    """Messages wait in one queue; all that wait are handled together, and each is answered after that.

    `handle` takes all messages of one step and gives one answer for each. If it raises, every message is handled by
    itself, so that nobody is refused for the message of somebody else; one that raises again gets the answer `fault`.
    """

    def __init__(self, name: str, handle: Callable[[str, list[Message]], list[Answer]], fault: Answer) -> None:
        self._name, self._handle, self._fault = name, handle, fault
        self._queue: asyncio.Queue[tuple[str, Message, asyncio.Future[Answer]]] = asyncio.Queue(WAITING)

    async def answer(self, step: str, message: Message) -> Answer:
        """The answer to a message once it is stored; `BusyError` at once where too many wait already."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        try:
            self._queue.put_nowait((step, message, future))
        except asyncio.QueueFull:
            raise BusyError from None
        return await future

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Handle what waits for as long as the service runs."""
        task = asyncio.create_task(self._work())
        yield
        task.cancel()

    async def _work(self) -> None:
        while True:
            waiting = [await self._queue.get()]
            while len(waiting) < BATCH and not self._queue.empty():
                waiting.append(self._queue.get_nowait())
            for step in dict.fromkeys(step for step, _, _ in waiting):
                group = [(message, future) for own, message, future in waiting if own == step]
                answers = self._answers(step, [message for message, _ in group])
                for (_, future), answer in zip(group, answers, strict=True):
                    if not future.done():  # the sender may have gone
                        future.set_result(answer)

    def _answers(self, step: str, messages: list[Message]) -> list[Answer]:
        try:
            return self._handle(step, messages)
        except Exception as error:  # a fault of ours must not end the service, nor show anything to the sender
            if len(messages) > 1:
                return [answer for message in messages for answer in self._answers(step, [message])]
            print(f"safemargin: {self._name}: {step}: {type(error).__name__}: {error}", file=sys.stderr)
            return [self._fault]


async def read_body(request: Request, most: int) -> bytes | None:
    """The body; None if it is longer than `most`, which is noticed before the rest is read.

    A sender that sends no part for `STALLED` seconds, or less than `SLOWEST`, causes a `TimeoutError`.
    """
    parts: list[bytes] = []
    length, stream, started = 0, request.stream(), time.monotonic()
    while True:
        try:
            part = await asyncio.wait_for(anext(stream), STALLED)
        except StopAsyncIteration:
            return b"".join(parts)
        parts.append(part)
        length += len(part)
        if length > most:
            return None
        if time.monotonic() - started > STALLED + length / SLOWEST:
            raise TimeoutError


class PromptProtocol(H11Protocol):
    """Connections whose requests begin soon: few that send nothing, or a sign now and then, would keep others out."""

    _end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request."""
        super().connection_made(transport)  # type: ignore[arg-type]  # of the server, which is a transport
        self._end = self.loop.call_later(STALLED, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of what begins, and no longer for what has its head."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._end is None:
            self._end = self.loop.call_later(STALLED, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is awaited any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _stop_waiting(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None


def run_service(app: Starlette, host: str, port: int, tls: tuple[Path, Path] | None) -> None:
    """Serve until the process is stopped, over TLS with a certificate and its key. No request is logged."""
    certificate, secret = map(str, tls) if tls else (None, None)
    uvicorn.run(
        app,
        http=PromptProtocol,
        host=host,
        port=port,
        log_level="error",
        access_log=False,
        limit_concurrency=CONCURRENT,
        timeout_keep_alive=5,
        ssl_certfile=certificate,
        ssl_keyfile=secret,
    )


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on.

    They are below those that the system gives to connections, so that none is taken before it is listened on.
    """
    sockets: list[socket.socket] = []
    try:
        while len(sockets) < count:
            tried = socket.socket()
            try:
                tried.bind(("127.0.0.1", FIRST_PORT + int(system_below(PORTS, (1,))[0])))
                sockets.append(tried)
            except OSError:
                tried.close()
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()

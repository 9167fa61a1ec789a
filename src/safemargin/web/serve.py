"""The server of the workbench: loopback, one browser session, and an end when nobody looks."""

import asyncio
import contextlib
import shutil
import socket
import tempfile
import threading
import time
import webbrowser
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import uvicorn
from starlette.types import Receive, Scope, Send

from safemargin.core import InputError
from safemargin.web.app import App
from safemargin.web.bench import Bench
from safemargin.web.guard import Guard
from safemargin.web.place import Place


def serve(place: Path | None, port: int, browser: bool, idle: float, ready: Callable[[str], None]) -> None:
    """Serve the pages until nobody uses them; then cancel what runs, and remove what was dropped."""
    opened = Place(place)
    with contextlib.closing(_loopback(port)) as listener:
        uploads = Path(tempfile.mkdtemp(prefix="safemargin-"))
        bench = Bench(opened, uploads)
        try:
            _serve(bench, listener, browser, idle, ready)
        finally:
            bench.jobs.cancel()
            shutil.rmtree(uploads, ignore_errors=True)


def _loopback(port: int) -> socket.socket:
    """A socket that only this machine reaches."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()  # now, so that a browser that comes before the server is ready waits
    except (OSError, OverflowError) as error:
        listener.close()
        raise InputError(f"port = {port}: cannot be used ({error})") from None
    return listener


def _serve(bench: Bench, listener: socket.socket, browser: bool, idle: float, ready: Callable[[str], None]) -> None:
    async def refused(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("the routes are set below")

    guard = Guard(refused, listener.getsockname()[1])
    app = App(bench).starlette(guard.start)
    guard.app = app

    async def watch() -> None:
        while True:
            await asyncio.sleep(min(1.0, idle * 6))
            if time.monotonic() - guard.last > 60 * idle and bench.jobs.running is None:
                server.should_exit = True

    @contextlib.asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        task = asyncio.create_task(watch())
        ready(guard.address)
        if browser:
            threading.Thread(target=webbrowser.open, args=(guard.address,), daemon=True).start()
        yield
        task.cancel()

    app.router.lifespan_context = lifespan
    config = uvicorn.Config(
        guard,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    server.run(sockets=[listener])

"""The workbench: pages as one web application, and its server on this machine alone, which ends when nobody looks.

A screen shows; a form acts, and names the next page.
"""

import asyncio
import contextlib
import mimetypes
import socket
import threading
import time
import traceback
import webbrowser
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from safemargin.core import InputError, SafemarginError, one_line
from safemargin.io import new_scratch
from safemargin.parties.service import PromptProtocol
from safemargin.ui import script, templates
from safemargin.web.bench import LARGEST, Bench, Given, Screen, WrongFields
from safemargin.web.guard import Guard
from safemargin.web.place import Place
from safemargin.web.screens import attack, check, data, exposure, home, limits, plan, publish, timeline, work

SCREENS: dict[str, Screen] = {
    screen.name: screen
    for screen in (
        home.SCREEN,
        data.SCREEN,
        limits.SCREEN,
        exposure.SCREEN,
        plan.SCREEN,
        publish.SCREEN,
        attack.SCREEN,
        timeline.SCREEN,
        check.SCREEN,
        work.SCREEN,
    )
}
"""Every screen, in the order of the menu. A new one is a file, a template of its name, and a line here."""
PACKAGE = "safemargin.web"
SCRATCH, PAGE = "safemargin-workbench-", "open.html"
"""The private folder of a workbench, and the page in it that a browser is started with."""
LONGEST = 4 << 20
"""Bytes of a form; a project file is one field of it."""
FRAMED = "default-src 'none'; style-src 'unsafe-inline'; script-src {}; frame-ancestors 'self'; sandbox allow-scripts"
REPORT_SCRIPTS = ("page.js", "counts.js", "check.js")
"""The policy of a page that a screen shows in a frame: it may run the scripts of reports, and nothing else."""


def policy() -> str:
    """The policy of every screen: one script, known by its hash, and no address but our own."""
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_script()[1]}'; connect-src 'self'; "
        "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


def _script() -> tuple[str, str]:
    return script("shell.js", PACKAGE)


class _Fields(dict[str, str]):
    """The fields of a form for a template; what was not filled in is empty."""

    def __missing__(self, name: str) -> str:
        return ""


class App:
    """The routes, below the path that only our own browser knows."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def starlette(self, start: str) -> Starlette:
        """The web application below `start`."""
        app = Starlette(
            routes=[
                Route(f"{start}status", self.status),
                Route(f"{start}drop", self.drop, methods=["POST"]),
                Route(f"{start}file/{{run}}/{{name:path}}", self.file),
                Route(f"{start}{{screen}}", self.show),
                Route(start, self.show),
                Route(f"{start}{{screen}}", self.act, methods=["POST"]),
            ]
        )
        app.router.redirect_slashes = False
        return app

    async def show(self, request: Request) -> Response:
        """One screen."""
        name = request.path_params.get("screen", "home")
        if name not in SCREENS:
            return PlainTextResponse("There is no such page.", 404)
        return await asyncio.to_thread(self.render, name, dict(request.query_params))

    async def act(self, request: Request) -> Response:
        """Do what a form asks for; an error is shown on the screen of the form, with what was filled in."""
        name = request.path_params["screen"]
        body = await _body(request, LONGEST)
        if name not in SCREENS or body is None:
            return PlainTextResponse("There is no such page, or the form is too long.", 404)
        form = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
        action = SCREENS[name].actions.get(form.get("do", ""))
        if action is None:
            return PlainTextResponse("There is no such form.", 404)
        try:
            return RedirectResponse(await asyncio.to_thread(action, self.bench, form), 303)
        except WrongFields as error:
            return await asyncio.to_thread(self.render, name, form, one_line(str(error)), error.fields)
        except SafemarginError as error:
            return await asyncio.to_thread(self.render, name, form, one_line(str(error)))

    def render(
        self, name: str, given: Given, error: str = "", fields: Mapping[str, str] = MappingProxyType({})
    ) -> Response:
        """A screen as HTML; what cannot be shown is one line. `fields` says what is wrong in which field of a form."""
        screen = SCREENS[name]
        context: dict[str, Any] = {}
        template = f"{name}.html"
        try:
            context = screen.show(self.bench, given)
        except SafemarginError as wrong:
            error, template = error or one_line(str(wrong)), "wrong.html"
        except Exception as fault:  # of ours: one line here, the rest where the workbench was started
            traceback.print_exc()
            error, template = one_line(f"internal error: {type(fault).__name__}: {fault}"), "wrong.html"
        if (looked := self.bench.jobs.find(given.get("job") or given.get("id", ""))) is not None:
            looked.seen = looked.state != "running" or looked.seen
        page = templates(PACKAGE).get_template(template)
        text = page.render(
            **context,
            given=_Fields(given),
            error=error,
            errors={name: one_line(text) for name, text in fields.items()},
            screen=screen,
            bench_base=self.bench.base,
            news=[job for job in self.bench.jobs.news if name != "job" or str(job.number) != given.get("id")],
            place=self.bench.place,
            links=[each for each in SCREENS.values() if each.title and each.is_there(self.bench)],
            running=self.bench.jobs.running,
            script=_script()[0],
        )
        return HTMLResponse(text, 422 if error else 200, headers={"content-security-policy": policy()})

    async def status(self, _: Request) -> Response:
        """How far the job at work is, and how the last one ended."""
        jobs = [job.status() for job in list(self.bench.jobs.jobs.values())[-1:]]
        return JSONResponse({"job": jobs[0] if jobs else None})

    async def drop(self, request: Request) -> Response:
        """Keep a file that was dropped on a page, and name its path."""
        content = await _body(request, LARGEST)
        if content is None:
            return JSONResponse({"error": f"the file has more than {LARGEST >> 20} MiB: give its path instead"})
        try:
            path = await asyncio.to_thread(self.bench.keep, request.query_params.get("name", ""), content)
        except SafemarginError as error:
            return JSONResponse({"error": one_line(str(error))})
        return JSONResponse({"path": str(path)})

    async def file(self, request: Request) -> Response:
        """A page that a run wrote; nothing outside the folder of the run."""
        try:
            run = await asyncio.to_thread(self.bench.place.run, request.path_params["run"])
            path = (run.folder / request.path_params["name"]).resolve()
            inside = path.is_relative_to(run.folder.resolve()) and path.suffix in (".html", ".csv", ".json")
            if not inside or not path.is_file():
                raise InputError("there is no such file")
        except (InputError, OSError, ValueError):
            return PlainTextResponse("There is no such file.", 404)
        return _framed(path)


def _framed(path: Path) -> Response:
    """A file as it is; a page may run the script of reports, in a world of its own."""
    kind = mimetypes.types_map.get(path.suffix, "text/plain")
    scripts = " ".join(f"'sha256-{script(name)[1]}'" for name in REPORT_SCRIPTS)
    headers = {"content-security-policy": FRAMED.format(scripts)}
    return Response(path.read_bytes(), media_type=kind if kind == "text/html" else "text/plain", headers=headers)


async def _body(request: Request, most: int) -> bytes | None:
    parts, length = [], 0
    async for part in request.stream():
        parts.append(part)
        length += len(part)
        if length > most:
            return None
    return b"".join(parts)


def serve(place: Path | None, port: int, browser: bool, idle: float, ready: Callable[[str], None]) -> None:
    """Serve the pages until nobody uses them; then cancel what runs, and remove what was dropped."""
    opened = Place(place)
    with contextlib.closing(_loopback(port)) as listener:
        # Private, and removed by the next workbench if this one is killed.
        scratch = new_scratch(SCRATCH)
        uploads = scratch.folder / "dropped"
        uploads.mkdir()
        bench = Bench(opened, uploads)
        try:
            _serve(bench, listener, browser, idle, ready)
        finally:
            bench.jobs.cancel()
            scratch.remove()


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
    page = bench.uploads.parent / PAGE

    async def watch() -> None:
        while True:
            await asyncio.sleep(min(1.0, idle * 6))
            if guard.is_used:
                page.unlink(missing_ok=True)
            if time.monotonic() - guard.last > 60 * idle and bench.jobs.running is None:
                server.should_exit = True

    @contextlib.asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        task = asyncio.create_task(watch())
        ready(guard.address)
        if browser:
            # Not the link itself: everybody on the machine sees what a program was started with.
            page.write_text(guard.page, encoding="utf-8")
            threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
        yield
        task.cancel()

    app.router.lifespan_context = lifespan
    config = uvicorn.Config(
        guard,
        http=PromptProtocol,  # others on the machine can connect too, and must not keep us out
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    server.run(sockets=[listener])

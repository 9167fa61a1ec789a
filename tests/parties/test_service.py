"""The queue, the limits of a message and the private files that every party uses."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import cast

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from safemargin.core import InputError, OutputError
from safemargin.parties import files, service
from safemargin.parties.files import compact, open_private, take_lock, write_private
from safemargin.parties.service import BATCH, BatchQueue, BusyError, PromptProtocol, read_body


def answers_of(queue: BatchQueue[str, str], messages: Iterable[tuple[str, str]]) -> list[str | BaseException]:
    async def run() -> list[str | BaseException]:
        async def all_of_them() -> list[str | BaseException]:
            asked = (queue.answer(step, message) for step, message in messages)
            return await asyncio.gather(*asked, return_exceptions=True)

        waiting = asyncio.create_task(all_of_them())
        await asyncio.sleep(0)  # all of them wait before the first is handled
        async with queue.lifespan(Starlette()):
            return await waiting

    return asyncio.run(run())


def test_messages_of_one_step_are_handled_together() -> None:
    calls: list[tuple[str, int]] = []

    def handle(step: str, messages: list[str]) -> list[str]:
        calls.append((step, len(messages)))
        return [f"{step} {message}" for message in messages]

    asked = [(("a", "b")[number % 3 == 0], str(number)) for number in range(BATCH)]
    assert answers_of(BatchQueue("p", handle, "fault"), asked) == [f"{step} {message}" for step, message in asked]
    assert sorted(calls) == [("a", BATCH - 167), ("b", 167)]


def test_one_message_that_breaks_a_step_breaks_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    handled: list[str] = []

    def handle(step: str, messages: list[str]) -> list[str]:
        if "bad" in messages:
            raise ValueError("a secret")
        handled.extend(messages)
        return messages

    queue = BatchQueue("p", handle, "fault")
    asked = [("x", "a"), ("x", "bad"), ("y", "c"), ("x", "b")]
    assert answers_of(queue, asked) == ["a", "fault", "c", "b"]
    assert sorted(handled) == ["a", "b", "c"], "another step is not handled twice"
    assert "p: x: ValueError" in capsys.readouterr().err


def test_a_full_queue_refuses_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "WAITING", 2)
    queue: BatchQueue[str, str] = BatchQueue("p", lambda _, messages: messages, "fault")
    found = answers_of(queue, [("x", str(number)) for number in range(5)])
    assert found[:2] == ["0", "1"] and all(isinstance(each, BusyError) for each in found[2:])


class Parts:
    """A request whose body comes in parts."""

    def __init__(self, parts: list[bytes], stalls: bool = False) -> None:
        self.parts, self.stalls, self.read = parts, stalls, 0

    async def stream(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            self.read += 1
            yield part
        if self.stalls:
            await asyncio.sleep(30)


def test_bodies_end_at_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "STALLED", 0.02)

    def body(request: Parts, most: int) -> bytes | None:
        return asyncio.run(read_body(cast(Request, request), most))

    assert body(Parts([b"ab", b"", b"c"]), 3) == b"abc" and body(Parts([]), 0) == b""
    long = Parts([b"ab"] * 1_000)
    assert body(long, 3) is None and long.read == 2, "the rest is not read"
    with pytest.raises(TimeoutError):
        body(Parts([b"a"], stalls=True), 3)


def test_a_sender_that_is_too_slow_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "STALLED", 0.2)
    monkeypatch.setattr(service, "SLOWEST", 10**9)

    class Slow(Parts):
        async def stream(self) -> AsyncIterator[bytes]:
            async for part in super().stream():
                await asyncio.sleep(0.05)  # each part comes in time
                yield part

    with pytest.raises(TimeoutError):
        asyncio.run(read_body(cast(Request, Slow([b"a"] * 100)), 1_000))


def test_connections_that_begin_no_request_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that sends nothing, one that sends a sign now and then; one with a request stays as long as that takes."""
    monkeypatch.setattr(service, "STALLED", 0.5)

    async def answer(_: Request) -> Response:
        await asyncio.sleep(1.0)
        return PlainTextResponse("done")

    async def connected(port: int, *parts: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.suppress(ConnectionError):
            for part in parts:
                if not reader.at_eof() and reader.exception() is None:
                    writer.write(part)
                    await asyncio.sleep(0.1)
            found = await asyncio.wait_for(reader.read(), 60)
            writer.close()
            return found
        writer.transport.abort()
        return b""

    async def run() -> list[bytes]:
        config = uvicorn.Config(Starlette(routes=[Route("/", answer)]), http=PromptProtocol, log_level="error")
        server = uvicorn.Server(config)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            task = asyncio.create_task(server.serve(sockets=[listener]))
            while not server.started:
                await asyncio.sleep(0.01)
            port = listener.getsockname()[1]
            whole = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            asked = ((), (b"GET", *([b" "] * 50)), (whole,))
            found = await asyncio.gather(*(connected(port, *parts) for parts in asked))
            server.should_exit = True
            await task
        return found

    silent, slow, good = asyncio.run(run())
    assert silent == slow == b"" and good.endswith(b"done")


def test_databases_are_private_and_keep_no_order(tmp_path: Path) -> None:
    schema = "CREATE TABLE IF NOT EXISTS item (key TEXT PRIMARY KEY) WITHOUT ROWID"
    old = os.umask(0)
    try:
        pages = []
        for number, order in enumerate(("cabd", "dbac")):
            path = tmp_path / f"new {number}" / "p.sqlite"
            database = open_private(path, schema)
            for key in order:
                database.execute("INSERT INTO item VALUES (?)", (key * 900,))
            database.execute("BEGIN")
            database.execute("INSERT INTO item VALUES ('open')")
            assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
            database.execute("ROLLBACK")
            compact(database)
            settings = {name: database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode",)}
            assert settings == {"journal_mode": "truncate"}
            database.close()
            pages.append(path.read_bytes()[100:])
        assert pages[0] == pages[1]
        readable = tmp_path / "readable.sqlite"
        readable.touch(0o666)
        open_private(readable).close()
        assert readable.stat().st_mode & 0o777 == 0o600, "a file that others could read is closed to them"
    finally:
        os.umask(old)


def test_an_acknowledged_message_is_on_disk(tmp_path: Path) -> None:
    database = open_private(tmp_path / "p.sqlite")
    assert database.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL
    assert database.execute("PRAGMA secure_delete").fetchone()[0] == 1
    database.close()


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0 torn"])
def test_a_file_that_is_no_database_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p.sqlite").write_bytes(content * 99)
    with pytest.raises(InputError, match=r"p\.sqlite: is not a database that a party can use"):
        open_private(tmp_path / "p.sqlite")
    with pytest.raises(InputError, match="is not a database that a party can use"):
        open_private(tmp_path)


def test_secrets_are_never_overwritten(tmp_path: Path) -> None:
    write_private(tmp_path / "key", b"one", new=True)
    with pytest.raises(OutputError, match="never overwritten"):
        write_private(tmp_path / "key", b"two", new=True)
    assert (tmp_path / "key").read_bytes() == b"one" and (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    write_private(tmp_path / "key", b"two")
    assert (tmp_path / "key").read_bytes() == b"two"


def test_a_lock_keeps_a_second_process_out_until_it_ends(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib; from safemargin.parties.files import keep_lock;"
        "keep_lock(pathlib.Path(sys.argv[1]), 'taken'); keep_lock(pathlib.Path(sys.argv[1]), 'taken');"
        "print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "new" / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        with pytest.raises(InputError, match="taken"):
            take_lock(tmp_path / "new" / ".lock", "taken")
        other.kill()
    os.close(take_lock(tmp_path / "new" / ".lock", "taken"))


def test_no_lock_is_claimed_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "fcntl", None)
    with pytest.raises(InputError, match="no locks"):
        take_lock(tmp_path / ".lock", "taken")

"""A shim over the one writer and the ledger: every operation is counted, and a fault strikes at one of them."""

import errno
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FILES = ("open", "mkdir", "chmod", "fsync", "replace", "link", "unlink", "rmdir")
"""Operations of `os` that the writer and the ledger go through, beside writes and statements."""


class Faults:
    """Counts every operation, and strikes at one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, self.at, self.strike = 0, -1, lambda name: None
        for name in FILES:
            monkeypatch.setattr(os, name, self._wrapped(f"os.{name}", getattr(os, name)))
        write, connect = Path.write_bytes, sqlite3.connect

        def torn(path: Path, content: bytes) -> int:
            write(path, content[: len(content) // 2])
            self.operation("write")
            return write(path, content)

        faults = self

        class Counted(sqlite3.Connection):
            def execute(self, *arguments: Any) -> Any:
                faults.operation(f"sqlite {arguments[0]}")
                return super().execute(*arguments)

            def executemany(self, *arguments: Any) -> Any:
                faults.operation(f"sqlite {arguments[0]}")
                return super().executemany(*arguments)

        monkeypatch.setattr(Path, "write_bytes", torn)
        monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: connect(*given, **named, factory=Counted))

    def _wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*given: Any, **named: Any) -> Any:
            self.operation(name)
            result = real(*given, **named)
            self.operation(f"after {name}")
            return result

        return operation

    def operation(self, name: str) -> None:
        self.count += 1
        if self.at >= 0:
            self.strike(name) if self.count == self.at or (self.count > self.at and self.is_lasting) else None

    is_lasting = False

    def arm(self, at: int, strike: Callable[[str], None], is_lasting: bool = False) -> None:
        self.count, self.at, self.strike, self.is_lasting = 0, at, strike, is_lasting

    def disarm(self) -> None:
        self.at = -1

    def points(self, write: Callable[[], object], strike: Callable[[str], None], folder: Path) -> list[int]:
        """The operations of a run at which a fault does something else than at the next; the run itself has none.

        What a kill leaves is what is in the folder: of operations between which nothing changes there, one is enough.
        A system that refuses, or a full disk, passes over some operations. An interruption is noticed at any.
        """
        found: list[int] = []
        seen = set[object]()

        def look(name: str) -> None:
            if strike is kill:
                held = tuple((str(path), path.is_file() and path.read_bytes()) for path in sorted(folder.rglob("*")))
                is_new = held not in seen
                seen.add(held)
            else:
                is_new = strike in (interrupt, interrupt_at_once, terminate) or _is_struck(strike, name)
            found.extend([self.count] if is_new else [])

        self.arm(0, look, is_lasting=True)
        write()
        self.disarm()
        return found


def _is_struck(strike: Callable[[str], None], name: str) -> bool:
    try:
        strike(name)
    except (OSError, sqlite3.Error):
        return True
    return False


def failing(number: int) -> Callable[[str], None]:
    """An operation that the system refuses."""

    def strike(name: str) -> None:
        if name.startswith("sqlite"):
            raise sqlite3.OperationalError("database or disk is full" if number == errno.ENOSPC else "disk I/O error")
        if not name.startswith("after"):
            raise OSError(number, os.strerror(number))

    return strike


def full(name: str) -> None:
    """A full disk: what needs space fails from now on, what frees it does not."""
    if not any(word in name for word in ("unlink", "rmdir", "select", "pragma", "begin", "rollback", "after")):
        failing(errno.ENOSPC)(name)


def interrupt(_: str) -> None:
    signal.raise_signal(signal.SIGINT)


def terminate(_: str) -> None:
    signal.raise_signal(signal.SIGTERM)


def interrupt_at_once(_: str) -> None:
    raise KeyboardInterrupt


def kill(_: str) -> None:
    os._exit(137)


class Disk:
    """A disk that loses what was not synced: of a file its content at the last sync, of a folder the names at its own.

    SQLite syncs by itself at every commit (`synchronous = extra`, which is checked), and so its name. `images` are
    the states that a power loss may leave, as content by path (none for a folder), each once.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
        self.root, self.images = root, []
        self.content: dict[int, bytes] = {}
        self.names: dict[int, dict[str, int]] = {}
        for path in (root, *root.rglob("*")):
            self.keep(path)
        fsync, connect, disk = os.fsync, sqlite3.connect, self

        def synced(handle: int) -> None:
            fsync(handle)
            disk.keep(Path(os.readlink(f"/proc/self/fd/{handle}")))
            disk.picture()

        class Synced(sqlite3.Connection):
            def execute(self, *arguments: Any) -> Any:
                done = super().execute(*arguments)
                if arguments[0] == "commit":
                    _, _, name = super().execute("pragma database_list").fetchone()
                    assert super().execute("pragma synchronous").fetchone() == (3,)
                    disk.keep(Path(name))
                    # Its folder may hold other names too, which nobody may rely on: the ledger may be elsewhere.
                    disk.names[Path(name).parent.stat().st_ino][Path(name).name] = Path(name).stat().st_ino
                    disk.picture()
                return done

        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: connect(*given, **named, factory=Synced))

    def keep(self, path: Path) -> None:
        """Take the present state of a file, or of the names in a folder, for synced."""
        if path.is_dir():
            self.names[path.stat().st_ino] = {inner.name: inner.stat().st_ino for inner in path.iterdir()}
        else:
            self.content[path.stat().st_ino] = path.read_bytes()

    def picture(self) -> None:
        """What a power loss may leave now: the names that were synced, or all; of files only what was synced."""
        found = [(path, path.stat().st_ino) for path in (self.root, *self.root.rglob("*"))]
        early = {str(path): None if path.is_dir() else self.content.get(number, b"") for path, number in found}
        image: dict[str, bytes | None] = {}
        below = [(str(self.root), self.root.stat().st_ino)]
        while below:
            path, number = below.pop()
            image[path] = None if number in self.names else self.content.get(number, b"")
            below += [(f"{path}/{name}", inner) for name, inner in self.names.get(number, {}).items()]
        self.images += [each for each in (early, image) if each not in self.images]

    def restore(self, image: dict[str, bytes | None]) -> None:
        """Put an image back where it was."""
        for path in list(self.root.iterdir()):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name in sorted(image):
            content = image[name]
            if content is None:
                Path(name).mkdir(exist_ok=True)
            else:
                Path(name).write_bytes(content)
                Path(name).chmod(0o600)

"""A shim over the one writer and the ledger: every operation is counted, and a fault strikes at one of them."""

import errno
import os
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

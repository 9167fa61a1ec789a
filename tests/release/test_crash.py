"""A fault at any file or ledger operation: a release is published and recorded, or neither, and counted once."""

import errno
import os
import random
import shutil
import signal
import sqlite3
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recorded import fast_folder, make
from safemargin import Release, SafemarginError
from safemargin.io import hash_file, read_manifest
from safemargin.release.ledger.entries import budget
from safemargin.release.ledger.file import read_ledger

__all__ = ["fast_folder"]

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


def interrupt_at_once(_: str) -> None:
    raise KeyboardInterrupt


def kill(_: str) -> None:
    os._exit(137)


def write_in_child(made: Release, out: Path, patience: float | None = None) -> None:
    """Write in a process that may end itself, or is killed after some seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # later versions of Python warn of threads, which the child does not use
        child = os.fork()
    if child == 0:
        made.write(out)
        os._exit(0)
    if patience is not None:
        time.sleep(patience)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def restore(folder: Path, ledger: bytes | None) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if ledger is not None:
        (folder / "ledger.sqlite").write_bytes(ledger)


def check_next_command(made: Release, folder: Path, earlier: int, at: object) -> bool:
    """Whether the release is out after a fault: published and recorded, or neither, and counted once by a new run."""
    ledger, out = folder / "ledger.sqlite", folder / "out"
    entries = read_ledger(ledger)  # what the next command does first
    is_recorded = [entry.cycle for entry in entries][-1:] == ["2026"]
    assert is_recorded == (out / "published/manifest.json").exists() == out.exists(), at
    if not is_recorded:
        assert len(entries) == earlier, at
        made.write(out)
    entries = read_ledger(ledger)
    assert budget(entries).epsilon == earlier + 1.0, at
    assert entries[-1].manifest == hash_file(out / "published/manifest.json"), at
    assert read_manifest(out / "published/manifest.json").changed(out / "published") == (), at
    with pytest.raises(SafemarginError):
        made.write(folder / "again")
    assert not (folder / "again").exists(), at
    return is_recorded


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("is_first", [True, False], ids=["first", "second"])
@pytest.mark.parametrize(
    ("strike", "is_lasting"),
    [(kill, False), (failing(errno.EIO), False), (full, True), (interrupt, False), (interrupt_at_once, False)],
    ids=["kill", "EIO", "ENOSPC", "SIGINT", "KeyboardInterrupt"],
)
def test_published_and_recorded_or_neither(
    fast_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    every: int,
    is_first: bool,
    strike: Callable[[str], None],
    is_lasting: bool,
) -> None:
    folder = fast_folder
    ledger, out = folder / "ledger.sqlite", folder / "out"
    if not is_first:
        make(folder, "2025").write(folder / "earlier")
    before = None if is_first else ledger.read_bytes()
    made = make(folder, "2026")
    faults = Faults(monkeypatch)
    made.write(out)  # counts the operations, and draws the page that is kept
    assert faults.count > 100
    outcomes = set()
    for at in range(1 + is_first, faults.count + 1, every):
        restore(folder, before)
        faults.arm(at, strike, is_lasting)
        if strike is kill:
            write_in_child(made, out)
        else:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    made.write(out)
            except (SafemarginError, KeyboardInterrupt):
                pass
        faults.disarm()
        outcomes.add(check_next_command(made, folder, 0 if is_first else 1, at))
    assert outcomes == {True, False}


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "second"])
def test_killed_at_a_random_time(fast_folder: Path, is_first: bool) -> None:
    """Also in the middle of a commit, which leaves a journal that the next command rolls back."""
    if not is_first:
        make(fast_folder, "2025").write(fast_folder / "earlier")
    before = None if is_first else (fast_folder / "ledger.sqlite").read_bytes()
    made = make(fast_folder, "2026")
    made.write(fast_folder / "out")  # draws the page that is kept
    restore(fast_folder, before)
    start = time.perf_counter()
    made.write(fast_folder / "out")
    duration = time.perf_counter() - start
    generator = random.Random(14)
    for number in range(30):
        restore(fast_folder, before)
        write_in_child(made, fast_folder / "out", generator.uniform(0, 1.2 * duration))
        check_next_command(made, fast_folder, 0 if is_first else 1, number)

"""Folders are written whole with a manifest; every failure to read or write has one wording."""

import os
import shutil
import signal
import threading
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest

from safemargin.core import InputError, OutputError, cannot_read, hold_signals
from safemargin.io import (
    MANIFEST,
    hash_bytes,
    hash_file,
    interruptible,
    manifest_bytes,
    new_folder,
    open_source,
    read_json,
    read_manifest,
    read_text,
    read_toml,
    write_folder,
)


def test_a_manifest_holds_what_is_stated_and_the_hash_of_every_file(tmp_path: Path) -> None:
    files = {"a.csv": b"a\n1\n", "parts/b.csv": b"b\n2\n"}
    hashes = {name: hash_bytes(content) for name, content in files.items()}
    write_folder(tmp_path / "out", {**files, MANIFEST: manifest_bytes({"title": "Town"}, hashes)})
    path = tmp_path / "out" / MANIFEST
    assert read_json(path) == {"schema": 1, "title": "Town", "files": hashes}
    manifest = read_manifest(path)
    assert manifest.files == {name: hash_file(tmp_path / "out" / name) for name in files}
    assert manifest.changed(path.parent) == ()
    (path.parent / "a.csv").write_text("a\n2\n")
    (path.parent / "parts/b.csv").unlink()
    assert manifest.changed(path.parent) == ("a.csv", "parts/b.csv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "manifest.json: is not a manifest: files: Field required"),
        ('{"files": {"a.csv": 3}}', "manifest.json: is not a manifest: files.a.csv: Input should be a valid string"),
        ("[]", "manifest.json: is not a manifest: content: "),
        ("{", "manifest.json: is not JSON: "),
    ],
)
def test_a_wrong_manifest_is_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(InputError) as refusal:
        read_manifest(tmp_path / MANIFEST)
    assert message in str(refusal.value)


def test_one_wording_for_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"one\ntw\xf6\n")
    (tmp_path / "bad.toml").write_text("a = ")
    for read in (read_text, read_json, read_toml, hash_file):
        with pytest.raises(InputError, match=r"none\.txt: there is no such file"):
            read(tmp_path / "none.txt")
        with pytest.raises(InputError, match="is a folder or device, not a file"):
            read(tmp_path)
    with pytest.raises(InputError, match=r"latin\.txt: line 2: is not UTF-8; save the file as UTF-8"):
        read_text(tmp_path / "latin.txt")
    with pytest.raises(InputError, match=r"bad\.toml: is not valid TOML: Invalid value"):
        read_toml(tmp_path / "bad.toml")
    assert str(cannot_read("x", OSError("gone"))) == "x: cannot be read: gone"


def test_a_folder_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "out") as draft:
        (draft / "a.txt").write_text("half")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "taken").write_text("")
    with pytest.raises(OutputError, match="is a file, not a folder"):
        write_folder(tmp_path / "taken", {"a": b""})
    (tmp_path / "full").mkdir()
    (tmp_path / "full/other").write_text("")
    with pytest.raises(OutputError, match="the output folder is not empty"):
        write_folder(tmp_path / "full", {"a": b""})


def test_everything_is_on_the_disk_before_and_after_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that keeps only what was synced holds every file and name of a folder that was written."""
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def name_of(handle: int) -> str:
        path = Path(os.readlink(f"/proc/self/fd/{handle}")).relative_to(tmp_path)
        return str(Path(*("DRAFT" if part.startswith(".out-") else part for part in path.parts)))

    def synced(handle: int) -> None:
        steps.append(name_of(handle))
        fsync(handle)

    def replaced(source: Path, to: Path) -> None:
        steps.append("rename")
        replace(source, to)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write_folder(tmp_path / "new/below/out", {"a": b"1", "parts/b": b"2"})
    before, after = steps[: steps.index("rename")], steps[steps.index("rename") + 1 :]
    draft = "new/below/DRAFT"
    inner = f"{draft}/out"
    assert set(before) == {".", "new", "new/below", draft, inner, f"{inner}/a", f"{inner}/parts", f"{inner}/parts/b"}
    assert before.index(f"{inner}/parts/b") < before.index(f"{inner}/parts") < before.index(inner)
    assert after == ["new/below"]


def test_a_rename_that_does_not_reach_the_disk_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync, replace, renamed = os.fsync, os.replace, []

    def failing(handle: int) -> None:
        if len(renamed) == 1:
            raise OSError(5, "Input/output error")
        fsync(handle)

    def replaced(source: Path, to: Path) -> None:
        renamed.append(to)
        replace(source, to)

    monkeypatch.setattr(os, "fsync", failing)
    monkeypatch.setattr(os, "replace", replaced)
    with pytest.raises(OutputError, match="cannot be written"):
        write_folder(tmp_path / "out", {"a": b"1"})
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_waits_until_the_work_is_done() -> None:
    steps: list[str] = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may start a job with it ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            with hold_signals():
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)
                steps.append("done")
            steps.append("too late")
        assert steps == ["done"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_second_interrupt_does_not_stop_the_tidying(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    remove = shutil.rmtree

    def impatient(path: Path, **more: bool) -> None:
        signal.raise_signal(signal.SIGINT)
        remove(path, **more)

    monkeypatch.setattr(shutil, "rmtree", impatient)
    try:
        with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "out") as draft:
            (draft / "a.csv").touch()
            signal.raise_signal(signal.SIGINT)
        assert list(tmp_path.iterdir()) == []
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_of_a_query_is_an_interrupt(tmp_path: Path) -> None:
    """Whichever thread of DuckDB holds the work: ten interrupts, each of a query that would run for hours."""
    (tmp_path / "people.csv").write_text("site\nNorth\n", encoding="utf-8")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for number in range(10):
            timer = threading.Timer(0.02 * number, os.kill, (os.getpid(), signal.SIGINT))
            with pytest.raises(KeyboardInterrupt), open_source(tmp_path / "people.csv").connected() as database:
                timer.start()
                database.execute("select max(hash(i)) from range(1_000_000_000_000) as numbers(i)").fetchall()
            timer.join()
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    "raised", [RuntimeError("Query interrupted"), duckdb.InterruptException("INTERRUPT Error"), ValueError("torn")]
)
def test_what_duckdb_raises_after_an_interrupt_is_the_interrupt(raised: Exception) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), duckdb.connect() as database, interruptible(database):
            with suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            raise raised
        with pytest.raises(ValueError, match="torn"), duckdb.connect() as database, interruptible(database):
            raise ValueError("torn")
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_the_owner_can_read_what_is_confidential(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_folder(tmp_path / "out", {"published/a": b"1", "confidential/b": b"2", "confidential/below/c": b"3"})
    finally:
        os.umask(before)
    modes = {str(path.relative_to(tmp_path)): path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert {name: mode for name, mode in modes.items() if "confidential" in name} == {
        "out/confidential": 0o700,
        "out/confidential/b": 0o600,
        "out/confidential/below": 0o700,
        "out/confidential/below/c": 0o600,
    }
    assert modes["out"] == 0o755 and modes["out/published/a"] == 0o666 & ~umask

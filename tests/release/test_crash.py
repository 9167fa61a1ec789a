"""A fault at any file or ledger operation: a release is published and recorded, or neither, and counted once."""

import errno
import importlib
import os
import random
import shutil
import signal
import stat
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from faults import Disk, Faults, failing, full, interrupt, interrupt_at_once, kill, terminate
from recorded import folder_in_memory, make
from safemargin import Release, SafemarginError
from safemargin.history.entries import budget
from safemargin.history.file import read_ledger
from safemargin.io import hash_file, read_manifest

drawn = importlib.import_module("safemargin.release.release")  # the name `release` is the function


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


@pytest.fixture(scope="module", autouse=True)
def fixture_drawn_once() -> Iterator[None]:
    """The confidential pages of a release are drawn once: they take long, and are no matter here."""
    real, kept = drawn.confidential_files, dict[tuple[int, object], tuple[object, Any]]()

    def files(draft: object, *given: Any, **named: Any) -> Any:
        key = id(draft), given[1]
        kept[key] = kept.get(key) or (draft, real(draft, *given, **named))  # type: ignore[arg-type]
        return kept[key][1]  # the draft is kept too, so that its id is not given to another

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawn, "confidential_files", files)
        yield


@dataclass(frozen=True)
class World:
    """A release that is not written yet, the only one of a ledger or the second, in a folder that tests restore."""

    folder: Path
    ledger: bytes | None
    made: Release
    earlier: int


@pytest.fixture(scope="module", params=[True, False], ids=["first", "second"])
def world(request: pytest.FixtureRequest, fixture_drawn_once: None) -> Iterator[World]:
    """Made once: what tests ask is how it is written."""
    with folder_in_memory() as folder:
        if not request.param:
            make(folder, "2025").write(folder / "earlier")
        ledger = None if request.param else (folder / "ledger.sqlite").read_bytes()
        yield World(folder, ledger, make(folder, "2026"), 0 if request.param else 1)


def restore(folder: Path, ledger: bytes | None) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if ledger is not None:
        (folder / "ledger.sqlite").write_bytes(ledger)
        (folder / "ledger.sqlite").chmod(0o600)


def check_next_command(made: Release, folder: Path, earlier: int, at: object) -> bool:
    """Whether the release is out after a fault: published and recorded, or neither, and counted once by a new run."""
    ledger, out = folder / "ledger.sqlite", folder / "out"
    entries = read_ledger(ledger)  # what the next command does first
    # The journal is SQLite's: one that holds nothing to undo stays until the next writer.
    left = {path.name for path in folder.iterdir()} - {"ledger.sqlite", "ledger.sqlite-journal", "out", "earlier"}
    assert left == set(), (at, left)
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strike", "is_lasting"),
    [(kill, False), (failing(errno.EIO), False), (full, True), (interrupt, False), (interrupt_at_once, False)]
    + [(terminate, False)],
    ids=["kill", "EIO", "ENOSPC", "SIGINT", "KeyboardInterrupt", "SIGTERM"],
)
def test_published_and_recorded_or_neither(
    world: World, monkeypatch: pytest.MonkeyPatch, strike: Callable[[str], None], is_lasting: bool
) -> None:
    before_term = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as the command does
    made, out = world.made, world.folder / "out"
    restore(world.folder, world.ledger)
    faults = Faults(monkeypatch)
    points = faults.points(lambda: made.write(out), strike, world.folder)  # also draws the page that is kept
    assert faults.count > 100 and len(points) > 30
    outcomes = set()
    for at in points:
        if at == 1 and world.ledger is None:
            continue
        restore(world.folder, world.ledger)
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
        outcomes.add(check_next_command(made, world.folder, world.earlier, at))
    signal.signal(signal.SIGTERM, before_term)
    assert outcomes == {True, False}


def test_a_draft_is_private_from_the_first_byte(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every operation, whatever the umask: nobody else can enter a folder that has not got its name."""
    restore(world.folder, world.ledger)
    faults, seen = Faults(monkeypatch), []

    def look(_: str) -> None:
        names = [path for path in world.folder.iterdir() if path.name.startswith(".") and path.is_dir()]
        seen.extend(stat.S_IMODE(path.stat().st_mode) for path in names)

    before = os.umask(0)
    try:
        faults.arm(0, look, is_lasting=True)
        world.made.write(world.folder / "out")
    finally:
        faults.disarm()
        os.umask(before)
    assert set(seen) == {0o700} and len(seen) > 30
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (world.folder / "out").iterdir()}
    assert stat.S_IMODE((world.folder / "out").stat().st_mode) == 0o755
    assert modes["confidential"] == modes["auditors"] == 0o700


@pytest.mark.slow
def test_killed_at_a_random_time(world: World) -> None:
    """Also in the middle of a commit, which leaves a journal that the next command rolls back."""
    made, out = world.made, world.folder / "out"
    restore(world.folder, world.ledger)
    made.write(out)  # draws the page that is kept
    restore(world.folder, world.ledger)
    start = time.perf_counter()
    made.write(out)
    duration = time.perf_counter() - start
    generator = random.Random(14)
    for number in range(30):
        restore(world.folder, world.ledger)
        write_in_child(made, out, generator.uniform(0, 1.2 * duration))
        check_next_command(made, world.folder, world.earlier, number)


def test_power_is_lost_at_any_time(world: World) -> None:
    """A disk that drops all writes that were not synced: published and recorded, or neither; all after the end."""
    made, folder = world.made, world.folder
    restore(folder, world.ledger)
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(patch, folder)
        made.write(folder / "out")
    whole = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert [name for name in whole if disk.images[-1].get(name) != whole[name]] == [] and len(disk.images) >= 10

    def is_outside(name: str) -> bool:  # what is in a draft makes no difference to the next command
        return "-draft-" not in name or Path(name).parent == folder

    states = {tuple(sorted((name, image[name]) for name in image if is_outside(name))): image for image in disk.images}
    outcomes = []
    for number, image in enumerate(states.values()):
        disk.restore(image)
        outcomes.append(check_next_command(made, folder, world.earlier, number))
    assert set(outcomes) == {True, False} and outcomes[-1]

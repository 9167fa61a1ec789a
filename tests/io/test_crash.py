"""A fault at any file operation of a writer: a folder is whole or absent, and the next run mends the rest."""

import errno
import os
import shutil
import signal
import warnings
from collections.abc import Callable
from contextlib import suppress as ignoring
from pathlib import Path

import pytest

from faults import Faults, failing, full, interrupt, kill, terminate
from recorded import fast_folder
from safemargin import Result, SafemarginError, noise, suppress, swap
from safemargin.io import read_manifest, write_folder
from safemargin.topdown.run import run as run_topdown

pytestmark = pytest.mark.full

__all__ = ["fast_folder"]

ROWS = [
    {"person": f"p{n}", "site": "North" if n % 3 else "South", "grade": "ab"[n % 2], "answer": "yn"[n % 5 < 2]}
    for n in range(60)
]
STRIKES = {
    "kill": (kill, False),
    "EIO": (failing(errno.EIO), False),
    "ENOSPC": (full, True),
    "SIGINT": (interrupt, False),
    "SIGTERM": (terminate, False),
}


def made(command: str, folder: Path) -> Result:
    if command == "suppress":
        counts = [{"a": a, "b": b, "count": 2 if (a, b) == ("x", "u") else 9} for a in "xyz" for b in "uvw"]
        return suppress(counts)
    if command == "swap":
        return swap(ROWS, swapped=["site"], match=["grade"], hold=["answer"], rate="0.2", file_format="csv")
    secret = folder / "secret.key"
    secret.write_bytes(b"0123456789abcdef")
    secret.chmod(0o600)
    return noise.perturb(ROWS, ["site", "grade"], id="person", secret=secret, variance="2", bound=5)


def content(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def write_with_fault(result: Result, out: Path, strike: Callable[[str], None]) -> None:
    if strike is kill:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            result.write(out)
            os._exit(0)
        os.waitpid(child, 0)
        return
    try:
        result.write(out)
    except (SafemarginError, KeyboardInterrupt):
        pass


@pytest.mark.parametrize("kind", STRIKES)
@pytest.mark.parametrize("command", ["suppress", "swap", "perturb"])
def test_a_folder_is_whole_or_absent(
    fast_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, kind: str
) -> None:
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as the command does
    strike, is_lasting = STRIKES[kind]
    result, out = made(command, tmp_path), fast_folder / "out"
    monkeypatch.setattr(type(result), "to_html", lambda _: "page")  # it takes long to draw, and is no matter here
    faults = Faults(monkeypatch)
    points = faults.points(lambda: result.write(out), strike, fast_folder)
    whole = set(content(out))
    assert faults.count > 20 and len(points) > 4
    for at in points:
        for path in list(fast_folder.iterdir()):
            _remove(path)
        faults.arm(at, strike, is_lasting)
        write_with_fault(result, out, strike)
        faults.disarm()
        is_there = out.exists()
        assert not is_there or set(content(out)) == whole, (at, "half a folder")
        result.write(out if not is_there else fast_folder / "next")  # any next command
        assert set(content(out)) == whole, at
        assert {path.name for path in fast_folder.iterdir()} <= {"out", "next"}, (at, "something is left")
    signal.signal(signal.SIGTERM, before)


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_what_is_lost_without_power(fast_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that keeps only what was synced: after a finished write, every file and every name in the folder was."""
    synced: set[int] = set()
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.add(os.fstat(handle).st_ino), real(handle))[1])
    order: list[str] = []
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("rename"), replace(a, b))[1])
    out = fast_folder / "new" / "out"
    write_folder(out, {"published/a.csv": b"a", "confidential/b/c.json": b"{}"})
    places = [out, out.parent, fast_folder, *out.rglob("*")]
    assert [path for path in places if path.stat().st_ino not in synced] == []
    assert order == ["rename"]


def test_nothing_changes_in_a_file_after_it_was_synced(fast_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is on the disk when the name appears is what was written: syncs come before the rename."""
    kept: dict[str, bytes] = {}
    real, rename = os.fsync, os.replace

    def sync(handle: int) -> None:
        real(handle)
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        if path.is_file():
            kept[path.name] = path.read_bytes()

    def check(source: Path, target: Path) -> None:
        assert kept == {"a.csv": b"a", "c.json": b"{}"}
        rename(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", check)
    write_folder(fast_folder / "out", {"published/a.csv": b"a", "confidential/c.json": b"{}"})


TOPDOWN = """
data = { file = "people.csv" }
spine = { levels = ["state"], file = "states.csv" }
attributes = { sex = ["f", "m"] }
[budget]
rho_squared = 0.5
levels = { all = "1/2", state = "1/2" }
queries = { total = 0.5, detailed = 0.5 }
"""


def held(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def finish_topdown(folder: Path, at: object) -> None:
    """Run again after a fault: what looks finished is finished, and noise that was drawn is not drawn again."""
    out, files = folder / "out", held(folder / "out")
    manifest = out / "published" / "manifest.json"
    assert manifest.exists() == (out / "published").exists(), at
    if manifest.exists():
        assert read_manifest(manifest).changed(out / "published") == (), at
    run_topdown(folder / "project.toml", out)
    after = held(out)
    assert read_manifest(manifest).changed(out / "published") == () and not (out / "unfinished").exists(), at
    drawn = [name for name in files if "/noisy/" in name and not Path(name).name.startswith(".")]
    assert all(files[name] == after[name.replace("unfinished", "published")] for name in drawn), at


@pytest.fixture(name="census")
def fixture_census(fast_folder: Path) -> Path:
    (fast_folder / "project.toml").write_text(TOPDOWN)
    (fast_folder / "people.csv").write_text("state,sex\nN,f\nN,m\nS,m\n")
    (fast_folder / "states.csv").write_text("state\nN\nS\n")
    return fast_folder


@pytest.mark.slow
def test_topdown_is_killed_at_any_operation(census: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a kill leaves is what was there: a folder in every state that a run goes through is completed."""
    out, faults, states = census / "out", Faults(monkeypatch), []

    def look(_: str) -> None:
        state = held(out)
        if state not in states:
            states.append(state)

    faults.arm(0, look, is_lasting=True)
    run_topdown(census / "project.toml", out)
    faults.disarm()
    assert len(states) > 25
    for number, state in enumerate(states[1:]):
        _remove(out)
        for name, content in state.items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_bytes(content)
        finish_topdown(census, number)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in STRIKES if kind != "kill"])
def test_topdown_meets_a_fault(census: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as the command does
    strike, is_lasting = STRIKES[kind]
    faults = Faults(monkeypatch)
    run_topdown(census / "project.toml", census / "out")
    assert faults.count > 200
    for at in range(1, faults.count + 1, faults.count // 8):
        _remove(census / "out") if (census / "out").exists() else None
        faults.arm(at, strike, is_lasting)
        with ignoring(SafemarginError, KeyboardInterrupt):
            run_topdown(census / "project.toml", census / "out")
        faults.disarm()
        finish_topdown(census, (kind, at))
    signal.signal(signal.SIGTERM, before)

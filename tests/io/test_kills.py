"""`kill -9` of the installed command at random points: nothing half, nothing lost, nothing counted twice."""

import random
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import SCRIPT
from evidence import seeds
from recorded import ROWS, fast_folder
from safemargin.history.file import read_ledger
from safemargin.io import hash_file, read_manifest, stale_drafts
from safemargin.topdown.run import run as run_topdown

__all__ = ["fast_folder"]

PROJECT = """
title = "Staff"
[data]
file = "staff.csv"
answer = "answer"
[axes.site]
[axes.grade]
[target]
kappa = 5
tau = 0
protect = "noise"
[ledger]
file = "ledger.sqlite"
population = "staff"
cycle = "{cycle}"
answers = "kept"
turnover = "net"
[outputs]
formats = ["csv"]
"""
CENSUS = """
data = { file = "census.csv" }
spine = { levels = ["state"], file = "states.csv" }
attributes = { sex = ["f", "m"] }
[budget]
rho_squared = 0.5
levels = { all = "1/2", state = "1/2" }
queries = { total = 0.5, detailed = 0.5 }
"""
CALLS = {
    "release": "release 2026.toml --out out",
    "suppress": "suppress counts.csv --out out",
    "swap": "swap staff.csv --swap site --match grade --hold answer --rate 0.2 --out out",
    "perturb": "noise perturb staff.csv --by site,grade --id person --secret key --variance 2 --bound 5 --out out",
    "topdown": "topdown census.toml --out out",
}


def prepare(folder: Path) -> None:
    counts = [f"{a},{b},{2 if a + b == 'xu' else 9}" for a in "xyz" for b in "uvw"]
    people = [f"p{n},{row['site']},{row['grade']},{row['answer']}" for n, row in enumerate(ROWS)]
    for name, lines in {
        "counts.csv": ["a,b,count", *counts],
        "staff.csv": ["person,site,grade,answer", *people],
        "census.csv": ["state,sex", "N,f", "N,m", "S,m"],
        "states.csv": ["state", "N", "S"],
        "census.toml": [CENSUS],
        "key": ["0123456789abcdef"],
        **{f"{cycle}.toml": [PROJECT.format(cycle=cycle)] for cycle in ("2025", "2026")},
    }.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    (folder / "key").chmod(0o600)


def run(command: str, folder: Path) -> None:
    done = subprocess.run([SCRIPT, *command.split()], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def begin(command: str, folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [SCRIPT, *command.split()], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def wait_until_it_writes(process: "subprocess.Popen[bytes]", folder: Path, out: str) -> None:
    while process.poll() is None and not (folder / out).exists() and not any(folder.glob(f".{out}-draft-*")):
        time.sleep(0.002)


def check_release(folder: Path, _: set[str]) -> None:
    """What the next command sees: published and recorded, or neither; the year before is still there."""
    entries = read_ledger(folder / "ledger.sqlite")
    out = folder / "out" / "published" / "manifest.json"
    assert [entry.cycle for entry in entries] == (["2025", "2026"] if out.exists() else ["2025"])
    assert out.exists() == (folder / "out").exists()
    if out.exists():
        assert entries[-1].manifest == hash_file(out) and read_manifest(out).changed(out.parent) == ()


def check_folder(folder: Path, whole: set[str]) -> None:
    assert not (folder / "out").exists() or names(folder / "out") == whole


def check_topdown(folder: Path, _: set[str]) -> None:
    """What looks finished is; what was drawn is not drawn again when the next run goes on."""
    out = folder / "out"
    manifest = out / "published" / "manifest.json"
    assert manifest.exists() == (out / "published").exists()
    drawn = {path.name: path.read_bytes() for path in out.glob("*/noisy/*") if path.is_file() and path.name[0] != "."}
    run_topdown(folder / "census.toml", out)
    assert read_manifest(manifest).changed(manifest.parent) == () and not (out / "unfinished").exists()
    after = {path.name: path.read_bytes() for path in out.glob("*/noisy/*")}
    assert all(after[name] == content for name, content in drawn.items())


CHECKS: dict[str, Callable[[Path, set[str]], None]] = {"release": check_release, "topdown": check_topdown}


@pytest.mark.slow
@pytest.mark.parametrize("command", CALLS)
def test_the_installed_command_is_killed_at_a_random_point(fast_folder: Path, command: str) -> None:
    """Half of the points are anywhere in the run, half are after the command began to write."""
    prepare(fast_folder)
    started = time.perf_counter()
    with begin(CALLS[command].replace("2026", "2025").replace("--out out", "--out first"), fast_folder) as process:
        wait_until_it_writes(process, fast_folder, "first")
        began = time.perf_counter()
    ended = time.perf_counter()
    whole = names(fast_folder / "first")
    assert process.returncode == 0 and whole
    ledger, kept = fast_folder / "ledger.sqlite", fast_folder / "kept"
    if command == "release":
        shutil.copy(ledger, kept)
    for seed in seeds(0, 1, 60):
        shutil.rmtree(fast_folder / "out", ignore_errors=True)
        if command == "release":
            shutil.copy(kept, ledger)
        with begin(CALLS[command], fast_folder) as process:
            if seed % 2 == 0:
                wait_until_it_writes(process, fast_folder, "out")
            time.sleep(random.Random(seed).uniform(0, ended - (started if seed % 2 else began)))
            process.kill()
        CHECKS.get(command, check_folder)(fast_folder, whole)
    if command == "topdown" or not (fast_folder / "out").exists():  # a run that was completed writes its report too
        run(CALLS[command], fast_folder)
    assert names(fast_folder / "out") == whole and stale_drafts(fast_folder) == []
    if command == "release":
        check_release(fast_folder, whole)

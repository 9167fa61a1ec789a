"""Exit codes of the installed command: output closed or full, memory limited, ended while it writes."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import SCRIPT, Run, in_process
from evidence import seeds
from test_golden import FILES

PUBLISHING = ("release", "project.toml", "--out", "out")
CALLS = {
    "release": PUBLISHING,
    "json": (*PUBLISHING, "--json"),
    "audit": ("audit", "site.csv", "grade.csv"),
    "help": ("audit", "--help"),
    "menu": ("--help",),
    "version": ("--version",),
    "wrong": ("audit", "nothing.csv"),
}
OUTPUTS = {"closed": ">&-", "full": ">/dev/full", "both closed": ">&- 2>&- <&-", "notes full": "2>/dev/full"}


@pytest.fixture(name="place")
def fixture_place(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture(name="here")
def fixture_here(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in the folder without a new process, where it does not matter how a process starts and ends."""
    monkeypatch.chdir(place)
    return in_process(monkeypatch, capsys)


def run(place: Path, call: tuple[str, ...], output: str) -> subprocess.CompletedProcess[str]:
    line = f'"$@" {output}'
    return subprocess.run(
        ["/bin/bash", "-c", line, "bash", SCRIPT, *call], cwd=place, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "output"),
    [(call, output) for call in CALLS for output in OUTPUTS if call != "json" or output in ("closed", "full")],
)
def test_output_that_nobody_takes(place: Path, call: str, output: str) -> None:
    """2 where standard output fails, whatever the command found: never 1, 70 or 120, and one line that says it."""
    ran = run(place, CALLS[call], OUTPUTS[output])
    lines = ran.stderr.splitlines()
    if output == "notes full":
        expected = 2 if call == "wrong" else 0
        assert (ran.returncode, lines) == (expected, []), ran
    else:
        assert ran.returncode == 2, ran
        assert len(lines) == (0 if output == "both closed" else 1), ran.stderr
    if call in ("release", "json"):
        assert (place / "out/published/manifest.json").exists()
        assert not lines or "is complete, and recorded" in lines[0]


@pytest.mark.slow
@pytest.mark.parametrize("call", ["release", "audit", "help", "menu", "version"])
def test_a_pipe_that_is_closed(place: Path, call: str) -> None:
    """`| head`: 128 plus the number of SIGPIPE, as for every program."""
    ran = run(place, CALLS[call], "| true; exit ${PIPESTATUS[0]}")
    assert ran.returncode == 141, ran
    if call == "release":
        assert "is complete, and recorded" in ran.stderr and (place / "out/published").exists()


@pytest.mark.slow
def test_a_closed_number_is_not_given_to_a_file(place: Path) -> None:
    """A file that is opened as number 1 would get what a library prints: the ledger, at worst."""
    run(place, PUBLISHING, ">&- 2>&- <&-")
    ran = run(place, ("ledger", "ledger.sqlite"), "")
    assert ran.returncode == 0 and "2026" in ran.stdout, ran


@pytest.mark.parametrize("kibibytes", [200_000, 600_000, 1_000_000, 1_500_000])
def test_an_address_space_that_is_too_small(place: Path, kibibytes: int) -> None:
    ran = subprocess.run(
        ["/bin/bash", "-c", f'ulimit -v {kibibytes}; exec "$@"', "bash", SCRIPT, *PUBLISHING],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2 and len(ran.stderr.splitlines()) == 1 and "ulimit -v" in ran.stderr, ran
    assert not (place / "out").exists()


@pytest.mark.slow
def test_the_least_memory_is_enough(place: Path) -> None:
    """The stated minima are true: of `--memory`, and of the address space."""
    assert run(place, (*PUBLISHING, "--memory", "512MiB"), "").returncode == 0
    for call in (
        ("bound", "strict.toml"),
        ("audit", "site.csv"),
        ("compare", "strict.toml"),
        ("init", "votes.csv", "--out", "new.toml"),
    ):
        ran = run(place, (*call, "--memory", "512MiB"), "")
        assert ran.returncode in (0, 1), ran
    line = f'ulimit -v {2 * 2**20}; exec "$@"'
    ran = subprocess.run(
        ["/bin/bash", "-c", line, "bash", SCRIPT, "bound", "strict.toml"], cwd=place, capture_output=True, check=False
    )
    assert ran.returncode in (0, 1), ran


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("seed", seeds(0, 2, 30))
def test_a_command_that_is_ended_while_it_writes(place: Path, number: int, seed: int) -> None:
    """130; or 0 and the whole release if it was too late. Nothing half, and one line."""
    with subprocess.Popen(
        [SCRIPT, *PUBLISHING], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        while process.poll() is None and not list(place.glob(".out-draft-*")):
            time.sleep(0.001)
        time.sleep(seed / 400)
        process.send_signal(number)
        _, said = process.communicate()
    assert process.returncode in (0, 130), said
    assert (place / "out/published/manifest.json").exists() or (
        process.returncode == 130 and not (place / "out").exists()
    )
    assert len(said.splitlines()) <= 1, said
    assert not list(place.glob(".out-draft-*"))


@pytest.mark.slow
@pytest.mark.parametrize("text", ["1e400", "-1e400", "nan", "inf", "1e-400"])
def test_numbers_beyond_all_numbers(place: Path, here: Run, text: str) -> None:
    for call in (("audit", "site.csv", "--beta", text), ("audit", "site.csv", "--tau", text)):
        ran = here(*call)
        assert ran.code == 2 and "Traceback" not in ran.err, ran
    (place / "wild.toml").write_text(FILES["strict.toml"].replace("0.49", text))
    ran = here("release", "wild.toml", "--out", "out")
    assert ran.code == 2 and len(ran.err.splitlines()) == 1, ran
    (place / "site.csv").write_text(f"site,option,count\nNorth,yes,{text}\nSouth,no,4\n")
    ran = here("audit", "site.csv")
    assert ran.code in ((1,) if text == "nan" else (2, 3)), ran  # "nan" is what some programs write for a gap
    assert len(ran.err.splitlines()) <= 1, ran


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        ("audit", "loop"),
        ("audit", "loop/site.csv"),
        ("release", "loop.toml", "--out", "out"),
        ("release", "project.toml", "--out", "loop"),
        ("release", "project.toml", "--out", "loop/out"),
        ("audit", "site.csv", "--out", "loop"),
        ("ledger", "loop"),
        ("lock", "loop.toml"),
        ("sign", "loop", "--key", "loop"),
        ("sign", "--new", "--key", "loop"),
        ("verify", "loop"),
        ("init", "loop"),
        ("swap", "loop", "--swap", "site", "--match", "grade", "--hold", "answer", "--rate", "0.2", "--out", "out"),
        ("topdown", "loop.toml", "--out", "loop"),
        ("open", "loop", "--no-browser"),
    ],
    ids=" ".join,
)
def test_links_that_lead_in_circles(place: Path, here: Run, call: tuple[str, ...]) -> None:
    for name in ("loop", "loop.toml"):
        (place / name).symlink_to(name)
    before = sorted(path.name for path in place.iterdir())
    ran = here(*call)
    assert ran.code == 2 and len(ran.err.splitlines()) == 1, ran
    assert sorted(path.name for path in place.iterdir()) == before


@pytest.fixture(name="disk")
def fixture_disk(place: Path) -> Iterator[Path]:
    """A small disk of its own."""
    folder = place / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


WRITERS = {
    "lock": ("lock", "disk/project.toml"),
    "release": ("release", "disk/project.toml", "--out", "disk/out"),
    "suppress": ("suppress", "accidents.csv", "--out", "disk/out"),
    "init": ("init", "votes.csv", "--out", "disk/new.toml"),
    "page": ("audit", "site.csv", "--out", "disk/page.html"),
    "sign": ("sign", "--new", "--key", "disk/k"),
    "sums": ("aggregate", "key", "disk/k", "--host", "localhost"),
    "ptable": ("noise", "ptable", "--variance", "2", "--bound", "5", "--out", "disk/c.csv"),
}


@pytest.mark.slow
@pytest.mark.parametrize("state", ["read-only", "full"])
@pytest.mark.parametrize("call", WRITERS)
def test_a_disk_that_takes_nothing(place: Path, disk: Path, here: Run, call: str, state: str) -> None:
    for name in ("project.toml", "votes.csv"):
        shutil.copy(place / name, disk / name)
    if state == "read-only":
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    else:
        subprocess.run(["dd", "if=/dev/zero", f"of={disk / 'filler'}", "bs=4k"], capture_output=True, check=False)
    before = sorted(path.name for path in disk.iterdir())
    ran = here(*WRITERS[call])
    assert ran.code == 2, ran
    assert len(ran.err.splitlines()) == 1 and "internal" not in ran.err, ran
    assert sorted(path.name for path in disk.iterdir()) == before

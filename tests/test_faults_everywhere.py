"""A fault at any operation on files, below Python and its libraries, in every command that writes.

The system calls of the installed program are counted and struck (`preload/faults.c`): killed in the middle of a write,
SIGTERM, SIGINT, an input/output error, a disk that is full or read-only from then on. Whatever happened, the exit code
is right, and after the next command the folder is what it is after a run without a fault: nothing half, nothing left.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evidence import EVERYTHING
from recorded import ROWS, folder_in_memory
from safemargin.history.file import read_ledger
from safemargin.io import hash_file, read_manifest
from test_golden import FILES

PRELOAD = Path(__file__).parent / "preload"
COUNT, KILL, TERM, INT, IO, FULL, READ_ONLY = range(7)
KINDS = {"KILL": KILL, "TERM": TERM, "INT": INT, "EIO": IO, "ENOSPC": FULL, "EROFS": READ_ONLY}
LEDGER = """
[ledger]
file = "ledger.sqlite"
population = "staff"
cycle = "{cycle}"
answers = "kept"
turnover = "net"
"""
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
PROGRAMME = """
title = "Staff"
areas = "site"
[variables]
site = ["North", "South", "West"]
grade = ["junior", "senior"]
[[tables]]
axes = ["site", "grade"]
"""
PLAN = (
    "election plan --title Vote --question Why --option yes --option no --dimension age=young,old "
    "--collector Company --other Union --other Court --box Post"
)
COMMANDS = {
    "release, the first of a ledger": "release 2026.toml --out out",
    "release, a later one": "release 2026.toml --out out",
    "release without a ledger": "release plain.toml --out out",
    "release that is refused": "release joined.toml --out out",
    "lock": "lock 2026.toml",
    "init": "init votes.csv --out new.toml",
    "suppress": "suppress counts.csv --out out",
    "suppress with a ledger": "suppress counts.csv --out out --ledger ledger.sqlite --population p --cycle c",
    "swap": "swap staff.csv --swap site --match grade --hold answer --rate 0.2 --out out",
    "simulate": "simulate across staff.csv --swap site --match grade,answer --loose answer --rate 0.2 --alpha 0.1 "
    "--out out",
    "perturb": "noise perturb staff.csv --by site,grade --id person --secret key --variance 2 --bound 5 --out out",
    "topdown": "topdown census.toml --out out",
    "sign --new": "sign --new --key office.key",
    "sign": "sign signed --key signer.key",
    "audit": "audit site.csv grade.csv --out page.html",
    "aggregate key": "aggregate key party.key --host localhost",
    "election plan": f"{PLAN} --out plan.toml",
    "election init": "election init plan-there.toml issuer-1 --out issuer-1",
    "election join": "election join party --into drop",
    "election backup": "election backup party --out new.backup --passphrase-file pass",
    "election restore": "election restore party.backup --out restored --passphrase-file pass",
    "release, a draft": "release plain.toml --out out --draft",
    "noise key": "noise key new.key",
    "noise ptable": "noise ptable --variance 2 --bound 5 --out ptable.csv",
    "noise publish": "noise publish programme.toml --records staff.csv --id person --secret key --variance 2 --bound 5 "
    "--out out",
    "aggregate sum": "aggregate sum bits.csv --tally tally.csv --ledger sums.sqlite",
    "aggregate privacy": "aggregate privacy --clients 10 --bits 2 --curves curves.csv",
    "bound": "bound site.csv --export cells.csv",
}
"""Every command that writes, by what is special about the run."""
EARLIER = {
    "release, a later one": "release 2025.toml --out earlier",
    "release that is refused": "release safe.toml --out earlier",
}
SAMPLE = 10 if EVERYTHING else 1
"""Operations at which each kind of fault strikes, per command."""


SAFE = {("a", "c"): (200, 80), ("a", "d"): (200, 90), ("b", "c"): (300, 150), ("b", "d"): (100, 60)}
TOWN = {"safe": SAFE, "joined": SAFE | {("b", "d"): (103, 63)}}
"""Three more people, who all said yes: beside the total of the first, the total alone discloses them."""


def _town(title: str) -> str:
    parts = PROJECT.replace("staff.csv", f"{title}.csv").replace('protect = "noise"', "").replace("kappa = 5\n", "")
    axes = parts.replace("site", "row").replace("grade", "column").replace("tau = 0\n", "")
    return axes + LEDGER.format(cycle=title)


def _people(groups: dict[tuple[str, str], tuple[int, int]]) -> str:
    rows = [
        f"{row},{column},{'yes' if number < yes else 'no'}"
        for (row, column), (count, yes) in groups.items()
        for number in range(count)
    ]
    return "\n".join(["row,column,answer", *rows, ""])


class Server:
    """The process that runs commands."""

    def __init__(self, library: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(PRELOAD / "server.py"), str(library)],
            env={"LD_PRELOAD": str(library), "PATH": "/usr/bin:/bin", "COLUMNS": "120", "LANG": "C.UTF-8"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def run(self, folder: Path, command: str, at: int = -1, kind: int = COUNT) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        request = {"folder": str(folder), "arguments": command.split(), "at": at, "kind": kind}
        print(json.dumps(request), file=self.process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


@pytest.fixture(name="server", scope="module")
def fixture_server() -> Iterator[Server]:
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a C compiler, on Linux")
    with tempfile.TemporaryDirectory() as name:
        library = Path(name, "faults.so")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, PRELOAD / "faults.c", "-ldl"], check=True)
        server = Server(library)
        yield server
        assert server.process.stdin is not None and server.process.stdout is not None
        server.process.stdin.close()
        server.process.wait()
        server.process.stdout.close()


@pytest.fixture(name="template", scope="module")
def fixture_template(server: Server) -> Iterator[Path]:
    """Every input, and what earlier runs left: a ledger with a release, keys, a release to be signed."""
    with folder_in_memory() as folder:
        people = [f"p{n},{row['site']},{row['grade']},{row['answer']}" for n, row in enumerate(ROWS)]
        counts = [f"{a},{b},{2 if a + b == 'xu' else 9}" for a in "xyz" for b in "uvw"]
        for name, text in {
            **{name: FILES[name] for name in ("votes.csv", "site.csv", "grade.csv", "strict.toml")},
            "staff.csv": "\n".join(["person,site,grade,answer", *people, ""]),
            "counts.csv": "\n".join(["a,b,count", *counts, ""]),
            "census.csv": "state,sex\nN,f\nN,m\nS,m\n",
            "states.csv": "state\nN\nS\n",
            "census.toml": CENSUS,
            "plain.toml": PROJECT,
            **{f"{cycle}.toml": PROJECT + LEDGER.format(cycle=cycle) for cycle in ("2025", "2026")},
            "key": "0123456789abcdef\n",
            "pass": "a long phrase that nobody guesses\n",
            "programme.toml": PROGRAMME,
            "bits.csv": "client,x: yes,x: no\na,1,0\nb,0,1\nc,1,0\nd,0,1\n",
            **{f"{title}.toml": _town(title) for title in TOWN},
            **{f"{title}.csv": _people(people) for title, people in TOWN.items()},
        }.items():
            (folder / name).write_text(text, encoding="utf-8")
        for name in ("key", "pass"):
            (folder / name).chmod(0o600)
        for command in (
            "release plain.toml --out signed",
            "sign --new --key signer.key",
            f"{PLAN} --out plan-there.toml",
            "election init plan-there.toml issuer-1 --out party",
            "election backup party --out party.backup --passphrase-file pass",
        ):
            ran = server.run(folder, command)
            assert ran["code"] == 0, ran
        yield folder


@pytest.fixture(name="folder")
def fixture_folder() -> Iterator[Path]:
    with folder_in_memory() as folder:
        yield folder


def restore(template: Path, folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(template, folder, dirs_exist_ok=True)


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def check_ledger(folder: Path, label: object) -> None:
    """What is recorded is published, and nothing else; every manifest is whole."""
    manifests = {hash_file(path): path for path in folder.glob("*/published/manifest.json")}
    for path in manifests.values():
        assert read_manifest(path).changed(path.parent) == (), label
    if (folder / "ledger.sqlite").exists():
        recorded = [entry.manifest for entry in read_ledger(folder / "ledger.sqlite")]
        own = {path.parts[-3] for path in manifests.values()} - {"signed"}
        assert len(recorded) == len(set(recorded)) == len(own), label
        assert set(recorded) <= set(manifests), label


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_fault_at_any_operation(server: Server, template: Path, folder: Path, name: str) -> None:
    command = COMMANDS[name]
    if name in EARLIER:
        with folder_in_memory() as before:
            restore(template, before)
            assert server.run(before, EARLIER[name])["code"] == 0
            _strike_everywhere(server, before, folder, name, command)
    else:
        _strike_everywhere(server, template, folder, name, command)


def _strike_everywhere(server: Server, template: Path, folder: Path, name: str, command: str) -> None:
    restore(template, folder)
    inputs = names(folder)
    whole = server.run(folder, command, 0, COUNT)
    good, operations = whole["code"], whole["seen"]
    assert good == (1 if "refused" in name or name == "bound" else 0) and operations > 4, whole
    result, runs = names(folder), 0
    assert result > inputs
    for number, kind in enumerate(KINDS):
        step = max(1, operations // SAMPLE)
        for at in range(1 + (number * operations // len(KINDS)) % step, operations + 1, step):
            runs += 1
            restore(template, folder)
            ran = server.run(folder, command, at, KINDS[kind])
            label = (name, kind, at, ran)
            expected = {"KILL": {137}, "TERM": {130, good}, "INT": {130, good}}.get(kind, {2, good})
            assert ran["code"] in expected or (kind == "KILL" and ran["code"] == good), label
            assert "Traceback" not in ran["err"] and "internal error" not in ran["err"], label
            assert len(ran["err"].splitlines()) <= 1, label
            again = server.run(folder, command)
            assert again["code"] in (good, 2), (label, again)
            if again["code"] == 2 and (folder / "ledger.sqlite").exists():  # there is nothing left to do: another one
                assert server.run(folder, "ledger ledger.sqlite")["code"] == 0, label
            assert names(folder) == result, (label, again, names(folder) ^ result)
            check_ledger(folder, label)
    print(f"{name}: {operations} operations, {runs} faults")

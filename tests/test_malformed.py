"""Malformed inputs: one line, exit code 2, nothing written, within seconds; every case of the vectors, by command."""

import json
import os
import re
import resource
import subprocess
import time
from pathlib import Path

import pytest

from commands import SCRIPT, Ran, Run, in_process, listing
from evidence import seeds
from malformed import VECTORS, Case, cases, good_files
from written_calls import is_written_call

ALL = list(cases())
GOOD = good_files(json.loads(VECTORS.read_text(encoding="utf-8")))
PLACES = sorted({case.arguments[0] for case in ALL if re.fullmatch("[a-z-]+", case.arguments[0])})
SECONDS = 5.0
MEMORY = 2**30


def prepare(folder: Path, case: Case) -> None:
    for name, content in GOOD.items():
        (folder / name).write_bytes(content)
    (folder / "secret.key").chmod(0o600)
    if case.file is not None and case.content is not None:
        (folder / case.file).write_bytes(case.content)
        (folder / case.file).chmod(0o600)  # some are secrets


def check(case: Case, ran: Ran, before: object, folder: Path) -> None:
    if case.is_doubtful:
        assert ran.code == 3 and "\nDoubtful: " in ran.out and ran.err == "", (case.name, ran)
        assert listing(folder) == before, case.name
        return
    assert ran.code == 2, (case.name, ran)
    lines = ran.err.splitlines()
    # The program that reads the command line prints how it is used, too.
    assert len(lines) == 1 or lines[0].startswith("Usage:"), (case.name, ran.err)
    assert max(map(len, lines)) < 800 and ran.out == "", (case.name, ran)
    assert all(letter.isprintable() for line in lines for letter in line), (case.name, ran.err)
    assert listing(folder) == before, case.name


def run_cases(chosen: list[Case], run: Run, folder: Path) -> None:
    for case in chosen:
        prepare(folder, case)
        before, start = listing(folder), time.process_time()
        check(case, run(*case.arguments), before, folder)
        assert time.process_time() - start < SECONDS, case.name


def test_there_are_many_cases_of_every_command() -> None:
    assert len(ALL) >= 1_500
    assert set(PLACES) >= {"audit", "bound", "compare", "fiber", "init", "ledger", "noise", "release", "suppress"}
    assert set(PLACES) >= {"aggregate", "guarantee", "outcome", "simulate", "swap", "swap-rates", "topdown", "verify"}


@pytest.fixture(name="run")
def fixture_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    return in_process(monkeypatch, capsys)


@pytest.mark.parametrize("part", range(8))
def test_a_sample_of_malformed_inputs(run: Run, tmp_path: Path, part: int) -> None:
    run_cases(ALL[part * 7 :: 8 * 29], run, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("command", PLACES)
def test_every_malformed_input(run: Run, tmp_path: Path, command: str) -> None:
    chosen = [case for case in ALL if case.arguments[0] == command]
    run_cases(chosen[:: 1 if len(seeds(0, 0, 1)) else 3], run, tmp_path)


@pytest.mark.slow
def test_malformed_inputs_of_the_installed_command_within_a_gibibyte(tmp_path: Path) -> None:
    commands = [case for case in ALL if not is_written_call([*case.arguments, ""])]
    for number, case in enumerate(commands[5 :: 97 if len(seeds(0, 0, 1)) else 679]):
        folder = tmp_path / str(number)
        folder.mkdir()
        prepare(folder, case)
        before = listing(folder)
        ran = subprocess.run(
            [SCRIPT, *(os.fsencode(word) for word in case.arguments)],
            cwd=folder,
            env={**os.environ, "COLUMNS": "120"},
            capture_output=True,
            check=False,
            timeout=500,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
        )
        check(case, Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode()), before, folder)

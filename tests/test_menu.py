"""The menu, the exit codes, and the flags in messages."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from commands import Run, in_process
from safemargin import __version__, cli
from safemargin.core import InputError, RefusedError


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return in_process(monkeypatch, capsys)


def pretend(monkeypatch: pytest.MonkeyPatch, command: Callable[..., None]) -> None:
    """The command `schema` is another function."""
    load = cli._load
    place = cli.COMMANDS["schema"].place
    monkeypatch.setattr(cli, "_load", lambda asked: command if asked == place else load(asked))


def test_the_menu_can_be_read_by_a_person() -> None:
    assert list(cli.MENU) == ["Publish", "Check", "Noise and swapping", "Research"]
    assert len(cli.MENU["Publish"]) <= 12 and len(cli.COMMANDS) == sum(map(len, cli.MENU.values()))
    assert max(len(entry.summary) for entry in cli.COMMANDS.values()) <= 64, "one line at 80 columns"
    assert all(entry.summary[-1] != "." for entry in cli.COMMANDS.values())


def test_the_menu_loads_no_command() -> None:
    script = "import sys; sys.argv = ['safemargin', '--help']\nfrom safemargin.cli import main\n"
    script += "try: main()\nexcept SystemExit as end: assert end.code == 0\n"
    script += "print({name.split('.')[1] for name in sys.modules if name.startswith('safemargin.')})"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(eval(ran.stdout.splitlines()[-1])) == {"cli", "core", "ui"}


def test_version_is_the_one_of_the_package(run: Run) -> None:
    assert run("--version").out == f"{__version__}\n"


def test_a_name_that_is_nearly_right(run: Run) -> None:
    ran = run("supress")
    assert ran.code == 2 and "No such command 'supress'. Did you mean 'suppress'?" in ran.err
    assert run("qqq").code == 2 and "Did you mean" not in run("qqq").err


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InputError("tau = -1: must be at least 0"), 2, "safemargin: --tau = -1: must be at least 0\n"),
        (InputError("a file: `roll` and `tau` do not agree"), 2, "safemargin: a file: `roll` and --tau do not agree\n"),
        (InputError("a\nb"), 2, "safemargin: a b\n"),
        (RefusedError("no release meets the target"), 1, "safemargin: no release meets the target\n"),
        (KeyboardInterrupt(), 130, "safemargin: interrupted\n"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_exit_codes(run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, line: str) -> None:
    def command(tau: int = 0) -> None:
        raise error

    pretend(monkeypatch, command)
    ran = run("schema")
    assert (ran.code, ran.out, ran.err) == (code, "", line)


def test_the_target_is_not_met(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def command() -> None:
        raise typer.Exit(1)

    pretend(monkeypatch, command)
    assert run("schema").code == 1


def test_an_internal_error_is_one_line_and_a_file(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def command() -> None:
        raise ZeroDivisionError("nobody\nthought of it")

    pretend(monkeypatch, command)
    ran = run("schema")
    (file,) = tmp_path.glob("safemargin-*.txt")
    assert (ran.code, ran.out) == (70, "")
    expected = f"internal error: ZeroDivisionError: nobody thought of it; the details are in {file}, please report them"
    assert ran.err == f"safemargin: {expected}\n"
    details = file.read_text(encoding="utf-8")
    assert "Traceback" in details and __version__ in details and "['schema']" in details


def test_a_closed_pipe_is_silent() -> None:
    command = [sys.executable, "-m", "safemargin", "schema"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == ("", 141)


@pytest.mark.skipif(os.name == "nt", reason="no signals to send")
def test_an_interrupt_is_one_line(tmp_path: Path) -> None:
    started = tmp_path / "started"
    script = "import pathlib, sys, time\nfrom safemargin import cli\n"
    script += f"def wait():\n    pathlib.Path({str(started)!r}).touch()\n    time.sleep(600)\n"
    script += "cli._load = lambda place: wait\nsys.argv = ['safemargin', 'schema']\ncli.main()"
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True) as process:
        while not started.exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert (process.stderr.read(), process.wait()) == ("safemargin: interrupted\n", 130)

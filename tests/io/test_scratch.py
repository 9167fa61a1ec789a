"""What has to be a file for a moment is in a private folder, and what a killed run left there goes with the next."""

import ast
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from safemargin.core import OutputError
from safemargin.io import check_folder, new_scratch, scratch_folder

SOURCE = Path(__file__).parents[2] / "src" / "safemargin"
KILLED = """
import os, time
from safemargin.io import scratch_folder
with scratch_folder() as folder:
    (folder / "rows.csv").write_text("a secret")
    print(folder, flush=True)
    time.sleep(600)
"""
UNNAMED = {"TemporaryFile"}
"""A file without a name, which nobody can leave behind."""
STARTED = {"scratch.py", "cli.py"}
"""What makes the folders, and what keeps the details of an internal error for whoever reports it."""


@pytest.fixture(autouse=True)
def fixture_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_killed_run_leaves_nothing_to_the_next_of_any_command(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-P", "-c", KILLED],
        env={"TMPDIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        assert left.parent == tmp_path and left.stat().st_mode & 0o777 == 0o700
        with scratch_folder() as own:
            assert left.exists(), "its process is at work"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert (left / "rows.csv").exists() and not own.exists()
    with scratch_folder() as own:
        assert list(tmp_path.iterdir()) == [own]
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_refuses_its_folder_removes_them_too(tmp_path: Path) -> None:
    """A run was killed after its files were there: the next one only says so, and makes no folder of its own."""
    done = tmp_path / "done"
    done.mkdir()
    (done / "counts.csv").write_text("")
    with subprocess.Popen(
        [sys.executable, "-P", "-c", KILLED],
        env={"TMPDIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        process.kill()
        process.wait()
    assert left.exists()
    with pytest.raises(OutputError, match="not empty"):
        check_folder(done)
    assert list(tmp_path.iterdir()) == [done]


def test_an_interruption_while_a_folder_is_removed_comes_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a value goes nobody gets the error: it was a traceback. Where the folder is removed by name, it comes."""
    whole = shutil.rmtree

    def interrupted(path: Path, ignore_errors: bool = False) -> None:
        signal.raise_signal(signal.SIGINT)
        whole(path, ignore_errors=ignore_errors)

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    kept = new_scratch("safemargin-kept-")
    del kept
    assert list(tmp_path.iterdir()) == [] and capsys.readouterr().err == ""
    kept = new_scratch("safemargin-kept-")
    with pytest.raises(KeyboardInterrupt):
        kept.remove()
    assert list(tmp_path.iterdir()) == []


def test_folders_of_one_process_do_not_remove_each_other(tmp_path: Path) -> None:
    kept = new_scratch("safemargin-kept-")
    with scratch_folder() as one, scratch_folder() as other:
        assert sorted(tmp_path.iterdir()) == sorted([kept.folder, one, other])
    assert list(tmp_path.iterdir()) == [kept.folder]
    kept.remove()
    assert list(tmp_path.iterdir()) == []


def test_what_somebody_else_put_there_stays(tmp_path: Path) -> None:
    name = f"safemargin-files-00000000-00000000-{os.getpid()}-0"  # of another machine, that shares the disk
    for place in (name, "safemargin-notes"):
        (tmp_path / place).mkdir()
    (tmp_path / "safemargin-link").symlink_to(tmp_path / name)
    with scratch_folder():
        pass
    assert len(list(tmp_path.iterdir())) == 3


def test_nothing_else_makes_temporary_files() -> None:
    """A folder of `tempfile` outlives its process when that is killed, and nobody would look for it."""
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        called |= {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "tempfile"
            for alias in node.names
        }
        made = called & {"TemporaryDirectory", "NamedTemporaryFile", "mkdtemp", "mkstemp", "TemporaryFile"} - UNNAMED
        assert not made or path.name in STARTED, (path, made)

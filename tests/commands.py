"""Running the command line in tests: in this process, or as it is installed."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import written_calls
from safemargin import Draft, RefusedError, Release, cli, release

SCRIPT = Path(sys.executable).parent / "safemargin"
WIDTH = "120"


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, object]:
        """The JSON that it printed, in which numbers that are infinite or no numbers have no place."""
        found: dict[str, object] = json.loads(self.out, parse_constant=_refused)
        return found


def _refused(constant: str) -> object:
    raise AssertionError(f"{constant} is not JSON")


Run = Callable[..., Ran]


def in_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `safemargin` with the arguments it is given, without a new process.

    A function of the library that has no command is called, with its arguments written like options.
    """
    monkeypatch.setenv("COLUMNS", WIDTH)

    def called(*arguments: object) -> Ran:
        words = [str(argument) for argument in arguments]
        if words and written_calls.is_written_call(words):
            return Ran(*written_calls.answer(words))
        monkeypatch.setattr(sys, "argv", ["safemargin", *words])
        code = 0
        try:
            cli.main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return called


def release_into(folder: Path, project: object, **options: Any) -> Release | Draft:
    """The release of a project, or the draft that was refused, written to a folder."""
    result: Release | Draft
    try:
        result = release(project, **options)
    except RefusedError as error:
        result = error.draft
    result.write(folder)
    return result


def script(*arguments: str, cwd: Path) -> Ran:
    """Runs the installed command."""
    ran = subprocess.run(
        [str(SCRIPT), *arguments],
        cwd=cwd,
        env={**os.environ, "COLUMNS": WIDTH},
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def listing(folder: Path) -> dict[str, int]:
    """Every file and folder below, with the time of its last change."""
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in sorted(folder.rglob("*"))}


def without_salt(folder: Path) -> dict[str, str]:
    """The files of a release, with words in place of the commitment to auditors and of hashes that follow from it."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    manifest = json.loads(files["manifest.json"])
    hashes = {manifest["auditors"]: "commitment"} | {
        manifest["files"][name]: f"hash of {name}" for name in ("certificate.json", "index.html")
    }
    hashes[hashlib.sha256(files["manifest.json"]).hexdigest()] = "hash of manifest.json"
    texts = {name: content.decode("utf-8") for name, content in files.items()}
    for digest, word in hashes.items():
        texts = {name: text.replace(digest, word) for name, text in texts.items()}
    return texts

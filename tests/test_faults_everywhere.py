"""A fault at any operation on files, below Python and its libraries, in every command that writes.

The system calls of the installed program are counted and struck (`preload/faults.c`): killed in the middle of a write,
SIGTERM, SIGINT, an input/output error, a disk that is full or read-only from then on. Whatever happened, the exit code
is right, and after the next command the folder is what it is after a run without a fault: nothing half, nothing left,
in the folder of temporary files too, and nothing that more people can read.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evidence import EVERYTHING
from fault_commands import COMMANDS, Struck, write_inputs
from fault_server import (
    COUNT,
    KINDS,
    TEMPORARY,
    WORK,
    Server,
    allowed_codes,
    content,
    fixture_server,
    modes,
    points,
    restore,
)
from recorded import folder_in_memory
from safemargin.history.file import read_ledger
from safemargin.io import hash_file, read_manifest

__all__ = ["fixture_server"]
SAMPLE = None if EVERYTHING else 1
"""At how many operations each kind of fault strikes, per command; None: at all of them."""


@pytest.fixture(name="template", scope="module")
def fixture_template(server: Server) -> Iterator[Path]:
    with folder_in_memory() as root:
        for name in (WORK, TEMPORARY):
            (root / name).mkdir()
        write_inputs(root / WORK, lambda command: server.run(root, command))
        yield root / WORK


@pytest.fixture(name="root")
def fixture_root() -> Iterator[Path]:
    with folder_in_memory() as folder:
        yield folder


def check_ledger(folder: Path, label: object) -> None:
    """What is recorded is published, and nothing else; every manifest is whole."""
    manifests = {hash_file(path): path for path in folder.glob("*/published/manifest.json")}
    for path in manifests.values():
        assert read_manifest(path).changed(path.parent) == (), label
    if (folder / "ledger.sqlite").exists():
        recorded = [entry.manifest for entry in read_ledger(folder / "ledger.sqlite")]
        own = {path.parts[-3] for path in manifests.values()} - {"signed", "listed", "swapped"}
        assert len(recorded) == len(set(recorded)) == len(own), label
        assert set(recorded) <= set(manifests), label


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_fault_at_any_operation(server: Server, template: Path, root: Path, name: str) -> None:
    struck = COMMANDS[name]
    if struck.earlier:
        with folder_in_memory() as before:
            restore(template, before)
            assert server.run(before, struck.earlier)["code"] == 0
            _strike_everywhere(server, before / WORK, root, name, struck)
    else:
        _strike_everywhere(server, template, root, name, struck)


def _strike_everywhere(server: Server, template: Path, root: Path, name: str, struck: Struck) -> None:
    restore(template, root)
    inputs, command, good = modes(root), struck.command, struck.good
    whole = server.run(root, command, 0, COUNT)
    operations = whole["seen"]
    assert whole["code"] == good and len(operations) > 4, whole
    result, runs, failures = modes(root), 0, list[object]()
    mended: set[str] = set()
    """What strikes left after which the next command was right: it does the same where the same bytes are left."""
    assert result.keys() > inputs.keys() or name == "ledger --clean" or name == "sign"
    assert not list((root / TEMPORARY).iterdir()), name
    for number, kind in enumerate(KINDS):
        for at in points(operations, number, SAMPLE or struck.most):
            runs += 1
            restore(template, root)
            ran = server.run(root, command, at, KINDS[kind])
            left, again = content(root), None
            try:
                _check_end(ran, kind, good)
                if left not in mended:
                    again = server.run(root, command)
                    _check_next(server, root, again, good, result)
                    mended.add(left)
            except AssertionError as error:
                failures.append((name, kind, at, operations[at - 1], ran, again, error.args))
    print(
        f"{name}: {len(operations)} operations, {runs} faults, {len(mended)} states, {len(failures)} failures",
        flush=True,
    )
    assert not failures, failures[:5]


def _check_end(ran: dict[str, Any], kind: str, good: int) -> None:
    """The exit code is right, and there is at most one line."""
    assert ran["code"] in allowed_codes(kind, good), "exit code"
    assert "Traceback" not in ran["err"] and "internal error" not in ran["err"]
    assert len(ran["err"].splitlines()) <= 1


def _check_next(server: Server, root: Path, again: dict[str, Any], good: int, result: dict[str, int]) -> None:
    """The second run left what a run without a fault leaves."""
    assert again["code"] in (good, 2)
    if again["code"] == 2 and (root / WORK / "ledger.sqlite").exists():  # nothing left to do: another command
        assert server.run(root, "ledger ledger.sqlite")["code"] == 0
    left = modes(root)
    assert left == result, set(left.items()) ^ set(result.items())
    check_ledger(root / WORK, "ledger")

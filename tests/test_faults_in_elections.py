"""A fault at operations on files in every command of an election that has begun, and in the services that it asks.

Ten parties have a folder and a service each, over TLS. Each command runs by itself, as the people of a party run it,
when it is due; the fault strikes the command, or one of the services while it answers. A service that ended is started
again, as a supervisor does. After the next command the election is where it would be: the same entries on the board,
the same files of every party, nothing half, nothing left, and the board verifies.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evidence
from fault_election import TURNS, Election, Turn, held_election
from fault_server import (
    COUNT,
    KINDS,
    TEMPORARY,
    Server as FaultServer,
    allowed_codes,
    fixture_server,
    modes,
    points,
    restore,
)
from safemargin.election.board import Board
from safemargin.election.verify import check_board

__all__ = ["fixture_server"]
SERVICES = [(turn, party) for turn, held in TURNS.items() for party in held.struck]
MOST = 5
"""At how many operations each kind of fault strikes a service, per command: they are as many as those of the commands,
of few kinds, and each takes a second."""


@pytest.fixture(name="election", scope="module")
def fixture_election(server: FaultServer) -> Iterator[Election]:
    with held_election(server) as election:
        yield election


@pytest.mark.slow
@pytest.mark.parametrize("turn", TURNS)
def test_a_fault_in_a_command(election: Election, turn: str) -> None:
    _strike(election, turn, TURNS[turn], None)


@pytest.mark.slow
@pytest.mark.parametrize(("turn", "party"), evidence.sample(SERVICES, 10))
def test_a_fault_in_a_service(election: Election, turn: str, party: str) -> None:
    _strike(election, turn, TURNS[turn], party)


def _strike(election: Election, turn: str, held: Turn, party: str | None) -> None:
    targets, seen = _whole(election, turn, held, party)
    kinds = list(KINDS)
    place = list(TURNS).index(turn)
    if not evidence.EVERYTHING:
        kinds = [kinds[place % len(kinds)]]
    runs, failures = 0, list[object]()
    share = (MOST if party else None) if evidence.EVERYTHING else 1
    for kind in kinds:
        for at in points(seen, list(KINDS).index(kind), share, copies=MOST):
            runs += 1
            restore(election.kept / turn, election.root)
            try:
                said = _struck(election, turn, held, party, at, kind)
                _check(election, turn, held, said, targets)
            except AssertionError as error:
                failures.append((turn, party, kind, at, seen[max(0, at - 4) : at + 3], error.args))
            finally:
                election.stop()
    print(f"{turn}, {party}: {len(seen)} operations, {runs} faults, {len(failures)} failures", flush=True)
    assert not failures, failures[:5]


def _whole(election: Election, turn: str, held: Turn, party: str | None) -> tuple[list[dict[str, int]], str]:
    """What is there after one run without a fault, and after two; and the operations."""
    restore(election.kept / turn, election.root)
    election.start([name for name in held.asked if name != party])
    election.start([party] if party else [], 0, COUNT)
    first = election.server.run(election.root, election.command(turn), 0, COUNT)
    assert first["code"] == 0, first
    targets, seen = [_kept(election.root)], first["seen"]
    if party:
        ended = election.server.end(election.running.pop(party), 15)
        assert ended["code"] in (0, 130), ended
        seen = ended["seen"]
        election.start([party])
    second = election.server.run(election.root, election.command(turn))
    assert second["code"] in (0, 2), second
    targets.append(_kept(election.root))
    election.stop()
    return targets, seen


def _kept(root: Path) -> dict[str, int]:
    """All files and folders; of copies of the board, which grow with each look at it, only what nobody may leave."""
    return {name: mode for name, mode in modes(root).items() if not _is_of_copy(name) or "/." in name}


def _is_of_copy(name: str) -> bool:
    return any(part in ("copy", "copied") or part.endswith(".board") for part in Path(name).parts)


def _struck(election: Election, turn: str, held: Turn, party: str | None, at: int, kind: str) -> Any:
    """Run the command with the fault; how it ended, and the service that was struck."""
    if party is None:
        election.start(held.asked)
        ran = election.server.run(election.root, election.command(turn), at, KINDS[kind])
        assert ran["code"] in allowed_codes(kind, 0), ran
        _check_words(ran["err"], 1)
        return ran
    election.start([name for name in held.asked if name != party])
    election.start([party], at, KINDS[kind])
    process = election.server.start(election.root, election.command(turn))
    ended: list[dict[str, Any]] = []
    while not election.server.is_over(process):
        if election.server.is_over(election.running[party]):
            ended.append(election.server.end(election.running.pop(party), 0))
            election.start([party])
        time.sleep(0.01)
    ran = election.server.end(process, 0)
    if not ended:  # a disk that is still full or read-only is mended, and the service started again
        ended.append(election.server.end(election.running.pop(party), 15))
        election.start([party])
        assert ended[0]["code"] in (0, 130, *allowed_codes(kind, 0)), ended
    assert ended[0]["code"] in {0, *allowed_codes(kind, 0), 130}, ended
    assert ran["code"] in (0, 2), ran
    _check_words(ran["err"], 1)
    _check_words(ended[0]["err"], 100)
    return ran, ended


def _check_words(text: str, most: int) -> None:
    """Lines of ours, and no report of a program that failed."""
    lines = text.splitlines()
    assert len(lines) <= most and all(line.startswith("safemargin: ") for line in lines), text
    assert "Traceback" not in text and "internal error" not in text, text


def _check(election: Election, turn: str, held: Turn, said: Any, targets: list[dict[str, int]]) -> None:
    """The next command, or the one after it, ends where a run without a fault does."""
    runs = []
    for _ in range(2):
        runs.append(election.server.run(election.root, election.command(turn)))
        assert runs[-1]["code"] in (0, 2), (said, runs)
        _check_words(runs[-1]["err"], 1)
        if _kept(election.root) in targets:
            break
    found = _kept(election.root)
    assert found in targets, (said, runs, *({*found.items()} ^ {*target.items()} for target in targets))
    assert not list((election.root / TEMPORARY).iterdir()), (said, runs)
    if "board" in held.asked:
        wrong = check_board(Board(election.work / "board/board"), processes=1).findings
        assert not wrong, (wrong, said, runs)

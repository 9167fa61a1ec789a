"""A fault at operations on files in every command of an election or a sum that has begun, and in services it asks.

The parties have a folder or files and a service each, over TLS. Each command runs by itself, as the people of a party
run it, when it is due; the fault strikes the command, or one of the services while it answers. A service that ended is
started again, as a supervisor does. After the next command all is where it would be: the same files of every party (the
entries of a board among them), nothing half, nothing left; the board verifies, and the sum is right.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import evidence
import fault_election
import fault_sums
from fault_server import (
    COUNT,
    KINDS,
    TEMPORARY,
    Server,
    allowed_codes,
    fixture_server,
    modes,
    points,
    restore,
)
from fault_services import Turn, World

__all__ = ["fixture_server"]
TURNS = {**fault_election.TURNS, **fault_sums.TURNS}
SERVICES = [(turn, party) for turn, held in TURNS.items() for party in held.struck]
MOST = 5
"""At how many operations each kind of fault strikes a service, per command: they are as many as those of the commands,
of few kinds, and each takes a second."""


@pytest.fixture(name="world_of", scope="module")
def fixture_world_of(server: Server) -> Iterator[Callable[[str], World]]:
    """The parties of a turn, which begin when they are first asked for."""
    with ExitStack() as held:
        worlds: dict[bool, World] = {}

        def world_of(turn: str) -> World:
            is_sum = turn in fault_sums.TURNS
            if is_sum not in worlds:
                begun = fault_sums.held_session(server) if is_sum else fault_election.held_election(server)
                worlds[is_sum] = held.enter_context(begun)
            return worlds[is_sum]

        yield world_of


@pytest.mark.slow
@pytest.mark.parametrize("turn", TURNS)
def test_a_fault_in_a_command(world_of: Callable[[str], World], turn: str) -> None:
    _strike(world_of(turn), turn, TURNS[turn], None)


@pytest.mark.slow
@pytest.mark.parametrize(("turn", "party"), evidence.sample(SERVICES, 10))
def test_a_fault_in_a_service(world_of: Callable[[str], World], turn: str, party: str) -> None:
    _strike(world_of(turn), turn, TURNS[turn], party)


@pytest.mark.slow
def test_a_party_whose_database_is_gone_is_named(world_of: Callable[[str], World]) -> None:
    """It said a page of a traceback, and the server an internal error."""
    world = world_of("collect")
    restore(world.kept / "collect", world.root)
    try:
        world.start(TURNS["collect"].asked)
        restore(world.kept / "collect", world.root)
        ran = world.server.run(world.root, world.command("collect"))
        assert ran["code"] == 2 and "aggregator 1: close" in ran["err"] and "its disk" in ran["err"]
        _check_words(ran["err"], 1)
        for process in list(world.running.values()):
            _check_words(world.server.end(process, 15)["err"], 1)
        world.running.clear()
    finally:
        world.stop()


def _strike(world: World, turn: str, held: Turn, party: str | None) -> None:
    try:
        targets, seen = _whole(world, turn, held, party)
    finally:
        world.stop()
    kinds = list(KINDS)
    place = list(TURNS).index(turn)
    if not evidence.EVERYTHING:
        kinds = [kinds[place % len(kinds)]]
    runs, failures = 0, list[object]()
    share = (MOST if party else None) if evidence.EVERYTHING else 1
    for kind in kinds:
        for at in points(seen, list(KINDS).index(kind), share, copies=MOST):
            runs += 1
            restore(world.kept / turn, world.root)
            try:
                said = _struck(world, turn, held, party, at, kind)
                _check(world, turn, held, said, targets)
            except AssertionError as error:
                failures.append((turn, party, kind, at, seen[max(0, at - 4) : at + 3], error.args))
            finally:
                world.stop()
    print(f"{turn}, {party}: {len(seen)} operations, {runs} faults, {len(failures)} failures", flush=True)
    assert not failures, failures[:5]


def _whole(world: World, turn: str, held: Turn, party: str | None) -> tuple[list[dict[str, int]], str]:
    """What is there after one run without a fault, and after two; and the operations."""
    restore(world.kept / turn, world.root)
    world.start([name for name in held.asked if name != party])
    world.start([party] if party else [], 0, COUNT)
    first = world.server.run(world.root, world.command(turn), 0, COUNT)
    assert first["code"] == 0, first
    targets, seen = [_kept(world.root)], first["seen"]
    if party:
        ended = world.server.end(world.running.pop(party), 15)
        assert ended["code"] in (0, 130), ended
        seen = ended["seen"]
        world.start([party])
    second = world.server.run(world.root, world.command(turn))
    assert second["code"] in held.codes, second
    targets.append(_kept(world.root))
    return targets, seen


def _kept(root: Path) -> dict[str, int]:
    """All files and folders; of copies of the board, which grow with each look at it, only what nobody may leave."""
    return {name: mode for name, mode in modes(root).items() if not _is_of_copy(name) or "/." in name}


def _is_of_copy(name: str) -> bool:
    return any(part in ("copy", "copied") or part.endswith(".board") for part in Path(name).parts)


def _struck(world: World, turn: str, held: Turn, party: str | None, at: int, kind: str) -> Any:
    """Run the command with the fault; how it ended, and the service that was struck."""
    if party is None:
        world.start(held.asked)
        ran = world.server.run(world.root, world.command(turn), at, KINDS[kind])
        assert ran["code"] in allowed_codes(kind, 0), ran
        _check_words(ran["err"], 1)
        return ran
    world.start([name for name in held.asked if name != party])
    world.start([party], at, KINDS[kind])
    process = world.server.start(world.root, world.command(turn))
    ended: list[dict[str, Any]] = []
    while not world.server.is_over(process):
        if world.server.is_over(world.running[party]):
            ended.append(world.server.end(world.running.pop(party), 0))
            world.start([party])
        time.sleep(0.01)
    ran = world.server.end(process, 0)
    if not ended:  # a disk that is still full or read-only is mended, and the service started again
        ended.append(world.server.end(world.running.pop(party), 15))
        world.start([party])
        assert ended[0]["code"] in (0, 130, *allowed_codes(kind, 0)), ended
    assert ended[0]["code"] in {0, *allowed_codes(kind, 0), 130}, ended
    assert ran["code"] in held.codes, ran
    _check_words(ran["err"], 1)
    _check_words(ended[0]["err"], 100)
    return ran, ended


def _check_words(text: str, most: int) -> None:
    """Lines of ours, and no report of a program that failed."""
    lines = text.splitlines()
    assert len(lines) <= most and all(line.startswith("safemargin: ") for line in lines), text
    assert "Traceback" not in text and "internal error" not in text, text


def _check(world: World, turn: str, held: Turn, said: Any, targets: list[dict[str, int]]) -> None:
    """The next command, or the one after it, ends where a run without a fault does."""
    runs = []
    for _ in range(2):
        runs.append(world.server.run(world.root, world.command(turn)))
        assert runs[-1]["code"] in held.codes, (said, runs)
        _check_words(runs[-1]["err"], 1)
        if _kept(world.root) in targets:
            break
    found = _kept(world.root)
    assert found in targets, (said, runs, *({*found.items()} ^ {*target.items()} for target in targets))
    assert not list((world.root / TEMPORARY).iterdir()), (said, runs)
    assert not (wrong := world.faults()), (wrong, said, runs)

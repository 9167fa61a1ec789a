"""Parties that serve, and commands that ask them: folders as they are before each command, and services in them."""

import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fault_server import WORK, Server


@dataclass(frozen=True)
class Turn:
    """A command of a party, the services that it asks, and those of them that are struck too."""

    command: str
    asked: tuple[str, ...] = ()
    struck: tuple[str, ...] = ()
    codes: tuple[int, ...] = (0, 2)
    """How it may end where it is run once more, or where a service is struck."""


class World:
    """The folders before each turn, and the services of all parties in a folder of one's own."""

    turns: Mapping[str, Turn]

    def __init__(self, server: Server, kept: Path, root: Path) -> None:
        self.server, self.kept, self.root, self.work = server, kept, root, root / WORK
        self.ports: dict[str, int] = {}
        self.running: dict[str, int] = {}
        self.words: dict[str, str] = {}
        """What stands in commands for what is known later."""

    def serving(self, name: str) -> str:
        """The command by which a party serves."""
        raise NotImplementedError

    def command(self, turn: str) -> str:
        return self.turns[turn].command.format(**self.words)

    def run(self, command: str) -> None:
        ran = self.server.run(self.root, command)
        assert ran["code"] == 0, (command, ran)

    def start(self, names: Sequence[str], at: int = -1, kind: int = 0) -> None:
        """Start services, and wait until they take connections."""
        for name in names:
            self.running[name] = self.server.start(self.root, self.serving(name), at, kind)
        for name in names:
            while not self.server.is_over(self.running[name]) and not self._takes_connections(name):
                time.sleep(0.005)
            if at < 1 and self.server.is_over(self.running[name]):
                raise AssertionError((name, self.server.end(self.running.pop(name), 0)))

    def _takes_connections(self, name: str) -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", self.ports[name])) == 0

    def stop(self) -> None:
        """Kill all services, as a power failure would."""
        for process in self.running.values():
            self.server.end(process)
        self.running.clear()

    def faults(self) -> list[str]:
        """What is wrong with what the parties publish together."""
        return []

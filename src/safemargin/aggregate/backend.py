"""What every way to add up clients' vectors is: messages of clients to roles, sums of the roles, totals.

A backend turns a client's vector into one message per role. Every role but the server adds its messages up (or passes
them on in random order); the server puts the roles' results together. All of it is exact integer arithmetic.

Two kinds: `MaskedReport` backends send whole numbers of 64 bits, and sums of roles are sums of messages. `prio3` sends
bytes, and roles first find out together which messages are valid (`verified.py`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from safemargin.aggregate.mask import Draw
from safemargin.core import InputError, IntArray, Progress, system_below

Messages = dict[str, IntArray]
"""One row of whole numbers per client, by role."""


@dataclass(frozen=True)
class PartyRole:
    """A party that clients send to. `forwards` says what it passes on: sums, or messages, in random order or named.

    A shuffler passes them on to the party `relay`, which clients never talk to; without one, to the server.
    """

    name: str
    width: int
    forwards: Literal["sum", "shuffled", "named"] = "sum"
    relay: str = ""


@dataclass(frozen=True)
class Options:
    """What only some backends need."""

    weights: tuple[int, ...] = ()
    """By question, its weight in the one statistic that is opened."""
    most: int = 0
    """How many categories a client may choose."""
    context: bytes = b""
    """What proofs are bound to: the name of a session."""


class Backend(ABC):
    """`questions` per client, each answered by a whole number from 0 to `largest`."""

    name: str
    learns: str
    """What single parties and coalitions learn."""
    validity: str
    """Which wrong inputs are noticed, and what one bad client can do otherwise."""
    dishonest: str
    """What one aggregator that does not follow the protocol can do."""
    proves = False
    """Whether parties find out together which messages are valid."""

    def __init__(self, questions: int, clients: int, largest: int = 1, options: Options | None = None) -> None:
        if questions < 1 or largest < 1:
            raise InputError(f"{questions} questions with answers up to {largest}: both must be at least 1")
        self.questions, self.clients, self.largest = questions, clients, largest
        self.options = options or Options()
        self.roles = self._roles()

    @abstractmethod
    def _roles(self) -> tuple[PartyRole, ...]:
        """The parties that clients send to."""

    @abstractmethod
    def reports(self, values: IntArray) -> dict[str, list[bytes]]:
        """Messages of clients (rows) to every role."""

    @abstractmethod
    def check_report(self, role: str, body: bytes) -> None:
        """Refuse a message that an honest client cannot have sent, as far as one role can see."""

    @abstractmethod
    def open(self, passed: Mapping[str, Sequence[Sequence[int]]], clients: int) -> IntArray:
        """Totals from what the roles pass on: rows of numbers, one row where a role adds up."""

    @abstractmethod
    def add_up(self, blocks: Iterable[IntArray], clients: int, progress: Progress) -> IntArray:
        """Totals by question of all clients in this process, block by block."""

    def labels(self, questions: Sequence[str]) -> list[str]:
        """What the totals are of."""
        return list(questions)

    @property
    def bytes_per_client(self) -> int:
        """Length of a client's messages to all roles, without headers."""
        return sum(role.width for role in self.roles)

    @property
    def needed(self) -> int:
        """How many parties must agree on the clients and answer."""
        return len(self.roles)

    @property
    def parties(self) -> tuple[str, ...]:
        """All parties but the server: those that clients send to, and those behind a shuffler."""
        return (*(role.name for role in self.roles), *(role.relay for role in self.roles if role.relay))

    def role(self, name: str) -> PartyRole:
        """The role of this name."""
        return next(role for role in self.roles if role.name == name)

    def check_values(self, values: IntArray) -> None:
        """Refuse vectors of the wrong length or range."""
        if values.ndim != 2 or values.shape[1] != self.questions:
            raise InputError(f"every client must answer {self.questions} questions")
        if values.size and (values.min() < 0 or values.max() > self.largest):
            raise InputError(f"answers must be whole numbers from 0 to {self.largest}")


class MaskedReport(Backend):
    """Messages are rows of whole numbers, and a role's sum is the sum of its messages."""

    bits = 64
    """Of a number on the wire."""

    @abstractmethod
    def protect(self, values: IntArray, draw: Draw = system_below) -> Messages:
        """Messages of clients (rows) to every role."""

    @abstractmethod
    def add(self, role: str, messages: IntArray) -> IntArray:
        """What a role's messages (rows) add up to."""

    def add_sums(self, role: str, sums: IntArray) -> IntArray:
        """Sums of several blocks of clients (rows) put together."""
        return self.add(role, sums)

    @abstractmethod
    def combine(self, sums: Mapping[str, IntArray], clients: int) -> IntArray:
        """Totals by question from the sums of the roles."""

    def check(self, role: str, message: IntArray) -> None:
        """Refuse a message that an honest client cannot have sent."""

    def shown(self, values: IntArray) -> IntArray:
        """What of clients' answers parties read that undo the mask together."""
        return values

    def reports(self, values: IntArray) -> dict[str, list[bytes]]:
        return {role: [self.encode(row) for row in rows] for role, rows in self.protect(values).items()}

    def check_report(self, role: str, body: bytes) -> None:
        width = self.role(role).width
        if len(body) != width or not body:
            raise InputError(f"a message of {len(body)} bytes: must be {width}")
        self.check(role, self.decode(body))

    def encode(self, values: IntArray) -> bytes:
        """A message as little-endian words, of 4 bytes where sums stay below 2^32 (additive shares), else of 8."""
        return values.astype("<u4" if self.bits == 32 else "<i8").tobytes()

    def decode(self, body: bytes) -> IntArray:
        """The inverse of `encode`."""
        return np.frombuffer(body, dtype="<u4" if self.bits == 32 else "<i8").astype(np.int64)

    def open(self, passed: Mapping[str, Sequence[Sequence[int]]], clients: int) -> IntArray:
        sums = {}
        for name, rows in passed.items():
            role, array = self.role(name), np.array(rows, dtype=np.int64)
            sums[name] = array[0] if role.forwards == "sum" or role.relay else self.add(name, array)
        return self.combine(sums, clients)

    def add_up(self, blocks: Iterable[IntArray], clients: int, progress: Progress) -> IntArray:
        sums: dict[str, list[IntArray]] = {role.name: [] for role in self.roles}
        done = 0
        for values in blocks:
            progress("adding up", done, clients)
            for role, rows in self.protect(values).items():
                sums[role].append(self.add(role, rows))
            done += len(values)
        return self.combine({role: self.add_sums(role, np.stack(parts)) for role, parts in sums.items()}, clients)

"""What one party of a sum keeps: messages by client, the agreed set of clients, and its result. One SQLite file.

The set of clients is fixed in two phases. First every party stops accepting and says whom it holds; then all of them
store the same set. Only after that is anything opened. So a message counts everywhere or nowhere: a client that reached
one party only is lost for everybody alike, and a message that comes late or twice changes nothing.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from safemargin.aggregate.backends import Backend
from safemargin.core import InputError, IntArray, system_below

OPEN, CLOSED, AGREED = "open", "closed", "agreed"
LEAST_CLIENTS = 3
"""With one client the sum is its answer, and each of two clients can subtract its own."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS session (name TEXT PRIMARY KEY, state TEXT NOT NULL, agreed TEXT);
CREATE TABLE IF NOT EXISTS message (client TEXT PRIMARY KEY, digest TEXT NOT NULL, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS refused (reason TEXT PRIMARY KEY, number INTEGER NOT NULL);
"""
EARLIER = "CREATE TABLE IF NOT EXISTS earlier (digest TEXT, client TEXT, PRIMARY KEY (digest, client));"


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All of it, or nothing."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def set_digest(clients: Iterable[str]) -> str:
    """One name for a set of clients, the same for every party."""
    return hashlib.sha256(json.dumps(sorted(set(clients))).encode()).hexdigest()


def check_overlap(earlier: Iterable[frozenset[str]], clients: frozenset[str], least: int) -> None:
    """Refuse a sum whose difference with an earlier one is the sum of a few people.

    The same set again is harmless for other questions; sets without a common client do not meet. Differences of more
    than two sets are not looked at.
    """
    for before in earlier:
        common = before & clients
        gone, come = len(before - common), len(clients - common)
        if common and (0 < gone < least or 0 < come < least):
            raise InputError(
                f"an earlier sum is about {len(before):,} clients, {len(common):,} of them here too: the difference "
                f"is about {min(number for number in (gone, come) if number):,}; at least {least} are needed"
            )


@dataclass(frozen=True)
class Status:
    """Where a party stands."""

    state: str
    held: int
    refused: dict[str, int]


class SessionParty:
    """One role of one session; everything is in `path`, so that a party that was killed goes on where it stood."""

    def __init__(self, path: Path, role: str, backend: Backend, name: str, least: int = LEAST_CLIENTS) -> None:
        if least < LEAST_CLIENTS:
            raise InputError(f"least clients = {least}: must be at least {LEAST_CLIENTS}")
        self.role, self.backend, self.name, self.least = role, backend, name, least
        self.width = next((each.width for each in backend.roles if each.name == role), 0)
        """Bytes of a message; clients never send to a party behind a shuffler."""
        self.added = 0
        """Messages in the last result: more than the agreed clients would mean that one was counted twice."""
        # Sessions of one party that share a folder share the file of its sums: overlapping sets are always checked.
        self.sums = SetLedger(path.parent / f"sums of {role}.sqlite")
        self.database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.database.execute("PRAGMA journal_mode = WAL")
        self.database.execute("PRAGMA synchronous = FULL")  # an acknowledged message survives power loss
        self.database.executescript(SCHEMA)
        known = self.database.execute("SELECT name FROM session").fetchone()
        if known is None:
            self.database.execute("INSERT INTO session VALUES (?, ?, NULL)", (name, OPEN))
        elif known[0] != name:
            raise InputError(f"{path}: belongs to session {known[0]!r}, not {name!r}")

    @property
    def state(self) -> str:
        """Open, closed or agreed."""
        return str(self.database.execute("SELECT state FROM session").fetchone()[0])

    @property
    def agreed(self) -> str | None:
        """The name of the set that this party agreed to, if it did."""
        stored = self.database.execute("SELECT agreed FROM session").fetchone()[0]
        return None if stored is None else str(stored)

    def status(self) -> Status:
        """How many messages are held, and how many were refused for which reason."""
        held = self.database.execute("SELECT count(*) FROM message").fetchone()[0]
        return Status(self.state, int(held), dict(self.database.execute("SELECT * FROM refused").fetchall()))

    def accept(self, messages: Sequence[tuple[str, bytes]]) -> list[str | None]:
        """Keep messages of clients in one transaction; the reason for each that is refused, else None.

        The same message again is acknowledged again; another one under the same client is refused.
        """
        answers: list[str | None] = []
        with transaction(self.database):
            state = self.state
            for client, body in messages:
                answers.append(self._accept(client, body, state))
            self.count_refusals(filter(None, answers))
        return answers

    def count_refusals(self, reasons: Iterable[str]) -> None:
        """Count messages that were refused, by reason."""
        self.database.executemany(
            "INSERT INTO refused VALUES (?, 1) ON CONFLICT (reason) DO UPDATE SET number = number + 1",
            [(reason,) for reason in reasons],
        )

    def _accept(self, client: str, body: bytes, state: str) -> str | None:
        digest = hashlib.sha256(body).hexdigest()
        row = self.database.execute("SELECT digest FROM message WHERE client = ?", (client,)).fetchone()
        if row is not None:
            return None if row[0] == digest else "a second message of one client"
        if state != OPEN:
            return "too late: the set of clients is fixed"
        try:
            self.backend.check(self.role, self.decode(body))
        except InputError:
            return "not a message that an honest client sends"
        self.database.execute("INSERT INTO message VALUES (?, ?, ?)", (client, digest, body))
        return None

    def decode(self, body: bytes) -> IntArray:
        """The numbers in a message."""
        if len(body) != self.width or not body:
            raise InputError(f"a message of {len(body)} bytes: must be {self.width}")
        return decode_numbers(body, self.backend)

    def close(self) -> list[str]:
        """Phase one: accept no more, and say whose messages are held. Closing again gives the same answer."""
        self.database.execute("UPDATE session SET state = ? WHERE state = ?", (CLOSED, OPEN))
        return [row[0] for row in self.database.execute("SELECT client FROM message ORDER BY client")]

    def agree(self, clients: Sequence[str]) -> str:
        """Phase two: store the set, or refuse it. A party agrees to one set only."""
        chosen, digest = frozenset(clients), set_digest(clients)
        stored = self.agreed
        if stored is not None:
            if stored != digest:
                raise InputError("this party agreed to another set of clients already")
            return digest
        if self.state != CLOSED:
            raise InputError("the session is open still; close it before a set is agreed")
        if len(chosen) < self.least:
            raise InputError(f"{len(chosen)} clients: a sum needs at least {self.least}")
        if missing := chosen - set(self.close()):
            raise InputError(f"{len(missing):,} clients of the set never reached this party")
        self.sums.admit(chosen, self.least)  # a party that is killed here admits the same set again
        with transaction(self.database):
            self.database.execute("CREATE TABLE IF NOT EXISTS chosen (client TEXT PRIMARY KEY)")
            self.database.executemany("INSERT OR IGNORE INTO chosen VALUES (?)", [(name,) for name in sorted(chosen)])
            self.database.execute("UPDATE session SET state = ?, agreed = ?", (AGREED, digest))
        return digest

    def messages(self) -> IntArray:
        """Messages of the agreed clients, in rows, in the order of their names."""
        if self.state != AGREED:
            raise InputError("nothing is opened before all parties agreed on the set of clients")
        rows = self.database.execute("SELECT body FROM message JOIN chosen USING (client) ORDER BY client").fetchall()
        return np.stack([self.decode(row[0]) for row in rows])

    def result(self) -> IntArray:
        """What the server gets: sums as one row, or all messages in random or in named order."""
        messages = self.messages()
        self.added = len(messages)
        forwards = self.backend.role(self.role).forwards
        if forwards == "sum":
            return self.backend.add(self.role, messages)[None, :]
        return messages if forwards == "named" else messages[shuffled_order(len(messages))]


def shuffled_order(count: int) -> IntArray:
    """A uniform order from system entropy: sorting 62-bit words, drawn again if two are equal."""
    words = system_below(2**62, (count,))
    while len(np.unique(words)) < count:
        words = system_below(2**62, (count,))
    return np.argsort(words)


def encode_numbers(values: IntArray, backend: Backend, role: str) -> bytes:
    """A message as little-endian words, of 4 bytes where sums stay below 2^32 (additive shares), else of 8."""
    return values.astype("<u4" if backend.role(role).width == 4 * values.size else "<i8").tobytes()


def decode_numbers(body: bytes, backend: Backend) -> IntArray:
    """The inverse of `encode_numbers`."""
    narrow = getattr(backend, "bits", 64) == 32
    return np.frombuffer(body, dtype="<u4" if narrow else "<i8").astype(np.int64)


class SetLedger:
    """The sets of clients that were summed, in one file: asked before a sum, written with it."""

    def __init__(self, path: Path) -> None:
        try:
            self.database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self.database.execute("PRAGMA synchronous = EXTRA")
            self.database.execute(EARLIER)
        except sqlite3.Error as error:
            raise InputError(f"{path}: is not a file of sums ({error})") from None

    def admit(self, clients: frozenset[str], least: int) -> None:
        """Record a set, or refuse it because of an earlier one; both in one transaction."""
        with transaction(self.database):
            check_overlap(stored_sets(self.database), clients, least)
            digest = set_digest(clients)
            self.database.executemany(
                "INSERT OR IGNORE INTO earlier VALUES (?, ?)", [(digest, client) for client in sorted(clients)]
            )


def stored_sets(database: sqlite3.Connection) -> list[frozenset[str]]:
    """All sets in a table `earlier`."""
    sets: dict[str, set[str]] = {}
    for digest, client in database.execute("SELECT digest, client FROM earlier"):
        sets.setdefault(digest, set()).add(client)
    return [frozenset(members) for members in sets.values()]

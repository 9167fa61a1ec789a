"""What one party of a sum keeps: messages by client, the agreed set of clients, and its result. One SQLite file.

The set of clients is fixed in two phases. First every party stops accepting and says whom it holds; then all of them
store the same set. Only after that is anything opened. So a message counts everywhere or nowhere: a client that reached
one party only is lost for everybody alike, and a message that comes late or twice changes nothing.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from safemargin.aggregate.backend import Backend, MaskedReport
from safemargin.aggregate.prio3.scheme import NONCE, Held
from safemargin.aggregate.sets import LEAST_CLIENTS, SetLedger, set_digest
from safemargin.aggregate.verified import Prio3Sums
from safemargin.core import InputError, IntArray, system_below
from safemargin.io import transaction
from safemargin.parties.files import compact, open_private

OPEN, CLOSED, AGREED = "open", "closed", "agreed"
SECOND = "a second message of one client"
"""Why a party refuses a client whose report it holds already, where the report is another one."""
SCHEMA = """
CREATE TABLE IF NOT EXISTS session (name TEXT PRIMARY KEY, state TEXT NOT NULL, agreed TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS message (client TEXT PRIMARY KEY, digest TEXT NOT NULL, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refused (reason TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS verdict (client TEXT PRIMARY KEY, output BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS chosen (client TEXT PRIMARY KEY) WITHOUT ROWID;
"""
"""Rows stand in the order of clients' names, not in the order of arrival. No output means an invalid report."""


@dataclass(frozen=True)
class Status:
    """Where a party stands."""

    state: str
    held: int
    refused: dict[str, int]


class SessionParty:
    """One role of one session; everything is in `path`, so that a party that was killed goes on where it stood."""

    def __init__(
        self, path: Path, role: str, backend: Backend, name: str, least: int = LEAST_CLIENTS, key: bytes | None = None
    ) -> None:
        if least < LEAST_CLIENTS:
            raise InputError(f"least clients = {least}: must be at least {LEAST_CLIENTS}")
        self.role, self.backend, self.name, self.least, self.key = role, backend, name, least, key
        self.width = next((each.width for each in backend.roles if each.name == role), 0)
        """Bytes of a message; clients never send to a party behind a shuffler."""
        self._nonces: Counter[bytes] | None = None
        self.added = 0
        """Messages in the last result: more than the agreed clients would mean that one was counted twice."""
        # Sessions of one party that share a folder share the file of its sums: overlapping sets are always checked.
        self.sums = SetLedger(path.parent / f"sums of {role}.sqlite")
        self.database = open_private(path, SCHEMA)
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
            return None if row[0] == digest else SECOND
        if state != OPEN:
            return "too late: the set of clients is fixed"
        try:
            self.backend.check_report(self.role, body)
        except InputError:
            return "not a message that an honest client sends"
        self.database.execute("INSERT INTO message VALUES (?, ?, ?)", (client, digest, body))
        return None

    def close(self) -> list[str]:
        """Phase one: accept no more, and say whose messages are held. Closing again gives the same answer."""
        closed = self.database.execute("UPDATE session SET state = ? WHERE state = ?", (CLOSED, OPEN))
        if closed.rowcount:  # the file is written anew, so that not even its free pages disclose who came before whom
            compact(self.database)
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
        if self.backend.proves and (wrong := chosen - set(self.valid())):
            raise InputError(f"{len(wrong):,} clients of the set have no report that was found valid")
        self.sums.admit(chosen, self.least)  # a party that is killed here admits the same set again
        with transaction(self.database):
            self.database.executemany("INSERT OR IGNORE INTO chosen VALUES (?)", [(name,) for name in sorted(chosen)])
            self.database.execute("UPDATE session SET state = ?, agreed = ?", (AGREED, digest))
        return digest

    def start(self, clients: Sequence[str]) -> list[Held | None]:
        """This aggregator's side of the verification of held reports; None where one cannot be valid."""
        if not isinstance(self.backend, Prio3Sums) or self.key is None:
            raise InputError(f"{self.role}: this session has no proofs, or no key to verify them")
        if self.state == OPEN:
            raise InputError("the session is open still; close it before reports are verified")
        found = dict(self._select("SELECT client, body FROM message WHERE client IN", clients))
        if missing := [client for client in clients if client not in found]:
            raise InputError(f"{len(missing):,} clients never reached this party")
        # A report ID that two clients use would have both verified at one point.
        if self._nonces is None:  # no message comes any more
            heads = self.database.execute(f"SELECT substr(body, 1, {NONCE}) FROM message")
            self._nonces = Counter(bytes(head) for (head,) in heads)
        nonces = self._nonces
        backend, key, role = self.backend, self.key, self.role
        return [
            backend.start(key, role, found[client]) if nonces[bytes(found[client][:NONCE])] == 1 else None
            for client in clients
        ]

    def judge(self, clients: Sequence[str], held: Sequence[Held | None], verifiers: Sequence[Sequence[bytes]]) -> None:
        """Store for every client whether its report is valid, from the verifier shares of all aggregators.

        The first verdict stays.
        """
        assert isinstance(self.backend, Prio3Sums)
        field = self.backend.scheme.field
        rows = []
        for client, each, shares in zip(clients, held, verifiers, strict=True):
            output = self.backend.finish(each, shares)
            rows.append((client, None if output is None else field.encode(output)))
        with transaction(self.database):
            known = {row[0] for row in self._select("SELECT client FROM verdict WHERE client IN", clients)}
            new = [row for row in rows if row[0] not in known]
            self.database.executemany("INSERT INTO verdict VALUES (?, ?)", new)
            self.count_refusals("a report whose proof fails" for _, output in new if output is None)

    def valid(self) -> list[str]:
        """Clients whose reports were found valid."""
        rows = self.database.execute("SELECT client FROM verdict WHERE output IS NOT NULL ORDER BY client")
        return [row[0] for row in rows]

    def unjudged(self) -> list[str]:
        """Clients whose reports wait for a verdict."""
        rows = self.database.execute("SELECT client FROM message WHERE client NOT IN (SELECT client FROM verdict)")
        return sorted(row[0] for row in rows)

    def _select(self, question: str, clients: Sequence[str]) -> list[tuple[Any, ...]]:
        return [
            row
            for start in range(0, len(clients), 500)
            for row in self.database.execute(
                f"{question} ({','.join('?' * len(clients[start : start + 500]))})", clients[start : start + 500]
            )
        ]

    def passed(self) -> list[list[int]]:
        """What the server gets, as rows of numbers."""
        if not isinstance(self.backend, Prio3Sums):
            rows: list[list[int]] = self.result().tolist()
            return rows
        outputs = [self.backend.scheme.field.decode(body) for body in self._agreed("output", "verdict")]
        self.added = len(outputs)
        return [self.backend.add_outputs(outputs)]

    def _agreed(self, column: str, table: str) -> list[bytes]:
        if self.state != AGREED:
            raise InputError("nothing is opened before all parties agreed on the set of clients")
        question = f"SELECT {column} FROM {table} JOIN chosen USING (client) ORDER BY client"
        return [row[0] for row in self.database.execute(question)]

    def messages(self) -> IntArray:
        """Masked messages of the agreed clients, in rows, in the order of their names."""
        bodies = self._agreed("body", "message")
        assert isinstance(self.backend, MaskedReport)
        return np.stack([self.backend.decode(body) for body in bodies])

    def result(self) -> IntArray:
        """Of masked messages of the agreed clients: sums as one row, or all messages in random or in named order."""
        messages = self.messages()
        self.added = len(messages)
        assert isinstance(self.backend, MaskedReport)
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


def encode_numbers(values: IntArray, backend: MaskedReport, role: str) -> bytes:
    """A message of one role from its numbers."""
    return backend.encode(values)

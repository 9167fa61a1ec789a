"""Reports that were drawn and that not every party has acknowledged yet, in a private file beside the key.

A report is drawn from fresh randomness. Were it drawn anew after a fault between two parties, the first would refuse a
second report of one client, or the two would hold parts that do not fit: the client would not be counted. So a report
is on the disk before its first part is sent, the next run sends the same one, which changes nothing at a party that has
it, and the file goes when every party has answered. It holds all parts of a report, hence the answers: it is as secret
as the key beside it.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import TracebackType

import numpy as np

from safemargin.aggregate.session_file import Session
from safemargin.core import InputError, IntArray, OutputError
from safemargin.parties.files import open_private

SCHEMA = """
CREATE TABLE IF NOT EXISTS report (client TEXT, role TEXT, answers TEXT, body BLOB, PRIMARY KEY (client, role))
WITHOUT ROWID;
"""
Bodies = Mapping[str, bytes]
"""By role, what a client sends to that party."""


class DrawnReports:
    """The reports of one session under one file of keys; the file is removed if the block ends without an error.

    What is unchanged between runs: for one client, session and file of keys there is one report.
    """

    def __init__(self, session: Session, keys: Path) -> None:
        named = sha256(session.file.model_dump_json().encode()).hexdigest()[:16]
        self.session, self.path = session, Path(f"{keys}.{named}.sending")

    def __enter__(self) -> "DrawnReports":
        self.database = open_private(self.path, SCHEMA)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.database.close()
        if error is None:
            try:
                for path in (self.path, Path(f"{self.path}-journal")):
                    path.unlink(missing_ok=True)
            except OSError as left:
                raise OutputError(
                    f"{path}: every party has answered, but it cannot be removed ({left.strerror}); run this again"
                ) from None

    def of(self, clients: Sequence[str], values: IntArray) -> list[Bodies]:
        """The reports of clients with these answers: the kept ones, and new ones of whoever has none."""
        answers = [json.dumps(row) for row in values.tolist()]
        try:
            kept = [self._kept(client, stated) for client, stated in zip(clients, answers, strict=True)]
            new = [place for place, bodies in enumerate(kept) if not bodies]
            if new:
                made = self.session.backend.reports(np.asarray(values[new], dtype=np.int64))
                drawn = [{role: bodies[number] for role, bodies in made.items()} for number in range(len(new))]
                self.database.execute("BEGIN IMMEDIATE")
                self.database.executemany(
                    "INSERT INTO report VALUES (?, ?, ?, ?)",
                    [
                        (clients[place], role, answers[place], body)
                        for place, bodies in zip(new, drawn, strict=True)
                        for role, body in bodies.items()
                    ],
                )
                self.database.execute("COMMIT")
                for place, bodies in zip(new, drawn, strict=True):
                    kept[place] = bodies
        except (sqlite3.Error, OSError) as error:
            raise OutputError(f"{self.path}: cannot be written ({error}); run this again when that is mended") from None
        return kept

    def _kept(self, client: str, answers: str) -> Bodies:
        rows = self.database.execute("SELECT role, answers, body FROM report WHERE client = ?", (client,)).fetchall()
        if any(stated != answers for _, stated, _ in rows):
            raise InputError(
                f"{self.path}: client {client[:60]!r}: a report with other answers was being sent when a run was "
                "interrupted, and a party may hold it; run this with those answers"
            )
        bodies = {role: body for role, _, body in rows}
        return {role.name: bodies[role.name] for role in self.session.backend.roles} if bodies else {}

"""Sets of clients: one name for a set, and the ledger that refuses sums whose difference is about a few people."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from safemargin.core import InputError, OutputError
from safemargin.io import transaction
from safemargin.parties.files import open_private

LEAST_CLIENTS = 3
"""With one client the sum is its answer, and each of two clients can subtract its own."""

EARLIER = "CREATE TABLE IF NOT EXISTS earlier (digest TEXT, client TEXT, PRIMARY KEY (digest, client)) WITHOUT ROWID;"


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


class SetLedger:
    """The sets of clients that were summed, in one file: asked before a sum, written with it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = open_private(path, EARLIER)

    def admit(self, clients: frozenset[str], least: int) -> None:
        """Record a set, or refuse it because of an earlier one; both in one transaction."""
        digest = set_digest(clients)
        rows = [(digest, client) for client in sorted(clients)]
        try:
            with transaction(self.database):
                check_overlap(stored_sets(self.database), clients, least)
                self.database.executemany("INSERT OR IGNORE INTO earlier VALUES (?, ?)", rows)
        except sqlite3.Error as error:
            raise OutputError(f"{self.path}: cannot be written ({error}); nothing was summed") from None


def stored_sets(database: sqlite3.Connection) -> list[frozenset[str]]:
    """All sets in a table `earlier`."""
    sets: dict[str, set[str]] = {}
    for digest, client in database.execute("SELECT digest, client FROM earlier"):
        sets.setdefault(digest, set()).add(client)
    return [frozenset(members) for members in sets.values()]

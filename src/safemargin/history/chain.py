"""The chain of a ledger: each entry and each lock has a hash that depends on those before; the last are sealed."""

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Chain:
    """The hash of the last entry, which depends on all entries.

    The head is published in manifests. So that nobody can test guesses about what the ledger keeps against it, hashes
    are keyed with random bits that only the ledger holds.
    """

    key: str
    hashes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What manifests call the ledger."""
        return hashlib.sha256(f"safemargin ledger {self.key}".encode()).hexdigest()

    @property
    def head(self) -> str:
        """The hash of the last entry; of an empty ledger, its name."""
        return self.hashes[-1] if self.hashes else self.name

    def extended(self, row: Sequence[Any], parts: Any) -> "Chain":
        """The chain with one more entry."""
        return replace(self, hashes=(*self.hashes, self.keyed([self.head, row, parts])))

    def seal(self, pending: Sequence[Any], lock: str) -> str:
        """What the ledger keeps of its own state, so that the last entry or `lock` cannot vanish either."""
        return self.keyed(["head", len(self.hashes), self.head, pending, *([lock] if lock else [])])

    def document(self) -> dict[str, str]:
        """What a manifest says about the ledger before its release."""
        return {"name": self.name, "head": self.head}

    def keyed(self, value: object) -> str:
        """The hash of a value, keyed with what only the ledger holds."""
        return hmac.new(self.key.encode(), to_text(value).encode(), "sha256").hexdigest()


def last_lock(database: sqlite3.Connection) -> str:
    """The seal of the last lock, which is chained to those before; nothing if there is none."""
    if not database.execute("select 1 from sqlite_master where name = 'locked'").fetchall():
        return ""
    last = database.execute("select seal from locked order by id desc limit 1").fetchone()
    return str(last[0]) if last else ""


def to_text(value: object) -> str:
    """A value as the ledger keeps it."""
    return json.dumps(value, ensure_ascii=False)

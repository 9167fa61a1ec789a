"""Clients whose rows one organisation holds: a file with all their secrets, and their reports in one run.

A hospital enrols its patients, or a platform tests with made-up people. Each of them is a client with a key and a
report of its own, exactly as if it had sent the report itself: parties cannot see a difference.
"""

import csv
import io
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from safemargin.aggregate.answers import ClientAnswers
from safemargin.aggregate.drawn import Bodies, DrawnReports
from safemargin.aggregate.identity import Identity
from safemargin.aggregate.session_file import Session
from safemargin.aggregate.submission import Connections, contexts_of, post_parts
from safemargin.core import InputError, Progress, no_progress
from safemargin.io import require_file
from safemargin.parties.files import write_private
from safemargin.ui import SCHEMA, Document, Figures, Grid, Report, Result, write_text

DRAWN = 250
"""Reports that are drawn, and kept until they are sent, at a time."""
SENDERS = 16
"""Clients that send at the same time: more do not make two cores faster. A batch is committed for all that wait."""


@dataclass(frozen=True)
class Submissions(Result):
    """What the parties said about the reports of many clients."""

    session: str
    clients: int
    held: int
    """Clients whose report every party holds."""
    refused: dict[str, dict[str, int]] = field(hash=False)
    """By party, reports that it refused, by reason."""
    missing: tuple[str, ...] = ()
    """Clients whose report a party refused."""

    @property
    def holds(self) -> bool:
        """Whether every party holds every report."""
        return self.held == self.clients

    @property
    def answers(self) -> dict[str, str]:
        """What every party said: `held`, or how many reports it refused."""
        return {role: f"{sum(each.values()):,} refused" if each else "held" for role, each in self.refused.items()}

    def to_json(self) -> Document:
        """The document of `aggregate submit --keys ... --json`."""
        return {"schema": SCHEMA, **asdict(self)}

    def to_report(self) -> Report:
        rows = [[role, reason, f"{count:,}"] for role, each in self.refused.items() for reason, count in each.items()]
        return Report(
            "Reports",
            f"Session {self.session}.",
            Figures({"clients": self.clients, "held by every party": self.held}),
            Grid(["party", "refused because", "reports"], rows) if rows else "",
        )


def read_columns(path: Path, needed: tuple[str, ...]) -> list[dict[str, str]]:
    """Rows of a CSV file that has these columns, none of them empty."""
    require_file(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, strict=True, restval=""))
    except (OSError, csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not a CSV file in UTF-8 ({error})") from None
    for number, row in enumerate(rows, 1):
        if missing := [name for name in needed if not row.get(name)]:
            raise InputError(f"{path}: row {number}: column {missing[0]!r} is empty or not there")
    if not rows:
        raise InputError(f"{path}: has no rows; columns are {', '.join(needed)}")
    first = needed[0]
    for name, number in Counter(row[first] for row in rows).items():
        if number > 1:
            raise InputError(f"{path}: {first} {name[:60]!r} is there twice")
    return rows


def _written(header: tuple[str, str], rows: Mapping[str, str]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([header, *rows.items()])
    return text.getvalue()


def write_identities(path: Path, secrets: Mapping[str, str]) -> Path:
    """The secrets of clients in one private file, and their public keys in a list beside it, as `plan` reads it."""
    public = path.with_suffix(".public.csv")
    if not path.exists():
        write_private(path, _written(("client", "secret"), secrets).encode(), new=True)
    elif public.exists():
        raise InputError(f"{path}: exists already; a secret is never overwritten")
    else:  # a run that was interrupted: the list, the last file, is missing
        kept = read_identities(path)
        if set(kept) != set(secrets):
            raise InputError(f"{path}: exists already and is about other clients")
        write_text(public, _written(("client", "key"), {name: each.public for name, each in kept.items()}))
        return public
    made = {name: Identity(bytes.fromhex(secret)).public for name, secret in secrets.items()}
    write_text(public, _written(("client", "key"), made))
    return public


def read_identities(path: Path) -> dict[str, Identity]:
    """The keys of clients from a file that `aggregate key --clients` wrote."""
    found = {}
    for row in read_columns(path, ("client", "secret")):
        try:
            secret = bytes.fromhex(row["secret"])
        except ValueError:
            secret = b""
        if len(secret) != 32:
            raise InputError(f"{path}: client {row['client'][:60]!r}: its secret is not 64 hexadecimal digits")
        found[row["client"]] = Identity(secret)
    return found


class Senders:
    """A connection per thread to every party, kept open."""

    def __init__(self, session: Session) -> None:
        self.session, self.contexts = session, contexts_of(session)
        self.lock, self.local = threading.Lock(), threading.local()
        self.opened: list[Connections] = []

    @property
    def connections(self) -> Connections:
        """Of this thread."""
        found: Connections | None = self.local.__dict__.get("connections")
        if found is None:
            found = self.local.connections = Connections(self.session, self.contexts)
            with self.lock:
                self.opened.append(found)
        return found

    def close(self) -> None:
        """Close all connections."""
        for each in self.opened:
            each.close()


@contextmanager
def many_senders(session: Session) -> Iterator[Senders]:
    """Connections for threads, closed at the end."""
    senders = Senders(session)
    try:
        yield senders
    finally:
        senders.close()


def submit_rows(
    session: Session,
    keys: Mapping[str, Ed25519PrivateKey],
    file: Path,
    answers: ClientAnswers,
    patience: float,
    progress: Progress = no_progress,
) -> Submissions:
    """Send a report of every row, each under the key of its client; `file` holds the keys."""
    unknown = [name for name in answers.clients if name not in session.file.clients]
    keyless = [name for name in answers.clients if name not in keys]
    if unknown or keyless:
        why = f"is not enrolled in session {session.file.name!r}" if unknown else "has no key"
        raise InputError(f"client {(unknown or keyless)[0][:60]!r}: {why}; nothing was sent")
    refused: dict[str, Counter[str]] = {role.name: Counter() for role in session.backend.roles}
    count, missing = len(answers.clients), []
    with (
        DrawnReports(session, file) as drawn,
        many_senders(session) as senders,
        ThreadPoolExecutor(SENDERS) as pool,
    ):

        def send(report: tuple[str, Bodies]) -> dict[str, str]:
            client, bodies = report
            return post_parts(senders.connections, client, keys[client], bodies, patience)

        for start in range(0, count, DRAWN):
            clients = answers.clients[start : start + DRAWN]
            progress("sending", start, count)
            reports = zip(clients, drawn.of(clients, answers.values[start : start + DRAWN]), strict=True)
            for client, said in zip(clients, pool.map(send, reports), strict=True):
                reasons = {role: reason for role, reason in said.items() if reason}
                for role, reason in reasons.items():
                    refused[role][reason] += 1
                if reasons:
                    missing.append(client)
    stated = {role: dict(sorted(each.items())) for role, each in refused.items()}
    return Submissions(session.file.name, count, count - len(missing), stated, tuple(sorted(missing)))

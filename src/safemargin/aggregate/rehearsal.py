"""A whole session on this machine: every party a process of its own, TLS, and things that go wrong."""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from safemargin.aggregate.backend import Options
from safemargin.aggregate.backends import block_size, make_backend
from safemargin.aggregate.batch import many_senders, write_identities
from safemargin.aggregate.drive import Drive, name_of, plan_failures
from safemargin.aggregate.identity import Identity
from safemargin.aggregate.processes import Parties
from safemargin.aggregate.run import key, plan
from safemargin.aggregate.server import ask_over_http
from safemargin.aggregate.session_file import Session, read_session
from safemargin.core import InputError, IntArray, Progress, new_secret, no_progress, numpy_generator
from safemargin.io import scratch_folder
from safemargin.parties.files import write_private
from safemargin.parties.service import free_ports
from safemargin.parties.signature import public_hex
from safemargin.ui import SCHEMA, Document, Figures, Grid, Report, Result, write_text


@dataclass(frozen=True)
class RehearsalReport(Result):
    """A session on this machine: what happened to every client, and whether the totals are exact."""

    backend: str
    clients: int
    questions: int
    counted: int
    dropped: int
    malicious: int
    lost: int
    doubled: int
    refused: dict[str, int] = field(hash=False)
    spoiled: int
    """Clients that lie whose report was counted all the same."""
    restarts: int
    exact: bool
    seconds: float
    bytes_per_client: int
    bare_seconds: float | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing was lost or counted twice, and no report of a client that lies was counted."""
        return self.exact and self.lost == 0 and self.doubled == 0 and self.spoiled == 0

    def to_json(self) -> Document:
        """The document of `aggregate rehearse --json`."""
        return {"schema": SCHEMA, **asdict(self)}

    def _refusals(self) -> Grid:
        return Grid(["refused", "messages"], [[reason, f"{count:,}"] for reason, count in sorted(self.refused.items())])

    def to_report(self) -> Report:
        figures = {
            "clients": self.clients,
            "counted": self.counted,
            "dropped out": self.dropped,
            "malicious": self.malicious,
            "malicious and counted": self.spoiled,
            "lost though acknowledged": self.lost,
            "counted twice": self.doubled,
            "messages refused": sum(self.refused.values()),
            "parties killed and restarted": self.restarts,
            "totals exact": "yes" if self.exact else "no",
            "seconds": f"{self.seconds:.1f}",
            "bytes per client": self.bytes_per_client,
        }
        return Report(
            "Rehearsal",
            f"Backend {self.backend}, every party a process of its own.",
            Figures(figures),
            self._refusals(),
        )


def run_session(
    clients: int = 1_000,
    bits: int = 10,
    *,
    backend: str = "prio3",
    dropouts: float = 0.05,
    malicious: float = 0.0,
    seed: int = 0,
    compare_bare: bool = False,
    progress: Progress = no_progress,
) -> RehearsalReport:
    """Run a session with made-up clients over TLS: dropouts, repeated, changed and torn messages, clients that lie, and
    every party killed and started again. All of them happen in every run; how many is stated.
    """
    for name, share in (("dropouts", dropouts), ("malicious", malicious)):
        if not 0 <= share < 0.5:
            raise InputError(f"{name} = {share:g}: must be at least 0 and below 0.5")
    generator = numpy_generator(seed)
    values = generator.integers(0, 2, size=(clients, bits))
    made = make_backend(backend, bits, clients, 1, Options(tuple(range(1, bits + 1)), bits))
    if malicious and not made.proves:
        raise InputError(f"malicious = {malicious:g}: {backend} cannot distinguish a client that lies; prio3 can")
    if backend == "prio3-one":
        values = np.eye(bits, dtype=np.int64)[generator.integers(0, bits, size=clients)]
    failures = plan_failures(clients, dropouts, malicious, generator)
    with scratch_folder() as folder:
        secrets = {name_of(client): new_secret() for client in range(clients)}
        keys = [Identity(bytes.fromhex(secret)).signing for secret in secrets.values()]
        file = _new_session(backend, keys, bits, folder)
        with _started(read_session(file), folder) as parties, many_senders(parties.session) as senders:
            session = parties.session
            started = time.monotonic()
            drive = Drive(session, keys, values, failures, senders)
            acknowledged = _send_all(parties, drive, secrets, progress)
            progress("verifying and agreeing")
            stated = parties.run("collect", str(parties.file), "--key", str(folder / "server.key"), "--json")
            seconds = time.monotonic() - started
            bare = _timed(drive.post_bare) if compare_bare else None
    summed = json.loads(stated)
    counted = [int(name.removeprefix("client ")) for name in summed["clients"]]
    expected = values[counted].sum(axis=0)
    if session.file.weights and backend == "prio3-statistic":
        expected = expected @ np.array(session.file.weights)[:, None]
    return RehearsalReport(
        backend=backend,
        clients=clients,
        questions=bits,
        counted=len(counted),
        dropped=len(failures.silent) + len(failures.partial),
        malicious=len(failures.lying),
        lost=len(set(acknowledged) - set(counted)),
        doubled=summed["added"] - len(counted),
        refused=_added_up(list(summed["refused"].values())),
        spoiled=len(set(counted) & set(failures.lying)),
        restarts=len(session.backend.roles),
        exact=list(summed["totals"].values()) == expected.tolist(),
        seconds=seconds,
        bytes_per_client=session.backend.bytes_per_client,
        bare_seconds=bare,
    )


def simulate(
    clients: int = 1_000_000,
    bits: int = 10,
    *,
    backend: str = "prio3",
    seed: int = 0,
    progress: Progress = no_progress,
) -> RehearsalReport:
    """All clients and parties in one process, for numbers that sockets cannot carry here: same messages, no network."""
    started = time.monotonic()
    generator = numpy_generator(seed)
    chosen = make_backend(backend, bits, clients, 1, Options(tuple(range(1, bits + 1)), bits))
    block = block_size(chosen)
    expected = np.zeros(bits, dtype=np.int64)

    def blocks() -> Iterator[IntArray]:
        for start in range(0, clients, block):
            values = generator.integers(0, 2, size=(min(block, clients - start), bits))
            np.add(expected, values.sum(axis=0), out=expected)
            yield values

    if backend in ("prio3-one", "prio3-statistic"):
        raise InputError(f"backend = {backend!r}: is rehearsed with processes only")
    totals = chosen.add_up(blocks(), clients, progress)
    return RehearsalReport(
        backend=backend,
        clients=clients,
        questions=bits,
        counted=clients,
        dropped=0,
        malicious=0,
        lost=0,
        doubled=0,
        refused={},
        spoiled=0,
        restarts=0,
        exact=bool(np.array_equal(totals, expected)),
        seconds=time.monotonic() - started,
        bytes_per_client=chosen.bytes_per_client,
    )


def _added_up(counts: Sequence[dict[str, int]]) -> dict[str, int]:
    return {reason: sum(each.get(reason, 0) for each in counts) for reason in sorted(set[str]().union(*counts))}


def _timed(action: Callable[[], None]) -> float:
    started = time.monotonic()
    action()
    return time.monotonic() - started


def _new_session(backend: str, keys: Sequence[Ed25519PrivateKey], bits: int, folder: Path) -> Path:
    """The file of a session on loopback, planned as organisations plan one; each party has a folder of its own."""
    weights = list(range(1, bits + 1))
    roles = make_backend(backend, bits, len(keys), 1, Options(tuple(weights), bits)).parties
    lines = ["role,address,key,certificate"]
    for role, port in zip(roles, free_ports(len(roles)), strict=True):
        home = folder / role.replace(" ", "_")
        home.mkdir(mode=0o700)
        public = key(home / "party.key", host="127.0.0.1").public
        lines.append(f"{role},https://127.0.0.1:{port},{public},{home.name}/party.crt")
    write_text(folder / "parties.csv", "\n".join(lines) + "\n")
    enrolled = [f"{name_of(client)},{public_hex(each)}" for client, each in enumerate(keys)]
    write_text(folder / "clients.csv", "\n".join(["client,key", *enrolled]) + "\n")
    planned = plan(
        name=f"rehearsal {os.getpid()}",
        questions=[f"q{number + 1}" for number in range(bits)],
        parties=folder / "parties.csv",
        clients=folder / "clients.csv",
        server=key(folder / "server.key").public,
        backend=backend,
        weights=weights,
        most=bits,
        out=folder / "session.json",
    )
    return Path(planned.file)


def _send_all(parties: Parties, drive: Drive, secrets: Mapping[str, str], progress: Progress) -> list[int]:
    """Have every client send, honest ones by `submit`, while each party is killed once; who was acknowledged."""
    folder, session = parties.folder, parties.session
    honest = [client for client in range(len(drive.values)) if client not in drive.plan.odd]
    header = ["client", *session.file.questions]

    def options(name: str, clients: Sequence[int]) -> list[str]:
        rows = [",".join([name_of(client), *map(str, drive.values[client].tolist())]) for client in clients]
        write_text(folder / f"{name}.csv", "\n".join([",".join(header), *rows]) + "\n")
        keys = folder / f"{name}.keys"
        if name == "one":
            write_private(keys, secrets[name_of(clients[0])].encode(), new=True)
            who = ["--client", name_of(clients[0]), "--key", str(keys)]
        else:
            write_identities(keys, {name_of(client): secrets[name_of(client)] for client in clients})
            who = ["--keys", str(keys)]
        return [*who, "--data", str(folder / f"{name}.csv"), "--json"]

    jobs = [options(name, part) for name, part in (("one", honest[:1]), ("others", honest[1:])) if part]
    with ThreadPoolExecutor(1 + len(jobs)) as pool:
        odd = pool.submit(drive.run)
        ran = [pool.submit(parties.run, "submit", str(parties.file), *job, codes=(0, 1)) for job in jobs]
        _kill_all(parties, [odd, *ran], len(drive.values), progress)
        stated = [json.loads(each.result()) for each in ran]
    missing = {name for each in stated for name in each.get("missing", ())}
    if stated and set(stated[0]["answers"].values()) != {"held"}:
        missing.add(name_of(honest[0]))
    return odd.result() + [client for client in honest if name_of(client) not in missing]


def _kill_all(parties: Parties, running: Sequence[Future[Any]], clients: int, progress: Progress) -> None:
    """Kill every party that clients send to and start it again, one after another, while messages come in."""
    victims = [role.name for role in parties.session.backend.roles]
    with ask_over_http(parties.session, Ed25519PrivateKey.generate()) as ask:
        killed = 0
        while killed < len(victims) or not all(each.done() for each in running):
            held = 0
            with contextlib.suppress(httpx2.HTTPError, InputError):
                held = int(ask(victims[0], "status", b"")["held"])
            progress("sending", held, clients)
            due = held * (len(victims) + 1) > clients * (killed + 1) or all(each.done() for each in running)
            if killed < len(victims) and due:
                parties.restart(victims[killed])
                killed += 1
            time.sleep(0.02 if clients < 1_000 else 0.25)


@contextlib.contextmanager
def _started(session: Session, folder: Path) -> Iterator[Parties]:
    parties = Parties(session, folder, folder / "session.json")
    try:
        for name in session.backend.parties:
            parties.launch(name)
        for name in session.backend.parties:
            parties.wait(name)
        yield parties
    finally:
        parties.stop()

"""A whole session on this machine: every party a process of its own, real sockets, and things that go wrong."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import httpx2
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from safemargin.aggregate.backends import PartyRole, add_up, block_size, make_backend
from safemargin.aggregate.server import ask_over_http, collect
from safemargin.aggregate.session import encode_numbers
from safemargin.aggregate.session_file import Session, SessionFile, make_session
from safemargin.aggregate.signature import VERSION, public_hex, sign
from safemargin.core import Generator, InputError, IntArray, OutputError, Progress, no_progress, numpy_generator
from safemargin.ui import SCHEMA, Document, Figures, Report, Result

PATIENCE = 60.0
"""Seconds until a party that does not answer counts as failed."""

SENDERS = 16
"""Clients that send at the same time: more do not make two cores faster. A batch is committed for all that wait."""


@dataclass(frozen=True)
class RehearsalReport(Result):
    """A session on this machine: what happened to every client, and whether the totals are exact."""

    backend: str
    clients: int
    questions: int
    counted: int
    dropped: int
    lost: int
    doubled: int
    refused: dict[str, int] = field(hash=False)
    restarts: int
    exact: bool
    seconds: float
    bytes_per_client: int
    bare_seconds: float | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing was lost or counted twice."""
        return self.exact and self.lost == 0 and self.doubled == 0

    def to_json(self) -> Document:
        """The document of `aggregate rehearse --json`."""
        return {"schema": SCHEMA, **asdict(self)}

    def to_report(self) -> Report:
        figures = {
            "clients": self.clients,
            "counted": self.counted,
            "dropped out": self.dropped,
            "lost though acknowledged": self.lost,
            "counted twice": self.doubled,
            "messages refused": sum(self.refused.values()),
            "parties killed and restarted": self.restarts,
            "totals exact": "yes" if self.exact else "no",
            "seconds": f"{self.seconds:.1f}",
            "bytes per client": self.bytes_per_client,
        }
        return Report("Rehearsal", f"Backend {self.backend}, every party a process of its own.", Figures(figures))


@dataclass(frozen=True)
class FailurePlan:
    """Who fails in which way; everybody else sends one message to every role."""

    silent: frozenset[int]
    partial: frozenset[int]
    repeated: frozenset[int]
    changed: frozenset[int]
    torn: frozenset[int]


def plan_failures(clients: int, dropouts: float, generator: Generator) -> FailurePlan:
    """Half of the dropouts send nothing, half reach one role only; a few clients send twice, or something else."""
    order = generator.permutation(clients)
    dropped = round(clients * dropouts)
    odd = max(1, clients // 50)
    parts = np.split(order, np.cumsum([dropped // 2, dropped - dropped // 2, odd, odd, odd])[:5])
    silent, partial, repeated, changed, torn = (frozenset(part.tolist()) for part in parts[:5])
    return FailurePlan(silent, partial, repeated, changed, torn)


class Parties:
    """The processes of all roles; each keeps its messages in a file, so that it can be killed and started again."""

    def __init__(self, session: Session, folder: Path) -> None:
        self.session, self.folder = session, folder
        self.file = folder / "session.json"
        self.file.write_text(session.file.model_dump_json())
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, role: str) -> None:
        """Start the process of a role and wait until it answers."""
        port = self.session.file.parties[role].rsplit(":", 1)[1]
        database = self.folder / f"{role.replace(' ', '_')}.sqlite"
        command = [sys.executable, "-m", "safemargin.aggregate.party", str(self.file), role, str(database), port]
        self.processes[role] = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, httpx2.HTTPError):
                socket.create_connection(("127.0.0.1", int(port)), 2.0).close()  # a request that fails takes far longer
                httpx2.get(f"{self.session.file.parties[role]}/v1/status", timeout=2.0)
                return
            if self.processes[role].poll() is not None:
                break
            time.sleep(0.05)
        raise OutputError(f"{role}: the process did not start")

    def kill(self, role: str) -> None:
        """Stop a role at once, as a power failure would."""
        process = self.processes[role]
        process.send_signal(signal.SIGKILL)
        process.wait()
        if process.stderr is not None:
            process.stderr.close()

    def stop(self) -> None:
        """Stop all of them."""
        for role in self.processes:
            with contextlib.suppress(ProcessLookupError):
                self.kill(role)


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def run_session(
    clients: int = 1_000,
    bits: int = 10,
    *,
    backend: str = "shares",
    dropouts: float = 0.05,
    seed: int = 0,
    compare_bare: bool = False,
    progress: Progress = no_progress,
) -> RehearsalReport:
    """Run a session with made-up clients over real sockets: dropouts, repeated, changed and torn messages, and a party
    that is killed and started again. All of them happen in every run; only their number depends on `dropouts`.
    """
    if not 0 <= dropouts < 1:
        raise InputError(f"dropouts = {dropouts:g}: must be at least 0 and below 1")
    generator = numpy_generator(seed)
    values = generator.integers(0, 2, size=(clients, bits))
    keys = [Ed25519PrivateKey.generate() for _ in range(clients)]
    server = Ed25519PrivateKey.generate()
    session = _new_session(backend, keys, server, bits)
    plan = plan_failures(clients, dropouts, generator)
    with tempfile.TemporaryDirectory(prefix="safemargin-") as folder, _started(session, Path(folder)) as parties:
        progress("sending", 0, clients)
        started = time.monotonic()
        drive = _Drive(session, parties, keys, values, plan, progress)
        acknowledged = drive.run()
        progress("agreeing")
        with httpx2.Client(timeout=PATIENCE) as http:
            summed = collect(session, server, ask_over_http(session, server, http))
            refused = _refused(session, http)
        seconds = time.monotonic() - started
        bare = drive.post_bare() if compare_bare else None
        drive.close()
    expected = {_name(client) for client in acknowledged}
    chosen = [int(name.removeprefix("client ")) for name in summed.clients]
    return RehearsalReport(
        backend=backend,
        clients=clients,
        questions=bits,
        counted=len(summed.clients),
        dropped=clients - len(summed.clients),
        lost=len(expected - set(summed.clients)),
        doubled=summed.added - len(summed.clients),
        refused=refused,
        restarts=drive.restarts,
        exact=bool(np.array_equal(summed.totals, values[chosen].sum(axis=0))),
        seconds=seconds,
        bytes_per_client=session.backend.bytes_per_client,
        bare_seconds=bare,
    )


def simulate(
    clients: int = 1_000_000,
    bits: int = 10,
    *,
    backend: str = "shares",
    seed: int = 0,
    progress: Progress = no_progress,
) -> RehearsalReport:
    """All clients and parties in one process, for numbers that sockets cannot carry here: same messages, no network."""
    started = time.monotonic()
    generator = numpy_generator(seed)
    chosen = make_backend(backend, bits, clients)
    block = block_size(chosen)
    expected = np.zeros(bits, dtype=np.int64)

    def blocks() -> Iterator[IntArray]:
        for start in range(0, clients, block):
            values = generator.integers(0, 2, size=(min(block, clients - start), bits))
            np.add(expected, values.sum(axis=0), out=expected)
            yield values

    totals = add_up(chosen, blocks(), clients, progress)
    return RehearsalReport(
        backend=backend,
        clients=clients,
        questions=bits,
        counted=clients,
        dropped=0,
        lost=0,
        doubled=0,
        refused={},
        restarts=0,
        exact=bool(np.array_equal(totals, expected)),
        seconds=time.monotonic() - started,
        bytes_per_client=chosen.bytes_per_client,
    )


def _name(client: int) -> str:
    return f"client {client}"


def _new_session(backend: str, keys: Sequence[Ed25519PrivateKey], server: Ed25519PrivateKey, bits: int) -> Session:
    stated = SessionFile(
        version=VERSION,
        name=f"rehearsal {os.getpid()}",
        backend=backend,
        questions=[f"q{number + 1}" for number in range(bits)],
        largest=1,
        least=3,
        parties={},
        clients={_name(client): public_hex(key) for client, key in enumerate(keys)},
        server=public_hex(server),
    )
    roles = make_backend(backend, bits, len(keys)).parties
    addresses = {role: f"http://127.0.0.1:{port}" for role, port in zip(roles, free_ports(len(roles)), strict=True)}
    return make_session(stated.model_copy(update={"parties": addresses}))


@contextlib.contextmanager
def _started(session: Session, folder: Path) -> Iterator[Parties]:
    parties = Parties(session, folder)
    try:
        for name in session.backend.parties:
            parties.start(name)
        yield parties
    finally:
        parties.stop()


def _refused(session: Session, http: httpx2.Client) -> dict[str, int]:
    counts: dict[str, int] = {}
    for address in session.file.parties.values():
        for reason, number in http.get(f"{address}/v1/status").json()["refused"].items():
            counts[reason] = counts.get(reason, 0) + number
    return counts


class _Drive:
    """All clients of a rehearsal, sending side by side in a few threads that keep their connections open."""

    def __init__(
        self,
        session: Session,
        parties: Parties,
        keys: Sequence[Ed25519PrivateKey],
        values: IntArray,
        plan: FailurePlan,
        progress: Progress,
    ) -> None:
        self.session, self.parties, self.keys, self.values, self.plan = session, parties, keys, values, plan
        self.progress = progress
        self.done, self.restarts = 0, 0
        self.lock = threading.Lock()
        self.connections = threading.local()
        self.opened: list[HTTPConnection] = []

    def run(self) -> list[int]:
        """Clients that every role acknowledged."""
        with ThreadPoolExecutor(SENDERS) as pool:
            answers = list(pool.map(self._client, range(len(self.values))))
        return [client for client, held in enumerate(answers) if held]

    def _client(self, client: int) -> bool:
        held = False
        if client not in self.plan.silent:
            messages = self.session.backend.protect(self.values[client : client + 1])
            bodies = {role: encode_numbers(row[0], self.session.backend, role) for role, row in messages.items()}
            held = self._send(client, bodies)
        with self.lock:
            self.done += 1
            if self.done % 200 == 0:
                self.progress("sending", self.done, len(self.values))
            victim = self._next_victim()
        if victim is not None:
            self.parties.kill(victim)
            self.parties.start(victim)
        return held

    def _next_victim(self) -> str | None:
        """The party to kill now: every one that clients send to, one after another, while messages come in."""
        roles = self.session.backend.roles
        due = self.done * (len(roles) + 1) > len(self.values) * (self.restarts + 1)
        if self.restarts == len(roles) or not due:
            return None
        self.restarts += 1
        return roles[self.restarts - 1].name

    def _send(self, client: int, bodies: dict[str, bytes]) -> bool:
        roles = list(bodies)
        if client in self.plan.partial:
            roles = roles[:1]
        for role in roles:
            if client in self.plan.torn:  # half a message first, then a signature of somebody else
                self._post(client, role, bodies[role][: len(bodies[role]) // 2])
                self._post(client, role, bodies[role], key=self.keys[client - 1])
            if not self._post(client, role, bodies[role]):
                return False
            if client in self.plan.repeated:
                self._post(client, role, bodies[role])
            if client in self.plan.changed:
                other = self.session.backend.protect(1 - self.values[client : client + 1])[role][0]
                self._post(client, role, encode_numbers(other, self.session.backend, role))
        return client not in self.plan.partial

    def _post(self, client: int, role: str, body: bytes, key: Ed25519PrivateKey | None = None) -> bool:
        """Send until there is an answer: a party that is away loses nothing, since repeats are harmless."""
        name = self.session.file.name
        signature = sign(key or self.keys[client], name, role, _name(client), "message", body)
        headers = {"x-client": _name(client), "x-signature": signature}
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                return self._exchange(self.session.file.parties[role], "/v1/message", body, headers) == 200
            except (HTTPException, OSError):
                time.sleep(0.2)
        return False

    def _exchange(self, address: str, path: str, body: bytes, headers: dict[str, str]) -> int:
        """One request on this thread's connection to a party."""
        kept: dict[str, HTTPConnection] = self.connections.__dict__
        if address not in kept:
            kept[address] = HTTPConnection(address.removeprefix("http://"), timeout=PATIENCE)
            with self.lock:
                self.opened.append(kept[address])
        try:
            kept[address].request("POST", path, body, headers)
            answer = kept[address].getresponse()
            answer.read()
            return answer.status
        except BaseException:
            kept.pop(address).close()
            raise

    def close(self) -> None:
        """Close all connections."""
        for connection in self.opened:
            connection.close()

    def post_bare(self) -> float:
        """Seconds for as many posts of the same size that nobody reads: what the sockets alone cost."""
        started = time.monotonic()
        posts = [role for _ in range(len(self.values)) for role in self.session.backend.roles]

        def post(role: PartyRole) -> None:
            self._exchange(self.session.file.parties[role.name], "/v1/nothing", bytes(role.width), {})

        with ThreadPoolExecutor(SENDERS) as pool:
            list(pool.map(post, posts))
        return time.monotonic() - started

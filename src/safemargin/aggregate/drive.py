"""Made-up clients of a rehearsal: honest ones, and ones that fail or lie in every way that a client can.

All of them happen in every run. A client that lies sends what it should not and nothing else: its report must be
refused. Failures of the network are repeated, changed and torn messages of honest clients, who count.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from safemargin.aggregate.batch import SENDERS, Senders
from safemargin.aggregate.session_file import Session
from safemargin.aggregate.submission import post_report
from safemargin.aggregate.verified import HELPER, LEADER, Prio3Sums, VerifiedReport, random_bytes
from safemargin.core import Generator, IntArray


@dataclass(frozen=True)
class FailurePlan:
    """Who fails in which way; everybody else sends one message to every role."""

    silent: frozenset[int]
    partial: frozenset[int]
    repeated: frozenset[int]
    changed: frozenset[int]
    torn: frozenset[int]
    lying: dict[int, str]
    """Clients that lie, and how."""

    @property
    def odd(self) -> frozenset[int]:
        """All of them; everybody else is sent by the command."""
        return self.silent.union(self.partial, self.repeated, self.changed, self.torn, self.lying)


def plan_failures(clients: int, dropouts: float, malicious: float, generator: Generator) -> FailurePlan:
    """Half of the dropouts send nothing, half reach one role only; a few clients send twice, or something else."""
    order = generator.permutation(clients)
    dropped = round(clients * dropouts)
    odd = max(1, clients // 50)
    cuts = np.cumsum([dropped // 2, dropped - dropped // 2, odd, odd, odd, round(clients * malicious)])
    parts = [part.tolist() for part in np.split(order, cuts)[:6]]
    silent, partial, repeated, changed, torn = map(frozenset, parts[:5])
    kinds = list(LIES)
    lying = {client: kinds[place % len(kinds)] for place, client in enumerate(parts[5])}
    return FailurePlan(silent, partial, repeated, changed, torn, lying)


Reports = dict[str, VerifiedReport]


def _elements(change: Callable[[list[int], int], None]) -> Callable[[Prio3Sums, list[int]], Reports]:
    """A lie about the answers themselves, with an honest proof of it."""

    def lie(backend: Prio3Sums, row: list[int]) -> Reports:
        elements = backend.scheme.circuit.encode(backend.measurement(row))
        change(elements, backend.scheme.field.modulus)
        return backend.shard(elements)

    return lie


def _shares(role: str, **places: int) -> Callable[[Prio3Sums, list[int]], Reports]:
    """A byte of one aggregator's report changed, at a place in the share or the public share."""

    def lie(backend: Prio3Sums, row: list[int]) -> Reports:
        made = backend.report(row)
        for part, place in places.items():
            body = getattr(made[role], part)
            at = place % len(body)
            changed = body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]
            made[role] = replace(made[role], **{part: changed})
        return made

    return lie


def _other_nonce(backend: Prio3Sums, row: list[int]) -> Reports:
    made = backend.report(row)
    return {**made, HELPER: replace(made[HELPER], nonce=random_bytes(16))}


def _two_answers(backend: Prio3Sums, row: list[int]) -> Reports:
    """Valid shares of two reports, one to each aggregator."""
    return {LEADER: backend.report(row)[LEADER], HELPER: backend.report(row)[HELPER]}


def _too_much(elements: list[int], modulus: int) -> None:
    elements[0] = 1_000_000


def _less_than_nothing(elements: list[int], modulus: int) -> None:
    elements[-1] = modulus - 3


def _hidden(elements: list[int], modulus: int) -> None:
    elements[0], elements[-1] = 2, modulus - 1  # the sum over all questions looks right


LIES: dict[str, Callable[[Prio3Sums, list[int]], Reports]] = {
    "a million": _elements(_too_much),
    "minus three": _elements(_less_than_nothing),
    "two and minus one": _elements(_hidden),
    "a changed answer": _shares(LEADER, share=0),
    "a changed proof": _shares(LEADER, share=-50),
    "a changed blind": _shares(LEADER, share=-1),
    "a changed seed": _shares(HELPER, share=0),
    "changed public randomness": _shares(HELPER, public=0),
    "another report ID": _other_nonce,
    "shares of two reports": _two_answers,
}
"""Ways to lie that both aggregators hold a message of."""


class Drive:
    """Clients of a rehearsal that fail or lie: no command sends what they send. They keep their connections open."""

    def __init__(
        self, session: Session, keys: Sequence[Ed25519PrivateKey], values: IntArray, plan: FailurePlan, senders: Senders
    ) -> None:
        self.session, self.keys, self.values, self.plan, self.senders = session, keys, values, plan, senders

    def run(self) -> list[int]:
        """Honest ones among them that every role acknowledged."""
        odd = sorted(self.plan.odd)
        with ThreadPoolExecutor(SENDERS) as pool:
            answers = list(pool.map(self._client, odd))
        return [client for client, held in zip(odd, answers, strict=True) if held and client not in self.plan.lying]

    def _client(self, client: int) -> bool:
        return client not in self.plan.silent and self._send(client, self._bodies(client))

    def _bodies(self, client: int) -> dict[str, bytes]:
        backend = self.session.backend
        if client in self.plan.lying and isinstance(backend, Prio3Sums):
            made = LIES[self.plan.lying[client]](backend, self.values[client].tolist())
            return {role: report.encode() for role, report in made.items()}
        return {role: rows[0] for role, rows in backend.reports(self.values[client : client + 1]).items()}

    def _send(self, client: int, bodies: dict[str, bytes]) -> bool:
        roles = list(bodies)
        if client in self.plan.partial:
            roles = roles[:1]
        for role in roles:
            if client in self.plan.torn:  # half a message first, then a signature of somebody else
                self._post(client, role, bodies[role][: len(bodies[role]) // 2])
                self._post(client, role, bodies[role], self.keys[client - 1])
            if not self._post(client, role, bodies[role]):
                return False
            if client in self.plan.repeated:
                self._post(client, role, bodies[role])
            if client in self.plan.changed:
                self._post(client, role, self._bodies(client)[role])
        return client not in self.plan.partial

    def _post(self, client: int, role: str, body: bytes, key: Ed25519PrivateKey | None = None) -> bool:
        status, _ = post_report(self.senders.connections, name_of(client), key or self.keys[client], role, body)
        return status == 200

    def post_bare(self) -> None:
        """As many posts of the same size that nobody reads: what the sockets and TLS alone cost."""
        posts = [role for _ in range(len(self.values)) for role in self.session.backend.roles]
        with ThreadPoolExecutor(SENDERS) as pool:
            list(
                pool.map(
                    lambda role: self.senders.connections.post(role.name, "/v1/nothing", bytes(role.width), {}), posts
                )
            )


def name_of(client: int) -> str:
    """The name of a made-up client."""
    return f"client {client}"

"""The server of a session: closes it, has all parties agree on one set of clients, and puts the results together."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from safemargin.aggregate.party import SERVER
from safemargin.aggregate.session_file import Session
from safemargin.aggregate.signature import sign
from safemargin.core import InputError, IntArray

Ask = Callable[[str, str, bytes], dict[str, Any]]
"""Asks a role for a step: role, purpose and body."""


@dataclass(frozen=True)
class Sum:
    """Totals by question over the clients that every party holds."""

    totals: IntArray
    clients: tuple[str, ...]
    absent: tuple[str, ...]
    """Parties that did not answer and were not needed."""
    added: int
    """Messages that the party with the most of them added up: as many as clients, unless one was counted twice."""


def collect(session: Session, key: Ed25519PrivateKey, ask: Ask) -> Sum:
    """Two phases, then the results. Nothing is opened before every party that answers has stored the same set."""
    backend = session.backend

    def sign_step(role: str, purpose: str, body: bytes) -> str:
        return sign(key, session.file.name, role, SERVER, purpose, body)

    held: dict[str, set[str]] = {}
    absent: list[str] = []
    for role in backend.roles:
        try:
            held[role.name] = set(ask(role.name, "close", b"")["clients"])
        except (httpx2.HTTPError, ConnectionError):
            absent.append(role.name)
    if len(held) < backend.needed:
        raise InputError(f"{', '.join(absent)}: did not answer; {backend.needed} parties are needed")
    clients = sorted(set.intersection(*held.values()))
    body = json.dumps({"clients": clients}).encode()
    digests = {ask(name, "agree", body)["digest"] for name in held}
    if len(digests) != 1:
        raise InputError("the parties agreed to different sets of clients")
    sums: dict[str, IntArray] = {}
    added: list[int] = []
    for name in held:
        relay = backend.role(name).relay
        if relay:  # the party behind the shuffler adds up: the server never sees single messages
            ticket = json.dumps({"signature": sign_step(name, "result", b"")}).encode()
            relayed = ask(relay, "relay", ticket)
            sums[name] = np.array(relayed["rows"][0], dtype=np.int64)
            added.append(int(relayed["added"]))
            continue
        answer = ask(name, "result", b"")
        added.append(int(answer["added"]))
        rows = np.array(answer["rows"], dtype=np.int64)
        sums[name] = rows[0] if backend.role(name).forwards == "sum" else backend.add(name, rows)
    return Sum(backend.combine(sums, len(clients)), tuple(clients), tuple(absent), max(added))


def ask_over_http(session: Session, key: Ed25519PrivateKey, client: httpx2.Client) -> Ask:
    """Steps as signed requests."""

    def ask(role: str, purpose: str, body: bytes) -> dict[str, Any]:
        signature = sign(key, session.file.name, role, SERVER, purpose, body)
        answer = client.post(
            f"{session.file.parties[role]}/v1/{purpose}", content=body, headers={"x-signature": signature}
        )
        document: Mapping[str, Any] = answer.json()
        if answer.status_code != 200:
            raise InputError(f"{role}: {purpose}: {document.get('refused', answer.status_code)}")
        return dict(document)

    return ask

"""The server of a session: closes it, has all parties agree on one set of clients, and puts the results together."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from safemargin.aggregate.backend import Backend
from safemargin.aggregate.party import SERVER
from safemargin.aggregate.session_file import Session
from safemargin.aggregate.sets import set_digest
from safemargin.core import InputError, IntArray
from safemargin.parties.certificates import trust
from safemargin.parties.signature import is_signed, sign

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
    statements: dict[str, dict[str, Any]] = field(default_factory=dict, hash=False)
    """By party, its result with its signature: the proof of what it stated."""


def collect_sum(session: Session, key: Ed25519PrivateKey, ask: Ask) -> Sum:
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
    if backend.proves:
        held = _verified(backend, ask)
    clients = sorted(set.intersection(*held.values()))
    body = json.dumps({"clients": clients}).encode()
    digests = {ask(name, "agree", body)["digest"] for name in held}
    if digests != {set_digest(clients)}:
        raise InputError("the parties agreed to different sets of clients")
    passed: dict[str, list[list[int]]] = {}
    added: list[int] = []
    statements: dict[str, dict[str, Any]] = {}
    for name in held:
        relay = backend.role(name).relay
        if relay:  # the party behind the shuffler adds up: the server never sees single messages
            ticket = json.dumps({"signature": sign_step(name, "result", b"")}).encode()
            answer = ask(relay, "relay", ticket)
        else:
            answer = statements[name] = ask(name, "result", b"")
            check_statement(session, name, answer, set_digest(clients))
        passed[name] = answer["rows"]
        added.append(int(answer["added"]))
    return Sum(backend.open(passed, len(clients)), tuple(clients), tuple(absent), max(added), statements)


def _verified(backend: Backend, ask: Ask) -> dict[str, set[str]]:
    """Have the aggregators verify all reports that both hold; they must find the same ones valid."""
    first = backend.roles[0].name
    ask(first, "verify", b"")
    valid = {role.name: set(ask(role.name, "valid", b"")["clients"]) for role in backend.roles}
    if len(set(map(frozenset, valid.values()))) != 1:
        raise InputError("the aggregators disagree on which reports are valid: one of them is wrong")
    return valid


def check_statement(session: Session, role: str, answer: Mapping[str, Any], digest: str) -> None:
    """Refuse a result that its party did not sign, or that is about another set; keys are stated in the session."""
    if role not in session.parties:
        return
    stated = {name: answer.get(name) for name in ("rows", "added", "agreed")}
    body = json.dumps(stated, sort_keys=True).encode()
    signature = str(answer.get("signature", ""))
    if not is_signed(session.parties[role], signature, session.file.name, SERVER, role, "result", body):
        raise InputError(f"{role}: the result is not signed with the key of the session")
    if answer["agreed"] != digest:
        raise InputError(f"{role}: the result is about another set of clients")


@contextmanager
def ask_over_http(session: Session, key: Ed25519PrivateKey) -> Iterator[Ask]:
    """Steps as signed requests, over TLS to the certificates that the session states."""
    with ExitStack() as stack:
        clients = {
            role: stack.enter_context(
                httpx2.Client(timeout=600.0, verify=trust(session.file.certificates.get(role, "")))
            )
            for role in session.file.parties
        }

        def ask(role: str, purpose: str, body: bytes) -> dict[str, Any]:
            signature = sign(key, session.file.name, role, SERVER, purpose, body)
            address = f"{session.file.parties[role]}/v1/{purpose}"
            if purpose == "status":
                answer = clients[role].get(address)
            else:
                answer = clients[role].post(address, content=body, headers={"x-signature": signature})
            try:
                document: dict[str, Any] = dict(answer.json())
            except (ValueError, TypeError):
                raise InputError(f"{role}: {purpose}: its answer cannot be read ({answer.status_code})") from None
            if answer.status_code != 200:
                raise InputError(f"{role}: {purpose}: {document.get('refused', answer.status_code)}")
            return document

        yield ask

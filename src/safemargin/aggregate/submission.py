"""A client of a session: it turns one row of answers into signed reports and posts one to every party over TLS.

A report that a party acknowledged is on its disk. A party that is away is asked again until `patience` ends: the same
report again changes nothing, so nothing is lost or counted twice. A run that is repeated sends the reports that the one
before it had drawn (`drawn`).
"""

import contextlib
import json
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import uvicorn
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from safemargin.aggregate.answers import parse_answer
from safemargin.aggregate.drawn import DrawnReports
from safemargin.aggregate.session import SECOND
from safemargin.aggregate.session_file import Session
from safemargin.core import InputError, new_secret
from safemargin.parties.certificates import trust
from safemargin.parties.service import read_body
from safemargin.parties.signature import sign
from safemargin.ui import SCHEMA, Document, Figures, Report, Result, note

PATIENCE = 60.0
"""Seconds until a party that does not answer counts as failed."""


@dataclass(frozen=True)
class Submission(Result):
    """What every party said about a client's report."""

    session: str
    client: str
    answers: dict[str, str] = field(hash=False)
    """By party: `held`, `refused: ` and why, or `not sent` where a party before it holds another report."""

    @property
    def holds(self) -> bool:
        """Whether every party holds the report."""
        return set(self.answers.values()) == {"held"}

    def to_json(self) -> Document:
        """The document of `aggregate submit --json`."""
        return {"schema": SCHEMA, **asdict(self)}

    def to_report(self) -> Report:
        return Report("Report", f"Client {self.client}, session {self.session}.", Figures(dict(self.answers)))


class Connections:
    """Connections to all parties that stay open; for one thread."""

    def __init__(self, session: Session, contexts: Mapping[str, ssl.SSLContext] | None = None) -> None:
        self.session, self.contexts = session, contexts or contexts_of(session)
        self.kept: dict[str, HTTPConnection] = {}

    def post(self, role: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, str]:
        """One request: the status, and why it was refused."""
        connection = self.kept.get(role)
        if connection is None:
            address = urlsplit(self.session.file.parties[role])
            if address.scheme == "https":
                connection = HTTPSConnection(address.netloc, timeout=PATIENCE, context=self.contexts[role])
            else:
                connection = HTTPConnection(address.netloc, timeout=PATIENCE)
            self.kept[role] = connection
        try:
            connection.request("POST", path, body, dict(headers))
            answer = connection.getresponse()
            content = answer.read()
        except BaseException:
            self.kept.pop(role).close()
            raise
        with contextlib.suppress(ValueError, AttributeError):
            return answer.status, str(json.loads(content).get("refused", ""))
        return answer.status, ""

    def close(self) -> None:
        """Close all of them."""
        for connection in self.kept.values():
            connection.close()
        self.kept.clear()


def contexts_of(session: Session) -> dict[str, ssl.SSLContext]:
    """By party, what its certificate must be."""
    return {role: trust(session.file.certificates.get(role, "")) for role in session.file.parties}


def post_report(
    connections: Connections, client: str, key: Ed25519PrivateKey, role: str, body: bytes, patience: float = PATIENCE
) -> tuple[int, str]:
    """Sign and send until there is an answer."""
    signature = sign(key, connections.session.file.name, role, client, "message", body)
    headers = {"x-client": client, "x-signature": signature}
    deadline = time.monotonic() + patience
    while True:
        try:
            status, reason = connections.post(role, "/v1/message", body, headers)
            if status != 503 or time.monotonic() > deadline:
                return status, reason
            time.sleep(0.2)  # the party is busy
        except ssl.SSLCertVerificationError as error:
            raise InputError(
                f"{role}: its certificate is not the one of the session ({error.verify_message})"
            ) from None
        except (HTTPException, OSError) as error:
            if time.monotonic() > deadline:
                raise InputError(f"{role}: does not answer ({error})") from None
            time.sleep(0.2)


def submit_row(
    session: Session,
    client: str,
    key: Ed25519PrivateKey,
    file: Path,
    row: Sequence[int],
    patience: float = PATIENCE,
) -> Submission:
    """Send one client's answers to all parties; `file` holds the key."""
    if client not in session.file.clients:
        raise InputError(f"client = {client!r}: is not enrolled in session {session.file.name!r}")
    connections = Connections(session)
    try:
        with DrawnReports(session, file) as drawn:
            (bodies,) = drawn.of([client], np.array([row], dtype=np.int64))
            refused = post_parts(connections, client, key, bodies, patience)
    finally:
        connections.close()
    stated = {role: f"refused: {reason}" if reason else "held" for role, reason in refused.items()}
    return Submission(session.file.name, client, {role: stated.get(role, "not sent") for role in bodies})


def post_parts(
    connections: Connections, client: str, key: Ed25519PrivateKey, bodies: Mapping[str, bytes], patience: float
) -> dict[str, str]:
    """Send the parts of a report; by party, why it refused its part, or nothing where it holds it.

    Parties that come after one that holds another report of the client get nothing: the parts would not fit.
    """
    answers: dict[str, str] = {}
    for role, body in bodies.items():
        status, reason = post_report(connections, client, key, role, body, patience)
        answers[role] = "" if status == 200 else reason or f"status {status}"
        if reason == SECOND:
            break
    return answers


PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>body{{font:1rem/1.5 system-ui;max-width:34rem;margin:2rem auto;padding:0 1rem}}label{{display:block}}</style>
<h1>{title}</h1>{body}</html>"""


LONGEST = 1 << 20
"""Bytes of the form."""
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    # Not `no-referrer`: browsers would then send the form with the origin `null`.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}


def page_app(session: Session, client: str, key: Ed25519PrivateKey, file: Path, start: str) -> Starlette:
    """A form with all questions on this machine. What is typed leaves it in shares only.

    It is below a path that only the client knows: everybody else on the machine can connect too.
    """
    title = escape(session.file.name)

    def page(body: str, status: int = 200) -> HTMLResponse:
        return HTMLResponse(PAGE.format(title=title, body=body), status, headers=HEADERS)

    async def form(_: Request) -> HTMLResponse:
        most = session.backend.largest
        fields = "".join(
            f'<p><label for="q{place}">{escape(question)}</label>'
            f'<input id="q{place}" name="q{place}" type="number" min="0" max="{most}" value="0" required></p>'
            for place, question in enumerate(session.file.questions)
        )
        stated = "<p>No party sees your answers. The organisations get shares, and open totals only.</p>"
        return page(f'{stated}<form method="post">{fields}<button>Send</button></form>')

    async def send(request: Request) -> HTMLResponse:
        # Another page in the same browser must not send in the client's name.
        if request.headers.get("origin", f"http://{request.url.netloc}") != f"http://{request.url.netloc}":
            return page("<p role=alert>This page answers itself only.</p>", 403)
        given = dict(parse_qsl((await read_body(request, LONGEST) or b"").decode("ascii", "replace")))
        try:
            row = [
                parse_answer("form", 1, question, given.get(f"q{place}", ""))
                for place, question in enumerate(session.file.questions)
            ]
            sent = submit_row(session, client, key, file, row)
        except InputError as error:
            return page(f"<p role=alert>{escape(str(error))}</p>", 422)
        stated = "".join(f"<li>{escape(role)}: {escape(answer)}" for role, answer in sent.answers.items())
        return page(f"<p role=status>Sent.</p><ul>{stated}</ul>")

    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    return Starlette(routes=[Route(start, form), Route(start, send, methods=["POST"])], middleware=[hosts])


def run_page(session: Session, client: str, key: Ed25519PrivateKey, file: Path, port: int) -> None:
    """Serve the page on loopback until the process is stopped."""
    start = f"/{new_secret()[:32]}/"
    note(f"the page is at http://127.0.0.1:{port}{start} (whoever knows this address can answer for you)")
    app = page_app(session, client, key, file, start)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False)

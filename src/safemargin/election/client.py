"""How people and operators reach roles: the same calls over HTTP, or directly to roles in this process."""

import hashlib
import re
import time
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from safemargin.core import InputError
from safemargin.election.board import Board
from safemargin.election.keys import canonical, parse
from safemargin.election.manifest import Dimension, KnownElection
from safemargin.election.secret import Secret
from safemargin.election.voter import Wallet
from safemargin.io import write_whole

Ask = Callable[[str, str, bytes], bytes]
"""Asks a party for a step: name, step, message; the answer, or `InputError`."""
PATIENCE = 60.0
"""Seconds for which a party that is away is asked again; every step may be repeated."""


def ask_over_http(
    election: KnownElection,
    addresses: Mapping[str, str] | None = None,
    secrets: Mapping[str, Secret] | None = None,
    patience: float = PATIENCE,
) -> Ask:
    """Roles as services. Each message has a connection of its own: nothing ties two messages together.

    With the keys of a party, its operator's steps can be asked for.
    """
    places = addresses or {party.name: party.address for party in election.manifest.parties}
    keys = secrets or {}

    def ask(party: str, step: str, body: bytes = b"") -> bytes:
        headers = {"content-type": "application/octet-stream"}
        if party in keys:
            digest = hashlib.sha256(body).hexdigest()
            signature = election.sign(keys[party].signing, party, party, step, digest.encode())
            headers |= {"x-digest": digest, "x-signature": signature}
        deadline = time.monotonic() + patience
        while True:
            try:
                status, answer = _post(places[party], f"/v1/{quote(step)}", body, headers)
                break
            except (OSError, HTTPException):
                if time.monotonic() > deadline:
                    raise InputError(f"{party}: does not answer at {places[party]}") from None
                time.sleep(0.1)
        if status not in (200, 202):
            detail = parse(answer).get("detail", parse(answer).get("title", status))
            raise InputError(f"{party}: {step}: {detail}")
        return answer

    return ask


def _post(address: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
    parts = urlsplit(address)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE * 10)
    try:
        connection.request("POST", path, body, dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def enrol(wallet: Wallet, ask: Ask) -> None:
    """Bind the wallet's key to the row."""
    wallet.take_enrolment(ask(wallet.election.only("registrar").name, "enrol", wallet.enrolment()))


def fetch_tokens(wallet: Wallet, ask: Ask) -> dict[str, str]:
    """Ask every issuer for every dimension; issuers that are away or answer wrongly are named, and not needed if
    enough others sign.
    """
    faults: dict[str, str] = {}
    for dimension in wallet.election.manifest.dimensions:
        if wallet.election.manifest.escrow is not None:
            try:
                choose_candidate(wallet, dimension, ask)
            except InputError as error:
                faults[dimension.name] = str(error)
                continue
        request = wallet.request(dimension.name)
        for issuer in dimension.keys:
            try:
                wallet.take_answer(dimension.name, ask(issuer, "sign", request))
            except InputError as error:
                faults[issuer] = str(error)
    return faults


def choose_candidate(wallet: Wallet, dimension: Dimension, ask: Ask) -> None:
    """Have the issuers draw one of the candidates for a token: pledges first, then commitments, then nonces."""
    subject = canonical({"row": wallet.state["row"], "dimension": dimension.name})
    pledges: dict[str, dict[str, Any]] = {}
    silent: dict[str, str] = {}
    for issuer in dimension.keys:
        try:
            pledges[issuer] = parse(ask(issuer, "pledge", subject))
        except InputError as error:
            silent[issuer] = str(error)
    left = {issuer for given in pledges.values() for issuer in given["left"]}
    if waiting := sorted(set(silent) - left):
        raise InputError(f"{waiting[0]}: does not answer; wait until the other issuers go on without it")
    pledges = {issuer: given for issuer, given in pledges.items() if issuer not in left}
    if len({given["attempt"] for given in pledges.values()}) != 1:
        raise InputError("the issuers do not agree which of them left; ask again later")
    message = wallet.candidates(dimension.name, pledges)
    nonces = {issuer: parse(ask(issuer, "candidates", message))["nonce"] for issuer in pledges}
    wallet.take_nonces(dimension.name, nonces)


def send(wallet: Wallet, dimension: str, onion: bytes, ask: Ask) -> None:
    """Post an onion to the first mixer and keep its receipt."""
    first = wallet.election.manifest.of("mixer")[0].name
    wallet.take_taken(dimension, ask(first, f"post/{dimension}", onion).rstrip())


def fetch_board(election: KnownElection, folder: Path, ask: Ask) -> Board:
    """A copy of the board; files that are there already are fetched again only if they can have changed."""
    board = election.only("board").name
    for name in parse(ask(board, "files", b""))["files"]:
        if not re.fullmatch(r"manifest\.json|(entries|heads|records|mixes|release)/[^/\\.][^/\\]*", name):
            raise InputError(f"{board}: lists a file that no board has")
        path = folder / name
        if not path.exists() or not name.startswith(("entries/", "records/", "mixes/", "release/")):
            write_whole(path, ask(board, "file", canonical({"name": name})))
    return Board(folder)

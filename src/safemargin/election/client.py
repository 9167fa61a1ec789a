"""How people and operators reach roles: the same calls over HTTPS, or directly to roles in this process."""

import contextlib
import hashlib
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

from safemargin.core import InputError
from safemargin.election.board import Board
from safemargin.election.board_verification import is_pinned
from safemargin.election.keys import canonical, new_seed, operator_bytes, parse
from safemargin.election.manifests import Dimension, KnownElection, Party
from safemargin.election.role import ConflictError
from safemargin.election.secret import Secret
from safemargin.election.voter import Wallet
from safemargin.election.wording import PersonError
from safemargin.parties.certificates import trust

Ask = Callable[[str, str, bytes], bytes]
"""Asks a party for a step: name, step, message; the answer, or `InputError`."""
PATIENCE = 60.0
"""Seconds for which a party that is away is asked again; every step may be repeated."""
LONGEST = 1_800.0
"""Seconds that a step of a party may take: a trustee checks every ballot."""
SENTENCES = {
    ("enrol", 422): "refused_enrol",
    ("enrol", 409): "refused_enrol_again",
    ("sign", 422): "refused_sign",
    ("sign", 409): "refused_sign_again",
    ("post", 422): "refused_post",
}
"""What a refusal of a step means to a person; parties give no reason to strangers."""
FILE = r"manifest\.json|(entries|heads|register|received|ballots|rejected|release)/[^/\\.][^/\\]*"


class Connection:
    """HTTPS to all parties of an election. Messages to the box have a connection of their own each, so that nothing
    ties two of them together; all others share one.
    """

    def __init__(self, election: KnownElection, secret: Secret | None = None, patience: float = PATIENCE) -> None:
        self.election, self.secret, self.patience = election, secret, patience
        self.trusted = {party.name: trust(party.certificate) for party in election.manifest.parties if party.address}
        self._kept: dict[str, httpx2.Client] = {}
        self._lock = threading.Lock()
        self._boots: dict[str, str] = {}

    def _client(self, party: str) -> httpx2.Client:
        return httpx2.Client(timeout=LONGEST, verify=self.trusted[party])

    def _post(self, party: Party, path: str, body: bytes, headers: Mapping[str, str]) -> httpx2.Response:
        if party.role == "box" and self.secret is None:
            with self._client(party.name) as client:
                return client.post(f"{party.address}{path}", content=body, headers=dict(headers))
        with self._lock:
            if party.name not in self._kept:
                self._kept[party.name] = self._client(party.name)
        return self._kept[party.name].post(f"{party.address}{path}", content=body, headers=dict(headers))

    def _headers(self, party: Party, step: str, body: bytes) -> dict[str, str]:
        headers = {"content-type": "application/octet-stream"}
        if self.secret is None:
            return headers
        if party.name not in self._boots:
            with self._client(party.name) as client:
                self._boots[party.name] = str(client.get(f"{party.address}/healthz").json()["boot"])
        boot = self._boots[party.name]
        digest, nonce = hashlib.sha256(body).hexdigest(), new_seed().hex()
        stated = operator_bytes(digest, boot, nonce)
        signature = self.election.sign(self.secret.signing, self.secret.name, party.name, step, stated)
        own = {"x-party": self.secret.name, "x-boot": boot, "x-nonce": nonce}
        return headers | own | {"x-digest": digest, "x-signature": signature}

    def ask(self, name: str, step: str, body: bytes = b"") -> bytes:
        """Ask for a step; a party that is away is asked again until patience ends."""
        party = self.election.parties[name]
        if not party.address:
            raise InputError(f"{name}: the manifest has no address")
        deadline, again = time.monotonic() + self.patience, False
        while True:
            try:
                answer = self._post(party, f"/v1/{quote(step)}", body, self._headers(party, step, body))
                if answer.status_code == 401 and self.secret is not None and not again:
                    self._boots.pop(name, None)  # its process may have been started again since
                    again = True
                    continue
                if answer.status_code != 503:
                    break
                raise httpx2.ConnectError("busy")
            except httpx2.HTTPError as error:
                if time.monotonic() > deadline:
                    raise PersonError("away", name=name, address=party.address, reason=type(error).__name__) from None
                time.sleep(0.1)
        if answer.status_code not in (200, 202):
            if self.secret is None and (step, answer.status_code) in SENTENCES:
                raise PersonError(SENTENCES[step, answer.status_code])
            stated = parse(answer.content)
            kind = ConflictError if answer.status_code == 409 else InputError
            raise kind(f"{name}: {step}: {stated.get('detail', stated.get('title', answer.status_code))}")
        return bytes(answer.content)

    def close(self) -> None:
        """Close what is open."""
        with self._lock:
            for client in self._kept.values():
                client.close()
            self._kept.clear()


@contextlib.contextmanager
def ask_over_http(election: KnownElection, secret: Secret | None = None, patience: float = PATIENCE) -> Iterator[Ask]:
    """Roles as services; with the keys of a party, its own steps and those for parties can be asked for."""
    connection = Connection(election, secret, patience)
    try:
        yield connection.ask
    finally:
        connection.close()


def fetch_manifest(address: str, pinned: str) -> KnownElection:
    """The manifest from a board whose address is on a letter; refused unless it has the id that is printed there.

    The certificate of the board is in the manifest, so that it cannot be checked before. The id settles what is read;
    all that follows is sent only to the certificates that this manifest names.
    """
    if not address.startswith("https://"):
        raise InputError(f"{address}: the address of a board begins with https://")
    unchecked = ssl.create_default_context()
    unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
    try:
        with httpx2.Client(timeout=PATIENCE, verify=unchecked) as client:
            answer = client.post(f"{address.rstrip('/')}/v1/file", content=canonical({"name": "manifest.json"}))
    except httpx2.HTTPError as error:
        raise InputError(f"{address}: does not answer ({type(error).__name__})") from None
    election = KnownElection.parse(answer.content, address)
    if not is_pinned(election, pinned):
        raise InputError(f"{address}: serves another election than the one with the id {pinned}")
    return election


def enrol(wallet: Wallet, ask: Ask) -> None:
    """Bind the wallet's key to the row."""
    wallet.take_enrolment(ask(wallet.election.only("registrar").name, "enrol", wallet.enrolment()))


def fetch_tokens(wallet: Wallet, ask: Ask) -> None:
    """Have every issuer sign the tokens of all dimensions."""
    for dimension in wallet.election.manifest.dimensions:
        if wallet.election.escrow_of(dimension) is not None:
            choose_candidate(wallet, dimension, ask)
    request = wallet.requests()
    for issuer in wallet.election.manifest.of("issuer"):
        wallet.take_answers(ask(issuer.name, "sign", request))


def choose_candidate(wallet: Wallet, dimension: Dimension, ask: Ask) -> None:
    """Have the issuers draw one of the candidates for a token: pledges first, then commitments, then nonces."""
    subject = canonical({"enrolment": wallet.state["enrolment"], "dimension": dimension.name})
    issuers = [party.name for party in wallet.election.manifest.of("issuer")]
    pledges: dict[str, dict[str, Any]] = {issuer: parse(ask(issuer, "pledge", subject)) for issuer in issuers}
    message = wallet.candidates(dimension.name, pledges)
    nonces = {issuer: parse(ask(issuer, "candidates", message))["nonce"] for issuer in issuers}
    wallet.take_nonces(dimension.name, nonces)


def send(wallet: Wallet, dimension: str, ask: Ask) -> None:
    """Post a sealed ballot to the box and keep its receipt."""
    box = wallet.election.only("box").name
    wallet.take_receipt(dimension, ask(box, "post", wallet.message(dimension)).rstrip())


def fetch_board(election: KnownElection, folder: Path, ask: Ask) -> Board:
    """A copy of the board; files that are there already are fetched again only if they can have changed."""
    board = election.only("board").name
    for name, size in parse(ask(board, "files", b""))["files"].items():
        if not re.fullmatch(FILE, name):
            raise InputError(f"{board}: lists a file that no board has")
        path = folder / name
        if path.exists() and not name.startswith("heads/"):
            continue
        content = b""
        while True:
            piece = ask(board, "file", canonical({"name": name, "offset": len(content)}))
            content += piece
            if not piece or len(content) >= size:
                break
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        part.write_bytes(content)  # a copy: it is compared with signed hashes, and can be fetched again
        part.replace(path)
    return Board(folder)


def witness(election: KnownElection, ask: Ask) -> None:
    """Have the head of the board signed by the issuers, each of which checks that it continues the last one."""
    board, absent = election.only("board").name, []
    issuers = [party.name for party in election.manifest.of("issuer")]
    for issuer in issuers:
        try:
            last = parse(ask(issuer, "witness", b""))["last"]
            extension = ask(board, "extension", canonical({"old": last}))
            ask(board, "cosign", ask(issuer, "witness", extension))
        except ConflictError:  # no absence, and no majority makes up for it
            raise InputError(f"{issuer} signed another log than {board} shows: the board was forked") from None
        except InputError:
            absent.append(issuer)
    if 2 * len(absent) >= len(issuers):
        raise InputError(f"the head of the board is not witnessed: {', '.join(absent)} refused or are away")

"""An issuer's part in drawing one of a person's candidates (cut and choose): pledge, keep, reveal, check."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safemargin.core import InputError
from safemargin.election.escrow import challenge, openings_fault, pledge
from safemargin.election.keys import canonical, derive, parse, unhex, verify_raw
from safemargin.election.manifest import KnownElection
from safemargin.election.role import ConflictError, Role, Step, single
from safemargin.election.secret import Secret


def request_body(request: Mapping[str, Any]) -> bytes:
    """What a person signs when they ask for a token."""
    return canonical({name: value for name, value in request.items() if name != "signature"})


class CandidateDraw(Role):
    """A role that knows the enrolled people, and draws candidates together with the other issuers."""

    def __init__(self, election: KnownElection, secret: Secret, place: Path | str) -> None:
        super().__init__(election, secret, place)
        self.issuers = [party.name for party in election.manifest.of("issuer")]
        self._roster: dict[str, Any] | None = None

    @property
    def rows(self) -> dict[str, Any]:
        """Enrolled people with their keys and categories."""
        if self._roster is None:
            stored = self.store("state").get(b"roster")
            if stored is None:
                raise InputError("issuing has not begun: there is no list of enrolled people yet")
            self._roster = json.loads(stored)
        return self._roster

    def escrow_steps(self) -> list[Step]:
        """The steps of an election with escrow."""
        if self.election.manifest.escrow is None:
            return []
        return [
            Step("pledge", single(self.pledge), "anybody", "Commit to a nonce for a person's candidates"),
            Step("candidates", single(self.candidates), "anybody", "Keep a person's candidates and show the nonce"),
            Step("leave", single(self.leave), "operator", "Go on without an issuer that does not show its nonces"),
        ]

    @property
    def left(self) -> list[str]:
        """Issuers that did not show a nonce, as the people who run this issuer found; they are never active."""
        return [issuer for issuer in self.issuers if self.has(f"left {issuer}")]

    def leave(self, body: bytes) -> bytes:
        """Go on without another issuer. People make new candidates: there is no second challenge on old ones."""
        gone = parse(body).get("issuer")
        if gone not in self.issuers or gone == self.name:
            raise InputError("issuer: must be another issuer")
        if len(self.issuers) - len({*self.left, gone}) < self.election.manifest.signers:
            raise InputError(f"without {gone} there are too few issuers to sign")
        self.remember(f"left {gone}")
        return canonical({"left": self.left})

    def _nonce(self, row: str, dimension: str, attempt: int) -> bytes:
        return derive(self.secret.seed, f"nonce {canonical([row, dimension, attempt]).decode()}", 32)

    def pledge(self, body: bytes) -> bytes:
        """A commitment to this issuer's nonce for one person, dimension and attempt."""
        match parse(body):
            case {"row": str(row), "dimension": str(name)} if row in self.rows:
                dimension = self.election.dimension(name).name
            case _:
                raise InputError("a message for a pledge names an enrolled person and a dimension")
        attempt = len(self.left)
        stated = {"row": row, "dimension": dimension, "attempt": attempt}
        stated["pledge"] = pledge(self._nonce(row, dimension, attempt))
        signature = self.election.sign(self.secret.signing, self.name, "issuers", "pledge", canonical(stated))
        return canonical({**stated, "issuer": self.name, "left": self.left, "signature": signature})

    def candidates(self, body: bytes) -> bytes:
        """Keep the commitments of a person, and only then show the nonce."""
        message = parse(body)
        match message:
            case {
                "row": str(row),
                "dimension": str(name),
                "attempt": int(attempt),
                "commits": list(commits),
                "pledges": dict(pledges),
                "signature": str(signature),
            } if set(message) == {"row", "dimension", "attempt", "commits", "pledges", "signature"}:
                person = self.rows.get(row)
            case _:
                raise InputError("candidates have the fields row, dimension, attempt, commits, pledges and signature")
        signed = b"GV1 candidates" + self.election.mid + request_body(message)
        if person is None or not verify_raw(bytes.fromhex(person["key"]), unhex(signature), signed):
            raise InputError("the candidates are not signed by an enrolled person")
        self._check_pledges(message, commits, pledges)
        key = canonical([row, name, attempt])
        if self.store("candidates").add({key: canonical(message)})[key] != canonical(message):
            self.store("refused").add({key: body})
            raise ConflictError("other candidates of this person are held already")
        return canonical({"issuer": self.name, "nonce": self._nonce(row, name, attempt).hex()})

    def _check_pledges(self, message: Mapping[str, Any], commits: list[Any], pledges: dict[str, Any]) -> None:
        escrow, left = self.election.manifest.escrow, self.left
        assert escrow is not None
        row, name, attempt = (message[part] for part in ("row", "dimension", "attempt"))
        if attempt != len(left) or set(pledges) != set(self.issuers) - set(left):
            raise InputError("the candidates are not for the issuers that are there now; ask for pledges again")
        if len({str(commit) for commit in commits}) != escrow.candidates or len(commits) != escrow.candidates:
            raise InputError(f"there must be {escrow.candidates} candidates, all different")
        for earlier in range(attempt):
            old = self.store("candidates").get(canonical([row, name, earlier]))
            if old is not None and set(json.loads(old)["commits"]) & set(commits):
                raise InputError("a candidate was challenged before; make new ones")
        for issuer, given in pledges.items():
            stated = {"row": row, "dimension": name, "attempt": attempt, "pledge": dict(given).get("pledge")}
            if not self.election.is_signed(
                dict(given).get("signature"), issuer, "issuers", "pledge", canonical(stated)
            ):
                raise InputError(f"the pledge of {issuer} is not signed by it")

    def check_candidates(self, request: Mapping[str, Any], body: bytes) -> None:
        """Check the opened candidates; a person who opens wrongly gets no token, and their signed request is kept."""
        given, row, name = request["escrow"], request["row"], request["dimension"]
        if not isinstance(given, dict):
            raise InputError("escrow: must hold the candidates")
        frozen = canonical([row, name])
        if self.store("frozen").get(frozen) is not None:
            raise ConflictError("this person opened candidates wrongly: the row is frozen in this dimension")
        attempt, nonces = given.get("attempt"), given.get("nonces")
        held = self.store("candidates").get(canonical([row, name, attempt]))
        if held is None or json.loads(held)["commits"] != given.get("commits"):
            raise InputError("these candidates were not handed in before the nonce was shown")
        pledges = json.loads(held)["pledges"]
        if not isinstance(nonces, dict) or set(nonces) != set(pledges):
            raise InputError("the nonces are not those of all issuers that pledged one")
        for issuer, nonce in nonces.items():
            if pledge(unhex(nonce, 32)) != pledges[issuer]["pledge"]:
                raise InputError(f"the nonce of {issuer} is not the one that it pledged")
        chosen = challenge(self.election, given["commits"], canonical([row, name, attempt]), nonces)
        person = bytes.fromhex(self.rows[row]["key"])
        if fault := openings_fault(self.election, self.election.dimension(name), request, chosen, person):
            self.store("frozen").add({frozen: body})
            raise ConflictError(f"{fault}: the row is frozen in this dimension")

"""An issuer's part in drawing one of a person's candidates (cut and choose): pledge, keep, reveal, check."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safemargin.core import InputError
from safemargin.election.escrow import challenge, openings_fault, pledge
from safemargin.election.keys import canonical, derive, parse, unhex, verify_raw
from safemargin.election.manifests import KnownElection
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

    def take_enrolment(self, stated: Any) -> str:
        """Keep what the registrar signed about a person: their key and categories, once. The row that it is about."""
        match stated:
            case {"row": str(row), "key": str(key), "categories": dict(), "signature": str(signature)}:
                body = {name: value for name, value in stated.items() if name != "signature"}
            case _:
                raise InputError("the message does not hold the registrar's word about a person")
        registrar = self.election.only("registrar").name
        if not self.election.is_signed(signature, registrar, row, "enrolled", canonical(body)):
            raise InputError("the enrolment is not signed by the registrar")
        unhex(key, 32)
        people = self.store("people")
        held = people.get(row.encode()) or people.add({row.encode(): canonical(stated)})[row.encode()]
        if json.loads(held)["key"] != key or json.loads(held)["categories"] != stated["categories"]:
            raise ConflictError("the registrar stated another key or category for this person before")
        return row

    def person(self, row: object) -> dict[str, Any]:
        """What the registrar signed about a person who asked before."""
        found = self.store("people").get(row.encode()) if isinstance(row, str) else None
        if found is None:
            raise InputError("this person is not enrolled")
        return dict(json.loads(found))

    def escrow_steps(self) -> list[Step]:
        """The steps of an election with escrow."""
        if self.election.manifest.escrow is None:
            return []
        return [
            Step("pledge", single(self.pledge), "anybody", "Commit to a nonce for a person's candidates"),
            Step("candidates", single(self.candidates), "anybody", "Keep a person's candidates and show the nonce"),
        ]

    def _nonce(self, row: str, dimension: str) -> bytes:
        return derive(self.secret.seed, f"nonce {canonical([row, dimension]).decode()}", 32)

    def pledge(self, body: bytes) -> bytes:
        """A commitment to this issuer's nonce for one person and dimension."""
        message = parse(body)
        row = self.take_enrolment(message.get("enrolment"))
        dimension = self.election.dimension(message.get("dimension")).name
        stated = {"row": row, "dimension": dimension, "pledge": pledge(self._nonce(row, dimension))}
        signature = self.election.sign(self.secret.signing, self.name, "issuers", "pledge", canonical(stated))
        return canonical({**stated, "issuer": self.name, "signature": signature})

    def candidates(self, body: bytes) -> bytes:
        """Keep the commitments of a person, and only then show the nonce."""
        message = parse(body)
        match message:
            case {
                "row": str(row),
                "dimension": str(name),
                "commits": list(commits),
                "pledges": dict(pledges),
                "signature": str(signature),
            } if set(message) == {"row", "dimension", "commits", "pledges", "signature"}:
                person = self.person(row)
            case _:
                raise InputError("candidates have the fields row, dimension, commits, pledges and signature")
        signed = b"GV2 candidates" + self.election.mid + request_body(message)
        if not verify_raw(bytes.fromhex(person["key"]), unhex(signature), signed):
            raise InputError("the candidates are not signed by an enrolled person")
        self._check_pledges(message, commits, pledges)
        key = canonical([row, name])
        if self.store("candidates").add({key: canonical(message)})[key] != canonical(message):
            self.store("refused").add({key: body})
            raise ConflictError("other candidates of this person are held already")
        return canonical({"issuer": self.name, "nonce": self._nonce(row, name).hex()})

    def _check_pledges(self, message: Mapping[str, Any], commits: list[Any], pledges: dict[str, Any]) -> None:
        escrow = self.election.manifest.escrow
        assert escrow is not None
        if set(pledges) != set(self.issuers):
            raise InputError("the candidates do not carry the pledges of all issuers")
        if len({str(commit) for commit in commits}) != escrow.candidates or len(commits) != escrow.candidates:
            raise InputError(f"there must be {escrow.candidates} candidates, all different")
        for issuer, given in pledges.items():
            stated = {part: message[part] for part in ("row", "dimension")} | {"pledge": dict(given).get("pledge")}
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
        nonces = given.get("nonces")
        held = self.store("candidates").get(canonical([row, name]))
        if held is None or json.loads(held)["commits"] != given.get("commits"):
            raise InputError("these candidates were not handed in before the nonce was shown")
        pledges = json.loads(held)["pledges"]
        if not isinstance(nonces, dict) or set(nonces) != set(pledges):
            raise InputError("the nonces are not those of all issuers that pledged one")
        for issuer, nonce in nonces.items():
            if pledge(unhex(nonce, 32)) != pledges[issuer]["pledge"]:
                raise InputError(f"the nonce of {issuer} is not the one that it pledged")
        chosen = challenge(self.election, given["commits"], canonical([row, name]), nonces)
        person = bytes.fromhex(self.person(row)["key"])
        if fault := openings_fault(self.election, self.election.dimension(name), request, chosen, person):
            self.store("frozen").add({frozen: body})
            raise ConflictError(f"{fault}: the row is frozen in this dimension")

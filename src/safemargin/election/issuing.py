"""The side that knows people: the registrar enrols them, issuers sign one token per person and dimension, blindly.

Nothing here imports the side that knows answers.
"""

import hmac
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safemargin.core import InputError
from safemargin.election.board import BoardWitness, Head, make_entry, read_head
from safemargin.election.escrow import challenge, commitment, openings_fault, pledge
from safemargin.election.keys import Secret, canonical, derive, parse, unhex, verify_raw
from safemargin.election.manifest import EVERYBODY, KnownElection
from safemargin.election.merkle import inclusion_path, leaf_hash, root_of
from safemargin.election.role import Answer, ConflictError, Role, Step, single
from safemargin.election.setup import read_roll


class Registrar(Role):
    """Knows who is on the roll, binds one key to every person, and attests categories."""

    @property
    def steps(self) -> list[Step]:
        """See `Role`."""
        return [
            Step("roll", single(self.load), "operator", "Keep the roll, and give the enrolment codes for the letters"),
            Step("enrol", self.enrol, "anybody", "Bind a person's key to a row of the roll, once"),
            Step("close", single(self.end), "operator", "Close enrolment and state the number of enrolled people"),
            Step("roster", single(self.roster), "operator", "Keys and categories of enrolled people, for the issuers"),
            Step("path", single(self.path), "anybody", "Show a person that the register holds their key"),
            Step("identify", single(self.identify), "operator", "Check that an opened record is of the row it names"),
        ]

    def load(self, body: bytes) -> bytes:
        """Keep the roll, once; the answer has the enrolment code of every row, for the letters to people."""
        roll = read_roll(body)
        names = [dimension.name for dimension in self.election.manifest.dimensions]
        stated = {row: {k: v for k, v in by.items() if k in names} for row, by in roll.items()}
        if len(roll) != self.election.manifest.electorate or self.remember("roll", canonical(stated)) != canonical(
            stated
        ):
            raise ConflictError("the roll is not the one of the manifest, or another one is held already")
        self.store("roll").add({row.encode(): canonical(by) for row, by in stated.items()})
        lines = ["row,code", *(f'"{row.replace(chr(34), chr(34) * 2)}",{self.code(row)}' for row in stated)]
        return ("\n".join(lines) + "\n").encode()

    def code(self, row: str) -> str:
        """The enrolment code of a row: it follows from the registrar's secret, so that no list of codes is stored."""
        return derive(self.secret.seed, f"code {row}", 16).hex()

    def enrol(self, bodies: Sequence[bytes]) -> list[Answer]:
        """Keep keys; the same key again is acknowledged, another one is refused."""
        checked: list[tuple[bytes, bytes] | InputError] = []
        fresh: dict[bytes, bytes] = {}
        for body in bodies:
            try:
                row, key = self._checked(body)
                fresh.setdefault(row, key)
                checked.append((row, key))
            except InputError as error:
                checked.append(error)
        stored = self.store("enrolled").add(fresh) if fresh else {}
        return [
            each if isinstance(each, InputError) else self._receipt(each[0].decode(), each[1].decode(), stored)
            for each in checked
        ]

    def _checked(self, body: bytes) -> tuple[bytes, bytes]:
        match parse(body):
            case {"row": str(row), "code": str(code), "key": str(key)}:
                found = self.store("roll").get(row.encode())
            case _:
                raise InputError("an enrolment has the fields row, code and key")
        if found is None or not hmac.compare_digest(code.encode(), self.code(row).encode()):
            raise InputError("the row and the enrolment code do not belong together")
        if self.has("closed") and self.store("enrolled").get(row.encode()) is None:
            raise InputError("enrolment is closed")
        return row.encode(), unhex(key, 32).hex().encode()

    def _receipt(self, row: str, key: str, stored: Mapping[bytes, bytes]) -> Answer:
        if stored[row.encode()].decode() != key:
            return ConflictError("another key is enrolled for this row")
        body = {"row": row, "key": key, "salt": self._salt(row).hex(), "categories": self._categories(row)}
        signature = self.election.sign(self.secret.signing, self.name, row, "enrolled", canonical(body))
        return canonical({**body, "signature": signature})

    def _salt(self, row: str) -> bytes:
        return derive(self.secret.seed, f"salt {row}", 32)

    def _categories(self, row: str) -> dict[str, str]:
        found = self.store("roll").get(row.encode())
        assert found is not None
        return dict(json.loads(found))

    def _register(self) -> tuple[list[str], list[bytes]]:
        """Rows, and the leaves of the public register: a hash per person that only they can recognise."""
        pairs = [(row.decode(), key.decode()) for row, key in self.store("enrolled").items()]
        leaves = {leaf_hash(self._salt(row) + row.encode() + bytes.fromhex(key)): row for row, key in pairs}
        ordered = sorted(leaves)
        return [leaves[leaf] for leaf in ordered], ordered

    def end(self, _: bytes) -> bytes:
        """Close enrolment; asked again, the same entry."""
        self.remember("closed")
        rows, leaves = self._register()
        body = {"enrolled": len(rows), "root": root_of(leaves).hex()}
        return make_entry(self.election, self.secret, "roll", body).content

    def roster(self, _: bytes) -> bytes:
        """Everybody who is enrolled, signed for the issuers."""
        if not self.has("closed"):
            raise InputError("enrolment is open still; close it first")
        rows = {
            row.decode(): {"key": key.decode(), "categories": self._categories(row.decode())}
            for row, key in self.store("enrolled").items()
        }
        signature = self.election.sign(self.secret.signing, self.name, "issuers", "roster", canonical(rows))
        return canonical({"rows": rows, "signature": signature})

    def path(self, body: bytes) -> bytes:
        """The place of a person's leaf in the register, asked for with the code or by anybody who has the salt."""
        row, salt = parse(body).get("row"), unhex(parse(body).get("salt"), 32)
        rows, leaves = self._register()
        if not isinstance(row, str) or row not in rows or not hmac.compare_digest(salt, self._salt(row)):
            raise InputError("the row and the salt do not belong together")
        index = rows.index(row)
        path = [node.hex() for node in inclusion_path(leaves, index)]
        return canonical({"index": index, "size": len(leaves), "path": path})

    def identify(self, body: bytes) -> bytes:
        """Whether the person of a row signed an opened record: nobody can be framed by a row that others planted."""
        match parse(body):
            case {"row": str(row), "message": str(message), "proof": str(proof)}:
                key = self.store("enrolled").get(row.encode())
            case _:
                raise InputError("an opened record has the fields row, message and proof")
        if key is None or not verify_raw(bytes.fromhex(key.decode()), unhex(proof), unhex(message)):
            raise InputError("the person of this row did not sign this record: the row was planted")
        return canonical({"row": row, "signed": True})


def request_body(request: Mapping[str, Any]) -> bytes:
    """What a person signs when they ask for a token."""
    return canonical({name: value for name, value in request.items() if name != "signature"})


class Issuer(Role):
    """Signs one blinded token per person and dimension, with the key of the category that the registrar attests."""

    def __init__(self, election: KnownElection, secret: Secret, place: Path | str) -> None:
        super().__init__(election, secret, place)
        self._issuers = [party.name for party in election.manifest.of("issuer")]
        self._roster: dict[str, Any] | None = None
        self._witness = BoardWitness(election, secret)

    @property
    def steps(self) -> list[Step]:
        """See `Role`."""
        return [
            Step("roster", single(self.load), "anybody", "Take the registrar's signed list of enrolled people"),
            Step("sign", self.sign, "anybody", "Sign a person's blinded token for one dimension, once"),
            Step("lodged", single(self.lodged), "operator", "All requests, for an issuer that was away"),
            Step("lodge", single(self.lodge), "operator", "Sign requests that other issuers hold"),
            Step("close", single(self.end), "operator", "Close issuing and state what was issued"),
            Step("witness", single(self.witness), "anybody", "Sign a head of the board if it continues the last one"),
            *self._escrow_steps(),
        ]

    def _escrow_steps(self) -> list[Step]:
        if self.election.manifest.escrow is None:
            return []
        return [
            Step("pledge", single(self.pledge), "anybody", "Commit to a nonce for a person's candidates"),
            Step("candidates", single(self.candidates), "anybody", "Keep a person's candidates and show the nonce"),
            Step("leave", single(self.leave), "operator", "Go on without an issuer that withheld its nonces"),
        ]

    def load(self, body: bytes) -> bytes:
        """Keep the roster; there is one only."""
        stated = parse(body)
        registrar = self.election.only("registrar").name
        rows, signature = stated.get("rows"), stated.get("signature")
        if not self.election.is_signed(signature, registrar, "issuers", "roster", canonical(rows)):
            raise InputError("the list of enrolled people is not signed by the registrar")
        if self.remember("roster", canonical(rows)) != canonical(rows):
            raise ConflictError("another list of enrolled people is held already")
        return b"{}"

    @property
    def rows(self) -> dict[str, Any]:
        """Enrolled people with their keys and categories."""
        if self._roster is None:
            stored = self.store("state").get(b"roster")
            if stored is None:
                raise InputError("issuing has not begun: there is no list of enrolled people yet")
            self._roster = json.loads(stored)
        return self._roster

    def sign(self, bodies: Sequence[bytes]) -> list[Answer]:
        """Answers to requests, stored before they are given. The same request again gets the same answer."""
        closed, table = self.has("closed"), self.store("issuance")
        fresh: dict[bytes, bytes] = {}
        answers: list[Answer] = []
        for body in bodies:
            try:
                request = self._checked(body)
                key = f"{request['row']}\0{request['dimension']}".encode()
                held = fresh.get(key) or table.get(key)
                if held is None and closed:
                    raise InputError("issuing is closed")
                if held is None:
                    if "escrow" in request:
                        self._check_candidates(request, body)
                    held = fresh[key] = self._issue(request)
                elif json.loads(held)["commit"] != commitment(request["blinded"]):
                    self.store("refused").add({key: body})  # signed by the person: evidence of a second request
                    raise ConflictError("another request of this person was answered for this dimension")
                answers.append(canonical({"issuer": self.name, "answer": json.loads(held)["answer"]}))
            except InputError as error:
                answers.append(error)
        if fresh:
            table.add(fresh)
        return answers

    def _checked(self, body: bytes) -> dict[str, Any]:
        request = parse(body)
        match request:
            case {
                "row": str(row),
                "dimension": str(name),
                "category": str(label),
                "blinded": dict(blinded),
                "signature": str(signature),
            } if set(request) <= {"row", "dimension", "category", "blinded", "signature", "escrow"}:
                dimension = self.election.dimension(name)
            case _:
                raise InputError("a request has the fields row, dimension, category, blinded and signature")
        person = self.rows.get(row)
        if person is None or not verify_raw(
            bytes.fromhex(person["key"]), unhex(signature), b"GV1 issue" + self.election.mid + request_body(request)
        ):
            raise InputError("the request is not signed by an enrolled person")
        attested = EVERYBODY if dimension.is_open else person["categories"].get(name)
        if label not in dimension.labels or not (dimension.self_reported or label == attested):
            raise InputError("the registrar does not attest this category for this person")
        if set(blinded) != set(self._issuers):
            raise InputError("a request has one blinded message for every issuer")
        if (self.election.manifest.escrow is None) != ("escrow" not in request):
            raise InputError("a request has candidates if and only if the manifest has escrow")
        return request

    # --- cut and choose

    @property
    def left(self) -> list[str]:
        """Issuers that withheld a nonce, as the people who run this issuer found; they are never active."""
        return [issuer for issuer in self._issuers if self.has(f"left {issuer}")]

    def leave(self, body: bytes) -> bytes:
        """Go on without another issuer. People make new candidates: there is no second challenge on old ones."""
        gone = parse(body).get("issuer")
        if gone not in self._issuers or gone == self.name:
            raise InputError("issuer: must be another issuer")
        if len(self._issuers) - len({*self.left, gone}) < self.election.manifest.signers:
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
        if attempt != len(left) or set(pledges) != set(self._issuers) - set(left):
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

    def _check_candidates(self, request: Mapping[str, Any], body: bytes) -> None:
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

    def _issue(self, request: Mapping[str, Any]) -> bytes:
        signer = self.secret.signers[f"{request['dimension']}/{request['category']}"]
        answer = signer.sign(unhex(request["blinded"][self.name]))
        return canonical({"request": request, "commit": commitment(request["blinded"]), "answer": answer.hex()})

    def lodged(self, _: bytes) -> bytes:
        """All requests that were answered."""
        return canonical({"requests": [json.loads(value)["request"] for _, value in self.store("issuance").items()]})

    def lodge(self, body: bytes) -> bytes:
        """Sign what people lodged with others; they do not need to be there."""
        requests = parse(body).get("requests")
        if not isinstance(requests, list):
            raise InputError("the message holds no requests")
        answers = self.sign([canonical(request) for request in requests])
        refused = sum(isinstance(answer, InputError) for answer in answers)
        return canonical({"signed": len(answers) - refused, "refused": refused})

    def end(self, _: bytes) -> bytes:
        """Close issuing; asked again, the same entry. Issuers that saw the same requests state the same root."""
        self.remember("closed")
        counts: dict[str, Counter[str]] = {
            dimension.name: Counter(dict.fromkeys(dimension.labels, 0))
            for dimension in self.election.manifest.dimensions
        }
        leaves = []
        for key, value in self.store("issuance").items():
            held = json.loads(value)
            counts[held["request"]["dimension"]][held["request"]["category"]] += 1
            leaves.append(leaf_hash(key + b"\0" + held["commit"].encode()))
        body: dict[str, Any] = {
            "counts": {name: dict(by) for name, by in counts.items()},
            "root": root_of(leaves).hex(),
        }
        if self.election.manifest.escrow is not None:
            body["left"] = self.left
        return make_entry(self.election, self.secret, "issued", body).content

    def witness(self, body: bytes) -> bytes:
        """Sign the head of the board; the last one is remembered, so that a fork is noticed.

        An empty message asks how many entries the last head had.
        """
        heads = self.store("heads")
        known = [read_head(json.loads(value)) for _, value in heads.items()]
        last: Head | None = known[-1] if known else None
        if not body:
            return canonical({"last": last.size if last else 0})
        head, signature = self._witness.sign(last, parse(body))
        heads.add({head.size.to_bytes(8, "big"): canonical(head.document())})
        return canonical({"name": self.name, "signature": signature})

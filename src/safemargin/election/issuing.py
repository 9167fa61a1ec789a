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
from safemargin.election.candidates import CandidateDraw, request_body
from safemargin.election.escrow import commitment
from safemargin.election.keys import canonical, derive, parse, unhex, verify_raw
from safemargin.election.manifest import EVERYBODY, KnownElection
from safemargin.election.merkle import inclusion_path, leaf_hash, root_of
from safemargin.election.role import Answer, ConflictError, Role, Step, single
from safemargin.election.secret import Secret
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


class Issuer(CandidateDraw):
    """Signs one blinded token per person and dimension, with the key of the category that the registrar attests."""

    def __init__(self, election: KnownElection, secret: Secret, place: Path | str) -> None:
        super().__init__(election, secret, place)
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
            *self.escrow_steps(),
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
                        self.check_candidates(request, body)
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
        if set(blinded) != set(self.issuers):
            raise InputError("a request has one blinded message for every issuer")
        if (self.election.manifest.escrow is None) != ("escrow" not in request):
            raise InputError("a request has candidates if and only if the manifest has escrow")
        return request

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

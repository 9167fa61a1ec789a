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
from safemargin.election.board import BoardWitness, make_entry
from safemargin.election.candidates import CandidateDraw, request_body
from safemargin.election.escrow import commitment
from safemargin.election.keys import canonical, code_of, derive, parse, read_code, register_leaf, unhex, verify_raw
from safemargin.election.manifests import EVERYBODY, KnownElection
from safemargin.election.merkle import leaf_hash, root_of
from safemargin.election.role import Answer, ConflictError, Role, Step, single
from safemargin.election.roll import read_roll
from safemargin.election.secret import Secret


class Registrar(Role):
    """Knows who is on the roll, binds one key to every person, and attests categories."""

    @property
    def steps(self) -> list[Step]:
        """See `Role`."""
        return [
            Step("roll", single(self.load), "operator", "Keep the roll, and give the enrolment codes for the letters"),
            Step("enrol", self.enrol, "anybody", "Bind a person's key to a row of the roll, once"),
            Step("close", single(self.end), "operator", "Close enrolment and state the number of enrolled people"),
            Step("register", single(self.register), "operator", "Hashes of enrolled people, for the board"),
            Step("status", single(self.status), "operator", "Numbers of this party"),
            Step("identify", single(self.identify), "operator", "Check that an opened record is of the row it names"),
        ]

    def load(self, body: bytes) -> bytes:
        """Keep the roll, once; the answer has the enrolment code of every row, for the letters to people."""
        roll = read_roll(body)
        attested = {d.name: d for d in self.election.manifest.dimensions if not (d.is_total or d.self_reported)}
        if missing := [name for by in roll.values() for name in attested if name not in by]:
            raise InputError(f"the roll has no column {missing[0]!r}, which the manifest has attested")
        stated = {
            row: {name: dimension.category_of(by[name]) for name, dimension in attested.items()}
            for row, by in roll.items()
        }
        for name, dimension in attested.items():
            if Counter(by[name] for by in stated.values()) != Counter(dimension.sizes):
                raise ConflictError(f"the roll has other numbers of people by {name} than the manifest")
        if self.election.manifest.joint is not None:  # attested are all dimensions then
            joint = Counter(tuple(by[name] for name in attested) for by in roll.values())
            if joint != Counter({tuple(map(str, cell)): int(people) for *cell, people in self.election.manifest.joint}):
                raise ConflictError("the roll has other numbers of people by all dimensions together than the manifest")
        if len(roll) != self.election.manifest.electorate or self.remember("roll", canonical(stated)) != canonical(
            stated
        ):
            raise ConflictError("the roll is not the one of the manifest, or another one is held already")
        self.store("roll").add({row.encode(): canonical(by) for row, by in stated.items()})
        lines = ["row,code", *(f'"{row.replace(chr(34), chr(34) * 2)}",{self.code(row)}' for row in stated)]
        return ("\n".join(lines) + "\n").encode()

    def code(self, row: str) -> str:
        """The enrolment code of a row: it follows from the registrar's secret, so that no list of codes is stored."""
        return code_of(derive(self.secret.seed, f"code {row}", 12))

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
        if found is None or not hmac.compare_digest(read_code(code).encode(), self.code(row).encode()):
            raise InputError("the row and the enrolment code do not belong together")
        if self.has("closed") and self.store("enrolled").get(row.encode()) is None:
            raise InputError("enrolment is closed")
        return row.encode(), unhex(key, 32).hex().encode()

    def _receipt(self, row: str, key: str, stored: Mapping[bytes, bytes]) -> Answer:
        if stored[row.encode()].decode() != key:
            return ConflictError("another key is enrolled for this row")
        body = {"row": row, "key": key, "categories": self._categories(row)}
        signature = self.election.sign(self.secret.signing, self.name, row, "enrolled", canonical(body))
        return canonical({**body, "signature": signature})

    def _categories(self, row: str) -> dict[str, str]:
        found = self.store("roll").get(row.encode())
        assert found is not None
        return dict(json.loads(found))

    def _leaves(self, store: str) -> list[bytes]:
        """A hash per person who enrolled, or per letter, sorted; only who has the letter can recognise it."""
        rows = [row.decode() for row, _ in self.store(store).items()]
        return sorted(register_leaf(self.election.mid, row, self.code(row)) for row in rows)

    def end(self, _: bytes) -> bytes:
        """Close enrolment; asked again, the same entry."""
        self.remember("closed")
        leaves = self._leaves("enrolled")
        body = {"enrolled": len(leaves), "root": root_of(leaves).hex(), "letters": root_of(self._leaves("roll")).hex()}
        return make_entry(self.election, self.secret, "register", body).content

    def register(self, body: bytes) -> bytes:
        """The hashes of enrolled people, or of all letters: the files that the entry names by their roots.

        Who enrolled is among the letters. So an enrolment in the name of somebody else uses the hash of a letter, and
        its reader sees it; a letter whose hash is not there shows that the registrar wrote another one.
        """
        if not self.has("closed"):
            raise InputError("enrolment is open still; close it first")
        return b"".join(self._leaves("roll" if parse(body).get("name") == "letters" else "enrolled"))

    def status(self, _: bytes) -> bytes:
        """How many people are enrolled."""
        count = sum(1 for _ in self.store("enrolled").items())
        return canonical({"enrolled": count, "closed": self.has("closed")})

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
        self._witness = BoardWitness(election, secret, lambda: self.store("heads"))

    @property
    def steps(self) -> list[Step]:
        """See `Role`."""
        return [
            Step("sign", self.sign, "anybody", "Sign a person's blinded tokens, one per dimension, once"),
            Step(
                "lodged",
                single(self.lodged),
                "party",
                "All requests, for an issuer that was restored",
                roles=("issuer",),
            ),
            Step("catch_up", single(self.catch_up), "operator", "Take the requests that the other issuers hold"),
            Step("status", single(self.status), "operator", "Numbers of this party"),
            Step("close", single(self.end), "operator", "Close issuing and state what was issued"),
            Step("witness", single(self.witness), "anybody", "Sign a head of the board if it continues the last one"),
            Step("head", single(self.head), "anybody", "The longest log of the board that this party knows, signed"),
            *self.escrow_steps(),
        ]

    def sign(self, bodies: Sequence[bytes]) -> list[Answer]:
        """Answers to requests, stored before they are given. The same request again gets the same answer.

        A person who sends other requests to other issuers gets a token that does not verify, and stops nobody else.
        """
        closed, restored = self.has("closed"), self.is_restored
        fresh: dict[bytes, bytes] = {}
        waiting: list[list[tuple[str, bytes]] | InputError] = []
        for body in bodies:
            try:
                if restored:
                    raise InputError("this issuer was restored from a backup and has not caught up yet")
                waiting.append(self._answer(body, fresh, closed))
            except InputError as error:
                waiting.append(error)
        table = self.store("issuance")
        stored = table.add(fresh) if fresh else {}
        answers: list[Answer] = []
        for each in waiting:
            if isinstance(each, InputError):
                answers.append(each)
                continue
            held = {name: json.loads(stored.get(key) or table.get(key) or b"{}")["answer"] for name, key in each}
            answers.append(canonical({"issuer": self.name, "answers": held}))
        return answers

    def _answer(self, body: bytes, fresh: dict[bytes, bytes], closed: bool) -> list[tuple[str, bytes]]:
        """The keys under which the answers to one person's requests are stored; new ones are added to `fresh`."""
        message = parse(body)
        row, requests = self.take_enrolment(message.get("enrolment")), message.get("requests")
        if not isinstance(requests, list) or not 0 < len(requests) <= len(self.election.dimensions):
            raise InputError("the message holds no requests")
        found: list[tuple[str, bytes]] = []
        for each in requests:
            request = self._checked(each, row)
            key = f"{request['row']}\0{request['dimension']}".encode()
            held = fresh.get(key) or self.store("issuance").get(key)
            if held is None and closed:
                raise InputError("issuing is closed")
            if held is None:
                if "escrow" in request:
                    self.check_candidates(request, canonical(request))
                held = fresh[key] = self._issue(request)
            elif json.loads(held)["commit"] != commitment(request["blinded"]):
                self.store("refused").add({key: canonical(request)})  # signed: evidence of a second request
                raise ConflictError("another request of this person was answered for this dimension")
            found.append((request["dimension"], key))
        return found

    def catch_up(self, body: bytes) -> bytes:
        """After a restore: take what every other issuer holds, so that nobody gets a second token, and the place in the
        log of the board, so that no other log is witnessed.
        """
        message = parse(body)
        answers, heads = message.get("lodged"), message.get("heads")
        others = [issuer for issuer in self.issuers if issuer != self.name]
        if not isinstance(answers, dict) or set(answers) != set(others):
            raise InputError(f"the requests of all other issuers are needed: {', '.join(others)}")
        if not isinstance(heads, dict) or set(heads) != set(others):
            raise InputError(f"the heads that all other issuers know are needed: {', '.join(others)}")
        self._witness.follow(heads, message.get("extensions") or {})
        taken = 0
        for issuer, given in answers.items():
            stated = dict(given)
            signature = stated.pop("signature", None)
            if not self.election.is_signed(signature, issuer, "issuers", "lodged", canonical(stated)):
                raise InputError(f"the requests are not signed by {issuer}")
            for person, request in stated["requests"]:
                self.take_enrolment(person)
                checked = self._checked(request, request["row"])
                key = f"{checked['row']}\0{checked['dimension']}".encode()
                self.store("issuance").add({key: self._issue(checked)})
                taken += 1
        self.mark_caught_up()
        return canonical({"requests": taken})

    def status(self, _: bytes) -> bytes:
        """How many tokens were signed."""
        count = sum(1 for _ in self.store("issuance").items())
        return canonical({"issued": count, "closed": self.has("closed"), "restored": self.is_restored})

    def _checked(self, request: Any, sender: str) -> dict[str, Any]:
        match request:
            case {
                "row": str(row),
                "dimension": str(name),
                "category": str(label),
                "blinded": dict(blinded),
                "signature": str(signature),
            } if row == sender and set(request) <= {"row", "dimension", "category", "blinded", "signature", "escrow"}:
                dimension = self.election.dimension(name)
            case _:
                raise InputError("a request has the fields row, dimension, category, blinded and signature")
        person = self.person(row)
        if not verify_raw(
            bytes.fromhex(person["key"]), unhex(signature), b"GV2 issue" + self.election.mid + request_body(request)
        ):
            raise InputError("the request is not signed by an enrolled person")
        attested = EVERYBODY if dimension.is_total else person["categories"].get(name)
        if label not in dimension.labels or not (dimension.self_reported or label == attested):
            raise InputError("the registrar does not attest this category for this person")
        if set(blinded) != set(self.issuers):
            raise InputError("a request has one blinded message for every issuer")
        # All of them: a restored issuer takes the requests over from the others, and must be able to answer each.
        for name, text in blinded.items():
            modulus = int(dimension.keys[name][label], 16)
            value = unhex(text, (modulus.bit_length() + 7) // 8)
            if not 1 < int.from_bytes(value, "big") < modulus:
                raise InputError(f"the blinded message for {name} is out of range")
        if (self.election.escrow_of(dimension) is None) != ("escrow" not in request):
            raise InputError("a request has candidates if and only if the manifest has escrow")
        return dict(request)

    def _issue(self, request: Mapping[str, Any]) -> bytes:
        # A merged group has the key of its first category, so the manifest says which of our keys is meant.
        modulus = int(self.election.dimension(request["dimension"]).keys[self.name][request["category"]], 16)
        signer = next(each for each in self.secret.signers.values() if each.public.n == modulus)
        answer = signer.sign(unhex(request["blinded"][self.name]))
        return canonical({"request": request, "commit": commitment(request["blinded"]), "answer": answer.hex()})

    def lodged(self, _: bytes) -> bytes:
        """All requests that were answered, with the registrar's word about each person; signed for the issuers."""
        requests = [json.loads(value)["request"] for _, value in self.store("issuance").items()]
        stated: dict[str, Any] = {"requests": [[self.person(request["row"]), request] for request in requests]}
        signature = self.election.sign(self.secret.signing, self.name, "issuers", "lodged", canonical(stated))
        return canonical({**stated, "signature": signature})

    def end(self, _: bytes) -> bytes:
        """Close issuing; asked again, the same entry."""
        if self.is_restored:
            raise InputError("this issuer was restored from a backup and has not caught up yet")
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
        body = {"counts": {name: dict(by) for name, by in counts.items()}, "root": root_of(leaves).hex()}
        return make_entry(self.election, self.secret, "issued", body).content

    def witness(self, body: bytes) -> bytes:
        """Sign the head of the board; the last one is remembered, so that a fork is noticed.

        An empty message asks how many entries the last head had.
        """
        if self.is_restored:
            raise InputError("this issuer was restored from a backup and has not caught up yet")
        if not body:
            last = self._witness.last
            return canonical({"last": last.size if last else 0})
        return canonical({"name": self.name, "signature": self._witness.sign(parse(body))})

    def head(self, _: bytes) -> bytes:
        """See `BoardWitness.stated`."""
        return self._witness.stated()

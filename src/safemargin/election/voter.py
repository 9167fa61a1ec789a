"""A person's wallet: one seed from which keys and tokens follow, and receipts of the ballots that were sent.

The seed is what the recovery sheet holds: with it, issuers give the same blind signatures to the same requests. The
randomness of ballots is fresh each time, never follows from the seed and is never stored, so that the wallet cannot
show how anybody voted; it does show which ballots are its owner's.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from safemargin.core import InputError
from safemargin.election.auditing import PreparedBallot
from safemargin.election.ballots import BallotFormat, Envelope, ballot_name
from safemargin.election.blind import PREFIX
from safemargin.election.board import Board
from safemargin.election.collecting import receipt_statement
from safemargin.election.escrow import (
    EscrowCandidate,
    blob_hash,
    challenge,
    commitment,
    identity_message,
    one_time_key,
    pledge,
)
from safemargin.election.group import random_scalar
from safemargin.election.keys import (
    ALPHABET,
    canonical,
    check_letter,
    derive,
    new_seed,
    parse,
    read_code,
    typeable,
    typed,
    unhex,
)
from safemargin.election.manifests import EVERYBODY, NO_ANSWER, Dimension, KnownElection
from safemargin.election.receipts import ENROLLED, Receipt, registered, state_of
from safemargin.election.wording import PersonError
from safemargin.io import read_json, require_private
from safemargin.parties.files import write_private

RECOVERED = 1_000
"""First ballot number of a wallet that was recovered: above the numbers that the lost one can have used."""
SHEET = 52
"""Letters of a seed on a recovery sheet."""


def recovery_sheet(seed: bytes) -> str:
    """A seed for paper: 52 letters in groups of four, and a check letter."""
    letters = typeable(seed + b"\0", SHEET)
    return f"{letters}-{check_letter(typed(letters))}"


def read_sheet(text: str) -> bytes:
    """The seed of a recovery sheet; refused with a plain sentence if a letter is wrong."""
    letters = typed(text)
    alphabet = {letter: number for number, letter in enumerate(ALPHABET)}
    if len(letters) != SHEET + 1 or any(letter not in alphabet for letter in letters):
        raise PersonError("sheet_form")
    if check_letter(letters[:SHEET]) != letters[SHEET]:
        raise PersonError("sheet_letter")
    number = 0
    for letter in letters[:SHEET]:
        number = number * 32 + alphabet[letter]
    return (number >> (5 * SHEET - 256)).to_bytes(32, "big")


class Wallet:
    """Everything that one person holds. `state` is plain JSON; with a path it is kept in a file for its owner alone."""

    def __init__(self, election: KnownElection, state: dict[str, Any], path: Path | None = None) -> None:
        self.election, self.state, self.path = election, state, path
        if state["election"] != election.mid.hex():
            raise InputError(f"{path or 'wallet'}: belongs to another election")

    @classmethod
    def new(cls, election: KnownElection, row: str, code: str, path: Path | None = None) -> "Wallet":
        """A wallet for a row of the roll, with the code that the registrar sent."""
        seed = new_seed().hex()
        state = {"election": election.mid.hex(), "row": row, "code": read_code(code), "seed": seed, "tokens": {}}
        wallet = cls(election, state, path)
        wallet.save()
        return wallet

    @classmethod
    def recover(cls, election: KnownElection, row: str, code: str, sheet: str, path: Path | None = None) -> "Wallet":
        """The wallet of a recovery sheet: the same keys and tokens; its ballots have higher numbers."""
        wallet = cls.new(election, row, code, None)
        wallet.path = path
        wallet.state |= {"seed": read_sheet(sheet).hex(), "number": RECOVERED}
        wallet.save()
        return wallet

    @property
    def sheet(self) -> str:
        """What to write down or print: whoever has it can vote in the person's place."""
        return recovery_sheet(bytes.fromhex(self.state["seed"]))

    @classmethod
    def read(cls, election: KnownElection, path: Path) -> "Wallet":
        """A wallet from its file."""
        require_private(path)
        state = read_json(path)
        match state:
            case {"election": str(), "row": str(), "code": str(), "seed": str(seed), "tokens": dict(tokens)}:
                if all(isinstance(token, dict) for token in tokens.values()) and re.fullmatch("[0-9a-f]{64}", seed):
                    return cls(election, state, path)
        raise InputError(f"{path}: is not a wallet")

    def save(self) -> None:
        """Keep the state, whole or not at all."""
        if self.path is not None:
            write_private(self.path, canonical(self.state))

    @property
    def key(self) -> Ed25519PrivateKey:
        """The enrolment key: it signs requests for tokens, never an answer."""
        return Ed25519PrivateKey.from_private_bytes(derive(bytes.fromhex(self.state["seed"]), "enrolment", 32))

    def enrolment(self) -> bytes:
        """The message to the registrar."""
        key = self.key.public_key().public_bytes_raw().hex()
        return canonical({"row": self.state["row"], "code": self.state["code"], "key": key})

    def take_enrolment(self, answer: bytes) -> None:
        """Keep the registrar's signed answer."""
        enrolment = parse(answer)
        stated = {name: value for name, value in enrolment.items() if name != "signature"}
        registrar, own = self.election.only("registrar").name, self.key.public_key().public_bytes_raw().hex()
        signature = enrolment.get("signature")
        if stated.get("key") != own or not self.election.is_signed(
            signature, registrar, self.state["row"], "enrolled", canonical(stated)
        ):
            raise InputError("the answer is not signed by the registrar, or is about another key")
        self.state |= {"enrolment": enrolment, "categories": stated["categories"]}
        self.save()

    def category(self, dimension: Dimension) -> str | None:
        """The category that the registrar attests, or None where the person reports it."""
        if dimension.is_total:
            return EVERYBODY
        if "categories" not in self.state:
            raise InputError("the wallet is not enrolled yet")
        return None if dimension.self_reported else str(self.state["categories"][dimension.name])

    def _token(self, name: str) -> dict[str, Any]:
        tokens: dict[str, dict[str, Any]] = self.state["tokens"]
        if name not in tokens:
            tokens[name] = {"seed": self._derived(f"token {name}")}
            self.save()
        return tokens[name]

    def _derived(self, label: str) -> str:
        return derive(bytes.fromhex(self.state["seed"]), label, 32).hex()

    def _one_time(self, name: str) -> Ed25519PrivateKey:
        return one_time_key(bytes.fromhex(self._token(name)["seed"]))

    def _candidate(self, dimension: Dimension, seed: bytes | None = None) -> EscrowCandidate:
        """The token of a dimension before it is signed, or another candidate for it."""
        seed = bytes.fromhex(self._token(dimension.name)["seed"]) if seed is None else seed
        proof = b""
        if self.election.escrow_of(dimension) is not None:
            public = one_time_key(seed).public_key().public_bytes_raw()
            proof = self.key.sign(identity_message(self.election.context(dimension.name), public))
        label = dimension.label(self.category(dimension) or next(iter(dimension.sizes)))
        return EscrowCandidate(self.election, dimension, label, self.state["row"], seed, proof)

    def _signed(self, purpose: bytes, message: dict[str, Any]) -> bytes:
        signature = self.key.sign(purpose + self.election.mid + canonical(message))
        return canonical({**message, "signature": signature.hex()})

    def requests(self) -> bytes:
        """One message to every issuer: the registrar's word, and a request for a token of every dimension."""
        if "enrolment" not in self.state:
            raise InputError("the wallet is not enrolled yet")
        made = [self.request(name) for name in self.election.dimensions]
        return canonical({"enrolment": self.state["enrolment"], "requests": made})

    def request(self, name: str) -> dict[str, Any]:
        """The request for a token: one blinded message for every issuer."""
        dimension, token = self.election.dimension(name), self._token(name)
        candidate = self._candidate(dimension)
        request: dict[str, Any] = {"row": self.state["row"], "dimension": name, "category": candidate.label}
        request["blinded"] = candidate.request()
        if self.election.escrow_of(dimension) is not None:
            if "openings" not in token:
                raise InputError(f"{name}: the issuers have not drawn a candidate yet")
            request["escrow"] = {part: token[part] for part in ("commits", "nonces", "openings")}
        return parse(self._signed(b"GV2 issue", request))

    def candidates(self, name: str, pledges: Mapping[str, Mapping[str, Any]]) -> bytes:
        """Commitments to candidates for a token, one of which the issuers will draw; they follow from the seed."""
        dimension, token = self.election.dimension(name), self._token(name)
        escrow = self.election.escrow_of(dimension)
        assert escrow is not None
        if "commits" not in token:
            seeds = [self._derived(f"candidate {name} {number}") for number in range(escrow.candidates)]
            commits = [commitment(self._candidate(dimension, bytes.fromhex(seed)).request()) for seed in seeds]
            token |= {"commits": commits, "seeds": seeds}
        token["pledges"] = {i: {k: given[k] for k in ("pledge", "signature")} for i, given in pledges.items()}
        self.save()
        message = {part: token[part] for part in ("commits", "pledges")}
        return self._signed(b"GV2 candidates", {"row": self.state["row"], "dimension": name, **message})

    def take_nonces(self, name: str, nonces: Mapping[str, str]) -> None:
        """Open all candidates but the one that the nonces draw; its seed is the token's."""
        dimension, token = self.election.dimension(name), self._token(name)
        for issuer, given in token["pledges"].items():
            if pledge(unhex(nonces.get(issuer), 32)) != given["pledge"]:
                raise InputError(f"{name}: the nonce of {issuer} is not the one that it pledged; keep it as evidence")
        subject = canonical([self.state["row"], name])
        chosen = challenge(self.election, token["commits"], subject, nonces)
        openings = {}
        for index, seed in enumerate(token["seeds"]):
            if index != chosen:
                proof = self._candidate(dimension, bytes.fromhex(seed)).proof
                openings[str(index)] = {"seed": seed, "proof": proof.hex()}
        token |= {"seed": token["seeds"][chosen], "nonces": dict(nonces), "openings": openings}
        self.save()

    def take_answers(self, answer: bytes) -> None:
        """Keep one issuer's signatures; a wrong one is refused and is evidence, since the request was signed."""
        stated = parse(answer)
        issuer, answers = stated.get("issuer"), stated.get("answers")
        if not isinstance(answers, dict) or set(answers) != set(self.election.dimensions):
            raise InputError("the answer does not hold a signature for every dimension")
        for name, text in answers.items():
            dimension = self.election.dimension(name)
            if not isinstance(issuer, str) or issuer not in dimension.keys:
                raise InputError(f"{name}: the answer is from no issuer of this election")
            candidate = self._candidate(dimension)
            _, inverse = candidate.blinded(issuer)
            key = self.election.blind_keys[name, issuer, candidate.label]
            signature = key.finish(candidate.message(issuer), unhex(text), inverse)
            self._token(name).setdefault("signatures", {})[issuer] = signature.hex()
        self.save()

    def has_token(self, name: str) -> bool:
        """Whether all issuers signed."""
        return set(self.election.dimension(name).keys) <= set(self._token(name).get("signatures", {}))

    def prepare(self, name: str, option: str, category: str | None = None) -> PreparedBallot:
        """A ballot with fresh randomness, not signed yet: show its hash, then audit or cast it."""
        dimension, token = self.election.dimension(name), self._token(name)
        if not self.has_token(name):
            raise InputError(f"{name}: the token is not signed yet by all issuers")
        format_ = BallotFormat(self.election, dimension)
        chosen = self.category(dimension) or category
        if chosen is None and option != NO_ANSWER:
            raise PersonError("choose_category", dimension=name)
        candidate = self._candidate(dimension)
        tokens = [(candidate.message(i)[:PREFIX], bytes.fromhex(token["signatures"][i])) for i in format_.issuers]
        randomness = [random_scalar() for _ in range(4 * len(format_.cells) + 1)]
        number = 1 + max(int(self.state.get("number", 0)), int(token.get("number", 0)))
        body = format_.make(
            format_.choice(option, chosen or ""),
            format_.category_number(chosen or ""),
            number,
            self._one_time(name).public_key().public_bytes_raw(),
            blob_hash(candidate.sealed),
            tokens,
            randomness,
        )
        return PreparedBallot(name, option, chosen or "" if dimension.self_reported else "", body, randomness)

    def cast(self, prepared: PreparedBallot) -> None:
        """Sign and seal a prepared ballot; the message waits in the wallet until the box gave a receipt."""
        if prepared.decided:
            raise PersonError("audited")
        prepared.decided = True
        name = prepared.dimension
        dimension, token = self.election.dimension(name), self._token(name)
        format_ = BallotFormat(self.election, dimension)
        ballot = format_.sign(prepared.body, self._one_time(name))
        nonce = new_seed()
        message = Envelope(self.election).close(ballot, nonce, self._candidate(dimension).sealed)
        token |= {"number": int.from_bytes(message[:4], "big"), "message": message.hex()}
        token |= {"ballot": ballot_name(ballot).hex(), "nonce": nonce.hex(), "content": ballot.hex()}
        token.pop("receipt", None)
        self.save()

    def message(self, name: str) -> bytes:
        """The sealed ballot for the box; the same one again until another is cast."""
        token = self._token(name)
        if "message" not in token:
            raise InputError(f"{name}: there is no ballot yet")
        return bytes.fromhex(token["message"])

    def take_receipt(self, name: str, answer: bytes) -> None:
        """Keep the signed receipt of the box."""
        stated = parse(answer)
        signature = stated.pop("signature", None)
        box, expected = self.election.only("box").name, receipt_statement(self.message(name))
        if stated != expected or not self.election.is_signed(signature, box, "sender", "taken", canonical(stated)):
            raise InputError(f"{name}: the receipt is not signed by the box, or is about something else")
        self._token(name)["receipt"] = signature
        self.save()

    def objection(self, name: str) -> bytes:
        """A ballot with its receipt: the collector adds it if it is not on the board, and it decides a complaint.

        It shows everybody which ballot is this person's, though not what is in it.
        """
        token = self._token(name)
        if "receipt" not in token:
            raise InputError(f"{name}: there is no receipt of the box")
        stated = {"message": token["message"], "signature": token["receipt"], "nonce": token["nonce"]}
        blob = self._candidate(self.election.dimension(name)).sealed.hex()
        return canonical({**stated, "ballot": token["content"], "blob": blob})

    def check(self, name: str, board: Board) -> Receipt:
        """Whether the ballot is on the board; if not, who dropped it. The board was verified before."""
        token = self._token(name)
        if "ballot" not in token:
            return Receipt(name, False, "not_sent")
        if not board.of("ballots"):
            return Receipt(name, False, "not_published")
        state = state_of(board, name, bytes.fromhex(token["ballot"]), unhex(token["message"]))
        return Receipt(name, state[0] == "on_board", *state)

    def enrolment_fault(self, board: Board) -> str | None:
        """Why the register on the board does not fit this person, who enrolled; None if it does."""
        if not board.of("register"):
            return None
        state = registered(board, self.state["row"], self.state["code"])
        return None if state == ENROLLED else f"The register: {state}."

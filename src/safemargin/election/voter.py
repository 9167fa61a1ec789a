"""A person's side: keys, tokens, records and proofs in one file that never leaves their machine."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from safemargin.core import InputError, system_below
from safemargin.election.blind import PREFIX
from safemargin.election.board import Board
from safemargin.election.escrow import (
    EscrowCandidate,
    blob_hash,
    challenge,
    commitment,
    identity_message,
    one_time_key,
    pledge,
)
from safemargin.election.keys import canonical, derive, new_seed, parse, unhex
from safemargin.election.manifest import EVERYBODY, Dimension, KnownElection
from safemargin.election.merkle import inclusion_path, is_included, leaf_hash, root_of
from safemargin.election.records import (
    Record,
    RecordFormat,
    category_number,
    leaves_of,
    read_items,
)
from safemargin.election.secret import write_private
from safemargin.io import read_json, require_private


@dataclass(frozen=True)
class Receipt:
    """Where a person's record is: enough for anybody to check that it was counted, without its answer."""

    dimension: str
    included: bool
    statement: str
    leaf: str = ""
    index: int = 0
    size: int = 0
    path: tuple[str, ...] = ()
    root: str = ""

    def holds(self) -> bool:
        """Whether the path leads from the record to the root that the board published."""
        path = [bytes.fromhex(node) for node in self.path]
        root = bytes.fromhex(self.root)
        return self.included and is_included(bytes.fromhex(self.leaf), self.index, self.size, path, root)


class Wallet:
    """Everything that one person holds. `state` is plain JSON; with a path it is kept in a file for its owner alone."""

    def __init__(self, election: KnownElection, state: dict[str, Any], path: Path | None = None) -> None:
        self.election, self.state, self.path = election, state, path
        if state["election"] != election.mid.hex():
            raise InputError(f"{path or 'wallet'}: belongs to another election")

    @classmethod
    def new(cls, election: KnownElection, row: str, code: str, path: Path | None = None) -> "Wallet":
        """A wallet for a row of the roll, with the code that the registrar sent."""
        state = {"election": election.mid.hex(), "row": row, "code": code, "seed": new_seed().hex(), "tokens": {}}
        wallet = cls(election, state, path)
        wallet.save()
        return wallet

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
        stated = parse(answer)
        signature = stated.pop("signature", None)
        registrar = self.election.only("registrar").name
        if not self.election.is_signed(signature, registrar, self.state["row"], "enrolled", canonical(stated)):
            raise InputError("the answer is not signed by the registrar")
        self.state |= {"salt": stated["salt"], "categories": stated["categories"]}
        self.save()

    def category(self, dimension: Dimension) -> str | None:
        """The category that the registrar attests, or None where the person reports it."""
        if dimension.is_open:
            return EVERYBODY
        if "categories" not in self.state:
            raise InputError("the wallet is not enrolled yet")
        return None if dimension.self_reported else str(self.state["categories"][dimension.name])

    def _token(self, name: str) -> dict[str, Any]:
        tokens: dict[str, dict[str, Any]] = self.state["tokens"]
        if name not in tokens:
            tokens[name] = {"seed": new_seed().hex()}
            self.save()
        return tokens[name]

    def _one_time(self, name: str) -> Ed25519PrivateKey:
        return one_time_key(bytes.fromhex(self._token(name)["seed"]))

    def _candidate(self, dimension: Dimension, seed: bytes | None = None) -> EscrowCandidate:
        """The token of a dimension before it is signed, or another candidate for it."""
        seed = bytes.fromhex(self._token(dimension.name)["seed"]) if seed is None else seed
        proof = b""
        if self.election.manifest.escrow is not None:
            public = one_time_key(seed).public_key().public_bytes_raw()
            proof = self.key.sign(identity_message(self.election.context(dimension.name), public))
        label = dimension.label(self.category(dimension) or next(iter(dimension.sizes)))
        return EscrowCandidate(self.election, dimension, label, self.state["row"], seed, proof)

    def _signed(self, purpose: bytes, message: dict[str, Any]) -> bytes:
        signature = self.key.sign(purpose + self.election.mid + canonical(message))
        return canonical({**message, "signature": signature.hex()})

    def request(self, name: str) -> bytes:
        """The request for a token: one blinded message for every issuer, so that a silent one can be replaced."""
        dimension, token = self.election.dimension(name), self._token(name)
        candidate = self._candidate(dimension)
        request: dict[str, Any] = {"row": self.state["row"], "dimension": name, "category": candidate.label}
        request["blinded"] = candidate.request()
        if self.election.manifest.escrow is not None:
            if "openings" not in token:
                raise InputError(f"{name}: the issuers have not drawn a candidate yet")
            parts = ("attempt", "commits", "nonces", "openings")
            request["escrow"] = {part: token[part] for part in parts}
        return self._signed(b"GV1 issue", request)

    def candidates(self, name: str, pledges: Mapping[str, Mapping[str, Any]]) -> bytes:
        """Commitments to candidates for a token, one of which the issuers will draw; new ones for every attempt."""
        escrow, dimension, token = self.election.manifest.escrow, self.election.dimension(name), self._token(name)
        assert escrow is not None
        (attempt,) = {given["attempt"] for given in pledges.values()}
        if token.get("attempt") != attempt:
            seeds = [new_seed() for _ in range(escrow.candidates)]
            commits = [commitment(self._candidate(dimension, seed).request()) for seed in seeds]
            kept = {issuer: {k: given[k] for k in ("pledge", "signature")} for issuer, given in pledges.items()}
            token.clear()
            token |= {"seed": seeds[0].hex(), "attempt": attempt, "commits": commits, "pledges": kept}
            token["seeds"] = [seed.hex() for seed in seeds]
            self.save()
        message = {part: token[part] for part in ("attempt", "commits", "pledges")}
        return self._signed(b"GV1 candidates", {"row": self.state["row"], "dimension": name, **message})

    def take_nonces(self, name: str, nonces: Mapping[str, str]) -> None:
        """Open all candidates but the one that the nonces draw; its seed is the token's."""
        dimension, token = self.election.dimension(name), self._token(name)
        for issuer, given in token["pledges"].items():
            if pledge(unhex(nonces.get(issuer), 32)) != given["pledge"]:
                raise InputError(f"{name}: the nonce of {issuer} is not the one that it pledged; keep it as evidence")
        subject = canonical([self.state["row"], name, token["attempt"]])
        chosen = challenge(self.election, token["commits"], subject, nonces)
        openings = {}
        for index, seed in enumerate(token["seeds"]):
            if index != chosen:
                proof = self._candidate(dimension, bytes.fromhex(seed)).proof
                openings[str(index)] = {"seed": seed, "proof": proof.hex()}
        token |= {"seed": token["seeds"][chosen], "nonces": dict(nonces), "openings": openings}
        self.save()

    def take_answer(self, name: str, answer: bytes) -> None:
        """Keep one issuer's signature; a wrong one is refused and is evidence, since the request was signed."""
        dimension, stated = self.election.dimension(name), parse(answer)
        issuer = stated.get("issuer")
        if not isinstance(issuer, str) or issuer not in dimension.keys:
            raise InputError(f"{name}: the answer is from no issuer of this election")
        candidate = self._candidate(dimension)
        _, inverse = candidate.blinded(issuer)
        key = self.election.blind_keys[name, issuer, candidate.label]
        signature = key.finish(candidate.message(issuer), unhex(stated.get("answer")), inverse)
        self._token(name).setdefault("signatures", {})[issuer] = signature.hex()
        self.save()

    def has_token(self, name: str, signers: Sequence[str]) -> bool:
        """Whether the whole active set signed."""
        return set(signers) <= set(self._token(name).get("signatures", {}))

    def cast(self, name: str, option: str, signers: tuple[str, ...], category: str | None = None) -> bytes:
        """The onion with the answer. Asked again it is the same one: a second answer under a token never leaves."""
        token = self._token(name)
        if "onion" not in token:
            dimension = self.election.dimension(name)
            if not self.has_token(name, signers):
                missing = [issuer for issuer in signers if issuer not in token.get("signatures", {})]
                raise InputError(f"{name}: the token is not signed yet by {', '.join(missing)}")
            format_, key = RecordFormat(self.election, dimension, signers), self._one_time(name)
            public = key.public_key().public_bytes_raw()
            chosen = self.category(dimension) or category
            if chosen is None:
                raise InputError(f"{name}: state your category, one of {', '.join(dimension.sizes)}")
            candidate = self._candidate(dimension)
            signatures = tuple(
                (candidate.message(issuer)[:PREFIX], bytes.fromhex(token["signatures"][issuer])) for issuer in signers
            )
            blob = candidate.sealed
            number = category_number(dimension, chosen)
            payload = format_.payload_for(chosen, option, public)
            record = format_.write(Record(number, public, blob_hash(blob), signatures, payload), key)
            layers = format_.wrap(record, blob)
            token["layers"] = [leaf_hash(layer).hex() for layer in [*layers[:-1], record]]
            token["onion"] = layers[0].hex()
            self.save()
        return bytes.fromhex(token["onion"])

    def take_taken(self, name: str, answer: bytes) -> None:
        """Keep the first mixer's signed receipt."""
        stated = parse(answer)
        signature = stated.pop("signature", None)
        mixer = self.election.manifest.of("mixer")[0].name
        onion = hashlib.sha256(bytes.fromhex(self._token(name)["onion"])).hexdigest()
        if stated != {"dimension": name, "onion": onion} or not self.election.is_signed(
            signature, mixer, "sender", "taken", canonical(stated)
        ):
            raise InputError(f"{name}: the receipt is not signed by the first mixer, or is about something else")
        self._token(name)["taken"] = signature
        self.save()

    def send_times(self, names: Sequence[str], spread: int) -> dict[str, float]:
        """When to send each answer, in seconds from now: independent and uniform, so that times say nothing."""
        draws = system_below(1_000_000, (len(names),))
        return {name: float(draw) * spread / 1_000_000 for name, draw in zip(names, draws, strict=True)}

    def check(self, name: str, board: Board) -> Receipt:
        """Whether the record is on the board; if not, which mixer did not pass it on."""
        layers = self._token(name).get("layers")
        if layers is None:
            return Receipt(name, False, "nothing was sent for this dimension")
        batch = next((entry for entry in board.of("batch") if entry.body["dimension"] == name), None)
        if batch is None:
            return Receipt(name, False, "the records are not published yet")
        if not batch.body["opened"]:
            return Receipt(name, False, "too few people answered: nothing was opened")
        format_ = RecordFormat(self.election, self.election.dimension(name), board.signers)
        leaves = leaves_of(read_items(board.folder / "records" / name, format_.size))
        leaf = bytes.fromhex(layers[-1])
        if leaf in leaves and root_of(leaves).hex() == batch.body["root"]:
            index = leaves.index(leaf)
            path = tuple(node.hex() for node in inclusion_path(leaves, index))
            statement = f"record {index + 1:,} of {len(leaves):,} on the board"
            return Receipt(name, True, statement, layers[-1], index, len(leaves), path, batch.body["root"])
        return Receipt(name, False, self._complaint(name, layers, board))

    def _complaint(self, name: str, layers: Sequence[str], board: Board) -> str:
        """Name the mixer that dropped the record: its own list, or the lack of it, is the evidence."""
        for position, mixer in enumerate(self.election.manifest.of("mixer")):
            path = board.folder / "mixes" / f"{mixer.name}-{name}"
            if bytes.fromhex(layers[position + 1]) not in read_items(path, 32):
                return f"{mixer.name} did not pass the record on; the signed receipt of the first mixer is the evidence"
        return "the mixers passed the record on, and the collector did not publish it"

    def check_enrolment(self, answer: bytes, roll: Mapping[str, Any]) -> bool:
        """Whether the register on the board holds this person's key."""
        stated = parse(answer)
        public = self.key.public_key().public_bytes_raw()
        leaf = leaf_hash(bytes.fromhex(self.state["salt"]) + self.state["row"].encode() + public)
        path = [unhex(node, 32) for node in stated["path"]]
        return is_included(leaf, stated["index"], roll["enrolled"], path, bytes.fromhex(roll["root"]))

    def forget(self) -> None:
        """Delete what could show how the person answered; the hashes that prove inclusion stay."""
        for token in self.state["tokens"].values():
            for name in ("seed", "seeds", "openings", "signatures", "onion"):
                token.pop(name, None)
        self.save()

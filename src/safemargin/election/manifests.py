"""The manifest: one canonical file that fixes an election before it starts, signed by every party."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from unicodedata import normalize

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from safemargin.core import InputError
from safemargin.election.blind import BlindKey
from safemargin.election.keys import canonical, fingerprint, sealing_public, unhex
from safemargin.election.threshold import Dealing, TallyKey
from safemargin.io import check_keys, parse_json, read_bytes
from safemargin.parties.signature import is_signed, sign

TOTAL = "total"
EVERYBODY = "everybody"
NO_ANSWER = "no answer"
"""What a person casts who skips a dimension; it is encrypted like every other answer."""
SELF = "*"
"""Name of the one issuing key of a self-reported dimension."""
LEAST_BITS = 2048
Counts = dict[str, Counter[str]]
"""Answers of one dimension: category, then option."""
Role = Literal["registrar", "issuer", "box", "collector", "board", "trustee", "escrow"]
APART = ("collector", "issuer", "registrar", "trustee")
"""Roles that the organisation of the box must not have: it sees where ballots come from."""
Name = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f/\\|]{1,60}$")]


def _is_short(name: str) -> str:
    if len(name.encode()) > 60:
        raise ValueError("has more than 60 bytes in UTF-8; files are named after it")
    return name


FileName = Annotated[Name, StringConstraints(pattern=r"^[^. ]"), AfterValidator(_is_short)]
"""Name of a party or dimension: files are named after it, and those that begin with a dot are hidden."""
Hex = Annotated[str, StringConstraints(pattern="^([0-9a-f]{2})*$")]
Digest = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
SealKey = Annotated[str, StringConstraints(pattern="^[0-9a-f]{2432}$")]
Address = Annotated[str, StringConstraints(pattern=r"^(https://[^\s/]+[^\s]*)?$")]
Modulus = Annotated[str, StringConstraints(pattern="^[1-9a-f][0-9a-f]*$")]
SECTIONS = {"target", "onlookers", "outputs"}
"""Sections of a release project that a manifest may fix."""


class ManifestPart(BaseModel):
    """A part of a manifest: nothing unknown, nothing that changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Party(ManifestPart):
    """Who plays a role, for which organisation, and under which public keys."""

    name: FileName
    role: Role
    organisation: Name
    address: Address = ""
    certificate: str = ""
    """The certificate for TLS that readers trust, if it is not one of a public authority."""
    key: Digest
    """Ed25519, for signatures."""
    seal: SealKey
    """HPKE, for messages to this party."""

    @property
    def owner(self) -> str:
        """The organisation, however it is written: blanks, capitals and forms of letters make no other one."""
        return "".join(normalize("NFKC", self.organisation).casefold().split())


class Dimension(ManifestPart):
    """One sealed election; the total is one with a single category."""

    name: FileName
    categories: list[Name]
    people: list[int]
    """People on the roll by category: no category ever counts more."""
    parts: list[list[Name]]
    """Labels of the roll behind every category: groups below the minimum are merged here, and have no key of their
    own.
    """
    self_reported: bool = False
    keys: dict[Name, dict[str, Modulus]]
    """Moduli in hexadecimal digits: issuer, then category."""
    certificates: dict[Name, dict[str, Hex]]
    """Roots that show that every modulus is a key: issuer, then category."""

    @cached_property
    def sizes(self) -> dict[str, int]:
        """People on the roll by category, in the order of the plan."""
        return dict(zip(self.categories, self.people, strict=True))

    @property
    def is_total(self) -> bool:
        """Whether this is the binding total."""
        return self.name == TOTAL

    def category_of(self, label: str) -> str:
        """The category that a label of the roll belongs to."""
        for category, labels in zip(self.categories, self.parts, strict=True):
            if label in labels:
                return category
        raise InputError(f"{self.name}: the roll has the category {label[:60]!r}; the manifest does not")

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the issuing keys: one per category that the registrar attests."""
        return (SELF,) if self.self_reported else tuple(self.sizes)

    def label(self, category: str) -> str:
        """The issuing key for a category."""
        if category not in self.sizes:
            raise InputError(f"{self.name}: there is no category {category[:60]!r}; there are {', '.join(self.sizes)}")
        return SELF if self.self_reported else category


class Escrow(ManifestPart):
    """The governed exception: so many candidates per token, so many trustees to open one record."""

    candidates: int = Field(ge=2, le=128)
    """One in so many people can hide their identity without being caught."""
    quorum: int = Field(ge=2)
    keys: dict[Name, str] = {}
    """X25519 keys of the escrow trustees."""


class StatedDealing(ManifestPart):
    """What a trustee showed when the tally key was made: commitments, proof, and sealed shares for the others."""

    pledge: Digest
    commitments: list[Digest]
    proof: Annotated[str, StringConstraints(pattern="^[0-9a-f]{128}$")]
    shares: dict[Name, Hex] = {}


class ElectionManifest(ManifestPart):
    """Everything that may not change after the start."""

    version: Literal[2]
    title: str
    question: str
    electorate: int = Field(ge=1)
    options: list[Name] = Field(min_length=2, max_length=100)
    dimensions: list[Dimension] = Field(min_length=2)
    joint: list[list[str | int]] | None = None
    """The roll by all attested dimensions together, where it is public: categories, then people."""
    parties: list[Party]
    openers: int = Field(ge=2)
    """Trustees that decrypt sums together, and that sign the release."""
    least: int = Field(ge=2)
    """Accepted ballots without which nothing of a dimension is decrypted."""
    kappa: int = Field(ge=1)
    share: int = Field(ge=0, le=50)
    """Minimum group of the release: the larger of `kappa` and this percentage of the accepted ballots."""
    opens: str
    closes: str
    retention: str
    """Dates in words for people; windows open and close by entries on the board."""
    plan: Digest
    """Hash of the plan, to which the shares of the tally key are bound."""
    tally: dict[Name, StatedDealing]
    """How the tally key was made, by trustee; nobody has it."""
    release: str
    """Sections of the release project as JSON: target, onlookers, outputs."""
    escrow: Escrow | None = None

    @model_validator(mode="after")
    def _is_lawful(self) -> Self:
        for fault in self.faults():
            raise ValueError(fault)
        return self

    def faults(self) -> list[str]:
        """Why this manifest must not be used."""
        wrong = [f"{role}: needs at least {few}" for role, few in self._fewest.items() if len(self.of(role)) < few]
        if len({party.name for party in self.parties}) < len(self.parties):
            wrong.append("parties: two have the same name")
        names = [dimension.name for dimension in self.dimensions]
        if len(set(names)) < len(names) or names.count(TOTAL) != 1 or NO_ANSWER in self.options:
            wrong.append(f"dimensions: must be distinct and have {TOTAL!r}; no option may be {NO_ANSWER!r}")
        if len(set(self.options)) < len(self.options):
            wrong.append("options: two are equal")
        issuers = {party.name for party in self.of("issuer")}
        for dimension in self.dimensions:
            labels = [label for part in dimension.parts for label in part]
            if not len(set(dimension.categories)) == len(dimension.people) == len(dimension.categories):
                wrong.append(f"{dimension.name}: categories must differ, each with its people")
            if len(dimension.parts) != len(dimension.categories) or len(set(labels)) < len(labels):
                wrong.append(f"{dimension.name}: every label of the roll belongs to one category")
            if sum(dimension.people) != self.electorate:
                wrong.append(f"{dimension.name}: sizes must add up to the electorate")
            if set(dimension.keys) != issuers or any(set(k) != set(dimension.labels) for k in dimension.keys.values()):
                wrong.append(f"{dimension.name}: needs one key per issuer and category")
        moduli = [
            int(n, 16) for dimension in self.dimensions for keys in dimension.keys.values() for n in keys.values()
        ]
        bits = {modulus.bit_length() for modulus in moduli}
        if len(set(moduli)) < len(moduli) or len(bits) != 1 or min(bits) < LEAST_BITS:
            wrong.append(f"keys: issuing keys must differ, and all have the same size of at least {LEAST_BITS} bits")
        wrong += self._uncertified()
        wrong += self._sealing_faults()
        wrong += self._tally_faults()
        wrong += _section_faults(self.release)
        if self.escrow is not None:
            if list(self.escrow.keys) != [party.name for party in self.of("escrow")]:
                wrong.append("escrow: every escrow trustee has a key")
            if len({party.owner for party in self.of("escrow")}) < self.escrow.quorum:
                wrong.append(f"escrow: trustees must come from at least {self.escrow.quorum} organisations")
        elif self.of("escrow"):
            wrong.append("escrow: there are trustees, and no section that says how many open a record")
        return wrong + self._concentrations()

    def _uncertified(self) -> Iterator[str]:
        for dimension in self.dimensions:
            for issuer, moduli in dimension.keys.items():
                for label, modulus in moduli.items():
                    roots = unhex(dimension.certificates.get(issuer, {}).get(label))
                    if not BlindKey(int(modulus, 16)).is_permutation(roots):
                        yield f"keys: {issuer}: {dimension.name}/{label}: the key has no valid certificate"

    def _sealing_faults(self) -> Iterator[str]:
        for party in self.parties:
            try:
                sealing_public(party.seal)
            except InputError as error:
                yield f"parties: {party.name}: {error}"

    def _tally_faults(self) -> Iterator[str]:
        trustees = [party.name for party in self.of("trustee")]
        if list(self.tally) != trustees or self.openers > len(trustees):
            yield "tally: every trustee deals, in the order of the parties, and no more open than there are"
            return
        for name, stated in self.tally.items():
            others = set() if self.openers == len(trustees) else set(trustees) - {name}
            if set(stated.shares) != others:
                yield f"tally: {name}: there is one sealed share for every other trustee where not all open, else none"
            dealing = dealing_of(name, stated)
            if fault := dealing.fault(bytes.fromhex(self.plan), stated.pledge, self.openers, len(trustees)):
                yield f"tally: {fault}"

    @property
    def freezers(self) -> int:
        """How many trustees freeze one set of ballots before anything of it is decrypted: Q = ceil((U + T) / 2).

        Two groups of Q of the U trustees share at least 2 Q - U >= T of them, so one that is honest, where fewer than T
        are not. It never freezes twice. So no two sets of ballots are decrypted, whatever board each trustee was shown:
        their difference would open single ballots. Example: with 2 of 3 all three freeze; with 3 of 5, four.
        """
        return (len(self.tally) + self.openers + 1) // 2

    @property
    def _fewest(self) -> dict[Role, int]:
        fewest: dict[Role, int] = {"registrar": 1, "issuer": 2, "box": 1, "collector": 1, "board": 1}
        return fewest | {"trustee": self.openers} | ({"escrow": self.escrow.quorum} if self.escrow else {})

    def _concentrations(self) -> list[str]:
        """No organisation suffices alone to make tokens or to decrypt; the box is apart from all who could use it."""
        wrong = []
        if any(len(self.of(role)) != 1 for role in ("registrar", "collector", "board", "box")):
            wrong.append("registrar, box, collector and board: there is exactly one of each")
        limits: list[tuple[Role, int]] = [("issuer", len(self.of("issuer"))), ("trustee", self.openers)]
        if self.escrow:
            limits.append(("escrow", self.escrow.quorum))
        for role, limit in limits:
            held = Counter(party.owner for party in self.of(role))
            for party in {party.owner: party for party in self.of(role) if held[party.owner] >= limit}.values():
                count = held[party.owner]
                wrong.append(f"{role}: {party.organisation} alone has {count}; it must have fewer than {limit}")
        collecting = {party.owner for party in self.of("collector")}
        if self.escrow and any(party.owner in collecting for party in self.of("escrow")):
            wrong.append("escrow: the collector's organisation must have no trustee")
        boxes, apart = {box.owner for box in self.of("box")}, ", ".join(APART)
        for party in self.parties:
            if party.role in APART and party.owner in boxes:
                wrong.append(f"box: {party.organisation} is also {party.role}; the box is run by nobody of {apart}")
        return wrong

    def of(self, role: Role) -> list[Party]:
        """The parties of a role, in the order of the manifest."""
        return [party for party in self.parties if party.role == role]


def _section_faults(release: str) -> Iterator[str]:
    """The tallies, the roll and the axes of a release come from the election alone."""
    try:
        sections = parse_json(release, "release")
    except InputError:
        sections = None
    if not isinstance(sections, dict) or not isinstance(sections.get("target", {}), dict):
        yield "release: must be JSON with sections of a release project"
    elif other := sorted(set(sections) - SECTIONS):
        yield f"release.{other[0]}: a manifest fixes only {', '.join(sorted(SECTIONS))}; the election gives the rest"


def dealing_of(name: str, stated: StatedDealing) -> Dealing:
    """A trustee's dealing as the manifest states it."""
    return Dealing(name, tuple(bytes.fromhex(point) for point in stated.commitments), bytes.fromhex(stated.proof))


def first_fault(error: ValidationError) -> str:
    """The first thing that is wrong with a file, and where."""
    first = error.errors()[0]
    place = f"{'.'.join(map(str, first['loc']))}: " if first["loc"] else ""
    return f"{place}{first['msg'].removeprefix('Value error, ')}"


class KnownElection:
    """A manifest with its keys made ready: what every party and every reader knows."""

    def __init__(self, manifest: ElectionManifest) -> None:
        self.manifest = manifest
        self.mid = hashlib.sha256(canonical(manifest.model_dump())).digest()
        self.dimensions = {dimension.name: dimension for dimension in manifest.dimensions}
        self.parties = {party.name: party for party in manifest.parties}

    @classmethod
    def parse(cls, content: bytes, name: str = "manifest") -> "KnownElection":
        """A manifest from its file, checked."""
        check_keys(content, name)
        try:
            return cls(ElectionManifest.model_validate_json(content))
        except ValidationError as error:
            raise InputError(f"{name}: {first_fault(error)}") from None

    @classmethod
    def read(cls, path: Path) -> "KnownElection":
        """A manifest from a file."""
        return cls.parse(read_bytes(path), str(path))

    @property
    def content(self) -> bytes:
        """The file."""
        return canonical(self.manifest.model_dump())

    def dimension(self, name: object) -> Dimension:
        """A dimension by its name."""
        if not isinstance(name, str) or name not in self.dimensions:
            raise InputError(f"dimension: there is none of this name; there are {', '.join(self.dimensions)}")
        return self.dimensions[name]

    def escrow_of(self, dimension: Dimension) -> Escrow | None:
        """The governed exception of a dimension; the binding total never has one."""
        return None if dimension.is_total else self.manifest.escrow

    def only(self, role: Role) -> Party:
        """The one party of a role."""
        return self.manifest.of(role)[0]

    def context(self, dimension: str) -> bytes:
        """Binds messages to one dimension of one election, so that nothing can be replayed elsewhere."""
        return hashlib.sha256(b"GV2" + self.mid + dimension.encode()).digest()

    @cached_property
    def blind_keys(self) -> dict[tuple[str, str, str], BlindKey]:
        """Issuing keys by dimension, issuer and category."""
        return {
            (dimension.name, issuer, label): BlindKey(int(modulus, 16))
            for dimension in self.manifest.dimensions
            for issuer, moduli in dimension.keys.items()
            for label, modulus in moduli.items()
        }

    def token_keys(self, dimension: Dimension, label: str) -> tuple[BlindKey, ...]:
        """The keys that a token of a category must be signed with: those of all issuers."""
        return tuple(self.blind_keys[dimension.name, party.name, label] for party in self.manifest.of("issuer"))

    @cached_property
    def tally_key(self) -> TallyKey:
        """The public side of the key that ballots are encrypted to."""
        dealings = [dealing_of(name, stated) for name, stated in self.manifest.tally.items()]
        return TallyKey(tuple(dealings), self.manifest.openers)

    @property
    def fingerprint(self) -> str:
        """The election's id as letters and pages print it."""
        return fingerprint(self.mid)

    @cached_property
    def keys(self) -> dict[str, Ed25519PublicKey]:
        """The signature key of every party."""
        return {name: Ed25519PublicKey.from_public_bytes(bytes.fromhex(p.key)) for name, p in self.parties.items()}

    def sign(self, key: Ed25519PrivateKey, sender: str, receiver: str, purpose: str, body: bytes) -> str:
        """A party's signature for one receiver and one purpose of this election."""
        return sign(key, self.mid.hex(), receiver, sender, purpose, body)

    def is_signed(self, signature: object, sender: object, receiver: str, purpose: str, body: bytes) -> bool:
        """Whether a party signed this for this receiver and purpose."""
        if not isinstance(sender, str) or not isinstance(signature, str):
            return False
        return is_signed(self.keys.get(sender), signature, self.mid.hex(), receiver, sender, purpose, body)

    def kappa(self, accepted: int) -> int:
        """The minimum group of the release, by the rule of the manifest."""
        return max(self.manifest.kappa, -(-self.manifest.share * accepted // 100))

    @property
    def release_sections(self) -> dict[str, Any]:
        """What the manifest fixes of the release project."""
        sections: Mapping[str, Any] = json.loads(self.manifest.release)
        return dict(sections)

"""Before an election: a plan in TOML, keys of every party, the roll, and the manifest made of them."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, model_validator

from safemargin.core import InputError, Target
from safemargin.election.blind import BlindSigner
from safemargin.election.escrow import escrow_key
from safemargin.election.group import Scalar
from safemargin.election.keys import canonical, new_seed, seal, sealing_public
from safemargin.election.manifests import (
    EVERYBODY,
    SELF,
    TOTAL,
    Address,
    Dimension,
    ElectionManifest,
    Escrow,
    FileName,
    KnownElection,
    ManifestPart,
    Name,
    Party,
    Role,
    StatedDealing,
    first_fault,
)
from safemargin.election.roll import Roll, merge_small
from safemargin.election.secret import Secret
from safemargin.election.threshold import Dealing, evaluate, pledge_of, polynomial
from safemargin.io import parse_toml, plain_label, read_json, read_text

Label = Annotated[Name, AfterValidator(plain_label)]


class PlannedDimension(ManifestPart):
    """A dimension of the plan; the sizes of attested ones come from the roll."""

    categories: list[Label] = Field(min_length=2)
    self_reported: bool = False
    sizes: dict[Label, int] | None = None


class PlannedParty(ManifestPart):
    """Who will play a role."""

    role: Role
    organisation: Name
    address: Address = ""


class ElectionPlan(ManifestPart):
    """What an organiser writes."""

    title: str
    question: str
    options: list[Label]
    dimensions: dict[FileName, PlannedDimension]
    parties: dict[FileName, PlannedParty]
    openers: int = 0
    """Trustees that decrypt together; 0: all of them, which is the default up to three.

    More of them freeze the ballots first: `Manifest.freezers`.
    """
    least: int = 20
    kappa: int = Target.kappa
    share: int = 0
    bits: Literal[2048, 3072, 4096] = 3072
    opens: str = ""
    closes: str = ""
    retention: str = ""
    joint_roll_is_public: bool = False
    release: dict[str, Any] = {}
    escrow: Escrow | None = None

    @model_validator(mode="after")
    def _is_distinct(self) -> Self:
        lists = {"options": self.options} | {f"dimensions.{name}": d.categories for name, d in self.dimensions.items()}
        if twice := [name for name, labels in lists.items() if len(set(labels)) < len(labels)]:
            raise ValueError(f"{twice[0]}: two are equal")
        if TOTAL in self.dimensions:
            raise ValueError(f"dimensions.{TOTAL}: the total is there without being planned; choose another name")
        return self

    @property
    def trustees(self) -> list[str]:
        """Names of the trustees, in their order."""
        return [name for name, party in self.parties.items() if party.role == "trustee"]

    @property
    def needed(self) -> int:
        """Trustees that decrypt together."""
        return self.openers or len(self.trustees)

    @property
    def hash(self) -> bytes:
        """What shares of the tally key are bound to, before there is a manifest."""
        return sha256(canonical(self.model_dump())).digest()

    def key_names(self) -> list[str]:
        """Names of the issuing keys that every issuer needs."""
        names = [f"{TOTAL}/{EVERYBODY}"]
        for name, dimension in self.dimensions.items():
            labels = [SELF] if dimension.self_reported else dimension.categories
            names += [f"{name}/{label}" for label in labels]
        return names


DimensionSizes = Sequence[str] | Mapping[str, int]
"""A planned dimension: categories that the registrar attests, or people per category that they report themselves."""


def plan_text(
    title: str,
    question: str,
    options: Sequence[str],
    dimensions: Mapping[str, DimensionSizes],
    *,
    collector: str,
    others: Sequence[str],
    box: str = "",
    settings: Mapping[str, int | str] | None = None,
    target: Mapping[str, float] | None = None,
) -> str:
    """A plan in TOML with roles spread over organisations, so that none of them suffices alone.

    Every other organisation issues and holds a share of the tally key; the collector's does too where there are only
    two others. The first one registers, the last one keeps the board. The box is run by an organisation of its own.
    """
    if len(set(others)) < 2 or collector in others:
        raise InputError("others: name at least two organisations beside the collector's")
    if not box or box in (collector, *others):
        raise InputError("box: name an organisation that has no other role; it sees where ballots come from")
    three = [*others, collector] if len(others) == 2 else list(others)
    parties = [("registrar", others[0]), *((f"issuer-{n}", name) for n, name in enumerate(three, 1))]
    parties += [("box", box), ("collector", collector), ("board", others[-1])]
    parties += [(f"trustee-{n}", name) for n, name in enumerate(three, 1)]
    shown = {"openers", "least", "kappa", "share", "bits"}
    settings = {"openers": len(three) if len(three) <= 3 else len(three) // 2 + 1, **(settings or {})}
    stated = {name: field.default for name, field in ElectionPlan.model_fields.items() if name in shown}
    lines = [f"{name} = {_toml(value)}" for name, value in ({"title": title, "question": question}).items()]
    lines += [f"options = {_toml(list(options))}"]
    lines += [f"{name} = {_toml(value)}" for name, value in {**stated, **settings}.items()]
    for name, sizes in dimensions.items():
        lines += ["", f"[dimensions.{_key(name)}]", f"categories = {_toml(list(sizes))}"]
        if isinstance(sizes, Mapping):
            lines += ["self_reported = true", f"sizes = {_toml(dict(sizes))}"]
    lines += ["", "[parties]"]
    lines += [
        f"{name} = {_toml({'role': name.partition('-')[0], 'organisation': organisation})}"
        for name, organisation in parties
    ]
    limits = {"beta": Target.beta, "tau": Target.tau, **(target or {})}
    lines += ["", "[release.target]", *(f"{name} = {value}" for name, value in limits.items())]
    text = "\n".join(lines) + "\n"
    parse_plan(text)  # what is handed out can be read
    return text


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: object) -> str:
    """JSON texts, numbers and lists are TOML as they are; tables are not."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(name)} = {_toml(each)}' for name, each in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)


def parse_plan(content: str, name: str = "plan") -> ElectionPlan:
    """A plan from TOML, checked."""
    try:
        return ElectionPlan.model_validate(parse_toml(content, name))
    except ValidationError as error:
        raise InputError(f"{name}: {first_fault(error)}") from None


def read_plan(path: Path) -> ElectionPlan:
    """A plan from its file."""
    return parse_plan(read_text(path), str(path))


@dataclass(frozen=True)
class PublicKeys:
    """What a party hands in for the manifest."""

    name: str
    key: str
    seal: str
    moduli: dict[str, str]
    certificates: dict[str, str]
    """That every issuing key is one, by the key's name."""
    escrow: str = ""
    """X25519, for shares of sealed identities."""
    pledge: str = ""
    """Of a trustee: the hash of its commitments, before anybody shows any."""
    address: str = ""
    certificate: str = ""
    """Where the party is reached, and the certificate that it shows there if no public authority signed it."""

    def document(self) -> bytes:
        """The file."""
        return canonical(asdict(self))


def new_keys(plan: ElectionPlan, name: str) -> Secret:
    """The private keys of a party of the plan."""
    if name not in plan.parties:
        raise InputError(f"party = {name!r}: is not in the plan; there are {', '.join(plan.parties)}")
    labels = plan.key_names() if plan.parties[name].role == "issuer" else []
    signers = {label: BlindSigner.generate(plan.bits) for label in labels}
    return Secret(name, new_seed(), {label: (int(s.p), int(s.q)) for label, s in signers.items()})


def public_keys(
    plan: ElectionPlan,
    secret: Secret,
    certificates: Mapping[str, str] | None = None,
    address: str = "",
    certificate: str = "",
) -> PublicKeys:
    """The public half of a party's keys; certificates of issuing keys are made unless they are given."""
    moduli = {label: f"{p * q:x}" for label, (p, q) in secret.primes.items()}
    signing = secret.signing.public_key().public_bytes_raw().hex()
    escrow = bytes(escrow_key(secret.seed).public_key).hex()
    made = certificates or {label: signer.certificate().hex() for label, signer in secret.signers.items()}
    pledge = ""
    if secret.name in plan.trustees:
        dealing = Dealing.make(plan.hash, secret.name, coefficients_of(plan, secret))
        pledge = pledge_of(plan.hash, secret.name, dealing.commitments)
    address = address or plan.parties[secret.name].address
    return PublicKeys(
        secret.name, signing, secret.sealing.public, moduli, dict(made), escrow, pledge, address, certificate
    )


def coefficients_of(plan: ElectionPlan, secret: Secret) -> list[Scalar]:
    """A trustee's part of the tally key."""
    return polynomial(secret.seed, plan.needed, len(plan.trustees))


def deal(plan: ElectionPlan, secret: Secret, keys: Mapping[str, PublicKeys]) -> StatedDealing:
    """What a trustee shows once the hashes of all trustees are there; with a share for every other one, sealed to
    it.
    """
    if missing := [name for name in plan.trustees if not (name in keys and keys[name].pledge)]:
        raise InputError(f"{missing[0]}: has not pledged its part of the tally key; nobody shows one before")
    own = coefficients_of(plan, secret)
    dealing = Dealing.make(plan.hash, secret.name, own)
    shares = {}
    for place, name in enumerate(plan.trustees, 1):
        if plan.needed < len(plan.trustees) and name != secret.name:
            info = share_info(plan.hash, secret.name, name)
            shares[name] = seal(evaluate(own, place), sealing_public(keys[name].seal), info).hex()
    return StatedDealing(
        pledge=keys[secret.name].pledge,
        commitments=[point.hex() for point in dealing.commitments],
        proof=dealing.proof.hex(),
        shares=shares,
    )


def share_info(plan: bytes, sender: str, receiver: str) -> bytes:
    """Binds a sealed share of the tally key to its plan, sender and receiver."""
    return b"GV2 deal" + plan + canonical([sender, receiver])


def read_public_keys(path: Path) -> PublicKeys:
    """A party's public keys from a file."""
    try:
        return TypeAdapter(PublicKeys).validate_python(read_json(path))
    except ValidationError:
        raise InputError(f"{path}: is not a file with the public keys of a party") from None


def make_manifest(
    plan: ElectionPlan, roll: Roll, keys: Sequence[PublicKeys], dealings: Mapping[str, StatedDealing]
) -> KnownElection:
    """The manifest from what the parties handed in; the tally key follows from the trustees' dealings."""
    try:
        return KnownElection(_manifest(plan, roll, keys, dealings))
    except ValidationError as error:
        raise InputError(f"manifest: {first_fault(error)}") from None


def _manifest(
    plan: ElectionPlan, roll: Roll, keys: Sequence[PublicKeys], dealings: Mapping[str, StatedDealing]
) -> ElectionManifest:
    given = {each.name: each for each in keys}
    if missing := [name for name in plan.parties if name not in given]:
        raise InputError(f"keys: {missing[0]} has handed in none")
    issuers = [name for name, party in plan.parties.items() if party.role == "issuer"]
    if missing := [name for name in plan.trustees if name not in dealings]:
        raise InputError(f"keys: {missing[0]} has not shown its part of the tally key")
    attested = [name for name, dimension in plan.dimensions.items() if not dimension.self_reported]
    if missing := [name for name in attested for row in roll.values() if name not in row]:
        raise InputError(f"roll: has no column {missing[0]!r}, which the plan has attested")
    joint = Counter(tuple(row[name] for name in attested) for row in roll.values())
    return ElectionManifest(
        version=2,
        title=plan.title,
        question=plan.question,
        electorate=len(roll),
        options=plan.options,
        dimensions=[
            Dimension(
                name=TOTAL,
                categories=[EVERYBODY],
                people=[len(roll)],
                parts=[[EVERYBODY]],
                **_issuing_keys(given, issuers, TOTAL, {EVERYBODY: [EVERYBODY]}),
            ),
            *(_dimension(plan, name, roll, given, issuers) for name in plan.dimensions),
        ],
        joint=[[*cell, count] for cell, count in sorted(joint.items())]
        if plan.joint_roll_is_public and len(attested) == len(plan.dimensions)
        else None,
        parties=[
            Party(
                name=name,
                role=party.role,
                organisation=party.organisation,
                address=given[name].address or party.address,
                certificate=given[name].certificate,
                key=given[name].key,
                seal=given[name].seal,
            )
            for name, party in plan.parties.items()
        ],
        openers=plan.needed,
        plan=plan.hash.hex(),
        tally={name: dealings[name] for name in plan.trustees},
        release=json.dumps(plan.release, sort_keys=True),
        escrow=None
        if plan.escrow is None
        else Escrow(
            candidates=plan.escrow.candidates,
            quorum=plan.escrow.quorum,
            keys={name: given[name].escrow for name, party in plan.parties.items() if party.role == "escrow"},
        ),
        **plan.model_dump(include={"least", "kappa", "share", "opens", "closes", "retention"}),
    )


def _dimension(
    plan: ElectionPlan, name: str, roll: Roll, given: Mapping[str, PublicKeys], issuers: Sequence[str]
) -> Dimension:
    planned = plan.dimensions[name]
    if planned.self_reported:
        if planned.sizes is None:
            raise InputError(f"dimensions.{name}.sizes: a self-reported dimension needs the people per category")
        sizes = {category: planned.sizes.get(category, 0) for category in planned.categories}
    else:
        counted = Counter(categories[name] for categories in roll.values())
        if unknown := sorted(set(counted) - set(planned.categories)):
            raise InputError(f"dimensions.{name}: the roll has the category {unknown[0]!r}; the plan does not")
        sizes = {category: counted[category] for category in planned.categories}
    parts = {category: [category] for category in sizes}
    if not planned.self_reported:
        parts = merge_small(sizes, plan.kappa)
    labels = {SELF: [SELF]} if planned.self_reported else parts
    return Dimension(
        name=name,
        categories=list(parts),
        people=[sum(sizes[label] for label in labels) for labels in parts.values()],
        parts=list(parts.values()),
        self_reported=planned.self_reported,
        **_issuing_keys(given, issuers, name, labels),
    )


def _issuing_keys(
    given: Mapping[str, PublicKeys], issuers: Sequence[str], dimension: str, parts: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """The moduli of a dimension and their certificates, by issuer and category; a merged group has one key."""

    def own(by_label: Mapping[str, str]) -> dict[str, str]:
        return {category: by_label.get(f"{dimension}/{labels[0]}", "") for category, labels in parts.items()}

    return {
        "keys": {issuer: own(given[issuer].moduli) for issuer in issuers},
        "certificates": {issuer: own(given[issuer].certificates) for issuer in issuers},
    }

"""Before an election: a plan in TOML, keys of every party, the roll, and the manifest made of them."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from safemargin.core import InputError, Target
from safemargin.election.blind import BlindSigner
from safemargin.election.escrow import escrow_key
from safemargin.election.keys import SealingKey, canonical, new_seed, seal, sealing_public, split_secret
from safemargin.election.manifest import (
    EVERYBODY,
    SELF,
    TOTAL,
    Dimension,
    ElectionManifest,
    Escrow,
    FileName,
    KnownElection,
    ManifestPart,
    Name,
    Party,
    Role,
    first_fault,
)
from safemargin.election.secret import Secret
from safemargin.io import parse_toml, read_json, read_text


class PlannedDimension(ManifestPart):
    """A dimension of the plan; the sizes of attested ones come from the roll."""

    categories: list[Name] = Field(min_length=2)
    self_reported: bool = False
    sizes: dict[Name, int] | None = None


class PlannedParty(ManifestPart):
    """Who will play a role."""

    role: Role
    organisation: Name
    address: str = ""


class ElectionPlan(ManifestPart):
    """What an organiser writes."""

    title: str
    question: str
    options: list[Name]
    dimensions: dict[FileName, PlannedDimension]
    parties: dict[FileName, PlannedParty]
    signers: int = 2
    openers: int = 2
    least: int = 20
    kappa: int = Target.kappa
    share: int = 0
    tolerance: int = 5
    spread: int = 86_400
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
    settings: Mapping[str, int | str] | None = None,
    target: Mapping[str, float] | None = None,
) -> str:
    """A plan in TOML with roles spread over organisations, so that the collector's never suffices alone.

    Every other organisation issues and holds a share; the collector's does too where there are only two others. The
    last two mix, the first one registers, the last one keeps the board.
    """
    if len(set(others)) < 2 or collector in others:
        raise InputError("others: name at least two organisations beside the collector's")
    three = [*others, collector] if len(others) == 2 else list(others)
    parties = [("registrar", others[0]), *((f"issuer-{n}", name) for n, name in enumerate(three, 1))]
    parties += [("mixer-1", others[-2]), ("mixer-2", others[-1]), ("collector", collector), ("board", others[-1])]
    parties += [(f"trustee-{n}", name) for n, name in enumerate(three, 1)]
    shown = {"signers", "openers", "least", "kappa", "share", "tolerance", "spread", "bits"}
    stated = {name: field.default for name, field in ElectionPlan.model_fields.items() if name in shown}
    lines = [f"{name} = {_toml(value)}" for name, value in ({"title": title, "question": question}).items()]
    lines += [f"options = {_toml(list(options))}"]
    lines += [f"{name} = {_toml(value)}" for name, value in {**stated, **(settings or {})}.items()]
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


def public_keys(secret: Secret, certificates: Mapping[str, str] | None = None) -> PublicKeys:
    """The public half of a party's keys; certificates of issuing keys are made unless they are given."""
    moduli = {label: f"{p * q:x}" for label, (p, q) in secret.primes.items()}
    signing = secret.signing.public_key().public_bytes_raw().hex()
    escrow = bytes(escrow_key(secret.seed).public_key).hex()
    made = certificates or {label: signer.certificate().hex() for label, signer in secret.signers.items()}
    return PublicKeys(secret.name, signing, secret.sealing.public, moduli, dict(made), escrow)


def read_public_keys(path: Path) -> PublicKeys:
    """A party's public keys from a file."""
    try:
        return TypeAdapter(PublicKeys).validate_python(read_json(path))
    except ValidationError:
        raise InputError(f"{path}: is not a file with the public keys of a party") from None


Roll = Mapping[str, Mapping[str, str]]
"""Categories of every row, by attested dimension."""


def make_manifest(plan: ElectionPlan, roll: Roll, keys: Sequence[PublicKeys]) -> KnownElection:
    """The manifest, with a new tally key whose shares are sealed to the trustees and which is then forgotten."""
    try:
        return KnownElection(_manifest(plan, roll, keys))
    except ValidationError as error:
        raise InputError(f"manifest: {first_fault(error)}") from None


def _manifest(plan: ElectionPlan, roll: Roll, keys: Sequence[PublicKeys]) -> ElectionManifest:
    given = {each.name: each for each in keys}
    if missing := [name for name in plan.parties if name not in given]:
        raise InputError(f"keys: {missing[0]} has handed in none")
    issuers = [name for name, party in plan.parties.items() if party.role == "issuer"]
    trustees = [name for name, party in plan.parties.items() if party.role == "trustee"]
    tally = new_seed()
    shares = dict(zip(trustees, split_secret(tally, plan.openers, len(trustees)), strict=True))
    attested = [name for name, dimension in plan.dimensions.items() if not dimension.self_reported]
    if missing := [name for name in attested for row in roll.values() if name not in row]:
        raise InputError(f"roll: has no column {missing[0]!r}, which the plan has attested")
    joint = Counter(tuple(row[name] for name in attested) for row in roll.values())
    return ElectionManifest(
        version=1,
        title=plan.title,
        question=plan.question,
        electorate=len(roll),
        options=plan.options,
        dimensions=[
            Dimension(name=TOTAL, categories=[EVERYBODY], people=[len(roll)], **_issuing_keys(given, issuers, TOTAL)),
            *(_dimension(plan, name, roll, given, issuers) for name in plan.dimensions),
        ],
        joint=[[*cell, count] for cell, count in sorted(joint.items())]
        if plan.joint_roll_is_public and len(attested) == len(plan.dimensions)
        else None,
        parties=[
            Party(name=name, **party.model_dump(), key=given[name].key, seal=given[name].seal)
            for name, party in plan.parties.items()
        ],
        tally=SealingKey(tally).public,
        shares={
            name: seal(share, sealing_public(given[name].seal), b"GV-deal").hex() for name, share in shares.items()
        },
        share_hashes={name: sha256(b"GV-share" + share).hexdigest() for name, share in shares.items()},
        release=json.dumps(plan.release, sort_keys=True),
        escrow=None
        if plan.escrow is None
        else Escrow(
            candidates=plan.escrow.candidates,
            quorum=plan.escrow.quorum,
            keys={name: given[name].escrow for name, party in plan.parties.items() if party.role == "escrow"},
        ),
        **plan.model_dump(
            include={
                *("signers", "openers", "least", "kappa", "share", "tolerance", "spread", "opens", "closes"),
                "retention",
            }
        ),
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
    return Dimension(
        name=name,
        categories=list(sizes),
        people=list(sizes.values()),
        self_reported=planned.self_reported,
        **_issuing_keys(given, issuers, name),
    )


def _issuing_keys(given: Mapping[str, PublicKeys], issuers: Sequence[str], dimension: str) -> dict[str, Any]:
    """The moduli of a dimension and their certificates, by issuer and category."""
    start = f"{dimension}/"

    def own(by_label: Mapping[str, str]) -> dict[str, str]:
        return {label.removeprefix(start): text for label, text in by_label.items() if label.startswith(start)}

    return {
        "keys": {issuer: own(given[issuer].moduli) for issuer in issuers},
        "certificates": {issuer: own(given[issuer].certificates) for issuer in issuers},
    }


def read_roll(content: bytes, name: str = "roll") -> dict[str, dict[str, str]]:
    """A roll in CSV: a column `row` that names every person, and a column per attested dimension."""
    try:
        lines = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{name}: is not CSV in UTF-8 ({error})") from None
    if not lines or "row" not in lines[0]:
        raise InputError(f"{name}: has no rows, or no column 'row'")
    roll: dict[str, dict[str, str]] = {}
    for number, line in enumerate(lines, 2):
        row = line.pop("row")
        if not row or row in roll or None in line or None in line.values():
            raise InputError(
                f"{name}: line {number}: {str(row)[:60]!r}: every person needs a row and all columns, once"
            )
        roll[row] = dict(line)
    return roll

"""What may stand on the board: types of entries, who writes them, what they hold, and what must come before them.

An entry that comes too early, is empty or has another form is refused when it is appended: no party can block the
board.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt, StringConstraints, ValidationError

from safemargin.election.manifests import Digest, FileName, KnownElection, ManifestPart, Name, Role, first_fault

Count = Annotated[StrictInt, Field(ge=0)]
Signature = Annotated[str, StringConstraints(pattern="^[0-9a-f]{128}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]


class ManifestEntry(ManifestPart):
    """The first entry."""

    manifest: Digest
    signatures: dict[Name, Signature]


class Closed(ManifestPart):
    """The box takes nothing in any more."""

    closed: Literal[True]


class Register(ManifestPart):
    """How many people enrolled, the root of their hashes, and the root of the hashes of all letters."""

    enrolled: Count
    root: Digest
    letters: Digest


class Issued(ManifestPart):
    """How many tokens an issuer signed, by dimension and key, and the root over its requests."""

    counts: dict[Name, dict[Name, Count]]
    root: Digest


class Received(ManifestPart):
    """How many messages the box took in, and the root of their hashes."""

    count: Count
    root: Digest


class DimensionBallots(ManifestPart):
    """Ballots of one dimension: how many, and the hashes of the two files."""

    accepted: Count
    turned_away: Count
    ballots: Digest
    rejected: Digest


class BallotsEntry(ManifestPart):
    """All ballots at the close (part 0), or those that receipts added in the objection period (part 1)."""

    part: Annotated[StrictInt, Field(ge=0, le=1)]
    dimensions: dict[Name, DimensionBallots]
    unreadable: Count


class Freeze(ManifestPart):
    """The one set of ballots, and the one list of sums, that a trustee will ever help to decrypt."""

    root: Digest
    list: Digest


class DecryptedPart(ManifestPart):
    """A trustee's part of the decryption of one sum, and its proof."""

    part: Digest
    proof: Signature


class Total(ManifestPart):
    """A trustee's parts of the binding total, by option."""

    parts: dict[Name, DecryptedPart]


class ResultEntry(ManifestPart):
    """The binding total in numbers."""

    counts: dict[Name, Count]


class Private(ManifestPart):
    """The hash of parts that trustees exchange sealed."""

    commitment: Digest


class Compared(ManifestPart):
    """The hash of the release that a trustee computed."""

    release: Digest


class ReleasedCell(ManifestPart):
    """A trustee's part of one published count."""

    dimension: Name
    categories: list[Name]
    option: Name
    part: Digest
    proof: Signature


class Released(ManifestPart):
    """The release, with this trustee's parts of exactly the published counts."""

    certified: StrictBool
    kappa: Count
    files: dict[FileName, Digest]
    turnout: dict[Name, dict[str, Any]]
    cells: list[ReleasedCell]


class EscrowRequest(ManifestPart):
    """A request to open one record; valid until a day."""

    nullifier: Digest
    basis: Digest
    requester: Text
    expiry: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\d$")]
    recipient: Name


class EscrowDecision(ManifestPart):
    """An escrow trustee's answer to a request."""

    nullifier: Digest
    approve: StrictBool


class KeysDestroyed(ManifestPart):
    """An escrow trustee's statement after the day of retention."""

    destroyed: Literal[True]


AUTHORS: Mapping[str, Role] = {
    "manifest": "board",
    "closed": "collector",
    "register": "registrar",
    "issued": "issuer",
    "received": "box",
    "ballots": "collector",
    "freeze": "trustee",
    "total": "trustee",
    "result": "collector",
    "private": "trustee",
    "compared": "trustee",
    "release": "trustee",
    "escrow request": "collector",
    "escrow decision": "escrow",
    "keys destroyed": "escrow",
}
"""Types of entries, and the role that may write them."""
BODIES: Mapping[str, type[ManifestPart]] = {
    "manifest": ManifestEntry,
    "closed": Closed,
    "register": Register,
    "issued": Issued,
    "received": Received,
    "ballots": BallotsEntry,
    "freeze": Freeze,
    "total": Total,
    "result": ResultEntry,
    "private": Private,
    "compared": Compared,
    "release": Released,
    "escrow request": EscrowRequest,
    "escrow decision": EscrowDecision,
    "keys destroyed": KeysDestroyed,
}
STAGES = {"manifest": 0, "closed": 1, "register": 2, "issued": 2, "received": 2, "ballots": 3, "freeze": 4, "total": 5}
STAGES |= {"result": 6, "private": 7, "compared": 8, "release": 9}
"""The order of an election: none of a stage is there before the stage before it is complete."""


def _complete(election: KnownElection, stage: int) -> dict[str, int]:
    """How many authors must have written which type before the next stage begins."""
    needed, issuers = election.manifest.openers, len(election.manifest.of("issuer"))
    rules: list[dict[str, int]] = [{"manifest": 1}, {"closed": 1}, {"register": 1, "issued": issuers, "received": 1}]
    rules += [{"ballots": 2}, {"freeze": election.manifest.freezers}, {"total": needed}, {"result": 1}]
    rules += [{"private": needed}, {"compared": needed}, {"release": needed}]
    return rules[stage]


def order_fault(election: KnownElection, known: Sequence[tuple[str, str]], type_: str) -> str | None:
    """Why an entry of this type cannot be the next one."""
    if not known:
        return None if type_ == "manifest" else "the board has not begun: the first entry is the manifest"
    if type_ == "manifest":
        return "the manifest is the first entry and no other"
    counts: dict[str, int] = {}
    for each, _ in known:
        counts[each] = counts.get(each, 0) + 1
    stage = STAGES.get(type_)
    if stage is None:
        return None if counts.get("ballots") else f"an entry of type {type_!r} comes after the ballots"
    for earlier in range(stage):
        # Tables may follow the freeze without a total only where too few people answered: then nothing is decrypted.
        for name, count in _complete(election, earlier).items():
            if counts.get(name, 0) < count:
                return f"an entry of type {type_!r} comes too early: {name!r} is not complete"
    later = [name for name, _ in known if STAGES.get(name, -1) > stage]
    # Trustees beyond the needed number may still add theirs.
    if later and AUTHORS[type_] != "trustee":
        return f"an entry of type {type_!r} comes too late: there is one of type {later[0]!r}"
    if type_ == "freeze" and counts.get("total", 0) >= election.manifest.openers:
        return "an entry of type 'freeze' comes too late: decryption has begun"
    return None


def body_fault(election: KnownElection, type_: str, body: Mapping[str, Any]) -> str | None:
    """Why the content of an entry has not the form of its type."""
    try:
        BODIES[type_].model_validate(body, strict=False)
    except ValidationError as error:
        return f"an entry of type {type_!r}: {first_fault(error)}"
    if type_ == "issued" and {n: set(c) for n, c in body["counts"].items()} != {
        d.name: set(d.labels) for d in election.manifest.dimensions
    }:
        return "an entry of type 'issued' has a number for every dimension and key"
    if type_ == "ballots" and set(body["dimensions"]) != set(election.dimensions):
        return "an entry of type 'ballots' is about all dimensions"
    return None


def subject_of(body: Mapping[str, Any]) -> object:
    """What an author may write about once, beside the type."""
    return body.get("nullifier") or body.get("part")

"""Audit or cast (Benaloh 2006): a ballot's hash reaches a second device before the choice to open it or to cast it.

An opened ballot is computed again from its randomness; it was never signed, so that it can never count.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from safemargin.core import InputError
from safemargin.election.ballots import BallotFormat, ballot_name
from safemargin.election.blind import PREFIX
from safemargin.election.keys import unhex
from safemargin.election.manifests import KnownElection


@dataclass
class PreparedBallot:
    """A ballot that is not signed yet: its hash is shown first, then it is audited or cast, never both."""

    dimension: str
    option: str
    category: str
    body: bytes
    randomness: list[bytes]
    decided: bool = False

    @property
    def hash(self) -> str:
        """What a second device notes before the choice."""
        return ballot_name(self.body).hex()

    def opening(self) -> dict[str, Any]:
        """Everything about the ballot, for a second device to compute it again. It can never be cast after that."""
        if self.decided:
            raise InputError("this ballot was audited or cast already")
        self.decided = True
        return {
            "dimension": self.dimension,
            "option": self.option,
            "category": self.category,
            "body": self.body.hex(),
            "randomness": [each.hex() for each in self.randomness],
        }


def audit_opening(election: KnownElection, stated: Mapping[str, Any], noted: str) -> str:
    """What an audited ballot holds, computed again on another device; refused if it is not the one whose hash was
    noted.
    """
    match stated:
        case {
            "dimension": str(name),
            "option": str(option),
            "category": str(category),
            "body": str(text),
            "randomness": list(randomness),
        }:
            body = unhex(text)
        case _:
            raise InputError("this is not the opening of an audited ballot")
    if ballot_name(body).hex() != noted.strip().lower():
        raise InputError("the opening is of another ballot than the one whose hash was noted")
    format_ = BallotFormat(election, election.dimension(name))
    ballot = format_.read(body + bytes(64))
    if ballot is None:
        raise InputError("the opening is not of a ballot of this election")
    start = len(body) - len(ballot.tokens) - len(ballot.proof) - 64 * len(ballot.cells)
    prefixes, place = [], start
    for width in format_.widths:
        prefixes.append((body[place : place + PREFIX], body[place + PREFIX : place + PREFIX + width]))
        place += PREFIX + width
    again = format_.make(
        format_.choice(option, category),
        ballot.category,
        ballot.number,
        ballot.key,
        ballot.escrow,
        prefixes,
        [unhex(each, 32) for each in randomness],
    )
    if again != body:
        raise InputError("the ballot does not hold what the page says: this device or page cannot be trusted")
    return f"The ballot of {name} holds {option}" + (f", {category}." if category else ".")


def audit_openings(election: KnownElection, stated: Mapping[str, Any], noted: str) -> str:
    """The same for the ballots of all dimensions at once, as the page opens them; the hash is over all of them."""
    openings = stated.get("openings")
    if not isinstance(openings, list) or not all(isinstance(each, dict) for each in openings):
        raise InputError("this is not the opening of audited ballots")
    hashes = [ballot_name(unhex(each.get("body"))).hex() for each in openings]
    if hashlib.sha256("".join(hashes).encode()).hexdigest() != noted.strip().lower():
        raise InputError("the opening is of other ballots than those whose hash was noted")
    return " ".join(audit_opening(election, each, hash_) for each, hash_ in zip(openings, hashes, strict=True))

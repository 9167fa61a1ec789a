"""The one ceremony: trustees put their shares together, open all dimensions, and hand the tallies to `release`.

The tally key exists only in the memory of the process that opens. Tallies are written to a temporary folder that is
deleted; what leaves is a release, or the statement that it was refused.
"""

import hashlib
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safemargin.core import InputError
from safemargin.election.board import Board, check_proof, make_entry
from safemargin.election.handover import check_release, hand_over, published_files
from safemargin.election.keys import SealingKey, canonical, join_secret, parse, seal, sealing_public, unhex
from safemargin.election.manifest import TOTAL, Counts, KnownElection
from safemargin.election.records import RecordFormat, read_items
from safemargin.election.role import Role, Step, single
from safemargin.election.turnout import turnout
from safemargin.election.verify import named_board


class Trustee(Role):
    """Holds one share of the tally key, and opens nothing before the board says that the ceremony has begun."""

    @property
    def steps(self) -> list[Step]:
        """See `Role`."""
        return [
            Step("convene", single(self.convene), "operator", "Name the dimensions that will be opened"),
            Step("share", single(self.share), "operator", "Seal this trustee's share to another trustee"),
            Step(
                "open", single(self.open), "operator", "Open all dimensions, release the tallies and sign the release"
            ),
        ]

    def approve(self, body: bytes) -> bytes:
        """See `Role`; only of a manifest with which this trustee can compute the release."""
        check_release(self.election)
        return super().approve(body)

    def convene(self, body: bytes) -> bytes:
        """The entry that begins the ceremony, from a board that verifies."""
        board = named_board(self.election, body)
        return make_entry(self.election, self.secret, "ceremony", {"open": sorted(openable(board))}).content

    def share(self, body: bytes) -> bytes:
        """This trustee's share, sealed to one other trustee, once the board has convened the ceremony.

        A trustee who convenes too early must not get it: the board has to verify, with every dimension counted.
        """
        stated = parse(body)
        board = named_board(self.election, body)
        counted = {entry.body["dimension"] for entry in board.of("batch")}
        if counted != set(self.election.dimensions) or not is_convened(board):
            raise InputError("the ceremony has not begun: not every dimension is counted, or it names others")
        proof, receiver = stated.get("proof"), stated.get("to")
        if not isinstance(proof, dict) or not isinstance(receiver, str):
            raise InputError("the message has no proof, or names no trustee")
        check_proof(self.election, proof, "ceremony")
        party = self.election.parties.get(receiver)
        if party is None or party.role != "trustee":
            raise InputError(f"{receiver[:40]!r} is no trustee: shares go to trustees only")
        sealed = seal(self._own_share(), sealing_public(party.seal), self._info(self.name, receiver))
        return canonical({"from": self.name, "sealed": sealed.hex()})

    def _info(self, sender: str, receiver: str) -> bytes:
        return b"GV-share" + self.election.mid + canonical([sender, receiver])

    def _own_share(self) -> bytes:
        return self.secret.sealing.open(bytes.fromhex(self.election.manifest.shares[self.name]), b"GV-deal")

    def _tally_key(self, shares: list[Any]) -> SealingKey:
        """The key from this trustee's share and those sealed to it; every share is checked by its hash first."""
        names = [party.name for party in self.election.manifest.of("trustee")]
        held = {self.name: self._own_share()}
        for stated in shares:
            match stated:
                case {"from": str(sender), "sealed": str(sealed)} if sender in names:
                    held[sender] = self.secret.sealing.open(unhex(sealed), self._info(sender, self.name))
                case _:
                    raise InputError("a share does not name the trustee that it is from")
        for name, share in held.items():
            if hashlib.sha256(b"GV-share" + share).hexdigest() != self.election.manifest.share_hashes[name]:
                raise InputError(f"{name}: the share is not the one of the manifest")
        if len(held) < self.election.manifest.openers:
            raise InputError(f"{len(held)} shares: {self.election.manifest.openers} trustees are needed")
        key = SealingKey(join_secret({names.index(name) + 1: share for name, share in held.items()}))
        if key.public != self.election.manifest.tally:
            raise InputError("the shares do not give the tally key of the manifest")
        return key

    def open(self, body: bytes) -> bytes:
        """Open, release, and sign: every trustee who signs has computed the release from the records."""
        stated = parse(body)
        board = named_board(self.election, body)
        if not is_convened(board):
            raise InputError("the board has not convened the ceremony for these dimensions")
        ceremony = board.of("ceremony")
        shares, out = stated.get("shares"), stated.get("out")
        if not isinstance(shares, list):
            raise InputError("the message holds no shares")
        names = sorted(set(ceremony[0].body["open"]) - {TOTAL})
        opened, made = {}, None
        if names:  # otherwise nobody puts the key together
            key = self._tally_key(shares)
            opened = open_dimensions(board, names, key)
            made = hand_over(board, opened, key)
        with tempfile.TemporaryDirectory(prefix="safemargin-ceremony-") as scratch:
            folder = Path(scratch) / "release"
            files = {} if made is None else published_files(made.write(folder))
            if files and isinstance(out, str) and not Path(out).exists():
                shutil.copytree(folder, f"{out}.part", dirs_exist_ok=True)
                Path(f"{out}.part").rename(out)  # after a power failure there is a whole release or none
        statement = release_statement(board, opened, files)
        entry = make_entry(self.election, self.secret, "release", statement)
        return canonical({"entry": json.loads(entry.content)})


def openable(board: Board) -> set[str]:
    """Dimensions with enough accepted records; the others are never opened."""
    return {entry.body["dimension"] for entry in board.of("batch") if entry.body["opened"]}


def is_convened(board: Board) -> bool:
    """Whether the ceremony is on the board, for exactly the dimensions with enough records."""
    ceremony = board.of("ceremony")
    return bool(ceremony) and set(ceremony[0].body["open"]) == openable(board)


def release_statement(board: Board, opened: Mapping[str, Counts], files: Mapping[str, bytes]) -> dict[str, Any]:
    """What trustees sign about the release: hashes of its files and figures that are public anyway."""
    accepted = {entry.body["dimension"]: int(entry.body["accepted"]) for entry in board.of("batch")}
    return {
        "certified": bool(files),
        "opened": sorted(opened),
        "kappa": board.election.kappa(accepted.get(TOTAL, 0)),
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())},
        "turnout": turnout(accepted, board.election.manifest.electorate, files),
    }


def open_dimensions(board: Board, names: list[str], key: SealingKey) -> dict[str, Counts]:
    """Tallies by category and option. An answer that cannot be read counts as none."""
    opened = {}
    for name in names:
        dimension = board.election.dimension(name)
        format_ = RecordFormat(board.election, dimension, board.signers)
        counts: Counts = {category: Counter() for category in dimension.sizes}
        for content in read_items(board.folder / "records" / name, format_.size):
            answer = format_.open_answer(content, key)
            if answer is not None:
                counts[format_.categories[answer[0]]][format_.options[answer[1]]] += 1
        opened[name] = counts
    check_sizes(board.election, opened)
    return opened


def check_sizes(election: KnownElection, opened: Mapping[str, Counts]) -> None:
    """No category counts more people than the roll has, whoever reported it."""
    for name, counts in opened.items():
        for category, size in election.dimension(name).sizes.items():
            if (count := counts[category].total()) > size:
                raise InputError(
                    f"{name}: {category}: {count:,} answers of {size:,} people on the roll; nothing is opened"
                )

"""Escrow trustees: together, and after a public request, they open whose record one record is."""

from collections.abc import Iterator
from typing import Any

from safemargin.core import InputError
from safemargin.election.ballots import Ballot, BallotFormat, read_ballots
from safemargin.election.board import Board, make_entry
from safemargin.election.board_verification import named_board
from safemargin.election.collecting import check_expiry, nullifier_of
from safemargin.election.escrow import blob_hash, identity_message, open_identity, own_share
from safemargin.election.keys import canonical, parse, seal, sealing_public, unhex
from safemargin.election.role import Role, Step, single


class EscrowTrustee(Role):
    """Holds a key for shares of sealed identities, and uses it for one record per request on the board."""

    @property
    def steps(self) -> list[Step]:
        """See `Role`."""
        return [
            Step("decide", single(self.decide), "operator", "Approve or refuse a request that is on the board"),
            Step("share", single(self.share), "operator", "Seal this trustee's share of one record to the recipient"),
            Step("open", single(self.open), "operator", "As the recipient, open one record with enough shares"),
            Step("destroy", single(self.destroy), "operator", "State that the key is destroyed; no share after that"),
        ]

    def decide(self, body: bytes) -> bytes:
        """The entry with this trustee's decision; only about a request that a verified board shows."""
        stated = parse(body)
        name, approve = stated.get("nullifier"), stated.get("approve")
        if not isinstance(approve, bool):
            raise InputError("approve: must be true or false")
        check_expiry(self._request(named_board(self.election, body)[0], name)["expiry"])
        return make_entry(
            self.election, self.secret, "escrow decision", {"nullifier": name, "approve": approve}
        ).content

    def _request(self, board: Board, name: object) -> dict[str, Any]:
        for entry in board.of("escrow request"):
            if entry.body["nullifier"] == name:
                return entry.body
        raise InputError("the board has no request for this record: a request is public first")

    def _approved(self, board: Board, name: object) -> set[str]:
        decisions = [entry for entry in board.of("escrow decision") if entry.body["nullifier"] == name]
        approved = {entry.author for entry in decisions if entry.body["approve"]}
        assert self.election.manifest.escrow is not None
        if len(approved) < (quorum := self.election.manifest.escrow.quorum):
            raise InputError(f"{len(approved)} escrow trustees approved on the board: {quorum} are needed")
        return approved

    def _found(self, body: bytes) -> tuple[str, str, bytes, Ballot]:
        """The request's recipient and record, after the checks that every trustee makes."""
        stated, (board, _) = parse(body), named_board(self.election, body)
        name, blob = stated.get("nullifier"), unhex(stated.get("sealed"))
        request = self._request(board, name)
        check_expiry(request["expiry"])
        self._approved(board, name)
        for dimension, record, found in _records(board):
            if found == name:
                if blob_hash(blob) != record.escrow:
                    raise InputError("the sealed identity is not the one of this record")
                return request["recipient"], dimension, blob, record
        raise InputError("the board has no record of this name")

    def _info(self, sender: str, receiver: str, name: object) -> bytes:
        return b"GV-escrow" + self.election.mid + canonical([sender, receiver, name])

    def share(self, body: bytes) -> bytes:
        """This trustee's share of one record, sealed to the recipient that the public request names."""
        if self.has("destroyed"):
            raise InputError("the key of this trustee is destroyed")
        name = parse(body).get("nullifier")
        recipient, _, blob, _ = self._found(body)
        if self.name not in self._approved(named_board(self.election, body)[0], name):
            raise InputError("this trustee did not approve the request")
        share = own_share(self.election, self.name, self.secret.seed, blob)
        key = sealing_public(self.election.parties[recipient].seal)
        sealed = seal(share, key, self._info(self.name, recipient, name))
        return canonical({"from": self.name, "sealed": sealed.hex()})

    def open(self, body: bytes) -> bytes:
        """The row and the person's signature, for the registrar, who alone can say whose row it is."""
        stated = parse(body)
        recipient, dimension, blob, record = self._found(body)
        if recipient != self.name:
            raise InputError(f"the request names {recipient} as the recipient")
        shares: dict[str, bytes] = {}
        for each in stated.get("shares") or []:
            match each:
                case {"from": str(sender), "sealed": str(sealed)} if sender in self.election.parties:
                    info = self._info(sender, self.name, stated.get("nullifier"))
                    shares[sender] = self.secret.sealing.open(unhex(sealed), info)
                case _:
                    raise InputError("a share does not name the trustee that it is from")
        row, proof = open_identity(self.election, blob, shares)
        message = identity_message(self.election.context(dimension), record.key)
        return canonical({"row": row, "message": message.hex(), "proof": proof.hex()})

    def destroy(self, _: bytes) -> bytes:
        """The entry on the day of retention; the file with the key is for its owner to delete."""
        self.remember("destroyed")
        return make_entry(self.election, self.secret, "keys destroyed", {"destroyed": True}).content


def _records(board: Board) -> Iterator[tuple[str, Ballot, str]]:
    for dimension in board.election.manifest.dimensions:
        format_ = BallotFormat(board.election, dimension)
        for part in (0, 1):
            for content in read_ballots(board.folder / "ballots" / f"{dimension.name}.{part}", format_.size):
                if (ballot := format_.read(content)) is not None:
                    yield dimension.name, ballot, nullifier_of(format_, content).hex()

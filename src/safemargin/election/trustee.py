"""Trustees: they freeze one set of ballots, decrypt sums of it together, and prove exactly what is published.

A trustee writes root and list of sums to disk before it answers anything about them, and refuses any other root or list
for good: two tallies that differ by one ballot would open that ballot. Nobody ever has the tally key.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safemargin.core import InputError
from safemargin.election.board import Board, BoardWitness, check_proof, make_entry
from safemargin.election.board_verification import named_board
from safemargin.election.group import Scalar, add_scalars, base, name_of, read_scalar
from safemargin.election.handover import hand_over, published_files
from safemargin.election.keys import canonical, parse, seal, sealing_public, unhex
from safemargin.election.manifests import KnownElection
from safemargin.election.role import Role, Step, single
from safemargin.election.secret import Secret
from safemargin.election.setup import share_info
from safemargin.election.tallied import spare_trustees
from safemargin.election.tallies import Cell, TallyPlan, counts_by_group, published_cells
from safemargin.election.threshold import evaluate, evaluate_public, polynomial
from safemargin.election.turnout import turnout
from safemargin.io import new_folder, scratch_folder


def tally_secret(election: KnownElection, secret: Secret) -> Scalar:
    """A trustee's secret share: its own part, or the sum of what all dealt to it; a wrong share is refused by name."""
    manifest, key = election.manifest, election.tally_key
    own = polynomial(secret.seed, manifest.openers, len(manifest.tally))
    if not key.is_shared:
        return own[0]
    place = key.place(secret.name)
    total = evaluate(own, place)
    for dealing in key.dealings:
        if dealing.name == secret.name:
            continue
        sealed = unhex(manifest.tally[dealing.name].shares[secret.name])
        share = secret.sealing.open(sealed, share_info(bytes.fromhex(manifest.plan), dealing.name, secret.name))
        if evaluate_public(dealing.commitments, place) != base(read_scalar(share)):
            raise InputError(f"tally: the share of {dealing.name} for {secret.name} is wrong; start with new keys")
        total = add_scalars(total, share)
    return total


class Trustee(Role):
    """Holds one share of the tally key."""

    def __init__(self, election: KnownElection, secret: Secret, place: Path | str) -> None:
        super().__init__(election, secret, place)
        self._plan: TallyPlan | None = None
        self._log = BoardWitness(election, secret, lambda: self.store("heads"))

    @property
    def steps(self) -> list[Step]:
        """See `Role`."""
        return [
            Step("freeze", single(self.freeze), "operator", "Verify the board and freeze the one set of ballots"),
            Step("total", single(self.total), "operator", "This trustee's parts of the binding total"),
            Step("private", single(self.private), "operator", "Commit to the parts that trustees exchange"),
            Step("parts", single(self.parts), "party", "Seal these parts to another trustee", roles=("trustee",)),
            Step("compare", single(self.compare), "operator", "Compute the release and state its hash"),
            Step("release", single(self.release), "operator", "Prove exactly the published counts"),
            Step("head", single(self.head), "anybody", "The longest log of the board that this party knows, signed"),
            Step("catch_up", single(self.catch_up), "operator", "Take the place in the board's log from the issuers"),
            Step("status", single(self.status), "operator", "Numbers of this party"),
        ]

    def head(self, _: bytes) -> bytes:
        """See `BoardWitness.stated`."""
        return self._log.stated()

    def catch_up(self, body: bytes) -> bytes:
        """After a restore: the log of the board as most issuers know it, so that no shorter or other board is read.

        Every head of the board needs the signatures of most issuers, so that of any such majority one knows the last.
        """
        message = parse(body)
        heads = message.get("heads")
        issuers = [party.name for party in self.election.manifest.of("issuer")]
        if not isinstance(heads, dict) or not set(heads) <= set(issuers) or 2 * len(heads) <= len(issuers):
            raise InputError(f"the heads that most issuers know are needed: {', '.join(issuers)}")
        self._log.follow(heads, message.get("extensions") or {})
        self.mark_caught_up()
        return canonical({"entries": self._log.last.size if self._log.last else 0})

    def _check_memory(self) -> None:
        if self.is_restored:
            raise InputError("this trustee was restored from a backup and has not caught up yet")

    def _board(self, body: bytes) -> Board:
        """The copy of the board that the message names, verified; ballots only once per process, since their files are
        compared with the hashes of the entries every time.
        """
        self._check_memory()
        board, check = named_board(self.election, body, self._plan)
        self._log.read(board)
        self._plan = check.plan
        return board

    def _tally(self) -> TallyPlan:
        if self._plan is None:
            raise InputError("the board has no ballots yet")
        return self._plan

    def _frozen(self, board: Board) -> TallyPlan:
        plan = self._tally()
        stated = self.store("state").get(b"frozen")
        if stated is None or json.loads(stated) != {"root": plan.root.hex(), "list": plan.list_hash}:
            raise InputError("this trustee froze other ballots or none: it decrypts one set of ballots, once")
        same = [entry for entry in board.of("freeze") if entry.body == json.loads(stated)]
        needed = self.election.manifest.freezers
        if len(same) < needed:  # others were judged when the board was verified
            raise InputError(f"{len(same)} trustees froze this set of ballots; {needed} must before any decrypts")
        return plan

    def freeze(self, body: bytes) -> bytes:
        """Verify everything, write root and list to disk, and only then sign them.

        A trustee that was restored from a backup takes over what it signed before: it is on the board.
        """
        board = self._board(body)
        plan = self._tally()
        stated = {"root": plan.root.hex(), "list": plan.list_hash}
        signed = [entry.body for entry in board.of("freeze") if entry.author == self.name]
        if len(board.of("ballots")) < 2:
            raise InputError("the objection period is not over: the ballots of part 1 are not on the board")
        if (signed and signed[0] != stated) or json.loads(self.remember("frozen", canonical(stated))) != stated:
            raise InputError("this trustee froze another set of ballots before, and will never sign a second one")
        return make_entry(self.election, self.secret, "freeze", stated).content

    def total(self, body: bytes) -> bytes:
        """The binding total first: parts of every option over all ballots."""
        plan = self._frozen(self._board(body))
        if not plan.total_cells:
            raise InputError("too few people took part: nothing is decrypted")
        own = tally_secret(self.election, self.secret)
        parts = {cell.option: plan.part(own, self.name, cell) for cell in plan.total_cells}
        return make_entry(self.election, self.secret, "total", {"parts": parts}).content

    def _own_parts(self, plan: TallyPlan) -> bytes:
        """The parts that this trustee exchanges. A trustee that was restored from a backup computes the same ones."""
        held = self.store("state").get(b"private")
        if held is None:
            own = tally_secret(self.election, self.secret)
            held = self.remember("private", canonical({"parts": plan.exchanged(own, self.name)}))
        return held

    def private(self, body: bytes) -> bytes:
        """The hash of the parts, before any of them leaves; the total must be on the board."""
        board = self._board(body)
        plan = self._frozen(board)
        if not board.of("result"):
            raise InputError("the binding total is not on the board yet: it comes first")
        commitment = commitment_of(self.name, json.loads(self._own_parts(plan))["parts"])
        return make_entry(self.election, self.secret, "private", {"commitment": commitment}).content

    def parts(self, body: bytes) -> bytes:
        """The parts, sealed to a trustee whose own commitment is on the board."""
        self._check_memory()
        entry = check_proof(self.election, parse(body), "private")
        held = self.store("state").get(b"private")
        if held is None:
            raise InputError("this trustee has not committed to its parts yet")
        key = sealing_public(self.election.parties[entry.author].seal)
        return canonical({"from": self.name, "sealed": seal(held, key, self._info(self.name, entry.author)).hex()})

    def _info(self, sender: str, receiver: str) -> bytes:
        return b"GV2 parts" + self.election.mid + canonical([sender, receiver])

    def _exchanged(self, board: Board, plan: TallyPlan, answers: list[Any]) -> dict[str, list[dict[str, str]]]:
        """Parts of enough trustees: opened, compared with their hashes, and verified.

        Which trustees they are changes nothing, so that one that is away, or hands over something wrong, does not stop
        the others as long as there are enough.
        """
        committed = {entry.author: entry.body["commitment"] for entry in board.of("private")}
        if self.name not in committed:
            raise InputError("this trustee has not committed to its parts yet")
        found, faults = {self.name: list(json.loads(self._own_parts(plan))["parts"])}, []
        for answer in answers:
            try:
                sender = answer["from"]
                content = self.secret.sealing.open(unhex(answer["sealed"]), self._info(sender, self.name))
                stated = parse(content)["parts"]
                if commitment_of(sender, stated) != committed[sender]:
                    raise InputError(f"{sender}: the parts are not those that it committed to")
                if fault := plan.exchange_fault(sender, stated):
                    raise InputError(fault)
                found[sender] = stated
            except InputError as error:
                faults.append(str(error))
            except (KeyError, TypeError, ValueError):
                faults.append("a trustee handed over something that has no parts")
        if len(found) < (needed := self.election.manifest.openers):
            reason = faults[0] if faults else f"parts of {len(found)} trustees; {needed} are needed"
            raise InputError(reason)
        return found

    def compare(self, body: bytes) -> bytes:
        """Decrypt the sums on the list, compute the release, keep it, and state the hash of its files."""
        stated = parse(body)
        board = self._board(body)
        plan = self._frozen(board)
        if self.store("state").get(b"release") is None:
            found = self._exchanged(board, plan, stated.get("parts") or [])
            numbers = {
                cell: plan.decrypt(cell, {name: bytes.fromhex(given[place]["part"]) for name, given in found.items()})
                for place, cell in enumerate(plan.private_cells)
            }
            salt = plan.salt({name: bytes.fromhex(given[-1]["part"]) for name, given in found.items()})
            total = board.of("result")[0].body["counts"]
            made = hand_over(self.election, total, counts_by_group(plan, numbers), plan.groups, salt)
            self._keep(plan, {} if made is None else self._files(made, stated.get("out")))
        return make_entry(self.election, self.secret, "compared", {"release": self._hash()}).content

    def _files(self, made: Any, out: object) -> dict[str, bytes]:
        with scratch_folder() as scratch:
            folder = scratch / "release"
            files = published_files(made.write(folder))
            if isinstance(out, str) and not Path(out).exists():
                with new_folder(Path(out)) as draft:  # after a power failure there is a whole release or none
                    shutil.copytree(folder, draft, dirs_exist_ok=True)
        return files

    def _keep(self, plan: TallyPlan, files: Mapping[str, bytes]) -> None:
        self.store("files").add({name.encode(): content for name, content in files.items()})
        self.remember("release", canonical({name: hashlib.sha256(c).hexdigest() for name, c in files.items()}))

    def _hash(self) -> str:
        return hashlib.sha256(self.store("state").get(b"release") or b"").hexdigest()

    def release(self, body: bytes) -> bytes:
        """The entry with parts of exactly the published counts; only if enough trustees computed the same files."""
        board = self._board(body)
        plan = self._frozen(board)
        if not self.has("release"):
            raise InputError("this trustee has computed no release, or was restored since: it tallies first")
        compared = [entry.body["release"] for entry in board.of("compared")]
        if len(compared) - compared.count(self._hash()) > spare_trustees(self.election):
            raise InputError("the trustees computed different releases: nothing is published")
        if compared.count(self._hash()) < self.election.manifest.openers:
            raise InputError(f"{compared.count(self._hash())} trustees computed this release: more are needed")
        files = {name.decode(): content for name, content in self.store("files").items()}
        cells = published_cells(files, plan.groups, self.election.manifest.options) if files else {}
        own = tally_secret(self.election, self.secret)
        statement = release_statement(plan, files)
        statement["cells"] = [cell_document(cell) | plan.part(own, self.name, cell) for cell in cells]
        entry = make_entry(self.election, self.secret, "release", statement)
        contents = {name: content.hex() for name, content in files.items()}
        return canonical({"entry": json.loads(entry.content), "files": contents})

    def status(self, _: bytes) -> bytes:
        """How far this trustee is."""
        done = [flag for flag in ("frozen", "private", "release") if self.has(flag)]
        return canonical({"done": done})


def commitment_of(name: str, parts: Sequence[Mapping[str, str]]) -> str:
    """The hash of a trustee's parts, without their proofs: it hides them, since nobody else can compute a part."""
    return name_of("private", [name.encode(), *(bytes.fromhex(each["part"]) for each in parts)]).hex()


def cell_document(cell: Cell) -> dict[str, Any]:
    """A cell as entries name it."""
    return {"dimension": cell.dimension, "categories": list(cell.categories), "option": cell.option}


def release_statement(plan: TallyPlan, files: Mapping[str, bytes]) -> dict[str, Any]:
    """What trustees sign about the release: hashes of its files and figures that are public anyway."""
    return {
        "certified": bool(files),
        "kappa": plan.kappa,
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())},
        "turnout": turnout(plan.accepted, plan.election.manifest.electorate, files),
    }

"""A small election by hand: every party its own folder and service, and the folders as they are before each command."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from election_world import SMALL, roll_of, secrets_of
from fault_server import TEMPORARY, WORK, Server
from fault_services import Turn, World
from recorded import folder_in_memory
from safemargin.election.board import Board
from safemargin.election.board_verification import check_board
from safemargin.election.client import ask_over_http, enrol, fetch_tokens, send
from safemargin.election.manifests import KnownElection
from safemargin.election.rehearsal import read_codes
from safemargin.election.roll import roll_csv
from safemargin.election.setup import parse_plan
from safemargin.election.voter import Wallet
from safemargin.parties.service import free_ports

PEOPLE = 6
ISSUERS = ("issuer-1", "issuer-2", "issuer-3")
TRUSTEES = ("trustee-1", "trustee-2", "trustee-3")
WITNESSED = ("board", *ISSUERS)
"""Who is asked when an entry is written to the board."""


def _close(party: str, *more: str) -> Turn:
    return Turn(f"election close {party}", (party, *WITNESSED, *more), (party, "board", *more))


TURNS = {
    "manifest": Turn("election manifest plan.toml --roll roll.csv --parts drop --out manifest.json"),
    "approve": Turn("election approve issuer-1 --manifest manifest.json --into drop"),
    "publish, the board": Turn("election publish board --approvals drop", WITNESSED, ("board", "issuer-1")),
    "letters": Turn(
        "election letters registrar --roll roll.csv --codes codes.csv --out letters", ("registrar",), ("registrar",)
    ),
    "vote, enrol": Turn(
        "election vote wallet.json --manifest manifest.json --step enrol --row {row} --code {code}",
        ("registrar", *ISSUERS),
        ("registrar", "issuer-1"),
    ),
    "vote, cast": Turn(
        "election vote wallet.json --manifest manifest.json --step cast --option yes --category health=well",
        ("box",),
        ("box",),
    ),
    "close, the collector": _close("collector"),
    "close, the registrar": _close("registrar"),
    "close, an issuer": Turn("election close issuer-1", WITNESSED, ("issuer-1",)),
    "close, the box": _close("box"),
    "close, ballots": _close("collector", "box"),
    "close, objections": _close("collector"),
    "vote, check": Turn("election vote wallet.json --manifest manifest.json --step check", ("board",)),
    "verify, a copy": Turn("election verify {address} --id {id} --copy copied --processes 1", ("board",)),
    "tally, freeze": Turn("election tally trustee-1", ("trustee-1", *WITNESSED), ("trustee-1", "board")),
    "tally, the total": Turn("election tally trustee-1", ("trustee-1", *WITNESSED), ("trustee-1",)),
    "publish, the total": Turn("election publish collector", ("collector", *WITNESSED), ("collector",)),
    "tally, commit": Turn("election tally trustee-1", ("trustee-1", *WITNESSED), ("trustee-1",)),
    "tally, the release": Turn(
        "election tally trustee-1 --out release-1", (*TRUSTEES, *WITNESSED), ("trustee-1", "trustee-2")
    ),
    "publish, a trustee": Turn("election publish trustee-1", ("trustee-1", *WITNESSED), ("trustee-1", "board")),
    "publish, the box": Turn("election publish box", ("box", *WITNESSED), ("box",)),
    "status": Turn("election status trustee-1", ("trustee-1",), ("trustee-1",)),
    "step": Turn("election step issuer-1 close --out answer"),
    "backup": Turn("election backup trustee-1 --out trustee.backup --passphrase-file pass"),
    "restore": Turn("election restore issuer.backup --out restored --passphrase-file pass"),
    "catch-up": Turn("election catch-up issuer-1", WITNESSED, ("issuer-1",)),
}
"""Commands in the order of an election: each is struck in the folders as they are when it is due."""
_AFTER = {
    "approve": [f"election approve {name} --manifest manifest.json --into drop" for name in parse_plan(SMALL).parties],
    "close, an issuer": [f"election close {name}" for name in ISSUERS[1:]],
    **{
        turn: [f"election tally {name}" for name in TRUSTEES[1:]]
        for turn in ("tally, freeze", "tally, the total", "tally, commit", "tally, the release")
    },
    "publish, a trustee": [f"election publish {name}" for name in TRUSTEES[1:]],
}
"""What other parties do then, before the next turn."""


class Election(World):
    """An election of ten parties."""

    turns = TURNS

    def __init__(self, server: Server, kept: Path, root: Path) -> None:
        super().__init__(server, kept, root)
        plan = parse_plan(SMALL)
        self.ports = dict(zip(plan.parties, free_ports(len(plan.parties)), strict=True))

    def serving(self, name: str) -> str:
        return f"election serve {name} --port {self.ports[name]}"

    def faults(self) -> list[str]:
        board = self.work / "board/board"
        return list(check_board(Board(board), processes=1).findings) if board.exists() else []

    def prepare(self) -> None:
        """Hold the election, and keep the folders as they are before each turn."""
        for name in (WORK, TEMPORARY):
            (self.root / name).mkdir()
        plan, work = parse_plan(SMALL), self.work
        (work / "plan.toml").write_text(SMALL, encoding="utf-8")
        (work / "pass").write_text("a long phrase that nobody guesses\n", encoding="utf-8")
        (work / "roll.csv").write_bytes(roll_csv({row.replace(" ", "-"): own for row, own in roll_of(PEOPLE).items()}))
        for name, secret in secrets_of(plan).items():
            (work / name).mkdir()
            secret.write(work / name / "keys.json")  # keys of issuers take long: `init` uses those that are there
            address = f"https://127.0.0.1:{self.ports[name]}"
            self.run(f"election init plan.toml {name} --out {name} --address {address} --self-signed 127.0.0.1")
        for name in (*plan.parties, *TRUSTEES):
            self.run(f"election join {name} --into drop")
        for turn in TURNS:
            self._keep(turn)
            if turn == "publish, the board":
                self.start(list(plan.parties))
            if turn in ("verify, a copy", "status", "step", "backup", "restore", "catch-up"):
                continue  # it changes nothing that the next turn needs
            self.run(self.command(turn))
            self._afterwards(turn)
        self.stop()

    def _keep(self, turn: str) -> None:
        """Copy the folders; issuer 1 is restored from its backup where that is the turn."""
        if turn in ("restore", "catch-up"):
            self.stop()
            self.run("election backup issuer-1 --out issuer.backup --passphrase-file pass")
        shutil.copytree(self.work, self.kept / turn)
        if turn == "catch-up":
            shutil.rmtree(self.kept / turn / "issuer-1")
            shutil.rmtree(self.work / "issuer-1")
            self.run("election restore issuer.backup --out issuer-1 --passphrase-file pass")
            shutil.copytree(self.work / "issuer-1", self.kept / turn / "issuer-1")
        if turn in ("restore", "catch-up"):
            (self.work / "issuer.backup").unlink()

    def _afterwards(self, turn: str) -> None:
        if turn == "manifest":
            election = KnownElection.read(self.work / "manifest.json")
            self.words |= {"id": election.fingerprint, "address": f"https://127.0.0.1:{self.ports['board']}"}
        elif turn == "letters":
            self.codes = read_codes(self.work / "codes.csv")
            row = next(iter(self.codes))
            self.words |= {"row": row, "code": self.codes[row]}
        elif turn == "vote, cast":
            self._vote()
        for command in _AFTER.get(turn, ()):
            self.run(command)

    def _vote(self) -> None:
        """Everybody but the first person, who votes by commands."""
        election = KnownElection.read(self.work / "manifest.json")
        with ask_over_http(election) as ask:
            for number, (row, code) in enumerate(self.codes.items()):
                if number == 0:
                    continue
                wallet = Wallet.new(election, row, code)
                enrol(wallet, ask)
                fetch_tokens(wallet, ask)
                for name in election.dimensions:
                    category = "ill" if number % 3 == 2 else "well"
                    wallet.cast(wallet.prepare(name, "yes" if number % 3 else "no", category))
                    send(wallet, name, ask)


@contextlib.contextmanager
def held_election(server: Server) -> Iterator[Election]:
    """An election with the folders before each turn."""
    with folder_in_memory() as kept, folder_in_memory() as root:
        election = Election(server, kept, root)
        try:
            election.prepare()
            yield election
        finally:
            election.stop()

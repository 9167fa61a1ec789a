"""A whole small election in this process: keys from a file, roles in folders, people with answers."""

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safemargin.election.blind import BlindSigner
from safemargin.election.board import Board
from safemargin.election.client import enrol, fetch_board, fetch_tokens, send
from safemargin.election.issuing import Registrar
from safemargin.election.keys import derive
from safemargin.election.manifests import KnownElection
from safemargin.election.operations import Operations
from safemargin.election.role import Role
from safemargin.election.roll import roll_csv
from safemargin.election.secret import Secret
from safemargin.election.service import role_class
from safemargin.election.setup import ElectionPlan, PublicKeys, deal, make_manifest, parse_plan, plan_text, public_keys
from safemargin.election.voter import Wallet

VECTORS = Path(__file__).parent / "vectors"
PRIMES: list[list[int]] = json.loads((VECTORS / "election_keys.json").read_text())["primes"]
PLAN = plan_text(
    "A small vote",
    "Shall we?",
    ["yes", "no"],
    {"age": ["young", "old"], "health": {"well": 8, "ill": 4}},
    collector="Company",
    others=["Union", "Court"],
    box="Post",
    settings={"least": 5, "kappa": 2, "bits": 2048},
    target={"beta": 0.05, "tau": 0},
)


def plan_for(people: int, ill: int) -> str:
    """The plan for so many people, of whom so many are ill."""
    return PLAN.replace("well = 8, ill = 4", f"well = {people - ill}, ill = {ill}")


SMALL = plan_for(6, 2)
SHARED = SMALL.replace("openers = 3", "openers = 2")
"""Two of three trustees decrypt, after all three froze the ballots."""
OF_FOUR = SHARED.replace(
    "\n[release.target]", 'trustee-4 = { role = "trustee", organisation = "Ombudsman" }\n\n[release.target]'
)
"""Two of four trustees decrypt, after three of them froze the ballots."""
_TRUSTEES = "".join(
    f'escrow-{number} = {{ role = "escrow", organisation = "{name}" }}\n'
    for number, name in enumerate(("Union", "Court", "Ombudsman"), 1)
)
ESCROW = SMALL.replace("\n[release.target]", f"{_TRUSTEES}\n[escrow]\ncandidates = 4\nquorum = 2\n\n[release.target]")
"""The small plan with the governed exception."""


def secrets_of(plan: ElectionPlan) -> dict[str, Secret]:
    """Keys of every party; issuing keys are taken from the file, since making them is slow."""
    primes = iter(PRIMES)
    secrets = {}
    for name, party in plan.parties.items():
        labels = plan.key_names() if party.role == "issuer" else []
        own = {label: (pair[0], pair[1]) for label, pair in zip(labels, primes, strict=False)}
        secrets[name] = Secret(name, derive(b"a test", name, 32), own)
    return secrets


def keys_of(plan: ElectionPlan, secrets: Mapping[str, Secret]) -> list[PublicKeys]:
    """What the parties hand in."""
    certificates = {
        name: {label: certificate(*pair) for label, pair in s.primes.items()} for name, s in secrets.items()
    }
    return [public_keys(plan, secret, certificates[name]) for name, secret in secrets.items()]


@functools.cache
def certificate(p: int, q: int) -> str:
    """Made once for all tests."""
    return BlindSigner(p, q).certificate().hex()


def roll_of(people: int) -> dict[str, dict[str, str]]:
    """Rows with categories: half of them young."""
    return {f"row {number:03d}": {"age": "young" if number % 2 else "old"} for number in range(people)}


def election_of(plan: ElectionPlan, people: int, secrets: Mapping[str, Secret]) -> KnownElection:
    """The manifest of a plan."""
    keys = keys_of(plan, secrets)
    by_name = {each.name: each for each in keys}
    dealings = {name: deal(plan, secrets[name], by_name) for name in plan.trustees}
    return make_manifest(plan, roll_of(people), keys, dealings)


class World:
    """Roles, people, and the operations of every party."""

    def __init__(
        self,
        folder: Path,
        people: int = 6,
        plan: str = SMALL,
        classes: Mapping[str, type[Role]] | None = None,
        place: str | None = None,
    ) -> None:
        self.folder, self.plan = folder, parse_plan(plan)
        self.secrets = secrets_of(self.plan)
        self.roll = roll_of(people)
        self.election = election_of(self.plan, people, self.secrets)
        made = classes or {}
        self.roles: dict[str, Role] = {
            name: made.get(name, role_class(party.role))(
                self.election,
                self.secrets[name],
                place if place and party.role in ("registrar", "issuer", "collector") else folder / name,
            )
            for name, party in self.election.parties.items()
        }
        registrar = self.roles["registrar"]
        assert isinstance(registrar, Registrar)
        registrar.run("roll", roll_csv(self.roll))
        self.wallets = {row: Wallet.new(self.election, row, registrar.code(row)) for row in self.roll}

    def ask(self, party: str, step: str, body: bytes = b"") -> bytes:
        return self.roles[party].run(step, body)

    def desk(self, name: str) -> Operations:
        """The operations of a party; roles are asked directly."""
        return Operations(self.election, name, self.ask, self.ask, self.folder / f"desk {name}")

    def begin(self) -> "World":
        signed = {
            name: self.election.sign(secret.signing, name, "all", "manifest", self.election.content)
            for name, secret in self.secrets.items()
        }
        self.desk("board").begin(signed)
        return self

    def enrol(self, rows: Sequence[str] | None = None) -> "World":
        for row in rows if rows is not None else self.wallets:
            enrol(self.wallets[row], self.ask)
            fetch_tokens(self.wallets[row], self.ask)
        return self

    def cast(self, rows: Sequence[str] | None = None) -> "World":
        for number, row in enumerate(rows if rows is not None else self.wallets):
            for name in self.election.dimensions:
                self.cast_one(row, name, "yes" if number % 3 else "no", "ill" if number % 3 == 2 else "well")
        return self

    def cast_one(self, row: str, name: str, option: str, health: str = "well") -> None:
        wallet = self.wallets[row]
        wallet.cast(wallet.prepare(name, option, health))
        send(wallet, name, self.ask)

    def close(self) -> "World":
        """The election is closed; every party states what it has."""
        self.desk("collector").close()
        for name, party in self.election.parties.items():
            if party.role in ("registrar", "issuer", "box"):
                self.desk(name).close()
        self.desk("collector").close()
        return self

    def end_objections(self) -> "World":
        self.desk("collector").close()
        return self

    def total(self, trustees: Sequence[str] | None = None) -> dict[str, int]:
        """Freeze and decrypt the binding total."""
        for chosen in (self.plan.trustees, trustees or self.plan.trustees):
            for name in chosen:
                self.desk(name).tally()
        self.desk("collector").publish()
        counts: dict[str, int] = self.board.of("result")[0].body["counts"]
        return counts

    def release(self, trustees: Sequence[str] | None = None) -> dict[str, Any]:
        """Compute and publish the tables."""
        chosen = trustees or self.plan.trustees
        for _ in range(2):
            for name in chosen:
                self.desk(name).tally(self.folder / "release")
        for name in chosen:
            self.desk(name).publish()
        body: dict[str, Any] = self.board.of("release")[0].body
        return body

    def until_cast(self) -> "World":
        return self.begin().enrol().cast()

    def until_frozen(self) -> "World":
        self.until_cast().close().end_objections()
        return self

    def run(self) -> "World":
        self.until_frozen().total()
        self.release()
        return self

    @property
    def board(self) -> Board:
        return Board(self.folder / "board" / "board")

    def copy(self) -> Board:
        return fetch_board(self.election, self.folder / "copy", self.ask)

    def role(self, name: str) -> Any:
        return self.roles[name]

"""A whole small election in this process: keys from a file, roles in folders, people with answers."""

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safemargin.election.blind import BlindSigner
from safemargin.election.board import Board
from safemargin.election.client import enrol, fetch_tokens, send
from safemargin.election.conduct import Conductor
from safemargin.election.issuing import Registrar
from safemargin.election.keys import derive
from safemargin.election.manifest import KnownElection
from safemargin.election.rehearse import roll_csv
from safemargin.election.role import Role
from safemargin.election.secret import Secret
from safemargin.election.service import role_class
from safemargin.election.setup import ElectionPlan, PublicKeys, make_manifest, parse_plan, plan_text, public_keys
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
    settings={"least": 5, "kappa": 2, "tolerance": 30, "spread": 0, "bits": 2048},
    target={"beta": 0.05, "tau": 0},
)


def plan_for(people: int, ill: int) -> str:
    """The plan for so many people, of whom so many are ill."""
    return PLAN.replace("well = 8, ill = 4", f"well = {people - ill}, ill = {ill}")


SMALL = plan_for(6, 2)
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


def keys_of(secrets: Mapping[str, Secret]) -> list[PublicKeys]:
    """What the parties hand in."""
    certificates = {
        name: {label: certificate(*pair) for label, pair in s.primes.items()} for name, s in secrets.items()
    }
    return [public_keys(secret, certificates[name]) for name, secret in secrets.items()]


@functools.cache
def certificate(p: int, q: int) -> str:
    """Made once for all tests."""
    return BlindSigner(p, q).certificate().hex()


def roll_of(people: int) -> dict[str, dict[str, str]]:
    """Rows with categories: half of them young."""
    return {f"row {number:03d}": {"age": "young" if number % 2 else "old"} for number in range(people)}


class World:
    """Roles, people and a conductor."""

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
        self.election: KnownElection = make_manifest(self.plan, self.roll, keys_of(self.secrets))
        made = classes or {}
        self.roles: dict[str, Role] = {
            name: made.get(name, role_class(party.role))(
                self.election,
                self.secrets[name],
                place if place and party.role not in ("board", "trustee") else folder / name,
            )
            for name, party in self.election.parties.items()
        }
        registrar = self.roles["registrar"]
        assert isinstance(registrar, Registrar)
        registrar.run("roll", roll_csv(self.roll))
        self.ask = self._ask
        self.conductor = Conductor(self.election, self.ask)
        self.wallets = {row: Wallet.new(self.election, row, registrar.code(row)) for row in self.roll}

    def _ask(self, party: str, step: str, body: bytes = b"") -> bytes:
        return self.roles[party].run(step, body)

    def begin(self) -> None:
        self.conductor.begin()

    def enrol(self) -> None:
        for wallet in self.wallets.values():
            enrol(wallet, self.ask)
        self.conductor.close_enrolment()

    def issue(self, rows: Sequence[str] | None = None) -> tuple[str, ...]:
        for row in rows if rows is not None else self.wallets:
            fetch_tokens(self.wallets[row], self.ask)
        signers = self.conductor.close_issuing()
        self.conductor.open_casting(signers)
        return signers

    def cast(self, rows: Sequence[str] | None = None) -> None:
        signers = self.board.signers
        for number, row in enumerate(rows if rows is not None else self.wallets):
            for name in self.election.dimensions:
                self.cast_one(row, name, "yes" if number % 3 else "no", signers, "ill" if number % 3 == 2 else "well")

    def cast_one(self, row: str, name: str, option: str, signers: tuple[str, ...], health: str = "well") -> None:
        wallet = self.wallets[row]
        send(wallet, name, wallet.cast(name, option, signers, health), self.ask)

    def count(self) -> dict[str, dict[str, Any]]:
        self.conductor.close_casting()
        return self.conductor.count()

    def until_enrolled(self) -> "World":
        self.begin()
        self.enrol()
        return self

    def until_issued(self) -> "World":
        self.until_enrolled().issue()
        return self

    def until_cast(self) -> "World":
        self.until_issued().cast()
        return self

    def open(self) -> dict[str, Any]:
        return self.conductor.ceremony(self.folder / "copy", self.folder / "release")

    @property
    def board(self) -> Board:
        return Board(self.folder / "board" / "board")

    def role(self, name: str) -> Any:
        return self.roles[name]

"""What all roles share: steps that take bytes and give bytes, over HTTP or from file to file."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from safemargin.core import InputError
from safemargin.election.keys import new_seed
from safemargin.election.manifests import KnownElection
from safemargin.election.secret import Secret
from safemargin.election.store import Store, open_store

Answer = bytes | InputError
"""What a step gives for one message, or why it was refused."""
Caller = Literal["anybody", "anonymous", "operator", "party"]
"""`anybody`: the message itself proves what it needs. `anonymous`: the sender must stay unknown; sizes are fixed.
`operator`: signed with this party's own key, by the people who run it. `party`: signed by a party of the election whose
role `Step.roles` names."""


RESTORED, CAUGHT_UP = "restored ", "caught up "
"""What a party remembers of a restore from a backup."""


class ConflictError(InputError):
    """Something else is stored under the same name already."""


@dataclass(frozen=True)
class Step:
    """One thing that a role does when it is asked."""

    name: str
    handle: Callable[[Sequence[bytes]], list[Answer]]
    """Takes all messages that wait, so that they are committed to disk together."""
    caller: Caller
    summary: str
    size: int | None = None
    """Bytes of a message, where it is fixed."""
    roles: tuple[str, ...] = ()
    """Roles whose parties may ask, where another party may."""


def single(action: Callable[[bytes], bytes]) -> Callable[[Sequence[bytes]], list[Answer]]:
    """A step that handles one message after another."""

    def handle(bodies: Sequence[bytes]) -> list[Answer]:
        answers: list[Answer] = []
        for body in bodies:
            try:
                answers.append(action(body))
            except InputError as error:
                answers.append(error)
        return answers

    return handle


class Role(ABC):
    """A party at work: its keys, its storage and its steps."""

    def __init__(self, election: KnownElection, secret: Secret, place: Path | str) -> None:
        if secret.name not in election.parties:
            raise InputError(f"{secret.name}: is no party of this election")
        self.election, self.secret, self.place = election, secret, place
        self.name = secret.name
        self._stores: dict[str, Store] = {}

    @property
    @abstractmethod
    def steps(self) -> list[Step]:
        """The steps of this role alone."""

    @property
    def all_steps(self) -> list[Step]:
        """All steps of this role."""
        return self.steps

    def step(self, name: str) -> Step:
        """A step by its name."""
        steps = {step.name: step for step in self.all_steps}
        if name not in steps:
            raise InputError(f"step = {name!r}: {self.name} has none of this name; there are {', '.join(steps)}")
        return steps[name]

    def run(self, name: str, body: bytes = b"") -> bytes:
        """Do one step for one message."""
        (answer,) = self.step(name).handle([body])
        if isinstance(answer, InputError):
            raise answer
        return answer

    def store(self, name: str) -> Store:
        """A table of this role, under a name of its own."""
        if name not in self._stores:
            self._stores[name] = open_store(self.place, f"{self.name} {name}", self.election.mid.hex())
        return self._stores[name]

    def has(self, flag: str) -> bool:
        """Whether something happened, as remembered on disk."""
        return self.store("state").get(flag.encode()) is not None

    def remember(self, flag: str, value: bytes = b"") -> bytes:
        """Keep a fact for good; what is stored first stays."""
        return self.store("state").add({flag.encode(): value})[flag.encode()]

    def mark_restored(self) -> None:
        """Note that this storage comes from a backup. Each restore has a name of its own, since a backup may be one of
        a party that was restored and caught up before.
        """
        self.remember(RESTORED + new_seed().hex())

    def mark_caught_up(self) -> None:
        """Note that nothing is missing since the last restore."""
        for restore in self._restores():
            self.remember(CAUGHT_UP + restore)

    @property
    def is_restored(self) -> bool:
        """Whether the storage comes from a backup, and may miss what this party did since."""
        return not all(self.has(CAUGHT_UP + restore) for restore in self._restores())

    def _restores(self) -> list[str]:
        keys = [key.decode() for key, _ in self.store("state").items()]
        return [key.removeprefix(RESTORED) for key in keys if key.startswith(RESTORED)]

    def close(self) -> None:
        """End all connections."""
        for store in self._stores.values():
            store.close()
        self._stores.clear()

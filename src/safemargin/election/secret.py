"""The private keys of one party, and their file."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from safemargin.core import InputError
from safemargin.election.blind import BlindSigner
from safemargin.election.keys import SealingKey, canonical, derive
from safemargin.io import read_json, require_private
from safemargin.parties.files import write_private


@dataclass
class Secret:
    """All private keys of one party; the file is for its owner alone."""

    name: str
    seed: bytes = field(repr=False)
    primes: dict[str, tuple[int, int]] = field(default_factory=dict, repr=False)
    """Two primes per issuing key, by the key's name."""

    @cached_property
    def signing(self) -> Ed25519PrivateKey:
        """The key that signs this party's messages."""
        return Ed25519PrivateKey.from_private_bytes(derive(self.seed, "Ed25519", 32))

    @cached_property
    def sealing(self) -> SealingKey:
        """The key that others seal to."""
        return SealingKey(derive(self.seed, "sealing", 32))

    @cached_property
    def signers(self) -> dict[str, BlindSigner]:
        """The issuing keys."""
        return {name: BlindSigner(p, q) for name, (p, q) in self.primes.items()}

    def write(self, path: Path) -> None:
        """Write the file, readable by its owner alone; never over another one."""
        document = {"name": self.name, "seed": self.seed.hex(), "primes": self.primes}
        write_private(path, canonical(document), new=True)

    @classmethod
    def read(cls, path: Path) -> "Secret":
        """Read the file."""
        try:
            require_private(path)
            stated = read_json(path)
            primes = {name: (int(p), int(q)) for name, (p, q) in stated["primes"].items()}
            return cls(stated["name"], bytes.fromhex(stated["seed"]), primes)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputError(f"{path}: is not a file with the keys of a party") from None

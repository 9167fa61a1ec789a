"""What the folders of releases say about their ledger: every manifest names it, so a missing one is noticed.

A release that was recorded in a ledger must be in it; otherwise the ledger is an old copy. A ledger that holds nothing
about a population must not stand beside releases that name a ledger which is not at hand: that one was deleted, moved
or exchanged, and everything that was published before would be forgotten. Nor may it stand beside another ledger that
holds this population.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from safemargin.core import InputError
from safemargin.history.chain import Chain
from safemargin.history.names import normalised
from safemargin.io import MANIFEST, hash_file, read_manifest

APPLICATION = 0x736D6C67
"""What SQLite's header says in a ledger: `smlg`."""
PUBLISHED = "published"
"""The part of a release's folder that holds the manifest."""


def manifests_in(parent: Path) -> list[Path]:
    """The manifests of releases in the folders of `parent`; drafts have hidden names."""
    return [path for path in sorted(parent.glob(f"*/{PUBLISHED}/{MANIFEST}")) if path.parts[-3][0] != "."]


def check_folders(path: Path, chain: Chain, known: set[str], new: str | None, manifests: Sequence[Path]) -> None:
    """Raise if a release at hand shows that the ledger is an old copy, or in the place of one that is missing.

    `known` are the hashes of the manifests that the ledger holds. `new` is a population about which it holds nothing,
    or empty where it holds nothing about anybody.
    """
    named = list(_named(manifests))
    for manifest, name in named:
        if name == chain.name and hash_file(manifest) not in known:
            raise InputError(
                f"{path}: does not hold the release in {manifest.parent.parent}, which was recorded in it: "
                "the ledger is an old copy, or the manifest was changed; restore the latest copy"
            )
    if new is None:
        return
    holds = f"holds nothing about {new!r}" if new else "is new"
    beside = list(_ledgers_beside(path))
    for other, _, populations in beside:
        if new and normalised(new) in map(normalised, populations):
            raise InputError(f"{path}: {holds}, and {other.name} beside it does: name that ledger (ledger.file)")
    for manifest, name in named:
        if name not in {chain.name, *(own for _, own, _ in beside)}:
            raise InputError(
                f"{path}: the release in {manifest.parent.parent} was recorded in a ledger that is not here, and this "
                f"one {holds}: restore the ledger, or keep releases about other people in a folder of their own"
            )


def _named(manifests: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Manifests that name a ledger."""
    for manifest in dict.fromkeys(manifests):
        with suppress(InputError):
            stated = (read_manifest(manifest).model_extra or {}).get("ledger")
            if isinstance(stated, dict) and isinstance(stated.get("name"), str):
                yield manifest, stated["name"]


def _ledgers_beside(path: Path) -> Iterator[tuple[Path, str, list[str]]]:
    """Other ledgers in the folder of one, with their names and populations; a file that cannot be read is none."""
    for other in sorted(path.parent.iterdir()) if path.parent.is_dir() else ():
        with suppress(OSError, sqlite3.Error):
            if not other.is_file() or (path.exists() and other.samefile(path)):
                continue
            with other.open("rb") as file:
                header = file.read(72)
            if header[68:72] != APPLICATION.to_bytes(4, "big"):
                continue
            address = f"{other.resolve().as_uri()}?mode=ro"
            with closing(sqlite3.connect(address, uri=True)) as database:
                populations = [name for (name,) in database.execute("select distinct population from release")]
                for (key,) in database.execute("select key from head").fetchall():
                    yield other, Chain(key).name, populations

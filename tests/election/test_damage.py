"""Files that people and parties hand in: whatever they hold, a reader refuses them in one line."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from election_world import SMALL, keys_of, roll_of, secrets_of
from malformed import VECTORS, content_of
from safemargin.aggregate.session_file import read_session
from safemargin.core import InputError
from safemargin.election.manifest import KnownElection
from safemargin.election.secret import Secret
from safemargin.election.setup import make_manifest, parse_plan, read_plan, read_public_keys
from safemargin.election.vote import read_texts
from safemargin.election.voter import Wallet

KINDS = json.loads(VECTORS.read_text(encoding="utf-8"))["contents"]
CONTENTS = {f"{kind}.{name}": spec for kind in ("text", "json") for name, spec in KINDS[kind].items()}
PLAN = parse_plan(SMALL)
ELECTION = make_manifest(PLAN, roll_of(6), keys_of(secrets_of(PLAN)))
READERS: dict[str, Callable[[Path], object]] = {
    "wallet": lambda path: Wallet.read(ELECTION, path),
    "keys": Secret.read,
    "texts": read_texts,
    "public keys": read_public_keys,
    "manifest": KnownElection.read,
    "plan": read_plan,
    "session": read_session,
}


@pytest.mark.parametrize("name", READERS)
def test_no_content_makes_a_reader_fail(tmp_path: Path, name: str) -> None:
    refused = 0
    for number, spec in enumerate(CONTENTS.values()):
        path = tmp_path / str(number)
        path.write_bytes(content_of(spec, b""))
        path.chmod(0o600)
        try:
            READERS[name](path)
        except InputError as error:
            assert "\n" not in str(error)
            refused += 1
    assert refused >= len(CONTENTS) - 2, "an empty object is a translation, too"


@pytest.mark.parametrize("name", READERS)
def test_no_reader_waits_for_a_pipe_or_reads_a_device(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path, tmp_path / "nothing"):
        with pytest.raises(InputError, match="not a file|there is no such file"):
            READERS[name](path)


@pytest.mark.parametrize("name", ["wallet", "keys"])
def test_a_secret_that_others_can_read_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a file"
    Wallet.new(ELECTION, "row 000", "code", path) if name == "wallet" else Secret("board", bytes(32)).write(path)
    READERS[name](path)
    path.chmod(0o640)
    with pytest.raises(InputError, match="other users can read or change this secret; run: chmod 600 '"):
        READERS[name](path)


def test_a_wallet_with_parts_missing_is_none(tmp_path: Path) -> None:
    path = tmp_path / "wallet.json"
    state = Wallet.new(ELECTION, "row 000", "code", path).state
    for key in state:
        for value in (None, 7, [], {"age": "token"}):
            path.write_text(json.dumps({**state, key: value}))
            with pytest.raises(InputError, match="is not a wallet|another election"):
                Wallet.read(ELECTION, path)

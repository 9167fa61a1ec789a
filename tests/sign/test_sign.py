"""Signatures that `verify` accepts, that change with every byte, and keys that are refused."""

import base64
import errno
import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from faults import Faults, failing, full, interrupt, terminate
from safemargin import InputError, Target, checker, release, sign, verify
from safemargin.core import OutputError, SafemarginError
from safemargin.io import write_folder

FILES = {"published/a.csv": b"a\n"}
HASH = "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7"


def signature_failures(signed: Path, signature: Path, key: Path) -> list[str]:
    """Why a signature is not that of a file, whatever the file is called."""
    files = {checker.MANIFEST: signed.read_bytes(), checker.SIGNATURE: signature.read_bytes()}
    try:
        checker.check_signature(files, key.read_bytes())
    except checker.Finding as finding:
        return [str(finding)]
    return []


@pytest.fixture(name="folder")
def fixture_folder(tmp_path: Path) -> Path:
    manifest = json.dumps({"schema": 1, "files": {"a.csv": HASH}}).encode()
    write_folder(tmp_path / "out", {**FILES, "published/manifest.json": manifest})
    return tmp_path / "out"


def test_a_signature_is_checked_with_the_public_key(folder: Path, tmp_path: Path) -> None:
    pair = sign(key=tmp_path / "office.key", new=True)
    assert pair.public == tmp_path / "office.pub" and (tmp_path / "office.key").stat().st_mode & 0o777 == 0o600
    signed = sign(folder, key=tmp_path / "office.key")
    manifest = folder / "published/manifest.json"
    assert signed.file.name == "manifest.json.minisig" and signed.key == pair.key
    assert signature_failures(manifest, signed.file, tmp_path / "office.pub") == []
    other = sign(key=tmp_path / "other.key", new=True)
    assert other.public is not None
    assert "made with another key" in signature_failures(manifest, signed.file, other.public)[0]
    manifest.write_bytes(manifest.read_bytes() + b" ")
    assert "one of them was changed" in signature_failures(manifest, signed.file, tmp_path / "office.pub")[0]


def test_no_bit_of_a_signature_can_change(folder: Path, tmp_path: Path) -> None:
    sign(key=tmp_path / "k", new=True)
    file, manifest = sign(folder, key=tmp_path / "k").file, folder / "published/manifest.json"
    lines = file.read_text().splitlines()
    for number in (1, 3):
        content = base64.b64decode(lines[number])
        for place in range(0, len(content), 7):
            spoilt = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
            changed = [*lines[:number], base64.b64encode(spoilt).decode(), *lines[number + 1 :]]
            file.write_text("\n".join(changed) + "\n")
            assert signature_failures(manifest, file, tmp_path / "k.pub"), (number, place)
    file.write_text("\n".join([*lines[:2], lines[2] + "0", lines[3]]) + "\n")
    assert signature_failures(manifest, file, tmp_path / "k.pub")


def test_what_is_refused(folder: Path, tmp_path: Path) -> None:
    key = tmp_path / "office.key"
    with pytest.raises(InputError, match="there is no such key"):
        sign(folder, key=key)
    sign(key=key, new=True)
    with pytest.raises(OutputError, match="exists already"):
        sign(key=key, new=True)
    with pytest.raises(InputError, match="which folder"):
        sign(key=key)
    with pytest.raises(InputError, match="must not end in .pub"):
        sign(key=tmp_path / "x.pub", new=True)
    (folder / "published/a.csv").write_text("b")
    with pytest.raises(InputError, match=r"a\.csv is missing or was changed"):
        sign(folder, key=key)
    (folder / "published/a.csv").write_bytes(b"a\n")
    os.chmod(key, 0o644)
    with pytest.raises(InputError, match="chmod 600"):
        sign(folder, key=key)
    os.chmod(key, 0o600)
    lines = key.read_text().splitlines()
    content = bytearray(base64.b64decode(lines[1]))
    content[60] ^= 1
    key.write_text(f"{lines[0]}\n{base64.b64encode(content).decode()}\n")
    with pytest.raises(InputError, match="its checksum does not match"):
        sign(folder, key=key)
    content[2:4] = b"Sc"
    key.write_text(f"{lines[0]}\n{base64.b64encode(content).decode()}\n")
    with pytest.raises(InputError, match="locked with a password"):
        sign(folder, key=key)
    key.write_text("nothing\n")
    with pytest.raises(InputError, match="is not a secret key of minisign"):
        sign(folder, key=key)


def test_a_signed_release_is_verified(tmp_path: Path) -> None:
    rows = [{"site": site, "answer": "yes" if n % 2 else "no"} for site in ("a", "b") for n in range(60)]
    release(rows, answer="answer", by=["site"], target=Target(kappa=10, tau=0)).write(tmp_path / "out")
    sign(key=tmp_path / "k", new=True)
    published = tmp_path / "out/published"
    assert verify(published, key=tmp_path / "k.pub").failures
    sign(tmp_path / "out", key=tmp_path / "k")
    assert not verify(published, key=tmp_path / "k.pub").failures


def test_an_empty_signature_left_by_a_crash_is_replaced(folder: Path, tmp_path: Path) -> None:
    """A signature that holds something is never replaced; nothing is left beside it."""
    sign(key=tmp_path / "k", new=True)
    (folder / "published/manifest.json.minisig").write_text("")
    sign(folder, key=tmp_path / "k")
    names = {path.name for path in (folder / "published").iterdir()}
    assert names == {"a.csv", "manifest.json", "manifest.json.minisig"}
    signature = (folder / "published/manifest.json.minisig").read_bytes()
    sign(folder, key=tmp_path / "k")
    assert (folder / "published/manifest.json.minisig").read_bytes() == signature, "it is there already"
    sign(key=tmp_path / "other", new=True)
    with pytest.raises(OutputError, match="exists already"):
        sign(folder, key=tmp_path / "other")
    (folder / "published/manifest.json").write_text(json.dumps({"schema": 2, "files": {"a.csv": HASH}}))
    with pytest.raises(OutputError, match="exists already"):
        sign(folder, key=tmp_path / "k")


def test_a_pair_of_keys_that_was_interrupted_is_completed(folder: Path, tmp_path: Path) -> None:
    pair = sign(key=tmp_path / "k", new=True)
    public = (tmp_path / "k.pub").read_bytes()
    for left in (None, b"", b"untrusted comm"):
        (tmp_path / "k.pub").unlink()
        if left is not None:
            (tmp_path / "k.pub").write_bytes(left)
        assert sign(key=tmp_path / "k", new=True).key == pair.key
        assert (tmp_path / "k.pub").read_bytes() == public
    (tmp_path / "k").unlink()
    with pytest.raises(OutputError, match="k.pub: exists already"):  # its secret is lost, or elsewhere
        sign(key=tmp_path / "k", new=True)
    assert not (tmp_path / "k").exists()


@pytest.mark.parametrize("kind", ["EIO", "ENOSPC", "SIGINT", "SIGTERM"])
def test_a_fault_while_signing_blocks_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """At every operation: the signature is whole or absent, and the next call signs."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as the command does
    strikes = {"EIO": failing(errno.EIO), "ENOSPC": full, "SIGINT": interrupt, "SIGTERM": terminate}
    faults, published, key = Faults(monkeypatch), folder / "published", tmp_path / "keys" / "k"
    key.parent.mkdir()

    def sign_all() -> None:
        sign(key=key, new=True)
        sign(folder, key=key)

    points = faults.points(sign_all, strikes[kind], tmp_path)
    assert len(points) > 10
    for at in points:
        for path in (*key.parent.iterdir(), published / "manifest.json.minisig"):
            path.unlink(missing_ok=True)
        faults.arm(at, strikes[kind], kind == "ENOSPC")
        with suppress(SafemarginError, KeyboardInterrupt):
            sign_all()
        faults.disarm()
        with suppress(OutputError):  # the pair is complete
            sign(key=key, new=True)
        sign(folder, key=key)
        assert {path.name for path in key.parent.iterdir()} == {"k", "k.pub"}, at
        assert len(list(published.iterdir())) == 3, at
        assert (
            signature_failures(
                published / "manifest.json", published / "manifest.json.minisig", key.with_suffix(".pub")
            )
            == []
        )
    signal.signal(signal.SIGTERM, before)

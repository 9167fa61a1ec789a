"""Every version is pinned, and every pin has the hash of its file."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def lines(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_the_two_files_pin_the_same_versions() -> None:
    hashed = lines("requirements.hashes")
    assert all(re.fullmatch(r"\S+==\S+ --hash=sha256:[0-9a-f]{64}", line) for line in hashed)
    assert [line.split(" ")[0] for line in hashed] == lines("requirements.lock")

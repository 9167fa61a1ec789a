"""What is drawn from the system has exactly the stated law, secrets are kept, and memory is limited."""

import resource
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from safemargin.core import InputError, OutputError, limits
from safemargin.core.randomness import system_below, system_choices, write_secret


def bits(monkeypatch: pytest.MonkeyPatch, *words: bytes) -> Iterator[bytes]:
    """Let the system give these bits, one request after the other."""
    waiting = iter(words)

    def urandom(size: int) -> bytes:
        word = next(waiting)
        assert len(word) == size
        return word

    monkeypatch.setattr("os.urandom", urandom)
    return waiting


@pytest.mark.parametrize(("last", "chosen"), [(b"\x54\x55\x55\x55", True), (b"\x56\x55\x55\x55", False)])
def test_a_third_is_decided_by_the_first_bits_that_differ(
    monkeypatch: pytest.MonkeyPatch, last: bytes, chosen: bool
) -> None:
    """A third is 0.010101... in binary: 32 bits of 01 are undecided, however often."""
    waiting = bits(monkeypatch, b"\x55" * 4, b"\x55" * 4, last)
    assert system_choices(Fraction(1, 3), 1).tolist() == [chosen]
    assert next(waiting, None) is None


def test_words_that_would_favour_small_numbers_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^64 - 1 is divisible by 3, so the word 2^64 - 1 would be a zero too many."""
    bits(monkeypatch, b"\xff" * 8 + (4).to_bytes(8, "little"), b"\x05".ljust(8, b"\0") * 9)
    assert system_below(3, (2,)).tolist() == [4 % 3, 5 % 3]
    with pytest.raises(InputError, match="bound = 0: must be from 1"):
        system_below(0, (2,))


def test_a_secret_is_its_owners_alone_and_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    write_secret(path)
    content = path.read_text()
    assert len(bytes.fromhex(content)) == 32 and path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(OutputError, match="never overwritten"):
        write_secret(path)
    assert path.read_text() == content
    with pytest.raises(OutputError, match="cannot be written"):
        write_secret(tmp_path / "absent" / "secret")


def test_memory_is_limited_for_this_process_and_not_for_those_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = [resource.RLIM_INFINITY, resource.RLIM_INFINITY]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(ends))
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: ends.__setitem__(slice(None), pair))
    monkeypatch.setattr(limits, "_limit", [])
    with limits.without_memory_limit():
        assert ends[0] == resource.RLIM_INFINITY
    limits.limit_memory("1.5 GiB")
    assert limits.memory_limit() == ends[0] == 3 * 2**29
    with limits.without_memory_limit():
        assert ends[0] == resource.RLIM_INFINITY
    assert ends[0] == 3 * 2**29
    for text in ("1", "511MiB", "two", "-4GiB", "2 PiB"):
        with pytest.raises(InputError, match="give a size of at least 512MiB"):
            limits.limit_memory(text)

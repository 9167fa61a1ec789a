"""The Merkle log against the definition of RFC 9162, written here by recursion."""

import hashlib

from hypothesis import given, strategies as st

from safemargin.election.merkle import (
    consistency_path,
    inclusion_path,
    is_continued,
    is_included,
    leaf_hash,
    root_of,
)


def by_definition(contents: list[bytes]) -> bytes:
    """MTH of RFC 9162, 2.1.1."""
    if not contents:
        return hashlib.sha256(b"").digest()
    if len(contents) == 1:
        return hashlib.sha256(b"\x00" + contents[0]).digest()
    split = 1
    while split * 2 < len(contents):
        split *= 2
    return hashlib.sha256(b"\x01" + by_definition(contents[:split]) + by_definition(contents[split:])).digest()


CONTENTS = [bytes([number]) for number in range(40)]


def test_roots_are_those_of_the_definition() -> None:
    for size in range(40):
        assert root_of([leaf_hash(content) for content in CONTENTS[:size]]) == by_definition(CONTENTS[:size])


def test_a_public_vector() -> None:
    """The test tree of Certificate Transparency implementations: eight leaves, root known."""
    leaves = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
    root = root_of([leaf_hash(bytes.fromhex(leaf)) for leaf in leaves])
    assert root.hex() == "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"


@given(st.integers(1, 40), st.data())
def test_inclusion(size: int, data: st.DataObject) -> None:
    leaves = [leaf_hash(content) for content in CONTENTS[:size]]
    index = data.draw(st.integers(0, size - 1))
    path, root = inclusion_path(leaves, index), root_of(leaves)
    assert is_included(leaves[index], index, size, path, root)
    other = data.draw(st.integers(0, size - 1))
    assert is_included(leaves[other], index, size, path, root) == (other == index)
    assert not is_included(leaves[index], index, size, [*path, root], root)
    assert not is_included(leaves[index], size, size, path, root)
    if path:
        assert not is_included(leaves[index], index, size, path[1:], root)


@given(st.integers(1, 40), st.data())
def test_consistency(size: int, data: st.DataObject) -> None:
    leaves = [leaf_hash(content) for content in CONTENTS[:size]]
    old = data.draw(st.integers(1, size))
    path = consistency_path(leaves, old)
    assert is_continued(old, root_of(leaves[:old]), size, root_of(leaves), path)
    fork = [*leaves[: old - 1], leaf_hash(b"forged"), *leaves[old:]]
    assert not is_continued(old, root_of(leaves[:old]), size, root_of(fork), consistency_path(fork, old))
    if size > old:
        assert not is_continued(size, root_of(leaves), old, root_of(leaves[:old]), path), "a log never shrinks"

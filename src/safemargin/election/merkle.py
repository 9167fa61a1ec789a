"""Merkle trees of RFC 9162: roots, and proofs that a leaf is in a tree or that one tree continues another."""

import hashlib
from collections.abc import Iterable, Sequence


def leaf_hash(content: bytes) -> bytes:
    """A leaf; the first byte keeps leaves and nodes apart."""
    return hashlib.sha256(b"\x00" + content).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_of(leaves: Iterable[bytes]) -> bytes:
    """The root over leaf hashes (RFC 9162, 2.1.1), in one pass: only the roots of complete subtrees are held."""
    complete: list[tuple[int, bytes]] = []
    for leaf in leaves:
        size, here = 1, leaf
        while complete and complete[-1][0] == size:
            here = _node(complete.pop()[1], here)
            size *= 2
        complete.append((size, here))
    if not complete:
        return hashlib.sha256(b"").digest()
    root = complete.pop()[1]
    while complete:
        root = _node(complete.pop()[1], root)
    return root


def inclusion_path(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The neighbours of a leaf on its way to the root."""
    path, level = [], list(leaves)
    while len(level) > 1:
        if index ^ 1 < len(level):
            path.append(level[index ^ 1])
        above = [_node(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
        level, index = above + level[len(level) - len(level) % 2 :], index // 2
    return path


def is_included(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Whether a path leads from a leaf to the root (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    first, last, here = index, size - 1, leaf
    for step in path:
        if last == 0:
            return False
        if first % 2 or first == last:
            here = _node(step, here)
            while first % 2 == 0 and first:
                first, last = first // 2, last // 2
        else:
            here = _node(here, step)
        first, last = first // 2, last // 2
    return last == 0 and here == root


def consistency_path(leaves: Sequence[bytes], old: int) -> list[bytes]:
    """Nodes that show that the tree of the first `old` leaves was only added to (RFC 9162, 2.1.4.1)."""

    def below(part: Sequence[bytes], size: int, whole: bool) -> list[bytes]:
        if size == len(part):
            return [] if whole else [root_of(part)]
        split = 1 << (len(part) - 1).bit_length() - 1
        if size <= split:
            return [*below(part[:split], size, whole), root_of(part[split:])]
        return [*below(part[split:], size - split, False), root_of(part[:split])]

    return below(leaves, old, True) if 0 < old < len(leaves) else []


def is_continued(old: int, old_root: bytes, new: int, new_root: bytes, path: Sequence[bytes]) -> bool:
    """Whether the new tree has the old one as its beginning (RFC 9162, 2.1.4.2)."""
    if old == 0 or old == new:
        return not path and (old == 0 or old_root == new_root)
    if not (0 < old < new) or not path:
        return False
    steps = list(path)
    if old & (old - 1) == 0:
        steps.insert(0, old_root)
    first, last = old - 1, new - 1
    while first % 2:
        first, last = first // 2, last // 2
    before = after = steps[0]
    for step in steps[1:]:
        if last == 0:
            return False
        if first % 2 or first == last:
            before, after = _node(step, before), _node(step, after)
            while first % 2 == 0 and first:
                first, last = first // 2, last // 2
        else:
            after = _node(after, step)
        first, last = first // 2, last // 2
    return last == 0 and before == old_root and after == new_root

"""Hierarchies of categories: `.hrc` files as tau-ARGUS and sdcTable write them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from safemargin.core import BoolArray, Hierarchy, InputError
from safemargin.io.files import numbered_lines

LEADS = ("@", ".")
TOTAL = "Total"


def read_hrc(path: Path) -> list[tuple[int, str]]:
    """Codes with their depth, the root left out.

    The depth is the number of leading `@` or, where no line starts with one, of leading dots. If every line has a lead,
    the first one is the root.
    """
    lines = [(number, line.strip()) for number, line in enumerate(numbered_lines(path), 1) if line.strip()]
    if not lines:
        raise InputError(f"{path}: the hierarchy is empty")
    lead = next((mark for mark in LEADS if any(text.startswith(mark) for _, text in lines)), LEADS[0])
    found = []
    for number, text in lines:
        code = text.lstrip(lead).lstrip(";").strip()
        if not code:
            raise InputError(f"{path}: line {number}: {text!r} has no code")
        found.append((len(text) - len(text.lstrip(lead)), code))
    if all(depth > 0 for depth, _ in found) and sum(depth == found[0][0] for depth, _ in found) == 1:
        found = [(depth - found[0][0] - 1, code) for depth, code in found[1:]]
    before = -1
    for (number, _), (depth, code) in zip(lines[-len(found) :], found, strict=True):
        if not 0 <= depth <= before + 1:
            raise InputError(f"{path}: line {number}: {code!r} lies {depth - before} levels below the line before it")
        before = depth
    return found


def hrc_parents(path: Path) -> dict[str, str]:
    """The code right above every code of an `.hrc` file that has one."""
    return {child: parent for parent, children in _children(read_hrc(path)).items() if parent for child in children}


def tree(name: str, categories: Sequence[str], files: Iterable[Path] = (), total: str = TOTAL) -> Hierarchy:
    """The nodes of an axis: its categories under the total, or as the hierarchies in `files` say.

    Every category must be a code of every hierarchy.
    """
    paths = list(files)
    if not paths:
        return Hierarchy.flat(name, categories, total)
    place = {total: 0}
    splits: dict[tuple[int, tuple[int, ...]], None] = {}
    for path in paths:
        codes = read_hrc(path)
        if codes[0] == (0, total) and all(depth > 0 for depth, _ in codes[1:]):
            codes = [(depth - 1, code) for depth, code in codes[1:]]
        known = {code for _, code in codes}
        missing = next((category for category in categories if category not in known), None)
        if missing is not None:
            raise InputError(f"{path}: {name} = {missing!r} is not in the hierarchy")
        twice = next((code for at, (_, code) in enumerate(codes) if code in {c for _, c in codes[:at]}), None)
        if twice is not None or total in known:
            raise InputError(f"{path}: code {twice or total!r} occurs twice or is the total")
        for parent, children in _children(codes).items():
            nodes = tuple(place.setdefault(child, len(place)) for child in children)
            splits[place.setdefault(total if parent is None else parent, len(place)), nodes] = None
    return Hierarchy(name, tuple(place), tuple(splits))


def cut(tree: Hierarchy, listed: Iterable[str]) -> Hierarchy:
    """The tree of a table that lists some wider areas and nothing inside them: these are its leaves.

    Hierarchies of which it lists nothing else are left out; a tree without such areas stays as it is.
    """
    names = set(listed)
    mine = np.array([label in names for label in tree.labels])
    inside = _below(tree)
    has_parts = (inside & mine).any(axis=1)
    parents = {parent for parent, _ in tree.splits}
    if not any(mine[node] and not has_parts[node] for node in parents if node):
        return tree
    kept = [(p, c) for p, c in tree.splits if any(mine[child] or has_parts[child] for child in c)]
    nodes = sorted({0, *(node for parent, children in kept for node in (parent, *children))})
    place = {node: at for at, node in enumerate(nodes)}
    splits = tuple((place[p], tuple(place[child] for child in c)) for p, c in kept)
    return Hierarchy(tree.name, tuple(tree.labels[node] for node in nodes), splits)


def _below(tree: Hierarchy) -> BoolArray:
    """Which nodes (columns) lie below each node (row)."""
    below = np.zeros((len(tree.labels), len(tree.labels)), dtype=bool)
    for _ in tree.labels:
        before = int(below.sum())
        for parent, children in tree.splits:
            below[parent, list(children)] = True
            below[parent] |= below[list(children)].any(axis=0)
        if int(below.sum()) == before:
            break
    return below


def _children(codes: Sequence[tuple[int, str]]) -> dict[str | None, list[str]]:
    found: dict[str | None, list[str]] = {}
    path: list[str] = []
    for depth, code in codes:
        del path[depth:]
        found.setdefault(path[-1] if path else None, []).append(code)
        path.append(code)
    return found

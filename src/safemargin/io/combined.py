"""Tables that hold their own margins in one file: what tools of disclosure control write, and what they read.

| tool | how it is known | a count is suppressed where |
|---|---|---|
| tau-ARGUS (CSV, `.tab`) | columns `freq`, `cost`, `status` | `status` is U or M, or 3 to 9, 11, 12 |
| sdcTable | column `sdcStatus` | it is u or x |
| GaussSuppression | column `suppressed` | it is TRUE |
| safemargin | column `status`, and a category `Total` | it is `suppressed`; a count that is `noised` is not exact |

A status that the tool does not have is refused.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from safemargin.core import UNBOUNDED, BoolArray, Group, Hierarchy, InputError, IntArray, PublishedTable, frozen
from safemargin.io.files import numbered_lines
from safemargin.io.reading.column_names import HIDDEN_WORDS, NO, YES
from safemargin.io.reading.sums import total_among as total_by_name
from safemargin.io.rows import BadText, Sheet, whole_number
from safemargin.io.same_labels import plain_label

LEADS = ("@", ".")
TOTAL = "Total"
TOTALS = (TOTAL.lower(), "tot", "all", "_t")
"""What tools call a sum over all categories, in capitals or not."""
COUNTS = ("count", "freq", "frequency", "n", "values", "value", "people")
UNSAFE = frozenset(["U", "M", *(str(code) for code in (3, 4, 5, 6, 7, 8, 9, 11, 12))])
SAFE = frozenset(["S", "P", "E", *(str(code) for code in (1, 2, 10, 13, 14))])
WORDS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "sdcStatus": (frozenset("ux"), frozenset("szw")),
    "suppressed": (frozenset(["TRUE", "True", "true", "1"]), frozenset(["FALSE", "False", "false", "0"])),
    "status": (UNSAFE | {"suppressed"}, SAFE | {"exact", "merged", "noised", ""}),
}
"""What a column may say of a count that is suppressed, and of one that is published."""
NO_COUNT = ("", "NA", "NaN", "nan")
"""What R and pandas write where a count was taken out."""
Hierarchies = Mapping[str, Sequence[Path]]
"""Files with the hierarchies of each axis that has any."""


class NoTotalWarning(UserWarning):
    """A table with gaps has no sum over an axis, or gives it a name that is not known."""


@dataclass(frozen=True)
class Combined:
    """Cells of one table and its margins: a node of every tree per row, a count, and whether it is suppressed.

    `counts` are what the file holds, also of suppressed cells if it has them (-1 if not); `noised` are those that are
    not the true ones.
    """

    path: Path
    trees: tuple[Hierarchy, ...]
    nodes: IntArray
    counts: IntArray
    suppressed: BoolArray
    noised: BoolArray

    @property
    def least(self) -> int:
        """What a suppressed count is at least: one, since zeros are published, unless a zero is suppressed."""
        return 0 if (self.counts[self.suppressed] == 0).any() else 1

    def tables(self) -> tuple[PublishedTable, ...]:
        """One table per set of axes, as the public sees them."""
        groups = [node_groups(hierarchy) for hierarchy in self.trees]
        shown = self.nodes > 0
        # Node 0 is the total: cells with the same axes at the total form one margin.
        kinds, kind_of = np.unique(shown, axis=0, return_inverse=True)
        tables = []
        for kind, used in enumerate(kinds.tolist()):
            rows = np.flatnonzero(kind_of.ravel() == kind)
            axes = [a for a, is_used in enumerate(used) if is_used]
            names = tuple(self.trees[a].name for a in axes)
            hidden, noised = self.suppressed[rows], self.noised[rows]
            unknown = hidden | noised
            tables.append(
                PublishedTable(
                    name=f"{self.path.name} ({' x '.join(names) or 'total'})",
                    axes=names,
                    groups=tuple(groups[a][1:] for a in axes),
                    codes=frozen(self.nodes[rows][:, axes] - 1, len(axes)),
                    options=(),
                    option=frozen(np.full(len(rows), -1)),
                    lower=frozen(np.where(noised, 0, np.where(hidden, self.least, self.counts[rows]))),
                    upper=frozen(np.where(unknown, UNBOUNDED, self.counts[rows])),
                    status=tuple(np.where(hidden, "suppressed", np.where(noised, "noised", "exact")).tolist()),
                    noisy=frozen(np.where(noised, self.counts[rows], 0)) if noised.any() else None,
                )
            )
        return tuple(tables)


def node_groups(hierarchy: Hierarchy) -> tuple[Group, ...]:
    """The categories inside every node."""
    names = np.array([hierarchy.labels[leaf] for leaf in hierarchy.leaves], dtype=object)
    return tuple(frozenset(names[row].tolist()) for row in hierarchy.members)


def is_combined(sheet: Sheet) -> bool:
    """Whether a file looks like a table with its margins."""
    names = set(sheet.columns)
    if "sdcStatus" in names or {"freq", "cost", "status"} <= names:
        return True
    if "suppressed" in names:  # as tools write it; another program may say `yes`, and call its counts anything
        said = {text.strip() for text in sheet.columns["suppressed"]}
        is_known = {text.lower() for text in said} <= {*HIDDEN_WORDS, *YES, *NO}
        by_tool = said <= set().union(*WORDS["suppressed"])
        return count_column(tuple(sheet.columns)) is not None and (by_tool or not is_known)  # else it is refused there
    texts = (sheet.columns[name] for name in names - {"count", "status"})
    said = {text.strip() for text in sheet.columns.get("status", ())}
    if not said & (UNSAFE | SAFE | {"suppressed", "exact", "merged", "noised"}) - {""}:
        return False  # `married`: an axis that happens to be called so
    return any(label.lower() in TOTALS for label in chain.from_iterable(texts))


def read_combined(sheet: Sheet, hierarchies: Hierarchies, count: str | None = None) -> Combined:
    """A table with its margins; axes without a hierarchy add up to their total."""
    flag, axes, counted = _layout(sheet, count)
    suppressed = _suppressed(sheet, flag)
    trees, nodes = [], []
    for name in axes:
        texts = [text.strip() for text in sheet.columns[name]]
        hierarchy = _tree(sheet, name, texts, hierarchies.get(name, ()))
        node_of = {label: node for node, label in enumerate(hierarchy.labels)}
        for row, text in enumerate(texts):
            if text not in node_of:
                raise sheet.fault(row, name, "is not in the hierarchy")
        trees.append(hierarchy)
        nodes.append([node_of[text] for text in texts])
    noised = np.array([text.strip() == "noised" for text in sheet.columns[flag]])
    counts = _counts(sheet, counted, suppressed, noised)
    combined = Combined(sheet.path, tuple(trees), np.array(nodes, dtype=np.int64).T, counts, suppressed, noised)
    _check_repeated(sheet, combined)
    return combined


def _layout(sheet: Sheet, count: str | None) -> tuple[str, tuple[str, ...], str]:
    """Which column states what is suppressed, which are axes, which holds the counts."""
    names = tuple(sheet.columns)
    if {"freq", "cost", "status"} <= set(names):
        column = names.index("freq")
        return "status", names[: column - 1], "freq"
    flag = next(name for name in ("sdcStatus", "suppressed", "status") if name in names)
    counted = count if count in names else count_column(names)
    if counted is None:
        raise InputError(
            f"{sheet.path}: which column holds the counts? Say it with --count; there are {', '.join(names)}"
        )
    # `noise perturb` prints weighted counts beside counts.
    others = {flag, counted, "primary", "strID", "lower", "upper", "weighted"}
    return flag, tuple(name for name in names if name not in others), counted


def count_column(names: Sequence[str]) -> str | None:
    """The column that holds counts, by its name."""
    by_name = {name.lower(): name for name in reversed(names)}
    return next((by_name[name] for name in COUNTS if name in by_name), None)


def total_among(labels: Sequence[str]) -> str | None:
    """The label that stands for the sum over all others, by its name."""
    by_tools = next((label for word in TOTALS for label in labels if label.lower() == word), None)
    return by_tools if by_tools is not None else total_by_name(labels)


def _suppressed(sheet: Sheet, flag: str) -> BoolArray:
    suppressed, published = WORDS[flag]
    said = [text.strip() for text in sheet.columns[flag]]
    for row, text in enumerate(said):
        if text not in suppressed and text not in published:
            raise sheet.fault(row, flag, "is not a status that is known; is the count suppressed or published?")
    return np.array([text in suppressed for text in said])


def _tree(sheet: Sheet, name: str, texts: Sequence[str], files: Sequence[Path]) -> Hierarchy:
    seen = tuple(dict.fromkeys(texts))
    total = total_among(seen)
    # Some tools leave the field of a total empty.
    if total is None and "" in seen:
        total = ""
    if total is None:
        message = f"{sheet.path}: axis {name!r} has no total (Total, Tot, All, _T or an empty field): none is used"
        warnings.warn(message, NoTotalWarning, stacklevel=2)
        total = TOTAL
    if files:
        return tree(name, (), files, total)
    categories = tuple(label for label in seen if label != total)
    if not categories:
        raise InputError(f"{sheet.path}: axis {name!r} has no categories beside {total!r}")
    return tree(name, categories, (), total)


def _counts(sheet: Sheet, column: str, suppressed: BoolArray, noised: BoolArray) -> IntArray:
    counts = np.full(len(sheet.rows), -1, dtype=np.int64)
    for row, text in enumerate(sheet.columns[column]):
        if suppressed[row] and text.strip() in NO_COUNT:
            continue
        try:
            # Noise may make a count negative.
            minus = noised[row] and text.strip().startswith("-")
            counts[row] = -whole_number(text.strip()[1:]) if minus else whole_number(text)
        except BadText as error:
            raise sheet.fault(row, column, str(error)) from None
    return counts


def _check_repeated(sheet: Sheet, combined: Combined) -> None:
    seen: dict[tuple[int, ...], int] = {}
    for row, nodes in enumerate(map(tuple, combined.nodes.tolist())):
        if nodes in seen:
            raise InputError(
                f"{sheet.path}: {sheet.place(row)}: the same cell as {sheet.place(seen[nodes])}; give each cell once"
            )
        seen[nodes] = row


def read_hrc(path: Path) -> list[tuple[int, str]]:
    """Codes with their depth, the root omitted.

    The depth is the number of leading `@` or, where no line starts with one, of leading dots. If every line has a lead,
    the first one is the root.
    """
    lines = [(number, line.strip()) for number, line in enumerate(numbered_lines(path), 1) if line.strip()]
    if not lines:
        raise InputError(f"{path}: the hierarchy is empty")
    lead = next((mark for mark in LEADS if any(text.startswith(mark) for _, text in lines)), LEADS[0])
    codes = []
    for number, text in lines:
        code = text.lstrip(lead).lstrip(";").strip()
        if not code:
            raise InputError(f"{path}: line {number}: {text!r} has no code")
        codes.append((len(text) - len(text.lstrip(lead)), code))
    if all(depth > 0 for depth, _ in codes) and sum(depth == codes[0][0] for depth, _ in codes) == 1:
        codes = [(depth - codes[0][0] - 1, code) for depth, code in codes[1:]]
    before = -1
    for (number, _), (depth, code) in zip(lines[-len(codes) :], codes, strict=True):
        if not 0 <= depth <= before + 1:
            raise InputError(f"{path}: line {number}: {code!r} lies {depth - before} levels below the line before it")
        before = depth
    return codes


def hrc_parents(path: Path) -> dict[str, str]:
    """The code right above every code of an `.hrc` file that has one."""
    found = _children(read_hrc(path)).items()
    return {plain_label(child): plain_label(parent) for parent, children in found if parent for child in children}


def tree(name: str, categories: Sequence[str], files: Iterable[Path] = (), total: str = TOTAL) -> Hierarchy:
    """The nodes of an axis: its categories under the total, or as the hierarchies in `files` say.

    Every category must be a code of every hierarchy.
    """
    paths = list(files)
    if not paths:
        return Hierarchy.flat(name, categories, total)
    node_of = {total: 0}
    splits: dict[tuple[int, tuple[int, ...]], None] = {}
    for path in paths:
        codes = read_hrc(path)
        if codes[0] == (0, total) and all(depth > 0 for depth, _ in codes[1:]):
            codes = [(depth - 1, code) for depth, code in codes[1:]]
        known = {code for _, code in codes}
        missing = next((category for category in categories if category not in known), None)
        if missing is not None:
            raise InputError(f"{path}: {name} = {missing!r} is not in the hierarchy")
        twice = next((code for line, (_, code) in enumerate(codes) if code in {c for _, c in codes[:line]}), None)
        if twice is not None or total in known:
            raise InputError(f"{path}: code {twice or total!r} occurs twice or is the total")
        for parent, children in _children(codes).items():
            nodes = tuple(node_of.setdefault(child, len(node_of)) for child in children)
            splits[node_of.setdefault(total if parent is None else parent, len(node_of)), nodes] = None
    return Hierarchy(name, tuple(node_of), tuple(splits))


def cut(tree: Hierarchy, listed: Iterable[str]) -> Hierarchy:
    """The tree of a table that lists some wider areas and nothing inside them: these are its leaves.

    Hierarchies of which it lists nothing else are omitted; a tree without such areas stays as it is.
    """
    names = set(listed)
    is_listed = np.array([label in names for label in tree.labels])
    inside = _below(tree)
    has_parts = (inside & is_listed).any(axis=1)
    parents = {parent for parent, _ in tree.splits}
    if not any(is_listed[node] and not has_parts[node] for node in parents if node):
        return tree
    kept = [(p, c) for p, c in tree.splits if any(is_listed[child] or has_parts[child] for child in c)]
    nodes = sorted({0, *(node for parent, children in kept for node in (parent, *children))})
    new_node = {node: number for number, node in enumerate(nodes)}
    splits = tuple((new_node[p], tuple(new_node[child] for child in c)) for p, c in kept)
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
    children: dict[str | None, list[str]] = {}
    path: list[str] = []
    for depth, code in codes:
        del path[depth:]
        children.setdefault(path[-1] if path else None, []).append(code)
        path.append(code)
    return children

"""Published tables as the text of a ledger, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from safemargin.core import UNBOUNDED, Hierarchy, Lattice, PublishedTable, frozen

GAP = -2
"""In place of a count that was suppressed."""


def table_content(table: PublishedTable) -> Mapping[str, Any]:
    """A published table as it is printed: a suppressed count is null, a noised one is what was printed."""
    counts = [
        int(table.noisy[row]) if table.noisy is not None and status == "noised" else int(table.lower[row])
        for row, status in enumerate(table.status)
    ]
    return {
        "axes": table.axes,
        "groups": [[sorted(group) for group in groups] for groups in table.groups],
        "options": table.options,
        "rows": [
            [*codes, int(table.option[row]), None if status == "suppressed" else counts[row], status]
            for row, (codes, status) in enumerate(zip(table.codes.tolist(), table.status, strict=True))
        ],
    }


def lattice_content(lattice: Lattice) -> Mapping[str, Any]:
    """A table with gaps as it is printed, with the sums of its axes."""
    trees = [{"name": tree.name, "labels": tree.labels, "splits": tree.splits} for tree in lattice.trees]
    return {"trees": trees, "counts": [None if count == GAP else count for count in lattice.counts.ravel().tolist()]}


def read_lattice(content: Mapping[str, Any]) -> Lattice:
    trees = tuple(
        Hierarchy(
            tree["name"],
            tuple(tree["labels"]),
            tuple((parent, tuple(children)) for parent, children in tree["splits"]),
        )
        for tree in content["trees"]
    )
    counts = np.array([GAP if count is None else count for count in content["counts"]], dtype=np.int64)
    return Lattice(trees, counts.reshape([len(tree.labels) for tree in trees]))


def read_table(name: str, content: Mapping[str, Any]) -> PublishedTable:
    axes = tuple(content["axes"])
    rows = content["rows"]
    hidden = [row[-1] in ("suppressed", "noised") for row in rows]
    lower = [0 if is_hidden else row[-2] for row, is_hidden in zip(rows, hidden, strict=True)]
    upper = [UNBOUNDED if is_hidden else row[-2] for row, is_hidden in zip(rows, hidden, strict=True)]
    return PublishedTable(
        name=name,
        axes=axes,
        groups=tuple(tuple(frozenset(group) for group in groups) for groups in content["groups"]),
        codes=frozen(np.array([row[:-3] for row in rows], dtype=np.int64).reshape(len(rows), len(axes)), len(axes)),
        options=tuple(content["options"]),
        option=frozen([row[-3] for row in rows]),
        lower=frozen(lower),
        upper=frozen(upper),
        status=tuple(row[-1] for row in rows),
    )

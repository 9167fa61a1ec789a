"""Who is who in every cycle: people by an identifier, with their profile and never with an answer."""

import numpy as np

from safemargin.core import InputError
from safemargin.io import Source, open_source
from safemargin.release.project import Project


def tabulate_people(project: Project, column: str, source: Source | None = None) -> dict[str, tuple[str, ...]]:
    """The profile of every person in the data."""
    assert project.data is not None
    wanted = tuple(project.column(name) for name in project.axes)
    opened = source or open_source(project.data.file, project.data.table)
    found = opened.profiles(tuple(dict.fromkeys((column, *wanted))))
    names, codes = found.column(column)
    if "" in names:
        raise InputError(f"{project.data.file}: column {column!r} is empty for somebody; ledger.id must name everybody")
    rows = np.bincount(codes, found.counts, minlength=len(names))
    if (rows > 1).any():
        twice = names[int(np.flatnonzero(rows > 1)[0])]
        raise InputError(f"{project.data.file}: column {column!r}: {twice!r} stands for two people")
    columns = [found.column(name) for name in wanted]
    profiles = zip(*([labels[code] for code in codes.tolist()] for labels, codes in columns), strict=True)
    return dict(zip((names[code] for code in codes.tolist()), profiles, strict=True))

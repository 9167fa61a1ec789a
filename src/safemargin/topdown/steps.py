"""The two steps of TopDown on files. Only the first is given counts of people; the second reads public files alone."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from safemargin.core import InputError, IntArray, Progress, no_progress
from safemargin.topdown.attributes import Query
from safemargin.topdown.design import Design, Measured, check_truth, limits
from safemargin.topdown.folder import Folder, write_cells
from safemargin.topdown.least_squares import check_size, fit
from safemargin.topdown.measure import measure, noise_variance
from safemargin.topdown.settle import settle


def publish_measurements(
    folder: Folder, design: Design, counts: Sequence[IntArray], progress: Progress = no_progress
) -> None:
    """Write the design, exact counts and noisy ones. A level that has its files keeps them: noise is drawn once."""
    spine, kinds = design.spine, design.attributes
    folder.write_design(design)
    for (level, query), values in _exact(design, counts).items():
        path = folder.place("exact", level, spine.levels[level], kinds.title(query))
        write_cells(path, spine, level, kinds, query, {"count": values}, "exact")
    total = sum(
        len(spine.names[level]) * kinds.cells(query)
        for level in range(len(spine.levels))
        for query in design.measured(level)
    )
    drawn = 0
    for level, name in enumerate(spine.levels):

        def step(more: int, words: str = f"measuring {name}") -> None:
            nonlocal drawn
            drawn += more
            progress(words, drawn, total)

        variances = design.measured(level)
        for query, variance in variances.items():
            path = folder.place("noisy", level, name, kinds.title(query))
            if path.exists():
                step(len(spine.names[level]) * kinds.cells(query))
                continue
            values = measure(kinds.margin(counts[level], query), variance, step)
            columns = {"noisy_count": values, "variance": np.full(values.shape, noise_variance(variance))}
            write_cells(path, spine, level, kinds, query, columns, "noisy")


def check(folder: Folder, design: Design, counts: Sequence[IntArray]) -> None:
    """Refuse what cannot be carried out, before anything is written."""
    check_size(design)
    exact = _exact(design, counts)
    constraints = limits(design, exact)
    check_truth(design, tuple(counts))
    _check_names(folder, design)
    if design.earlier:  # the data themselves need not agree with earlier tables: see whether any do, without noise
        kinds = design.attributes
        plain = [
            {query: kinds.margin(counts[level], query) for query in design.measured(level)}
            for level in range(len(counts))
        ]
        settle(design, constraints, fit(design, Measured(tuple(plain), exact)))


def _exact(design: Design, counts: Sequence[IntArray]) -> dict[tuple[int, Query], IntArray]:
    return {(level, query): design.attributes.margin(counts[level], query) for level, query in design.exact}


def _check_names(folder: Folder, design: Design) -> None:
    """Names may hold letters that files cannot; then two may become one."""
    seen: set[Path] = set()
    margins = [("noisy", level, query) for level in range(len(design.spine.levels)) for query in design.measured(level)]
    for kind, level, query in (*margins, *(("exact", level, query) for level, query in design.exact)):
        name = design.spine.levels[level]
        path = folder.place(kind, level, name, design.attributes.title(query))
        if path in seen:
            raise InputError(f"attributes: two queries of {name} would be written to {path.name}; rename one")
        seen.add(path)


def estimate(folder: Folder, progress: Progress = no_progress) -> None:
    """Unbiased estimates and whole tables of every level from the public files; levels that are there are kept."""
    design = folder.read_design()
    measured = folder.read_measured(design)
    spine, kinds = design.spine, design.attributes
    found = fit(design, measured)
    for level, name in enumerate(spine.levels):
        path = folder.place("estimates", level, name)
        if not path.exists():
            values = found.estimate(level)
            error = found.standard_error(level, kinds.detailed)
            columns = {"estimate": values, "standard_error": error}
            write_cells(path, spine, level, kinds, kinds.detailed, columns, "unbiased estimate")
    families = [1, *(len(names) for names in spine.names[:-1])]
    kept: list[IntArray] = []
    while len(kept) <= spine.last and folder.place("tables", len(kept), spine.levels[len(kept)]).exists():
        kept.append(folder.read_table(design, len(kept)))
    done = sum(families[: len(kept)])

    def step(level: int, more: int) -> None:
        nonlocal done
        done = min(done + more, sum(families))
        progress(f"settling {spine.levels[level]}", done, sum(families))

    def keep(level: int, table: IntArray) -> None:
        path = folder.place("tables", level, spine.levels[level])
        write_cells(path, spine, level, kinds, kinds.detailed, {"count": table}, "whole table")

    def drop() -> None:
        for level, name in enumerate(spine.levels):
            folder.place("tables", level, name).unlink(missing_ok=True)

    settle(design, limits(design, measured.exact), found, kept, step, keep, drop)


def public_files(folder: Path) -> list[Path]:
    """All files of a folder, drafts of an interrupted run left out."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))

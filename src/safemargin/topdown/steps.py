"""The two phases of TopDown on files. Only the first is given counts of people; the second reads public files."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from safemargin.core import InputError, IntArray, Progress, no_progress
from safemargin.samplers import DiscreteGaussian
from safemargin.topdown.attributes import MarginQuery
from safemargin.topdown.design import Design, Measurements, check_truth, combine_limits, grouped, noise_variance
from safemargin.topdown.folder import Folder, write_cells
from safemargin.topdown.least_squares import check_size, fit
from safemargin.topdown.tables import solve_tables

CHUNK = 50_000  # counts that are drawn between two progress reports


def add_noise(counts: IntArray, variance: Fraction, progress: Callable[[int], None] = lambda drawn: None) -> IntArray:
    """`counts` with fresh, independent discrete Gaussian noise on every entry; entries may become negative."""
    mechanism = DiscreteGaussian(variance)
    exact = np.ascontiguousarray(counts).reshape(-1)
    noisy = np.empty_like(exact)
    for start in range(0, len(exact), CHUNK):
        part = exact[start : start + CHUNK]
        noisy[start : start + len(part)] = mechanism.protect(part)
        progress(len(part))
    return noisy.reshape(counts.shape)


def publish_measurements(
    folder: Folder, design: Design, counts: Sequence[IntArray], progress: Progress = no_progress
) -> None:
    """Write the design, exact counts and noisy ones."""
    spine, attributes = design.spine, design.attributes
    folder.write_design(design)
    for (level, query), values in _exact(design, counts).items():
        path = folder.file("exact", level, spine.levels[level], attributes.title(query))
        write_cells(path, spine, level, attributes, query, {"count": values}, "exact")
    margins = [(level, query) for level in range(len(spine.levels)) for query in design.measured(level)]
    total = sum(len(spine.names[level]) * attributes.cells(query) for level, query in margins)
    drawn = 0
    for level, query in margins:

        def advance(more: int, step: str = f"measuring {spine.levels[level]}") -> None:
            nonlocal drawn
            drawn += more
            progress(step, drawn, total)

        path = folder.file("noisy", level, spine.levels[level], attributes.title(query))
        # A file of an interrupted run is kept: drawing its noise again would spend the budget twice.
        if path.exists():
            advance(len(spine.names[level]) * attributes.cells(query))
            continue
        parameter = design.measured(level)[query]
        values = add_noise(attributes.margin(counts[level], query), parameter, advance)  # the only use of counts
        columns = {"noisy_count": values, "variance": np.full(values.shape, noise_variance(parameter))}
        write_cells(path, spine, level, attributes, query, columns, "noisy")


def check(folder: Folder, design: Design, counts: Sequence[IntArray]) -> None:
    """Refuse what cannot be carried out, before anything is written."""
    check_size(design)
    exact = _exact(design, counts)
    combine_limits(design, exact)
    check_truth(design, tuple(counts))
    _check_names(folder, design)
    if design.earlier:  # the data need not agree with earlier tables: see whether any tables do, without noise
        margin = design.attributes.margin
        plain = [
            {query: margin(counts[level], query) for query in design.measured(level)} for level in range(len(counts))
        ]
        wide, places = grouped(design)
        measured = Measurements(tuple(plain), exact).placed(places)
        solve_tables(wide, combine_limits(wide, measured.exact), fit(wide, measured))


def _exact(design: Design, counts: Sequence[IntArray]) -> dict[tuple[int, MarginQuery], IntArray]:
    return {(level, query): design.attributes.margin(counts[level], query) for level, query in design.exact}


def _check_names(folder: Folder, design: Design) -> None:
    """Names may contain characters that file names cannot; then two names may become one."""
    seen: set[Path] = set()
    margins = [("noisy", level, query) for level in range(len(design.spine.levels)) for query in design.measured(level)]
    for kind, level, query in (*margins, *(("exact", level, query) for level, query in design.exact)):
        name = design.spine.levels[level]
        path = folder.file(kind, level, name, design.attributes.title(query))
        if path in seen:
            raise InputError(f"attributes: two queries of {name} would be written to {path.name}; rename one")
        seen.add(path)


def estimate(folder: Folder, progress: Progress = no_progress) -> None:
    """Unbiased estimates and integer tables of every level from the public files; levels that exist are kept."""
    design = folder.read_design()
    measured = folder.read_measurements(design)
    spine, attributes = design.spine, design.attributes
    wide, places = grouped(design)
    measured = measured.placed(places)
    best = fit(wide, measured)
    for level, name in enumerate(spine.levels):
        path = folder.file("estimates", level, name)
        if not path.exists():
            error = best.standard_error(places[level], attributes.detailed)
            columns = {"estimate": best.estimate(places[level]), "standard_error": error}
            write_cells(path, spine, level, attributes, attributes.detailed, columns, "unbiased estimate")
    parents = [1, *(len(names) for names in wide.spine.names[:-1])]
    kept: list[IntArray] = []  # up to the first level that is solved in groups, which are not written
    while len(kept) <= spine.last and places[len(kept)] == len(kept):
        if not folder.file("tables", len(kept), spine.levels[len(kept)]).exists():
            break
        kept.append(folder.read_table(design, len(kept)))
    done = sum(parents[: len(kept)])

    def advance(level: int, more: int) -> None:
        nonlocal done
        done = min(done + more, sum(parents))  # levels may be solved again
        progress(f"solving {wide.spine.levels[level]}", done, sum(parents))

    def keep(place: int, table: IntArray) -> None:
        if place not in places:
            return
        level = places.index(place)
        path = folder.file("tables", level, spine.levels[level])
        write_cells(path, spine, level, attributes, attributes.detailed, {"count": table}, "integer table")

    def drop() -> None:
        for level, name in enumerate(spine.levels):
            folder.file("tables", level, name).unlink(missing_ok=True)

    solve_tables(wide, combine_limits(wide, measured.exact), best, kept, advance, keep, drop)

"""The first phase, the only one that is given counts of people: exact counts and noisy ones become public files.

Objects
    counts      by level, a row per area and a column per cell; confidential
    noise       discrete Gaussian, independent for every count of every measured margin (Canonne, Kamath, Steinke 2022)
    files       exact margins, and noisy ones with the variance of their noise

Invariants
    * Noise is drawn once per margin. A file of an interrupted run is kept: drawing again would spend the budget twice.
    * Nothing leaves this phase but these files; everything later is post-processing of them and costs nothing.
    * Noise comes from system entropy through `samplers`; there is no seed.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from safemargin.core import IntArray, Progress, no_progress
from safemargin.samplers import DiscreteGaussian
from safemargin.topdown.design import Design, noise_variance
from safemargin.topdown.folder import Folder, write_cells
from safemargin.topdown.measure_spark import Margin

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
    folder: Folder,
    design: Design,
    counts: Sequence[IntArray],
    progress: Progress = no_progress,
    drawn: Mapping[Margin, IntArray] | None = None,
) -> None:
    """Write the design, exact counts and noisy ones, which are drawn here unless Spark has `drawn` them."""
    spine, attributes = design.spine, design.attributes
    folder.write_design(design)
    for (level, query), values in exact_counts(design, counts).items():
        write_cells(folder.file("exact", design, level, query), design, level, query, {"count": values}, "exact")
    missing, done = missing_margins(folder, design), 0
    total = sum(len(spine.names[level]) * attributes.cells(query) for level, query in missing)
    for (level, query), parameter in missing.items():

        def advance(more: int, step: str = f"measuring {spine.levels[level]}") -> None:
            nonlocal done
            done += more
            progress(step, done, total)

        if drawn is None:
            values = add_noise(attributes.margin(counts[level], query), parameter, advance)  # the only use of counts
        else:
            values = drawn[level, query]
        columns = {"noisy_count": values, "variance": np.full(values.shape, noise_variance(parameter))}
        write_cells(folder.file("noisy", design, level, query), design, level, query, columns, "noisy")


def missing_margins(folder: Folder, design: Design) -> dict[Margin, Fraction]:
    """What is still to be measured, with the parameter of its noise.

    A file of an interrupted run is kept: drawing its noise again would spend the budget twice.
    """
    laws = {(level, q): law for level in range(len(design.spine.levels)) for q, law in design.measured(level).items()}
    return {margin: law for margin, law in laws.items() if not folder.file("noisy", design, *margin).exists()}


def exact_counts(design: Design, counts: Sequence[IntArray]) -> dict[Margin, IntArray]:
    """The margins that are published exactly."""
    return {(level, query): design.attributes.margin(counts[level], query) for level, query in design.exact}

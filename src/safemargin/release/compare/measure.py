"""A project published in several ways, to be compared; nothing is written."""

from collections.abc import Sequence

from safemargin.core import Progress, no_progress
from safemargin.release.compare.compare import DRAWS, EPSILONS, THRESHOLD, compare
from safemargin.release.compare.comparison import Comparison
from safemargin.release.inputs import read_inputs
from safemargin.release.project import Project


def measure(
    project: Project,
    *,
    epsilons: Sequence[float] = EPSILONS,
    threshold: int = THRESHOLD,
    draws: int = DRAWS,
    seed: int | None = 0,
    progress: Progress = no_progress,
) -> Comparison:
    """Every way to publish a project, side by side; nothing is published."""
    progress("reading")
    inputs = read_inputs(project)
    return compare(
        inputs.table,
        project.target,
        inputs.onlookers,
        protect=project.protect,
        epsilons=epsilons,
        threshold=threshold,
        draws=draws,
        seed=seed,
        progress=progress,
    )

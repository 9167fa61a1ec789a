"""True counts read off weighted counts: from docs/noise_ptables.md and what `noise perturb` publishes, nothing else."""

import csv
from pathlib import Path

import numpy as np
import pytest

from evidence import seeds
from safemargin import noise

BOUND = 5
LAW = np.array([0.1, 0.5, 3.0, 10.4, 22.0, 28.2, 22.0, 10.4, 3.0, 0.5, 0.1]) / 100  # of docs/noise_ptables.md
SHARPNESS = (0.003, 0.01, 0.03, 0.1, 0.3, 0.8, 1.5, 3.0)
"""How exactly parts and sum may have to agree; the onlooker is given the best of these."""

Cells = dict[tuple[str, str], dict[str, str]]


def cells_of(path: Path) -> Cells:
    with path.open(newline="") as file:
        return {(row["area"], row["sex"]): row for row in csv.DictReader(file)}


def publish(folder: Path, seed: int, areas: int, mean: float, spread: float) -> tuple[Cells, Cells]:
    """What is published, and the confidential table, of people with weights of four digits."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for area in range(areas):
        for sex in "fm":
            for weight in rng.lognormal(0, spread, size=rng.poisson(mean)).round(4).tolist():
                rows.append({"id": len(rows), "area": f"a{area:04}", "sex": sex, "weight": weight})
    (folder / "secret.key").write_text(f"{seed:032}")  # of its own, so that the noise is the same in every run
    (folder / "secret.key").chmod(0o600)
    made = noise.perturb(
        rows, ["area", "sex"], variance=2, bound=BOUND, id="id", secret=folder / "secret.key", weight="weight"
    )
    out = made.write(folder / "out")
    return cells_of(out / "published/table.csv"), cells_of(out / "confidential/table.csv")


def right_guesses(published: Cells, truth: Cells) -> tuple[int, float, int]:
    """Areas looked at; of how many both counts are guessed from the counts alone; and with the weights as well.

    If mean weights were exact, the counts of both parts times theirs would add up to the total times its own.
    """
    areas, alone, guessed = 0, 0.0, np.zeros(len(SHARPNESS), dtype=np.int64)
    for area in sorted({area for area, _ in published} - {"Total"}):
        rows = [published[area, sex] for sex in ("f", "m", "Total")]
        first, second, total = (int(row["count"]) for row in rows)
        if min(first, second, total) < 1:
            continue
        w = [float(row["weighted"]) / int(row["count"]) for row in rows]
        true = [int(truth[area, sex]["true"]) for sex in "fm"]
        f, m = np.meshgrid(*(np.arange(max(1, n - BOUND), n + BOUND + 1) for n in (first, second)), indexing="ij")
        chance = LAW[first - f + BOUND] * LAW[second - m + BOUND]
        chance *= np.where(abs(total - f - m) <= BOUND, LAW[np.clip(total - f - m + BOUND, 0, 2 * BOUND)], 0)
        is_true, best = (f == true[0]) & (m == true[1]), chance > chance.max() * (1 - 1e-9)
        areas, alone = areas + 1, alone + float((is_true & best).sum() / best.sum())
        gap = f * w[0] + m * w[1] - (f + m) * w[2]
        with np.errstate(divide="ignore"):
            fits = [np.log(chance) - (gap / sharpness) ** 2 / 2 for sharpness in SHARPNESS]
        guessed += [bool(is_true.ravel()[fit.argmax()]) for fit in fits]
    return areas, alone, int(guessed.max())


def test_weights_disclose_no_counts(tmp_path: Path) -> None:
    """From exact mean weights, nine pairs of counts in ten are read; one in eight from the counts alone."""
    areas, alone, guessed = right_guesses(*publish(tmp_path, 1, 120, 5, 0.6))
    assert areas > 90 and guessed < alone + 0.1 * areas


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "spread"), [(2, 0.6), (5, 0.6), (30, 0.6), (5, 1.2)])
def test_weights_of_many_people(tmp_path: Path, mean: float, spread: float) -> None:
    for seed in seeds(10, 2, 10):
        (tmp_path / str(seed)).mkdir()
        areas, alone, guessed = right_guesses(*publish(tmp_path / str(seed), seed, 400, mean, spread))
        assert areas > 150 and guessed < alone + 0.08 * areas

"""What an analyst believes under stated correlations: against iterative proportional fitting written here."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from safemargin import InputError, RefusedError, Release, Target, release

PEOPLE = np.array([[100, 100], [100, 100]])
YES = np.array([[60, 40], [40, 30]])


def rows() -> list[dict[str, str]]:
    return [
        {"r": "ab"[i], "c": "xy"[j], "v": "yes" if n < YES[i, j] else "no"}
        for i in (0, 1)
        for j in (0, 1)
        for n in range(PEOPLE[i, j])
    ]


def believed(start: np.ndarray) -> np.ndarray:
    """Shares of `yes` by iterative proportional fitting of both margins of each option and the people of each cell."""
    table = np.stack([PEOPLE * start, PEOPLE * (1 - start)])
    goals = np.stack([YES, PEOPLE - YES])
    for _ in range(20_000):
        for axis in (1, 2):
            table *= goals.sum(axis=axis, keepdims=True) / table.sum(axis=axis, keepdims=True)
        table *= PEOPLE / table.sum(axis=0)
    return np.asarray(table[0] / PEOPLE)


def call(folder: Path, survey: np.ndarray | None, limit: float | None) -> Release:
    onlooker: dict[str, Any] = {"name": "pollster", "knows_rule": False}
    if survey is not None:
        lines = [
            f"{'ab'[i]},{'xy'[j]},{option},{n}" for (i, j), counts in np.ndenumerate(survey) for option, n in counts
        ]
        (folder / "survey.csv").write_text("r,c,option,count\n" + "\n".join(lines) + "\n")
        onlooker["correlations"] = str(folder / "survey.csv")
    if limit is not None:
        onlooker["posterior"] = limit
    return release(
        rows(), answer="v", options=["yes", "no"], by=["r", "c"], onlookers=[onlooker], target=Target(kappa=10, tau=0)
    )


def survey_of(share: np.ndarray) -> np.ndarray:
    counts = np.empty((2, 2), dtype=object)
    for place, value in np.ndenumerate(share):
        counts[place] = [("yes", round(2000 * value)), ("no", round(2000 * (1 - value)))]
    return counts


def test_the_belief_is_that_of_proportional_fitting(tmp_path: Path) -> None:
    share = np.array([[0.95, 0.1], [0.1, 0.9]])
    made = call(tmp_path, survey_of(share), 0.999)
    fitted = made.findings[0].exposure.fitted
    assert fitted is not None and set(made.tables) == {"total", "r", "c"}
    smoothed = (2000 * share + 0.5) / 2001
    expected = believed(smoothed)
    cells = [tuple(made.findings[0].exposure.cells.cell(n).values()) for n in range(4)]
    for number, (r, c) in enumerate(cells):
        assert fitted[number, 0] / 100 == pytest.approx(expected["ab".index(r), "xy".index(c)], abs=1e-4)
    assert np.abs(expected - believed(np.full((2, 2), 0.5))).max() > 0.2, "the correlations matter"


def test_a_belief_beyond_the_limit_is_a_disclosure(tmp_path: Path) -> None:
    share = np.array([[0.97, 0.02], [0.02, 0.97]])
    top = float(np.maximum(believed((2000 * share + 0.5) / 2001), 1 - believed((2000 * share + 0.5) / 2001)).max())
    assert 0.8 < top < 0.999
    assert call(tmp_path, survey_of(share), min(top + 0.01, 0.9999))
    with pytest.raises(RefusedError) as caught:
        call(tmp_path, survey_of(share), top - 0.01)
    attempts = {a.attack: a for a in caught.value.draft.findings[0].attempts}  # type: ignore[union-attr]
    assert attempts["posterior"].findings and "an analyst believes that" in attempts["posterior"].findings[0].words


def test_without_correlations_the_fit_is_even_and_without_a_limit_nothing_is_attacked(tmp_path: Path) -> None:
    assert all(a.attack != "posterior" for a in call(tmp_path, None, None).findings[0].attempts)
    made = call(tmp_path, None, 0.9)
    (attempt,) = [a for a in made.findings[0].attempts if a.attack == "posterior"]
    assert attempt.summary == "none of 8 believed shares is above 0.9"


def test_correlations_and_limits_are_checked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"onlookers\[0\].posterior = 0.2: must be at least 0.5"):
        call(tmp_path, None, 0.2)
    (tmp_path / "survey.csv").write_text("r,c,option,count\na,x,yes,\n")
    with pytest.raises(InputError, match="correlations need exact counts"):
        onlooker = {"name": "p", "correlations": str(tmp_path / "survey.csv")}
        release(rows(), answer="v", by=["r", "c"], onlookers=[onlooker], target=Target(kappa=10, tau=0))

"""Intervals and tests for users of noised tables, against the definition and against simulation."""

import math
from pathlib import Path

import numpy as np
import pytest

from commands import Run, in_process
from safemargin import noise
from safemargin.core import InputError, numpy_generator
from safemargin.noise.laws import BoundedNoise, EpsilonNoise
from safemargin.samplers import bounded_law


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_the_interval_is_the_smallest_that_covers(confidence: float) -> None:
    """By adding up the law: the error covers often enough, and one less does not."""
    law = dict(zip(range(-5, 6), bounded_law(5, 2.0).tolist(), strict=True))
    error = noise.interval(40, variance=2, bound=5, confidence=confidence).details["error"]
    assert isinstance(error, int)
    assert sum(p for k, p in law.items() if abs(k) <= error) >= confidence - 1e-9
    assert sum(p for k, p in law.items() if abs(k) < error) < confidence
    q = math.exp(-0.3)
    size = noise.interval(40, epsilon=0.3, confidence=confidence).details["error"]
    assert isinstance(size, int)
    # 1 - P(|x| <= m) = 2 q^(m + 1) / (1 + q).
    assert 2 * q ** (size + 1) / (1 + q) <= 1 - confidence + 1e-9 < 2 * q**size / (1 + q) + 2e-9


@pytest.mark.parametrize("terms", [3, 8, 40])
def test_sums_have_wider_intervals(terms: int) -> None:
    """Simulated sums are covered as often as is said; five deviations of 40,000 draws."""
    error = noise.interval(100, terms=terms, variance=2, bound=5).details["error"]
    assert isinstance(error, int)
    sums = BoundedNoise(2.0, 5).draw_sums(terms, 40_000, numpy_generator(4))
    share = float((abs(sums) <= error).mean())
    assert 0.95 - 5 * math.sqrt(0.05 * 0.95 / 40_000) <= share
    assert float((abs(sums) < error).mean()) < 0.95 + 5 * math.sqrt(0.05 * 0.95 / 40_000)


def test_intervals_are_refused_and_cut_at_zero() -> None:
    assert noise.interval(2, variance=2, bound=5).value == [0, 5]
    with pytest.raises(InputError, match="give epsilon, or variance with bound"):
        noise.interval(2, variance=2)
    with pytest.raises(InputError, match="no count of at least 0 becomes it"):
        noise.interval(-9, variance=2, bound=5)


def noised(rng: np.random.Generator, chances: np.ndarray, people: int, law: BoundedNoise | EpsilonNoise) -> list[dict]:
    counts = rng.multinomial(people, chances.ravel()).reshape(chances.shape)
    shown = counts + law.draw(counts.shape, rng)
    return [
        {"a": f"a{i}", "b": f"b{j}", "count": int(shown[i, j]), "status": "noised"} for i, j in np.ndindex(*shown.shape)
    ]


@pytest.mark.slow
def test_a_test_that_ignores_the_noise_rejects_too_often() -> None:
    """60 independent tables with noise of variance 24 on cells of 12: about 5 % are rejected at 5 %, naively most.

    With a right level of 5 %, 13 or more of 60 rejections have probability below 1e-5; the seed is fixed.
    """
    rng, law = numpy_generator(7), EpsilonNoise(0.28)
    chances = np.outer([0.3, 0.5, 0.2], [0.25, 0.25, 0.3, 0.2])
    aware = naive = 0
    for _ in range(60):
        tested = noise.independence(noised(rng, chances, 150, law), epsilon=0.28, samples=200)
        aware += tested.aware <= 0.05
        naive += tested.naive <= 0.05
    assert aware <= 12 and naive >= 40


def test_dependence_is_found_despite_the_noise() -> None:
    rng = numpy_generator(1)
    chances = np.array([[0.4, 0.1], [0.1, 0.4]])
    tested = noise.independence(noised(rng, chances, 400, BoundedNoise(2.0, 5)), variance=2, bound=5, samples=400)
    assert tested.aware < 0.01 and "chi-square" in tested.to_text() and tested.to_json()["value"] == tested.aware


def test_what_cannot_be_tested(tmp_path: Path) -> None:
    rows = noised(numpy_generator(1), np.full((2, 2), 0.25), 100, BoundedNoise(2.0, 5))
    with pytest.raises(InputError, match="name two of a, b"):
        noise.independence(rows, ["a"], variance=2, bound=5)
    with pytest.raises(InputError, match="does not list all combinations"):
        noise.independence(rows[:3], variance=2, bound=5)
    with pytest.raises(InputError, match="samples = 5"):
        noise.independence(rows, variance=2, bound=5, samples=5)


def test_the_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run: Run = in_process(monkeypatch, capsys)
    ran = run(*"noise interval --printed 14 --variance 2 --bound 5".split())
    assert "11 to 17 (printed 14, give or take 3)" in ran.out
    rows = noised(numpy_generator(1), np.full((2, 2), 0.25), 100, BoundedNoise(2.0, 5))
    lines = ["a,b,count,status", *(",".join(map(str, row.values())) for row in rows)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    ran = run("noise", "independence", tmp_path / "t.csv", "--variance", "2", "--bound", "5", "--json")
    assert 0 < ran.document["value"] <= 1  # type: ignore[operator]

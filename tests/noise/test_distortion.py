"""What noise does to small areas: laws, sizes, who is gone; and the study of European municipalities."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Run, in_process
from pictures import validate
from safemargin.core import InputError, numpy_generator
from safemargin.io import read_sheet
from safemargin.noise.calculators import tail_chance
from safemargin.noise.charts import distortion_chart
from safemargin.noise.distortion import Areas, Distortion, Gone, distortion, halved, read_areas
from safemargin.noise.laws import BoundedNoise, EpsilonNoise, StudiedNoise

pytestmark = pytest.mark.full

DOCS = Path(__file__).parent.parent.parent / "docs"
NOISES = [EpsilonNoise(0.1), EpsilonNoise(0.4), BoundedNoise(2.0, 5), BoundedNoise(30.0, 9)]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_draws_follow_the_law(noise: StudiedNoise) -> None:
    drawn = noise.draw((200_000,), numpy_generator(1))
    for size in (1, 2, 5, 6, 12):
        chance = float(noise.beyond(np.array([size]))[0])
        spread = math.sqrt(chance * (1 - chance) / len(drawn))
        assert abs((drawn >= size).mean() - chance) <= 5 * spread, "five deviations"
        assert abs((drawn <= -size).mean() - chance) <= 5 * spread


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_frequencies_are_those_of_a_draw(noise: StudiedNoise) -> None:
    rng = numpy_generator(4)
    counts = halved(rng.integers(1, 300, size=20_000), rng)
    found = distortion(
        Areas(("x",) * len(counts), ("F", "M", "T"), counts), counts + noise.draw(counts.shape, rng), noise
    )
    for kind in (found.single, found.broadband):
        for each in kind:
            for expected, seen in zip(each.expected, each.seen, strict=True):
                assert abs(seen - expected) <= 5 * math.sqrt(expected) + 3


def test_the_estimate_of_the_paper() -> None:
    """Footnote 29: 11,680 counts of 61 to 80, epsilon 0.1, half off: at least 214 expected."""
    counts = np.full((11_680, 1), 80)
    noise = EpsilonNoise(0.1)
    found = distortion(Areas(("x",) * len(counts), ("T",), counts), counts, noise)
    place = next(at for at, each in enumerate(found.single) if each.high == 80)
    assert found.single[place].rough[1] == pytest.approx(11_680 * tail_chance(40, 0.1))
    assert round(found.single[place].rough[1]) == 214
    assert found.single[place].seen == (0, 0, 0) and found.gone == ()


def test_by_hand() -> None:
    """F, M, T of three areas; errors of exactly half count as half."""
    counts = np.array([[4, 6, 10], [1, 1, 2], [0, 30, 30]])
    printed = np.array([[2, 3, 5], [1, 0, -1], [5, 30, 31]])
    found = distortion(
        Areas(("a", "b", "c"), ("F", "M", "T"), counts), printed, BoundedNoise(1.0, 5), width=10, below=30
    )
    assert [each.counts for each in found.single] == [6 - 0, 0, 2] and found.single[0].seen == (5, 5, 2)
    assert [each.seen[1] for each in found.broadband] == [1, 0, 0]
    assert found.gone == (Gone("b", "T", 2, -1), Gone("b", "M", 1, 0))
    assert (len(found.vanished), len(found.negative)) == (1, 1)


def test_bad_calls() -> None:
    areas = Areas(("a",), ("T",), np.array([[5]]))
    with pytest.raises(InputError, match="width = 0"):
        distortion(areas, areas.counts, EpsilonNoise(1), width=0)
    with pytest.raises(InputError, match="epsilon = 0"):
        EpsilonNoise(0)
    with pytest.raises(InputError, match="the nearest is 10"):
        BoundedNoise(12, 5)
    with pytest.raises(InputError, match="b: F \\+ M = 5 but T = 6; the parts must add up"):
        Areas(("a", "b"), ("F", "M", "T"), np.array([[1, 1, 2], [2, 3, 6]]))


def test_the_picture_is_vega_lite() -> None:
    counts = np.array([[5], [40]])
    found = distortion(Areas(("a", "b"), ("T",), counts), counts, EpsilonNoise(0.2))
    validate(distortion_chart(found.chart_rows(found.single)))


def test_the_command(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "areas.csv"
    path.write_text("name,F,M,T\nA,3,4,7\nB,30,20,50.0\nC,,,\nD,200,150,350\n")
    given = ("noise", "distort", path, "--count", "T")
    document: Any = run(*given, "--parts", "F,M", "--name", "name", "--epsilon", "0.05", "--json").document
    assert document["inputs"]["areas"] == 3 and document["inputs"]["without_count"] == 1
    assert document["value"] == len(document["details"]["gone"])
    shown = run(*given, "--variance", "2", "--bound", "5", "--out", tmp_path / "p.html")
    assert "Single counts off" in shown.out and (tmp_path / "p.html").read_text().count("<figure") == 2
    for arguments, said in (
        (["T", "--epsilon", "1", "--variance", "2"], "give epsilon, or variance with bound"),
        (["U", "--epsilon", "1"], "U"),
        (["name", "--epsilon", "1"], "is not a number"),
    ):
        assert said in run("noise", "distort", path, "--count", *arguments).err
    path.write_text("name,T,U\nA,3,-1\nB,30,31\n")
    released: Any = run(
        *given, "--printed", "U", "--name", "name", "--variance", "2", "--bound", "5", "--json"
    ).document
    assert released["details"]["gone"] == [{"name": "A", "column": "T", "true": 3, "printed": -1}]
    assert "name one column for each of T" in run(*given, "--printed", "U,T", "--epsilon", "1").err
    path.write_text("T\n-3\n")
    assert "a true count is negative" in run(*given, "--epsilon", "1").err
    for text in ("1.5", "inf", "nan", "1e30"):
        path.write_text(f"T\n{text}\n")
        assert f"line 2: T = '{text}': is not an integer" in run(*given, "--epsilon", "1").err
    path.write_text("T,x\n,1\n")
    assert "no row has a count" in run(*given, "--epsilon", "1").err


def municipalities(data_sets: Path, epsilon: float) -> Distortion:
    """The study of docs/distortion.md: seed 1, halves drawn first."""
    names, counts, _ = read_areas(
        read_sheet(data_sets / "eu_lau2019_population.parquet"),
        ("country", "lau_name_latin", "lau_code"),
        ("population",),
    )
    rng = numpy_generator(1)
    parts = halved(counts[:, 0], rng)
    noise = EpsilonNoise(epsilon)
    areas = Areas(names, ("first half", "second half", "population"), parts)
    return distortion(areas, parts + noise.draw(parts.shape, rng), noise)


@pytest.mark.data
@pytest.mark.parametrize("epsilon", [0.025, 0.1, 0.4])
def test_european_municipalities(data_sets: Path, epsilon: float) -> None:
    """Section 4.2: the analytic estimate describes the sampled frequencies, and the page prints them."""
    found = municipalities(data_sets, epsilon)
    for kind in (found.single, found.broadband):
        for each in kind:
            for expected, seen in zip(each.expected, each.seen, strict=True):
                assert abs(seen - expected) <= 5 * math.sqrt(expected) + 5
    page = (DOCS / "distortion.md").read_text(encoding="utf-8")
    listed = re.search(rf"Single counts, epsilon {epsilon}:\n\n(\|.*?)\n\n", page, re.DOTALL)
    assert listed is not None
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in listed[1].splitlines()[2:]]
    assert lines == found.rows(found.single)[: len(lines)] and len(lines) == 10

"""Relative widths (Proposition 8(a) of the release paper) against all tables, listed here one by one."""

import random
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import safemargin
from commands import in_process
from evidence import seeds
from safemargin.core import InputError
from safemargin.release.bound import Bounds

Grid = tuple[tuple[int, ...], ...]


def tables_with(rows: list[int], columns: list[int], people: list[list[int]]) -> list[Grid]:
    """All counts of yes with these margins, none above the people of its cell."""
    lines = [
        [line for line in product(*(range(cap + 1) for cap in caps)) if sum(line) == total]
        for caps, total in zip(people, rows, strict=True)
    ]
    return [grid for grid in product(*lines) if [sum(c) for c in zip(*grid, strict=True)] == columns]


def town(draw: random.Random) -> tuple[list[list[int]], list[list[int]]]:
    height, width = draw.choice([(2, 2), (2, 3), (3, 2)])
    people = [[draw.randint(0, 6) for _ in range(width)] for _ in range(height)]
    return people, [[draw.randint(0, cap) for cap in line] for line in people]


def asked(people: list[list[int]], yes: list[list[int]], rho: float, **more: Any) -> Bounds:
    """The bounds of both margins, published exactly, for somebody with the roll."""
    a = [{"a": f"a{i}", "count": sum(line)} for i, line in enumerate(yes)]
    b = [{"b": f"b{j}", "count": sum(line)} for j, line in enumerate(zip(*yes, strict=True))]
    roll = [{"a": f"a{i}", "b": f"b{j}", "count": n} for i, line in enumerate(people) for j, n in enumerate(line)]
    return safemargin.bound([a, b], roll=[roll], rho=rho, **more)


@pytest.mark.parametrize("seed", seeds(4_200, 20, 1_500))
def test_widths_are_those_of_all_tables(seed: int) -> None:
    draw = random.Random(seed)
    people, yes = town(draw)
    if not any(map(sum, people)):
        return
    rho = draw.choice([0.1, 0.2, 0.25, 1 / 3, 0.5, 1.0])
    fiber = tables_with([sum(line) for line in yes], [sum(c) for c in zip(*yes, strict=True)], people)
    widths = []
    for i, line in enumerate(people):
        for j, size in enumerate(line):
            counts = [grid[i][j] for grid in fiber]
            if size:
                widths.append(Fraction(max(counts) - min(counts), size))
    found = asked(people, yes, rho).widths
    assert found is not None and found.unproved == 0 and found.intervals == len(widths)
    assert found.narrower == sum(width < Fraction(str(rho)) for width in widths)
    assert found.least == pytest.approx(float(min(widths))) and found.holds == (found.narrower == 0)


def test_what_cannot_be_compared_is_refused() -> None:
    people, yes = [[5, 5], [5, 5]], [[2, 3], [3, 2]]
    for rho in (0.0, -0.1, 1.5, float("nan")):
        with pytest.raises(InputError, match="rho"):
            asked(people, yes, rho)
    with pytest.raises(InputError, match="rho"):
        asked(people, yes, 0.1, decide=True)
    with pytest.raises(InputError, match="roll"):
        safemargin.bound([[{"a": "x", "count": 3}, {"a": "y", "count": 4}]], rho=0.1)


def test_the_command_ends_with_1_where_an_interval_is_narrower(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Margins 30, 20 and 25, 25 of 60, 40 x 50, 50 people: every cell is 5 to 25 or 0 to 20 of at least 20 people."""
    (tmp_path / "a.csv").write_text("a,count\nx,30\ny,20\n")
    (tmp_path / "b.csv").write_text("b,count\nu,25\nv,25\n")
    (tmp_path / "roll.csv").write_text("a,b,count\nx,u,30\nx,v,30\ny,u,20\ny,v,20\n")
    monkeypatch.chdir(tmp_path)
    run = in_process(monkeypatch, capsys)
    wide = run("bound", "a.csv", "b.csv", "--roll", "roll.csv", "--rho", "0.6")
    assert wide.code == 0 and "Relative width: each of 4 intervals is at least 60 % of its people wide" in wide.out
    narrow = run("bound", "a.csv", "b.csv", "--roll", "roll.csv", "--rho", "0.7")
    assert narrow.code == 1 and "2 of 4 intervals are narrower than 70 % of their people" in " ".join(
        narrow.out.split()
    )

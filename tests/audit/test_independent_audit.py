"""`audit` of tables of people against integer programs written from docs/audit.md; only the command is called."""

import csv
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Ran, Run, in_process
from evidence import seeds
from integer_onlooker import MANY, Fact, People, Possible, Vector

TOOLS = {
    "tau-ARGUS": ["one", "freq", "cost", "status", "lower", "upper"],
    "sdcTable": ["Freq", "sdcStatus"],
    "GaussSuppression": ["freq", "primary", "suppressed"],
    "pattern": ["count", "status"],
}
Cell = dict[str, str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


def some_people(rng: np.random.Generator, axes: int) -> tuple[People, Vector]:
    people = People({name: [f"{name}{i}" for i in range(rng.integers(2, 4))] for name in "xyz"[:axes]})
    counts = rng.poisson(rng.choice([0.7, 2, 4]), size=len(people.profiles)).astype(np.int64)
    counts[0] += 1
    return people, counts


def key(cell: Cell) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(cell.items()))


def findings(document: Any, attack: str) -> dict[Any, tuple[int, int]]:
    found = next(tried["findings"] for tried in document["attacks"] if tried["attack"] == attack)
    return {key(finding["cell"]): (finding["lower"], finding["upper"]) for finding in found}


def judge(ran: Ran, people: People, printed: list[tuple[Cell, Fact]], gaps: list[tuple[Cell, Fact]], tau: int) -> None:
    """Every interval, verdict and finding, and the exit code."""
    document: Any = ran.document
    possible = Possible([fact for _, fact in printed + gaps])
    disclosed, shown = {}, {key(cell) for cell, _ in printed}
    empty = sum(fact[0] for _, fact in printed if fact[1] == 0)  # a printed zero prints every part of it
    for found in document["cells"]:
        row = people.row(found["cell"])
        ends = possible.interval(row)
        assert (found["lower"], found["upper"]) == ends
        assert found["verdict"] == ("disclosed" if ends[1] - ends[0] <= tau else "open")
        if found["verdict"] == "disclosed" and key(found["cell"]) not in shown and not np.any(row * empty):
            disclosed[key(found["cell"])] = ends
    assert len(document["cells"]) == len(people.profiles)
    assert findings(document, "joint") == disclosed
    hidden = {key(cell): possible.interval(fact[0]) for cell, fact in gaps}
    known = {cell: ends for cell, ends in hidden.items() if ends[1] - ends[0] <= tau}
    assert findings(document, "suppressed") == known
    small = {key(cell): fact[1:] for cell, fact in printed if cell and 1 <= fact[1] <= 3}  # everybody is no group
    assert findings(document, "small") == small
    assert document["safe"] is not bool(known or disclosed or small)
    assert ran.code == (0 if document["safe"] else 1)


def attack_margins(run: Run, folder: Path, seed: int) -> None:
    """Two or all three of the two-way tables of three axes."""
    rng = np.random.default_rng(seed)
    people, counts = some_people(rng, 3)
    printed, files = [], []
    pairs = list(combinations(people.axes, 2))
    for axes in [pairs[i] for i in rng.choice(3, size=rng.integers(2, 4), replace=False)]:
        files.append(folder / f"{'-'.join(axes)}.csv")
        with files[-1].open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*axes, "count"])
            for labels in product(*(people.axes[axis] for axis in axes)):
                cell = dict(zip(axes, labels, strict=True))
                row = people.row(cell)
                printed.append((cell, (row, int(row @ counts), int(row @ counts))))
                writer.writerow([*labels, int(row @ counts)])
    tau = int(rng.choice([0, 1, 2]))
    judge(run("audit", *files, "--tau", tau, "--json"), people, printed, [], tau)


def line(tool: str, count: int, is_gap: bool) -> list[object]:
    """The columns behind the axes, as the tool writes them."""
    if tool == "tau-ARGUS":
        return [count, count, count, "U" if is_gap else "S" if count else "E", 1, 1]
    if tool == "sdcTable":
        return [count, "x" if is_gap else "s" if count else "z"]
    if tool == "GaussSuppression":
        return [count, "FALSE", "TRUE" if is_gap else "FALSE"]
    return ["" if is_gap else count, "suppressed" if is_gap else "exact"]


def attack_pattern(run: Run, folder: Path, seed: int) -> None:
    """A random pattern over two or three axes with their margins, of which one may be missing altogether."""
    rng = np.random.default_rng(seed)
    people, counts = some_people(rng, int(rng.integers(2, 4)))
    tool = str(rng.choice(list(TOOLS)))
    cells = [
        {axis: name for axis, name in zip(people.axes, names, strict=True) if name != "Total"}
        for names in product(*(["Total", *names] for names in people.axes.values()))
    ]
    margins = sorted({tuple(cell) for cell in cells if 0 < len(cell) < len(people.axes)})
    omitted = margins[rng.integers(len(margins))] if rng.random() < 0.5 else None
    hides_zeros = tool in ("sdcTable", "GaussSuppression") and rng.random() < 0.3
    listed = [(cell, people.row(cell)) for cell in cells if tuple(cell) != omitted]
    hidden = [bool(cell) and rng.random() < 0.4 and (hides_zeros or row @ counts > 0) for cell, row in listed]
    least = 0 if any(is_gap and not row @ counts for is_gap, (_, row) in zip(hidden, listed, strict=True)) else 1
    printed, gaps = [], []
    with (folder / "table.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*people.axes, *TOOLS[tool]])
        for is_gap, (cell, row) in zip(hidden, listed, strict=True):
            count = int(row @ counts)
            writer.writerow([*(cell.get(axis, "Total") for axis in people.axes), *line(tool, count, is_gap)])
            (gaps if is_gap else printed).append((cell, (row, least, MANY) if is_gap else (row, count, count)))
    tau = int(rng.choice([0, 1]))
    judge(run("audit", folder / "table.csv", "--tau", tau, "--json"), people, printed, gaps, tau)


def test_margins_of_three_axes(run: Run, tmp_path: Path) -> None:
    for seed in range(4):
        attack_margins(run, tmp_path, seed)


def test_patterns_of_other_tools(run: Run, tmp_path: Path) -> None:
    for seed in range(8):
        attack_pattern(run, tmp_path, seed)


@pytest.mark.slow
def test_many_margins_and_patterns(run: Run, tmp_path: Path) -> None:
    for seed in seeds(100, 60, 1000):
        attack_margins(run, tmp_path, seed)
        attack_pattern(run, tmp_path, seed)

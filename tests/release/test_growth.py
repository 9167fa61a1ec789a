"""How safety ends as tables grow: against enumeration of every table with the same margins."""

from importlib import import_module
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from commands import Run, in_process
from safemargin import InputError, Target, growth
from safemargin.release.growth import growth_chart
from safemargin.ui import to_svg

CELLS = {("a", "x"): (3, 1), ("a", "y"): (4, 2), ("b", "x"): (2, 2), ("b", "y"): (3, 0)}


def rows() -> list[dict[str, str]]:
    return [
        {"r": r, "c": c, "one": "only", "v": "yes" if n < yes else "no"}
        for (r, c), (people, yes) in CELLS.items()
        for n in range(people)
    ]


def disclosed(order: int, target: Target) -> int:
    """Cells whose interval is disclosed, over all counts that agree with every margin of up to `order` axes."""
    profiles = list(CELLS)
    people = np.array([CELLS[profile][0] for profile in profiles])
    truth = np.array([CELLS[profile][1] for profile in profiles])
    ways = np.array(list(product(*(range(n + 1) for n in people))))
    for some in (s for n in range(order + 1) for s in combinations(range(2), n)):
        for key in {tuple(profile[a] for a in some) for profile in profiles}:
            inside = np.array([tuple(profile[a] for a in some) == key for profile in profiles])
            ways = ways[ways[:, inside].sum(axis=1) == truth[inside].sum()]
    limits = target.limits([int(truth.sum()), int((people - truth).sum())], int(people.sum()))
    low, high = ways.min(axis=0), ways.max(axis=0)
    ends = np.column_stack([low, people - high]), np.column_stack([high, people - low])
    return int((limits.verdicts(*ends, people) == 2).any(axis=1).sum())


@pytest.mark.parametrize("kappa", [1, 3])
def test_what_grows_is_what_enumeration_finds(kappa: int) -> None:
    target = Target(beta=0.2, kappa=kappa, tau=0)
    result = growth(rows(), answer="v", by=["r", "c"], order=2, target=target)
    both = {point.order: point for point in result.points if point.axes == ("r", "c")}
    assert {order: point.disclosed for order, point in both.items()} == {n: disclosed(n, target) for n in (1, 2)}
    assert both[2].counts == 3 and both[2].cells_per_person == 4 / 12 and both[2].is_sharp
    assert [point.axes for point in result.points] == [("r",), ("c",), ("r", "c"), ("r", "c")]


def test_the_command_writes_a_page_and_a_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run: Run = in_process(monkeypatch, capsys)
    text = "r,c,v\n" + "".join(f"{row['r']},{row['c']},{row['v']}\n" for row in rows())
    (tmp_path / "d.csv").write_text(text)
    (tmp_path / "p.toml").write_text(
        '[data]\nfile = "d.csv"\nanswer = "v"\n[axes.r]\n[axes.c]\n[target]\nkappa = 1\ntau = 0\n'
    )
    ran = run("growth", "p.toml", "--out", "g.html", "--json")
    assert ran.code == 0 and "cells per person" in (tmp_path / "g.html").read_text()
    assert set(ran.document) == {"schema", "points", "begins", "skipped"}
    assert "disclosure begins at" in run("growth", "p.toml").out
    assert run("growth", "p.toml", "--out", "nowhere/g.html").code == 2
    assert run("growth", "p.toml", "--order", "0").code == 2


def test_nothing_disclosed_is_said_so_and_large_sets_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [{"r": "ab"[n % 2], "c": "xy"[n % 3 % 2], "v": "yes" if n % 5 < 2 else "no"} for n in range(600)]
    result = growth(many, answer="v", by=["r", "c"], order=1, target=Target(kappa=10, tau=0))
    assert result.begins == {1: None} and "no measured set of axes discloses a cell" in result.to_text()
    monkeypatch.setattr(import_module("safemargin.release.growth"), "MOST_CELLS", 2)
    assert growth(many, answer="v", by=["r", "c"], order=1, target=Target(kappa=10, tau=0)).skipped == ("r x c",)
    with pytest.raises(InputError, match="axes = 0: must be at least 1"):
        growth(many, answer="v", by=["r"], axes=0)


def test_the_picture_is_drawn() -> None:
    result = growth(rows(), answer="v", by=["r", "c"], target=Target(kappa=1, tau=0))
    assert "<svg" in to_svg(growth_chart(result))

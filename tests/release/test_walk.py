"""One release visits its packages in the order of docs/architecture.md; a reader of them never turns back."""

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import safemargin

PACKAGE = Path(safemargin.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def stations() -> list[str]:
    """The walk that the page describes, station by station."""
    section = PAGE.read_text(encoding="utf-8").split("## A walk")[1].split("## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)


def station_of(path: Path, listed: list[str]) -> str:
    """The listed station that a file belongs to; else its package."""
    parts = path.relative_to(PACKAGE).parts
    named = ["/".join(parts[:depth]) for depth in range(len(parts), 0, -1)]
    return next((name for name in named if name in listed), parts[0])


def first_visits(work: Any, listed: list[str]) -> list[str]:
    """Stations in the order in which a function of theirs is first called; what imports run does not count."""
    visits: list[str] = []
    root = f"{PACKAGE}/"
    seen: set[str] = set()

    def called(frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if file in seen or event != "call" or frame.f_code.co_name == "<module>" or not file.startswith(root):
            return
        caller: FrameType | None = frame
        while caller is not None:
            if caller.f_code.co_filename.startswith("<frozen importlib"):
                return
            caller = caller.f_back
        seen.add(file)
        if (station := station_of(Path(file), listed)) not in visits:
            visits.append(station)

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
    return visits


@pytest.mark.slow
def test_a_release_visits_its_packages_in_the_order_of_the_page(tmp_path: Path) -> None:
    rows = [
        {"area": area, "age": age, "vote": vote}
        for area in "NSEW"
        for age in ("old", "young")
        for vote, people in (("yes", 60), ("no", 50))
        for _ in range(people)
    ]
    listed = stations()

    def release() -> None:
        safemargin.release(rows, by=["area", "age"], answer="vote").write(tmp_path / "out")

    visits = first_visits(release, listed)
    assert [station for station in visits if station in listed] == listed
    assert {station.split("/")[0] for station in visits} - {"checker.py", "__init__.py"} == {
        station.split("/")[0] for station in listed
    }


def test_a_walk_that_turns_back_is_noticed() -> None:
    """The recorder states stations in the order of their first calls, each once."""

    def work() -> None:
        safemargin.Target(beta=0.1).stated()
        safemargin.rules(3, 3)
        safemargin.Target(beta=0.2).stated()

    assert first_visits(work, ["voting", "core"])[:2] == ["core", "voting"]

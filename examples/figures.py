"""What the examples share: run a project, and say what it costs and what it discloses."""

import argparse
import csv
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from safemargin import Project, Release, audit, compare, release


@dataclass(frozen=True)
class Figures:
    """A release in numbers.

    `totals` are the people by answer, `unanimous` the groups of the whole cross table in which everybody gave one
    answer, if it were published, and `readable` the people in them. `actions` counts groups by axis and by how they are
    published.
    """

    release: Release
    totals: dict[str, int]
    seconds: float
    unanimous: int
    groups: int
    readable: int

    @property
    def actions(self) -> dict[str, dict[str, int]]:
        decisions = [decision for decision in self.release.plan.decisions if decision.axis]
        axes = dict.fromkeys(decision.axis for decision in decisions)
        return {axis: dict(Counter(str(made.action) for made in decisions if made.axis == axis)) for axis in axes}

    @property
    def merged(self) -> list[str]:
        """Groups of several categories, as they are named in what is published."""
        return [" | ".join(sorted(made.group)) for made in self.release.plan.decisions if str(made.action) == "merged"]


def figures(file: Path, folder: Path) -> Figures:
    """Release a project into `folder`, and attack its cross table as if that had been published instead."""
    start = time.perf_counter()
    result = release(file)
    result.write(folder)
    seconds = time.perf_counter() - start
    with (folder / "published" / "total.csv").open(encoding="utf-8", newline="") as opened:
        totals = {row["option"]: int(row["count"]) for row in csv.DictReader(opened)}
    attempts = audit(cross_table(Project.load(file), list(totals))).attempts
    unanimous = next(attempt for attempt in attempts if attempt.attack == "homogeneity")
    cells = {tuple(finding.cell.values()) for finding in unanimous.findings}
    return Figures(result, totals, seconds, len(cells), unanimous.looked_at, unanimous.people_exposed)


def cross_table(project: Project, options: list[str]) -> list[dict[str, object]]:
    """The whole table of a project as tidy rows, empty cells of occupied groups included."""
    source, axes = project.data, list(project.axes)
    assert source is not None and source.count is not None
    groups: dict[tuple[str, ...], Counter[str]] = {}
    with source.file.open(encoding="utf-8", newline="") as opened:
        for row in csv.DictReader(opened):
            counts = groups.setdefault(tuple(row[axis] for axis in axes), Counter())
            counts[row[source.answer]] += int(row[source.count])
    return [
        {**dict(zip(axes, group, strict=True)), "option": option, "count": counts[option]}
        for group, counts in groups.items()
        for option in options
    ]


def show(found: Figures) -> None:
    """Print what a reader of docs/examples.md wants to compare."""
    plan = found.release.plan
    print(f"{sum(found.totals.values()):,} people, {found.totals} by answer")
    print(f"whole table: {found.unanimous} of {found.groups} groups unanimous, {found.readable:,} people readable")
    print(f"every axis exactly: {len(plan.irregular)} groups with {plan.exposed_people:,} people miss the target")
    certificate = plan.certificate
    print(f"certified: {certificate.certified}; {sum_of(certificate.checked):,} cells, {certificate.linear} linear")
    for axis, actions in found.actions.items():
        print(f"  {axis}: {', '.join(f'{count} {action}' for action, count in sorted(actions.items()))}")
    for group in found.merged:
        print(f"  merged: {group}")
    for refusal in plan.refusals:
        print(f"  refused: {refusal}")
    print(f"{found.seconds:.1f} s")


def sum_of(checked: dict[str, int]) -> int:
    """How many cells a certificate speaks about."""
    return checked.get("joint cells", 0) + checked.get("cells of fewer axes", 0)


def main(description: str, build: Callable[[Path, Path], Path]) -> None:
    """The command line of an example: where the data are, and the folder to write."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("data", type=Path, help="folder with the Parquet files")
    parser.add_argument("folder", type=Path, help="new folder for the project and its release")
    parser.add_argument("--compare", action="store_true", help="also measure other ways to publish")
    chosen = parser.parse_args()
    project = build(chosen.data, chosen.folder)
    show(figures(project, chosen.folder / "release"))
    if chosen.compare:
        print(compare(project, epsilons=[1.0], draws=20).to_text(120))

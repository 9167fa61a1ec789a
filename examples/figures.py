"""What the examples share: run a project, and say what it costs and what it discloses."""

import argparse
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from safemargin import Project, Publication, Release, Table, Target, audit, compare, release
from safemargin.core import as_published
from safemargin.release.compare.comparison import Comparison
from safemargin.release.inputs import read_inputs


@dataclass(frozen=True)
class Figures:
    """A release in numbers.

    `unanimous` are the groups of the whole cross table, as it is, in which everybody gave one answer, and
    `readable` the people in them. `actions` counts groups by axis and by how they are published.
    """

    outcome: Release
    table: Table
    seconds: float
    unanimous: int
    groups: int
    readable: int

    @property
    def actions(self) -> dict[str, dict[str, int]]:
        plan = self.outcome.plan
        names = self.table.schema.names
        return {name: dict(Counter(str(each.action) for each in plan.axis(name))) for name in names}

    @property
    def merged(self) -> list[str]:
        """Groups of several categories, as they are named in what is published."""
        return [" | ".join(sorted(d.group)) for d in self.outcome.plan.decisions if str(d.action) == "merged"]


def figures(project: Path, folder: Path) -> Figures:
    """Release a project into `folder`, and attack its cross table as if that had been published instead."""
    start = time.perf_counter()
    outcome = release(project)
    outcome.write(folder)
    seconds = time.perf_counter() - start
    table = read_inputs(Project.load(project)).table
    whole = as_published(table.margin(table.schema.names), table.schema, "everything")
    attempts = audit(Publication((whole,), Target())).attempts
    unanimous = next(attempt for attempt in attempts if attempt.attack == "homogeneity")
    cells = {tuple(finding.cell.values()) for finding in unanimous.findings}
    return Figures(outcome, table, seconds, len(cells), unanimous.looked_at, unanimous.people_exposed)


def show(found: Figures) -> None:
    """Print what a reader of docs/examples.md wants to compare."""
    plan, table = found.outcome.plan, found.table
    print(f"{int(table.totals.sum()):,} people, {table.totals.tolist()} by answer")
    print(f"whole table: {found.unanimous} of {found.groups} groups unanimous, {found.readable:,} people readable")
    print(f"every axis as it is: {len(plan.irregular)} groups with {plan.exposed_people:,} people miss the target")
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


def show_comparison(found: Comparison) -> None:
    """Print the cost of every method and what it discloses."""
    for each in found.methods:
        error = "nothing published" if each.mean_error is None else f"mean error {each.mean_error:.3g}"
        print(f"  {each.method}: {error}, {each.exact_people:.1%} exact, {each.people_exposed:,} people exposed")


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
        show_comparison(compare(project, epsilons=[1.0], draws=20))

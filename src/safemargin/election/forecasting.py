"""Will a plan publish anything? A forecast of its tables, from the roll and before anybody votes."""

import csv
from collections import Counter
from pathlib import Path

from safemargin.core import InputError, Progress, numpy_generator
from safemargin.election.rehearsal import made_up_roll
from safemargin.election.roll import merge_small, read_roll
from safemargin.election.setup import ElectionPlan
from safemargin.io import read_bytes, scratch_folder
from safemargin.release.forecast import forecast
from safemargin.release.project import Project
from safemargin.release.report.forecast import Forecast


def forecast_plan(
    plan: ElectionPlan, roll: Path | str | None, voters: int, shares: str | None, draws: int | None, progress: Progress
) -> Forecast:
    """The forecast of a release in which everybody on the roll answers; made-up people where there is no roll yet."""
    if roll is None:
        people = made_up_roll(plan, voters, numpy_generator(0))
    else:
        people = read_roll(read_bytes(roll), str(roll))
    sizes: dict[str, dict[str, int]] = {}
    for name, dimension in plan.dimensions.items():
        if dimension.self_reported:
            stated = dimension.sizes or {}
            sizes[name] = {category: stated.get(category, 0) for category in dimension.categories}
            continue
        counted = Counter(by.get(name, "") for by in people.values())
        if unknown := sorted(set(counted) - set(dimension.categories)):
            raise InputError(f"dimensions.{name}: the roll has the category {unknown[0]!r}; the plan does not")
        groups = merge_small({category: counted[category] for category in dimension.categories}, plan.kappa)
        sizes[name] = {group: sum(counted[category] for category in parts) for group, parts in groups.items()}
    kappa = max(plan.kappa, -(-plan.share * len(people) // 100))
    with scratch_folder() as folder:
        project = _project(plan, sizes, len(people), kappa, folder)
        return forecast(project, shares=shares, draws=draws, progress=progress)


def _project(plan: ElectionPlan, sizes: dict[str, dict[str, int]], people: int, kappa: int, folder: Path) -> Project:
    """The project of the release with made-up answers, of which a forecast reads the options only."""

    def write(name: str, rows: list[list[object]]) -> str:
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        return str(folder / name)

    first = plan.options[0]
    files, rolls = {}, []
    for number, (name, by) in enumerate(sizes.items()):
        rows: list[list[object]] = [[c, o, size if o == first else 0] for c, size in by.items() for o in plan.options]
        files[name] = write(f"tally {number}.csv", [[name, "option", "count"], *rows])
        rolls.append(write(f"roll {number}.csv", [[name, "people"], *([c, size] for c, size in by.items())]))
    total = write("total.csv", [["option", "count"], *([o, people if o == first else 0] for o in plan.options)])
    return Project.build(
        {
            "title": plan.title,
            "tallies": {"files": files, "total": total, "tolerance": 0.999999},
            "roll": {"files": rolls},
            "axes": {name: {"categories": list(by)} for name, by in sizes.items()},
            **plan.release,
            "target": {**plan.release.get("target", {}), "kappa": kappa},
        }
    )

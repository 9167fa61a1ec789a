"""From decrypted sums to a release: tidy files of tallies, total and roll, and the project that the manifest fixes."""

import csv
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from safemargin.core import InputError, RefusedError
from safemargin.election.manifests import NO_ANSWER, TOTAL, Counts, KnownElection
from safemargin.election.tallies import Groups
from safemargin.history.folders import PUBLISHED
from safemargin.io import scratch_folder
from safemargin.release.inputs import read_inputs
from safemargin.release.project import Project
from safemargin.release.release import Release, pass_gate
from safemargin.release.sealed import InconsistencyWarning


def published_files(folder: Path) -> dict[str, bytes]:
    """What a release publishes, by the name of the file."""
    return {path.name: path.read_bytes() for path in sorted((folder / PUBLISHED).iterdir())}


def hand_over(
    election: KnownElection,
    total: Mapping[str, int],
    opened: Mapping[str, Counts],
    groups: Mapping[str, Groups],
    salt: str,
) -> Release | None:
    """The release of the decrypted sums; None where no release meets the target.

    Every trustee computes it, and the files are equal byte for byte. People who skip a dimension make its totals differ
    from the binding ones; that never stops the release, the tables must be safe however the difference is read.
    """
    if not opened:
        return None
    with scratch_folder() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistencyWarning)  # published as the inconsistency of every dimension
        project = write_project(election, Counter(total), opened, groups, folder)
        try:
            return pass_gate(read_inputs(project), salt=salt)
        except RefusedError:
            return None


def check_release(election: KnownElection) -> None:
    """Refuse a manifest with which no release can be computed: after the vote nothing of it can change.

    Tried with made-up tallies, in which everybody chose the first option.
    """
    if election.release_sections.get("target", {}).get("protect") == "noise":
        raise InputError("release.target.protect = 'noise': every trustee computes the release, and would draw its own")
    first, people = election.manifest.options[0], election.manifest.electorate
    opened = {
        name: {category: Counter({first: size}) for category, size in dimension.sizes.items()}
        for name, dimension in election.dimensions.items()
        if name != TOTAL
    }
    groups = {name: {category: [category] for category in counts} for name, counts in opened.items()}
    with scratch_folder() as folder:
        try:
            read_inputs(write_project(election, Counter({first: people}), opened, groups, folder))
        except InputError as error:
            raise InputError(f"release: cannot be computed: {str(error).replace(f'{folder}/', '')}") from None


def write_project(
    election: KnownElection,
    total: Counter[str],
    opened: Mapping[str, Counts],
    groups: Mapping[str, Groups],
    folder: Path,
) -> Project:
    """The project of the release: tallies, total and roll as tidy files, all else as the manifest fixes it.

    Turnout is apart from answers: tables are about those who answered their dimension. Only where the joint roll is
    public are people without an answer an option, since the roll counts them, and every onlooker is taken to know how
    many of a category did not answer. Files are numbered, since dimensions have any name.
    """
    joint = election.manifest.joint is not None and len(opened) == len(election.dimensions) - 1
    options = [*election.manifest.options, *([NO_ANSWER] if joint else [])]
    answered = Counter({option: total[option] for option in election.manifest.options})
    if joint:
        answered[NO_ANSWER] = election.manifest.electorate - answered.total()
    _write(folder / "total.csv", ["option", "count"], [[option, answered[option]] for option in sorted(options)])
    files, rolls, facts, sizes = {}, [], [], {}
    for number, (name, counts) in enumerate(opened.items()):
        people = election.dimension(name).sizes
        sizes[name] = {group: sum(people[category] for category in parts) for group, parts in groups[name].items()}
        rows = []
        for group, by in counts.items():
            silent = sizes[name][group] - by.total()
            if silent < 0:
                raise InputError(f"{name}: more people answered in a category than the roll has; nothing is released")
            rows += [[group, option, silent if option == NO_ANSWER else by[option]] for option in options]
            if joint:
                facts.append((name, group, silent))
        files[name] = _write(folder / f"tally {number}.csv", [name, "option", "count"], rows)
        rolls.append(_write(folder / f"roll {number}.csv", [name, "people"], [list(s) for s in sizes[name].items()]))
    known = [
        _write(folder / f"facts {number}.csv", [name, "option", "count"], [[group, NO_ANSWER, silent]])
        for number, (name, group, silent) in enumerate(facts)
    ]
    if joint:
        rolls = [_write_joint(election, groups, folder)]
    sections = election.release_sections
    composition = "sizes" if len(rolls) > 1 or len(opened) == 1 else "joint"
    onlookers = sections.get("onlookers") or [{"name": "the public", "composition": composition}]
    content = {
        "title": election.manifest.title,
        "tallies": {
            "files": files,
            "total": str(folder / "total.csv"),
            "turnout": "option" if joint else "apart",
            "tolerance": 0.999999,
        },
        "roll": {"files": rolls},
        "axes": {name: {"categories": list(sizes[name])} for name in opened},
        "onlookers": [{**each, "facts": [*each.get("facts", []), *known]} for each in onlookers],
        **{name: section for name, section in sections.items() if name not in ("target", "onlookers")},
        "target": {**sections.get("target", {}), "kappa": election.kappa(total.total())},
    }
    return Project.build(content)


def _write_joint(election: KnownElection, groups: Mapping[str, Groups], folder: Path) -> str:
    """The joint roll, by the groups of the tally."""
    names = [name for name in election.dimensions if name != TOTAL]
    group_of = {name: {c: group for group, parts in groups[name].items() for c in parts} for name in names}
    people: Counter[tuple[str, ...]] = Counter()
    for *cell, count in election.manifest.joint or []:
        people[tuple(group_of[name][str(c)] for name, c in zip(names, cell, strict=True))] += int(count)
    return _write(folder / "roll.csv", [*names, "people"], [[*cell, count] for cell, count in sorted(people.items())])


def _write(path: Path, columns: list[str], rows: Sequence[Sequence[object]]) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])
    return str(path)

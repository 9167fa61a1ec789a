"""From opened tallies to a release: tidy files of tallies, total and roll, and the project that the manifest fixes."""

import csv
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from safemargin.core import InputError, RefusedError
from safemargin.election.board import Board
from safemargin.election.keys import SealingKey, canonical, derive, digest
from safemargin.election.manifest import NO_ANSWER, TOTAL, Counts, Dimension, KnownElection
from safemargin.election.records import NOTHING, RecordFormat, read_items
from safemargin.history.folders import PUBLISHED
from safemargin.release.inputs import read_inputs
from safemargin.release.project import Project
from safemargin.release.release import Release, pass_gate
from safemargin.release.sealed import InconsistencyWarning


def published_files(folder: Path) -> dict[str, bytes]:
    """What a release publishes, by the name of the file."""
    return {path.name: path.read_bytes() for path in sorted((folder / PUBLISHED).iterdir())}


def hand_over(board: Board, opened: Mapping[str, Counts], key: SealingKey) -> Release | None:
    """The release of the opened tallies; None where no release meets the target.

    Every trustee computes it, and the files are equal byte for byte.
    """
    total = Counter(board.of("total")[0].body["counts"])
    accepted = next(entry.body["accepted"] for entry in board.of("batch") if entry.body["dimension"] == TOTAL)
    silent = {
        name: _silent_on_board(board, dimension)
        for name in opened
        if not (dimension := board.election.dimension(name)).self_reported
    }
    with tempfile.TemporaryDirectory(prefix="safemargin-ceremony-") as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistencyWarning)  # published as the inconsistency of every dimension
        project = write_project(board.election, total, opened, silent, accepted, Path(name))
        try:
            return pass_gate(read_inputs(project), salt=common_salt(board, key))
        except RefusedError:
            return None


def common_salt(board: Board, key: SealingKey) -> str:
    """The salt with which the release commits to its folder for auditors: the same for all trustees who open.

    It follows from the tally key, which nobody has but trustees in the ceremony, and from the records that are counted.
    Nobody else can test a guess of what the folder holds, as with a salt that is drawn.
    """
    counted = [entry.body for entry in board.of("batch")]
    return derive(key.seed, f"auditors {digest([board.election.mid, canonical(counted)]).hex()}", 32).hex()


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
    silent = {
        name: dict.fromkeys(counts, 0) for name, counts in opened.items() if not election.dimension(name).self_reported
    }
    with tempfile.TemporaryDirectory(prefix="safemargin-manifest-") as name:
        try:
            read_inputs(write_project(election, Counter({first: people}), opened, silent, people, Path(name)))
        except InputError as error:
            raise InputError(f"release: cannot be computed: {str(error).replace(f'{name}/', '')}") from None


def write_project(
    election: KnownElection,
    counted: Counter[str],
    opened: Mapping[str, Counts],
    silent: Mapping[str, Mapping[str, int]],
    accepted: int,
    folder: Path,
) -> Project:
    """The project of the release: tallies, total and roll as tidy files, all else as the manifest fixes it.

    Turnout is apart from answers: tables are about those who answered their dimension. Only where the joint roll is
    public are people without a record an option, since the roll counts them; `silent` has them by attested category.
    Files are numbered, since dimensions have any name.
    """
    joint = election.manifest.joint is not None and len(opened) == len(election.dimensions) - 1
    options = list(election.manifest.options)
    total = counted
    if joint:
        options.append(NO_ANSWER)
        total = _with_silent(counted, election.manifest.electorate)
    _write(folder / "total.csv", ["option", "count"], [[option, total[option]] for option in sorted(options)])
    files, rolls, facts = {}, [], []
    for number, (name, counts) in enumerate(opened.items()):
        sizes = election.dimension(name).sizes
        complete = {category: _with_silent(counts[category], size) for category, size in sizes.items()}
        rows = [[category, option, by[option]] for category, by in complete.items() for option in options]
        files[name] = _write(folder / f"tally {number}.csv", [name, "option", "count"], rows)
        rolls.append(_write(folder / f"roll {number}.csv", [name, "people"], [list(size) for size in sizes.items()]))
        if name in silent and joint:
            people = [[category, NO_ANSWER, count] for category, count in silent[name].items()]
            facts.append(_write(folder / f"facts {number}.csv", [name, "option", "count"], people))
    if joint:
        columns = [*(name for name in election.dimensions if name != TOTAL), "people"]
        rolls = [_write(folder / "roll.csv", columns, election.manifest.joint or [])]
    sections = election.release_sections
    known = "sizes" if len(rolls) > 1 or len(opened) == 1 else "joint"
    onlookers = sections.get("onlookers") or [{"name": "the public", "composition": known}]
    content = {
        "title": election.manifest.title,
        "tallies": {
            "files": files,
            "total": str(folder / "total.csv"),
            "turnout": "option" if joint else "apart",
            "tolerance": election.manifest.tolerance / 100,
        },
        "roll": {"files": rolls},
        "axes": {name: {"categories": list(election.dimension(name).sizes)} for name in opened},
        # The board shows how many people of an attested category answered: every onlooker knows it.
        "onlookers": [{**each, "facts": [*each.get("facts", []), *facts]} for each in onlookers],
        **{name: section for name, section in sections.items() if name not in ("target", "onlookers")},
        "target": {**sections.get("target", {}), "kappa": election.kappa(accepted)},
    }
    return Project.build(content)


def _with_silent(counts: Counter[str], size: int) -> Counter[str]:
    return counts + Counter({NO_ANSWER: size - counts.total()})


def _silent_on_board(board: Board, dimension: Dimension) -> dict[str, int]:
    """People of every attested category without a record, as anybody can count them."""
    format_ = RecordFormat(board.election, dimension, board.signers)
    items = read_items(board.folder / "records" / dimension.name, format_.size)
    seen = Counter(record.category for item in items if (record := format_.read(item)))
    assert NOTHING not in seen
    return {category: size - seen[place] for place, (category, size) in enumerate(dimension.sizes.items())}


def _write(path: Path, columns: list[str], rows: Sequence[Sequence[object]]) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])
    return str(path)

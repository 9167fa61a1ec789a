"""From opened tallies to a release: tidy files of tallies, total and roll, and the project that the manifest fixes."""

import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from safemargin.core import RefusedError
from safemargin.election.board import Board
from safemargin.election.manifest import NO_ANSWER, TOTAL, Counts, Dimension
from safemargin.election.records import NOTHING, RecordFormat, read_items
from safemargin.release.ledger.file import PUBLISHED
from safemargin.release.project import Project
from safemargin.release.release import Release, release
from safemargin.release.sealed import InconsistencyWarning


def published_files(folder: Path) -> dict[str, bytes]:
    """What a release publishes, by the name of the file."""
    return {path.name: path.read_bytes() for path in sorted((folder / PUBLISHED).iterdir())}


def hand_over(board: Board, opened: Mapping[str, Counts], run: Callable[..., Release] = release) -> Release | None:
    """The release of the opened tallies; None where no release meets the target."""
    with tempfile.TemporaryDirectory(prefix="safemargin-ceremony-") as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistencyWarning)  # published as the inconsistency of every dimension
        project = write_project(board, opened, Path(name))
        try:
            return run(project)
        except RefusedError:
            return None


def write_project(board: Board, opened: Mapping[str, Counts], folder: Path) -> Project:
    """The project of the release: tallies, total and roll as tidy files, all else as the manifest fixes it."""
    election = board.election
    total = Counter(board.of("total")[0].body["counts"])
    total[NO_ANSWER] = election.manifest.electorate - total.total()
    _write(folder / "total.csv", ["option", "count"], [[option, total[option]] for option in sorted(total)])
    rolls, facts = [], []
    for name, counts in opened.items():
        dimension = election.dimension(name)
        complete = {category: _with_silent(counts[category], size) for category, size in dimension.sizes.items()}
        options = [*election.manifest.options, NO_ANSWER]
        rows = [[category, option, by[option]] for category, by in complete.items() for option in options]
        _write(folder / f"{name}.csv", [name, "option", "count"], rows)
        rolls.append(folder / f"roll {name}.csv")
        _write(rolls[-1], [name, "people"], [[category, size] for category, size in dimension.sizes.items()])
        if not dimension.self_reported:
            facts.append(folder / f"facts {name}.csv")
            _write(facts[-1], [name, "option", "count"], _silent_on_board(board, dimension))
    if election.manifest.joint is not None and len(opened) == len(election.dimensions) - 1:
        rolls = [folder / "roll.csv"]
        _write(rolls[0], [*(d for d in election.dimensions if d != TOTAL), "people"], election.manifest.joint)
    sections = election.release_sections
    known = "sizes" if len(rolls) > 1 or len(opened) == 1 else "joint"
    onlookers = sections.get("onlookers") or [{"name": "the public", "composition": known}]
    accepted = next(entry.body["accepted"] for entry in board.of("batch") if entry.body["dimension"] == TOTAL)
    content = {
        "title": election.manifest.title,
        "tallies": {
            "files": {name: str(folder / f"{name}.csv") for name in opened},
            "total": str(folder / "total.csv"),
            "tolerance": election.manifest.tolerance / 100,
        },
        "roll": {"files": [str(path) for path in rolls]},
        "axes": {name: {"categories": list(election.dimension(name).sizes)} for name in opened},
        # The board shows how many people of an attested category answered: every onlooker knows it.
        "onlookers": [{**each, "facts": [*each.get("facts", []), *map(str, facts)]} for each in onlookers],
        **{name: section for name, section in sections.items() if name not in ("target", "onlookers")},
        "target": {**sections.get("target", {}), "kappa": election.kappa(accepted)},
    }
    return Project.build(content)


def _with_silent(counts: Counter[str], size: int) -> Counter[str]:
    return counts + Counter({NO_ANSWER: size - counts.total()})


def _silent_on_board(board: Board, dimension: Dimension) -> list[list[object]]:
    """People of every attested category without a record, as anybody can count them."""
    format_ = RecordFormat(board.election, dimension, board.signers)
    items = read_items(board.folder / "records" / dimension.name, format_.size)
    seen = Counter(record.category for item in items if (record := format_.read(item)))
    assert NOTHING not in seen
    return [[category, NO_ANSWER, size - seen[place]] for place, (category, size) in enumerate(dimension.sizes.items())]


def _write(path: Path, columns: list[str], rows: list[list[Any]]) -> None:
    lines = [",".join(_quoted(value) for value in row) for row in [columns, *rows]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _quoted(value: object) -> str:
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\n') else text

"""A TopDown release from its TOML file to its folder, and the check that its tables follow from its public files."""

import hashlib
import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from safemargin.core import FloatArray, Guarantee, InputError, IntArray, OutputError, Progress, no_progress
from safemargin.guarantees.guarantee_file import GUARANTEE_FILE, guarantee_text, read_guarantee
from safemargin.topdown.accuracy import FLAT, UNBIASED, WHOLE, accuracy
from safemargin.topdown.design import Design
from safemargin.topdown.error_values import Accuracy, Expected
from safemargin.topdown.folder import Folder, read_numbers, write_text
from safemargin.topdown.guarantee import promised, summary, with_earlier
from safemargin.topdown.least_squares import expected_errors
from safemargin.topdown.measure import noise_variance
from safemargin.topdown.project import TopDownProject
from safemargin.topdown.steps import check, estimate, public_files, publish_measurements
from safemargin.topdown.tabulate import count_people, read_design

STATE, LOCK = "inside/state.json", "inside/.lock"
MANIFEST = "manifest.json"
SOURCES = ("design.json", "areas.parquet", "bounds", "exact", "noisy")
"""All that the second step reads, below the public folder."""


@dataclass(frozen=True)
class TopDownOutcome:
    """What a run leaves: the public folder, what it promises, and how far it is from the truth."""

    title: str
    published: Path
    design: Design
    promise: Mapping[str, object]
    accuracy: Accuracy


@dataclass(frozen=True)
class Planned:
    """What a release would promise, and how precise its estimates would be."""

    promise: Mapping[str, object]
    queries: tuple[Expected, ...]


@dataclass(frozen=True)
class Recomputed:
    """Counts that were computed again from public files, how many differ, and files whose hash is not as stated."""

    counts: int
    different: int
    changed_files: tuple[str, ...]


def run(
    config: Path, folder: Path, *, beside: Mapping[str, Path] | None = None, progress: Progress = no_progress
) -> TopDownOutcome:
    """Measure, estimate and settle; a run that was interrupted goes on where it stopped, with the noise it drew.

    `beside` names files of people that another method made, whose errors are told too.
    """
    project = TopDownProject.load(config)
    inputs = _inputs(config, project)
    _check_claim(folder, inputs)
    for name in beside or {}:
        if name in (UNBIASED, WHOLE, FLAT):
            raise InputError(f"beside: {name!r} is the name of what is shown anyway; choose another")
    progress("counting", 0, 1)
    with _naming(config):
        design = read_design(project)
        counts = design.spine.counts(count_people(project, design.spine))
        others = {
            name: design.spine.counts(count_people(project, design.spine, path))
            for name, path in (beside or {}).items()
        }
        public = Folder(folder / "published")
        from_data = project.spine.file is None
        whole = _with_earlier(project, design)
        check(public, design, counts)
    promise = summary(design, from_data, whole)
    for (name, before), (_, now) in zip(inputs, _inputs(config, project), strict=True):
        if now != before:  # what was counted would not be what the folder is said to hold
            raise InputError(f"{config}: {name} was changed while it was read; run again when nobody writes to it")
    with _alone(folder):
        _check_claim(folder, inputs)
        write_text(folder / STATE, json.dumps({"schema": 1, "inputs": inputs}, indent=1) + "\n")
        publish_measurements(public, design, counts, progress)
        estimate(public, progress)
        write_text(public.path / GUARANTEE_FILE, guarantee_text(whole or promised(design, from_data)))
        _write_manifest(public.path, project, promise)
    spine = design.spine
    methods: dict[str, list[IntArray | FloatArray]] = {
        UNBIASED: [_estimates(public, design, level) for level in range(len(spine.levels))],
        WHOLE: [public.read_table(design, level) for level in range(len(spine.levels))],
    }
    methods |= {name: list(tables) for name, tables in others.items()}
    found = accuracy(design, counts, methods)
    return TopDownOutcome(project.title or config.stem, public.path, design, promise, found)


def plan(config: Path) -> Planned:
    """What a release would promise and measure, and how precise its estimates would be. People are not counted."""
    project = TopDownProject.load(config)
    with _naming(config):
        design = read_design(project)
        expected = expected_errors(design)
        promise = summary(design, project.spine.file is None, _with_earlier(project, design))
    kinds = design.attributes
    found = []
    for level, (name, errors) in enumerate(zip(design.spine.levels, expected, strict=True)):
        measured = design.measured(level)
        for query, error in errors.items():
            share = design.shares[level] * design.queries[level].get(query, Fraction(0))
            noise = math.sqrt(noise_variance(measured[query])) if query in measured else None
            mean = math.sqrt(float((error**2).mean()))
            found.append(Expected(name, kinds.title(query), str(share), noise, mean))
    return Planned(promise, tuple(found))


@contextmanager
def _naming(config: Path) -> Iterator[None]:
    """Messages that name no file of the project name the TOML file."""
    try:
        yield
    except InputError as error:
        text = str(error)
        raise type(error)(text if text.startswith(str(config.parent)) else f"{config}: {text}") from None


def _with_earlier(project: TopDownProject, design: Design) -> Guarantee | None:
    """The promise of a release and of those before it whose promises the file names, if it names any."""
    stated = dict.fromkeys(each.promise for each in project.earlier if each.promise is not None)
    earlier = [read_guarantee(path) for path in stated]
    return with_earlier(design, project.spine.file is None, earlier) if earlier else None


def recompute(published: Path, progress: Progress = no_progress) -> Recomputed:
    """The second step once more, from copies of nothing but its public sources, held against what was published."""
    public = Folder(published)
    design = public.read_design()
    public.read_measured(design)
    with tempfile.TemporaryDirectory() as name:
        again = Folder(Path(name))
        for source in SOURCES:
            path = published / source
            if path.is_dir():
                shutil.copytree(path, again.path / source)
            elif path.exists():
                shutil.copy(path, again.path / source)
        estimate(again, progress)
        counts, different = 0, 0
        for level in range(len(design.spine.levels)):
            before, now = public.read_table(design, level), again.read_table(design, level)
            counts += before.size
            different += int((before != now).sum())
            estimates = _estimates(public, design, level), _estimates(again, design, level)
            different += int((np.abs(estimates[0] - estimates[1]) > 1e-6 * (1 + np.abs(estimates[0]))).sum())
    return Recomputed(counts, different, _changed(published))


def _estimates(public: Folder, design: Design, level: int) -> FloatArray:
    path = public.place("estimates", level, design.spine.levels[level])
    shape = (len(design.spine.names[level]), -1)
    return np.asarray(read_numbers(path, "estimate")["estimate"], dtype=np.float64).reshape(shape)


def _inputs(config: Path, project: TopDownProject) -> list[list[str]]:
    """Name and hash of every file that a run reads."""
    files = [config, project.data.file, *([project.spine.file] if project.spine.file else [])]
    files += [section.file for section in (*project.bounds, *project.earlier)]
    files += [section.promise for section in project.earlier if section.promise is not None]
    files += [section.file for section in project.groupings.values() if section.file is not None]
    return [[path.name, _hash(path)] for path in files]


def _check_claim(folder: Path, inputs: list[list[str]]) -> None:
    """Refuse a folder that holds a run on other files, or anything but a run."""
    path = folder / STATE
    try:
        if path.exists():
            before = json.loads(path.read_text(encoding="utf-8"))["inputs"]
            if before != inputs:
                changed = [name for name, mark in inputs if [name, mark] not in before]
                what = f"with another {changed[0]}" if changed else "with other files"
                raise OutputError(f"{folder}: holds a run {what}; name another folder")
        elif folder.exists() and (not folder.is_dir() or any(each != folder / "inside" for each in folder.iterdir())):
            raise OutputError(f"{folder}: is not empty and holds no run to go on with; name another folder")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OutputError(f"{folder}: cannot be read ({error})") from None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One run at a time: two would draw noise twice. The lock goes with the process, however it ends."""
    path = folder / LOCK
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from None
    with file:
        if os.name == "posix":
            import fcntl  # elsewhere there is none

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise OutputError(f"{folder}: another run is writing to it; wait, or name another folder") from None
        yield


def _write_manifest(published: Path, project: TopDownProject, promise: Mapping[str, object]) -> None:
    """Hashes of all files, and what each step read and wrote."""
    path = published / MANIFEST
    names = [str(file.relative_to(published)) for file in public_files(published) if file != path]
    sources = [name for name in names if name.split("/")[0] in SOURCES]
    made = [name for name in names if name not in sources and name != GUARANTEE_FILE]
    document = {
        "schema": 1,
        "title": project.title,
        "promise": promise,
        "steps": [
            {"step": "measure", "reads": ["people"], "writes": sources},
            {"step": "estimate", "reads": sources, "writes": made},
        ],
        "files": {name: _hash(published / name) for name in names},
    }
    write_text(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def _changed(published: Path) -> tuple[str, ...]:
    try:
        stated = json.loads((published / MANIFEST).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{published / MANIFEST}: is not the manifest of a TopDown release ({error})") from None
    return tuple(
        name for name, mark in stated.items() if not (published / name).is_file() or _hash(published / name) != mark
    )


def _hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None

"""A TopDown release from its TOML file to its folder, and the check that its tables follow from its public files."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from safemargin.core import FloatArray, Guarantee, InputError, IntArray, OutputError, Progress, no_progress
from safemargin.guarantees import GUARANTEE_FILE, guarantee_text, read_guarantee
from safemargin.io import MANIFEST, Manifest, explain, finish_draft, hash_file, move_draft, read_text
from safemargin.topdown.accuracy import FLAT, GAUSSIAN, INTEGER, UNBIASED, measure_accuracy, plan_errors
from safemargin.topdown.design import Design
from safemargin.topdown.folder import Folder, write_text
from safemargin.topdown.guarantee import compose_earlier, derive_guarantee, summarise
from safemargin.topdown.project import TopDownProject
from safemargin.topdown.report import Recomputation, TopDownPlan, TopDownRelease
from safemargin.topdown.risk import measure_risk
from safemargin.topdown.steps import check, estimate, publish_measurements
from safemargin.topdown.tabulate import count_people, read_design

PUBLISHED, UNFINISHED = "published", "unfinished"
STATE, LOCK, REPORT = "confidential/state.json", "confidential/.lock", "confidential/report.html"
# All that the estimation phase reads, below the public folder.
SOURCES = ("design.json", "areas.parquet", "bounds", "exact", "noisy")


class StateDocument(BaseModel):
    """`state.json`: name and hash of every file that the run in this folder reads."""

    version: Literal[1] = Field(default=1, alias="schema")
    inputs: list[tuple[str, str]]


class StepDocument(BaseModel):
    """What one phase reads and writes."""

    step: str
    reads: list[str]
    writes: list[str]


class ManifestDocument(Manifest):
    """`manifest.json` of a TopDown release."""

    version: Literal[1] = Field(default=1, alias="schema")
    title: str
    summary: dict[str, object]
    steps: list[StepDocument]


def run(
    config: Path,
    folder: Path,
    *,
    beside: Mapping[str, Path] | None = None,
    progress: Progress = no_progress,
    attack: tuple[Sequence[str], str] | None = None,
    adapt: Callable[[TopDownProject, Design], Design] = lambda project, design: design,
    microdata: bool = False,
) -> TopDownRelease:
    """Measure, estimate and solve; an interrupted run is resumed with the noise that it drew.

    Until its manifest is there, everything is in `unfinished`. `attack` names what an onlooker knows, and what they
    want to know. `adapt` adds constraints from other releases.
    """
    project = TopDownProject.load(config)
    inputs = _inputs(config, project)
    _check_claim(folder, inputs)
    for name in beside or {}:
        if name in (UNBIASED, INTEGER, FLAT, GAUSSIAN):
            raise InputError(f"beside: {name!r} is the name of a method that is always shown; choose another")
    progress("counting", 0, 1)
    with _naming(config):
        design = adapt(project, read_design(project))
        counts = design.spine.counts(count_people(project, design.spine))
        others = {
            name: design.spine.counts(count_people(project, design.spine, path))
            for name, path in (beside or {}).items()
        }
        public = _working(folder)
        from_data = project.spine.file is None
        composed = _with_earlier(project, design)
        check(public, design, counts)  # everything that can be refused is refused before noise is drawn
    summary = summarise(design, from_data, composed)
    for (name, before), (_, now) in zip(inputs, _inputs(config, project), strict=True):
        if now != before:  # otherwise the folder would not hold what state.json says
            raise InputError(f"{config}: {name} was changed while it was read; run again when nobody writes to it")
    with _locked(folder):
        _check_claim(folder, inputs)  # again: another run may have claimed it before the lock
        public = _working(folder)
        _write_model(folder / STATE, StateDocument(inputs=inputs))
        for draft in public.path.rglob(".*.draft"):  # of a run that was killed
            draft.unlink()
        publish_measurements(public, design, counts, progress)
        estimate(public, progress)
        if microdata or project.tables.microdata:
            public.write_microdata(design)
        write_text(public.path / GUARANTEE_FILE, guarantee_text(composed or derive_guarantee(design, from_data)))
        _write_manifest(public.path, project, summary)
        public = _finished(folder, public)
    methods = _methods(public, design) | {name: list(tables) for name, tables in others.items()}
    accuracy = measure_accuracy(design, counts, methods)
    tables = {"exact tables": counts[-1], **{name: given[-1] for name, given in methods.items()}}
    risk = None if attack is None else measure_risk(design.attributes, counts[-1], tables, *attack)
    title = project.title or config.stem
    return TopDownRelease(title, public.path, folder / REPORT, design, summary, accuracy, risk)


def _methods(public: Folder, design: Design) -> dict[str, list[IntArray | FloatArray]]:
    """The tables of every level that a release holds, by the method that made them."""
    levels = range(len(design.spine.levels))
    return {
        UNBIASED: [public.read_estimates(design, level) for level in levels],
        INTEGER: [public.read_table(design, level) for level in levels],
    }


def plan_release(config: Path) -> TopDownPlan:
    """The guarantee and the precision that a release would have. People are not counted."""
    project = TopDownProject.load(config)
    with _naming(config):
        design = read_design(project)
        summary = summarise(design, project.spine.file is None, _with_earlier(project, design))
        return TopDownPlan(summary, plan_errors(design))


def recompute(published: Path, progress: Progress = no_progress) -> Recomputation:
    """The estimation phase again, from copies of its public sources alone, compared with what was published."""
    public = Folder(published)
    design = public.read_design()
    public.read_measurements(design)
    with tempfile.TemporaryDirectory() as name:
        again = Folder(Path(name))  # holds nothing but public sources, so nothing else can be read
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
            # Estimates are floating point: another BLAS may differ in the last digits.
            old, new = public.read_estimates(design, level), again.read_estimates(design, level)
            different += int((np.abs(old - new) > 1e-6 * (1 + np.abs(old))).sum())
    return Recomputation(counts, different, _changed_files(published))


def _working(folder: Path) -> Folder:
    """The public files: where they are published, or where a run works on them."""
    published = folder / PUBLISHED
    return Folder(published if (published / MANIFEST).exists() else folder / UNFINISHED)


def _finished(folder: Path, public: Folder) -> Folder:
    """Give the public files their name, once all of them are on the disk."""
    if public.path.name == UNFINISHED:
        try:
            finish_draft(public.path)
            move_draft(public.path, folder / PUBLISHED)
        except OSError as error:
            raise OutputError(f"{folder}: cannot be written ({error.strerror})") from None
    return Folder(folder / PUBLISHED)


@contextmanager
def _naming(config: Path) -> Iterator[None]:
    """Messages that name no file of the project name the TOML file."""
    try:
        yield
    except InputError as error:
        text = str(error)
        raise type(error)(text if text.startswith(str(config.parent)) else f"{config}: {text}") from None


def _with_earlier(project: TopDownProject, design: Design) -> Guarantee | None:
    """The guarantee of a release and of the earlier ones whose guarantees the file names, if it names any."""
    paths = dict.fromkeys(section.guarantee for section in project.earlier if section.guarantee is not None)
    earlier = [read_guarantee(path) for path in paths]
    return compose_earlier(design, project.spine.file is None, earlier) if earlier else None


def _inputs(config: Path, project: TopDownProject) -> list[tuple[str, str]]:
    """Name and hash of every file that a run reads."""
    optional = [project.spine.file, *(section.guarantee for section in project.earlier)]
    optional += [section.file for section in project.groupings.values()]
    files = [config, project.data.file, *(section.file for section in (*project.bounds, *project.earlier))]
    return [(path.name, hash_file(path)) for path in (*files, *(path for path in optional if path is not None))]


def _check_claim(folder: Path, inputs: list[tuple[str, str]]) -> None:
    """Refuse a folder that holds a run on other files, or anything but a run."""
    path = folder / STATE
    try:
        if path.exists():
            before = StateDocument.model_validate_json(read_text(path)).inputs
            if before != inputs:
                changed = [name for name, mark in inputs if (name, mark) not in before]
                what = f"with another {changed[0]}" if changed else "with other files"
                raise OutputError(f"{folder}: holds a run {what}; name another folder")
        elif folder.exists() and (
            not folder.is_dir() or any(file != folder / "confidential" for file in folder.iterdir())
        ):
            raise OutputError(f"{folder}: is not empty and holds no run to resume; name another folder")
    except (OSError, ValueError) as error:
        raise OutputError(f"{folder}: cannot be read ({error})") from None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One run at a time: two would draw noise twice. The lock is released with the process, however it ends."""
    path = folder / LOCK
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.parent.chmod(0o700)  # confidential, whatever the umask
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


def _write_manifest(published: Path, project: TopDownProject, summary: dict[str, object]) -> None:
    """Hashes of all files, and what each phase read and wrote. Drafts of an interrupted run are not listed."""
    files = sorted(path for path in published.rglob("*") if path.is_file() and not path.name.startswith("."))
    names = [str(path.relative_to(published)) for path in files if path != published / MANIFEST]
    sources = [name for name in names if name.split("/")[0] in SOURCES]
    made = [name for name in names if name not in sources and name != GUARANTEE_FILE]
    document = ManifestDocument(
        title=project.title,
        summary=summary,
        steps=[
            StepDocument(step="measure", reads=["people"], writes=sources),
            StepDocument(step="estimate", reads=sources, writes=made),
        ],
        files={name: hash_file(published / name) for name in names},
    )
    _write_model(published / MANIFEST, document)


def _write_model(path: Path, document: BaseModel) -> None:
    values = document.model_dump(mode="json", by_alias=True)
    write_text(path, json.dumps(values, indent=1, ensure_ascii=False) + "\n")


def _changed_files(published: Path) -> tuple[str, ...]:
    path = published / MANIFEST
    try:
        stated = ManifestDocument.model_validate_json(read_text(path))
    except ValidationError as error:
        raise InputError(f"{path}: is not the manifest of a TopDown release ({explain(error)})") from None
    return stated.changed(published)

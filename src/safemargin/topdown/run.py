"""A TopDown release from its TOML file to its folder, and the check that its tables follow from its public files.

Two phases, on files
    measure     reads people; writes design, exact and noisy counts
    estimate    reads these public files; writes unbiased estimates, then integer tables, level by level

States of a folder
    unfinished  holds everything until the manifest is there. A run that was interrupted goes on from the margins that
                it finds: noise is never drawn twice.
    published   holds the whole release, with a manifest that has the hash of every file.
    `confidential/state.json` has the hashes of all inputs. A run with other inputs is refused in the same folder, since
    the margins that are there would be about other people.

What callers may rely on
    * Nothing is published that does not satisfy every constraint, checked by integer addition.
    * `recompute` runs the second phase on a published folder, and compares every table: the same public files give the
      same tables. It proves that tables are post-processing, which the guarantee needs.
    * One process at a time: a lock in `confidential/`, which ends with the process.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from safemargin.core import FloatArray, Guarantee, InputError, IntArray, OutputError, Progress, no_progress
from safemargin.guarantees import GUARANTEE_FILE, guarantee_text, read_guarantee
from safemargin.io import (
    MANIFEST,
    finish_draft,
    hash_file,
    json_bytes,
    manifest_bytes,
    move_draft,
    read_manifest,
    read_text,
    scratch_folder,
)
from safemargin.topdown.accuracy import FLAT, GAUSSIAN, INTEGER, UNBIASED, measure_accuracy, plan_errors
from safemargin.topdown.design import Design, Measurements, check_truth, combine_limits
from safemargin.topdown.folder import RESIDENTS, Folder, write_cells, write_file
from safemargin.topdown.groups_of_areas import with_groups_of_areas
from safemargin.topdown.guarantee import compose_earlier, derive_guarantee, summarise
from safemargin.topdown.household_limits import Residents
from safemargin.topdown.least_squares import check_size, expected_errors, fit
from safemargin.topdown.measure import exact_counts, missing_margins, publish_measurements
from safemargin.topdown.measure_spark import Margin, measure_in_spark
from safemargin.topdown.project import TopDownProject
from safemargin.topdown.report import Recomputation, TopDownPlan, TopDownRelease
from safemargin.topdown.residents import fit_into, solve_with_residents
from safemargin.topdown.risk import measure_risk
from safemargin.topdown.tables import solve_tables
from safemargin.topdown.tabulate import count_people, read_design

PUBLISHED, UNFINISHED = "published", "unfinished"
STATE, LOCK, REPORT = "confidential/state.json", "confidential/.lock", "confidential/report.html"
# All that the estimation phase reads, below the public folder.
SOURCES = ("design.json", "areas.parquet", "bounds", "exact", "noisy", RESIDENTS)


@dataclass(frozen=True)
class CountedProject:
    """A TopDown file with its design and the exact counts of every level, which are confidential."""

    config: Path
    project: TopDownProject
    inputs: list[tuple[str, str]]
    design: Design
    counts: tuple[IntArray, ...]
    residents: Residents | None = None  # persons that tables of households must leave room for


def count_project(config: Path, folder: Path, progress: Progress = no_progress) -> CountedProject:
    """Read everything that a release in `folder` needs, and refuse what cannot be carried out."""
    project = TopDownProject.load(config)
    inputs = _inputs(config, project)
    _check_claim(folder, inputs)
    progress("counting", 0, 1)
    with named_by(config):
        design = read_design(project)
        counts = design.spine.counts(count_people(project, design.spine))
        check(design, counts)
        _with_earlier(project, design)  # what cannot be read is refused here, before households draw noise
    return CountedProject(config, project, inputs, design, counts)


def run(
    config: Path,
    folder: Path,
    *,
    beside: Mapping[str, Path] | None = None,
    progress: Progress = no_progress,
    attack: tuple[Sequence[str], str] | None = None,
) -> TopDownRelease:
    """Measure, estimate and solve; an interrupted run is resumed with the noise that it drew."""
    for name in beside or {}:
        if name in (UNBIASED, INTEGER, FLAT, GAUSSIAN):
            raise InputError(f"beside: {name!r} is the name of a method that is always shown; choose another")
    return release(count_project(config, folder, progress), folder, beside or {}, progress, attack)


def release(
    counted: CountedProject,
    folder: Path,
    beside: Mapping[str, Path],
    progress: Progress,
    attack: tuple[Sequence[str], str] | None = None,
    microdata: bool = False,
) -> TopDownRelease:
    """The release of a project that was counted and checked.

    Until its manifest is there, everything is in `unfinished`. `attack` names what an onlooker knows, and what they
    want to know. In this order: claim the folder, measure what is missing, estimate, write the guarantee and the
    manifest, give the folder its name. Each step finds what an interrupted run left, and draws no noise twice.
    """
    config, project, inputs = counted.config, counted.project, counted.inputs
    design, counts = counted.design, counted.counts
    with named_by(config):
        others = {name: design.spine.counts(count_people(project, design.spine, path)) for name, path in beside.items()}
        from_data = project.spine.file is None
        composed = _with_earlier(project, design)
    summary = summarise(design, from_data, composed)
    for (name, before), (_, now) in zip(inputs, _inputs(config, project), strict=True):
        if now != before:  # otherwise the folder would not hold what state.json says
            raise InputError(f"{config}: {name} was changed while it was read; run again when nobody writes to it")
    with _locked(folder):
        _check_claim(folder, inputs)  # again: another run may have claimed it before the lock
        public = _working(folder)
        drawn = _drawn_in_spark(counted, public, progress)  # nothing is written before
        write_file(folder / STATE, json_bytes({"schema": 1, "inputs": inputs}))  # first: it makes a folder a run
        _make_private(public)
        for draft in public.path.rglob(".*"):  # of a run that was killed
            draft.unlink()
        if counted.residents is not None:
            public.write_residents(design, counted.residents)
        publish_measurements(public, design, counts, progress, drawn)
        estimate(public, progress)
        if microdata or project.tables.microdata:
            public.write_microdata(design)
        derived = composed or derive_guarantee(design, from_data)
        write_file(public.path / GUARANTEE_FILE, guarantee_text(derived).encode())
        _write_manifest(public.path, project, summary)
        public = _finished(folder, public)
    methods = _methods(public, design) | {name: list(tables) for name, tables in others.items()}
    accuracy = measure_accuracy(design, counts, methods, expected_errors(design))
    tables = {"exact tables": counts[-1], **{name: given[-1] for name, given in methods.items()}}
    risk = None if attack is None else measure_risk(design.attributes, counts[-1], tables, *attack)
    title = project.title or config.stem
    return TopDownRelease(title, public.path, folder / REPORT, design, summary, accuracy, risk)


def _drawn_in_spark(counted: CountedProject, public: Folder, progress: Progress) -> dict[Margin, IntArray] | None:
    """The noisy counts that are missing, if Spark is to draw them."""
    design, data = counted.design, counted.project.data
    if data.engine != "spark":
        return None
    progress("measuring in Spark", 0, 1)
    with named_by(counted.config):
        return measure_in_spark(
            data.file, data.master, design.attributes, counted.counts, missing_margins(public, design)
        )


def check(design: Design, counts: Sequence[IntArray]) -> None:
    """Refuse what cannot be carried out, before anything is written: sizes, contradicting limits, data beyond their
    bounds,
    names that would share a file, and earlier tables that no tables agree with.
    """
    check_size(design)
    exact = exact_counts(design, counts)
    combine_limits(design, exact)
    check_truth(design, tuple(counts))
    _check_names(design)
    if design.earlier:  # the data need not agree with earlier tables: see whether any tables do, without noise
        wide, measured = without_noise(design, counts)
        solve_tables(wide, combine_limits(wide, measured.exact), fit(wide, measured))


def without_noise(design: Design, counts: Sequence[IntArray]) -> tuple[Design, Measurements]:
    """The design with groups of areas, and its margins as if there were no noise, to see whether any tables exist."""
    margin = design.attributes.margin
    plain = [{query: margin(counts[level], query) for query in design.measured(level)} for level in range(len(counts))]
    wide, places = with_groups_of_areas(design)
    return wide, Measurements(tuple(plain), exact_counts(design, counts)).placed(places)


def _check_names(design: Design) -> None:
    """Names may contain characters that file names cannot; then two names may become one."""
    seen: set[Path] = set()
    margins = [("noisy", level, query) for level in range(len(design.spine.levels)) for query in design.measured(level)]
    for kind, level, query in (*margins, *(("exact", level, query) for level, query in design.exact)):
        path = Folder(Path()).file(kind, design, level, query)
        if path in seen:
            name = design.spine.levels[level]
            raise InputError(f"attributes: two queries of {name} would be written to {path.name}; rename one")
        seen.add(path)


def estimate(folder: Folder, progress: Progress = no_progress) -> None:
    """Unbiased estimates and integer tables of every level from the public files; levels that exist are kept."""
    design = folder.read_design()
    measured, residents = folder.read_measurements(design), folder.read_residents(design)
    spine, detailed = design.spine, design.attributes.detailed
    wide, places = with_groups_of_areas(design)
    measured = measured.placed(places)
    best = fit(wide, measured)
    for level in range(len(spine.levels)):
        path = folder.file("estimates", design, level)
        if not path.exists():
            error = best.standard_error(places[level], detailed)
            columns = {"estimate": best.estimate(places[level]), "standard_error": error}
            write_cells(path, design, level, detailed, columns, "unbiased estimate")
    parents = [1, *(len(names) for names in wide.spine.names[:-1])]
    kept: list[IntArray] = []  # up to the first level that is solved in groups, which are not written
    while residents is None and len(kept) <= spine.last and places[len(kept)] == len(kept):
        if not folder.file("tables", design, len(kept)).exists():
            break
        kept.append(folder.read_table(design, len(kept)))
    done = sum(parents[: len(kept)])

    def advance(level: int, more: int) -> None:
        nonlocal done
        done = min(done + more, sum(parents))  # levels may be solved again
        progress(f"solving {wide.spine.levels[level]}", done, sum(parents))

    def keep(index: int, table: IntArray) -> None:
        if index not in places:
            return
        level = places.index(index)
        write_cells(folder.file("tables", design, level), design, level, detailed, {"count": table}, "integer table")

    def drop() -> None:
        for level in range(len(spine.levels)):
            folder.file("tables", design, level).unlink(missing_ok=True)

    tables = solve_tables(wide, combine_limits(wide, measured.exact), best, kept, advance, keep, drop)
    if residents is not None and not fit_into(residents, design.attributes.margin(tables[-1], residents.size)):
        drop()
        for index, table in enumerate(solve_with_residents(wide, measured.exact, best, residents, advance)):
            keep(index, table)


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
    with named_by(config):
        design = read_design(project)
        summary = summarise(design, project.spine.file is None, _with_earlier(project, design))
        return TopDownPlan(summary, plan_errors(design, expected_errors(design)))


def recompute(published: Path, progress: Progress = no_progress) -> Recomputation:
    """The estimation phase again, from copies of its public sources alone, compared with what was published.

    Integer tables must be equal; estimates may differ in the last digits, as another BLAS adds in another order.
    """
    public = Folder(published)
    design = public.read_design()
    public.read_measurements(design)
    with scratch_folder() as place:
        again = Folder(place)  # holds nothing but public sources, so nothing else can be read
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
    return Recomputation(counts, different, read_manifest(published / MANIFEST).changed(published))


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
    try:
        (folder / PUBLISHED).chmod(0o755)  # here, so that a run that was killed before is completed
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror})") from None
    return Folder(folder / PUBLISHED)


def _make_private(public: Folder) -> None:
    """Until all of a release is there, nobody else can look at any of it."""
    if public.path.name == UNFINISHED:
        try:
            public.path.mkdir(0o700, parents=True, exist_ok=True)
            public.path.chmod(0o700)
        except OSError as error:
            raise OutputError(f"{public.path}: cannot be written ({error.strerror})") from None


@contextmanager
def named_by(config: Path) -> Iterator[None]:
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
            before = json.loads(read_text(path))["inputs"]
            if before != list(map(list, inputs)):
                changed = [name for name, mark in inputs if [name, mark] not in before]
                what = f"with another {changed[0]}" if changed else "with other files"
                raise OutputError(f"{folder}: holds a run {what}; name another folder")
        elif folder.exists() and (
            not folder.is_dir() or any(file != folder / "confidential" for file in folder.iterdir())
        ):
            raise OutputError(f"{folder}: is not empty and holds no run to resume; name another folder")
    except (OSError, ValueError, LookupError, TypeError) as error:
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
    steps = [
        {"step": "measure", "reads": ["people"], "writes": sources},
        {"step": "estimate", "reads": sources, "writes": made},
    ]
    stated = {"title": project.title, "summary": summary, "steps": steps}
    write_file(published / MANIFEST, manifest_bytes(stated, {name: hash_file(published / name) for name in names}))

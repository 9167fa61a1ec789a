"""What is open: the project in a folder, its data, and the runs that belong to it."""

import os
import shlex
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from safemargin.core import InputError, SafemarginError, Target, write_whole
from safemargin.history.folders import PUBLISHED
from safemargin.io import CONFIDENTIAL, hash_bytes, read_bytes, read_json
from safemargin.release.inputs import Inputs, read_inputs
from safemargin.release.project import Project
from safemargin.release.question_inputs import read_questions
from safemargin.web.edit import set_axis, set_keys, without

PROJECT = "project.toml"
PLAN = f"{CONFIDENTIAL}/plan.json"
MOST_RUNS = 50


@dataclass(frozen=True)
class PastRun:
    """A folder that `release` wrote: published, a draft, or refused."""

    folder: Path
    moment: float
    document: dict[str, Any]

    @property
    def name(self) -> str:
        """The folder, as seen from that of the project."""
        return self.folder.name

    @property
    def kind(self) -> str:
        """`published`, `draft` or `refused`."""
        if (self.folder / PUBLISHED).is_dir():
            return "published"
        return "draft" if self.document.get("certified") else "refused"

    @property
    def when(self) -> str:
        """The time of the run."""
        return datetime.fromtimestamp(self.moment).strftime("%Y-%m-%d %H:%M")

    @property
    def exact(self) -> set[str]:
        """Groups that are published exactly, by name."""
        return {_label(cell) for cell in self.document["cells"] if cell["action"] == "exact" and cell["cell"]}

    def is_of(self, project: Path) -> bool:
        """Whether it was made from this project as it is."""
        return self._typed == ["safemargin", "release", project.name]

    def belongs_to(self, project: Path) -> bool:
        """Whether it was made from this project, with whatever options, or from a copy of it that was tried."""
        if self._typed[:3] == ["safemargin", "release", project.name]:
            return True
        try:
            copy = read_bytes(self.folder.with_suffix(".toml"))
        except SafemarginError:
            return False
        return copy.startswith(copy_of(project.name).encode())

    @property
    def _typed(self) -> list[str]:
        try:
            return shlex.split(str(self.document.get("command", "")))
        except ValueError:  # of a folder that somebody sent
            return []


def copy_of(name: str) -> str:
    """The first line of a copy of a project."""
    return f"# A copy of {name}, to try something\n"


def _label(decided: dict[str, Any]) -> str:
    group = ", ".join(f"{axis} {name}" for axis, name in decided["cell"].items())
    return f"{decided['question']}: {group}" if "question" in decided else group


class Place:
    """The folder at work. Windows share it: what one saves, the others see."""

    def __init__(self, path: Path | None = None) -> None:
        self._lock = threading.RLock()
        self._runs: dict[Path, PastRun] = {}
        self._inputs: tuple[object, Mapping[str, Inputs]] | None = None
        self.folder, self.project, self.data = Path.cwd(), None, None  # type: tuple[Path, Path | None, Path | None]
        self.open(path or Path())

    def open(self, path: Path) -> None:
        """Open a project, a folder, or a data file that has no project yet."""
        path = Path(os.path.abspath(path.expanduser()))
        if not path.exists():
            raise InputError(f"{path}: there is no such file")
        with self._lock:
            self._runs, self._inputs, self.data = {}, None, None
            if path.is_dir():
                self.folder, self.project = path, path / PROJECT if (path / PROJECT).is_file() else None
            elif path.suffix == ".toml":
                self.folder, self.project = path.parent, path
            else:
                self.folder, self.project, self.data = path.parent, None, path

    @property
    def name(self) -> str:
        """The project file as commands in its folder call it."""
        return "" if self.project is None else self.project.name

    @property
    def text(self) -> str:
        """The project file as it is on the disk."""
        return "" if self.project is None else read_bytes(self.project).decode("utf-8", "replace")

    @property
    def digest(self) -> str:
        """The hash of the project file, by which a page notices that another window changed it."""
        return hash_bytes(self.text.encode())

    def load(self) -> Project:
        """The project."""
        if self.project is None:
            raise InputError("there is no project yet: open one, or make one from a data file")
        return Project.load(self.project)

    def save(self, text: str, digest: str) -> None:
        """Write the project file; refused if it is wrong, or was changed since the page was shown."""
        with self._lock:
            if self.project is None:
                raise InputError("there is no project yet: open one, or make one from a data file")
            if digest != self.digest:
                raise InputError(f"{self.project.name} was changed meanwhile, in another window or program: look again")
            text = "\n".join(text.splitlines()) + "\n"
            Project.parse(text, folder=self.project.parent, name=self.project.name)
            write_whole(self.project, text.encode())

    def check(self, text: str) -> None:
        """Refuse a project file with which the data cannot be read."""
        if self.project is None:
            raise InputError("there is no project yet: open one, or make one from a data file")
        _read(Project.parse(text, folder=self.project.parent, name=self.project.name))

    def with_limits(self, target: Target, protect: str) -> str:
        """The project file with other limits; everything else in it stays as it is."""
        before = self.load()
        values = {"beta": target.beta, "kappa": target.kappa, "tau": target.tau, "protect": protect}
        text = set_keys(self.text, "target", values)
        after = Project.parse(text, folder=self.folder, name=PROJECT)
        expected = before.model_copy(update={"aims": before.aims.model_copy(update=values)})
        if replace(after.target, guard=None) != replace(expected.target, guard=None) or after.protect != protect:
            raise InputError("the limits cannot be changed here: edit [target] in the project file")
        return text

    def with_axis(self, axis: str, values: Mapping[str, object]) -> str:
        """The project file with other keys of one axis, if that is a project."""
        if axis not in self.load().axes:
            raise InputError(f"axis: there is no axis {axis[:60]!r}")
        text = set_axis(self.text, axis, values)
        Project.parse(text, folder=self.folder, name=PROJECT)
        return text

    def key(self) -> tuple[object, ...]:
        """What changes when the project or a file that it reads does."""
        return (self.text, *map(stamp, _files(self.load())))

    def inputs(self, question: str = "") -> Inputs:
        """The data of the project, tabulated, of one question or the first; read again only where a file changed."""
        each = self.each_question()
        return each.get(question) or next(iter(each.values()))

    def each_question(self) -> Mapping[str, Inputs]:
        """The data of every question; of the only one under an empty name."""
        with self._lock:
            project, key = self.load(), self.key()
            if self._inputs is None or self._inputs[0] != key:
                self._inputs = key, _read(project)
            return self._inputs[1]

    def is_newer(self, run: PastRun) -> bool:
        """Whether a run was made after the last change of the project and its data."""
        return self.is_since(run.moment)

    def is_since(self, moment: float) -> bool:
        """Whether neither the project nor its data changed since."""
        if self.project is None:
            return False
        files = [self.project, *_files(self.load(), ledger=False)]
        return all(moment >= file.stat().st_mtime for file in files if file.exists())

    def runs(self) -> list[PastRun]:
        """The folders that `release` wrote here, the newest first."""
        past = []
        try:
            plans = [(path.stat().st_mtime, path) for path in self.folder.glob(f"*/{PLAN}")]
        except OSError:
            return []
        for moment, path in sorted(plans, reverse=True)[:MOST_RUNS]:
            known = self._runs.get(path)
            if known is None or known.moment != moment:
                try:
                    document = read_json(path)  # of a folder that somebody may have sent
                except InputError:
                    continue
                if not isinstance(document, dict) or not {"cells", "verdict", "answers"} <= set(document):
                    continue  # of another program, or of a version without these
                known = self._runs[path] = PastRun(path.parent.parent, moment, document)
            past.append(known)
        return past

    def project_runs(self) -> list[PastRun]:
        """Those of the project that is open, and of copies of it; the newest first."""
        return [run for run in self.runs() if self.project is not None and run.belongs_to(self.project)]

    def copied(self, text: str) -> str:
        """A project as a copy of ours to try something with: without the ledger, so that nothing is recorded."""
        return copy_of(self.name) + without(text, "ledger")

    def own_runs(self) -> list[PastRun]:
        """Those of the project that is open, as it says and not with other limits; the newest first."""
        return [run for run in self.runs() if self.project is not None and run.is_of(self.project)]

    def run(self, name: str) -> PastRun:
        """A run by the name of its folder."""
        found = next((run for run in self.runs() if run.name == name), None)
        if found is None:
            raise InputError(f"{name[:60]}: there is no such run in {self.folder}")
        return found

    def unused(self, name: str) -> str:
        """The name, or the first one with a number that no folder here has."""
        numbers = [name, *(f"{name}-{number}" for number in range(2, 1000))]
        return next(each for each in numbers if not (self.folder / each).exists())


def _read(project: Project) -> Mapping[str, Inputs]:
    if project.data is None or not project.data.has_questions:
        return {"": read_inputs(project)}
    found = read_questions(project)
    asked = zip(found.battery.questions, found.each, strict=True)
    return {question.name: replace(each, notes=found.battery.notes) for question, each in asked}


def _files(project: Project, ledger: bool = True) -> list[Path]:
    """Every file that a project reads."""
    files = [*project.roll_files]
    if project.data is not None and project.data.file is not None:  # data at an address have no time of change
        files.append(project.data.file)
    if project.tallies is not None:
        files += [*project.tallies.files.values(), *filter(None, [project.tallies.total])]
    files += [file for onlooker in project.declared for file in (*onlooker.facts, onlooker.correlations) if file]
    if ledger and project.ledger is not None:
        files.append(project.ledger.file)
    return files


def stamp(path: Path) -> tuple[str, int, int]:
    """What changes when a file does."""
    try:
        found = path.stat()
    except OSError:
        return str(path), 0, 0
    return str(path), found.st_mtime_ns, found.st_size

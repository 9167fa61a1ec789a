"""What every screen works with: what is open, the jobs, and files that were dropped."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safemargin.core import InputError, write_whole
from safemargin.io import file_name
from safemargin.web.jobs import Job, Jobs
from safemargin.web.place import Place

HIDDEN = ".safemargin-"
"""How the private folder of a project begins, which holds what ran in it."""
MOST_LOOKS = 40
Given = Mapping[str, str]
"""The fields of a form, or of the address of a page."""
LARGEST = 256 << 20
"""Bytes of a file that is dropped; larger ones are read where they are."""


class WrongFields(InputError):
    """Everything that is wrong in a form, by field."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__("; ".join(fields.values()))
        self.fields = dict(fields)


@dataclass
class Bench:
    """A workbench at work."""

    place: Place
    uploads: Path
    """A private folder that is removed at the end."""
    jobs: Jobs = field(default_factory=Jobs)
    looks: dict[object, Any] = field(default_factory=dict)
    """What was worked out about files that have not changed since."""

    def __post_init__(self) -> None:
        self.base = self.place.folder
        self.jobs.read(self.store)

    @property
    def store(self) -> Path | None:
        """The private folder of the project that is open; each project file has its own."""
        project = self.place.project
        return None if project is None else project.parent / f"{HIDDEN}{file_name(project.stem)}"

    def open(self, path: Path) -> None:
        """Open a project, a folder or a data file, and remember what ran there before."""
        self.place.open(path)
        self.jobs.read(self.store)

    def remember(self, key: object, work: Callable[[], Any]) -> Any:
        """What `work` gives, once for each key; the latest few are kept."""
        if key not in self.looks:
            found = work()
            while len(self.looks) >= MOST_LOOKS:
                self.looks.pop(next(iter(self.looks)), None)
            self.looks[key] = found
        return self.looks[key]

    def run(self, arguments: list[str], title: str, link: str, **more: Any) -> str:
        """Start a command in the folder of the project, and name the page that follows it."""
        job = self.jobs.start(arguments, self.place.folder, title, link, store=self.store, **more)
        return f"job?id={job.number}"

    def new_page(self) -> Path:
        """Where a command may write a page for this workbench alone."""
        folder = self.uploads.parent / "pages"
        folder.mkdir(0o700, exist_ok=True)
        return folder / f"{len(list(folder.iterdir())) + 1}-{len(self.jobs.jobs) + 1}.html"

    def shown(self, path: Path | str) -> str:
        """A path as commands in the folder of the project name it."""
        path = Path(path)
        if not path.is_relative_to(self.place.folder):
            return str(path)
        name = str(path.relative_to(self.place.folder))
        return f"./{name}" if name.startswith("-") else name  # a file whose name looks like an option

    def existing(self, text: str, what: str, name: str = "path") -> str:
        """A file that a person named in the field `name`, as commands name it."""
        if not text.strip():
            raise WrongFields({name: f"{what}: name a file, or drop one"})
        path = self.place.folder / Path(text.strip()).expanduser()
        try:
            if not path.is_file():
                raise WrongFields({name: f"{path}: there is no such file"})
        except (OSError, ValueError):
            raise InputError(f"{text[:60]!r}: is no name that a file can have") from None
        return self.shown(path)

    def keep(self, name: str, content: bytes) -> Path:
        """Keep a file that was dropped until the workbench ends."""
        folder = self.uploads / str(len(list(self.uploads.iterdir())) + 1)
        folder.mkdir(mode=0o700)
        path = folder / file_name(Path(name).name[-100:] or "table.csv")
        write_whole(path, content, 0o600)
        return path

    def job(self, given: Given, *latest: str) -> Job | None:
        """The finished job that a page is about.

        If it names none: the last one whose page begins with `latest`, unless project or data changed since.
        """
        if given.get("job"):
            job = self.jobs.find(given["job"])
            return job if job is not None and job.state == "done" else None
        found = next((each for each in self.jobs.of(self.store) if each.link.startswith(latest) and latest), None)
        if found is None or found.state != "done" or (self.store is not None and not self.place.is_since(found.moment)):
            return None
        return found


@dataclass(frozen=True)
class Screen:
    """One screen: its name in the address, its title, what it shows, and what its forms do."""

    name: str
    title: str
    show: Callable[[Bench, Given], dict[str, Any]]
    actions: Mapping[str, Callable[[Bench, Given], str]] = field(default_factory=dict)
    """Each does what a form asks for, and names the page to show next."""
    is_there: Callable[[Bench], bool] = lambda bench: True
    """Whether the screen has something to show; else nothing links to it."""


def command(*arguments: str) -> str:
    """A command as a person types it."""
    return shlex.join(["safemargin", *arguments])


def has_project(bench: Bench) -> bool:
    """Whether a project is open."""
    return bench.place.project is not None

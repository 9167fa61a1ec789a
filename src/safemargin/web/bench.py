"""What every screen works with: the place, the jobs, and the folder for files that were dropped."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safemargin.core import InputError
from safemargin.io import file_name, write_whole
from safemargin.web.jobs import Job, Jobs
from safemargin.web.place import Place

Given = Mapping[str, str]
"""The fields of a form, or of the address of a page."""
LARGEST = 256 << 20
"""Bytes of a file that is dropped; larger ones are read where they are."""


@dataclass
class Bench:
    """A workbench at work."""

    place: Place
    uploads: Path
    """A private folder that is removed at the end."""
    jobs: Jobs = field(default_factory=Jobs)

    def run(self, arguments: list[str], title: str, link: str, **more: Any) -> str:
        """Start a command in the folder of the project, and name the page that follows it."""
        job = self.jobs.start(arguments, self.place.folder, title, link, **more)
        return f"job?id={job.number}"

    def shown(self, path: Path | str) -> str:
        """A path as commands in the folder of the project name it."""
        path = Path(path)
        if not path.is_relative_to(self.place.folder):
            return str(path)
        name = str(path.relative_to(self.place.folder))
        return f"./{name}" if name.startswith("-") else name  # a file whose name looks like an option

    def existing(self, text: str, what: str) -> str:
        """A file that a person named, as commands name it."""
        if not text.strip():
            raise InputError(f"{what}: name a file, or drop one")
        path = self.place.folder / Path(text.strip()).expanduser()
        try:
            if not path.is_file():
                raise InputError(f"{path}: there is no such file")
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

    def job(self, given: Given) -> Job | None:
        """The finished job that a page is about."""
        job = self.jobs.find(given.get("job", ""))
        return job if job is not None and job.state == "done" else None


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

"""Programs that are started by us: what lies in the current folder, or is found by a relative path, is never run.

`python -c` and `python -m` look for modules in the current folder first. That folder holds data that somebody sent: a
file `numpy.py` beside a survey would run with the rights of the person who opens the survey.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SAFE, FOUND = "PYTHONSAFEPATH", "PYTHONPATH"


def python_command(*arguments: str) -> list[str]:
    """This Python with some arguments, as a command that takes no module from the folder it runs in."""
    return [sys.executable, "-P", *arguments]


class ProcessFamily:
    """Processes that end when this one ends, however it ends: those started with `process_group=family.group`.

    A first process of the group only waits for our end, and then kills the group. Where the system has no groups of
    processes (Windows), `group` is None, and a killed process leaves those that it started.
    """

    def __init__(self) -> None:
        self.group: int | None = None
        if os.name != "posix":
            return
        reading, self._writing = os.pipe()  # one end is open as long as this process lives; children inherit neither
        null = subprocess.DEVNULL
        command = ["/bin/sh", "-c", "read -r _; kill -9 0"]
        self._waiting = subprocess.Popen(
            command, stdin=reading, stdout=null, stderr=null, process_group=0, env=safe_environment()
        )
        os.close(reading)
        self.group = self._waiting.pid

    def end(self) -> None:
        """Kill those that still run."""
        if self.group is not None:
            os.close(self._writing)
            self._waiting.wait()
            self.group = None


def safe_environment() -> dict[str, str]:
    """Our environment without folders for modules that depend on where we are, and with the same rule for children."""
    folders = [place for place in os.environ.get(FOUND, "").split(os.pathsep) if os.path.isabs(place)]
    rest = {name: value for name, value in os.environ.items() if name != FOUND}
    return {**rest, SAFE: "1", **({FOUND: os.pathsep.join(folders)} if folders else {})}


@contextmanager
def safe_children() -> Iterator[None]:
    """Meanwhile, processes that libraries start take no module from the current folder either."""
    before = {name: os.environ.get(name) for name in (SAFE, FOUND)}
    safe = safe_environment()
    for name in before:
        _set(name, safe.get(name))
    try:
        yield
    finally:
        for name, value in before.items():
            _set(name, value)


def _set(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value

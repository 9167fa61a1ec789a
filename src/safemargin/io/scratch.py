"""Private folders for what a run keeps on disk meanwhile: nobody else can read them, and they go however it ends."""

import atexit
import os
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: what a killed run left stays until the folder of temporary files is emptied
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"
"""The file that says that a folder is in use."""
SPILLED = "safemargin-spilled-"


@dataclass(frozen=True)
class Scratch:
    """A folder that is removed with this value, or when the process ends."""

    folder: Path
    lock: int
    """Descriptor of the file that says that the folder is in use."""
    _end: Callable[[], object] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_end", weakref.finalize(self, _leave, self.folder, self.lock))

    def remove(self) -> None:
        """Remove the folder now."""
        self._end()


def new_scratch(prefix: str) -> Scratch:
    """A new folder whose name starts with `prefix`; those that killed runs left are removed."""
    # A killed run cannot remove its own folder, which may hold a whole file of records.
    _remove_abandoned(prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix))  # only its owner may read it
    lock = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR)
    if fcntl is not None:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released with the process, however it ends
    return Scratch(folder, lock)


@cache
def spill_folder() -> str:
    """Where the engine puts rows that do not fit in memory, inside a private folder; empty if there is none."""
    try:
        scratch = new_scratch(SPILLED)
    except OSError:  # no folder for temporary files: nothing spills, and what does not fit is refused
        return ""
    _kept.append(scratch)
    if os.name == "posix":
        # This process may be killed: another one, which only waits for its end, removes the rows then.
        command = ["/bin/sh", "-c", 'read -r _; rm -rf -- "$0"', str(scratch.folder)]
        end, _ = os.pipe()  # the other end is open as long as this process lives
        null = subprocess.DEVNULL
        waiting = subprocess.Popen(command, stdin=end, stdout=null, stderr=null, start_new_session=True)
        os.close(end)
        atexit.register(_dismiss, waiting)
    return str(scratch.folder / "rows")


_kept: list[Scratch] = []
"""What must live as long as this process."""


def _dismiss(waiting: "subprocess.Popen[bytes]") -> None:
    """End the process that waits for our end: we remove the rows ourselves."""
    waiting.kill()
    waiting.wait()


def _leave(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def _remove_abandoned(prefix: str) -> None:
    """Remove what killed runs left. A folder in use is locked by its process."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*") if fcntl is not None else ():
        try:
            if folder.lstat().st_uid != os.getuid():  # whatever somebody else put there is not ours to open
                continue
            with (folder / LOCK).open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # in use, of somebody else, or gone meanwhile
            continue

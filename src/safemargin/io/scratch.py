"""Private folders for what a run keeps on disk meanwhile: nobody else can read them, and they go however it ends."""

import atexit
import os
import shutil
import stat
import subprocess
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from safemargin.core import claimed, hold_signals, is_abandoned, new_private_folder, new_secret

LOCK = ".lock"
"""The file that says that a folder is in use."""
OURS = "safemargin-"
"""How the names of all of them begin, so that each command removes what killed runs of any command left."""
SPILLED = "safemargin-spilled-"


@dataclass(frozen=True)
class Scratch:
    """A folder that is removed with this value, or when the process ends."""

    folder: Path
    held: ExitStack
    """What says that the folder is in use."""
    _end: Callable[[], object] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_end", weakref.finalize(self, _leave, self.folder, self.held))

    def remove(self) -> None:
        """Remove the folder now."""
        with hold_signals():
            self._end()


def new_scratch(prefix: str) -> Scratch:
    """A new folder whose name starts with `prefix`; those that killed runs left are removed."""
    # A killed run cannot remove its own folder, which may hold a whole file of records.
    place = Path(tempfile.gettempdir())
    remove_abandoned()
    # Everybody may write to the folder of temporary files: nobody can take a name that nobody can guess.
    folder = new_private_folder(place, f"{prefix}{new_secret()[:8]}-")
    held = ExitStack()
    try:
        held.enter_context(claimed(folder, folder / LOCK))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Scratch(folder, held)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A private folder for what has to be a file for a moment."""
    scratch = new_scratch(f"{OURS}files-")
    try:
        yield scratch.folder
    finally:
        scratch.remove()


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


def _leave(folder: Path, held: ExitStack) -> None:
    # Nobody gets an error of what is removed with its value: an interruption then would be a report of a failure. Where
    # `remove` asked for it, the interruption comes afterwards.
    with suppress(KeyboardInterrupt), hold_signals():
        for _ in range(2):  # what failed once may not fail again
            shutil.rmtree(folder, ignore_errors=True)
        held.close()


def remove_abandoned() -> None:
    """Remove what killed runs left. A folder in use belongs to a process that runs, and is locked by it."""
    for folder in Path(tempfile.gettempdir()).glob(f"{OURS}*") if os.name == "posix" else ():
        try:
            status = folder.lstat()
            # Whatever somebody else put there is not ours to open.
            is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
            if is_ours and is_abandoned(folder, folder / LOCK):
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # gone meanwhile
            continue

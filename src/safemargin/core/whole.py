"""One file, written whole or not at all; and what a killed process left behind, which its name and a lock identify.

A name that ends in `-MACHINE-PROCESS` belongs to a process. It is abandoned if that process is gone. Numbers of
processes are given again, in a container often at once: where the process runs, a lock decides, which the system
releases with the process that held it.
"""

import errno
import hashlib
import os
import platform
import re
import signal
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from safemargin.core.errors import cannot_write

try:
    import fcntl
except ImportError:  # Windows: the number of the process decides alone
    fcntl = None  # type: ignore[assignment]

OWNER = re.compile(r"-([0-9a-f]{8})-([0-9]+)(?:-[^-/]*)?$")
YOUNG = 10.0
"""Seconds in which a process that has just made a file is sure to have locked it."""
_own: set[str] = set()
"""What this process works on."""
_numbers = count()
"""Threads of one process do not share names."""


def owner() -> str:
    """What ends the name of a file or folder that this process works on."""
    # Numbers of processes mean nothing on another machine that shares the disk.
    return f"{hashlib.sha256(platform.node().encode()).hexdigest()[:8]}-{os.getpid()}"


def new_private_folder(place: Path, prefix: str) -> Path:
    """A new folder in `place` that only its owner can enter; `claimed` takes its name over, one of this process."""
    while True:
        folder = place / f"{prefix}{owner()}-{next(_numbers)}"
        _own.add(str(folder))
        try:
            folder.mkdir(0o700)
        except BaseException as error:
            _own.discard(str(folder))
            if not isinstance(error, FileExistsError):
                raise
        else:
            return folder


def is_abandoned(path: Path, lock: Path) -> bool:
    """Whether the process of this machine that made `path`, and locks `lock` while it works, is gone."""
    match = OWNER.search(path.name)
    if match is None or match[1] != owner().partition("-")[0]:
        return False
    process = int(match[2])
    if process == os.getpid():
        return str(path) not in _own
    return not _is_running(process) or (_age(path) > YOUNG and _is_unlocked(lock))


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _is_unlocked(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (OSError, AttributeError):  # held, gone, not ours to look at, or a system without locks
        return False
    return True


@contextmanager
def claimed(path: Path, lock: Path, mode: int = 0o600) -> Iterator[int]:
    """A new file `lock` that says, while it is open, that this process works on `path`."""
    _own.add(str(path))  # before it is there: another thread takes what is ours and not at work for abandoned
    try:
        handle = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    except BaseException:
        _own.discard(str(path))
        raise
    try:
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks: the number of the process decides
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield handle
    finally:
        _own.discard(str(path))
        os.close(handle)


def write_whole(path: Path, content: bytes, mode: int = 0o644, *, new: bool = False) -> None:
    """Write a file so that a power failure leaves the old one or the new one, never half of one.

    If `new` is true, a file that is there is never replaced: `FileExistsError`. A pipe, or a device such as
    `/dev/stdout`, is written to as it is.
    """
    try:
        if not new and path.exists() and not stat.S_ISREG(path.stat().st_mode):
            path.write_bytes(content)
            return
        place = path.resolve() if path.is_symlink() and not new else path
        if place.exists():
            mode &= place.stat().st_mode  # who made it private wants it so
        place.parent.mkdir(parents=True, exist_ok=True)
        _write(place, content, mode, new)
        sync(place.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise cannot_write(path, error) from None


def remove_parts(path: Path) -> None:
    """Remove what killed processes left of a file that they were writing."""
    for left in path.parent.glob(f".{_escaped(path.name)}.part-*"):
        if is_abandoned(left, left):
            left.unlink(missing_ok=True)


def remove_all_parts(folder: Path) -> None:
    """Remove what killed processes left of files anywhere in a folder."""
    for left in folder.rglob(".*.part-*"):
        if is_abandoned(left, left):
            left.unlink(missing_ok=True)


def _write(path: Path, content: bytes, mode: int, new: bool) -> None:
    remove_parts(path)
    part = path.with_name(f".{path.name}.part-{owner()}-{next(_numbers)}")
    try:
        with claimed(part, part, mode) as handle:
            with os.fdopen(os.dup(handle), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            with hold_signals():
                _link(part, path) if new else os.replace(part, path)
    finally:
        with hold_signals():
            for _ in range(2):  # what failed once may not fail again; the file itself has its name, or is not there
                with suppress(OSError):
                    part.unlink(missing_ok=True)


def _escaped(name: str) -> str:
    return re.sub(r"([\[\]*?])", r"[\1]", name)


def _link(part: Path, path: Path) -> None:
    """Give a file its name unless the name is taken."""
    try:
        os.link(part, path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK):
            raise
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.replace(part, path)  # a file system without hard links


@contextmanager
def hold_signals() -> Iterator[None]:
    """Deliver Ctrl-C and SIGTERM afterwards: what is done inside is neither torn apart nor undone half-way."""
    held: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield  # Python runs handlers in the main thread only
        return
    before = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        if callable(signal.getsignal(number)) or signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, lambda number, _: held.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for received in dict.fromkeys(held):
            signal.raise_signal(received)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows opens no folders, and writes their names itself
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""What one run may use, and what it has finished: known to every reader and writer of files."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from safemargin.core.errors import InputError

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
LEAST_SPACE = 2 * 2**30
"""Address space in which every library can be loaded; DuckDB and linear algebra reserve 1 to 1.5 GiB of it."""
LEAST_MEMORY = 512 * 2**20
"""Python, its libraries and the engine that reads tables take about 300 MiB before the first row."""

written: list[Path] = []
"""Folders that this process has finished: a command that fails later still says that they are there."""
_limit: list[int] = []


def memory_limit() -> int | None:
    """How many bytes may be used, if that is limited."""
    return _limit[0] if _limit else None


def limit_memory(text: str) -> None:
    """Use at most so much memory: rows that need more spill to disk, and arrays that do end with a MemoryError."""
    match = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,3})?) ?([KMGT]?)(?:i?B)?", text.strip(), re.ASCII)
    size = int(float(match[1]) * UNITS[match[2]]) if match else 0
    if size < LEAST_MEMORY:
        raise InputError(f"--memory {text!r}: give a size of at least {LEAST_MEMORY // 2**20}MiB, e.g. 2GiB")
    _limit[:] = [size]
    if sys.platform == "linux":
        import resource

        # Data, not address space: threads and mapped libraries reserve much more than they use.
        most = resource.getrlimit(resource.RLIMIT_DATA)[1]
        if most == resource.RLIM_INFINITY or size <= most:
            resource.setrlimit(resource.RLIMIT_DATA, (size, most))


def check_address_space() -> None:
    """Refuse a limit of the address space (`ulimit -v`) in which libraries crash instead of reporting it.

    Threads and mapped libraries reserve much more than they use, so `--memory` limits something else. One thread of
    linear algebra is enough where the space is limited: each reserves some 40 MiB.
    """
    if sys.platform == "win32":
        return
    import resource

    space = resource.getrlimit(resource.RLIMIT_AS)[0]
    if space == resource.RLIM_INFINITY:
        return
    if space < LEAST_SPACE:
        raise InputError(
            f"ulimit -v: the address space is limited to {space // 2**20} MiB, and libraries need "
            f"{LEAST_SPACE // 2**20} MiB; remove that limit, and limit the memory with --memory instead"
        )
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@contextmanager
def without_memory_limit() -> Iterator[None]:
    """For programs that are started meanwhile: they have a limit of their own, and must not inherit this one."""
    if not _limit or sys.platform != "linux":
        yield
        return
    import resource

    soft, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, most))


def one_thread() -> AbstractContextManager[object]:
    """Linear algebra on one thread: on vectors of thousands of counts, several only wait for each other."""
    limited: AbstractContextManager[object] = _libraries(len(sys.modules)).limit(limits=1, user_api="blas")
    return limited


@lru_cache(maxsize=1)  # asking the system for the libraries takes milliseconds; they are others after an import only
def _libraries(modules: int) -> Any:
    from threadpoolctl import ThreadpoolController  # takes long to import

    return ThreadpoolController()

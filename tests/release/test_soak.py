"""Many releases in one process, and many cycles in one ledger: memory and descriptors do not grow with their number."""

import gc
import os
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evidence import EVERYTHING, seeds
from recorded import fast_folder, make
from safemargin import release
from safemargin.history.file import read_ledger

__all__ = ["fast_folder"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("no_pictures"),
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def resident() -> float:
    """MiB of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def soak(count: int, step: Callable[[int], None]) -> None:
    """Descriptors and memory after a quarter of the steps are those at the end, but for what an allocator keeps."""
    warm, start, times = max(count // 4, 2), (0, 0.0), []
    for number in range(count):
        before = time.process_time()
        step(number)
        times.append(time.process_time() - before)
        if number + 1 == warm:
            gc.collect()
            start = descriptors(), resident()
    gc.collect()
    first, last = (sum(some) / warm for some in (times[:warm], times[-warm:]))
    print(
        f"{count} steps: descriptors {start[0]} to {descriptors()}, memory {start[1]:.0f} to {resident():.0f} MiB, "
        f"CPU s per step {first:.2f} in the first quarter, {last:.2f} in the last"
    )
    assert descriptors() <= start[0]
    # A leak of the smallest release, some 100 kB with its page, would be 22 MiB after the rest of 300.
    assert resident() <= start[1] + (15 if EVERYTHING else 8)


def test_many_releases_in_one_process(fast_folder: Path) -> None:
    def step(number: int) -> None:
        generator = random.Random(number)
        rows = [
            {
                "site": generator.choice("NSW"),
                "grade": generator.choice("js"),
                "answer": generator.choice(["yes", "no"]),
            }
            for _ in range(300 + number % 7)
        ]
        release(rows, answer="answer", by=["site", "grade"], outputs={"formats": ["csv"]}).write(fast_folder / "out")
        shutil.rmtree(fast_folder / "out")

    soak(len(seeds(0, 8, 300)), step)


def test_many_cycles_in_one_ledger(fast_folder: Path) -> None:
    cycles = len(seeds(0, 8, 100))

    def step(number: int) -> None:
        make(fast_folder, f"{number:03d}").write(fast_folder / "releases" / f"{number:03d}")

    soak(cycles, step)
    assert len(read_ledger(fast_folder / "ledger.sqlite")) == cycles

"""Seconds to write the synthetic city."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from safemargin.release.demo import write_city

with TemporaryDirectory() as folder:
    for people in (50_000, 500_000):
        start = time.perf_counter()
        write_city(Path(folder), people)
        print(f"write_city {people:>9,} people: {time.perf_counter() - start:.2f} s")

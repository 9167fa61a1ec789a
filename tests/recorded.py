"""Releases with noise that are recorded in a ledger."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest

from safemargin import Release, release

ROWS = [
    {"site": site, "grade": grade, "answer": "yes" if site == "West" or n % 20 < 9 else "no"}
    for site, grade in product(("North", "South", "West"), ("junior", "senior"))
    for n in range(20)
]


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """In memory where there is such a folder: SQLite syncs for every one of some hundred releases."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


@pytest.fixture
def fast_folder() -> Iterator[Path]:
    with folder_in_memory() as folder:
        yield folder


def make(folder: Path, cycle: str) -> Release:
    """A release with noise, so that it costs an epsilon of 1."""
    return release(
        ROWS,
        answer="answer",
        by=["site", "grade"],
        protect="noise",
        target={"kappa": 5, "tau": 0},  # type: ignore[arg-type]
        ledger={
            "file": str(folder / "ledger.sqlite"),
            "population": "staff",
            "cycle": cycle,
            "turnover": "net",
            "answers": "kept",
        },
        outputs={"formats": ["csv"]},
    )

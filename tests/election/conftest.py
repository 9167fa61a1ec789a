"""Elections in one process write thousands of small files: no test here is about waiting for the disk."""

import os
from collections.abc import Iterator

import pytest

from safemargin.parties import files


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Nothing but the wait is skipped; whole elections with kills run in processes of their own, with it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        patch.setattr(files, "SETTINGS", ("journal_mode = TRUNCATE", "synchronous = OFF", "secure_delete = ON"))
        yield

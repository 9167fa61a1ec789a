"""How many random cases the slow tests run: a sample by default, all of them with `EVIDENCE=all`."""

import os

EVERYTHING = os.environ.get("EVIDENCE") == "all"


def seeds(first: int, sample: int, everything: int) -> range:
    """Seeds from `first` on: `sample` of them, so that the suite ends in minutes, or `everything` on request."""
    return range(first, first + (everything if EVERYTHING else sample))

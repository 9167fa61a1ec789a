"""How long work reports what it is doing."""

from collections.abc import Sequence
from typing import Protocol


class Progress(Protocol):
    """Called as work goes on: the step in words and, where it is known, how much of it is done."""

    def __call__(self, step: str, done: int = 0, total: int | None = None, /) -> None:
        """Report one step, or one part of it."""


def no_progress(step: str, done: int = 0, total: int | None = None, /) -> None:
    """A callback that does nothing."""


def numbered(progress: Progress, steps: Sequence[str]) -> Progress:
    """The same progress with the number of the step, which the parts of a step have too.

    >>> report = numbered(lambda step, done=0, total=None: print(step), ["reading", "writing"])
    >>> report("reading"), report("counting"), report("writing")
    step 1 of 2: reading
    step 1 of 2: counting
    step 2 of 2: writing
    (None, None, None)
    """
    at = 1

    def report(step: str, done: int = 0, total: int | None = None, /) -> None:
        nonlocal at
        at = max(at, steps.index(step) + 1) if step in steps else at
        progress(f"step {at} of {len(steps)}: {step}", done, total)

    return report

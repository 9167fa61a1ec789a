"""How long work reports what it is doing."""

from typing import Protocol


class Progress(Protocol):
    """Called as work goes on: the step in words and, where it is known, how much of it is done."""

    def __call__(self, step: str, done: int = 0, total: int | None = None, /) -> None:
        """Report one step, or one part of it."""


def no_progress(step: str, done: int = 0, total: int | None = None, /) -> None:
    """A callback that does nothing."""

"""What a protection promises, as a value that reports can print and software can check."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Guarantee:
    """A promise about one protected set of counts.

    `epsilon` bounds the loss of anyone whose answer is exchanged with another's in the same set, while everything in
    `invariants` stays as published. `None` means that the protection is not differential privacy. `count` is the
    epsilon of the noise on each count. `choice` is that of drawing which groups are noised; without it the choice
    follows from the answers.
    """

    mechanism: str
    statement: str
    epsilon: float | None = None
    invariants: tuple[str, ...] = ()
    count: float | None = None
    choice: float | None = None

"""What a protection promises, as a value that reports can print and software can check."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Guarantee:
    """A promise about one protected set of counts.

    `epsilon` bounds the loss of anyone whose answer is exchanged with another's in the same set, while everything in
    `invariants` stays as published. `None` means that the protection is not differential privacy. `delta` is the
    probability of results that the bound does not cover; `rho` states the promise as zero-concentrated privacy. `count`
    is the epsilon of the noise on each count. `choice` is that of drawing which groups are noised; without it, who is
    noised follows from the answers.
    """

    mechanism: str
    statement: str
    epsilon: float | None = None
    invariants: tuple[str, ...] = ()
    delta: float = 0.0
    rho: float | None = None
    count: float | None = None
    choice: float | None = None

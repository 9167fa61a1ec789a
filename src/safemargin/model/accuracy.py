"""How far published counts of areas are from the truth. It looks at people, so it stays inside."""

from dataclasses import dataclass

PEOPLE, CELLS = "people of an area", "detailed counts"


@dataclass(frozen=True)
class LevelError:
    """Root mean square error of one method on the areas of a level; `kind` says of which counts."""

    method: str
    level: str
    areas: int
    kind: str
    error: float


@dataclass(frozen=True)
class SizeError:
    """Root mean square error of the number of people of areas with `least` to `most` people, on all levels."""

    method: str
    least: int
    most: int
    areas: int
    error: float


@dataclass(frozen=True)
class Expected:
    """Of a query on a level: the share of the budget and the noise it gets, and the standard error of its estimate.

    `noise` is a standard deviation, none where nothing is measured; `error` is the root of the mean over the areas.
    """

    level: str
    query: str
    share: str
    noise: float | None
    error: float


@dataclass(frozen=True)
class Accuracy:
    """Errors by level and by size of area."""

    levels: tuple[LevelError, ...]
    sizes: tuple[SizeError, ...]

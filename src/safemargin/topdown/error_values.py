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
class QueryError:
    """Of a query on a level: the standard error of its estimate as told, and errors as they are.

    All are roots of means of squares. `covered` is the share of counts that lie within 1.96 standard errors of their
    estimate; none where everything is exact.
    """

    level: str
    query: str
    told: float
    estimate: float
    whole: float
    covered: float | None


@dataclass(frozen=True)
class Accuracy:
    """Errors by level, by size of area, and by query."""

    levels: tuple[LevelError, ...]
    sizes: tuple[SizeError, ...]
    queries: tuple[QueryError, ...] = ()

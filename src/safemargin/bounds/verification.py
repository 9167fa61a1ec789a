"""What checking a certificate found."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from safemargin.bounds.certificate import KIND, SCHEMA, SUPPRESSION


@dataclass(frozen=True)
class Verification:
    """What was checked. An end is `proved` if nothing lies beyond it and a table attains it, `outer` if only the first
    is shown, `search` if the certificate leaves a gap that only its author's search has closed.
    """

    kind: str
    files: int
    cells: int = 0
    proved: int = 0
    outer: int = 0
    search: int = 0
    unlimited: int = 0
    tables: int = 0
    slack: int = 0
    failures: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every claim that can be checked is true."""
        return not self.failures

    def document(self) -> dict[str, object]:
        """For `--json`."""
        return {"schema": SCHEMA, "holds": self.holds, **asdict(self)}

    def lines(self) -> Iterator[str]:
        """For a terminal."""
        if self.failures:
            more = f" ({len(self.failures) - 1:,} more claims fail)" if len(self.failures) > 1 else ""
            yield f"The certificate does not hold: {self.failures[0]}{more}"
            return
        yield f"{_many(self.files, 'file')}: every hash matches."
        if self.kind == KIND:
            yield f"{_many(self.cells, 'interval')}, {_many(self.tables, 'table')} of whole people, all checked:"
            yield f"  {_many(self.proved, 'end')} proved: nothing lies beyond, and a table attains it."
            if self.outer:
                yield f"  {_many(self.outer, 'end')} proved as limits; whether they can be attained is not shown."
            if self.search:
                yield f"  {_many(self.search, 'end')} not proved by the certificate: a search closed the last gap."
            if self.unlimited:
                yield f"  {_many(self.unlimited, 'end')} that no file limits."
        elif self.kind == SUPPRESSION:
            tables = _many(self.tables, "integer table")
            yield f"{_many(self.cells, 'suppressed count')}, {tables}, all checked:"
            yield f"  {_many(self.proved, 'count')} with values far enough apart in tables that print the same."
        if self.slack:
            yield f"Every count may be off by {self.slack:,}, since the files disagree on totals."
        yield from (f"Not checked: {words}" for words in self.unchecked)


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"

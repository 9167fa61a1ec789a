"""What was found when a certificate was checked; nothing here needs more than the standard library.

An outcome is one of three. `holds`: everything stated was checked and is true. `fails`: a claim is wrong, and the first
such claim is named. `not checked`: nothing fails, but something stated could not be verified with what was given. Only
the first is an all-clear; callers compare `outcome`, never the absence of failures.

>>> Verification("bounds", 1, search=1).outcome
'not checked'
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from safemargin.checker import FAILS, HOLDS, NOT_CHECKED

SCHEMA = 1
KIND = "bounds"
SUPPRESSION = "safemargin-pattern"
"""The kind of a certificate about suppressed cells."""


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
    reruns: int = 0
    """Witness tables of a release on which its rule was run."""
    failures: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    is_proved: bool = True
    """Whether all that is stated was checked; if not, and nothing fails, the outcome is `not checked`."""

    @property
    def outcome(self) -> str:
        """`holds`, `fails` or `not checked`."""
        return FAILS if self.failures else HOLDS if self.is_proved and not self.search else NOT_CHECKED

    @property
    def holds(self) -> bool:
        """Whether everything that is stated was checked, and is true."""
        return self.outcome == HOLDS

    def document(self) -> dict[str, object]:
        """For `--json`."""
        return {"schema": SCHEMA, "outcome": self.outcome, "holds": self.holds, **asdict(self)}

    def lines(self) -> Iterator[str]:
        """For a terminal: the first failure alone, or what was checked line by line, and last what was not.

        >>> list(Verification("bounds", 2, cells=1, proved=2, tables=1).lines())[1]
        '1 interval, 1 integer table, all checked:'
        """
        if self.failures:
            more = f" ({len(self.failures) - 1:,} more claims fail)" if len(self.failures) > 1 else ""
            yield f"The certificate fails: {self.failures[0]}{more}"
            return
        if self.outcome == NOT_CHECKED:
            yield "Not checked: nothing fails, but what was given does not show all that is stated."
        yield f"{_many(self.files, 'file')}: every hash matches."
        if self.kind == KIND:
            yield f"{_many(self.cells, 'interval')}, {_many(self.tables, 'integer table')}, all checked:"
            yield f"  {_many(self.proved, 'end')} proved: nothing lies beyond, and a table attains it."
            if self.outer:
                yield f"  {_many(self.outer, 'end')} proved as limits; whether they can be attained is not shown."
            if self.search:
                yield f"  {_many(self.search, 'end')} not proved by the certificate: a search closed the last gap."
            if self.unlimited:
                yield f"  {_many(self.unlimited, 'end')} that no file limits."
        elif self.kind == SUPPRESSION and self.tables:
            tables = _many(self.tables, "integer table")
            yield f"{_many(self.cells, 'suppressed count')}, {tables}, all checked:"
            yield f"  {_many(self.proved, 'count')} with values far enough apart in tables that print the same."
        elif self.kind != SUPPRESSION and self.tables:
            yield f"{_many(self.tables, 'witness table')}: each agrees with the roll and with every published count."
            groups = _many(self.cells, "count")
            yield f"{groups} checked: the tables show each within the limits, or it was known before."
            if self.reruns:
                yield "The rule, run on each of them, publishes the same."
        if self.slack:
            yield f"Every count may be off by {self.slack:,}, since the files disagree on totals."
        yield from (f"Note: {warning}" for warning in self.warnings)
        yield from (f"Not checked: {note}" for note in self.unchecked)


def _many(count: int, noun: str) -> str:
    """A number with its noun: `1 file`, `1,200 files`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"

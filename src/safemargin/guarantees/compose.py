"""One guarantee in words, read from a file or composed from several."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from safemargin.core import Guarantee
from safemargin.guarantees.guarantee_file import document
from safemargin.guarantees.implication import reasons_empty
from safemargin.guarantees.report import Source, as_guarantee, derivation, derivation_details
from safemargin.guarantees.rules import change_unit, to_zcdp
from safemargin.guarantees.rules import compose as compose_parts
from safemargin.ui import SCHEMA, Document, Result, header, joined, points, render_page, say, section


@dataclass(frozen=True)
class Statement(Result):
    """One guarantee in words, with the tree of rules it rests on; `depth` cuts the tree."""

    guarantee: Guarantee
    depth: int | None = None

    def to_json(self) -> Document:
        return {"schema": SCHEMA, **document(self.guarantee)}

    @property
    def _lines(self) -> list[str]:
        guarantee = self.guarantee
        invariants = "; ".join(map(str, guarantee.invariants)) or "nothing"
        return [
            *([guarantee.statement] if guarantee.statement else []),
            f"Unchanged: {invariants}.",
            *([f"Depends on: {guarantee.varies}."] if guarantee.varies else []),
            *guarantee.remarks,
            *reasons_empty(guarantee),
        ]

    @property
    def _title(self) -> str:
        per = "" if self.guarantee.budget is None else f" per {self.guarantee.change}"
        return f"{self.guarantee.mechanism}: {self.guarantee.amount}{per}"

    def show(self, console: Console) -> None:
        for line in (self._title, *self._lines, "Why:", *derivation(self.guarantee, self.depth)):
            say(console, line)

    def to_html(self) -> str:
        body = section("What is guaranteed", points(self._lines)), section("Why", derivation_details(self.guarantee))
        return render_page(self._title, header(self._title), joined(body))


def show(source: Source, *, depth: int | None = None) -> Statement:
    """One guarantee in words, with what it rests on; `source` is a file or a guarantee."""
    return Statement(as_guarantee(source), depth)


def compose(sources: Sequence[Source], *, unit: str | None = None, zcdp: bool = False) -> Statement:
    """The guarantee of publishing several things about the same records.

    With `zcdp`, pure guarantees are first made zero-concentrated ones; with `unit`, all are first made guarantees to
    this unit, by what their populations declare.
    """
    parts = [as_guarantee(source) for source in sources]
    names = [
        part.mechanism if isinstance(source, Guarantee) else Path(source).stem
        for source, part in zip(sources, parts, strict=True)
    ]
    if zcdp:
        parts = [to_zcdp(part) for part in parts]
    if unit is not None:
        parts = [change_unit(part, unit) for part in parts]
    return Statement(compose_parts(parts, " and ".join(names)))

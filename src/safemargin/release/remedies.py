"""What would protect one cell, and what that costs: a merge with a partner, or an axis that is not published."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from safemargin.bounds import OPTION, bound_cell
from safemargin.core import (
    VERDICTS,
    Axis,
    Group,
    Onlooker,
    PublishedTable,
    Table,
    Target,
    exact_margins,
    label,
    onlooker_with_roll,
    protected_margin,
)
from safemargin.ui import Document, Grid, Part, Section, Tag, count_range, kind_words, plural

PARTNERS = 2
"""Partners that are tried per axis, the closest first: each takes a search of its own."""


@dataclass(frozen=True)
class Remedy:
    """One change to one axis: what could be inferred after it, and who loses a count of their own."""

    axis: str
    merged: str
    """The group that is published instead; empty where the axis is omitted."""
    categories: int
    people: int
    option: str = field(compare=False)
    """The option that was asked about; if only another one is disclosed after the change, that one."""
    lower: int = field(compare=False)
    upper: int = field(compare=False)
    verdict: str = field(compare=False)
    proved: bool = field(default=True, compare=False)
    """Whether the interval is known to be sharp; else the verdict is an estimate."""

    @property
    def words(self) -> str:
        """What is done."""
        return f"merge {self.axis} {self.merged}" if self.merged else f"omit {self.axis}"

    def to_json(self) -> Document:
        """As a part of the document of `bound --cell`."""
        price = {"categories": self.categories, "people": self.people}
        found = {"lower": self.lower, "upper": self.upper, "verdict": self.verdict, "proved": self.proved}
        return {"axis": self.axis, "merged": self.merged or None, "price": price, "option": self.option, **found}


def remedies(
    table: Table, onlooker: Onlooker | None, cell: Mapping[str, str], option: str, target: Target
) -> tuple[Remedy, ...]:
    """Changes to the axes of a cell, the cheapest first, and what each leaves of its interval.

    Each is looked at alone, with all other axes published exactly; only a plan decides about all cells together.
    """
    margins, onlooker = exact_margins(table), onlooker or onlooker_with_roll(table, "joint")
    slack = table.inconsistency.slack(int(table.totals.sum()))
    changes = []
    for axis in [table.schema.axis(name) for name in cell if name != OPTION]:
        sizes = _sizes(table, axis)
        for group in [*_merges(axis, sizes, cell[axis.name]), frozenset(axis.categories)]:
            public = [margin for margin in margins if margin.axes != (axis.name,)]
            omits = len(group) == len(axis.categories)
            public += [] if omits else [_merged(table, axis, group)]
            asked = {**cell, OPTION: option} if option else dict(cell)
            exposure, extreme = bound_cell(public, onlooker, asked, target, slack=slack, attain=False)
            verdicts = [str(VERDICTS[code]) for code in exposure.verdicts(target)[0].tolist()]
            column = exposure.options.index(extreme.option) if exposure.options else 0
            # A cell is protected only if every option is.
            if "disclosed" in verdicts and verdicts[column] != "disclosed":
                column = verdicts.index("disclosed")
            lower, upper = int(exposure.lower[0, column]), int(exposure.upper[0, column])
            proved = bool(exposure.integer[0, column])
            people, shown = sum(sizes[name] for name in group), "" if omits else label(group, axis.categories)
            of = exposure.options[column] if exposure.options else ""
            changes.append(Remedy(axis.name, shown, len(group), people, of, lower, upper, verdicts[column], proved))
    return tuple(sorted(changes, key=lambda remedy: (remedy.verdict == "disclosed", remedy.people, remedy.words)))


def _sizes(table: Table, axis: Axis) -> dict[str, int]:
    roll = table.people((axis.name,))
    counts = zip(roll.codes[:, 0].tolist(), roll.counts[:, 0].tolist(), strict=True)
    return dict.fromkeys(axis.categories, 0) | {axis.categories[code]: people for code, people in counts}


def _merges(axis: Axis, sizes: Mapping[str, int], category: str) -> Iterator[Group]:
    """Groups of two with the category: neighbours in the order, in the same area, or the smallest."""
    place = axis.index[category]
    others = [name for name in axis.categories if name != category and sizes[name]]
    if axis.ordered:
        others = [name for name in others if abs(axis.index[name] - place) == 1]
    elif areas := axis.ancestors(category):
        near = [name for name in others if axis.ancestors(name)[:1] == areas[:1]]
        others = near or others
    allowed = [name for name in others if frozenset([name, category]) not in axis.apart]
    for name in sorted(allowed, key=lambda name: (sizes[name], axis.index[name]))[:PARTNERS]:
        if len(axis.categories) > 2:  # else the axis would be omitted
            yield frozenset([category, name])


def _merged(table: Table, axis: Axis, group: Group) -> PublishedTable:
    others = [frozenset([name]) for name in axis.categories if name not in group]
    return protected_margin(table, axis.name, (group, *others), frozenset())


def remedy_parts(found: tuple[Remedy, ...], option: str) -> list[Part]:
    """The remedies as a table."""
    rows = [
        (
            remedy.words,
            f"{plural(remedy.categories, 'category')}, {plural(remedy.people, 'person')}",
            count_range(remedy.lower, remedy.upper) + ("" if remedy.option == option else f" ({remedy.option})"),
            Tag(remedy.verdict, "" if remedy.proved else f"{kind_words(remedy.verdict)} (estimate)"),
        )
        for remedy in found
    ]
    columns = ("change", "lose a count of their own", f"then {option or 'the count'} is", "verdict")
    words = "Each change is looked at alone, with all other axes exact. A plan decides about all cells together."
    return [Section("What would protect it", words, Grid(columns, rows))] if rows else []

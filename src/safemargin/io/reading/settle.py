"""From cells to a `ReadTable`: which labels are sums, whether a dash is a zero, what counts are rounded to.

The readings are tried in order: dashes as zeros, then as gaps; exact counts, then rounded ones. The first in which
every total adds up is taken. If none does, the error names the row.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from safemargin.core import JOINER, UNBOUNDED, Group, InputError, IntArray, PublishedTable, frozen
from safemargin.io.reading.cells import SheetCells
from safemargin.io.reading.options import NO_TOTALS, ReadingOptions
from safemargin.io.reading.places import sorted_places
from safemargin.io.reading.sums import Rows
from safemargin.io.reading.table import ReadAxis, ReadTable, TableForm
from safemargin.io.reading.totals import AxisSums, NotASum, find_sums, is_rounded_surely, likely_base


@dataclass(frozen=True)
class Context:
    """What is known beside the cells: names for messages, options, what footnotes say of rounding."""

    name: str
    word: str = "line"
    reading: ReadingOptions = ReadingOptions()
    base: int = 0
    random: bool = False
    rounds: bool = False
    """Whether a footnote says that counts are rounded, and not to what."""
    unit: int = 1
    trusted: bool = False
    ambiguous: str = ""
    """A number that is a thousand or a fraction."""
    of_tool: bool = False
    """Whether a tool of disclosure control wrote it: its totals are the true ones."""
    own: bool = False
    """Whether an office gives its own counts: round ones are what it counted."""


@dataclass
class Outcome:
    """One way to read the cells that adds up."""

    cells: SheetCells
    sums: list[AxisSums]
    lower: IntArray
    upper: IntArray
    base: int

    @property
    def tested(self) -> int:
        """How many equations hold."""
        return sum(axis.tested for axis in self.sums)


def settle(cells: SheetCells, context: Context) -> Outcome:
    """The sums of all axes, and the ranges of all cells."""
    _check_totals_named(cells, context)
    base = context.reading.rounded or context.base
    _check_rounded(cells, context, base)
    if cells.dashes.any():
        return _with_dashes(cells, context, base)
    return _rounded(cells, context, base)


def _check_totals_named(cells: SheetCells, context: Context) -> None:
    stated = context.reading.totals
    if (
        stated
        and stated != NO_TOTALS
        and not any(stated.casefold() == t.casefold() for axis in cells.labels for t in axis)
    ):
        raise InputError(f"totals = {stated[:60]!r}: {context.name} has no such category")


def _check_rounded(cells: SheetCells, context: Context, base: int) -> None:
    """Refuse a base of which a printed count is no multiple; if a footnote says it, doubt it."""
    odd = np.flatnonzero(~cells.hidden & (cells.lower == cells.upper) & (cells.lower % max(base, 1) != 0))
    if not len(odd):
        return
    row = int(odd[0])
    words = f"{int(cells.lower[row]):,} is no multiple of {base:,}"
    if context.reading.rounded:
        place = cells.places[row, 0]
        where = f"{context.word} {place}: " if place >= 0 else ""
        raise InputError(f"rounded = {base}: {context.name}: {where}{words}")
    cells.doubts.append(f"counts are said to be rounded, and {words}")


def _with_dashes(cells: SheetCells, context: Context, base: int) -> Outcome:
    """Dashes as zeros where the sums say so; else as gaps, which is a doubt where the sums say nothing."""
    zero = replace(cells, hidden=cells.hidden & ~cells.dashes, upper=np.where(cells.dashes, 0, cells.upper),
                   notes=list(cells.notes), doubts=list(cells.doubts))  # fmt: skip
    count = int(cells.dashes.sum())
    outcome: Outcome | None = None
    try:
        outcome = _rounded(zero, context, base)
        if _shown_by_sums(outcome, cells) and not _partial(outcome):
            outcome.cells.notes.append(f"{count} {'dash is' if count == 1 else 'dashes are'} zero: the sums say so")
            return outcome
    except (NotASum, InputError):
        outcome = None
    gaps = _rounded(cells, context, base)
    if outcome is None or _partial(outcome) > _partial(gaps):
        gaps.cells.notes.append(f"{count} {'dash is a gap' if count == 1 else 'dashes are gaps'}: the sums say so")
    else:
        gaps.cells.doubts.append("a dash may be a zero or a suppressed count, and no sum says which")
    return gaps


def _partial(outcome: Outcome) -> int:
    """How many labels have parts that are not listed."""
    return sum(len(axis.partial) for axis in outcome.sums)


def _shown_by_sums(outcome: Outcome, cells: SheetCells) -> bool:
    """Whether every dash stands in an equation of which all other parts are printed."""
    rows, shown = Rows(outcome.cells.codes, outcome.lower, outcome.upper), np.zeros(len(cells.dashes), dtype=bool)
    for axis, sums in enumerate(outcome.sums):
        rest = rows.rest(axis)
        for parent, parts in sums.splits:
            if parent in sums.partial:
                continue
            inner = np.isin(rows.codes[:, axis], list(parts))
            open_keys = set(rest[inner & (rows.lower != rows.upper)].tolist())
            known = {key for key, row in zip(rest[rows.codes[:, axis] == parent].tolist(),
                     np.flatnonzero(rows.codes[:, axis] == parent).tolist(), strict=True)
                     if rows.lower[row] == rows.upper[row] and not cells.dashes[row]}  # fmt: skip
            sure = np.array([key in known and key not in open_keys for key in rest.tolist()])
            shown |= inner & sure | (rows.codes[:, axis] == parent) & np.isin(
                rest, list(set(rest[inner].tolist()) - open_keys)
            )
    return bool(shown[cells.dashes].all())


def _rounded(cells: SheetCells, context: Context, base: int) -> Outcome:
    """Sums of counts as they are; if a total does not add up and all are multiples of one base, of rounded ones."""
    printed = cells.lower[~cells.hidden & (cells.lower == cells.upper)]
    found = 0 if base or context.trusted else likely_base(printed)
    if found and context.rounds:
        base, found = found, 0
    try:
        outcome = _filled(cells, context, *_widened(cells, base, context.random), base)
        if not (found or base or outcome.tested or context.trusted) and cells.hidden.any():
            found = likely_base(printed, (10, 5), different=False)  # nothing but the counts says whether they are exact
        return _as_rounded(cells, context, outcome, found) if found and not context.own else outcome
    except NotASum as error:
        if found and error.off <= found * (error.parts + 1):
            with suppress(NotASum):  # another sum may be off by more than the rounding
                outcome = _filled(cells, context, *_widened(cells, found, False), found)
                outcome.cells.notes.append(
                    f"all counts are multiples of {found} and totals do not add up: they are rounded"
                )
                return outcome
        if not context.of_tool and (without := _leaving_out(cells, context, base)) is not None:
            return without
        place = cells.places[error.row, 0]
        where = f"{context.word} {place}: " if place >= 0 else ""
        raise InputError(
            f"{context.name}: {where}{error}; correct it, or say `totals`=none if it is no sum of the others"
        ) from None


def _as_rounded(cells: SheetCells, context: Context, exact: Outcome, base: int) -> Outcome:
    """Counts that are all multiples of one base: rounded if a total adds up then alone; else a doubt where many are.

    Let T be the tables with the printed counts and R those within the rounding of them. T is inside R, so what is open
    in T is open in R: an all-clear for T holds for R. The doubt is about findings, which T may have and R not.
    """
    if any(axis.unsure for axis in exact.sums):
        try:
            outcome = _filled(cells, context, *_widened(cells, base, False), base)
        except NotASum:
            return exact
        if not any(axis.unsure for axis in outcome.sums):
            outcome.cells.notes.append(f"all counts are multiples of {base} and totals do not add up: they are rounded")
            return outcome
    words = f"all counts are multiples of {base}: say whether they are rounded (--reading rounded={base})"
    printed = cells.lower[~cells.hidden & (cells.lower == cells.upper)]
    (exact.cells.doubts if is_rounded_surely(printed, base, bool(exact.tested)) else exact.cells.notes).append(words)
    return exact


def _leaving_out(cells: SheetCells, context: Context, base: int) -> Outcome | None:
    """The reading in which totals add up what is printed alone, where a suppressed count is not zero."""
    if not (cells.hidden & (cells.lower > 0)).any():
        return None
    lower, upper = _widened(cells, base, context.random)
    nothing = np.where(cells.hidden, 0, lower)
    try:
        sums = _sums(cells, context, nothing, upper)
    except NotASum:
        return None
    return Outcome(cells, sums, lower, upper, base) if _only_shown(cells, sums, nothing, upper) is not None else None


def _widened(cells: SheetCells, base: int, random: bool) -> tuple[IntArray, IntArray]:
    if base <= 1:
        return cells.lower, cells.upper
    reach = base - 1 if random else base // 2
    exact = ~cells.hidden & (cells.lower == cells.upper)
    lower = np.where(exact, np.maximum(cells.lower - reach, 0), cells.lower)
    return lower, np.where(exact, cells.upper + reach, cells.upper)


def _filled(cells: SheetCells, context: Context, lower: IntArray, upper: IntArray, base: int) -> Outcome:
    """The sums, with cells that are not listed added as gaps where totals need them."""
    sums = _sums(cells, context, lower, upper)
    missing = dict.fromkeys(
        (*cells.codes[row, :axis].tolist(), part, *cells.codes[row, axis + 1 :].tolist())
        for axis, found in enumerate(sums)
        for _, parts, row in found.short
        for part in parts
    )
    listed = set(map(tuple, cells.codes.tolist()))
    new = [code for code in missing if code not in listed]
    if not new:
        return Outcome(cells, sums, lower, upper, base)
    size = len(new)
    wider = replace(
        cells,
        codes=np.concatenate([cells.codes, np.array(new, dtype=np.int64)]),
        lower=np.concatenate([lower, np.zeros(size, dtype=np.int64)]),
        upper=np.concatenate([upper, np.full(size, UNBOUNDED, dtype=np.int64)]),
        hidden=np.concatenate([cells.hidden, np.ones(size, dtype=bool)]),
        dashes=np.concatenate([cells.dashes, np.zeros(size, dtype=bool)]),
        symbols=[*cells.symbols, *["(not listed)"] * size],
        places=np.concatenate([cells.places, np.full((size, 2), -1, dtype=np.int64)]),
        notes=[*cells.notes, f"{size} cells that are not listed are gaps: the totals need them"],
    )
    return Outcome(wider, _sums(wider, context, wider.lower, wider.upper), wider.lower, wider.upper, base)


def _sums(cells: SheetCells, context: Context, lower: IntArray, upper: IntArray) -> list[AxisSums]:
    rows = Rows(cells.codes, lower, upper)
    gaps = bool((cells.hidden | (cells.lower < cells.upper)).any())  # a range leaves a count open as a gap does
    return [
        find_sums(
            rows,
            axis,
            name,
            cells.labels[axis],
            stated=_stated(context.reading.totals, cells.labels[axis]),
            inside=cells.inside.get(axis),
            code_of=cells.code_of if axis == 0 else {},
            gaps=gaps,
            trusted=context.trusted,
        )
        for axis, name in enumerate(cells.axes)
    ]


def _stated(totals: str, labels: Sequence[str]) -> str:
    if totals == NO_TOTALS:
        return NO_TOTALS
    return totals if any(totals.casefold() == text.casefold() for text in labels) else ""


def finish(
    outcome: Outcome, context: Context, roles: Sequence[str], answers: int | None, form: TableForm,
    groups: Sequence[Sequence[Group]] | None = None, status: Sequence[str] | None = None, measure: str = "count",
    sources: dict[str, str] | None = None, question: str = "", noisy: IntArray | None = None,
) -> ReadTable:  # fmt: skip
    """The table of one way to read the cells. `answers` is the axis of answers, if there is one."""
    cells, sums = outcome.cells, outcome.sums
    kept = [a for a in range(len(cells.axes)) if a != answers]
    said = list(status or ())
    said += ["suppressed" if hidden else "" for hidden in cells.hidden[len(said) :]]
    statuses = tuple(
        word or ("suppressed" if hidden else "exact" if low == high else "range")
        for word, hidden, low, high in zip(said, cells.hidden, outcome.lower, outcome.upper, strict=True)
    )
    named = [[_members(text) for text in cells.labels[a]] for a in range(len(cells.axes))] if groups is None else groups
    table = PublishedTable(
        name=Path(context.name).name
        if not form.sheet
        else f"{form.path.name if form.path else ''} {form.sheet}".strip(),
        axes=tuple(cells.axes[a] for a in kept),
        groups=tuple(tuple(named[a]) for a in kept),
        codes=frozen(cells.codes[:, kept], len(kept)),
        options=() if answers is None else tuple(cells.labels[answers]),
        option=frozen(np.full(len(statuses), -1) if answers is None else cells.codes[:, answers]),
        lower=frozen(outcome.lower),
        upper=frozen(np.minimum(outcome.upper, UNBOUNDED)),
        status=statuses,
        measure=measure,
        noisy=noisy,
    )
    axes = tuple(
        ReadAxis(
            cells.axes[a],
            tuple(cells.labels[a]),
            sums[a].total,
            tuple(sums[a].splits),
            roles[a],
            tuple(sums[a].partial),
        )
        for a in kept
    )
    notes = [*cells.notes, *(note for axis in sums for note in axis.notes)]
    doubts = [*cells.doubts, *(doubt for axis in sums for doubt in axis.doubts)]
    if not context.trusted and (words := _sorted_places(outcome)):
        doubts.append(words)
    ignored = None if context.of_tool else _only_shown(cells, sums, outcome.lower, outcome.upper)
    if ignored is not None and ignored.any():
        if (outcome.lower[cells.hidden] > 0).all():
            notes.append("the totals omit what is suppressed and are not used")
        else:
            doubts.append("the totals only add up what is printed: the gaps hold nobody, or the totals omit them")
    return ReadTable(
        table, axes, tuple(dict.fromkeys(notes)), tuple(dict.fromkeys(doubts)), question,
        None if answers is None else sums[answers].total, max(outcome.base, 1), context.unit, outcome.tested,
        cells.places, tuple(cells.symbols), ignored, sources or {}, form,
    )  # fmt: skip


def _sorted_places(outcome: Outcome) -> str:
    """The doubt about gaps among sorted counts; empty where there is none."""
    cells, sums = outcome.cells, outcome.sums
    parts = [
        [part for _, part in found.splits] or [tuple(range(len(of)))]
        for found, of in zip(sums, cells.labels, strict=True)
    ]
    unknown = cells.hidden & (outcome.lower < outcome.upper)
    totals = [found.total for found in sums]
    return sorted_places(cells.axes, cells.labels, parts, totals, cells.codes, outcome.lower, unknown)


def _members(text: str) -> Group:
    """The categories in a label: `N | S` is the group of two."""
    members = frozenset(member.strip() for member in text.split(JOINER))
    return members if "" not in members else frozenset([text])


def _only_shown(cells: SheetCells, sums: Sequence[AxisSums], lower: IntArray, upper: IntArray) -> np.ndarray | None:
    """Cells that are totals, if all of them are the sums of what is printed although counts are suppressed."""
    if not cells.hidden.any() or not any(found.total is not None for found in sums):
        return None
    printed = Rows(cells.codes, np.where(cells.hidden, 0, lower), np.where(cells.hidden, 0, upper))
    is_total, matters = np.zeros(len(lower), dtype=bool), False
    for axis, found in enumerate(sums):
        if found.total is None:
            continue
        parts = found.splits[0][1]
        test = printed.test(axis, found.total, parts)
        if not test.fits or test.short:
            return None
        rest, at_total = printed.rest(axis), cells.codes[:, axis] == found.total
        open_keys = rest[cells.hidden & np.isin(cells.codes[:, axis], list(parts))]
        matters |= bool((at_total & ~cells.hidden & np.isin(rest, open_keys)).any())
        is_total |= at_total
    return is_total if matters else None

"""Published tables as cross tables: groups are rows, answers or the shortest axis are columns, totals stand first."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from safemargin.core import UNBOUNDED, PublishedTable, label
from safemargin.ui.counts import EXACT, EXPOSED, CountCell, CountNote, CountRow, CountTable

Key = tuple[frozenset[tuple[str, str]], str]
"""A cell by the labels of its axes, and its option, empty where there is none."""
Known = Mapping[Key, tuple[int, int]]
"""What anybody can infer about cells."""
WIDE, MOST_COLUMNS = 20, 60
"""Categories of the last axis that stand across as they were given; of the shortest one, where it has more than that. A
table whose axes all have more has one column of counts."""
UNKNOWN = CountCell(None, "suppressed")


def crosstab(
    table: PublishedTable,
    margins: Sequence[PublishedTable] = (),
    *,
    orders: Mapping[str, tuple[str, ...]] | None = None,
    known: Known | None = None,
    exposed: Collection[Key] = (),
    notes: Mapping[Key, CountNote] | None = None,
    statuses: Mapping[Key, str] | None = None,
    shares: bool = False,
    total_name: str = "Total",
) -> CountTable:
    """One table; totals come from the `margins` that print them, or are the sums of a line without gaps or noise.

    `known` are intervals of cells that are not printed, `exposed` cells that could be inferred; `statuses` says of
    suppressed cells whether they are primary or secondary, which only the office may see.
    """
    values = _values(table, orders, known or {}, exposed, statuses or {})
    categories = {axis: _labels(table, axis, orders) for axis in table.axes}
    printed = _printed(margins, orders, exposed)
    return pivot(
        table.name, categories, values, table.options, printed=printed, notes=notes, shares=shares, total=total_name
    )


def pivot(
    caption: str,
    categories: Mapping[str, Sequence[str]],
    values: Mapping[Key, CountCell],
    options: Sequence[str] = (),
    *,
    printed: Mapping[frozenset[tuple[str, str]], CountCell] | None = None,
    notes: Mapping[Key, CountNote] | None = None,
    shares: bool = False,
    total: str = "Total",
    first: str = "Total",
    sums: bool = True,
) -> CountTable:
    """Counts by the labels of their cells as a cross table; `printed` are its totals, by the axes that they name.

    An option stands in `printed` as an axis without a name. Without `sums`, only printed totals are shown; `first` is
    the heading of their column.
    """
    printed = printed or {}
    across, axes = layout(categories, bool(options))
    columns = list(options) if options else list(categories[across]) if across else ["count"]
    listed = list({id(note): note for note in (notes or {}).values()}.values())  # all options of a group share one
    place_of = {key: next(n for n, each in enumerate(listed) if each is note) for key, note in (notes or {}).items()}
    has_totals = len(columns) > 1
    found = {tuple(dict(cell)[axis] for axis in axes) for cell, _ in values}
    places = [{name: place for place, name in enumerate(categories[axis])} for axis in axes]
    made, lines = [], []
    missing = CountCell(0, EXACT) if across else UNKNOWN
    for names in sorted(found, key=lambda row: [place[name] for place, name in zip(places, row, strict=True)]):
        cell = frozenset(zip(axes, names, strict=True))
        keys = [(cell, name) if options else (cell | {(across, name)} if across else cell, "") for name in columns]
        counts = [values.get(key, missing) for key in keys]
        for place, key in enumerate(keys):
            if key in place_of:
                counts[place] = replace(counts[place], note=place_of[key])
        lines.append(counts)
        whole = printed.get(cell)
        made.append(CountRow(names, [whole or (_sum(counts) if sums else UNKNOWN), *counts] if has_totals else counts))
    below = [
        printed.get(frozenset({("", name)} if options else {(across, name)} if across else ())) for name in columns
    ]
    foot = [given or (_sum([line[place] for line in lines]) if sums else UNKNOWN) for place, given in enumerate(below)]
    if has_totals:
        foot = [printed.get(frozenset()) or (_sum(foot) if sums else UNKNOWN), *foot]
    is_known = any(count.value is not None for count in foot)
    has_first = has_totals and (sums or any(row.counts[0].value is not None for row in made))
    if has_totals and not has_first:
        made = [CountRow(row.labels, row.counts[1:]) for row in made]
        foot = foot[1:]
    return CountTable(
        caption,
        axes or ("",),
        [first, *columns] if has_first else columns,
        made if axes else [],
        CountRow((total, *("" for _ in axes[1:])), foot) if is_known and axes else None,
        totals=has_first,
        shares=shares and has_first,
        notes=listed,
    )


def layout(categories: Mapping[str, Sequence[str]], has_options: bool) -> tuple[str, tuple[str, ...]]:
    """The axis that stands across, empty where there is none, and the others."""
    axes = tuple(categories)
    if has_options or len(axes) < 2:
        return "", axes
    last = axes[-1]
    if len(categories[last]) > WIDE:
        last = min(reversed(axes), key=lambda axis: len(categories[axis]))
    across = last if len(categories[last]) <= MOST_COLUMNS else ""
    return across, tuple(axis for axis in axes if axis != across)


def _labels(table: PublishedTable, axis: str, orders: Mapping[str, tuple[str, ...]] | None) -> list[str]:
    order = (orders or {}).get(axis, ())
    rank = {name: place for place, name in enumerate(order)}
    groups = table.groups[table.axes.index(axis)]
    ranked = sorted(groups, key=lambda group: min(rank.get(name, len(rank)) for name in group)) if order else groups
    return [label(group, order) for group in ranked]


def _values(
    table: PublishedTable,
    orders: Mapping[str, tuple[str, ...]] | None,
    known: Known,
    exposed: Collection[Key],
    statuses: Mapping[Key, str],
) -> dict[Key, CountCell]:
    names = [[label(group, (orders or {}).get(axis, ())) for group in groups] for axis, groups in _axes(table)]
    noisy = table.lower if table.noisy is None else table.noisy
    columns = zip(
        table.codes.tolist(),
        table.option.tolist(),
        table.lower.tolist(),
        table.upper.tolist(),
        noisy.tolist(),
        table.status,
        strict=True,
    )
    values: dict[Key, CountCell] = {}
    for codes, option, lower, upper, noised, status in columns:
        cell = frozenset((axis, names[a][code]) for a, (axis, code) in enumerate(zip(table.axes, codes, strict=True)))
        key = (cell, table.options[option] if option >= 0 else "")
        if status == "noised":
            values[key] = CountCell(noised, status)
            continue
        is_printed = status != "suppressed" and lower == upper
        low, high = (lower, upper) if is_printed else known.get(key, (lower, upper))
        end = None if high >= UNBOUNDED else high
        if key in exposed:
            values[key] = CountCell(low if low == high else None, EXPOSED, low, end)
        elif is_printed:
            values[key] = CountCell(lower, status if status in ("merged", EXACT) else EXACT)
        else:
            stated = key in known or status == "range"
            values[key] = CountCell(None, statuses.get(key, status), low if stated else None, end if stated else None)
    return values


def _axes(table: PublishedTable) -> list[tuple[str, tuple[frozenset[str], ...]]]:
    return list(zip(table.axes, table.groups, strict=True))


def _printed(
    margins: Sequence[PublishedTable], orders: Mapping[str, tuple[str, ...]] | None, exposed: Collection[Key]
) -> dict[frozenset[tuple[str, str]], CountCell]:
    """What tables print, by cell; with options, an option is an axis without a name."""
    printed: dict[frozenset[tuple[str, str]], CountCell] = {}
    for table in margins:
        for (cell, option), count in _values(table, orders, {}, exposed, {}).items():
            if count.value is not None and count.status != "noised":
                printed.setdefault(
                    cell | ({("", option)} if option else frozenset()),
                    count if count.status == EXPOSED else CountCell(count.value),
                )
    return printed


def _sum(counts: Sequence[CountCell]) -> CountCell:
    """The sum of a line; with a gap there is none, with noise it is noised."""
    if not counts or any(count.value is None for count in counts):
        return UNKNOWN if any(count.status != EXACT for count in counts) else CountCell(None, "suppressed")
    status = "noised" if any(count.status == "noised" for count in counts) else EXACT
    return CountCell(sum(count.value or 0 for count in counts), status)

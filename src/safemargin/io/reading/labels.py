"""What the rows and the columns of counts are called, as one label per axis.

Blanks below a label repeat it. A blank where no label can be repeated, or would repeat a row, stands for the sum
over that axis. A label alone in its row is the heading of the rows below it. Labels that are indented lie inside the
label above them that is indented less. Texts in two header rows are two axes, unless the lower ones are all different.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from safemargin.core import InputError
from safemargin.io.reading.columns import COUNTS, TableColumns
from safemargin.io.reading.frame import Frame
from safemargin.io.reading.grid import shown

ACROSS, DOWN = "columns", "rows"
SUM = ""
"""The label of a sum over all categories, where the table prints none."""


@dataclass
class Labels:
    """Names of axes, labels by row or column, and which labels lie inside which by how they are indented."""

    names: list[str]
    of: dict[int, tuple[str, ...]]
    inside: dict[str, list[str]] = field(default_factory=dict)
    headings: tuple[str, ...] = ()
    """Labels alone in their row that are taken for headings by their place alone: each may be a row of gaps."""
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)


def row_labels(frame: Frame, columns: TableColumns, headings: bool = True) -> Labels:
    """The labels of every row of the body that holds counts; without `headings` a label alone is a row of gaps."""
    names = [columns.name(c) or (DOWN if n == 0 else f"{DOWN} {n + 1}") for n, c in enumerate(columns.labels)]
    if len(columns.labels) == 1:
        return _one_column(frame, columns, names[0], headings)
    columns = _without_measure(frame, columns)
    if len(columns.labels) < len(names):
        return row_labels(frame, columns, headings)
    if len(names) == 2 and (nested := _nested(frame, columns, names[0])) is not None:
        return nested
    found = Labels(names, {})
    above = [""] * len(names)
    filled = 0
    for r in frame.body:
        texts = [shown(frame.grid.rows[r][c]) for c in columns.labels]
        if not any(texts) and not _holds_counts(frame, columns, r):
            continue
        repeated = list(texts)
        for i, text in enumerate(texts):
            if text:
                above[i:] = [text, *[""] * (len(texts) - i - 1)]
            elif any(texts[i + 1 :]) and above[i]:
                repeated[i] = above[i]
        filled += repeated != texts
        found.of[r] = tuple(repeated)
    if len(set(found.of.values())) < len(found.of):  # a blank is a sum then
        found.of = {r: tuple(shown(frame.grid.rows[r][c]) for c in columns.labels) for r in found.of}
    elif filled:
        found.notes.append("blanks below a label repeat it")
    return found


def _nested(frame: Frame, columns: TableColumns, name: str) -> Labels | None:
    """Labels in one of two columns by how deep they are: a row has one of both, and the deeper lie inside the other."""
    rows = [r for r in frame.body if any(cell is not None for cell in frame.grid.rows[r])]
    texts = {r: [shown(frame.grid.rows[r][c]) for c in columns.labels] for r in rows}
    labels = [text for both in texts.values() for text in both if text]
    if len(labels) != len(rows) or len(set(labels)) < len(labels) or not any(both[1] for both in texts.values()):
        return None
    inside: dict[str, list[str]] = {}
    above = ""
    for upper, lower in texts.values():
        if lower and not above:
            return None
        above = upper or above
        if lower:
            inside.setdefault(above, []).append(lower)
    if not all(_holds_counts(frame, columns, r) for r in rows):
        return None
    of: dict[int, tuple[str, ...]] = {r: (upper or lower,) for r, (upper, lower) in texts.items()}
    return Labels(
        [name], of, inside, notes=["labels in the second column lie inside the label above them in the first"]
    )


def _without_measure(frame: Frame, columns: TableColumns) -> TableColumns:
    """The columns less a label column that says `n` or `Count` of every row: it says what is counted."""
    rows = [r for r in frame.body if _holds_counts(frame, columns, r)]
    for c in columns.labels:
        texts = {shown(frame.grid.rows[r][c]).lower() for r in rows}
        if len(texts) == 1 and texts <= {*COUNTS, "no.", "n="} and len(rows) > 1:
            return replace(columns, labels=[label for label in columns.labels if label != c])
    return columns


def _holds_counts(frame: Frame, columns: TableColumns, row: int) -> bool:
    used = (*columns.counts, *(columns.ends or ()))
    return any(frame.values[row, c].kind != "empty" for c in used)


def _one_column(frame: Frame, columns: TableColumns, name: str, headings: bool) -> Labels:
    (column,) = columns.labels
    rows = [r for r in frame.body if any(cell is not None for cell in frame.grid.rows[r])]
    label = {r: shown(frame.grid.rows[r][column]) for r in rows}
    typed = frame.grid.head is not None  # a format with types has no headings: a null is a gap
    bare = [r for r in rows if label[r] and not typed and not _holds_counts(frame, columns, r)]
    blank = sum(frame.values[r, c].kind == "empty" for r in rows if r not in bare for c in columns.counts)
    by_place = [r for r in bare if r + 1 in label and r + 1 not in bare]
    sections = _sections(rows, bare, label)
    if bare and sections is not None:
        found = Labels(["section", name], sections)
        found.notes.append(
            f"rows with a label alone are headings: {', '.join(map(repr, [label[r] for r in bare[:3]]))}"
        )
        return found
    if headings and bare and blank == 0 and by_place == bare:
        found = Labels([name], {r: (label[r],) for r in rows if r not in bare})
        found.notes.append(
            f"rows with a label alone are headings: {', '.join(map(repr, [label[r] for r in bare[:3]]))}"
        )
        deep = {r: _depth(frame.grid.rows[r][column]) for r in rows}
        found.headings = tuple(label[r] for r in bare if deep[r + 1] <= deep[r])
    else:
        found = Labels([name], {r: (label[r],) for r in rows})
    return _indented(frame, column, found)


def _sections(rows: Sequence[int], bare: Sequence[int], label: dict[int, str]) -> dict[int, tuple[str, ...]] | None:
    """Labels below headings, if they repeat from heading to heading."""
    sections: dict[int, tuple[str, ...]] = {}
    heading, seen = SUM, dict[str, list[str]]()
    for r in rows:
        if r in bare:
            heading = label[r]
        else:
            sections[r] = (heading, label[r])
            seen.setdefault(heading, []).append(label[r])
    lists = [names for heading, names in seen.items() if heading]
    repeats = len(lists) > 1 and any(set(lists[0]) & set(names) for names in lists[1:])
    return sections if repeats and len(set(sections.values())) == len(sections) else None


def _depth(cell: object) -> int:
    """How far a label is indented."""
    return len(cell) - len(cell.lstrip()) if isinstance(cell, str) else 0


def _indented(frame: Frame, column: int, found: Labels) -> Labels:
    """Labels inside others: two axes if all have the same labels inside, else one axis with a hierarchy."""
    depth = {r: _depth(frame.grid.rows[r][column]) for r in found.of}
    if len(set(depth.values())) < 2:
        return found
    parent: dict[int, int | None] = {}
    stack: list[int] = []
    for r in found.of:
        while stack and depth[stack[-1]] >= depth[r]:
            stack.pop()
        parent[r] = stack[-1] if stack else None
        stack.append(r)
    children: dict[int, list[str]] = {}
    for r, above in parent.items():
        if above is not None:
            children.setdefault(above, []).append(found.of[r][0])
    lists = [tuple(names) for names in children.values()]
    (name,) = found.names
    found.notes.append("indented labels lie inside the label above them")
    is_flat = all(parent[above] is None for above in children)
    if is_flat and len(lists) > 1 and len({frozenset(names) for names in lists}) == 1 and len(lists[0]) > 1:
        of: dict[int, tuple[str, ...]]
        of = {r: (found.of[r][0], SUM) if p is None else (found.of[p][0], found.of[r][0]) for r, p in parent.items()}
        return Labels([name, f"{name}: inside"], of, headings=found.headings, notes=found.notes)
    texts = [labels[0] for labels in found.of.values()]
    full = {}
    for r, (text,) in found.of.items():
        above = parent[r]
        full[r] = text if texts.count(text) == 1 or above is None else f"{found.of[above][0]}: {text}"
    inside: dict[str, list[str]] = {}
    for r, above in parent.items():
        if above is not None:
            inside.setdefault(full[above], []).append(full[r])
    return Labels([name], {r: (text,) for r, text in full.items()}, inside, found.headings, found.notes)


def column_labels(frame: Frame, columns: TableColumns, across: Sequence[str] = ()) -> Labels:
    """The labels of every column of counts; no axis where there is one column that only says that it holds counts."""
    counts = columns.counts
    levels = len(frame.head)
    names_rows = levels > 1 and all(not columns.names[c][-1] for c in counts)
    used = [level for level in range(levels - names_rows) if any(columns.names[c][level] for c in counts)]
    titles = ""
    if len(counts) > 1:
        for level in list(used):
            texts = {columns.names[c][level] for c in counts} - {""}
            if (
                len(texts) == 1 and len(used) > 1
            ):  # one text over all columns: the name of the axis, or of what is counted
                used.remove(level)
                titles = titles or next(iter(texts))
    used = _without_measures(columns, counts, used)
    if len(counts) <= 1 and not across:
        return Labels([], {c: () for c in counts})
    if not used:
        raise InputError(
            f"{frame.grid.name}: the columns of counts have no names; say how many rows are the header (`header`)"
        )
    if len(used) > 1:
        lowest = [columns.names[c][used[-1]] or columns.names[c][used[-2]] for c in counts]
        if len(set(lowest)) == len(lowest):
            return _single(frame, columns, counts, lowest, titles, across)
        of = {c: tuple(columns.names[c][level] for level in used) for c in counts}
        corner = [_corner(columns, level) for level in used]
        names = [n or titles_or(titles, i, len(used)) for i, n in enumerate(corner)]
        names = [*across, *names[len(across) :]] if across else names
        found = Labels(names, of)
    else:
        return _single(frame, columns, counts, [columns.names[c][used[0]] for c in counts], titles, across, used[0])
    if len(set(found.of.values())) < len(found.of):
        twice = next(labels for labels in found.of.values() if list(found.of.values()).count(labels) > 1)
        raise InputError(f"{frame.grid.name}: two columns are called {' '.join(filter(None, twice))!r}; rename one")
    return found


def titles_or(title: str, level: int, levels: int) -> str:
    """What an axis across is called that the table does not name."""
    return f"{ACROSS} {level + 1}" if levels > 1 else title or ACROSS


def _single(
    frame: Frame,
    columns: TableColumns,
    counts: Sequence[int],
    texts: Sequence[str],
    title: str,
    across: Sequence[str],
    level: int = 0,
) -> Labels:
    if texts[-1] == "" and len(texts) > 2 and texts.count("") == 1:
        columns.notes.append("the last column has no name: taken for the sum of the others")
    elif len(set(texts)) < len(texts) or "" in texts:
        twice = next((text for text in texts if texts.count(text) > 1), "")
        what = f"two columns are called {twice!r}; rename one" if twice else "a column of counts has no name"
        raise InputError(f"{frame.grid.name}: {what}")
    corner = _corner(columns, level) if len(frame.head) > 1 and _names_rows(frame, columns) else ""
    name = across[0] if across else corner or title or ACROSS
    return Labels([name], {c: (text,) for c, text in zip(counts, texts, strict=True)})


def _names_rows(frame: Frame, columns: TableColumns) -> bool:
    """Whether the lowest header row names label columns alone, as pandas writes it; what is above names the columns."""
    return all(not columns.names[c][-1] for c in columns.counts)


def _corner(columns: TableColumns, level: int) -> str:
    texts = {columns.names[c][level] for c in columns.labels} - {""}
    lowest = {columns.name(c) for c in columns.labels}
    return next(iter(texts)) if len(texts) == 1 and not texts & lowest else ""


def _without_measures(columns: TableColumns, counts: Sequence[int], used: list[int]) -> list[int]:
    """Header rows less one that says of every column that it holds counts, such as `n`."""
    return [
        level for level in used
        if len(used) == 1 or not all(columns.names[c][level].lower() in (*COUNTS, "no.", "number", "") for c in counts)
    ]  # fmt: skip

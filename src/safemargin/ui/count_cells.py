"""The coloured table as HTML. It may have tens of thousands of cells, so its rows are joined here, not in a template.

Everything that is not markup is escaped.
"""

from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from safemargin.ui.blocks import MOST_ROWS
from safemargin.ui.counts import (
    EXACT,
    EXPOSED,
    JOINED,
    STATUS,
    CountCell,
    CountRow,
    CountTable,
    number_text,
    share_text,
)
from safemargin.ui.formatting import band_label

NO_BREAK = "\N{NO-BREAK SPACE}"


def heading(label: str) -> Markup:
    """The name of a row or column; the members of a merged group stand one below the other, in a bracket."""
    name = band_label(label)
    if JOINED not in label:
        return escape(name).replace("_", Markup("_<wbr>"))
    members = label.split(JOINED) if name == label else [name]
    lines = Markup("").join(Markup("<span>{}</span>").format(member) for member in members)
    return Markup('<span class="brk">{}</span><i class="k merged" title="merged">M</i>').format(lines)


def count_rows(block: CountTable) -> Markup:
    """The body of the table."""
    rows, missing = block.shown(MOST_ROWS)
    lines = [_row(block, row) for row in rows]
    if missing:
        words = f"{missing:,} more rows are not shown here"
        words += "." if all(row.is_plain for row in rows[-1:]) else "; those that are not exact come first."
        lines.append(
            f'<tr class="fold"><td colspan="{len(block.corners) + len(block.columns)}">{escape(words)}</td></tr>'
        )
    return Markup("\n".join(lines))  # noqa: S704 - every text in it is escaped


def count_foot(block: CountTable) -> Markup:
    """What all suppressed rows have together, and the totals."""
    lines = [f'<tr class="together">{_labels(row)}{_cells(block, row)}</tr>' for row in _given(block.together)]
    lines += [f'<tr class="all">{_labels(row)}{_cells(block, row)}</tr>' for row in _given(block.total)]
    return Markup("\n".join(lines))  # noqa: S704 - every text in it is escaped


def _given(row: CountRow | None) -> Iterable[CountRow]:
    return [] if row is None else [row]


def _row(block: CountTable, row: CountRow) -> str:
    if block.why and all(count.value is None and count.status != EXACT for count in row.counts):
        status = STATUS[row.counts[0].status]
        words = f'<span><i class="k {row.counts[0].status}">{status.letter}</i> {escape(block.why)}</span>'
        return (
            f'<tr class="sup">{_labels(row)}<td class="{status.pattern}" colspan="{len(row.counts)}">{words}</td></tr>'
        )
    is_merged = any(JOINED in label for label in row.labels)
    kind = "bad" if row.is_exposed else "mer" if is_merged and block.shares else "" if row.is_plain else "mark"
    return f"<tr{f' class={kind}' if kind else ''}>{_labels(row)}{_cells(block, row)}</tr>"


def _labels(row: CountRow) -> str:
    return "".join(f'<th scope="row">{heading(label)}</th>' if label else "<td></td>" for label in row.labels)


def _cells(block: CountTable, row: CountRow) -> str:
    counts: Sequence[CountCell] = row.counts
    whole = counts[0].value if block.totals else None
    if not block.shares:
        start = 1 if block.totals else 0
        first = [f'<td class="sum">{number_text(counts[0])}</td>'] if block.totals else []
        return "".join([*first, *(_cell(count) for count in counts[start:])])
    cells = [f'<td class="sum">{number_text(counts[0])}</td>'] if block.totals else []
    cells += [_share(count, whole) for count in counts[1 if block.totals else 0 :]]
    return "".join(cells)


def _share(count: CountCell, whole: int | None) -> str:
    if count.value is None or not whole:
        return _cell(count)
    rate = min(max(100 * count.value / whole, 0), 100)
    share = share_text(count.value, whole).replace(" ", NO_BREAK)
    kind = ' class="dots"' if count.status == "noised" else ""
    return f'<td{kind} style="--p:{rate:.1f}">{number_text(count)} <strong>{share}</strong></td>'


def _cell(count: CountCell) -> str:
    if count.status == EXACT and count.value is not None and count.note is None:
        return f"<td>{count.value:,}</td>" if count.value else '<td class="z">0</td>'
    status = STATUS[count.status]
    given = f' class="{status.pattern}"' if status.pattern else ""
    if count.low is not None:
        given += f' data-l="{count.low}"' + ("" if count.high is None else f' data-u="{count.high}"')
    if count.note is not None:
        given += f' data-n="{count.note}"'
    mark = f'<i class="k {count.status}" title="{status.words}">{status.letter}</i>' if status.letter else ""
    text = number_text(count)
    strong = f"<strong>{text}</strong>" if count.status == EXPOSED else text
    if count.value is None and text and count.status not in (EXPOSED, "interval"):
        strong = f"<span>{text}</span>"
    return f"<td{given}>{mark}{strong}</td>"

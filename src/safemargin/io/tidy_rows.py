"""Published tables as rows of a tidy file."""

from collections.abc import Mapping

from safemargin.core import PublishedTable


def rows_of(table: PublishedTable, orders: Mapping[str, tuple[str, ...]]) -> list[dict[str, object]]:
    """A table as tidy rows: labels, option, count (none if suppressed), status."""
    rows: list[dict[str, object]] = []
    for row, status in enumerate(table.status):
        line: dict[str, object] = dict(table.cell(row, dict(orders)))
        if table.options:
            line["option"] = table.options[table.option[row]]
        count: int | None = int(table.lower[row])
        if status == "noised" and table.noisy is not None:
            count = int(table.noisy[row])
        elif status == "suppressed":
            count = None
        rows.append({**line, table.measure: count, "status": status})
    return rows

"""What the drawer of a gap says it costs, against every table that prints the same."""

from itertools import product

import pytest

import safemargin
from safemargin.suppress.coloured import coloured_patterns

TOWNS, AGES = ("A", "B", "C"), ("young", "old", "aged")


def tables_like(counts: dict[tuple[str, str], int], gaps: set[tuple[str, str]]) -> list[dict[tuple[str, str], int]]:
    """Every integer table with the same sums and the same printed counts."""
    free = sorted(gaps)
    found = []
    for values in product(range(max(counts.values()) + 12), repeat=len(free)):
        table = {**counts, **dict(zip(free, values, strict=True))}
        rows = all(sum(table[town, age] for age in AGES) == sum(counts[town, age] for age in AGES) for town in TOWNS)
        if rows and all(sum(table[t, age] for t in TOWNS) == sum(counts[t, age] for t in TOWNS) for age in AGES):
            found.append(table)
    return found


@pytest.mark.parametrize("small", [(1, 9, 7), (2, 8, 11)])
def test_a_gap_that_cannot_be_spared_protects_something(small: tuple[int, int, int]) -> None:
    """Printed again, some small count is the same in every table that is left; the words are only said then."""
    values = [*small, 9, 8, 12, 11, 10, 6]
    counts = dict(zip(product(TOWNS, AGES), values, strict=True))
    rows = [{"town": town, "age": age, "count": count} for (town, age), count in counts.items()]
    pattern = safemargin.suppress(rows, primary=(1, 3)).pattern
    (table,) = coloured_patterns(pattern, ["t"], noted=True)
    place = {(row.labels[0], age): table.notes[cell.note] for row in table.rows
             for age, cell in zip(AGES, [c for c in row.counts[1:]], strict=True) if cell.note is not None}  # fmt: skip
    gaps, primary = set(place), [cell for cell, count in counts.items() if 1 <= count <= 3]
    assert len(gaps) == 4 and all(f"{counts[cell]:,}" in note.price for cell, note in place.items())
    hidden = tables_like(counts, gaps)
    assert all(len({each[cell] for each in hidden}) > 1 for cell in primary)
    for cell in gaps - set(primary):
        assert "It cannot be spared" in place[cell].price
        left = tables_like(counts, gaps - {cell})
        assert any(len({each[one] for each in left}) == 1 for one in primary)

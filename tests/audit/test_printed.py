"""Cells that a table prints are read: the page shows intervals of the others."""

from pathlib import Path

from safemargin import audit

ROWS = """district,illness,count,status
North,asthma,41,exact
North,measles,,suppressed
West,asthma,33,exact
West,measles,9,exact
Total,asthma,74,exact
Total,measles,11,exact
North,Total,43,exact
West,Total,42,exact
"""


def test_the_closest_calls_are_cells_that_nobody_printed(tmp_path: Path) -> None:
    (tmp_path / "clinic.csv").write_text(ROWS)
    found = audit(tmp_path / "clinic.csv")
    assert found.printed is not None and int(found.printed.sum()) == 3
    page = found.to_html()
    assert page.count('<td class="is-exposed"') == 1, "one gap, and only that could be inferred"

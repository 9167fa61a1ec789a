"""Tables in the manner of agencies: never a false all-clear, and most are read right without options."""

from pathlib import Path

import pytest

import safemargin
from agency_tables import FIRST, SECOND, Agency, Drawn, draw, single
from evidence import seeds
from safemargin import InputError, ReadTable, load


def _plain(text: object) -> str:
    return " ".join(str(text).replace("\xa0", " ").split()).rstrip(":")


def _is_right(read: ReadTable, drawn: Drawn) -> bool:
    """Whether the cells that are no sums are those of the truth, each with its count in range."""
    truth, rows = drawn.truth, read.to_rows()
    names = [axis.name for axis in read.axes]
    leaves = [(frozenset(_plain(row[name]) for name in names), row) for row in rows if not row["is_sum"]]
    if len(leaves) != len(truth.counts) or len(rows) != len(truth.counts) + len(truth.sums):
        return False
    for (down, across), count in truth.counts.items():
        wanted = frozenset(map(_plain, down if single(truth) else down + across))
        found = [row for labels, row in leaves if wanted <= labels]
        if len(found) != 1 or not found[0]["lower"] <= count <= (found[0]["upper"] or 10**9):
            return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("agencies", [FIRST, SECOND])
def test_agencies(tmp_path: Path, agencies: list[Agency]) -> None:
    right = 0
    drawn_from = seeds(5000, 12, 200)
    for seed in drawn_from:
        drawn = draw(seed, agencies)
        path = drawn.write(tmp_path, f"t{seed}")
        follows = drawn.truth.follows()
        try:
            read = load(path)
            found = safemargin.audit([path])
        except InputError:
            continue
        right += _is_right(read, drawn)
        if follows and drawn.truth.base == 1:
            assert not found.is_safe or found.doubts, f"seed {seed}: {len(follows)} counts follow"
    assert right >= 0.8 * len(drawn_from)

"""What the two-way margins of published tables disclose, against one program of scipy per end."""

from pathlib import Path

import duckdb
import numpy as np
import pytest

from peer import Counts, Peer, differences, two_way
from safemargin.bounds.bound import infer
from safemargin.bounds.exposure import Exposure

pytestmark = pytest.mark.data
PAIRS = {3: [(0, 1), (0, 2), (1, 2)], 4: [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]}


def cross(rows: list[tuple[object, ...]]) -> tuple[Counts, list[list[str]]]:
    """A table from rows of categories and a count, and the names of its categories."""
    names = [sorted({str(row[a]) for row in rows}) for a in range(len(rows[0]) - 1)]
    counts = np.zeros([*map(len, names), 1], dtype=np.int64)
    for *cell, count in rows:
        counts[(*(names[a].index(str(name)) for a, name in enumerate(cell)), 0)] += int(str(count))
    return counts, names


def compared(counts: Counts, names: list[list[str]], ends: int) -> Exposure:
    """The bounds of all cells; a random sample of them is the peer's."""
    exposure = infer(two_way(counts, names))
    assert exposure.integer.all()
    peer = Peer(counts, PAIRS[len(names)])
    wrong, answers = differences(exposure, peer, names, np.random.default_rng(0), ends)
    assert wrong == [] and answers > ends // 2
    return exposure


@pytest.fixture(scope="module")
def companies(data_sets: Path) -> dict[str, tuple[Counts, list[list[str]]]]:
    """Job category by race by sex, without the totals; a line that a company left blank counts nobody."""
    rows = duckdb.sql(
        f"""select company, job_category, race, gender, coalesce(try_cast(count as bigint), 0)
        from '{data_sets}/eeo1_silicon_valley_2016.parquet'
        where gender is not null and job_category not in ('Totals', 'Previous_totals')"""
    ).fetchall()
    return {name: cross([row[1:] for row in rows if row[0] == name]) for name in sorted({row[0] for row in rows})}


def test_companies_give_away_a_third_to_three_quarters(companies: dict[str, tuple[Counts, list[list[str]]]]) -> None:
    closed, with_people = {}, 0
    for name, (counts, names) in companies.items():
        assert counts.shape == (10, 7, 2, 1)
        exposure = compared(counts, names, 4)
        known = exposure.width.ravel() == 0
        assert (exposure.lower.ravel()[known] == counts.ravel()[known]).all()
        closed[name], with_people = int(known.sum()), with_people + int((known & (counts.ravel() > 0)).sum())
    assert len(closed) == 25 and sum(closed.values()) == 1736 and with_people == 27
    assert (min(closed.values()), closed["Sanmina"]) == (30, 30)
    assert (max(closed.values()), closed["MobileIron"]) == (106, 106)


@pytest.mark.slow
def test_a_census_extract_gives_away_only_empty_cells(data_sets: Path) -> None:
    axes = "workclass, marital_status, race, sex"
    rows = duckdb.sql(f"select {axes}, count(*) from '{data_sets}/adult_uci.parquet' group by all").fetchall()
    counts, names = cross(rows)
    assert counts.shape == (9, 7, 5, 2, 1) and counts.sum() == 48_842
    exposure = compared(counts, names, 12)
    known = exposure.width.ravel() == 0
    assert (int(known.sum()), int((known & (counts.ravel() > 0)).sum())) == (140, 0)
    close = (exposure.width.ravel() <= 3) & (counts.ravel() > 0)
    assert (int(close.sum()), int((counts > 0).sum())) == (21, 361)

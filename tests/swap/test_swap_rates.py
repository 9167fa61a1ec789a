"""Swap rates tried out: the errors of the surrogate of 1940 Massachusetts, and tables counted by hand."""

import json
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from statistics import fmean

import duckdb
import numpy as np
import pytest

from commands import Run, in_process
from pictures import validate
from safemargin.core import InputError
from safemargin.swap.permutation import swap
from safemargin.swap.reading import counted
from safemargin.swap.swap_rates import RATES, Trials, error_chart, held_columns, swap_rates
from swap_vectors import MASSACHUSETTS_ERRORS, TABLE_1


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


@pytest.fixture(scope="module")
def massachusetts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Households of Table 1, with a size that has nothing to do with county and tenure."""
    path = tmp_path_factory.mktemp("ma") / "massachusetts.parquet"
    cells = [(county, kind, row[n]) for county, row in TABLE_1.items() for n, kind in enumerate(("owned", "rented"))]
    values = ", ".join(f"('{county}', '{kind}', {count})" for county, kind, count in cells)
    listed = "select county, tenure, hash(row_number() over ()) % 8 as size"
    duckdb.execute(
        f"copy ({listed} from (values {values}) t(county, tenure, n), range(n)) to '{path}' (format parquet)"
    )
    return path


@pytest.mark.slow
@pytest.mark.parametrize("match", [[], ["size"]])
def test_massachusetts_in_1940(massachusetts: Path, match: list[str]) -> None:
    """Ten runs each: errors are those of the surrogate, grow with the rate, and hardly vary.

    Every limit is at least 5.6 deviations of a mean of ten away, and a deviation over ten runs is three times the usual
    one less than once in ten million times.
    """
    found = swap_rates(
        massachusetts,
        swapped=["county"],
        match=match,
        hold=["tenure"],
        rates=list(MASSACHUSETTS_ERRORS),
        runs=10,
    )
    assert [(each.cells, each.empty) for each in found.tables] == [(28, 0)]
    means = [fmean(trial.tables[0].errors) for trial in found.rates]
    for trial, mean, (expected, deviation) in zip(found.rates, means, MASSACHUSETTS_ERRORS.values(), strict=True):
        assert mean == pytest.approx(expected, abs=2.5 * deviation)
        assert trial.tables[0].spread["deviation"] < 3 * deviation
    assert means == sorted(means) and 0.13 < means[-1] < 0.145
    assert [trial.epsilon for trial in found.rates] == sorted((trial.epsilon for trial in found.rates), reverse=True)
    assert fmean(found.rates[-1].changed) < 1_144_424 / 2


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    rows = [f"s{n % 2},c{n * 7 % 5},{'owned' if n % 4 else ''},{n % 3 if n % 5 else 9}" for n in range(400)]
    path.write_text("\n".join(["state,county,tenure,kind", *rows]) + "\n")
    return path


def test_errors_by_hand(people: Path) -> None:
    """The table after an exchange, counted record by record; empty cells are omitted and counted."""
    with counted(people, ["county"], ["state"]) as data:
        tables, too_large = held_columns(data.run, data.cells, data.rows)
        exchange = swap(data.cells, Fraction(1, 2))
        data.run.apply(data.cells, data.rows, exchange)
        for name, key, table in zip(("tenure", "kind"), ("h0", "h1"), tables, strict=True):
            before, after = (
                {row[:2]: row[2] for row in data.run.database.execute(query).fetchall()}
                for query in (f"select s0, {key}, sum(n)::int from {side} group by all" for side in ("cell", "result"))
            )
            error, filled = table.error(data.cells, exchange)
            off = [abs(after.get(cell, 0) - count) for cell, count in before.items()]
            assert table.column == name and table.cells == len(before)
            assert error == pytest.approx(fmean(o / n for o, n in zip(off, before.values(), strict=True)))
            assert filled == len(set(after) - set(before))
    assert too_large == [] and [table.empty for table in tables] == [0, 7]


def test_people_of_households_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    rows = [(n // 3, n // 3 % 2, n // 3 * 7 % 5, n % 4, "fm"[n % 2]) for n in range(300)]
    path.write_text("hh,state,block,age,sex\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    with counted(path, ["block"], ["state"], None, "hh") as data:
        tables, _ = held_columns(data.run, data.cells, data.rows)
    for table, place in zip(tables, (3, 4), strict=True):
        expected = Counter((row[2], row[place]) for row in rows)
        assert sorted(table.counts[table.counts > 0].tolist()) == sorted(expected.values())
        assert table.cells + table.empty == 5 * len({row[place] for row in rows})
    found = swap_rates(path, swapped=["block"], match=["state"], household="hh", rates=[Fraction(1, 2)], runs=2)
    assert found.unit == "household" and [each.column for each in found.tables] == ["age", "sex"]


def test_tables_that_are_too_large_are_named(people: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr(sys.modules["safemargin.swap.swap_rates"], "MOST_CELLS", 12)
    found = swap_rates(people, swapped=["county"], rates=[Fraction(1, 10)], runs=1)
    assert [each.column for each in found.tables] == ["state", "tenure"] and found.too_large == ("kind",)
    assert "too large: kind." in run("swap-rates", people, "--swap", "county", "--runs", 1).out
    monkeypatch.setattr(sys.modules["safemargin.swap.swap_rates"], "MOST_CELLS", 2)
    with pytest.raises(InputError, match="all held columns are too large"):
        swap_rates(people, swapped=["county"])


def test_command(run: Run, people: Path, tmp_path: Path) -> None:
    page = tmp_path / "rates.html"
    options = ("--swap", "county", "--match", "state", "--rates", "0.5,1/10,0.1", "--runs", 3)
    stated = run("swap-rates", people, *options, "--out", page)
    assert stated.code == 0 and "county x kind: 13 cells, 7 empty cells excluded" in stated.out
    text = page.read_text()
    assert text.count('class="marks"') == 2 and "Confidential: do not publish" in text and "cells filled" in text
    found = run("swap-rates", people, *options, "--json").document
    rates = [(each["rate"], each["rate_exact"]) for each in found["rates"]]  # type: ignore[attr-defined]
    assert rates == [(0.1, "1/10"), (0.5, "1/2")]
    assert len(found["rates"][0]["tables"][0]["errors"]) == 3  # type: ignore[index]
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rates", "0,0.5"], "rate = 0: has no finite epsilon"),
        (["--rates", ""], "rates: name at least one"),
        (["--rates", "often"], "rate = often: is not a number"),
        (["--runs", "0"], "runs = 0: must be at least 1"),
        (["--unit", ""], "unit: say what a record is"),
        (["--match", "county"], "column 'county' has two roles"),
        (["--swap", "state", "--match", "state2"], "there is no column 'state2'"),
        (["--out", "nowhere/at/all.html", "--runs", "1"], "cannot be written"),
    ],
)
def test_bad_input_is_one_line(run: Run, people: Path, options: list[str], message: str) -> None:
    swapped = () if "--swap" in options else ("--swap", "county")
    ran = run("swap-rates", people, *swapped, *options)
    assert ran.code == 2 and message in ran.err and ran.err.count("\n") == 1


def test_nothing_to_exchange(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("m,h,s\n" + "a,x,u\na,y,u\n" * 5)
    with pytest.raises(InputError, match="no two records that agree on what is matched differ in what is swapped"):
        swap_rates(path, swapped=["s"], match=["m"])


@pytest.mark.parametrize("number", [1, len(RATES), 30])
def test_picture_is_valid(people: Path, number: int) -> None:
    rates = [Fraction(n + 1, 40) for n in range(number)]
    found: Trials = swap_rates(people, swapped=["county"], rates=rates, runs=1)
    validate(error_chart(found, 1))
    json.dumps(found.to_json())
    assert all(np.isfinite(trial.tables[0].mean) for trial in found.rates)

"""The ledger of suppressed tables: a second table finds the first by itself."""

import csv
from pathlib import Path
from typing import Any

import pytest

from safemargin import InputError, RefusedError, suppress
from safemargin.history.file import read_ledger

AGES = "town,age,count\na,old,6\na,young,0\nb,old,9\nb,young,3\nc,old,9\nc,young,6\n"
KINDS = "town,kind,count\na,x,0\na,y,6\nb,x,7\nb,y,5\nc,x,6\nc,y,9\n"


def publish(folder: Path, name: str, text: str, population: str = "town", **more: Any) -> Path:
    """Suppress a table, record it and give the file with its gaps."""
    (folder / f"{name}.csv").write_text(text)
    named = {"ledger": folder / "ledger.sqlite", "population": population, "cycle": name}
    made = suppress(folder / f"{name}.csv", **{**named, **more})
    return made.write(folder / f"out-{name}") / "published" / made.names[0]


def gaps(path: Path) -> set[str]:
    with path.open() as file:
        return {" ".join(list(row.values())[:-2]) for row in csv.DictReader(file) if row["status"] == "suppressed"}


@pytest.mark.parametrize("population", ["town", " Town"])
def test_what_the_first_table_hid_stays_hidden(tmp_path: Path, population: str) -> None:
    first = publish(tmp_path, "ages", AGES, keep=["town,age=old"])
    assert {"b Total", "c Total"} <= gaps(first)
    second = publish(tmp_path, "kinds", KINDS, population)
    assert {"b Total", "c Total"} <= gaps(second), "the sums of two towns, which kinds alone would print"
    assert gaps(Path(suppress(tmp_path / "kinds.csv").write(tmp_path / "alone")) / "published" / "pattern.csv") == set()


def test_hidden_margins_hide_no_overlap(tmp_path: Path) -> None:
    """Failed before: gaps counted as nobody, so a margin with gaps alone said that nobody is in both populations."""
    publish(tmp_path, "ab", "a,b,count\n0,0,2\n0,1,5\n1,0,2\n1,1,4\n")
    (tmp_path / "abc.csv").write_text(
        "a,b,c,count\n0,0,0,1\n0,0,1,1\n0,1,0,1\n0,1,1,4\n1,0,0,1\n1,0,1,1\n1,1,0,2\n1,1,1,2\n"
    )
    named = {"ledger": tmp_path / "ledger.sqlite", "population": "city", "cycle": "abc"}
    (words,) = suppress(tmp_path / "abc.csv", **named).warnings()
    assert "13 people of this release may be" in words and "population 'town' of the ledger (ab)" in words


def test_the_same_people_under_another_name_are_said(tmp_path: Path) -> None:
    """Failed before: tables of `city` were published beside those of `town` without a word."""
    publish(tmp_path, "ages", AGES)
    (tmp_path / "kinds.csv").write_text(KINDS)
    (tmp_path / "fewer.csv").write_text("town,kind,count\nd,x,9\nd,y,9\n")
    named = {"ledger": tmp_path / "ledger.sqlite", "population": "city", "cycle": "kinds"}
    (words,) = suppress(tmp_path / "kinds.csv", **named).warnings()
    assert "also in population 'town' of the ledger (ages)" in words and "give them one name" in words
    assert suppress(tmp_path / "fewer.csv", **named).warnings() == []


def test_the_ledger_keeps_no_count_that_is_not_printed(tmp_path: Path) -> None:
    publish(tmp_path, "ages", AGES, keep=["town,age=old"], tau=1)
    (entry,) = read_ledger(tmp_path / "ledger.sqlite")
    (table,) = entry.lattices.values()
    assert sorted(table.counts.ravel().tolist())[:4] == [-2] * 4 and table.counts.ravel()[0] == 33
    assert (entry.limits, entry.people, entry.tables) == ({"tau": 1}, 33, ())


def test_a_weaker_limit_a_cycle_twice_and_half_a_ledger_are_refused(tmp_path: Path) -> None:
    publish(tmp_path, "ages", AGES, tau=1)
    with pytest.raises(InputError, match="tau was 1 in 'ages' and is 0 now, which is weaker; give tau = 1"):
        publish(tmp_path, "kinds", KINDS)
    with pytest.raises(InputError, match="cycle 'ages' was published already"):
        publish(tmp_path, "kinds", KINDS, tau=1, cycle=" Ages")
    with pytest.raises(InputError, match="population is missing: ledger, population and cycle go together"):
        suppress(tmp_path / "kinds.csv", ledger=tmp_path / "ledger.sqlite", cycle="x")
    assert not (tmp_path / "out-kinds").exists() and len(read_ledger(tmp_path / "ledger.sqlite")) == 1


def test_other_counts_of_the_same_people_are_refused(tmp_path: Path) -> None:
    publish(tmp_path, "ages", AGES)
    with pytest.raises(InputError, match="are they the same people"):
        publish(tmp_path, "kinds", KINDS.replace("a,y,6", "a,y,8"))


def test_two_tables_that_were_suppressed_at_once_cannot_both_be_recorded(tmp_path: Path) -> None:
    (tmp_path / "ages.csv").write_text(AGES)
    (tmp_path / "kinds.csv").write_text(KINDS)
    publish(tmp_path, "other", AGES, population="elsewhere")
    named = {"ledger": tmp_path / "ledger.sqlite", "population": "town"}
    one = suppress(tmp_path / "ages.csv", cycle="1", **named)  # type: ignore[arg-type]
    two = suppress(tmp_path / "kinds.csv", cycle="2", **named)  # type: ignore[arg-type]
    one.write(tmp_path / "one")
    with pytest.raises(Exception, match="recorded meanwhile; run again"):
        two.write(tmp_path / "two")
    assert not (tmp_path / "two").exists()


def test_a_table_that_would_disclose_the_first_is_refused_and_not_recorded(tmp_path: Path) -> None:
    publish(tmp_path, "ab", "a,b,count\nx,u,2\nx,v,5\ny,u,2\ny,v,4\n")
    halves = {"x,u": (1, 1), "x,v": (1, 4), "y,u": (1, 1), "y,v": (2, 2)}
    rows = [f"{cell},{c},{count}" for cell, counts in halves.items() for c, count in zip("mn", counts, strict=True)]
    with pytest.raises(RefusedError, match="a x, b u.*: not known before"):
        publish(tmp_path, "abc", "\n".join(["a,b,c,count", *rows]) + "\n")
    assert len(read_ledger(tmp_path / "ledger.sqlite")) == 1

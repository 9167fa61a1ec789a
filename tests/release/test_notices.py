"""What the ledger notices: other spellings, other bands, the same people under another name, a ledger that is gone."""

import shutil
import sqlite3
import warnings
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from safemargin import ledger, release, suppress
from safemargin.core import InputError
from safemargin.history.file import open_ledger, read_ledger
from safemargin.history.names import normalised

pytestmark = [pytest.mark.usefixtures("no_pictures"), pytest.mark.full]

Row = dict[str, str]
SITES, GRADES = ("North", "South", "West"), ("junior", "senior")


def staff() -> list[Row]:
    """People at three sites and in two grades, of whom nine in twenty say yes."""
    return [
        {"badge": f"{site}{grade}{n}", "site": site, "grade": grade, "answer": "yes" if n < 9 else "no"}
        for site, grade in product(SITES, GRADES)
        for n in range(20)
    ]


def publish(
    folder: Path, cycle: str, rows: Sequence[Row], population: str = "staff", by: object = None, **more: object
) -> tuple[str, ...]:
    """Release the rows and record them; the notes of the release."""
    ledger = {"file": str(folder / "ledger.sqlite"), "population": population, "cycle": cycle}
    ledger |= {"turnover": "net", "answers": "kept"}
    if "id" in more:
        ledger["id"] = str(more.pop("id"))
        del ledger["turnover"]
    made = release(rows, answer="answer", by=by or ["site", "grade"], ledger=ledger, **more)  # type: ignore[arg-type]
    made.write(folder / f"out-{normalised(cycle)}-{normalised(population)}")
    return made.draft.plan.notes if hasattr(made, "draft") else made._passed.plan.notes


@pytest.mark.parametrize("name", ["Staff", "staff ", "\uff33\uff34\uff21\uff26\uff26", "sta\u200bff", "staff\u00a0"])
def test_a_name_in_another_spelling_is_the_same_population(tmp_path: Path, name: str) -> None:
    publish(tmp_path, "2025", staff())
    with pytest.raises(InputError, match="population 'staff': cycle '2025' was released already"):
        publish(tmp_path, " 2025", staff(), name)
    publish(tmp_path, "2026", staff(), name)
    assert {entry.population for entry in read_ledger(tmp_path / "ledger.sqlite")} == {"staff"}


def test_names_are_composed_without_case_and_with_single_spaces() -> None:
    assert normalised("Mu\u0308nchen  Staff") == normalised("m\u00fcnchen staff")
    assert normalised("staff") != normalised("staff 2")


def test_people_are_followed_under_the_name_that_the_ledger_has(tmp_path: Path) -> None:
    """Hashes of identifiers depend on the name: under another spelling everybody would seem to have been replaced."""
    publish(tmp_path, "2025", staff(), id="badge")
    publish(tmp_path, "2026", staff(), "Staff ", id="badge")
    first, second = read_ledger(tmp_path / "ledger.sqlite")
    assert first.members == second.members and len(first.members) == 120


def test_the_same_people_under_another_name_are_said(tmp_path: Path) -> None:
    publish(tmp_path, "2025", staff())
    (note,) = [note for note in publish(tmp_path, "x", staff(), "personnel") if "population 'staff'" in note]
    assert note.startswith("120 people of this release may be, by the rolls, also in population 'staff'")


def test_the_same_people_by_their_identifiers_under_another_name_are_said(tmp_path: Path) -> None:
    publish(tmp_path, "2025", staff(), id="badge")
    others = [{**row, "badge": f"new {row['badge']}"} for row in staff()]
    some = others[:100] + staff()[100:]
    (note,) = [note for note in publish(tmp_path, "x", some, "personnel", id="badge") if "population 'staff'" in note]
    assert note.startswith("20 people of this release are also in population 'staff'")
    assert not [note for note in publish(tmp_path, "y", others, "nobody", id="badge") if "population 'staff'" in note]


def aged(edge: int, old: str = "") -> list[Row]:
    """Ages 20 to 59, three people each; those of 40 and 41 all say yes. Bands are texts if `old` names the low one."""
    rows = []
    for age, n in product(range(20, 60), range(3)):
        band = {"band": (old or f"under {edge}") if age < edge else f"{edge} and over"}
        yes = n == 0 or age in (40, 41)
        rows.append({"age": str(age), "site": SITES[age % 3], "answer": "yes" if yes else "no", **band})
    return rows


def test_bands_that_are_renamed_to_the_old_ones_are_refused(tmp_path: Path) -> None:
    """`under 42` less `under 40` is six people, all of whom said yes."""
    by = {"age": {"bands": [40]}, "site": {}}
    publish(tmp_path, "2025", aged(40), by=by)
    renamed = {"bands": [42], "labels": {"under 42": "under 40", "42 and over": "40 and over"}}
    with pytest.raises(InputError, match=r"axes.age.bands were 40 in '2025' and are 42 now"):
        publish(tmp_path, "2026", aged(42), by={"age": renamed, "site": {}})


def test_categories_that_are_emptied_while_others_are_filled_are_refused(tmp_path: Path) -> None:
    """All four bands were listed from the start; by the rolls everybody left, and as many people came."""
    bands = {"categories": ["under 40", "40 and over", "under 42", "42 and over"]}
    publish(tmp_path, "2025", aged(40), by={"band": bands, "site": {}})
    with pytest.raises(InputError, match=r"nobody is in '40 and over' any more, .* follow people by ledger.id"):
        publish(tmp_path, "2026", aged(42), by={"band": bands, "site": {}})


def test_an_axis_on_which_most_people_moved_is_refused(tmp_path: Path) -> None:
    """The same, with somebody left in every category."""
    bands = {"categories": ["under 40", "40 and over", "under 42", "42 and over"]}
    some = [
        {"site": "North", "answer": answer, "band": band} for band in bands["categories"] for answer in ("yes", "no")
    ]
    publish(tmp_path, "2025", [*aged(40), *some], by={"band": bands, "site": {}}, target=None)
    with pytest.raises(InputError, match=r"120 of 128 people are in other categories than in '2025'"):
        publish(tmp_path, "2026", [*aged(42), *some], by={"band": bands, "site": {}})


def test_no_message_says_how_to_count_a_new_band_as_an_old_one(tmp_path: Path) -> None:
    publish(tmp_path, "2025", aged(40), by=["band", "site"])
    with pytest.raises(InputError, match="category '40 and over' is gone since '2025'") as caught:
        publish(tmp_path, "2026", aged(42), by=["band", "site"])
    assert "count it with" not in str(caught.value)


def test_a_new_ledger_beside_releases_that_name_another_is_refused(tmp_path: Path) -> None:
    publish(tmp_path, "2025", staff())
    (tmp_path / "ledger.sqlite").unlink()
    with pytest.raises(InputError, match="out-2025-staff was recorded in a ledger that is not here"):
        publish(tmp_path, "2026", staff())
    assert not (tmp_path / "ledger.sqlite").exists()


def test_a_new_ledger_elsewhere_is_refused_where_its_release_would_stand_beside_others(tmp_path: Path) -> None:
    publish(tmp_path, "2025", staff())
    (tmp_path / "other").mkdir()
    shutil.move(tmp_path / "ledger.sqlite", tmp_path / "other" / "old.sqlite")
    named = {"file": str(tmp_path / "new" / "ledger.sqlite"), "population": "staff", "cycle": "2026"}
    named |= {"turnover": "net", "answers": "kept"}
    (tmp_path / "new").mkdir()
    made = release(staff(), answer="answer", by=["site", "grade"], ledger=named)
    with pytest.raises(InputError, match="was recorded in a ledger that is not here"):
        made.write(tmp_path / "out-2026")
    assert not (tmp_path / "out-2026").exists() and not (tmp_path / "new" / "ledger.sqlite").exists()


def test_a_ledger_in_the_place_of_another_is_refused(tmp_path: Path) -> None:
    """It has a past of its own, but nothing about these people, whose release beside it names the other one."""
    for name, rows in (("one", staff()), ("two", [{**row, "site": f"{row['site']} school"} for row in staff()])):
        (tmp_path / name).mkdir()
        publish(tmp_path / name, "2025", rows, name)
    shutil.copy(tmp_path / "one" / "ledger.sqlite", tmp_path / "two" / "ledger.sqlite")
    with pytest.raises(InputError, match="out-2025-two was recorded in a ledger that is not here, .* about 'two'"):
        publish(tmp_path / "two", "2026", rows, "two")


def test_a_new_ledger_beside_one_with_the_same_population_is_refused(tmp_path: Path) -> None:
    publish(tmp_path, "2025", staff())
    shutil.move(tmp_path / "ledger.sqlite", tmp_path / "old.sqlite")
    with pytest.raises(InputError, match=r"holds nothing about 'Staff', and old.sqlite beside it does"):
        publish(tmp_path, "2026", staff(), "Staff")


def test_two_ledgers_may_stand_side_by_side(tmp_path: Path) -> None:
    publish(tmp_path, "2025", staff())
    shutil.move(tmp_path / "ledger.sqlite", tmp_path / "staff.sqlite")
    publish(tmp_path, "2026", [{**row, "site": f"{row['site']} school"} for row in staff()], "pupils")
    assert len(read_ledger(tmp_path / "staff.sqlite")) == len(read_ledger(tmp_path / "ledger.sqlite")) == 1


@pytest.mark.parametrize("drop", [(), ("chain", "head", "pending")])
def test_a_ledger_that_says_it_has_no_hashes_is_refused(tmp_path: Path, drop: tuple[str, ...]) -> None:
    """`user_version = 1` would switch off every check of the chain, and give the ledger another name."""
    publish(tmp_path, "2025", staff())
    with sqlite3.connect(tmp_path / "ledger.sqlite") as database:
        database.execute("pragma user_version = 1")
        database.execute("update release set epsilon = 0")
        for name in drop:
            database.execute(f"drop table {name}")
    database.close()
    with warnings.catch_warnings(), pytest.raises(InputError, match="restore"):
        warnings.simplefilter("ignore", UserWarning)  # that it has no hashes is noted first
        open_ledger(tmp_path / "ledger.sqlite")


def test_releases_and_suppressed_tables_do_not_share_a_population(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,count\nx,u,2\nx,v,5\ny,u,2\ny,v,9\n")
    publish(tmp_path, "2025", staff())
    named = {"ledger": tmp_path / "ledger.sqlite", "cycle": "t"}
    with pytest.raises(InputError, match="'2025' is a release"):
        suppress(tmp_path / "t.csv", population="STAFF", **named)  # type: ignore[arg-type]
    suppress(tmp_path / "t.csv", population="sites", **named).write(tmp_path / "gaps")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'t' was published by suppress"):
        publish(tmp_path, "2026", staff(), "Sites")
    assert [known["population"] for known in ledger(tmp_path / "ledger.sqlite").to_json()["populations"]] == [
        "staff",
        "sites",
    ]

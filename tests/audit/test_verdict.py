"""One verdict: small printed counts, zeros that are printed, rows of zero that a file omits, a column called people."""

from pathlib import Path

import pytest

from commands import Run, in_process
from safemargin import audit, verify


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(text)
    return path


def test_small_printed_counts_are_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run: Run = in_process(monkeypatch, capsys)
    path = table(tmp_path, "town,age,count\na,old,1\na,young,3\nb,old,9\nb,young,2\n")
    ran = run("audit", path)
    assert ran.code == 1
    assert "3 cells of 1 to 3 people are printed" in ran.out and "nothing found" not in ran.out
    assert "1 attack succeeded (small): 6 people exposed." in ran.out
    assert run("audit", path, "--kappa", "10").code == 1
    assert run("audit", path, "--kappa", "1").code == 0, "then no group is small"


def test_unanimous_groups_and_nearly_unanimous_ones_are_counted_apart(tmp_path: Path) -> None:
    """Two groups are unanimous; in three more all but 1, 2 and 3 people answered alike, in one all but 4.

    They have fewer people than the minimum group; in larger ones, all but 2 of 40 would lie within the limits.
    """
    others = {"a": 0, "b": 0, "c": 1, "d": 2, "e": 3, "f": 4, "g": 10}
    path = table(
        tmp_path, "town,option,count\n" + "".join(f"{t},yes,{20 - n}\n{t},no,{n}\n" for t, n in others.items())
    )
    findings = audit([path], tau=3)
    attempt = findings.to_json()["attacks"][0]
    assert (attempt["unanimous"], attempt["nearly_unanimous"], len(attempt["findings"])) == (2, 3, 5)
    words = (
        "2 of 7 non-empty groups are unanimous: how 40 people answered can be read off the tables; in 3 more, all but "
        "1 to 3 people answered alike"
    )
    assert attempt["summary"] == words and words in findings.to_html() and words in findings.to_text(400)
    first = audit([path], tau=1).attempts[0]
    assert first.summary.endswith("; in 1 more, all but 1 person answered alike")
    exact = audit([path]).to_json()["attacks"][0]
    assert (exact["unanimous"], exact["nearly_unanimous"], len(exact["findings"])) == (2, 0, 2)
    assert exact["summary"] == words.partition(";")[0]
    alone = audit([table(tmp_path, "town,option,count\na,yes,18\na,no,2\nb,yes,20\nb,no,20\n")], tau=3).attempts[0]
    assert alone.summary == "none of 2 non-empty groups is unanimous; in 1, all but 1 to 3 people answered alike"


def test_what_is_printed_is_not_called_disclosed_beside_nothing_found(tmp_path: Path) -> None:
    rows = [(f"t{n}", age, 0 if (n + len(age)) % 3 else 10 + n) for n in range(35) for age in ("old", "young")]
    path = table(tmp_path, "town,age,count\n" + "".join(f"{town},{age},{n}\n" for town, age, n in rows))
    findings = audit([path])
    assert findings.is_safe
    text = " ".join(findings.to_text().split())
    assert "0 disclosed" in text and "70 cells printed" in text
    assert findings.to_json()["printed"] == 70


def test_the_cells_of_an_empty_margin_are_no_finding(tmp_path: Path) -> None:
    (tmp_path / "town.csv").write_text("town,count\na,0\nb,40\nc,30\n")
    (tmp_path / "age.csv").write_text("age,count\nold,35\nyoung,35\n")
    findings = audit([tmp_path / "town.csv", tmp_path / "age.csv"])
    assert findings.is_safe, findings.to_text()


def test_words_and_verdict_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If a cell that nobody prints is called disclosed, an attack found it, and the exit code says so."""
    run: Run = in_process(monkeypatch, capsys)
    (tmp_path / "town.csv").write_text("town,count\na,50\nb,40\n")
    (tmp_path / "age.csv").write_text("age,count\nold,85\nyoung,5\n")
    (tmp_path / "kind.csv").write_text("town,kind,count\na,x,50\na,y,0\nb,x,0\nb,y,40\n")
    (tmp_path / "hidden.csv").write_text("town,option,count\na,yes,\na,no,\nb,yes,20\nb,no,25\n")
    (tmp_path / "total.csv").write_text("option,count\nyes,50\nno,35\n")
    for names, expected in ((("town", "age", "kind"), 0), (("hidden",), 0), (("hidden", "total"), 2)):
        files = [tmp_path / f"{name}.csv" for name in names]
        findings, ran = audit(files), run("audit", *files)
        assert int(findings.intervals().split(" disclosed")[0]) == expected, names
        assert findings.is_safe == (expected == 0) and ran.code == (1 if expected else 0), names
        assert ("nothing found" in ran.out) == (expected == 0) and ("succeeded" in ran.out) == (expected > 0), names


def test_a_file_that_omits_rows_of_zero(tmp_path: Path) -> None:
    path = table(tmp_path, "town,option,count\na,yes,30\nb,yes,20\nb,no,25\n")
    (attempt,) = [attempt for attempt in audit([path]).attempts if attempt.attack == "homogeneity"]
    assert [finding.cell for finding in attempt.findings] == [{"town": "a"}]
    path = table(tmp_path, "town,option,count\na,yes,30\nb,yes,20\nb,no,25\nc,yes,45\nc,no,0\n")
    (attempt,) = [attempt for attempt in audit([path]).attempts if attempt.attack == "homogeneity"]
    assert [finding.cell for finding in attempt.findings] == [{"town": "c"}], "zeros are listed: nobody could choose no"


def test_a_column_called_people_is_audited(tmp_path: Path) -> None:
    path = table(tmp_path, "town,age,people\na,old,1\na,young,30\nb,old,90\nb,young,20\n")
    findings = audit([path], certificate=tmp_path / "c.json")
    assert not findings.is_safe and findings.attempts[-1].looked_at == 4
    assert verify(tmp_path / "c.json", path).holds


def test_a_disclosed_count_of_nobody_is_no_number_of_exposed_people(tmp_path: Path) -> None:
    (tmp_path / "total.csv").write_text("count\n12\n")
    text = audit([table(tmp_path, "area,count\nx,5\ny,\nz,7\n"), tmp_path / "total.csv"]).to_text()
    assert "succeeded (subtraction, suppressed, joint): 1 count disclosed." in text

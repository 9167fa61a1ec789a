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


def test_what_is_printed_is_not_called_disclosed_beside_nothing_found(tmp_path: Path) -> None:
    rows = [(f"t{n}", age, 0 if (n + len(age)) % 3 else 10 + n) for n in range(35) for age in ("old", "young")]
    path = table(tmp_path, "town,age,count\n" + "".join(f"{town},{age},{n}\n" for town, age, n in rows))
    findings = audit([path])
    assert findings.is_safe
    assert "0 disclosed" in findings.to_text() and "70 cells printed" in findings.to_text()
    assert findings.to_json()["printed"] == 70


def test_the_cells_of_an_empty_margin_are_no_finding(tmp_path: Path) -> None:
    (tmp_path / "town.csv").write_text("town,count\na,0\nb,40\nc,30\n")
    (tmp_path / "age.csv").write_text("age,count\nold,35\nyoung,35\n")
    findings = audit([tmp_path / "town.csv", tmp_path / "age.csv"])
    assert findings.is_safe, findings.to_text()


def test_words_and_verdict_agree(tmp_path: Path) -> None:
    """If a cell that nobody prints is called disclosed, an attack found it."""
    (tmp_path / "town.csv").write_text("town,count\na,50\nb,40\n")
    (tmp_path / "age.csv").write_text("age,count\nold,85\nyoung,5\n")
    (tmp_path / "kind.csv").write_text("town,kind,count\na,x,50\na,y,0\nb,x,0\nb,y,40\n")
    findings = audit([tmp_path / name for name in ("town.csv", "age.csv", "kind.csv")])
    disclosed = int(findings.intervals().split(" disclosed")[0])
    assert findings.is_safe == (disclosed == 0)


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

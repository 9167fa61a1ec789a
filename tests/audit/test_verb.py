"""The public function takes what the command takes, from files or from memory."""

import json
from pathlib import Path

import pytest

import safemargin
from commands import Run, in_process
from safemargin.core import InputError, Publication, Target
from safemargin.io import read_tidy

CLUB = [
    {"club": "chess", "option": "yes", "count": 12},
    {"club": "chess", "option": "no", "count": 0},
    {"club": "rowing", "option": "yes", "count": 27},
    {"club": "rowing", "option": "no", "count": 19},
]
ROLL = [{"club": "chess", "people": 12}, {"club": "rowing", "people": 46}]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def club(tmp_path: Path) -> Path:
    path = tmp_path / "club.csv"
    rows = "".join(f"{row['club']},{row['option']},{row['count']}\n" for row in CLUB)
    path.write_text(f"club,option,count\n{rows}")
    (tmp_path / "roll.csv").write_text("club,people\nchess,12\nrowing,46\n")
    return path


def test_the_function_gives_what_the_command_prints(run: Run, club: Path) -> None:
    findings = safemargin.audit(club, roll=club.parent / "roll.csv", kappa=5)
    ran = run("audit", club, "--roll", club.parent / "roll.csv", "--kappa", 5, "--json")
    assert json.loads(json.dumps(findings.to_json())) == ran.document and ran.code == 1
    assert findings.to_text(120) == run("audit", club, "--roll", club.parent / "roll.csv", "--kappa", 5).out
    page = findings.to_html()
    assert "Disclosed by homogeneity" in page and "12 of 12 gave" in page


def test_tables_in_memory(club: Path) -> None:
    pandas = pytest.importorskip("pandas")
    expected = safemargin.audit(club, roll=club.parent / "roll.csv")
    frame, roll = pandas.DataFrame(CLUB), pandas.DataFrame(ROLL)
    for given in (
        frame,
        [frame],
        CLUB,
        read_tidy(club),
        [read_tidy(club)],
        Publication((read_tidy(club),), Target(kappa=10, tau=0)),
    ):
        findings = safemargin.audit(given, roll=roll)
        assert not findings.is_safe
        assert [attempt.people_exposed for attempt in findings.attempts] == [
            attempt.people_exposed for attempt in expected.attempts
        ]


def test_a_certificate_is_about_files(club: Path, tmp_path: Path) -> None:
    safemargin.audit(club, certificate=tmp_path / "proof.json")
    assert json.loads((tmp_path / "proof.json").read_text())["files"][0]["name"] == "club.csv"
    with pytest.raises(InputError, match="certificate: tables must be files"):
        safemargin.audit(CLUB, certificate=tmp_path / "proof.json")
    with pytest.raises(InputError, match="give one of them"):
        safemargin.audit(club, certificate=tmp_path / "proof.json", decide=True)


def test_earlier_tables_in_memory() -> None:
    """One person joined chess: the difference of the two releases is that person's answer."""
    before = [{"club": "chess", "option": "yes", "count": 11}, *CLUB[1:]]
    rolls = {"roll": ROLL, "earlier_roll": [{"club": "chess", "people": 11}, ROLL[1]]}
    findings = safemargin.audit(CLUB, earlier=before, **rolls)
    (attempt,) = (attempt for attempt in findings.attempts if attempt.attack == "differencing")
    assert attempt.findings


def test_nothing_to_attack() -> None:
    with pytest.raises(InputError, match="give at least one table"):
        safemargin.audit([])

"""Several questions on the command line: wrong input is one line and exit code 2, and nothing is written."""

import csv
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import safemargin
from safemargin.core import Target
from surveys import staff_survey

pytestmark = pytest.mark.full

DATA = '[data]\nfile = "x.csv"\nanswers = ["q1", "q2"]\n'
AXES = "[axes.site]\n"
COUNTS = '[data]\nfile = "wide.csv"\noptions = {columns = ["Yes", "No"], total = "Total"}\n'


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "safemargin", *arguments]
    return subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("project", "words"),
    [
        (DATA + AXES + '[target]\nsecrets = {default = "choice", "maybe" = "both"}\n', "there is no option 'maybe'"),
        (DATA + AXES + '[questions.q1]\nsecrets = {sets = [["1", "9"]]}\n', "questions.q1.secrets"),
        ('[data]\nfile = "x.csv"\nanswers = ["q1", "site"]\n' + AXES, "'site' is also a question"),
        ('[data]\nfile = "x.csv"\nanswers = "z*"\n' + AXES, "data.answers = 'z*': matches no column"),
        ('[data]\nfile = "x.csv"\nanswers = ["q1", "q9"]\n' + AXES, "q9"),
        (COUNTS + "[axes.area]\n", "Total"),
    ],
)
def test_wrong_input_is_one_line_and_nothing_is_written(tmp_path: Path, project: str, words: str) -> None:
    write(tmp_path / "x.csv", staff_survey(people=120, questions=2))
    areas = [{"area": f"a{n}", "Yes": 40 + n, "No": 50, "Total": 90 + n + (n == 3)} for n in range(6)]
    write(tmp_path / "wide.csv", areas)
    (tmp_path / "project.toml").write_text(project)
    before = sorted(path.name for path in tmp_path.iterdir())
    done = command(tmp_path, "release", "project.toml", "--out", "out")
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_copied_table_of_several_questions_is_no_all_clear(tmp_path: Path) -> None:
    """Without its manifest, nothing says that its rows are several questions: the reading is doubtful, exit code 3."""
    made = safemargin.release(
        staff_survey(people=400, questions=2), answers="q*", by=["site", "gender"], target=Target(kappa=10)
    )
    folder = made.write(tmp_path / "out") / "published"
    (tmp_path / "copy.csv").write_bytes((folder / "site.csv").read_bytes())
    done = command(tmp_path, "audit", "copy.csv")
    assert done.returncode == 3, done.stdout
    assert "several questions" in " ".join(done.stdout.split())
    findings = safemargin.audit(tmp_path / "copy.csv")
    assert any("count once for each" in doubt for doubt in findings.doubts)

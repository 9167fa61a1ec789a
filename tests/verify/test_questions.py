"""Several questions in one certificate: witnesses are tuples, which the checker adds up and `--rerun` runs."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import safemargin
from safemargin import checker
from safemargin.core import InputError, Target
from surveys import staff_survey

pytestmark = pytest.mark.full

TARGET = Target(kappa=5, tau=1)
Files = dict[str, bytes]


def survey(kind: str) -> list[dict[str, str]]:
    """140 people by an ordered axis and another; of `merged`, nearly all of one group answer one question alike."""
    rows = []
    for number in range(140):
        grade, site = f"g{number % 5}", "north" if number % 7 < 4 else "south"
        first = "yes" if number % 3 else "no"
        if kind == "merged" and grade == "g2":
            first = "yes"
        second = "123"[(number // 5 + number % 2) % 3]
        silent = kind == "blank" and number % 11 == 3
        rows.append({"grade": grade, "site": site, "q1": first, "q2": "" if silent else second})
    return rows


def made(folder: Path, kind: str, **said: Any) -> safemargin.Release:
    by = {"grade": {"ordered": True}, "site": {}}
    result = safemargin.release(survey(kind), answers=["q1", "q2"], by=by, target=TARGET, **said)
    result.write(folder)
    return result


def folders(folder: Path) -> tuple[Files, Files]:
    return checker.read_folder(str(folder / "published")), checker.read_folder(str(folder / "auditors"))


def with_auditors(files: Files, auditors: Files, name: str, change: Callable[[Any], None]) -> tuple[Files, Files]:
    """Both folders after a forger changed a file for auditors and every hash that depends on it."""
    files, auditors = dict(files), dict(auditors)
    content = json.loads(auditors[name])
    change(content)
    auditors[name] = json.dumps(content).encode()
    manifest = json.loads(auditors["manifest.json"])
    manifest["files"][name] = hashlib.sha256(auditors[name]).hexdigest()
    auditors["manifest.json"] = json.dumps(manifest).encode()
    mark = hashlib.sha256(auditors["manifest.json"]).hexdigest()
    certificate, outer = json.loads(files["certificate.json"]), json.loads(files["manifest.json"])
    certificate["auditors"] = outer["auditors"] = mark
    files["certificate.json"] = json.dumps(certificate).encode()
    outer["files"]["certificate.json"] = hashlib.sha256(files["certificate.json"]).hexdigest()
    files["manifest.json"] = json.dumps(outer).encode()
    return files, auditors


def written(folder: Path, files: Files, auditors: Files) -> Path:
    for name, content in (("published", files), ("auditors", auditors)):
        (folder / name).mkdir(parents=True)
        for file, held in content.items():
            (folder / name / file).write_bytes(held)
    return folder


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("plain", {}),
        ("merged", {"protect": "merge"}),
        ("merged", {"tables": {"groups": "each"}}),
        ("merged", {"protect": "suppress"}),
        ("blank", {"outputs": {"wide": True, "quote_formulas": True}}),
    ],
)
def test_tuples_are_carried_checked_and_rerun(tmp_path: Path, kind: str, said: dict[str, Any]) -> None:
    result = made(tmp_path / "out", kind, **said)
    published, auditors = tmp_path / "out/published", tmp_path / "out/auditors"
    held = json.loads((auditors / "witnesses.json").read_text())["questions"]
    assert [each["question"] for each in held] == ["q1", "q2"]
    assert (held[0]["roll"] != held[1]["roll"]) == (kind == "blank")  # those who answered are the roll of a question
    checked = safemargin.verify(published, auditors=auditors)
    assert (checked.outcome, checked.failures) == ("holds", ())
    assert not any("figures" in note for note in checked.unchecked)
    again = safemargin.verify(published, auditors=auditors, rerun=True)
    assert (again.outcome, again.failures) == ("holds", ())
    assert (result.certificate.rule == "rerun") == (again.reruns > 0)
    assert result.certificate.statement == json.loads((published / "certificate.json").read_text())["statement"]
    assert "no table ties answers to different questions" in again.statement
    if kind == "merged":
        assert again.reruns > 0


def test_questions_with_other_secrets_are_named_in_the_statement(tmp_path: Path) -> None:
    """Of two options both sides are secret, of three the choice: what is said of both is the weaker of the two."""
    result = made(tmp_path / "out", "plain")
    assert "('q1') fewer than 5 %" in result.certificate.statement
    assert "('q2') more than 95 %" in result.certificate.statement
    assert "A count above 0 of these can be inferred" in result.certificate.statement


def other_count(content: Any) -> None:
    content["questions"][1]["tables"][0][0] += 1


def one_question(content: Any) -> None:
    del content["questions"][0]


def wide_move(content: Any) -> None:
    content["questions"][0]["moves"].append({"from": 0, "changes": [[0, 0, 1], [0, 1, -1]]})


def narrow(content: Any) -> None:
    for question in content["questions"]:
        question["tables"], question["moves"] = question["tables"][:1], []


@pytest.mark.parametrize("change", [other_count, one_question, wide_move, narrow])
def test_forged_tuples_fail(tmp_path: Path, change: Callable[[Any], None]) -> None:
    made(tmp_path / "out", "merged", protect="merge")
    forged = with_auditors(*folders(tmp_path / "out"), "witnesses.json", change)
    assert checker.check(*folders(tmp_path / "out")).outcome == "holds"
    assert checker.check(*forged).outcome == "fails"


def without_reasons(content: Any) -> None:
    for question in content["questions"]:
        question["fixed"] = []


def merged_by_nobody(content: Any) -> None:
    """A rule by which every question has its own groups: then nothing explains that the second is merged too."""
    content["groups"] = "each"


@pytest.mark.parametrize(("name", "change"), [("witnesses.json", without_reasons), ("rule.json", merged_by_nobody)])
def test_rerun_notices_tuples_that_lead_elsewhere(tmp_path: Path, name: str, change: Callable[[Any], None]) -> None:
    made(tmp_path / "out", "merged", protect="merge")
    folder = written(tmp_path / "forged", *with_auditors(*folders(tmp_path / "out"), name, change))
    checked = safemargin.verify(folder / "published", auditors=folder / "auditors", rerun=True)
    assert checked.outcome == "fails"


def test_rerun_refuses_a_target_that_is_not_that_of_the_certificate(tmp_path: Path) -> None:
    made(tmp_path / "out", "merged", protect="merge")
    files, auditors = folders(tmp_path / "out")
    outer = json.loads(files["manifest.json"])
    outer["questions"][1]["target"]["secrets"] = {"default": "choice", "1": "none"}
    files["manifest.json"] = json.dumps(outer).encode()
    folder = written(tmp_path / "forged", files, auditors)
    with pytest.raises(InputError, match="has another target than the certificate"):
        safemargin.verify(folder / "published", auditors=folder / "auditors", rerun=True)


def test_a_question_without_an_axis_is_checked_without_it(tmp_path: Path) -> None:
    """So few people answered q3 that the axis is omitted for it: its tables are fewer, and they are checked."""
    rows = [{**row, "q3": row["q2"] if number < 12 else ""} for number, row in enumerate(survey("plain"))]
    result = safemargin.release(rows, answers=["q1", "q3"], by=["grade", "site"], target=TARGET)
    result.write(tmp_path / "out")
    grades = {row["question"] for row in result.tables["grade"].to_dict("records")}
    assert grades == {"q1"}
    assert safemargin.verify(tmp_path / "out/published", auditors=tmp_path / "out/auditors").outcome == "holds"


@pytest.mark.slow
def test_survey_of_twelve_questions_is_checked(tmp_path: Path) -> None:
    rows = staff_survey(people=500, questions=12)
    result = safemargin.release(rows, answers="q*", by=["site", "grade", "gender"], target=Target(kappa=10))
    result.write(tmp_path / "out")
    checked = safemargin.verify(tmp_path / "out/published", auditors=tmp_path / "out/auditors", rerun=True)
    assert (checked.outcome, checked.failures) == ("holds", ())

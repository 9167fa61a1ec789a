"""Witnesses that a release carries: who holds the roll verifies them, and forged ones are refused by name."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Run, in_process
from safemargin import Target, release, verify
from safemargin.bounds import digest, manifest_digest
from safemargin.core import InputError, Tally, frozen
from safemargin.io import hash_file, read_tidy
from safemargin.release.witnesses import FACTS, WITNESSES, Carried, unmasked

STAFF = {
    ("Aarau", "junior"): (160, 70),
    ("Aarau", "senior"): (120, 66),
    ("Basel", "junior"): (140, 77),
    ("Basel", "senior"): (100, 41),
    ("Chur", "junior"): (60, 59),
    ("Chur", "senior"): (40, 39),
    ("Davos", "junior"): (37, 13),
    ("Davos", "senior"): (35, 12),
}
"""Nearly all of Chur said yes, so it is merged with Davos for its answers."""


def rows_of(staff: dict[tuple[str, str], tuple[int, int]]) -> list[dict[str, object]]:
    answers = [(cell, word, n) for cell, (all_, yes) in staff.items() for word, n in (("yes", yes), ("no", all_ - yes))]
    return [{"site": site, "grade": grade, "v": word, "n": n} for (site, grade), word, n in answers]


def released(staff: dict[tuple[str, str], tuple[int, int]], **more: Any) -> Any:
    return release(rows_of(staff), answer="v", count="n", by=["site", "grade"], target=Target(kappa=20, tau=0), **more)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original")
    made = released(STAFF)
    assert made.certificate.rule == "rerun" and "Chur | Davos" in (made.tables["site"]["site"]).tolist()
    made.write(folder / "out")
    return folder / "out"


@pytest.fixture
def out(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "out"))


def failures(out: Path, rerun: bool = True, roll: Path | None = None) -> str:
    published = out / "published"
    found = verify(published / "certificate.json", published, roll or out / "confidential/roll.csv", rerun=rerun)
    assert found.holds is not bool(found.failures)
    return "\n".join(found.failures)


def carried(out: Path) -> tuple[Carried, str]:
    stated = json.loads((out / "published/certificate.json").read_text())
    mark = digest({name: value for name, value in stated["files"].items() if name != WITNESSES})
    roll = read_tidy(out / "confidential/roll.csv", count="people")
    return unmasked((out / "published" / WITNESSES).read_bytes(), [roll], mark), mark


def forge(out: Path, change: Callable[[Carried], Carried] | None = None, **stated: object) -> None:
    """Other witnesses, or another certificate, with every hash made anew as somebody could who holds the roll."""
    place = out / "published"
    if change is not None:
        held, mark = carried(out)
        (place / WITNESSES).write_bytes(change(held).masked(mark))
    certificate, manifest = (json.loads((place / f"{kind}.json").read_text()) for kind in ("certificate", "manifest"))
    certificate |= stated
    manifest |= {name: value for name, value in stated.items() if name in manifest}
    certificate["files"] = {name: hash_file(place / name) for name in certificate["files"] if (place / name).is_file()}
    certificate["manifest"] = manifest_digest(manifest)
    (place / "certificate.json").write_text(json.dumps(certificate))
    names = [*certificate["files"], "certificate.json", "index.html"]
    manifest["files"] = {name: hash_file(place / name) for name in names}
    (place / "manifest.json").write_text(json.dumps(manifest))


def with_counts(table: Tally, change: Callable[[np.ndarray], None]) -> Tally:
    counts = np.array(table.counts)
    change(counts)
    return replace(table, counts=frozen(counts, counts.shape[1]))


def in_first(change: Callable[[np.ndarray], None]) -> Callable[[Carried], Carried]:
    return lambda held: replace(held, tables=(with_counts(held.tables[0], change), *held.tables[1:]))


def add(place: tuple[int, int], units: int) -> Callable[[np.ndarray], None]:
    def change(counts: np.ndarray) -> None:
        counts[place] += units

    return change


def exchange(counts: np.ndarray) -> None:
    """Answers of Chur and Davos exchanged within a grade until their shares are alike: it fits, and publishes more."""
    for grade in (0, 1):
        both = counts[[4 + grade, 6 + grade]].sum(axis=0)
        people = counts[[4 + grade, 6 + grade]].sum(axis=1)
        counts[4 + grade] = both * people[0] // people.sum()
        counts[4 + grade, 1] += people[0] - counts[4 + grade].sum()
        counts[6 + grade] = both - counts[4 + grade]


def test_witnesses_are_verified_with_the_roll_alone(out: Path) -> None:
    stated = json.loads((out / "published/certificate.json").read_text())
    assert stated["carried"] == {"file": WITNESSES, "tables": stated["witnesses"]}
    found = verify(out / "published/certificate.json", out / "published", out / "confidential/roll.csv", rerun=True)
    assert (found.failures, found.unchecked) == ((), ())
    assert found.tables == found.reruns == stated["witnesses"] and found.cells > 8
    fit = verify(out / "published/certificate.json", out / "published", out / "confidential/roll.csv")
    assert fit.holds and fit.tables and not fit.reruns and "with --rerun" in fit.unchecked[1]
    without = verify(out / "published/certificate.json", out / "published")
    assert without.holds and not without.tables and "give the joint roll" in without.unchecked[1]


def test_the_certificate_lists_attacks_that_ran_and_those_that_did_not(out: Path) -> None:
    certificate, manifest = (
        json.loads((out / f"published/{kind}.json").read_text()) for kind in ("certificate", "manifest")
    )
    assert certificate["attacks"] == manifest["attacks"]
    (informed,) = certificate["attacks"]
    assert informed["onlooker"] == "informed" and {"homogeneity", "joint", "rule", "subtraction"} <= {
        *informed["tried"]
    }
    assert informed["skipped"]["noise"] == "no count is noised"
    assert "the program publishes the same for each of them" in informed["skipped"]["rerun"]
    assert "Attacks that were not tried: noise" in (out / "confidential/report.html").read_text()


def test_a_roll_with_more_columns_and_another_order_reads_them_too(out: Path, tmp_path: Path) -> None:
    head, *rows = (out / "confidential/roll.csv").read_text().split()
    (tmp_path / "roll.csv").write_text("\n".join([f"sex,{head}", *(f"f,{row}" for row in rows[::-1])]) + "\n")
    assert failures(out, roll=tmp_path / "roll.csv") == ""
    (tmp_path / "roll.csv").write_text((out / "confidential/roll.csv").read_text().replace(",160", ",161"))
    assert "cannot be read with this roll" in failures(out, roll=tmp_path / "roll.csv")


def test_without_the_roll_the_file_is_noise(original: Path) -> None:
    content = (original / "published" / WITNESSES).read_bytes()
    assert b"Aarau" not in content and b"safemargin" not in content
    held, mark = carried(original)
    assert b"Chur" in repr(held.schema).encode() and held.masked("another release") != held.masked(mark)


def test_witnesses_follow_from_what_is_public(original: Path) -> None:
    """Other answers that lead to the same files lead to the same witnesses, byte for byte."""
    held, _ = carried(original)
    axes = held.schema.axes
    names = [tuple(axis.categories[c] for axis, c in zip(axes, row, strict=True)) for row in held.roll.codes.tolist()]
    yes = held.schema.options.index("yes")
    people, answers = held.roll.counts[:, 0].tolist(), held.tables[-1].counts[:, yes].tolist()
    staff = {name: (n, count) for name, n, count in zip(names, people, answers, strict=True)}
    assert staff != STAFF
    files = {path.name: path.read_bytes() for path in (original / "published").iterdir()}
    assert released(staff)._files == files


FORGED = {
    "a changed cell": (in_first(add((0, 0), 1)), r"table 1: has more answers of some kind than the roll"),
    "one answer less": (in_first(add((0, 0), -1)), r"table 1: does not agree with total.json \(no: \d+ instead of"),
    "other sums": (in_first(lambda counts: np.copyto(counts, counts[:, ::-1])), r"table 1: does not agree with"),
    "one removed": (lambda held: replace(held, tables=held.tables[1:]), r"holds \d+ tables, the certificate says"),
    "no reason": (lambda held: replace(held, parts=()), r"fixes no sums that explain why site Chur \| Davos is merged"),
    "a reason that is none": (
        lambda held: replace(held, parts=(), tables=tuple(with_counts(each, exchange) for each in held.tables)),
        r"table 1: the rule, run on it, publishes something else",
    ),
    "another rule": (lambda held: replace(held, protect="suppress"), r"the rule, run on it, publishes something else"),
}


@pytest.mark.parametrize("kind", FORGED)
def test_forged_witnesses(out: Path, kind: str) -> None:
    change, message = FORGED[kind]
    forge(out, change)
    assert re.search(message, failures(out)), failures(out)


def test_a_stronger_target_than_was_shown(out: Path) -> None:
    """The same witnesses do not show that every count is open by more than a quarter of its people."""
    stated = json.loads((out / "published/certificate.json").read_text())
    forge(out, target={**stated["target"], "tau": 40})
    assert re.search(r"witnesses.bin: does not show \d+ counts within the target", failures(out, rerun=False))


def test_label_without_witnesses(out: Path) -> None:
    (out / "published" / WITNESSES).unlink()
    forge(out, carried={"reason": "none were left"})
    assert "witnesses.bin: is not there, so nothing shows what rule = 'rerun' says" in failures(out, rerun=False)
    forge(out, carried={"reason": FACTS})
    assert failures(out, rerun=False) == "" and "is not there" in failures(out)


def test_changed_file_and_file_of_another_release(out: Path, tmp_path: Path) -> None:
    path = out / "published" / WITNESSES
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert "its hash differs" in failures(out)
    forge(out)
    assert "its seal does not match" in failures(out)
    other = {**STAFF, ("Aarau", "junior"): (160, 71)}
    released(other).write(tmp_path / "other")
    path.write_bytes((tmp_path / "other/published" / WITNESSES).read_bytes())
    forge(out)
    assert "cannot be read with this roll" in failures(out)


def test_what_is_not_shown_is_not_run(tmp_path: Path) -> None:
    onlookers = [{"name": "x", "knows_rule": False}]
    made = released(STAFF, onlookers=onlookers)
    made.write(tmp_path / "out")
    assert made.certificate.rule == "not shown"
    place, roll = tmp_path / "out/published", tmp_path / "out/confidential/roll.csv"
    found = verify(place / "certificate.json", place, roll)
    assert (found.failures, found.unchecked, found.reruns) == ((), (), 0) and found.tables and found.cells > 8
    assert "it does not say that the rule was run on other answers" in failures(tmp_path / "out")
    forge(tmp_path / "out", statement="Nobody can infer anything, whatever they know.")
    (claim,) = verify(place / "certificate.json", place, roll).unchecked
    assert "whatever they know" in claim
    forge(tmp_path / "out", in_first(add((0, 0), -1)))
    assert "does not agree with" in failures(tmp_path / "out", rerun=False)


def test_facts_of_an_onlooker_are_not_carried(tmp_path: Path) -> None:
    (tmp_path / "fact.csv").write_text("site,grade,option,count\nAarau,junior,yes,70\n")
    made = released(STAFF, onlookers=[{"name": "x", "facts": [str(tmp_path / "fact.csv")]}])
    made.write(tmp_path / "out")
    stated = json.loads((tmp_path / "out/published/certificate.json").read_text())
    if stated["rule"] == "rerun":
        assert stated["carried"] == {"reason": FACTS}
    assert not (tmp_path / "out/published" / WITNESSES).exists()


def test_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], out: Path) -> None:
    run: Run = in_process(monkeypatch, capsys)
    call = ("verify", out / "published/certificate.json", out / "published")
    good = run(*call, "--roll", out / "confidential/roll.csv", "--rerun")
    assert good.code == 0 and "The rule, run on each of them, publishes the same." in good.out
    assert "rerun: needs the joint roll" in run(*call, "--rerun").err
    forge(out, in_first(add((0, 0), 1)))
    assert run(*call, "--roll", out / "confidential/roll.csv").code == 1


@pytest.mark.parametrize("protect", ["suppress"])
def test_other_protections_and_tables_of_several_axes(tmp_path: Path, protect: str) -> None:
    released(STAFF, protect=protect).write(tmp_path / "out")
    assert failures(tmp_path / "out") == ""
    calm = {cell: (people, people // 2) for cell, (people, _) in STAFF.items()}
    made = released(calm, outputs={"margins": [["site", "grade"]]})
    made.write(tmp_path / "crossed")
    assert made.certificate.rule == "rerun" and failures(tmp_path / "crossed") == ""


def test_rerun_is_for_releases(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"schema": 1, "kind": "bounds"}')
    with pytest.raises(InputError, match="rerun: is for certificates of releases"):
        verify(tmp_path / "c.json", tmp_path, rerun=True)

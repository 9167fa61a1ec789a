"""Whole projects, from the files of an office to the files it publishes, and back through the audit."""

import csv
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from commands import Ran, Run, in_process, release_into
from safemargin import Draft
from safemargin.audit.findings import Attempt, Finding, Findings
from safemargin.core import OutputError
from safemargin.release import attacks, witnesses
from safemargin.release.rule.lot import RandomisedSelection

pytestmark = pytest.mark.full

AXES = ("site", "grade", "union")
OPTIONS = ("yes", "no")
Cells = Mapping[tuple[str, ...], tuple[int, int]]
"""Per profile, how many people there are and how many of them said yes."""

SITES = {"Aarau": 58, "Basel": 50, "Chur": 41, "Davos": 24, "Egg": 2}
"""People of a small cell of each site. Egg is tiny, and in a bloc with Davos nearly all agree."""


def everybody(yes: Callable[[int, int], int]) -> Cells:
    """A workforce in which `yes(place, people)` of a profile's people said yes."""
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    for site, size in SITES.items():
        for grade, weight in (("junior", 13), ("lead", 4), ("senior", 10)):
            for union, tilt in (("member", 1), ("none", -1)):
                place = len(found)
                people = max(1, (size * weight + 3 * tilt * (place % 7)) // 10)
                found[site, grade, union] = people, yes(place, people)
    return found


WORKFORCE = everybody(lambda place, people: people * (38 + 5 * (place % 6)) // 100)
WITH_A_BLOC = {
    profile: (people, people - (profile[:2] == ("Davos", "junior")) if profile[0] in ("Davos", "Egg") else yes)
    for profile, (people, yes) in WORKFORCE.items()
}
ALL_AGREED = everybody(lambda place, people: people // 60)

TARGET = "[target]\nbeta = 0.05\nkappa = 20\ntau = 0\n"
OUTPUTS = '[outputs]\nformats = ["csv", "json", "parquet"]\n'


def margin(cells: Cells, axis: str) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for profile, (people, yes) in cells.items():
        name = profile[AXES.index(axis)]
        before = found.get(name, (0, 0))
        found[name] = before[0] + people, before[1] + yes
    return found


def write(folder: Path, cells: Cells, target: str = TARGET) -> None:
    """The same people as microdata with a roll, and as sealed elections with that roll."""

    def put(name: str, head: list[str], rows: Iterator[list[object]]) -> None:
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([head, *rows])

    answers = ((profile, {"yes": yes, "no": people - yes}) for profile, (people, yes) in cells.items())
    rows = ([*profile, option] for profile, counts in answers for option in OPTIONS for _ in range(counts[option]))
    put("people.csv", [*AXES, "answer"], rows)
    put("roll.csv", [*AXES, "people"], ([*profile, people] for profile, (people, _) in cells.items()))
    for axis in AXES:
        counts = margin(cells, axis).items()
        put(
            f"{axis}.csv",
            [axis, "option", "count"],
            ([name, option, yes if option == "yes" else n - yes] for name, (n, yes) in counts for option in OPTIONS),
        )
    rest = '[roll]\nfiles = ["roll.csv"]\n[axes.site]\n[axes.grade]\n[axes.union]\n' + target + OUTPUTS
    (folder / "data.toml").write_text(f'title = "W"\n[data]\nfile = "people.csv"\nanswer = "answer"\n{rest}')
    elections = ", ".join(f'{axis} = "{axis}.csv"' for axis in AXES)
    (folder / "sealed.toml").write_text(f'title = "W"\n[tallies]\nfiles = {{ {elections} }}\n{rest}')


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    return in_process(monkeypatch, capsys)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def tidy(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def audited(run: Run, folder: Path, *options: str) -> Ran:
    """What an outsider with the roll gets out of the published folder."""
    tables = sorted(folder.glob("published/*.csv"))
    return run("audit", *tables, "--roll", "roll.csv", "--manifest", folder / "published/manifest.json", *options)


@pytest.mark.parametrize("protect", ["merge", "suppress"])
def test_sealed_tallies_give_the_same_release_as_the_people_behind_them(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protect: str
) -> None:
    monkeypatch.setattr(witnesses, "new_secret", lambda: "0" * 64)  # the salt of the folder for auditors is drawn
    write(tmp_path, WITH_A_BLOC, f'{TARGET}protect = "{protect}"\n')
    known = run("release", "data.toml", "--out", "known", "--json")
    sealed = run("release", "sealed.toml", "--out", "sealed", "--json")
    assert (known.code, sealed.code) == (0, 0)
    published = files(tmp_path / "known/published")
    assert published == files(tmp_path / "sealed/published")
    assert {Path(name).suffix for name in published} == {".csv", ".json", ".parquet", ".html"}
    for key in ("cells", "refused", "guarantees", "irregular", "exposed_people", "certified"):
        assert known.document[key] == sealed.document[key]
    actions = {entry["action"] for entry in known.document["cells"]}  # type: ignore[attr-defined]
    assert actions == {"exact", "merged"} if protect == "merge" else actions >= {"exact", "suppressed"}


@pytest.mark.parametrize("protect", ["merge", "suppress", "noise"])
def test_what_is_published_stands_up_to_an_audit(run: Run, tmp_path: Path, protect: str) -> None:
    write(tmp_path, WITH_A_BLOC, f'{TARGET}protect = "{protect}"\n')
    assert run("release", "sealed.toml", "--out", "release").code == 0
    ran = audited(run, tmp_path / "release", "--json")
    assert ran.code == 0 and ran.document["safe"] is True
    onlooker = ran.document["onlooker"]
    assert onlooker == {"name": "public", "composition": "joint", "facts": [], "knows_rule": True}
    assert ran.document["target"] == {"beta": 0.05, "kappa": 20, "tau": 0, "epsilon_max": 1.0, "guard": 0.025}


def test_exact_tables_of_the_same_people_do_not(run: Run, tmp_path: Path) -> None:
    """The audit above means something: with every site exact, the bloc is found."""
    write(tmp_path, WITH_A_BLOC)
    ran = run("audit", *(f"{axis}.csv" for axis in AXES), "--roll", "roll.csv", "--tau", "3", "--json")
    found = [finding for attack in ran.document["attacks"] for finding in attack["findings"]]  # type: ignore[attr-defined]
    assert ran.code == 1 and any(finding["cell"].get("site") == "Davos" for finding in found)


def test_the_manifest_holds_the_hash_of_every_file(run: Run, tmp_path: Path) -> None:
    write(tmp_path, WITH_A_BLOC)
    run("release", "data.toml", "--out", "release")
    published = files(tmp_path / "release/published")
    manifest, certificate = (json.loads(published[f"{name}.json"]) for name in ("manifest", "certificate"))
    assert manifest["files"] == {
        name: hashlib.sha256(content).hexdigest() for name, content in published.items() if name != "manifest.json"
    }
    bound = {name: digest for table in certificate["tables"] for name, digest in table["files"].items()}
    assert bound == {n: h for n, h in manifest["files"].items() if n not in ("certificate.json", "index.html")}
    assert manifest["statement"] == certificate["statement"] and not certificate["unproved"]
    written = files(tmp_path / "release")
    assert manifest["auditors"] == hashlib.sha256(written["auditors/manifest.json"]).hexdigest()
    private = {name for name in written if not name.startswith("auditors/")}
    assert private - {f"published/{name}" for name in published} == {
        "confidential/plan.json",
        "confidential/record.html",
        "confidential/report.html",
        "confidential/roll.csv",
    }


def test_the_total_is_published_where_it_is_outside_the_target_by_itself(run: Run, tmp_path: Path) -> None:
    write(tmp_path, ALL_AGREED)
    ran = run("release", "data.toml", "--out", "release")
    people, yes = (sum(column) for column in zip(*ALL_AGREED.values(), strict=True))
    assert ran.code == 0 and yes / people < 0.05
    counts = {row["option"]: int(row["count"]) for row in tidy(tmp_path / "release/published/total.csv")}
    assert counts == {"yes": yes, "no": people - yes}
    assert audited(run, tmp_path / "release").code == 0


def test_nothing_is_published_where_the_totals_of_two_cycles_disclose_who_joined(run: Run, tmp_path: Path) -> None:
    ledger = '[ledger]\nfile = "ledger"\npopulation = "staff"\ncycle = "{}"\nanswers = "kept"\nturnover = "net"\n'
    write(tmp_path, WORKFORCE, ledger.format("2025") + TARGET)
    assert run("release", "data.toml", "--out", "first").code == 0
    profile = ("Aarau", "junior", "member")
    people, yes = WORKFORCE[profile]
    write(tmp_path, {**WORKFORCE, profile: (people + 3, yes + 3)}, ledger.format("2026") + TARGET)
    ran = run("release", "data.toml", "--out", "release")
    assert ran.code == 1
    assert sorted(path.name for path in (tmp_path / "release").iterdir()) == ["confidential"]
    assert ran.out.startswith("Not certified: do not publish.")
    assert "3 of the 3 people with history joined since 2025 chose 'yes'" in " ".join(ran.out.split())
    assert "Nothing was published." in ran.out and "release/confidential" in ran.out
    page = (tmp_path / "release/confidential/report.html").read_text(encoding="utf-8")
    assert "Not certified: do not publish" in page
    plan = json.loads((tmp_path / "release/confidential/plan.json").read_text(encoding="utf-8"))
    assert (plan["certified"], plan["published"], plan["certificate"]) == (False, [], "")
    assert plan["refused"][0]["people"] == 3


def test_a_certified_release_that_an_attack_breaks_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, WORKFORCE)
    attack = attacks.attack

    def broken(*arguments: object, **options: object) -> Findings:
        found: Findings = attack(*arguments, **options)  # type: ignore[arg-type]
        finding = Finding("joint", {"site": "Egg"}, "yes", 6, 6, 6, "all 6")
        return replace(found, attempts=(*found.attempts, Attempt("new", "one found", 1, (finding,), 6)))

    monkeypatch.setattr(attacks, "attack", broken)
    draft = release_into(tmp_path / "release", tmp_path / "sealed.toml")
    assert isinstance(draft, Draft) and draft.plan.certificate.certified and not draft.is_sound
    assert draft.to_json()["certified"] is False
    written = {f"confidential/{name}" for name in ("plan.json", "record.html", "report.html")}
    assert set(files(tmp_path / "release")) == written


LOUD = f'{TARGET}protect = "noise"\nepsilon_max = 1e-8\n'
"""Noise of so many people that two draws agree by chance less than once in a million runs."""


@pytest.fixture
def no_lot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only groups outside the limits are noised: with so small an epsilon, every group would be drawn."""
    monkeypatch.setattr(RandomisedSelection, "__call__", lambda *_: 0)


@pytest.mark.usefixtures("no_lot")
def test_noise_cannot_be_taken_off_by_subtraction(run: Run, tmp_path: Path) -> None:
    """Davos is noised together with others: the exact groups leave only the sum of all of them."""
    write(tmp_path, WITH_A_BLOC, LOUD)
    first = run("release", "data.toml", "--out", "first")
    assert first.code == 0
    rows = tidy(tmp_path / "first/published/site.csv")
    noised = {row["site"] for row in rows if row["status"] == "noised"}
    assert any("Davos" in label for label in noised) and len(noised) >= 2
    total = {row["option"]: int(row["count"]) for row in tidy(tmp_path / "first/published/total.csv")}
    for option in OPTIONS:
        shown = sum(int(row["count"]) for row in rows if row["option"] == option and row["status"] != "noised")
        printed = sum(int(row["count"]) for row in rows if row["option"] == option and row["status"] == "noised")
        truth = sum(
            yes if option == "yes" else n - yes
            for name, (n, yes) in margin(WITH_A_BLOC, "site").items()
            if any(name in label.split(" | ") for label in noised)
        )
        assert total[option] - shown == truth != printed
    ran = audited(run, tmp_path / "first", "--json")
    attacks = {attack["attack"]: attack for attack in ran.document["attacks"]}  # type: ignore[attr-defined]
    assert ran.code == 0 and attacks["subtraction"]["looked_at"] == len(noised) * len(OPTIONS)


@pytest.mark.usefixtures("no_lot")
def test_noise_is_drawn_afresh_and_its_guarantee_is_stated(run: Run, tmp_path: Path) -> None:
    write(tmp_path, WITH_A_BLOC, LOUD)
    first, second = (run("release", "data.toml", "--out", name) for name in ("first", "second"))
    assert (first.code, second.code) == (0, 0)
    one, two = (tidy(tmp_path / name / "published/site.csv") for name in ("first", "second"))
    changed = {row["status"] for row, other in zip(one, two, strict=True) if row != other}
    assert changed == {"noised"}
    said = " ".join(first.out.split())
    assert "Exchanging the answers of two people" in said and "e^1e-08" in said
    manifest = json.loads((tmp_path / "first/published/manifest.json").read_text(encoding="utf-8"))
    (guarantee,) = manifest["guarantees"]
    assert (
        guarantee["mechanism"] == "two-sided geometric" and guarantee["invariants"] and "site" in guarantee["statement"]
    )
    others = [tidy(tmp_path / name / "published/grade.csv") for name in ("first", "second")]
    assert others[0] == others[1] and {row["status"] for row in others[0]} == {"exact"}


@pytest.mark.usefixtures("no_lot")
def test_noised_counts_add_up_to_the_people_of_their_group(run: Run, tmp_path: Path) -> None:
    """One noised count says it all where two options cover everybody: the second is what it leaves."""
    write(tmp_path, WITH_A_BLOC, LOUD)
    run("release", "data.toml", "--out", "release", "--json")
    plan = json.loads((tmp_path / "release/confidential/plan.json").read_text(encoding="utf-8"))
    noised = [entry for entry in plan["cells"] if entry["action"] == "noised"]
    assert noised and all(sum(entry["counts"].values()) == entry["people"] for entry in noised)


def test_suppressed_groups_hide_each_other(run: Run, tmp_path: Path) -> None:
    write(tmp_path, WITH_A_BLOC, f'{TARGET}protect = "suppress"\n')
    ran = run("release", "data.toml", "--out", "release")
    assert ran.code == 0
    rows = tidy(tmp_path / "release/published/site.csv")
    suppressed = [row for row in rows if row["status"] == "suppressed"]
    assert len({row["site"] for row in suppressed}) >= 2 and {row["count"] for row in suppressed} == {""}
    audit = audited(run, tmp_path / "release", "--json")
    attacks = {attack["attack"]: attack for attack in audit.document["attacks"]}  # type: ignore[attr-defined]
    assert audit.code == 0 and attacks["subtraction"]["looked_at"] == len(suppressed)


def test_totals_that_differ_a_little_warn_and_work(run: Run, tmp_path: Path) -> None:
    write(tmp_path, WITH_A_BLOC)
    counts = (tmp_path / "grade.csv").read_text().replace("\r\n", "\n")
    yes = margin(WITH_A_BLOC, "grade")["junior"][1]
    (tmp_path / "grade.csv").write_text(counts.replace(f"junior,yes,{yes}", f"junior,yes,{yes - 4}"))
    ran = run("release", "sealed.toml", "--out", "release")
    assert ran.code == 2 and "set tallies.total to the file of the binding election" in ran.err
    people, yes = (sum(column) for column in zip(*WITH_A_BLOC.values(), strict=True))
    (tmp_path / "total.csv").write_text(f"option,count\nyes,{yes}\nno,{people - yes}\n")
    project = (tmp_path / "sealed.toml").read_text()
    (tmp_path / "sealed.toml").write_text(project.replace("[tallies]\n", '[tallies]\ntotal = "total.csv"\n'))
    ran = run("release", "sealed.toml", "--out", "release")
    assert ran.code == 0 and ran.out.startswith("You may publish")
    assert ran.err.startswith("safemargin: warning: totals disagree within the tolerance: grade.csv (axis grade)")
    total = {row["option"]: int(row["count"]) for row in tidy(tmp_path / "release/published/total.csv")}
    assert total["yes"] == yes
    certificate, manifest = (
        json.loads((tmp_path / f"release/published/{name}.json").read_text()) for name in ("certificate", "manifest")
    )
    stated = manifest["inconsistency"]
    assert certificate["slack"] == 4 and stated["totals"]["site"] == [people - yes, yes]
    low, high = stated["interval"]
    assert 0 < 4 / people <= low <= stated["delta"] <= high <= 1
    assert "answered another election otherwise" in " ".join(ran.out.split())
    assert audited(run, tmp_path / "release").code == 2, "without a tolerance the tables contradict each other"
    assert audited(run, tmp_path / "release", "--tolerance", "0.02").code == 0


def test_a_failed_write_leaves_nothing_behind(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, WORKFORCE)
    before = set(tmp_path.iterdir())
    put = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if path.name == "report.html":
            raise OSError(28, "No space left on device")
        return put(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    ran = run("release", "data.toml", "--out", "release")
    assert (ran.code, ran.err) == (2, "safemargin: release: cannot be written (No space left on device)\n")
    assert set(tmp_path.iterdir()) == before


def test_a_folder_that_fills_up_meanwhile_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, WORKFORCE)
    folder = tmp_path / "release"

    def progress(step: str, *_: object) -> None:
        if step.endswith(": writing"):
            folder.mkdir()
            (folder / "letter.txt").write_text("dear all")

    with pytest.raises(OutputError, match="not empty"):
        release_into(folder, tmp_path / "data.toml", progress=progress)
    assert set(files(folder)) == {"letter.txt"}

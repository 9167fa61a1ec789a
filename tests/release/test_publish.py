"""Nothing secret leaves, every file is what the manifest says, and a release is written whole or not at all."""

import csv
import hashlib
import io
import json
import re
import struct
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from cases import Town, town
from safemargin import checker
from safemargin.core import OutputError, Publication, Table, Target, onlooker_with_roll
from safemargin.io import read_tidy, write_folder
from safemargin.release.decide.decide import decide
from safemargin.release.fields import certificate_fields
from safemargin.release.plan import Action, Plan
from safemargin.release.publish import publish, release_files
from safemargin.release.rule.make import PROTECTIONS
from safemargin.release.witnesses import NOT_FOUND

pytestmark = pytest.mark.full

FORMATS = ("csv", "parquet", "json")
SECRETS = {"q3": 7_919, "q4": 91_733}
"""Counts of groups that must be hidden; numbers that nothing else comes to."""


def marked_town(options: int) -> Town:
    """Three ordinary groups of q and two that are nearly unanimous, with marked counts."""
    rng = np.random.default_rng(options)
    people, votes = {}, {}
    for p, q in product(("p0", "p1"), ("q0", "q1", "q2", "q3", "q4")):
        people[p, q] = {"q3": 4_000, "q4": 46_000}.get(q, int(rng.integers(20_000, 30_000)))
        chose = int(people[p, q] * rng.uniform(0.4, 0.6))
        if q == "q3":
            chose = {"p0": 3_960, "p1": 3_959}[p]
        if q == "q4":
            chose = {"p0": 46_000, "p1": 45_733}[p]
        votes[p, q] = (chose, people[p, q] - chose)[:options]
    categories = (("p0", "p1"), ("q0", "q1", "q2", "q3", "q4"))
    place = Town(("p", "q"), categories, ("A", "B")[:options], people, votes)
    assert all(place.count(("q",), ((group,),), "A") == count for group, count in SECRETS.items())
    return place


def released(place: Town, protect: str, **target: float) -> tuple[Table, Plan, Publication]:
    table = place.table()
    plan = decide(table, Target(**{"beta": 0.05, "kappa": 100, "tau": 0, **target}), protect=protect)
    assert plan.certificate.certified
    return table, plan, publish(plan, table)


def written(
    table: Table,
    plan: Plan,
    release: Publication,
    formats: Sequence[str] = FORMATS,
    orders: Mapping[str, tuple[str, ...]] = {},
) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The files for the public, and those for auditors, who get no witnesses here."""
    fields = certificate_fields(release, plan.certificate, table, [onlooker_with_roll(table, "joint")], "A title")
    return release_files(release, fields, NOT_FOUND, formats=formats, orders=orders, onlookers=["all"])


def texts(files: Mapping[str, bytes]) -> str:
    return "\n".join(content.decode() for name, content in files.items() if not name.endswith(".parquet"))


@pytest.mark.parametrize("options", [1, 2])
@pytest.mark.parametrize("protect", ["merge", "suppress"])
def test_counts_of_hidden_groups_are_in_no_file(protect: str, options: int) -> None:
    place = marked_town(options)
    table, plan, release = released(place, protect)
    hidden = [decision for decision in plan.axis("q") if decision.group in ({"q3"}, {"q4"})]
    assert all(decision.action is Action.SUPPRESSED for decision in hidden)
    files, _ = written(table, plan, release)
    joint = {votes[0] for (_, q), votes in place.votes.items() if q in SECRETS}
    for secret in joint.union(SECRETS.values()):
        assert not re.search(rf"(?<![0-9a-f]){secret}(?![0-9a-f])", texts(files)), secret
        assert f"{secret:,}" not in texts(files), secret
        for name, content in files.items():
            if name.endswith(".parquet"):
                assert struct.pack("<q", secret) not in content, name
        for shown in release.tables:
            assert secret not in shown.lower and secret not in shown.upper


@pytest.mark.parametrize("options", [1, 2])
def test_noised_counts_leave_only_with_noise(options: int) -> None:
    place = marked_town(options)
    seen = set()
    for _ in range(6):
        _, plan, release = released(place, "noise", epsilon_max=0.001)
        table = next(each for each in release.tables if each.axes == ("q",))
        rows = np.flatnonzero(np.array(table.status) == "noised")
        groups = {table.groups[0][code] for code in table.codes[rows, 0]}
        assert frozenset({"q3"}) in groups and len(groups) > 1
        assert (table.lower[rows] == 0).all() and (table.upper[rows] > 10**12).all()
        assert table.noisy is not None
        seen.add(tuple(table.noisy[rows].tolist()))
        assert (table.noisy[np.array(table.status) != "noised"] == 0).all()
    assert len(seen) == 6


def test_noised_groups_need_not_add_up_to_what_is_left() -> None:
    place = marked_town(1)
    sums = set()
    for _ in range(8):
        _, _, release = released(place, "noise", epsilon_max=0.001)
        table = next(each for each in release.tables if each.axes == ("q",))
        assert table.noisy is not None
        sums.add(int(table.noisy.sum()))
    assert len(sums) > 1


def test_where_two_options_cover_everybody_the_second_is_what_the_first_leaves() -> None:
    place = marked_town(2)
    _, plan, release = released(place, "noise", epsilon_max=0.01)
    table = next(each for each in release.tables if each.axes == ("q",))
    assert table.noisy is not None
    by_group: dict[frozenset[str], dict[str, int]] = {}
    for row in np.flatnonzero(np.array(table.status) == "noised"):
        counts = by_group.setdefault(table.groups[0][table.codes[row, 0]], {})
        counts[table.options[table.option[row]]] = int(table.noisy[row])
    assert by_group
    for group, counts in by_group.items():
        assert counts["A"] + counts["B"] == place.count(("q",), (group,), None)
    assert "one count" in plan.guarantees[0].statement


@pytest.mark.parametrize("protect", PROTECTIONS)
def test_exact_and_merged_counts_are_true_and_the_groups_part_each_axis(protect: str) -> None:
    for seed in range(8):
        rng = np.random.default_rng([seed, 61])
        place = town(rng, axes=2, options=1 + seed % 3, people=200, fill=1.0, most_per_profile=200)
        table = place.table()
        release = publish(decide(table, Target(beta=0.05, kappa=10, tau=0), protect=protect), table)
        for each in release.tables[1:]:
            assert frozenset().union(*each.groups[0]) == set(place.categories[place.axes.index(each.axes[0])])
            assert sum(len(group) for group in each.groups[0]) == len(frozenset().union(*each.groups[0]))
            for row, status in enumerate(each.status):
                if status in ("exact", "merged"):
                    group = each.groups[0][each.codes[row, 0]]
                    count = place.count(each.axes, (group,), each.options[each.option[row]])
                    assert each.lower[row] == each.upper[row] == count


def test_every_file_is_what_the_manifest_says() -> None:
    table, plan, release = released(marked_town(2), "suppress")
    files, auditors = written(table, plan, release, FORMATS, {"q": ("q0", "q1", "q2", "q3", "q4")})
    manifest = json.loads(files["manifest.json"])
    assert set(manifest["files"]) == set(files) - {"manifest.json"}
    for name, digest in manifest["files"].items():
        assert hashlib.sha256(files[name]).hexdigest() == digest, name
    certificate = json.loads(files["certificate.json"])
    assert not certificate["unproved"] and certificate["statement"] == checker.statement(certificate)
    assert [stated["axes"] for stated in certificate["tables"]] == [list(shown.axes) for shown in release.tables]
    bound = {name: digest for stated in certificate["tables"] for name, digest in stated["files"].items()}
    assert bound.items() <= manifest["files"].items()
    assert set(manifest["files"]) - set(bound) == {"certificate.json", "index.html"}
    assert manifest["auditors"] == hashlib.sha256(auditors["manifest.json"]).hexdigest() == certificate["auditors"]
    assert not checker.check(files, auditors).failures
    assert {name for name in files if name.startswith("total.")} == {f"total.{form}" for form in FORMATS}


@pytest.mark.parametrize("protect", PROTECTIONS)
def test_files_say_the_same_in_every_format_and_can_be_read_back(protect: str, tmp_path: Path) -> None:
    held, plan, release = released(marked_town(2), protect)
    files, _ = written(held, plan, release)
    write_folder(tmp_path / "out", files)
    for table in release.tables:
        stem = " x ".join(table.axes) or "total"
        rows = list(csv.DictReader(io.StringIO(files[f"{stem}.csv"].decode())))
        from_json = json.loads(files[f"{stem}.json"])
        assert [{key: "" if value is None else str(value) for key, value in row.items()} for row in from_json] == rows
        for form in ("csv", "parquet"):
            back = read_tidy(tmp_path / "out" / f"{stem}.{form}")
            assert back.lower.tolist() == table.lower.tolist()
            assert back.upper.tolist() == table.upper.tolist()
            assert back.status == table.status
            assert [back.cell(row) for row in range(len(rows))] == [table.cell(row) for row in range(len(rows))]


def test_a_folder_is_written_whole(tmp_path: Path) -> None:
    files = {"a.csv": b"1", "confidential/b.json": b"2"}
    for folder in (tmp_path / "new", tmp_path / "deep" / "er" / "new"):
        write_folder(folder, files)
        assert {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*")} == files
        assert [path.name for path in folder.parent.iterdir() if path.name.startswith(".")] == []
    (tmp_path / "empty").mkdir()
    write_folder(tmp_path / "empty", files)
    assert (tmp_path / "empty" / "a.csv").read_bytes() == b"1"


def test_a_folder_with_anything_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "mine.txt").write_text("keep")
    (tmp_path / "file").write_text("keep")
    for folder in (tmp_path / "used", tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OutputError):
            write_folder(folder, {"a.csv": b"1"})
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "mine.txt", "used"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("at", [0, 2])
def test_a_failing_write_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, at: int
) -> None:
    written = []
    real = Path.write_bytes

    def failing(path: Path, content: bytes) -> int:
        if len(written) == at:
            raise error
        written.append(path)
        return real(path, content)

    monkeypatch.setattr(Path, "write_bytes", failing)
    with pytest.raises(OutputError if isinstance(error, OSError) else type(error)):
        write_folder(tmp_path / "out", {"a": b"1", "b/c": b"2", "d": b"3"})
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []


def test_a_failing_last_step_leaves_an_empty_folder_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()

    def failing(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.replace", failing)
    with pytest.raises(OutputError, match="Permission denied"):
        write_folder(tmp_path / "out", {"a": b"1"})
    monkeypatch.undo()
    assert [path.name for path in tmp_path.rglob("*")] == ["out"]


@pytest.mark.parametrize("name", ["total", "manifest", "certificate"])
def test_no_axis_overwrites_another_file(name: str) -> None:
    place = marked_town(1)
    place = Town((name, "q"), place.categories, place.options, place.people, place.votes)
    table, plan, release = released(place, "merge")
    files, _ = written(table, plan, release, ("csv", "json"))
    assert len(files) == 2 * len(release.tables) + 3

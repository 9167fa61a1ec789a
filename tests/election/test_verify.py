"""A board that somebody changed does not verify, and the finding names what was changed."""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import Run, in_process
from election_world import SMALL, World
from safemargin.core import InputError
from safemargin.election.board import Board, Head, make_entry, sign_head
from safemargin.election.handover import common_salt
from safemargin.election.keys import SealingKey, canonical, derive
from safemargin.election.merkle import root_of
from safemargin.election.records import RecordFormat, leaves_of, split_batch
from safemargin.election.turnout import SCALE, inconsistency, published_totals, turnout
from safemargin.election.verify import check_board


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A finished election of six people; a dimension has the name of a table that roles have."""
    world = World(tmp_path_factory.mktemp("done"), plan=SMALL.replace("health", "state")).until_cast()
    world.count()
    assert world.open()["certified"]
    return world


@pytest.fixture
def copy(done: World, tmp_path: Path) -> Path:
    shutil.copytree(done.board.folder, tmp_path / "board")
    return tmp_path / "board"


def findings(folder: Path) -> list[str]:
    return check_board(Board(folder), processes=1).findings


def rewritten(world: World, folder: Path, change: Callable[[Board], None]) -> list[str]:
    """What is found if all parties conspire: the board is rewritten, signed again by everybody who signs heads."""
    board = Board(folder)
    change(board)
    for index, content in enumerate(board.contents):
        (folder / "entries" / f"{index:06d}.json").write_bytes(content)
    shutil.rmtree(folder / "heads")
    (folder / "heads").mkdir()
    head = Head(len(board.contents), root_of(board.leaves), {})
    for name in ("board", "issuer-1", "issuer-2"):
        head.signatures[name] = sign_head(world.election, world.secrets[name].signing, name, head)
    (folder / "heads" / f"{head.size:06d}.json").write_bytes(canonical(head.document()))
    return findings(folder)


def replaced(world: World, type_: str, dimension: str | None = None, **body: Any) -> Callable[[Board], None]:
    """Replace the statement of an entry, signed by its author."""

    def change(board: Board) -> None:
        for index, entry in enumerate(board.entries):
            if entry.type == type_ and entry.body.get("dimension") == dimension:
                made = make_entry(world.election, world.secrets[entry.author], type_, {**entry.body, **body})
                board.contents[index] = made.content

    return change


def test_the_board_as_it_is_verifies(done: World, copy: Path) -> None:
    check = check_board(Board(copy), processes=1)
    assert check.findings == [] and check.complete and check.certified
    assert check.records == 18 and check.enrolled == 6
    assert rewritten(done, copy, lambda board: None) == []


def test_trustees_agree_on_a_salt_that_nobody_else_can_compute(done: World) -> None:
    """Every trustee signs the same files, and what they commit to is hidden by a salt that only the key gives."""
    first, second = (entry.body["files"] for entry in done.board.of("release"))
    assert first == second and {"manifest.json", "certificate.json"} <= set(first)
    kept = (done.folder / "release" / "auditors" / "manifest.json").read_bytes()
    published = {path.name: path.read_bytes() for path in (done.board.folder / "release").iterdir()}
    assert json.loads(published["manifest.json"])["auditors"] == hashlib.sha256(kept).hexdigest()
    salt = json.loads(kept)["salt"]
    assert len(salt) == 64 and not any(salt.encode() in content for content in published.values())
    assert not any(salt.encode() in path.read_bytes() for path in done.board.folder.rglob("*") if path.is_file())
    key, other = SealingKey(derive(b"a test", "key", 32)), SealingKey(derive(b"a test", "another", 32))
    assert common_salt(done.board, key) == common_salt(done.board, key)
    assert len({salt, common_salt(done.board, key), common_salt(done.board, other)}) == 3
    changed = Board(done.board.folder)
    replaced(done, "batch", "age", root="00" * 32)(changed)
    assert common_salt(changed, key) != common_salt(done.board, key), "other records, another salt"


def test_mixers_delete_what_people_sent_once_the_release_is_on_the_board(done: World) -> None:
    onion = bytes.fromhex(done.wallets["row 000"].state["tokens"]["age"]["onion"])
    assert [len(list(done.role("mixer-1").held(name).items())) for name in done.election.dimensions] == [0, 0, 0]
    assert not any(onion in path.read_bytes() for path in (done.folder / "mixer-1").iterdir())
    with pytest.raises(InputError, match="deleted after the release"):
        done.ask("mixer-1", "mix", canonical({"dimension": "age", "size": 0}))
    closed = done.ask("board", "proof", canonical({"type": "closed"}))
    with pytest.raises(InputError, match="not about an entry of type 'release'"):
        done.ask("mixer-2", "delete", closed)


def test_records_are_read_one_by_one(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million records do not fit into memory: no file of records is read at once, and blocks join without seams."""
    read_bytes = Path.read_bytes

    def guarded(path: Path) -> bytes:
        assert path.parent.name != "records"
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", guarded)
    monkeypatch.setattr(sys.modules[check_board.__module__], "BLOCK", 2)
    assert findings(copy) == [] and check_board(Board(copy), processes=2).findings == []


def test_many_wrong_records_are_counted_and_not_all_named(
    done: World, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[check_board.__module__], "NAMED", 2)
    found = with_records(done, copy, "age", lambda records: sorted(r[:-1] + bytes([r[-1] ^ 1]) for r in records))
    assert sum("record" in each and "did not sign" in each for each in found) == 2
    assert "records/age: 4 more records are wrong" in found


def test_every_changed_byte_of_a_file_is_found(copy: Path) -> None:
    for path in sorted(copy.rglob("*")):
        if path.is_file():
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            old = path.read_bytes()
            path.write_bytes(bytes(content))
            try:
                assert findings(copy), path
            except Exception as error:  # a manifest that is no manifest is refused at once
                assert path.name == "manifest.json", error
            path.write_bytes(old)
    assert findings(copy) == []


@pytest.mark.parametrize("kind", ["entries", "heads", "records", "mixes", "release"])
def test_a_missing_or_an_added_file_is_found(copy: Path, kind: str) -> None:
    last = sorted((copy / kind).iterdir())[-1]
    content = last.read_bytes()
    last.unlink()
    assert findings(copy)
    last.write_bytes(content)
    if kind in ("entries", "release"):
        (copy / kind / ("000099.json" if kind == "entries" else "more.csv")).write_bytes(content)
        assert findings(copy)


def test_a_tampered_total_is_named_although_everybody_signed_it(done: World, copy: Path) -> None:
    counts = done.board.of("total")[0].body["counts"]
    wrong = {"yes": counts["yes"] + 1, "no": counts["no"] - 1}
    found = rewritten(done, copy, replaced(done, "total", counts=wrong))
    index = next(i for i, entry in enumerate(done.board.entries) if entry.type == "total")
    assert f"entry {index} (total of collector): yes: {wrong['yes']} stated, {counts['yes']} records" in found


def test_a_tampered_table_is_named(done: World, copy: Path) -> None:
    path = sorted((copy / "release").glob("*.csv"))[0]
    path.write_text(path.read_text().replace(",exact", ",merged", 1))
    assert findings(copy) == [f"release/{path.name}: is not the file that the trustees signed"]


def test_a_tampered_release_total_is_found_although_the_trustees_signed_it(done: World, copy: Path) -> None:
    path = copy / "release" / "total.csv"
    text = path.read_text()
    first, second = (line for line in text.splitlines()[1:3])
    swapped = text.replace(first, f"{first.split(',')[0]},{second.split(',')[1]},exact").replace(
        second, f"{second.split(',')[0]},{first.split(',')[1]},exact"
    )
    path.write_text(swapped)
    body = done.board.of("release")[0].body
    files = {**body["files"], "total.csv": hashlib.sha256(path.read_bytes()).hexdigest()}
    found = rewritten(done, copy, replaced(done, "release", files=files))
    assert "release/total.csv: is not the total of the records" in found


def with_records(
    world: World, folder: Path, name: str, change: Callable[[list[bytes]], list[bytes]], **more: Any
) -> list[str]:
    """Findings after the collector published other records and stated them."""
    size = RecordFormat(world.election, world.election.dimension(name), world.board.signers).size
    records = change(split_batch((folder / "records" / name).read_bytes(), size))
    (folder / "records" / name).write_bytes(b"".join(records))
    body = {"accepted": len(records), "root": root_of(leaves_of(records)).hex()}
    body |= {"sha256": hashlib.sha256(b"".join(records)).hexdigest(), **more}
    return rewritten(world, folder, replaced(world, "batch", name, **body))


def test_a_collector_that_drops_adds_or_repeats_records_is_found(done: World, copy: Path) -> None:
    found = with_records(done, copy, "age", lambda records: records[1:])
    assert any("are not those that mixer-2 passed on" in each for each in found)


def test_a_forged_record_is_found_by_its_number(done: World, copy: Path) -> None:
    def forge(records: list[bytes]) -> list[bytes]:
        forged = bytearray(records[3])
        forged[-1] ^= 1
        return sorted([*records[:3], bytes(forged), *records[4:]])

    found = with_records(done, copy, "age", forge)
    assert "records/age: record 3: an answer that the token's owner did not sign" in found
    assert "records/age: has a record that mixer-2 did not pass on" in found


def test_a_record_twice_is_found(done: World, copy: Path) -> None:
    found = with_records(done, copy, "age", lambda records: sorted([*records, records[0]]))
    assert "records/age: two records were made with one token" in found
    assert any("7 records accepted, 6 tokens issued" in each for each in found)


def test_more_tokens_than_people_are_found(done: World, copy: Path) -> None:
    counts = {**done.board.of("issued")[0].body["counts"], "age": {"young": 4, "old": 3}}
    found = rewritten(done, copy, replaced(done, "issued", counts=counts))
    assert (
        "age: 7 tokens issued to 6 enrolled people" in found
        and "age: young: 4 tokens for 3 people on the roll" in found
    )
    found = rewritten(done, copy, replaced(done, "roll", enrolled=7))
    assert "roll: 7 enrolled of 6 on the roll" in found


def test_a_release_that_too_few_trustees_signed_is_found(done: World, copy: Path) -> None:
    def drop(board: Board) -> None:
        del board.contents[-1]
        (copy / "entries" / f"{len(board.contents):06d}.json").unlink()

    assert "release: is signed by 1 trustees; 2 are needed" in rewritten(done, copy, drop)


def test_a_head_without_witnesses_is_found(done: World, copy: Path) -> None:
    path = sorted((copy / "heads").iterdir())[-1]
    head = json.loads(path.read_bytes())
    head["signatures"] = {"board": head["signatures"]["board"]}
    path.write_bytes(canonical(head))
    assert findings(copy) == [f"head of {head['size']} entries: is not signed by the board and enough witnesses"]


def test_an_unfinished_board_verifies_and_says_so(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.begin()
    check = check_board(world.board, processes=1)
    assert check.findings == [] and not check.complete


def test_the_command(
    done: World, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run: Run = in_process(monkeypatch, capsys)
    ran = run("election", "verify", copy, "--json", "--processes", "1")
    assert ran.code == 0 and ran.document["verified"] is True and ran.document["complete"] is True
    (copy / "records" / "age").write_bytes((copy / "records" / "age").read_bytes()[:-1])
    ran = run("election", "verify", copy, "--json", "--processes", "1")
    assert ran.code == 1 and ran.document["verified"] is False
    assert ran.document["findings"] == ["records/age: is not the file that the collector signed"]
    assert run("election", "verify", copy, "--processes", "1").code == 1
    ran = run("election", "verify", tmp_path / "nothing")
    assert ran.code == 2 and "is not the folder of a board" in ran.err


def test_turnout_and_inconsistency_come_from_published_counts_only() -> None:
    total = b"option,count,status\nno,40,exact\nno answer,10,exact\nyes,50,exact\n"
    age = b"age,option,count,status\na,no,20,exact\na,no answer,6,exact\na,yes,24,exact\nb | c,no,22,merged\n"
    age += b"b | c,no answer,6,merged\nb | c,yes,22,merged\n"
    hidden = age.replace(b"22,merged", b",suppressed", 1)
    found = turnout({"total": 90, "age": 88}, 100, {"total.csv": total, "age.csv": age})
    assert found["total"] == {"accepted": 90, "roll": 100}
    estimate = found["age"]["inconsistency"]
    assert isinstance(estimate, dict) and estimate["at_least"] == 400, "two more for no, two fewer answers"
    assert estimate["interval"][0] >= 400 and estimate["interval"][1] <= SCALE
    assert "inconsistency" not in turnout({"age": 88}, 100, {"total.csv": total, "age.csv": hidden})["age"]
    assert published_totals(hidden) is None
    same = inconsistency({"yes": 50, "no": 50}, {"yes": 50, "no": 50})
    assert (same.at_least, same.interval) == (0, (0, 1))


@pytest.mark.parametrize("name", ["entries/000003.json", "heads/*.json", "records/age", "mixes/mixer-1-*", "release/*"])
def test_no_file_of_a_board_makes_verify_fail(copy: Path, name: str) -> None:
    """Another content, or a pipe, in the place of a file: a finding or one line, never a wait, never a traceback."""
    path = sorted(copy.glob(name))[0]
    for content in (b"", b"null", b"[" * 100_000, b'{"a":' * 900 + b"0" + b"}" * 900, b'{"size": "a", "body": []}'):
        path.write_bytes(content)
        found = findings(copy)
        assert found and all("\n" not in finding for finding in found)
    path.unlink()
    os.mkfifo(path)
    try:
        assert findings(copy)
    except InputError as error:
        assert "not a file" in str(error)


def test_only_its_owner_reads_what_a_role_keeps(done: World) -> None:
    kept = [path for path in done.folder.rglob("*.sqlite")]
    assert kept and all(path.stat().st_mode & 0o077 == 0 for path in kept)


EVERYBODY = {"total": {"everybody": 6}, "age": {"young": 3, "old": 3}, "state": {"*": 6}}


@pytest.mark.parametrize(
    ("type_", "counts", "named"),
    [
        ("total", {"yes": 4}, "(total of collector): no: 0 stated, 2 records"),
        ("total", {"yes": 4, "no": 2, "maybe": 0}, "(total of collector): maybe: no such option"),
        ("issued", {**EVERYBODY, "age": {"young": 9, "old": -3}}, "age: the issuers did not state"),
        ("issued", {**EVERYBODY, "state": {"*": 6, "?": 0}}, "state: the issuers did not state"),
    ],
)
def test_a_statement_that_omits_or_balances_something_is_named(
    done: World, copy: Path, type_: str, counts: dict[str, Any], named: str
) -> None:
    found = rewritten(done, copy, replaced(done, type_, counts=counts))
    assert any(named in finding for finding in found), found


def test_records_that_a_mixer_and_the_collector_drop_together_are_found(done: World, copy: Path) -> None:
    """The mixer states more than is on its list, and the collector that the difference was rejected."""

    def change(board: Board) -> None:
        for index, entry in enumerate(board.entries):
            of_age = entry.body.get("dimension") == "age"
            if of_age and entry.type == "batch":
                body = {**entry.body, "rejected": {"a token that was used twice": 1}}
                board.contents[index] = make_entry(done.election, done.secrets["collector"], "batch", body).content
            elif of_age and entry.author == "mixer-2":
                body = {**entry.body, "out_count": 7, "in_count": 7}
                board.contents[index] = make_entry(done.election, done.secrets["mixer-2"], "mix", body).content
            elif of_age and entry.author == "mixer-1":
                body = {**entry.body, "out_count": 7, "in_count": 7}
                board.contents[index] = make_entry(done.election, done.secrets["mixer-1"], "mix", body).content

    found = rewritten(done, copy, change)
    assert [finding for finding in found if finding.startswith("mixes/mixer-")], found


def test_a_certified_release_has_files(done: World, copy: Path) -> None:
    shutil.rmtree(copy / "release")
    found = rewritten(done, copy, replaced(done, "release", files={}))
    assert "release: is called certified, and has no files" in found

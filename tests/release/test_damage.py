"""A ledger heals after a crash, and refuses whatever else was done to it."""

import os
import random
import shutil
import sqlite3
import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from commands import in_process
from evidence import seeds
from recorded import fast_folder, make
from safemargin.core import InputError, OutputError, SafemarginError, owner
from safemargin.history import file as ledger_file
from safemargin.history.chain import Chain
from safemargin.history.entries import Entry
from safemargin.history.file import open_ledger, read_ledger, record
from safemargin.io import read_json

pytestmark = [pytest.mark.usefixtures("no_pictures"), pytest.mark.full]

__all__ = ["fast_folder"]
FLIPS = 600


@pytest.fixture(name="ledger", scope="module")
def fixture_ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A ledger of two releases; nothing may change it."""
    place = tmp_path_factory.mktemp("ledger")
    for cycle in ("2025", "2026"):
        make(place, cycle).write(place / "releases" / cycle)
    before = (place / "ledger.sqlite").read_bytes()
    yield place / "ledger.sqlite"
    assert (place / "ledger.sqlite").read_bytes() == before


def copied(ledger: Path, folder: Path) -> Path:
    return Path(shutil.copy(ledger, folder / "ledger.sqlite"))


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


def test_no_changed_bit_goes_unnoticed(ledger: Path, fast_folder: Path) -> None:
    expected, path, content = repr(read_ledger(ledger)), fast_folder / "ledger.sqlite", ledger.read_bytes()
    generator, refused = random.Random(14), 0
    used = [place for place, byte in enumerate(content) if byte]
    for number in range(FLIPS):
        # Most of a small file is free space, which holds nothing; so half of the bits are in bytes that are in use.
        place = generator.choice(used) if number % 2 else generator.randrange(len(content))
        bit = generator.randrange(8)
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :])
        try:
            assert repr(read_ledger(path)) == expected, (place, bit)
        except InputError as error:
            assert "\n" not in str(error)
            refused += 1
    assert refused > FLIPS / 4


DAMAGES = len(seeds(0, 120, 3_000))


def damage(path: Path, content: bytes, generator: random.Random) -> str:
    """One of the things that a disk, an editor or a person with SQLite can do to a ledger; its name."""
    kind = generator.choice(["bit", "byte", "cut", "page", "row", "value", "copy", "drop", "downgrade"])
    spoilt = bytearray(content)
    used = [place for place, byte in enumerate(content) if byte]
    if kind in ("bit", "byte"):
        place = generator.choice(used)
        spoilt[place] = spoilt[place] ^ 1 << generator.randrange(8) if kind == "bit" else generator.randrange(256)
    elif kind == "cut":
        del spoilt[generator.randrange(len(content)) :]
    elif kind == "page":
        first, second = (4096 * generator.randrange(len(content) // 4096) for _ in range(2))
        spoilt[first : first + 4096] = content[second : second + 4096]
    path.write_bytes(spoilt)
    path.chmod(0o600)
    table = generator.choice(["release", "published", "roll", "chain", "head"])
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        if kind in ("row", "value", "copy"):
            keys = [key for (key,) in database.execute(f"select rowid from {table}")]
            names = [row[1] for row in database.execute(f"pragma table_info({table})")]
            key, name = generator.choice(keys), generator.choice(names)
            value = generator.choice(["0", "9", "''", "null"])
            texts = {
                "row": f"delete from {table} where rowid = {key}",
                "value": f"update {table} set {name} = {value} where rowid = {key}",
                "copy": f"insert into {table} select * from {table} where rowid = {key}",
            }
            with suppress(sqlite3.Error):  # the file itself forbids some
                database.execute(texts[kind])
        elif kind == "drop":
            database.execute(f"drop table {generator.choice(['chain', 'head', 'pending', table])}")
        elif kind == "downgrade":
            for name in generator.sample(["chain", "head", "pending"], generator.randrange(1, 4)):
                database.execute(f"drop table {name}")
            database.execute(f"pragma user_version = {generator.choice([0, 1, 1, 1, 3])}")
            if generator.random() < 0.5:
                database.execute("update release set epsilon = 0")
    return kind


def test_no_damage_is_silent(ledger: Path, fast_folder: Path) -> None:
    """Refused in one line; or nothing that counts was changed; or it is said that nobody could notice a change."""
    expected, path, content = repr(read_ledger(ledger)), fast_folder / "ledger.sqlite", ledger.read_bytes()
    outcomes: Counter[tuple[str, str]] = Counter()
    for seed in range(DAMAGES):
        kind = damage(path, content, random.Random(seed))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                read = repr(read_ledger(path))
                noted = any("has no hashes" in str(warning.message) for warning in said)
                assert read == expected or noted, (seed, kind)
                outcomes[kind, "noted" if noted else "the same"] += 1
            except InputError as error:
                assert "\n" not in str(error), (seed, kind)
                outcomes[kind, "refused"] += 1
    assert sum(outcomes.values()) == DAMAGES and outcomes["row", "refused"] and outcomes["downgrade", "noted"]
    assert not outcomes["row", "the same"] and not outcomes["drop", "the same"]
    print(dict(outcomes))


def test_every_changed_bit_of_an_entry_is_refused(ledger: Path, fast_folder: Path) -> None:
    """Where the text of an entry is, no bit can change."""
    path, content = fast_folder / "ledger.sqlite", ledger.read_bytes()
    start = content.index(b'{"axes": ["site"]')
    for place in range(start, start + 200):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(InputError):
            read_ledger(path)


@pytest.mark.parametrize("table", ["release", "published", "roll", "chain", "head"])
def test_no_removed_row_goes_unnoticed(ledger: Path, fast_folder: Path, table: str) -> None:
    with closing(sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True)) as database:
        keys = [key for (key,) in database.execute(f"select rowid from {table}")]
    assert keys
    for key in keys:
        change(copied(ledger, fast_folder), f"delete from {table} where rowid = {key}")
        with pytest.raises(InputError, match="entries were changed or removed"):
            read_ledger(fast_folder / "ledger.sqlite")


@pytest.mark.parametrize(
    "statements",
    [
        [f"delete from {name} where release = 2" for name in ("published", "roll", "chain")]
        + ["delete from release where id = 2", "update head set releases = 1"],
        [f"delete from {name}" for name in ("published", "roll", "chain", "release")],
        ["update release set epsilon = 0 where id = 1"],
        ["update release set cycle = '2024' where id = 1"],
        ["insert into pending values (2, 'nowhere', '.')"],
        ["insert into published select 3, name, content from published"],
        ["delete from head", "insert into head values ('', 0, '')"],
        ["insert into head select * from head"],
    ],
)
def test_no_rewritten_ledger_goes_unnoticed(ledger: Path, fast_folder: Path, statements: list[str]) -> None:
    change(copied(ledger, fast_folder), *statements)
    with pytest.raises(InputError, match="entries were changed or removed"):
        read_ledger(fast_folder / "ledger.sqlite")


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").touch()
    with pytest.raises(InputError, match="is empty, which no ledger ever is"):
        make(tmp_path, "2025")


def test_a_hot_journal_is_rolled_back(ledger: Path, fast_folder: Path) -> None:
    """The files of a run that was killed in the middle of a commit."""
    path = copied(ledger, fast_folder)
    (fast_folder / "killed").mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("pragma cache_size = 1")  # pages go to the file before the commit
        database.execute("begin immediate")
        database.execute("update published set content = content || content")
        database.execute("update release set epsilon = 0, title = hex(zeroblob(50000))")
        for name in ("ledger.sqlite", "ledger.sqlite-journal"):
            shutil.copy(fast_folder / name, fast_folder / "killed" / name)
        database.execute("rollback")
    killed = fast_folder / "killed/ledger.sqlite"
    assert killed.read_bytes() != ledger.read_bytes()
    assert repr(read_ledger(killed)) == repr(read_ledger(ledger))
    assert not (fast_folder / "killed/ledger.sqlite-journal").exists()


def test_an_old_copy_is_noticed_beside_a_later_release(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    make(tmp_path, "2025").write(tmp_path / "r2025")
    old = path.read_bytes()
    make(tmp_path, "2026").write(tmp_path / "r2026")
    stated = read_json(tmp_path / "r2026/published/manifest.json")["ledger"]
    chain = open_ledger(path).chain
    assert stated == {"name": chain.name, "head": chain.hashes[0]} and chain.key not in str(stated)
    path.write_bytes(old)
    with pytest.raises(InputError, match="does not hold the release in .*r2026"):
        make(tmp_path, "2027")
    (tmp_path / "r2026").rename(tmp_path.parent / f"{tmp_path.name}-elsewhere")
    made = make(tmp_path, "2027")
    with pytest.raises(SafemarginError, match="does not hold the release in .*elsewhere"):
        made.write(tmp_path.parent / "out")
    assert not (tmp_path.parent / "out").exists()
    shutil.rmtree(tmp_path.parent / f"{tmp_path.name}-elsewhere")


def test_a_ledger_of_the_first_version_is_read_and_chained_with_the_next_release(ledger: Path, tmp_path: Path) -> None:
    path = copied(ledger, tmp_path)
    change(path, "drop table chain", "drop table pending", "drop table head", "pragma user_version = 1")
    before = path.read_bytes()
    with pytest.warns(UserWarning, match="has no hashes"):
        assert repr(read_ledger(path)) == repr(read_ledger(ledger))
    assert path.read_bytes() == before
    with pytest.warns(UserWarning, match="has no hashes"):
        made = make(tmp_path, "2027")
    made.write(tmp_path / "out")
    contents = open_ledger(path)
    assert (contents.version, [entry.cycle for entry in contents.entries]) == (2, ["2025", "2026", "2027"])
    change(path, "delete from roll where release = 1")
    with pytest.raises(InputError, match="entries were changed or removed"):
        read_ledger(path)


def test_two_first_releases_at_once_keep_each_others_ledger(ledger: Path, tmp_path: Path) -> None:
    entry, results = read_ledger(ledger)[0], []

    def publish(number: int) -> None:
        mine = replace(entry, population=f"staff {number}")
        try:
            record(tmp_path / "l.sqlite", mine, Chain(f"key {number}"), 0, tmp_path / f"out{number}", {"a": b""})
            results.append(number)
        except OutputError as error:
            assert "recorded meanwhile; run again" in str(error)

    threads = [threading.Thread(target=publish, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = results
    assert [each.population for each in read_ledger(tmp_path / "l.sqlite")] == [f"staff {winner}"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["l.sqlite", f"out{winner}"]


def test_a_pending_release_that_somebody_moved_counts(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither draft nor folder is where it was: it may be out, so its budget is spent."""
    made = make(tmp_path, "2025")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ledger_file, "move_draft", die)
        patched.setattr(ledger_file, "_settle_quietly", lambda path: False)
        with pytest.raises(KeyboardInterrupt):
            made.write(tmp_path / "out")
    (draft,) = tmp_path.glob(".out-*")
    draft.rename(tmp_path / "moved")
    assert [entry.cycle for entry in read_ledger(tmp_path / "ledger.sqlite")] == ["2025"]
    entries: tuple[Entry, ...] = read_ledger(tmp_path / "ledger.sqlite")
    assert entries[0].epsilon == 1.0


def test_the_ledger_is_written_through_to_the_disk(ledger: Path, fast_folder: Path) -> None:
    with ledger_file.connected(copied(ledger, fast_folder)) as database:
        assert database.execute("pragma synchronous").fetchone() == (3,), "EXTRA"
        assert database.execute("pragma journal_mode").fetchone() == ("delete",)


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_only_the_owner_can_read_a_ledger(ledger: Path, tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        record(tmp_path / "l.sqlite", read_ledger(ledger)[0], Chain("k"), 0, tmp_path / "out", {"confidential/a": b""})
    finally:
        os.umask(before)
    assert (tmp_path / "l.sqlite").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "out/confidential").stat().st_mode & 0o777 == 0o700


def test_drafts_of_killed_runs_are_listed_and_removed(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, run = copied(ledger, tmp_path), in_process(monkeypatch, capsys)
    machine = owner().partition("-")[0]
    dead, alive = (tmp_path / f".out-draft-{machine}-{process}-x" for process in (999_999_999, os.getppid()))
    for draft in (dead, alive):
        (draft / "published").mkdir(parents=True)
    assert run("ledger", path).err == "" and not dead.exists(), "every command removes them"
    dead.mkdir()
    ran = run("ledger", path, "--clean")
    assert ran.code == 0 and ran.err.split() == ["safemargin:", "removed", str(dead)]
    assert not dead.exists() and alive.exists()
    assert run("ledger", path, "--clean").err == ""

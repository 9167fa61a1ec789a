"""The SQLite file of a ledger: a release and its folder are recorded together, and every change by others is noticed.

A release is inserted with a row in `pending`, which names its draft and its folder; then the draft gets its name; then
the row in `pending` goes. Whoever opens the ledger after an interruption looks at draft and folder, and completes the
entry or withdraws it. Every entry has a hash that is chained to the one before; the last is sealed in `head`.
"""

import sqlite3
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from safemargin.core import (
    InputError,
    OutputError,
    SafemarginError,
    cannot_write,
    hold_signals,
    new_secret,
    remove_parts,
    sync,
    write_whole,
)
from safemargin.history.chain import Chain, last_lock
from safemargin.history.entries import COLUMNS, TABLES, Entry, Row, delete_entry, entry_of, insert_entry, select_parts
from safemargin.history.folders import APPLICATION, PUBLISHED, check_folders, manifests_in
from safemargin.history.names import about
from safemargin.io import (
    MANIFEST,
    await_draft,
    fill_draft,
    finish_draft,
    hash_file,
    move_draft,
    open_draft,
    remove_draft,
    remove_stale_drafts,
    require_private,
    transaction,
)

VERSION = 2
UNCHAINED = 1
"""The version without hashes; it is upgraded when the next release is recorded."""
PATIENCE = 5.0
"""Seconds to wait for another release that is being recorded."""
CHAIN_TABLES = """
create table chain (release integer primary key references release, hash text not null);
create table pending (release integer not null references release, folder text not null, draft text not null);
create table head (key text not null, releases integer not null, seal text not null);
"""


class Contents(NamedTuple):
    """All that a ledger holds; `pending` is the last release if it was interrupted: its number, folder and draft."""

    version: int
    chain: Chain
    entries: tuple[Entry, ...] = ()
    pending: tuple[int, str, str] | None = None


def read_ledger(path: Path) -> tuple[Entry, ...]:
    """All releases in the order they were made; none if there is no file yet."""
    return open_ledger(path).entries


def open_ledger(path: Path, population: str = "") -> Contents:
    """What a ledger holds, after an interrupted release was settled; a new chain if there is no file yet.

    Where a release about a `population` follows that the ledger does not hold, no other ledger at hand may hold it.
    """
    if not path.exists():
        contents = Contents(VERSION, Chain(new_secret()))
        _check_folders(path, contents, manifests_in(path.parent), population)
        _tidy(path)
        return contents
    if not path.is_file():
        raise InputError(f"{path}: is not a file")
    try:
        # Before the ledger: a folder that another run publishes meanwhile may be too new, never too old.
        folders = manifests_in(path.parent)
        with connected(path) as database:
            contents = _settled(path, database)
        require_private(path, "ledger")
        if contents.version == UNCHAINED:  # or one whose hashes somebody removed, which nothing in it can show
            warnings.warn(
                f"{path}: has no hashes, as ledgers of the first version: no change to it would be noticed. If it had "
                "some before, restore it from a backup; the next release seals it as it is",
                stacklevel=3,
            )
        _check_folders(path, contents, folders, population)
        _tidy(path)
        return contents
    except (sqlite3.Error, KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise InputError(f"{path}: cannot be read as a ledger: {' '.join(str(error).split())}") from None


def _tidy(path: Path) -> None:
    """Remove what killed runs left beside a ledger; it waits for nothing any more."""
    try:
        remove_parts(path)
        remove_stale_drafts(path.parent)
    except OSError:  # a folder that cannot be changed: whoever only reads the ledger can do so
        return


def record(path: Path, entry: Entry, chain: Chain, seen: int, folder: Path, content: dict[str, bytes]) -> None:
    """Publish a release and record it: both happen, or neither does, at the latest when the ledger is opened again.

    `chain` and `seen`, the number of releases about the population, are what was known when it was decided.
    """
    with open_draft(folder) as draft:
        fill_draft(draft, content)
        finish_draft(draft)
        await_draft(draft, path)
        _publish(path, entry, chain, seen, folder, draft)


def _publish(path: Path, entry: Entry, chain: Chain, seen: int, folder: Path, draft: Path) -> None:
    """Record and publish a draft. It stays where the ledger still waits for it, as evidence that it is not out."""
    with hold_signals():
        try:
            _record(path, entry, chain, seen, folder.resolve(), draft.resolve())
        except BaseException as error:
            is_settled = _settle_quietly(path)
            if _is_published(folder, entry.manifest):
                if not isinstance(error, Exception):
                    raise
                said = "published and recorded" if is_settled else "published; the ledger counts it"
                warnings.warn(f"{folder}: {said}, but: {' '.join(str(error).split())}", stacklevel=3)
                return
            if isinstance(error, sqlite3.Error):
                raise OutputError(f"{path}: nothing was recorded: {' '.join(str(error).split())}") from None
            if isinstance(error, OSError):
                raise cannot_write(folder, error) from error
            raise


def _record(path: Path, entry: Entry, chain: Chain, seen: int, folder: Path, draft: Path) -> None:
    folders = manifests_in(folder.parent)
    if not path.exists():
        _check_folders(path, Contents(VERSION, chain), [*manifests_in(path.parent), *folders], entry.population)
        create(path, chain.key)
    with connected(path) as database:
        contents = _settled(path, database)
        _check_folders(path, contents, folders, entry.population)
        with transaction(database):
            contents = _load(path, database)
            if contents.version == UNCHAINED:
                contents = _upgrade(path, database, chain.key)
            known = len(about(contents.entries, entry.population))
            if known != seen or contents.chain.key != chain.key or contents.pending:
                raise OutputError(
                    f"{path}: another release about {entry.population!r} was recorded meanwhile; run again"
                )
            key = insert_entry(database, entry)
            pending = (key, str(folder), str(draft))
            database.execute("insert into pending values (?, ?, ?)", pending)
            _chain(database, contents.chain, key, pending)
        # Nobody else can settle the entry while this transaction is open, and if we die the lock goes with us.
        with transaction(database):
            contents = _load(path, database)
            if contents.pending != pending:
                raise OutputError(f"{path}: another run withdrew this release; run again")
            move_draft(draft, folder)
            _complete(database, contents.chain)


def create(path: Path, key: str) -> None:
    """An empty ledger that only its owner can read, whole from the first moment; another's is never replaced."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        for statement in (TABLES + CHAIN_TABLES).split(";\n"):
            database.execute(statement)
        database.execute(f"pragma application_id = {APPLICATION}")
        database.execute(f"pragma user_version = {VERSION}")
        _complete(database, Chain(key))
        content = database.serialize()
    with suppress(FileExistsError):  # two first releases must not replace each other's ledger
        write_whole(path, content, 0o600, new=True)


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    # Not `mode=ro`: the journal of a run that was killed must be rolled back, which writes.
    address = f"{path.resolve().as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)) as database:
        # EXTRA also syncs the folder after the journal is gone: what was committed outlives a power loss.
        database.execute("pragma synchronous = extra")
        yield database


def _settled(path: Path, database: sqlite3.Connection) -> Contents:
    """What the ledger holds, with an interrupted release completed or withdrawn."""
    if path.stat().st_size == 0:
        raise InputError(f"{path}: is empty, which no ledger ever is; restore it from a backup")
    with transaction(database, "deferred"):
        contents = _load(path, database)
    if contents.pending is None:
        return contents
    with transaction(database):
        contents = _load(path, database)
        if contents.pending is None:
            return contents
        key, folder, draft = contents.pending
        is_published = _is_published(Path(folder), contents.entries[-1].manifest)
        # A rename is atomic: the draft is there if and only if it has not become the folder. Where somebody moved
        # either of them, the release counts: it may be out.
        is_withdrawn = not is_published and Path(draft).is_dir()
        chain = contents.chain
        if is_withdrawn:
            delete_entry(database, key)
            database.execute("delete from chain where release = ?", (key,))
            chain = replace(chain, hashes=chain.hashes[:-1])
        elif is_published:
            sync(Path(folder).parent)
        _complete(database, chain)
    remove_draft(Path(draft))
    return contents._replace(chain=chain, entries=contents.entries[: -1 if is_withdrawn else None], pending=None)


def _settle_quietly(path: Path) -> bool:
    """Whether an interrupted release could be settled at once; if not, the next run does it."""
    if not path.exists():
        return True
    with suppress(sqlite3.Error, OSError, SafemarginError), connected(path) as database:
        _settled(path, database)
        return True
    return False


def _is_published(folder: Path, manifest: str) -> bool:
    path = folder / PUBLISHED / MANIFEST
    return path.is_file() and hash_file(path) == manifest


def _load(path: Path, database: sqlite3.Connection) -> Contents:
    """Everything in the file, inside a transaction; an error where anything does not fit its hash."""
    version = _version(path, database)
    if database.execute("pragma integrity_check").fetchall() != [("ok",)]:
        raise damaged(path)
    rows = database.execute(f"select id, {COLUMNS} from release order by id").fetchall()
    parts = select_parts(database)
    if {row[0] for row in rows} != set(parts):  # every release has a table, the total
        raise damaged(path)
    if version == UNCHAINED:
        chain, pending = Chain(new_secret()), []
    else:
        heads = database.execute("select key, releases, seal from head").fetchall()
        if len(heads) != 1:
            raise damaged(path)
        chain, pending = Chain(heads[0][0]), database.execute("select * from pending").fetchall()
    for key, *row in rows:
        chain = chain.extended(row, parts[key])
    if version != UNCHAINED:
        hashes = database.execute("select release, hash from chain order by release").fetchall()
        expected = list(zip((row[0] for row in rows), chain.hashes, strict=True))
        if hashes != expected or heads[0][1:] != (len(rows), chain.seal(pending, last_lock(database))):
            raise damaged(path)
    entries = tuple(_entry(hashed, row, parts[key]) for hashed, (key, *row) in zip(chain.hashes, rows, strict=True))
    return Contents(version, chain, entries, pending[0] if pending else None)


def _entry(hashed: str, row: Sequence[Any], parts: Mapping[str, Sequence[Row]]) -> Entry:
    """An entry, read once while the program runs: a release opens its ledger several times.

    The hash is worked out from the content of the entry, every time, with the key of the ledger and all entries before.
    """
    if hashed not in _ENTRIES:
        while len(_ENTRIES) >= MOST_ENTRIES:
            del _ENTRIES[next(iter(_ENTRIES))]
        _ENTRIES[hashed] = entry_of(row, parts)
    return _ENTRIES[hashed]


_ENTRIES: dict[str, Entry] = {}
MOST_ENTRIES = 1_000
"""Entries that are kept, the oldest forgotten first."""


def damaged(path: Path) -> InputError:
    return InputError(f"{path}: entries were changed or removed; restore the ledger from a backup")


def _version(path: Path, database: sqlite3.Connection) -> int:
    (application,) = database.execute("pragma application_id").fetchone()
    (version,) = database.execute("pragma user_version").fetchone()
    if application != APPLICATION:
        raise InputError(f"{path}: is an SQLite file, but not a ledger of safemargin; name another file")
    if version not in (UNCHAINED, VERSION):
        raise InputError(f"{path}: is a ledger of version {version}; this program reads version {VERSION}")
    # The first version had no hashes. A ledger that has some and says it is of that version was tampered with.
    later = "select 1 from sqlite_master where name in ('chain', 'head', 'pending', 'locked')"
    if version == UNCHAINED and database.execute(later).fetchall():
        raise damaged(path)
    return int(version)


def _upgrade(path: Path, database: sqlite3.Connection, key: str) -> Contents:
    """Give a ledger of the first version its chain."""
    contents = _load(path, database)
    for statement in CHAIN_TABLES.split(";\n"):
        database.execute(statement)
    database.execute(f"pragma user_version = {VERSION}")
    chain, parts = Chain(key), select_parts(database)
    for number, *row in database.execute(f"select id, {COLUMNS} from release order by id").fetchall():
        chain = chain.extended(row, parts[number])
        database.execute("insert into chain values (?, ?)", (number, chain.head))
    _complete(database, chain)
    return contents._replace(version=VERSION, chain=chain)


def _chain(database: sqlite3.Connection, chain: Chain, key: int, pending: Sequence[Any]) -> None:
    """Chain the entry that was inserted, and seal it with its row in `pending`."""
    row = database.execute(f"select {COLUMNS} from release where id = ?", (key,)).fetchone()
    extended = chain.extended(row, select_parts(database)[key])
    database.execute("insert into chain values (?, ?)", (key, extended.head))
    _write_head(database, extended, [pending])


def _complete(database: sqlite3.Connection, chain: Chain) -> None:
    """Nothing is pending any more."""
    database.execute("delete from pending")
    _write_head(database, chain, [])


def _write_head(database: sqlite3.Connection, chain: Chain, pending: Sequence[Any]) -> None:
    seal = chain.seal(pending, last_lock(database))
    database.execute("delete from head")
    database.execute("insert into head values (?, ?, ?)", (chain.key, len(chain.hashes), seal))


@contextmanager
def locking(path: Path) -> Iterator[tuple[sqlite3.Connection, Chain, str]]:
    """A transaction that adds a lock: the ledger, its chain and the seal of the last lock; then all is sealed again."""
    with connected(path) as database, transaction(database):
        contents = _load(path, database)
        if contents.version == UNCHAINED:
            contents = _upgrade(path, database, contents.chain.key)
        yield database, contents.chain, last_lock(database)
        _write_head(database, contents.chain, [contents.pending] if contents.pending else [])


def _check_folders(path: Path, contents: Contents, manifests: Sequence[Path], population: str) -> None:
    """Raise if releases at hand show that the ledger is not the one that they were recorded in."""
    known = {entry.manifest for entry in contents.entries}
    held = about(contents.entries, population) if population else contents.entries
    new = population if not held else "" if contents.version == UNCHAINED else None
    check_folders(path, contents.chain, known, new, manifests)

"""Write a folder whole or not at all, with a manifest that holds the hash of every file."""

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from safemargin.core import (
    InputError,
    OutputError,
    cannot_read,
    cannot_write,
    claimed,
    hold_signals,
    is_abandoned,
    new_private_folder,
    sync,
    write_whole,
    written,
)
from safemargin.io.files import read_json, require_file
from safemargin.io.scratch import remove_abandoned

MANIFEST = "manifest.json"
PUBLIC = "published"
RESERVED_NAMES = frozenset(
    ["con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10))]
    + ["manifest", "certificate", "index"]
)
"""What Windows takes for a device, and files that a folder has beside its tables."""
CONFIDENTIAL = "confidential"
"""The part of a folder that only its owner may read."""
DRAFT, LOCK, AWAITED = "-draft-", ".lock", ".ledger"
"""What is in the name of a draft; the file that its process holds; the file that names the ledger that may wait."""
PATIENCE = 5.0
"""Seconds to wait for a ledger that somebody writes."""
AUDITORS = "auditors"
"""The part of a folder for those who may hold the joint roll; so far, only its owner may read it."""


def file_name(name: str) -> str:
    """A table's name as a file name that is safe everywhere: not hidden, no device of Windows, and none of our own.

    >>> file_name("district/age"), file_name(".hidden"), file_name("NUL"), file_name("manifest")
    ('district_age', '_.hidden', '_NUL', '_manifest')
    """
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name) or "table"
    is_taken = plain.startswith(".") or plain.split(".")[0].lower() in RESERVED_NAMES
    return f"_{plain}" if is_taken else plain


def check_folder(folder: Path) -> None:
    """Refuse to write where something is already: better said before the work than after it.

    What a killed run left goes first, its temporary files too: where it had written all, the next does nothing else.
    """
    remove_stale_drafts(folder.parent)
    remove_abandoned()
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise OutputError(f"{folder}: {place} is a file, not a folder; name another")
    try:
        if folder.exists() and any(folder.iterdir()):
            raise OutputError(f"{folder}: the output folder is not empty; name another or remove it")
    except OSError as error:
        raise OutputError(f"{folder}: cannot be read ({error.strerror})") from error


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A draft that becomes a new or empty folder when all went well, and else leaves nothing behind."""
    with open_draft(folder) as draft:
        try:
            yield draft
            finish_draft(draft)
            with hold_signals():  # what has its name is complete, and counts as such
                move_draft(draft, folder)
        except OSError as error:
            raise cannot_write(folder, error) from error


@contextmanager
def open_draft(folder: Path) -> Iterator[Path]:
    """An empty folder inside one beside `folder` that only its owner can enter, to be filled, finished and moved.

    The inner folder has the mode that it keeps, so that a rename is all it takes to publish it. What killed processes
    left beside `folder` is removed.
    """
    check_folder(folder)
    try:
        missing = [place for place in (folder.parent, *folder.parent.parents) if not place.exists()]
        folder.parent.mkdir(parents=True, exist_ok=True)
        for place in missing:
            sync(place.parent)
        remove_stale_drafts(folder.parent)
        # In the same folder, so that renaming it is atomic: one file system.
        outer = new_private_folder(folder.parent, f".{folder.name}{DRAFT}")
    except OSError as error:
        raise cannot_write(folder, error) from error
    try:
        with claimed(outer, outer / LOCK):
            draft = outer / folder.name
            draft.mkdir(0o755)
            draft.chmod(0o755)  # whatever the umask: nobody enters the folder around it
            yield draft
    except OSError as error:
        raise cannot_write(folder, error) from error
    finally:
        with hold_signals():  # who presses Ctrl-C twice leaves nothing behind either
            remove_draft(outer)


def remove_draft(draft: Path) -> None:
    """Remove a draft, or the folder around it, unless a ledger waits for it."""
    outer = draft if DRAFT in draft.name else draft.parent
    if DRAFT in outer.name and not _is_awaited(outer):
        for _ in range(2):  # what failed once may not fail again
            shutil.rmtree(outer, ignore_errors=True)


def remove_stale_drafts(folder: Path) -> None:
    """Remove what killed processes left in a folder; what a ledger waits for goes when the ledger is opened."""
    for left in stale_drafts(folder):
        remove_draft(left)


def stale_drafts(folder: Path) -> list[Path]:
    """Drafts in a folder that processes of this machine left behind when they were killed."""
    found = sorted(folder.glob(f".*{DRAFT}*"))
    return [path for path in found if path.is_dir() and not path.is_symlink() and is_abandoned(path, path / LOCK)]


def await_draft(draft: Path, ledger: Path) -> None:
    """Say that a ledger may wait for this draft from now on: it decides what becomes of it when it is opened."""
    write_whole(draft.parent / AWAITED, str(ledger.resolve()).encode("utf-8", "surrogateescape"), 0o600)


def _is_awaited(outer: Path) -> bool:
    """Whether a ledger has this draft as one that may be published; one that does not exist waits for none."""
    note = outer / AWAITED
    try:
        ledger = Path(note.read_bytes().decode("utf-8", "surrogateescape"))
        if not ledger.is_file():
            return False
        # Not `mode=ro`: the journal of a run that was killed must be rolled back, which writes.
        with closing(sqlite3.connect(f"{ledger.as_uri()}?mode=rw", uri=True, timeout=PATIENCE)) as database:
            rows = database.execute("select draft from pending").fetchall()
            return any(Path(draft).parent.name == outer.name for (draft,) in rows)
    except FileNotFoundError:
        return False
    except (OSError, ValueError, sqlite3.Error):  # nobody knows: it stays
        return True


def finish_draft(draft: Path) -> None:
    """Bring all of a draft to the disk: a rename that outlives a power loss must not show files that did not.

    The parts that are not for the public can be read by its owner alone, whatever the umask.
    """
    for path in sorted(draft.rglob("*"), reverse=True):  # what is in a folder before the folder
        if path.relative_to(draft).parts[0] in (CONFIDENTIAL, AUDITORS):
            path.chmod(0o700 if path.is_dir() else 0o600)
        sync(path)
    for place in (draft, draft.parent, draft.parent.parent):
        sync(place)


def move_draft(draft: Path, folder: Path) -> None:
    """Give a finished draft its name; if that cannot be brought to the disk, take it back."""
    os.replace(draft, folder)
    try:
        sync(folder.parent)
    except OSError:
        os.replace(folder, draft)
        raise
    written.append(folder)


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write all files into a new or empty folder, or nothing at all."""
    with new_folder(folder) as draft:
        fill_draft(draft, files)


def fill_draft(draft: Path, files: Mapping[str, bytes]) -> None:
    """Write files by name into a draft."""
    for name, content in files.items():
        path = draft / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def json_bytes(document: object) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


class Manifest(BaseModel):
    """What is said about the files of a folder, and the SHA-256 of each; features add keys of their own."""

    model_config = ConfigDict(extra="allow", frozen=True)

    files: dict[str, str]

    def changed(self, folder: Path) -> tuple[str, ...]:
        """Names of the files that are missing or have another hash."""
        return tuple(
            name
            for name, mark in self.files.items()
            if not (folder / name).is_file() or hash_file(folder / name) != mark
        )


def manifest_bytes(stated: Mapping[str, object], hashes: Mapping[str, str]) -> bytes:
    """The manifest of a folder: what is stated, then the hashes of its files."""
    return json_bytes({"schema": 1, **stated, "files": dict(hashes)})


def with_manifest(stated: Mapping[str, object], files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of a folder, with a manifest of all in its `published/`; what is confidential is not named there."""
    public = f"{PUBLIC}/"
    hashes = {
        name.removeprefix(public): hash_bytes(content) for name, content in files.items() if name.startswith(public)
    }
    return {**files, f"{public}{MANIFEST}": manifest_bytes(stated, hashes)}


def write_manifest(folder: Path, stated: Mapping[str, object]) -> None:
    """Write the manifest of every file in a folder, and in folders inside it, beside them."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    hashes = {path.relative_to(folder).as_posix(): hash_file(path) for path in found}
    (folder / MANIFEST).write_bytes(manifest_bytes(stated, hashes))


def read_manifest(path: Path) -> Manifest:
    """The manifest in a file; an error names the key that is wrong."""
    try:
        return Manifest.model_validate(read_json(path))
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(map(str, fault["loc"])) or "content"
        raise InputError(f"{path}: is not a manifest: {key}: {fault['msg']}") from None


def hash_bytes(content: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def hash_file(path: Path) -> str:
    """The SHA-256 of a file, read in blocks."""
    require_file(path)
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise cannot_read(path, error) from None

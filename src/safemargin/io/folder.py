"""Write a folder whole or not at all, with a manifest that holds the hash of every file."""

import hashlib
import json
import os
import platform
import re
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from safemargin.core import InputError, OutputError, cannot_read, cannot_write, written
from safemargin.io.files import read_json, require_file

MANIFEST = "manifest.json"
PUBLIC = "published"
RESERVED_NAMES = frozenset(
    ["con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10))]
    + ["manifest", "certificate", "index"]
)
"""What Windows takes for a device, and files that a folder has beside its tables."""
CONFIDENTIAL = "confidential"
"""The part of a folder that only its owner may read."""
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
    """Refuse to write where something is already: better said before the work than after it."""
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
    draft = make_draft(folder)
    try:
        yield draft
        finish_draft(draft)
        move_draft(draft, folder)
    except OSError as error:
        raise cannot_write(folder, error) from error
    finally:
        with hold_signals():  # who presses Ctrl-C twice leaves nothing behind either
            shutil.rmtree(draft, ignore_errors=True)


def make_draft(folder: Path) -> Path:
    """An empty folder beside `folder` that only its owner can read, to be filled, finished and moved."""
    check_folder(folder)
    try:
        missing = [place for place in (folder.parent, *folder.parent.parents) if not place.exists()]
        folder.parent.mkdir(parents=True, exist_ok=True)
        for place in missing:
            sync(place.parent)
        for left in stale_drafts(folder.parent):
            if left.name.startswith(f".{folder.name}-draft-") and not _of_a_ledger(left):
                shutil.rmtree(left, ignore_errors=True)
        # In the same folder, so that renaming it is atomic: one file system.
        return Path(tempfile.mkdtemp(prefix=f".{folder.name}-draft-{_machine()}-{os.getpid()}-", dir=folder.parent))
    except OSError as error:
        raise cannot_write(folder, error) from error


def stale_drafts(folder: Path) -> list[Path]:
    """Drafts in a folder that processes of this machine left behind when they were killed."""
    drafts = []
    for path in sorted(folder.glob(".*-draft-*")):
        match = re.search(r"-draft-([0-9a-f]{8})-([0-9]+)-[^-/]*$", path.name)
        if match and match[1] == _machine() and not _is_running(int(match[2])) and path.is_dir():
            drafts.append(path)
    return drafts


def _machine() -> str:
    # Numbers of processes mean nothing on another machine that shares the disk.
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _of_a_ledger(draft: Path) -> bool:
    """Whether a ledger may wait for this draft: it decides what becomes of it when it is opened."""
    manifest = draft / PUBLIC / MANIFEST
    return manifest.is_file() and b'"ledger"' in manifest.read_bytes()


def finish_draft(draft: Path) -> None:
    """Bring all of a draft to the disk: a rename that outlives a power loss must not show files that did not.

    The parts that are not for the public can be read by its owner alone, whatever the umask.
    """
    for path in sorted(draft.rglob("*"), reverse=True):  # what is in a folder before the folder
        if path.relative_to(draft).parts[0] in (CONFIDENTIAL, AUDITORS):
            path.chmod(0o700 if path.is_dir() else 0o600)
        sync(path)
    # `mkdtemp` makes folders that only their owner can read.
    draft.chmod(0o755)
    sync(draft)
    sync(draft.parent)


def move_draft(draft: Path, folder: Path) -> None:
    """Give a finished draft its name; if that cannot be brought to the disk, take it back."""
    os.replace(draft, folder)
    try:
        sync(folder.parent)
    except OSError:
        os.replace(folder, draft)
        raise
    written.append(folder)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows opens no folders, and writes their names itself
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def hold_signals() -> Iterator[None]:
    """Deliver Ctrl-C and SIGTERM afterwards: what is done inside is neither torn apart nor undone half-way."""
    held: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield  # Python runs handlers in the main thread only
        return
    before = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        if callable(signal.getsignal(number)) or signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, lambda number, _: held.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for received in dict.fromkeys(held):
            signal.raise_signal(received)


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


def write_whole(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file so that a power failure leaves the old one or the new one, never half of one."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
        sync(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from None


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

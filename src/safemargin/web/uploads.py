"""Projects made from files that were dropped on a page: each in a private folder, which is removed with the project."""

import shutil
from pathlib import Path

from safemargin.core import InputError, OutputError, SafemarginError, cannot_write, write_whole
from safemargin.history.folders import PUBLISHED
from safemargin.io import file_name, json_bytes, read_json
from safemargin.web.bench import HIDDEN, Bench
from safemargin.web.place import PLAN

MADE = f"{HIDDEN}made.json"
"""The file that names what the workbench put into a folder of its own."""
LONGEST = 40


def private_folder(base: Path, name: str) -> Path:
    """A new folder in `base` that only its owner can enter."""
    plain = file_name(name)[:LONGEST].rstrip(".") or "data"
    for number in range(1, 1000):
        folder = base / (plain if number == 1 else f"{plain}-{number}")
        try:
            folder.mkdir(0o700)
        except FileExistsError:
            continue
        except OSError as error:
            raise cannot_write(folder, error) from None
        return folder
    raise OutputError(f"{base / plain}: there are a thousand folders of this name; remove some")


def adopt(bench: Bench, path: Path) -> Path:
    """Move a dropped file into a private folder of its own, where a project can stay with it."""
    folder = private_folder(bench.base, path.name.split(".")[0])
    try:
        shutil.move(path, folder / path.name)
        (folder / path.name).chmod(0o600)
    except OSError as error:
        raise cannot_write(folder, error) from None
    sign(folder, [path.name])
    return folder / path.name


def settle(bench: Bench, text: str, name: str) -> str:
    """A file that a project reads, as the project names it; one that was dropped is moved beside it first."""
    shown = bench.existing(text, "a file", name)
    path = Path(shown)
    if not path.is_relative_to(bench.uploads):
        return shown
    folder = bench.place.folder
    number = next(n for n in range(1, 1000) if not (folder / _numbered(path.name, n)).exists())
    target = folder / _numbered(path.name, number)
    try:
        shutil.move(path, target)
        target.chmod(0o600)
    except OSError as error:
        raise cannot_write(target, error) from None
    if (folder / MADE).exists():
        sign(folder, [*(file.name for file in made_here(folder)), target.name])
    return target.name


def _numbered(name: str, number: int) -> str:
    stem, dot, end = name.partition(".")
    return name if number == 1 else f"{stem}-{number}{dot}{end}"


def sign(folder: Path, names: list[str]) -> None:
    """Write down what the workbench put there, so that it can be removed."""
    write_whole(folder / MADE, json_bytes({"files": names}), 0o600)


def made_here(folder: Path) -> list[Path]:
    """What the workbench put into a folder of its own; nothing in a folder of somebody else."""
    try:
        names = read_json(folder / MADE)["files"]
        files = [folder / file_name(str(name)) for name in names]
    except (SafemarginError, LookupError, TypeError):
        return []
    return [file for file in files if file.is_file() and not file.is_symlink()]


def remove_project(bench: Bench) -> list[str]:
    """Remove the dropped file, its projects and what was not published; name what stays.

    What was published stays, and the ledger: the next release about the same people is held against them.
    """
    folder = bench.place.folder
    files = made_here(folder)
    if not files or not (folder / MADE).is_file():
        raise InputError("this project was not made from a dropped file: remove its folder yourself")
    if bench.jobs.running is not None:
        raise InputError("a command is still running: wait for it or cancel it")
    drafts = [path.parents[1] for path in folder.glob(f"*/{PLAN}") if not (path.parents[1] / PUBLISHED).is_dir()]
    try:
        for draft in drafts:
            shutil.rmtree(draft)
        for store in folder.glob(f"{HIDDEN}*/"):
            if store.is_dir() and not store.is_symlink():
                shutil.rmtree(store)
        for file in [*files, *folder.glob("*.toml"), folder / MADE]:
            file.unlink(missing_ok=True)
        stays = sorted(path.name for path in folder.iterdir())
        if not stays and folder != bench.base:
            folder.rmdir()
    except OSError as error:
        raise cannot_write(folder, error) from None
    bench.open(bench.base)
    return stays

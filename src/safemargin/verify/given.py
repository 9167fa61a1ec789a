"""The files that are handed to the verifier."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safemargin.bounds import SCHEMA
from safemargin.core import InputError
from safemargin.io import read_json

UNREFERENCED = "the certificate does not speak about this file"
PUBLISHED = "published"
"""The part of a folder that may be published; the folder as a whole stands for it."""
EXTRA = "lies in the folder, but the certificate does not speak about it; remove it"


@dataclass(frozen=True)
class Given:
    """The files that somebody hands in: those named one by one, those that lie in a folder that was named, and the
    folders inside it.
    """

    named: Mapping[str, Mapping[str, Path]]
    in_folder: Mapping[str, Path]
    folders: tuple[str, ...] = ()

    def find(self, name: str, role: str) -> Path:
        """The file of this name, in this role."""
        path = self.named[role].get(name) or self.in_folder.get(name)
        if path is None:
            how = {"roll": " as `roll`", "fact": " as `facts`"}.get(role, "")
            raise InputError(f"{name}: the certificate speaks about this file; give it{how}, or a folder that holds it")
        return path

    def unreferenced(self, referenced: Collection[tuple[str, str]], companions: Collection[str] = ()) -> list[str]:
        """A failure for every file that is neither `referenced` (by role and name) nor a companion, whatever it is."""
        names = {name for _, name in referenced} | set(companions)
        failures = [
            f"{name}: {UNREFERENCED}"
            for role, of in self.named.items()
            for name in of
            if (role, name) not in referenced
        ]
        return failures + [f"{name}: {EXTRA}" for name in (*self.in_folder, *self.folders) if name not in names]


def changed(name: str) -> str:
    """The failure of a file that has another hash."""
    return f"{name}: is not the file that the certificate speaks about; its hash differs"


def load(path: Path) -> dict[str, Any]:
    """A certificate or a manifest."""
    document = read_json(path)
    if not isinstance(document, dict) or document.get("schema") != SCHEMA or type(document["schema"]) is not int:
        raise InputError(f"{path}: is not a certificate with schema {SCHEMA}")
    return document


def given_files(certificate: Path, paths: Mapping[str, Sequence[Path]]) -> Given:
    """The files behind `paths`, by role. The certificate itself and the folders that it lies in are none of them."""
    named: dict[str, dict[str, Path]] = {role: {} for role in paths}
    in_folder: dict[str, Path] = {}
    folders: list[str] = []
    own = certificate.resolve()
    for role, path in ((role, path) for role, each in paths.items() for path in each):
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder")
        folder = path.is_dir()
        inside = path / PUBLISHED if (path / PUBLISHED).is_dir() else path
        for file in sorted(inside.iterdir()) if folder else [path]:
            if file.resolve() in (own, *own.parents):
                continue
            if file.is_dir():
                folders.append(f"{file.name}/")
                continue
            other = (in_folder if folder else named[role]).setdefault(file.name, file)
            if other != file:
                raise InputError(f"{other} and {file}: files of the same name; a certificate identifies files by name")
    return Given(named, in_folder, tuple(folders))

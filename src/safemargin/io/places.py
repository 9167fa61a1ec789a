"""Where tables are: addresses whose passwords no message repeats, and files that must not change meanwhile."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from safemargin.core import InputError, cannot_read

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/|postgres(ql)?:")
"""How an address starts: a scheme and a slash. A path that Python has shortened has one slash only; `C:` is a disk."""
# Greedy up to the last `@`: a password may hold any sign, an unescaped `@` and `/` too.
_SECRETS = re.compile(r"(\w\w:/{0,2}).*@|((?:password|passwd|sslpassword|secret|token|key)=)[^&\s'\"]*", re.IGNORECASE)

Stamps = tuple[tuple[Path, tuple[int, ...]], ...]
"""Files with what changes when they are written."""


@dataclass(frozen=True)
class Address:
    """A database, or files outside this machine. Its text may hold a password, so nothing prints it whole."""

    url: str = field(repr=False)

    @property
    def scheme(self) -> str:
        """What is behind the address, such as `postgresql`."""
        return urlsplit(self.url).scheme.lower()

    @property
    def shown(self) -> Path:
        """What messages call it: the scheme, the host and the path, without user and password."""
        parts = urlsplit(without_secrets(self.url))
        return Path(f"{self.scheme}:{parts.netloc.rpartition('@')[2]}{parts.path}")


def is_address(text: str) -> bool:
    """Whether `text` is an address, not the name of a file.

    >>> is_address("postgresql://host/votes"), is_address("votes.csv")
    (True, False)
    """
    return ADDRESS.match(text) is not None


def without_secrets(text: str) -> str:
    """A text in which users and passwords of addresses are replaced by stars.

    >>> without_secrets("postgresql://ann:s3c@ret@host/votes?password=x&port=5")
    'postgresql://***@host/votes?password=***&port=5'
    """
    return _SECRETS.sub(lambda match: f"{match[1]}***@" if match[1] else f"{match[2]}***", text)


def stamped(files: Iterable[Path]) -> Stamps:
    """What the system says about files now: number, size, and the times of the last change, in nanoseconds."""
    stamps = []
    for file in files:
        try:
            seen = file.stat()
        except (OSError, ValueError) as error:
            raise cannot_read(file, error) from None
        # The program that writes can set st_mtime, not st_ctime.
        stamps.append((file, (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)))
    return tuple(stamps)


def check_unchanged(stamps: Stamps) -> None:
    """Refuse files that were written or removed since they were opened: no two reads of them need to agree."""
    for file, before in stamps:
        try:
            same = stamped([file]) == ((file, before),)
        except InputError:
            same = False
        if not same:
            raise InputError(f"{file}: changed while it was read; run again when nobody writes it")

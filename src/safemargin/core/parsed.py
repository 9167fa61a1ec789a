"""A text file in a known notation, read whole."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from safemargin.core.errors import InputError

Parsed = TypeVar("Parsed")


def parsed(path: Path, notation: str, parse: Callable[[str], Parsed]) -> Parsed:
    """What `parse` makes of a file; a ValueError of it says that the file is not in this notation."""
    try:
        return parse(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not {notation}: {error}") from None

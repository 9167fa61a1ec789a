"""Every error that safemargin raises on purpose.

SafemarginError
├── InputError          a file, column, key or value is wrong (exit code 2)
│   ├── ContradictionError   public facts that no table satisfies
│   │   └── MismatchError    a table and the roll name different categories
│   └── TooLargeError        more cells than the question can be answered for
├── OutputError         nothing could be written (exit code 2)
└── RefusedError        no release meets the target (exit code 1)
"""

import re
from typing import Any

LONGEST_WORD = 300
"""More signs than this without a blank are shortened in a message: no path or value that helps is longer."""
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# Controls of the terminal (a name could set the title of the window), marks that reverse the order of what follows,
# and halves of signs that cannot be encoded.


def printable(text: str) -> str:
    """The text with control characters written as escapes, so that a terminal shows them and obeys none.

    >>> printable("a\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    return _UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """A message as one line that any terminal can show, without words of thousands of letters."""
    shortened = re.sub(
        rf"\S{{{LONGEST_WORD},}}", lambda match: f"{match[0][:120]}...{match[0][-60:]}", " ".join(text.splitlines())
    )
    return printable(shortened)


class SafemarginError(Exception):
    """Root of the tree; its text is one line that says what, which value, and what to do."""


class InputError(SafemarginError):
    """The input or the call is wrong."""


class ContradictionError(InputError):
    """No table satisfies all the public facts together."""


class MismatchError(ContradictionError):
    """A table counts people in a category that the roll does not have, and omits one that it has."""


class TooLargeError(InputError):
    """The question has more cells than can be listed."""


class OutputError(SafemarginError):
    """The output could not be written; nothing was left behind."""


class RefusedError(SafemarginError):
    """No release that was found meets the target; `draft` says what was tried and why it is unsafe."""

    def __init__(self, message: str, draft: Any = None) -> None:
        super().__init__(message)
        self.draft = draft


def cannot_read(path: object, error: Exception) -> InputError:
    """The one wording for a file that the system does not give, or that is not text."""
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path}: there is no such file")
    if isinstance(error, UnicodeEncodeError):
        return InputError(f"{path}: is no name that a file can have; it is not UTF-8")
    if isinstance(error, UnicodeDecodeError):
        line = error.object.count(b"\n", 0, error.start) + 1
        return InputError(f"{path}: line {line}: is not UTF-8; save the file as UTF-8")
    return InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}")


def cannot_write(path: object, error: OSError) -> OutputError:
    """The one wording for a file or folder that cannot be written."""
    return OutputError(f"{path}: cannot be written ({error.strerror or error})")

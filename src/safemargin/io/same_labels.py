"""Labels that look the same are one label: blanks around and of any kind, invisible signs, Unicode form.

`Lodz` with a combining accent and with a letter of its own, `North` and `North ` with a blank that does not break, are
one category. A label is printed in form NFC, without blanks around; signs that join letters (as Persian needs them)
stay in what is printed, and do not count when labels are compared.

>>> plain_label("  Lo\\u0301dz\\u00a0 "), same_label("a\\u200db") == same_label("ab")
('Lódz', True)
"""

import re
import unicodedata
from collections.abc import Sequence

_INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\ufeff\u00ad]")
_NOTHING = re.compile("[\u200b\u2060\ufeff\u00ad]")
_BLANKS = re.compile("[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\t]+")
MOST_NOTED = 3


def plain_label(text: str) -> str:
    """A label as it is printed."""
    if text.isascii() and "  " not in text and "\t" not in text:
        return text.strip(" ")
    return _BLANKS.sub(" ", _NOTHING.sub("", unicodedata.normalize("NFC", text))).strip(" ")


def same_label(text: str) -> str:
    """What labels that look the same have in common."""
    plain = plain_label(text)
    return plain if plain.isascii() else _INVISIBLE.sub("", plain)


def one_spelling(texts: Sequence[str]) -> list[str]:
    """Every label in one spelling for all that look the same: that of the first."""
    spelling: dict[str, str] = {}
    return [spelling.setdefault(same_label(text), plain_label(text)) for text in texts]


def spelling_notes(column: str, texts: Sequence[str]) -> list[str]:
    """Sentences about labels that look the same and are one category, and about those that differ by capitals."""
    seen: dict[str, str] = {}
    notes = []
    for text in texts:
        first = seen.setdefault(same_label(text), text)
        if first != text:
            notes.append(f"{column}: {_shown(first)} and {_shown(text)} are one category")
    cases: dict[str, str] = {}
    for text in seen:
        first = cases.setdefault(text.casefold(), text)
        if first != text:
            notes.append(f"{column}: {first!r} and {text!r} differ by capitals, and are two categories")
    more = [f"{column}: {len(notes) - MOST_NOTED} more labels like these"] if len(notes) > MOST_NOTED else []
    return [*notes[:MOST_NOTED], *more]


def _shown(text: str) -> str:
    """A label in quotes, with escapes where two forms of a letter would look the same."""
    return repr(text) if unicodedata.is_normalized("NFC", text) else ascii(text)

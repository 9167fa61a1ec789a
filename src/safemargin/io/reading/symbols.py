"""Signs that one file prints in place of counts, beside those that many offices use.

A sign is learned from where it stands: in a column of numbers, between rows with numbers. It is known if a title or a
footnote starts with it, or quotes it; else it is a guess, which is a doubt. A sign may be anything from 0 up.

>>> is_explained("np", ["np  not available for publication"]), is_explained("N", ["An N entry indicates"])
(True, True)
"""

import re
from collections import Counter
from collections.abc import Sequence

from safemargin.io.reading.grid import TextGrid, shown
from safemargin.io.reading.sums import WEAK, is_strong
from safemargin.io.reading.values import Style, Value, read_value

LONGEST, SHORT = 14, 4
"""Letters of a sign that is explained, and of one that is not."""
_YEARS = range(1800, 2201)
_QUOTES = "\"'“”‘’«»„「」『』"


def is_explained(sign: str, lines: Sequence[str]) -> bool:
    """Whether a line around the table starts with a sign, or quotes it."""
    return any(explanation(sign, line) is not None for line in lines)


def explanation(sign: str, line: str) -> str | None:
    """What a line says about the sign it starts with, or quotes; None if it says nothing.

    >>> explanation("i. d.", "i. d. – individuální data"), explanation("x", "xylophones")
    ('individuální data', None)
    """
    text, token = line.strip().casefold(), re.escape(sign.casefold())
    quoted = re.search(rf"[{_QUOTES}]\s?{token}\s?[{_QUOTES}]\s*[=:：–—-]?\s*(.*)", text)
    lead = re.match(rf"(?:an? |the (?:symbol|sign|letter) )?{token}(?:\s*[=:：–—-]+|\s)\s*(.+)", text)
    found = lead or quoted
    return found[1] if found else None


def own_symbols(grid: TextGrid, style: Style) -> tuple[frozenset[str], frozenset[str]]:
    """Signs in columns of numbers that are in no list: those that the file explains, and others."""
    stated = [[read_value(cell, style) for cell in row] for row in grid.rows]
    counted = [r for r, values in enumerate(stated) if _has_count(values)]
    if not counted:
        return frozenset(), frozenset()
    rows = [r for r in range(counted[0], counted[-1] + 1) if not _is_line(grid.rows[r]) or r in counted]
    last = [r for r in range(counted[-1] + 1, len(grid.rows)) if len(grid.rows[r]) == grid.width and grid.rows[r][-1]]
    rows += [r for r in last if all(cell is not None for cell in grid.rows[r])]
    lines = [" ".join(shown(cell) for cell in row if cell is not None) for row in grid.rows if _is_line(row)]
    lines += [shown(row[1]) for row in grid.rows if _is_line(row) and len(row) > 1 and isinstance(row[1], str)]
    known, guessed = set[str](), set[str]()
    for c in range(1, grid.width):
        column = [stated[r][c].symbol for r, row in enumerate(grid.rows) if stated[r][c].kind == "text" and row[0]]
        twice = {
            text
            for text, times in Counter(column).items()
            if times > 1 and _may_be_sign(text) and len(text) <= 2 * SHORT
        }
        known |= {sign.casefold() for sign in twice if is_explained(sign, lines)}
        texts = [stated[r][c].symbol for r in rows if stated[r][c].kind == "text"]
        numbers = [stated[r][c].number for r in rows if stated[r][c].kind == "number"]
        signs = dict.fromkeys(texts)
        if not signs or not numbers or not all(map(_may_be_sign, signs)):
            continue
        explained = {sign for sign in signs if is_explained(sign, lines)}
        rest = set(signs) - explained
        if not rest:
            known |= {sign.casefold() for sign in explained}
        elif len(rest) == 1 and all(len(sign) <= SHORT for sign in rest) and len(set(numbers)) * 2 > len(numbers) > 4:
            known |= {sign.casefold() for sign in explained}
            guessed |= {sign.casefold() for sign in rest}
    return frozenset(known), frozenset(guessed - known)


def _has_count(values: Sequence[Value]) -> bool:
    """Whether a row holds a number that is no year."""
    return any(value.kind == "number" and value.number not in _YEARS for value in values) and len(values) > 1


def _is_line(row: Sequence[object]) -> bool:
    return sum(cell is not None for cell in row) <= 2


def _may_be_sign(text: str) -> bool:
    plain = text.strip()
    return (
        len(plain) <= LONGEST
        and not any(s.isdigit() for s in plain)
        and not (is_strong(plain) or (len(plain) > 1 and WEAK.fullmatch(plain)))
    )

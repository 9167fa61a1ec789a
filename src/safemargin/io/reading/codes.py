"""Columns of codes beside columns of names are one axis: the names stay, and codes say what lies inside what."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from safemargin.io.reading.attributes import go_together
from safemargin.io.reading.frame import Frame
from safemargin.io.reading.grid import shown

_CODED = re.compile(r"[A-Za-z]{0,4}[-_.]?[0-9][0-9A-Za-z._]{0,14}|[A-Z]{1,3}")


@dataclass
class CodesFound:
    """What columns of codes say: by label its code, notes, doubts."""

    code_of: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)


def without_codes(
    frame: Frame, labels: Sequence[int], counts: Sequence[int], name: Callable[[int], str]
) -> tuple[list[int], CodesFound]:
    """The label columns less those that say of every row the same as another one: `E06000001` beside `Hartlepool`.

    Two columns are one axis if each label of one goes with one label of the other. The one with names stays.
    """
    kept, found = list(labels), CodesFound()
    for first, second in combinations(labels, 2):
        if first not in kept or second not in kept or len(kept) < 2:
            continue
        rows = [r for r in frame.body if any(frame.values[r, c].kind != "empty" for c in counts)] or frame.body
        pairs = {(shown(frame.grid.rows[r][first]), shown(frame.grid.rows[r][second])) for r in rows}
        if len(pairs) > 1 and all(a == b for a, b in pairs):
            kept.remove(second)
            found.notes.append(f"column {name(second)!r} repeats {name(first)!r}")
            continue
        pairs -= {pair for pair in pairs if not pair[1]} if ("", "") in pairs else set()
        full = {pair for pair in pairs if all(pair)}
        # A total has no code: a blank beside a label that has none elsewhere.
        bare = [{pair[1 - i] for pair in pairs - full if not pair[i]} - {""} for i in (0, 1)]
        size = len(full)
        if size < 2 or {len({pair[i] for pair in full}) for i in (0, 1)} != {size}:
            continue
        coded = [_are_codes([pair[i] for pair in full]) for i in (0, 1)]
        named = [sum(_is_word(pair[i]) for pair in full) * 2 > size for i in (0, 1)]
        if len(rows) >= 2 * size and go_together([a for a, _ in pairs], [b for _, b in pairs]):
            gone, stays = (first, second) if _letters(pairs, 0) < _letters(pairs, 1) else (second, first)
            at = 0 if gone == first else 1
            kept.remove(gone)
            found.code_of |= {pair[1 - at]: pair[at] for pair in full if coded[at]}
            found.notes.append(f"column {name(gone)!r} says the same as {name(stays)!r}")
            continue
        if coded[0] == coded[1] or not named[coded[0]]:
            if size > 2 and pairs == full and len(full) == len(frame.body):
                names = f"{name(first)!r} and {name(second)!r}"
                found.doubts.append(f"columns {names} go together row by row: taken as two axes")
            continue
        at = 0 if coded[0] else 1
        if bare[1 - at] or len(bare[at]) > 2 or bare[at] & {pair[1 - at] for pair in full}:
            continue
        gone, stays = (first, second) if coded[0] else (second, first)
        kept.remove(gone)
        found.code_of |= {pair[1 - at]: pair[at] for pair in full}
        found.notes.append(f"column {name(gone)!r} says the same as {name(stays)!r}")
    return kept, found


def _is_word(text: str) -> bool:
    """Whether a text has two letters, or one of a script in which one may be a word."""
    letters = [sign for sign in text if sign.isalpha()]
    return len(letters) > 1 or any(sign > "\u2e7f" for sign in letters)


def _letters(pairs: Collection[tuple[str, str]], at: int) -> int:
    """How many letters the labels of one of two columns have: names have more than codes."""
    return sum(sign.isalpha() for pair in pairs for sign in pair[at])


def _are_codes(texts: Sequence[str]) -> bool:
    """Whether texts are codes: short, most of them with digits."""
    digits = sum(any(sign.isdigit() for sign in text) for text in texts)
    return all(_CODED.fullmatch(text) for text in texts) and digits * 2 > len(texts)

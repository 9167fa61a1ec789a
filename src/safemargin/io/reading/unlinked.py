"""Tables that look as if they were about the same places, and are not read together: their labels or names differ.

Tables are linked by the names of axes and by labels. `11 Ashby` in one file and `Ashby` in another are two categories
for a program, so that a total in one says nothing about a gap in the other: nothing found is no all-clear then.

>>> same_word("11 Ashby"), same_word("ASHBY¹"), same_word("Évora")
('ashby', 'ashby', 'evora')
"""

import re
import unicodedata
from collections.abc import Sequence

from safemargin.io.reading.table import ReadAxis, ReadTable

MOST_COMPARED = 60
"""Tables before one that it is compared with."""
_CODE_FIRST = re.compile(r"[a-z]{0,4}[0-9][0-9a-z.]*[ :_.–-]+(?=\S)")


def same_word(text: str) -> str:
    """A label without a code in front, marks of footnotes, accents, capitals and blanks."""
    plain = re.sub(r"[¹²³⁴⁵⁶⁷⁸⁹⁰*†‡]|\[[^\]]*\]$|\([a-z0-9]\)$", "", text.casefold()).strip()
    bare = _CODE_FIRST.sub("", plain) if any(map(str.isalpha, _CODE_FIRST.sub("", plain))) else plain
    parts = unicodedata.normalize("NFKD", bare)
    return "".join(sign for sign in parts if sign.isalnum() or unicodedata.category(sign) == "Mc")


def unlinked(read: ReadTable, others: Sequence[ReadTable]) -> list[str]:
    """The doubts about tables before `read` with which it shares words, and no labels or no axis."""
    doubts: list[str] = []
    for other in others[-MOST_COMPARED:]:
        shared = {axis.name for axis in read.axes} & {axis.name for axis in other.axes}
        for own in read.axes:
            for theirs in other.axes:
                if (own.name == theirs.name or not shared) and (words := _apart(own, theirs)):
                    doubts.append(f"{words} of {other.name}, and the tables are not read together by it")
    return list(dict.fromkeys(doubts))[:3]


def _apart(own: ReadAxis, theirs: ReadAxis) -> str:
    """Why two axes that seem to be one are two; nothing where they are one, or seem to be two."""
    mine, other = {*own.categories}, {*theirs.categories}
    if own.name == theirs.name and mine & other:
        return ""
    words, same = {same_word(text): text for text in own.categories}, {same_word(text) for text in theirs.categories}
    both = words.keys() & same - {""}
    if len(both) < 2 or 2 * len(both) < min(len(mine), len(other)):
        return ""
    if own.name == theirs.name:
        one = min(both)
        text = next(text for text in theirs.categories if same_word(text) == one)
        return f"{own.name} = {words[one]!r} may be {text!r}"
    return f"axis {own.name!r} has the categories of {theirs.name!r}"

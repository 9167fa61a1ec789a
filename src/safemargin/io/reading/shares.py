"""Shares and changes that are printed where the count is suppressed: with a total, or last year's count, they state it.

A share of 12.3 % of 81 people is 10 people. Shares are not used to find a count, so what nobody looked at is a doubt.
A mean states no count.

| Area | Bus | Bus, % | all |
|---|---|---|---|
| Brook | * | 12.3 | 81 |
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from safemargin.io.reading.column_names import SHARES
from safemargin.io.reading.grid import TextGrid, shown
from safemargin.io.reading.values import Style, read_value

if TYPE_CHECKING:
    from safemargin.io.reading.frame import Frame

MEANS = re.compile(
    r"mean|average|\bavg|median|durchschn|mittelw|moyen|\bmedia\b|std|standard|\bcv\b|\bse\b|\bci\b|confid|"
    r"fte|equival|äquiv",
    re.I,
)
PRINTED, HIDDEN = ("number", "share"), ("gap", "dash", "empty")


def stated_gaps(
    frame: "Frame", names: Sequence[tuple[str, ...]], shares: Sequence[int], counts: Sequence[int]
) -> list[str]:
    """The doubt about columns of shares that print a value in a row in which their count is a gap."""
    for c in shares:
        called = " ".join(dict.fromkeys(filter(None, names[c])))
        if MEANS.search(called) or (of := _counted_by(names, c, counts)) is None:
            continue
        for r in frame.body:
            if frame.values[r, c].kind in PRINTED and frame.values[r, of].kind in HIDDEN:
                text = shown(frame.grid.rows[r][c])
                where = f"{frame.grid.place(r)}: {called!r} prints {text[:20]}"
                return [f"{where} where the count is suppressed, and may state it"]
    return []


def _counted_by(names: Sequence[tuple[str, ...]], share: int, counts: Sequence[int]) -> int | None:
    """The column of counts that a column of shares is about: by its name, else the next one to the left."""
    called = _plain(" ".join(names[share]))
    alike = [c for c in counts if (own := _plain(" ".join(names[c][-1:]) or " ".join(names[c]))) and own in called]
    left = [c for c in counts if c < share]
    near = [c for c in alike if c < share] or alike or left
    return max(near, key=lambda c: (len(_plain(" ".join(names[c][-1:]))) if alike else 0, c)) if near else None


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[^\w ]", " ", SHARES.sub(" ", text.casefold())).split())


def shares_below_gaps(grid: TextGrid, style: Style, body: Sequence[int], kept: Sequence[int]) -> str:
    """The doubt about rows of shares that are not used, below a row of counts in which one is a gap."""
    rows, above = set(kept), -1
    for r in body:
        if r in rows:
            above = r
            continue
        for c in range(1, grid.width) if above >= 0 else ():
            value, count = read_value(grid.rows[r][c], style), read_value(grid.rows[above][c], style)
            if value.kind == "share" and count.kind in ("gap", "dash"):
                return f"{grid.place(r)} prints {value_text(grid, r, c)} below a suppressed count, and may state it"
    return ""


def value_text(grid: TextGrid, row: int, column: int) -> str:
    """What a cell prints, in short."""
    return shown(grid.rows[row][column])[:20]

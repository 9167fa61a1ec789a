"""Every interval of an exposure in a cross table; what could be inferred is red, and says how to ask for a remedy.

A view: it reads an `Exposure` and the verdicts of a target, and decides nothing. The colours follow the verdicts one to
one (disclosed `exposed`, contained `within`, open `interval`), so a page and the document of `bound --json` cannot
disagree. Only cells that could be inferred carry a note, at most `MOST_NOTES` of them, since each is a line of its own
on a page; the note names the options of the command that asks for remedies of this cell.
"""

import shlex

from safemargin.bounds.exposure import Exposure
from safemargin.core import UNBOUNDED, VERDICTS, BoolArray, Target, Verdict
from safemargin.ui import CountCell, CountNote, CountTable, Key, pivot


def coloured_cells(exposure: Exposure, target: Target, printed: BoolArray | None = None) -> CountTable | None:
    """Every interval in a cross table, what could be inferred in red; nothing where there is one cell, or too many.

    Cells that are `printed` are read, not inferred: they are plain. An upper end without a limit is left open (`None`),
    never drawn as the number that stands for it.
    """
    if not exposure.cells.axes or len(exposure.cells) < 2 or exposure.lower.size > MOST_DRAWN:
        return None
    verdicts, options = exposure.verdicts(target), exposure.options or ("",)
    kinds = {str(Verdict.DISCLOSED): "exposed", str(Verdict.CONTAINED): "within", str(Verdict.OPEN): "interval"}
    values: dict[Key, CountCell] = {}
    sizes: dict[frozenset[tuple[str, str]], CountCell] = {}
    ends = exposure.lower.tolist(), exposure.upper.tolist()
    for row, (lows, highs) in enumerate(zip(*ends, strict=True)):
        cell = frozenset(exposure.cells.cell(row).items())
        for option, low, high, code in zip(options, lows, highs, verdicts[row].tolist(), strict=True):
            end = None if high >= UNBOUNDED else high
            if printed is not None and printed[row] and low == high:
                values[cell, option] = CountCell(low)
                continue
            values[cell, option] = CountCell(None, kinds[str(VERDICTS[code])], low, end)
        if exposure.people is not None and exposure.options:
            sizes[cell] = CountCell(int(exposure.people[row]))
    found = [key for key, cell in values.items() if cell.status == "exposed"][:MOST_NOTES]
    notes = {key: CountNote(_named(key), [TRY.format(_typed(key))]) for key in found}
    names = zip(exposure.cells.axes, exposure.cells.categories, strict=True)
    caption = f"What anybody can infer: {' x '.join(exposure.cells.axes)}"
    return pivot(caption, dict(names), values, exposure.options, printed=sizes, notes=notes, first="people", sums=False)


TRY = "What would protect it, and whom that costs a count: the same command with {}."
MOST_NOTES = 200


def _named(key: Key) -> str:
    """A cell and its option as a reader says them: its categories in the order of the names of axes."""
    cell, option = key
    return ", ".join([*(name for _, name in sorted(cell)), *([option] if option else [])])


def _typed(key: Key) -> str:
    """The options that ask for one cell, quoted for a shell.

    >>> _typed((frozenset({("ward", "Old Town"), ("age", "18-29")}), "yes"))
    "--cell=age=18-29 --cell='ward=Old Town' --cell=option=yes"
    """
    cell, option = key
    asked = [*sorted(cell), *([("option", option)] if option else [])]
    return " ".join(f"--cell={shlex.quote(f'{axis}={name}')}" for axis, name in asked)


MOST_DRAWN = 60_000
"""Intervals that are drawn as a table."""

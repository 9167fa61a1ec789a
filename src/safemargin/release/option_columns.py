"""Counts side by side: one row per group, one column per option, as offices keep their returns.

Objects
    columns      the columns of counts, one per option, in the order of the options
    uncounted    columns that belong to the total but are no option, such as blank votes: nobody in them answered
    total        the column that the others must add up to; where none is named, the one that is called `Total`

Invariants
    * A row counts for `columns[k]` people who chose option k. Equal rows add up.
    * In every row, columns + uncounted = total, or the file is refused: the error names the row and the values.
    * The column with the total is no option, also where it is listed among the columns.

Example (`returns.csv`)

    area,Yes,No,Blank,Total
    North,40,58,2,100

with `options = {columns = ["Yes", "No"], uncounted = ["Blank"]}` is 98 people of North, of whom 40 said yes.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator as model_rule
from pydantic_core import PydanticCustomError

from safemargin.core import UNBOUNDED, InputError, IntArray
from safemargin.io import BadText, ConfigSection, Name, Names, Sheet, check_columns, distinct, whole_number

_TOTAL = re.compile(r"(grand )?totals?|total[ _](of )?(votes?|ballots|answers|cast|counted)( cast)?|sum", re.I)


class OptionColumns(ConfigSection):
    """Counts side by side, a column per option."""

    columns: Annotated[Names, AfterValidator(distinct)] = Field(description="columns with counts, one per option")
    uncounted: Annotated[tuple[Name, ...], Field(strict=False), AfterValidator(distinct)] = Field(
        default=(), description="columns that are part of the total but no option, such as blank votes"
    )
    total: Name | None = Field(
        default=None, description="column that the others add up to; default: the one called Total, if there is one"
    )

    @model_rule(mode="after")
    def _each_once(self) -> Self:
        for name in self.uncounted:
            if name in self.columns:
                raise PydanticCustomError("rule", "lists {name} as an option and as uncounted", {"name": repr(name)})
        if len(self.options) < 1:
            raise PydanticCustomError("rule", "columns hold no option beside the total", {})
        return self

    @property
    def options(self) -> tuple[str, ...]:
        """The columns that are options: all but the total."""
        return tuple(name for name in self.columns if name != self.total and not is_total(name))

    def sum_column(self, present: Iterable[str]) -> str | None:
        """The column with the total, of those that are `present`."""
        if self.total is not None:
            return self.total
        return next((name for name in present if is_total(name) and name not in self.uncounted), None)

    def used(self, present: Iterable[str]) -> tuple[str, ...]:
        """All columns of counts to read."""
        total = self.sum_column([*self.columns, *present])
        return tuple(dict.fromkeys([*self.options, *self.uncounted, *([total] if total else [])]))


def is_total(name: str) -> bool:
    """Whether a column is called like the sum of others.

    >>> [is_total(name) for name in ("Total", "total votes", "Total population", "Totalis party")]
    [True, True, False, False]
    """
    return _TOTAL.fullmatch(name.strip()) is not None


def count_matrix(
    path: Path,
    section: OptionColumns,
    texts: Mapping[str, Sequence[str]],
    place: Callable[[int], str],
    decimal: str = ".",
    order: Callable[[int], int] = int,
) -> IntArray:
    """People by row and option; `place` says what messages call a row, and `order` where the row stands in the file."""
    check_columns(path, texts, (*section.options, *section.uncounted, *([section.total] if section.total else ())))
    numbers = {name: _numbers(path, name, texts[name], place, decimal) for name in section.used(texts)}
    counts = np.stack([numbers[name] for name in section.options], axis=1)
    total = section.sum_column(numbers)
    if total is not None:
        parts = [*section.options, *section.uncounted]
        sums = np.sum([numbers[name] for name in parts], axis=0)
        wrong = np.flatnonzero(sums != numbers[total]).tolist()
        if wrong:
            row = min(wrong, key=order)
            stated = " + ".join(f"{name} {int(numbers[name][row]):,}" for name in parts[:6])
            more = f" + {len(parts) - 6} more columns" if len(parts) > 6 else ""
            raise InputError(
                f"{path}: {place(row)}: column {total!r} says {int(numbers[total][row]):,}, but {stated}{more} = "
                f"{int(sums[row]):,}; correct it, or list columns that are no option in options.uncounted"
            )
    return counts


def _numbers(path: Path, column: str, texts: Sequence[str], place: Callable[[int], str], decimal: str) -> IntArray:
    """The counts in a column."""
    known: dict[str, int] = {}
    for row, text in enumerate(texts):
        if text in known:
            continue
        try:
            known[text] = whole_number(text.replace(",", ".", 1) if decimal == "," else text)
        except BadText as error:
            shown = repr(text) if len(text) <= 60 else f"{text[:60]!r}..."
            said = f"count {shown} {error}" if text else "has no count; write 0 where nobody chose it"
            raise InputError(f"{path}: {place(row)}: column {column!r}: {said}") from None
    numbers = np.array([known[text] for text in texts], dtype=np.int64)
    if float(numbers.astype(np.float64).sum()) >= UNBOUNDED:
        raise InputError(f"{path}: column {column!r} counts more than {UNBOUNDED} people in all")
    return numbers


def melted(sheet: Sheet, section: OptionColumns, labels: Mapping[str, str] | None = None) -> Sheet:
    """A sheet with counts side by side as a tidy one: columns `option` and `count`, a row per group and option."""
    counts = count_matrix(sheet.path, section, sheet.columns, sheet.place)
    numeric = {*section.columns, *section.uncounted, *section.used(sheet.columns)}
    options = [(labels or {}).get(name, name) for name in section.options]
    columns: dict[str, Sequence[str]] = {
        name: [text for text in texts for _ in options] for name, texts in sheet.columns.items() if name not in numeric
    }
    columns["option"] = options * len(sheet.rows)
    columns["count"] = [str(count) for count in counts.ravel().tolist()]
    return Sheet(sheet.path, columns, [row for row in sheet.rows for _ in options], sheet.row_word)

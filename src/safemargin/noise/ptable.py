"""p-tables: made by largest entropy, read from a file, or converted; with the privacy guarantee of each."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from safemargin import ui
from safemargin.core import InputError
from safemargin.noise.ptable_file import FORMS, ons_text, ptable_text, read_ptable
from safemargin.samplers import (
    KeyTable,
    Law,
    Missed,
    PTable,
    delta_at,
    epsilon_at,
    fallen_short,
    key_table,
    ptable as make_ptable,
    readings,
    reference_ptable,
    request,
    together_delta,
    without_js,
)

DELTAS = (0.1, 0.01)
EPSILONS = (0.5, 1.0, 2.0)
MOST_LISTED = 30
MOST_COUNT = 10**9
MOST_NOISE = 6
"""Largest bound with a column per noise value."""


@dataclass(frozen=True, eq=False)
class NoiseLaws(ui.Result):
    """A p-table, and the counts that do not have the requested variance."""

    table: PTable | KeyTable
    missed: tuple[Missed, ...] = ()
    cells: tuple[int, int] | None = None
    """Two counts that are printed with their total, whose joint guarantee is asked for."""

    @cached_property
    def laws(self) -> PTable:
        """The probabilities, whichever keys select them."""
        return self.table.table if isinstance(self.table, KeyTable) else self.table

    def to_json(self) -> ui.Document:
        plain = without_js(self.laws)
        return {
            "schema": ui.SCHEMA,
            "rows": [
                {"count": row.count, "noise": v, "probability": chance}
                for row in self.laws.rows
                for v, chance in zip(row.noise, row.probabilities, strict=True)
            ],
            "variance": {str(row.count): float(row.variance) for row in self.laws.rows if row.count},
            "bound": self.laws.bound,
            "js": self.laws.js,
            "missed": [
                {"count": m.count, "asked": float(m.asked), "nearest": float(m.nearest), "words": str(m)}
                for m in self.missed
            ],
            "privacy": {
                "neighbours": "one person more or less in a cell",
                "pairs": [
                    {"count": pair.count, "epsilon": pair.epsilon, "delta": float(pair.delta)}
                    for pair in readings(self.laws)
                ],
                "epsilon": {f"{delta:g}": epsilon_at(self.laws, delta) for delta in DELTAS},
                "epsilon_without_js": {f"{DELTAS[-1]:g}": epsilon_at(plain, DELTAS[-1])} if plain else None,
                "delta": {f"{epsilon:g}": delta_at(self.laws, epsilon) for epsilon in EPSILONS},
                **({} if self.cells is None else {"together": {"cells": list(self.cells), "delta": self.together}}),
            },
        }

    @cached_property
    def together(self) -> dict[str, float]:
        """Delta of two counts and their total together, by epsilon."""
        if self.cells is None:
            return {}
        return {f"{epsilon:g}": together_delta(self.laws, self.cells, epsilon) for epsilon in EPSILONS}

    def to_report(self) -> ui.Report:
        return ui.Report("p-table", ui.Grid(*self._grid(), most=MOST_LISTED), *self._lines())

    def write(self, path: Path | str, form: str = "r", modulus: int = 256) -> Path:
        """Write the table to a file of another tool: `r`, `tau-argus`, `ons` (with keys below `modulus`) or `parts`."""
        if form not in FORMS:
            raise InputError(f"form = {form}: must be one of {', '.join(FORMS)}")
        if form == "ons":
            text = ons_text(self.table if isinstance(self.table, KeyTable) else key_table(self.table, modulus))
        else:
            text = ptable_text(self.laws, form)
        ui.write_text(Path(path), text)
        return Path(path)

    def _lines(self) -> list[str]:
        """The counts that miss the variance, and what one person more or less in a cell changes."""
        zero, *others = readings(self.laws)
        outside = max((pair.delta for pair in others), default=zero.delta)
        lines = [
            *(f"{missed}." for missed in self.missed),
            *(
                f"One person more or less in a cell of at least 1: {_loss(self.laws, delta)} at delta {delta:g}."
                for delta in DELTAS
            ),
            f"Numbers that only one of two neighbouring counts can become: probability {float(outside):.3g} at most.",
            "An empty cell stays empty, so a cell of 1 shows that it is not empty with probability "
            f"{float(zero.delta):.3g}.",
        ]
        if (plain := without_js(self.laws)) is not None:
            lines.append(f"Without js = {self.laws.js}: {_loss(plain, DELTAS[-1])} at delta {DELTAS[-1]:g}.")
        if self.cells is not None:
            deltas = ", ".join(f"{delta:.3g} at epsilon {epsilon}" for epsilon, delta in self.together.items())
            lines.append(
                f"One person more or less in one of two cells of {self.cells[0]:,} and {self.cells[1]:,}, printed with "
                f"their total, with keys that add up: delta {deltas}."
            )
        return lines

    def _grid(self) -> tuple[list[str], list[list[str]]]:
        """Probabilities in percent with a column per noise value; a summary where there are too many values."""
        laws, noise = self.laws, np.arange(-self.laws.bound, self.laws.bound + 1)
        if laws.bound <= MOST_NOISE:
            return ["count", *(f"{v:+d}" if v else "0" for v in noise.tolist()), "variance"], [
                [_name(laws, row), *map(_percent, chances), _variance(row)]
                for row, chances in zip(laws.rows, laws.matrix.tolist(), strict=True)
            ]
        return ["count", "noise", "stays", "mean size", "variance"], [
            [
                _name(laws, row),
                f"{row.noise[0]} to {row.noise[-1]}",
                _percent(chances[laws.bound]),
                f"{row.mean_size:.3f}",
                _variance(row),
            ]
            for row, chances in zip(laws.rows, laws.matrix.tolist(), strict=True)
        ]


def ptable(
    variance: float | str | None = None,
    bound: int | None = None,
    js: int = 0,
    compatible: bool = False,
    free: Collection[int] = (),
    file: Path | str | PTable | KeyTable | None = None,
    biased: bool = False,
    cells: tuple[int, int] | None = None,
) -> NoiseLaws:
    """Make a p-table from a variance and a bound, or read it from a file of R, tau-ARGUS or the ONS.

    No number from 1 to `js` is printed. `compatible` makes the numbers of the R package ptable, where `free` are the
    counts with its option `mono` off. A table read from a file must have mean 0 unless `biased`. With `cells`, two
    counts that are printed with their total, the guarantee is also that of the three together.
    """
    if cells is not None and not all(0 <= count <= MOST_COUNT for count in cells):
        raise InputError(f"cells = {cells[0]},{cells[1]}: counts must be from 0 to {MOST_COUNT:,}")
    made = _made(variance, bound, js, compatible, free, file, biased)
    return replace(made, cells=cells)


def _made(
    variance: float | str | None,
    bound: int | None,
    js: int,
    compatible: bool,
    free: Collection[int],
    file: Path | str | PTable | KeyTable | None,
    biased: bool,
) -> NoiseLaws:
    if isinstance(file, PTable | KeyTable):
        return NoiseLaws(file)
    if file is not None:
        if variance is not None or bound is not None or js or compatible:
            raise InputError(
                f"{file}: a p-table file already defines the noise; remove variance, bound, js, compatible"
            )
        return NoiseLaws(read_ptable(Path(file), biased=biased))
    if variance is None or bound is None:
        raise InputError("give variance and bound, e.g. variance 2 and bound 5, or a p-table file")
    wanted = request(bound, variance, js)
    if free and not compatible:
        raise InputError("free needs compatible: otherwise no count is held to be monotone")
    if compatible:
        table = reference_ptable(wanted, free)
        return NoiseLaws(table, fallen_short(table, wanted))
    return NoiseLaws(*make_ptable(wanted))


def _loss(laws: PTable, delta: float) -> str:
    epsilon = epsilon_at(laws, delta)
    return "no epsilon is enough" if epsilon is None else f"epsilon {epsilon:.3f}"


def _name(laws: PTable, row: Law) -> str:
    return f"{row.count}+" if row.count == laws.last and laws.repeat == 1 else f"{row.count}"


def _variance(row: Law) -> str:
    return f"{float(row.variance):.6f}".rstrip("0").rstrip(".")


def _percent(chance: float) -> str:
    if chance == 0:
        return ""
    return f"{100 * chance:.1f}" if chance >= 0.0005 else "<.1"

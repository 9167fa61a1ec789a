"""What an onlooker who knows how noise is drawn believes about true counts, as a value for readers."""

from dataclasses import dataclass

from safemargin import ui
from safemargin.noise.charts import belief_chart
from safemargin.samplers import Missed

TITLE = "What noised counts disclose"
ALONE = "One cell at a time, for an onlooker who knows the p-table and nothing about other cells."
BANNER = ("Confidential. ", "The prior may come from your data. Do not publish this page.")
MOST_DRAWN = 40


@dataclass(frozen=True)
class CountBelief:
    """About a cell that prints `printed`: the probability of every count that it can have come from.

    `chance` is how likely the number is to be printed, before it is known (None without a prior); `cells` how often a
    given table prints it.
    """

    printed: int
    counts: tuple[int, ...]
    probabilities: tuple[float, ...]
    chance: float | None = None
    cells: int = 0

    @property
    def guess(self) -> int:
        """The most probable count; of equals the smallest."""
        # index() returns the first of equals, and counts ascend.
        return self.counts[self.probabilities.index(max(self.probabilities))]

    @property
    def sure(self) -> float:
        """Probability of the most probable count."""
        return max(self.probabilities)

    def of(self, least: int, most: int) -> float:
        """Probability that the count is from `least` to `most`."""
        return sum(p for count, p in zip(self.counts, self.probabilities, strict=True) if least <= count <= most)


@dataclass(frozen=True)
class Beliefs(ui.Result):
    """Beliefs by printed number. With a prior, how often the best guess is right before and after seeing the number.

    `kept` is the probability that the printed number is the true count. `missed` are counts without the requested
    variance.
    """

    beliefs: tuple[CountBelief, ...]
    small: int
    before: float | None = None
    after: float | None = None
    kept: float | None = None
    missed: tuple[Missed, ...] = ()

    def to_json(self) -> ui.Document:
        return {
            "schema": ui.SCHEMA,
            "small": self.small,
            "right_before": self.before,
            "right_after": self.after,
            "printed_is_true": self.kept,
            "printed": [
                {
                    "printed": belief.printed,
                    "cells": belief.cells,
                    "chance": belief.chance,
                    "guess": belief.guess,
                    "probability": belief.sure,
                    "unchanged": belief.of(belief.printed, belief.printed),
                    "small": belief.of(1, self.small),
                    "empty": belief.of(0, 0),
                    "counts": dict(zip(map(str, belief.counts), belief.probabilities, strict=True)),
                }
                for belief in self.beliefs
            ],
        }

    def to_report(self) -> ui.Report:
        known = "" if self.after is not None else " All counts are equally likely beforehand."
        squares = [
            {
                "printed": belief.printed,
                "true": count,
                "probability": chance,
                "label": f"{chance:.2f}" if chance >= 0.1 else "",
            }
            for belief in self.beliefs[:MOST_DRAWN]
            for count, chance in zip(belief.counts, belief.probabilities, strict=True)
        ]
        rates = {
            "best guess right before": self.before,
            "best guess right after": self.after,
            "printed as counted": self.kept,
        }
        tiles = {name: ui.percent(rate) for name, rate in rates.items() if rate is not None}
        return ui.Report(
            TITLE,
            ui.OnPage(
                ALONE + known,
                ui.Figures(tiles) if tiles else None,
                ui.Section(
                    "What a printed number discloses",
                    ui.Chart(lambda: belief_chart(squares), "Probability of true counts, by printed number"),
                ),
            ),
            ui.Grid(*self._grid()),
            *self._overall(),
            banner=None if self.after is None else BANNER,
        )

    def _grid(self) -> tuple[list[str], list[list[str]]]:
        with_cells = any(belief.cells for belief in self.beliefs)
        columns = ["printed", *(["cells"] if with_cells else []), "true count", "guess", "right", "unchanged", "0"]
        columns.append("1" if self.small == 1 else f"1 to {self.small}")
        rows = []
        for belief in self.beliefs:
            # A probability may underflow to zero in a long p-table; such counts are not listed.
            likely = [count for count, p in zip(belief.counts, belief.probabilities, strict=True) if p > 0]
            rates = (belief.sure, belief.of(belief.printed, belief.printed), belief.of(0, 0), belief.of(1, self.small))
            rows.append(
                [
                    f"{belief.printed}",
                    *([f"{belief.cells:,}"] if with_cells else []),
                    f"{likely[0]} to {likely[-1]}" if len(likely) > 1 else f"{likely[0]}",
                    f"{belief.guess}",
                    *map(ui.percent, rates),
                ]
            )
        return columns, rows

    def _overall(self) -> list[str]:
        lines = []
        if self.after is not None and self.before is not None and self.kept is not None:
            lines.append(
                f"Over all cells of the prior, the best guess is right for {ui.percent(self.after)} of them, and for "
                f"{ui.percent(self.before)} without the table; {ui.percent(self.kept)} print their true count."
            )
        surest = max(self.beliefs, key=lambda belief: belief.sure, default=None)
        if surest is not None:
            lines.append(
                f"The surest guess: {surest.guess} for a printed {surest.printed} is right in "
                f"{ui.percent(surest.sure)} of cases."
            )
        return lines

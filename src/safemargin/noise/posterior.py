"""What noised cells disclose to an onlooker who knows the p-table: Bayes' rule, for a cell or for cells and their sum.

The key of a sum is the sum of the keys of its parts. So the noise on it is not independent of theirs: whoever guesses
the counts knows the ranges that the parts' keys lie in, hence roughly the key of the sum.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from safemargin import ui
from safemargin.core import InputError, TooLargeError
from safemargin.io import BadText, Sheet, count_column, is_finite, read_sheet, whole_number
from safemargin.noise.charts import belief_chart
from safemargin.noise.ptable import ptable as make_table
from safemargin.noise.records import Data
from safemargin.samplers import KeyTable, Missed, PTable, at_least

TITLE = "What noised counts disclose"
ALONE = "One cell at a time, for an onlooker who knows the p-table and nothing about other cells."
BANNER = ("Confidential. ", "The prior may come from your data. Do not publish this page.")
MOST_DRAWN = 40
UNIT = 2**60
"""Keys from 0 to 1 as integers: volumes of boxes of keys are then exact."""
MOST_PARTS = 4
MOST_GUESSES = 200_000
SMALL = 3

Range = tuple[int, int]
Guess = tuple[int, Range, float]
"""A count, the keys with which it becomes what is printed, and its weight beforehand."""
Prior = Mapping[int, float]


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


def posterior(
    printed: Data | Sequence[int] = None,
    *,
    variance: float | str | None = None,
    bound: int | None = None,
    js: int = 0,
    compatible: bool = False,
    ptable: Path | str | PTable | KeyTable | None = None,
    biased: bool = False,
    prior: Data | Prior = None,
    count: str | None = None,
    small: int = SMALL,
    parts: Sequence[int] | None = None,
    total: int | None = None,
    independent: bool = False,
    to: int | None = None,
) -> Beliefs:
    """Infer what an onlooker who knows the p-table believes about the count behind each printed number.

    The numbers are those of a noised table (`printed`: a file, a DataFrame or integers), or all from 0 to `to`; or
    `parts` and their `total`, printed together. `prior` gives weights of counts: a table with columns `count` and
    `probability`, or one whose sizes of cells they are; without it all counts are equally likely. Parts have keys that
    add up, unless `independent`.
    """
    made = make_table(variance, bound, js, compatible, file=ptable, biased=biased)
    weights = prior
    if prior is not None and not isinstance(prior, Mapping):
        weights = read_prior(prior, count)
    if parts is None and total is None:
        numbers = printed
        if printed is not None and not (isinstance(printed, Sequence) and all(isinstance(n, int) for n in printed)):
            numbers = _counts(read_sheet(printed), count)
        beliefs = posterior_of_cells(made.laws, weights, numbers, top=to, small=small)
    else:
        if parts is None or total is None or min(*parts, total, 0) < 0:
            raise InputError("parts and total go together, integers that are not negative, as in 4,6 and 14")
        beliefs = posterior_of_sum(made.laws, parts, total, weights, small=small, keyed=not independent)
    return replace(beliefs, missed=made.missed)


def posterior_of_cells(
    table: PTable,
    prior: Prior | None = None,
    printed: Sequence[int] | None = None,
    *,
    top: int | None = None,
    small: int = SMALL,
) -> Beliefs:
    """Beliefs about the counts behind the numbers from 0 to `top`, or behind those that a table has `printed`."""
    at_least("small", small, 1)
    last = table.last + table.bound if top is None else at_least("to", top, 0)
    weights = None if prior is None else _normalised(prior)
    seen = Counter(printed or ())
    beliefs = []
    for number in sorted(seen) if printed is not None else range(last + 1):
        # Noise is within the bound, so only these counts can have become the number.
        near = range(max(number - table.bound, 0), number + table.bound + 1)
        joint = {
            count: weight * float(chance)
            for count in near
            if (weight := 1.0 if weights is None else weights.get(count, 0.0)) > 0
            and (chance := table.law(count).printed.get(number)) is not None
        }
        total = sum(joint.values())
        if total <= 0:
            if number in seen:
                raise InputError(f"{number} is printed, but no count of the prior can become it with this p-table")
            continue
        chances = tuple(value / total for value in joint.values())
        beliefs.append(CountBelief(number, tuple(joint), chances, None if weights is None else total, seen[number]))
    if weights is None:
        return Beliefs(tuple(beliefs), small)
    return Beliefs(tuple(beliefs), small, max(weights.values()), *_overall(table, weights))


def _normalised(prior: Prior) -> dict[int, float]:
    total = sum(prior.values())
    if not total > 0 or min(prior.values()) < 0 or min(prior) < 0:
        raise InputError("prior: counts and probabilities must not be negative, and some must be positive")
    return {count: value / total for count, value in sorted(prior.items())}


def _overall(table: PTable, weights: Prior) -> tuple[float, float]:
    """How often the best guess after seeing a number is right, and how often the number is the count itself."""
    best: dict[int, float] = {}
    kept = 0.0
    for count, weight in weights.items():
        law = table.law(count).printed
        kept += weight * float(law.get(count, 0))
        for number, chance in law.items():
            # Of all counts that print this number, the guess is right for the one with the largest joint chance.
            best[number] = max(best.get(number, 0.0), weight * float(chance))
    return sum(best.values()), kept


def posterior_of_sum(
    table: PTable,
    parts: Sequence[int],
    total: int,
    prior: Prior | None = None,
    *,
    small: int = SMALL,
    keyed: bool = True,
) -> Beliefs:
    """Beliefs about the counts behind the printed `parts`, in order, and then behind their printed `total`.

    If not `keyed`, noise is taken to be independent, as where it is drawn afresh for every cell.
    """
    # The number of guesses is the product of the parts' ranges.
    at_least("number of parts", len(parts), 2, MOST_PARTS)
    guesses = [_guesses(table, number, prior) for number in parts]
    if math.prod(map(len, guesses)) > MOST_GUESSES:
        raise TooLargeError(
            f"{len(parts)} parts with noise of at most {table.bound}: too many guesses; give fewer parts"
        )
    weights: list[dict[int, float]] = [{} for _ in range(len(parts) + 1)]
    for guess in product(*guesses):
        people = sum(count for count, _, _ in guess)
        keys = _keys(table, people, total)
        if keys is None:
            continue
        boxes = [box for count, box, _ in guess if count]  # an empty part adds no key
        chance = _volume(boxes, keys) if keyed else math.prod((high - low) / UNIT for low, high in (*boxes, keys))
        weight = chance * math.prod(w for _, _, w in guess)
        if weight > 0:
            for column, count in enumerate((*(count for count, _, _ in guess), people)):
                weights[column][count] = weights[column].get(count, 0.0) + weight
    if not weights[-1]:
        raise InputError(
            f"{', '.join(map(str, parts))} and their sum {total} cannot be printed together with this p-table"
        )
    return Beliefs(tuple(map(_belief, (*parts, total), weights)), small)


def _belief(printed: int, weights: Prior) -> CountBelief:
    whole = math.fsum(weights.values())
    counts = tuple(sorted(weights))
    return CountBelief(printed, counts, tuple(weights[count] / whole for count in counts))


def _guesses(table: PTable, printed: int, prior: Prior | None) -> list[Guess]:
    guesses = []
    for count in range(max(printed - table.bound, 0), printed + table.bound + 1):
        weight = 1.0 if prior is None else prior.get(count, 0.0)
        keys = _keys(table, count, printed)
        if weight > 0 and keys is not None:
            guesses.append((count, keys, weight))
    return guesses


def _keys(table: PTable, count: int, printed: int) -> Range | None:
    """The keys with which `count` becomes `printed`."""
    law, before = table.law(count), 0
    for v, part in zip(law.noise, law.weights, strict=True):
        if count + v == printed and part:
            # Ascending noise takes ascending keys, as in the lookup.
            return before * UNIT // law.total, (before + part) * UNIT // law.total
        before += part
    return None


def _volume(boxes: Sequence[Range], goal: Range) -> float:
    """Probability that uniform keys lie in these ranges and their sum, modulo one, in `goal`; without any it is 0."""
    if not boxes:
        return float(goal[0] == 0)
    size = len(boxes)
    low, high = goal
    # The sum of n keys is below n, so modulo one it is in the goal if it is in one of n shifted copies.
    total = sum(_below(boxes, high + shift * UNIT) - _below(boxes, low + shift * UNIT) for shift in range(size))
    scale: int = math.factorial(size) * UNIT**size
    return total / scale


def _below(boxes: Sequence[Range], top: int) -> int:
    """Volume of the box where coordinates add up to at most `top`, times the factorial of its dimension."""
    # Inclusion and exclusion over the corners of the box (Barrow and Smith 1979). Integers, as the terms cancel.
    size = len(boxes)
    total = 0
    for ends in product((0, 1), repeat=size):
        rest = top - sum(box[end] for box, end in zip(boxes, ends, strict=True))
        if rest > 0:
            total += (-1) ** sum(ends) * rest**size
    return total


def read_prior(data: Data, count: str | None = None) -> dict[int, float]:
    """Weights of counts: columns `count` and `probability`, or how many cells of a table have each count."""
    sheet = read_sheet(data)
    if set(sheet.columns) != {"count", "probability"}:
        return {number: float(cells) for number, cells in Counter(_counts(sheet, count)).items()}
    weights: dict[int, float] = {}
    for number, (row, text) in zip(_counts(sheet, "count"), enumerate(sheet.columns["probability"]), strict=True):
        if not is_finite(text) or float(text) < 0:
            raise sheet.fault(row, "probability", "is not a number of at least 0")
        weights[number] = weights.get(number, 0.0) + float(text)
    if not sum(weights.values()) > 0:
        raise InputError(f"{sheet.path}: column 'probability': all are 0; some must be positive")
    return weights


def _counts(sheet: Sheet, count: str | None) -> list[int]:
    """The counts of all cells that a table lists."""
    name = count or count_column(tuple(sheet.columns))
    if name is None or name not in sheet.columns:
        raise InputError(f"{sheet.path}: no column holds counts; name it (count); there are {', '.join(sheet.columns)}")
    numbers = []
    for row, text in enumerate(sheet.columns[name]):
        try:
            numbers.append(whole_number(text))
        except BadText as error:
            raise sheet.fault(row, name, str(error)) from None
    return numbers

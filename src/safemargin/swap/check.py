"""Compare swapping on a small stratum with what Theorem 1 guarantees for it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from safemargin import ui
from safemargin.core import InputError
from safemargin.guarantees import (
    VARIANTS,
    Checked,
    Holds,
    Law,
    Outcomes,
    Rate,
    Stratum,
    check_laws,
    check_work,
    frozen_hamming,
    hamming,
    nearby,
    odds_factor,
    one_swap_law,
    ordered,
    outcomes,
    rate_of,
    stratum,
    swap_epsilon,
    universe,
    visible_epsilon,
)
from safemargin.swap.noised import ERROR, Noised, noise_of, noised
from safemargin.swap.pair_law import targeted_law

ORDERED = "ordered"

PERMUTED: Mapping[str, Callable[[Stratum], Outcomes]] = {
    **{name: partial(outcomes, rule=rule) for name, rule in VARIANTS.items()},
    "no-vacuous": partial(outcomes, visible=True),
    "nearby": partial(outcomes, weight=nearby),
    ORDERED: partial(outcomes, shown=tuple),
}
"""Ways to swap by a permutation of selected records; Theorem 1 is about the first one only."""

LAWS: Mapping[str, Callable[[Stratum, Fraction], Law]] = {
    "one-swap": lambda records, _: one_swap_law(records),
    "targeted": targeted_law,
}
"""Other ways, which have one rate, or none."""

WAYS = (*PERMUTED, *LAWS)
CLOSE = 1e-9
"""Within which a loss with noise is taken to be at its limit: the noise has irrational probabilities."""


@dataclass(frozen=True)
class SwapCheck(ui.Result):
    """The exact loss of swapping on one stratum; `claimed` is the epsilon of Theorem 1, None where it says nothing.

    `stated` is the larger epsilon that `swap --no-vacuous` states for its own way to swap. `noised` is the loss with
    noise on the swapped table.
    """

    checked: Checked[Any, Any]
    claimed: float | None
    stated: float | None = None
    noised: Noised | None = None

    @property
    def verdict(self) -> Holds | None:
        """Of the epsilon of Theorem 1; None without one."""
        if self.claimed is None or self.noised is None:
            return None if self.claimed is None else self.checked.verdict
        if self.claimed == math.inf or self.loss < self.claimed - CLOSE:
            return Holds.HOLDS
        return Holds.VIOLATED if self.loss > self.claimed + CLOSE else Holds.TIGHT

    @property
    def loss(self) -> float:
        """The exact loss; with noise within 1e-11."""
        swapping = max(loss.value for loss in self.checked.losses.values())
        return swapping if self.noised is None else self.noised.loss

    def to_json(self) -> ui.Document:
        losses = self.checked.losses.values()
        return {
            "schema": ui.SCHEMA,
            "verdict": "unknown" if self.verdict is None else str(self.verdict),
            "loss": ui.finite(self.loss),
            "claimed": None if self.claimed is None else ui.finite(self.claimed),
            **({} if self.stated is None else {"stated": ui.finite(self.stated)}),
            "data_sets": sum(loss.size for loss in losses),
            "neighbours": sum(loss.neighbours for loss in losses),
            **({} if self.noised is None else _with_noise(self.noised)),
            "witness": self._witness,
        }

    @property
    def _witness(self) -> ui.Document | None:
        if (made := self.noised) is not None:
            ends: ui.Document = {"one": made.one, "other": made.other, "output": made.output}
            return {**ends, "ratio": made.ratio, "distance": made.distance}
        pair = None if self.checked.worst is None else self.checked.worst.pair
        if pair is None:
            return None
        return {
            "one": pair.one,
            "other": pair.other,
            "output": pair.output,
            "ratio": "infinite" if pair.ratio is None else str(pair.ratio),
            "distance": pair.distance,
        }

    @property
    def _lines(self) -> list[str]:
        losses = self.checked.losses.values()
        size = sum(loss.size for loss in losses)
        lines = [f"{ui.plural(size, 'data set')} to distinguish. Exact loss {_shown(self.loss)}."]
        if self.noised is not None:
            added = self.noised
            lines.append(
                f"Swapping alone loses {_shown(added.alone)}, noise of epsilon {added.noise:g} per count alone "
                f"{_shown(added.noise_alone)}; added up {_shown(added.alone + added.noise_alone)}."
            )
        if self.claimed is None:
            lines.append("Theorem 1 guarantees nothing where rates differ.")
        else:
            verb = {"holds": "holds", "tight": "holds and is tight", "violated": "is violated"}[self.verdict or "holds"]
            lines.append(f"The guarantee of epsilon {_shown(self.claimed)} {verb}.")
        if self.stated is not None:
            holds = "holds" if self.loss <= self.stated else "is violated"
            lines.append(f"`swap --no-vacuous` states another one, epsilon {_shown(self.stated)}, which {holds}.")
        if size < 2:
            lines.append("The margins leave one data set only: they disclose everything, and nothing is protected.")
        elif not any(loss.neighbours for loss in losses):
            lines.append("No two of them are one record apart: a check of neighbours alone would pass anything.")
        pair = None if self.checked.worst is None else self.checked.worst.pair
        if (made := self.noised) is not None:
            cells = " ".join(f"{h}:{s}*{count}" for h, s, count in made.output if count)
            lines += [
                f"Most is lost between {_records(made.one)}",
                f"                 and {_records(made.other)}, {made.distance:g} records apart:",
                f"    the noised table {cells or 'of zeros'} is {made.ratio:.6g} times as likely from the first.",
            ]
        elif pair is not None:
            odds = "possible" if pair.ratio is None else f"{float(pair.ratio):.6g} times as likely"
            only = " only" if pair.ratio is None else ""
            lines += [
                f"Most is lost between {_records(pair.one)}",
                f"                 and {_records(pair.other)}, {pair.distance:g} records apart:",
                f"    the output {_records(pair.output)} is {odds} from the first{only}.",
            ]
        return lines

    def to_report(self) -> ui.Report:
        return ui.Report("Swapping on one stratum: exact loss", *self._lines)


def check(
    held: Sequence[int],
    swapped: Sequence[int],
    rate: str | Rate | Sequence[str | Rate],
    *,
    variant: str = "permutation",
    imputed: Sequence[int] = (),
    without: str = "",
    noise: str | float | Fraction | None = None,
) -> SwapCheck:
    """The exact loss of swapping on a small stratum, and whether the epsilon of Theorem 1 holds there.

    `held` and `swapped` count the held and the swapped values of the stratum. Rates can be given by held value; Theorem
    1 guarantees nothing then. Records with held values that are `imputed` are never selected, and data sets that differ
    in them are not compared. `without` leaves the margin `held` or `swapped` out of the invariants. `noise` is the
    epsilon of two-sided geometric noise on every count of the swapped table.

    >>> found = check((1, 1, 1), (1, 1, 1), "0.1", variant="one-swap")
    >>> str(found.verdict), found.loss
    ('violated', inf)
    """
    start = stratum(held, swapped)
    added = None if noise is None else noise_of(noise)
    if added is not None and variant == ORDERED:
        raise InputError(f"noise: is added to the counts of a table; variant {ORDERED} publishes records")
    if len(start) < 2:
        raise InputError("the stratum holds fewer than two records: there is nothing to exchange")
    same = isinstance(rate, str | int | float | Fraction)
    given = [rate_of(rate)] * len(held) if isinstance(rate, str | int | float | Fraction) else list(map(rate_of, rate))
    rates = _rates(given, held, imputed)
    data = universe(start, without)
    # Records in the order of the input are other data sets, at distance 0 from each other.
    data = ordered(data) if variant == ORDERED else data
    check_work(data)
    laws = _laws(variant, data, rates)
    # Imputed records are never selected, so the theorem is about the others (appendix C.2).
    # A fraction, so that tight and violated are distinguished exactly.
    factor, claimed = _theorem_1(given[0], [record for record in start if record[0] not in imputed])
    distance = frozen_hamming(lambda record: isinstance(record, tuple) and record[0] in imputed) if imputed else hamming
    checked = check_laws(laws, {"stratum": data}, distance, lambda _: factor if same else None)
    moved = [record for record in start if record[0] not in imputed]
    largest = len(moved) if len(set(moved)) > 1 else 0
    stated = visible_epsilon(given[0], largest) if same and variant == "no-vacuous" else None
    with_noise = None
    if added is not None:
        apart = [[distance(one, other) for other in data] for one in data]
        with_noise = noised(laws, apart, added, checked.losses["stratum"].value)
    return SwapCheck(checked, claimed if same else None, stated, with_noise)


def _with_noise(made: Noised) -> ui.Document:
    alone = {"loss_of_swapping": ui.finite(made.alone), "loss_of_noise": made.noise_alone}
    return {"noise": made.noise, "loss_error": ERROR, **alone}


def _theorem_1(rate: Fraction, records: Sequence[object]) -> tuple[Fraction | None, float]:
    """What Theorem 1 guarantees for these records, as a factor and as epsilon."""
    largest = len(records) if len(set(records)) > 1 else 0
    return odds_factor(rate, largest), swap_epsilon(rate, largest)


def _rates(given: Sequence[Fraction], held: Sequence[int], imputed: Sequence[int]) -> list[Fraction]:
    """The rate of every held value."""
    rates = list(given)
    if len(rates) != len(held):
        raise InputError(f"{len(rates)} rates for {len(held)} held values: give one, or one for each")
    for value in imputed:
        if not 0 <= value < len(held):
            raise InputError(f"imputed value {value}: must be one of the {len(held)} held values, counted from 0")
        rates[value] = Fraction(0)
    return rates


def _laws(variant: str, data: Sequence[Stratum], rates: Sequence[Fraction]) -> dict[Stratum, Law]:
    if variant in PERMUTED:
        return {records: PERMUTED[variant](records).law([rates[held] for held, _ in records]) for records in data}
    if variant not in LAWS:
        raise InputError(f"variant = {variant!r}: must be one of {', '.join(WAYS)}")
    if len(set(rates)) > 1:
        raise InputError(f"variant = {variant!r}: has the same rate for all records")
    return {records: LAWS[variant](records, rates[0]) for records in data}


def _records(data: object) -> str:
    return " ".join(f"{h}:{s}" for h, s in data) if isinstance(data, tuple) else str(data)


def _shown(value: float) -> str:
    return "infinite" if math.isinf(value) else f"{value:.5f}"

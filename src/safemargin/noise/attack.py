"""Attacks on noisy tables: averaging, fitting, revealing the bound, exploiting margins, differencing.

They see only what is published, and may know the variance or the bound of the noise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from safemargin import ui
from safemargin.core import InputError, PublishedTable
from safemargin.io import read_tables
from safemargin.noise.bounded import Revealed, exploiting, revealing
from safemargin.noise.differencing import changes, nested
from safemargin.noise.layout import OPTION, Layout, LayoutBlock, Recovered, estimated_variance, lay_out
from safemargin.noise.linear import averaging, fitting
from safemargin.noise.noise_law import AttackLaw, likely_law, named_law
from safemargin.noise.records import Data
from safemargin.noise.weighted import from_weights, weighted_sheet
from safemargin.samplers import positive

SURE = 0.95
"""How sure an attack must be of a count for it to be disclosed."""
LISTED = 10
KEYED = 0.5
"""Chance of keys that add up from which on the law is taken to be Gaussian."""
MOST_ROUNDS = 20
"""Rounds of successive attacks."""
Truth = Mapping[tuple[tuple[str, str], ...], int]
"""True counts by cell, axes in order."""
Tables = Sequence[Data | PublishedTable]


@dataclass(frozen=True)
class Denoised(ui.Result):
    """What the attacks recover; `bound` is the one that `exploiting` used, where it could."""

    variance: float
    estimated: bool
    revealed: Revealed
    bound: int | None
    attacks: Mapping[str, tuple[Recovered, ...]]
    confidence: float = SURE
    truth: Truth | None = None
    inputs: Mapping[str, object] = field(default_factory=dict)
    limit: int = LISTED
    law: str = "gaussian"

    def sure(self, confidence: float | None = None) -> tuple[Recovered, ...]:
        """Counts that an attack is this sure of."""
        least = self.confidence if confidence is None else confidence
        return tuple(r for recovered in self.attacks.values() for r in recovered if r.confidence >= least)

    def to_json(self) -> ui.Document:
        return {
            "value": len(self.sure()),
            "inputs": dict(self.inputs),
            "details": {
                "variance": self.variance,
                "estimated": self.estimated,
                "law": self.law,
                "bound": {
                    "least": self.revealed.least,
                    "tuples": self.revealed.tuples,
                    "confidence": self.revealed.confidence,
                    "keyed": self.revealed.keyed,
                    "used": self.bound,
                },
                "attacks": {name: [self._entry(r) for r in recovered] for name, recovered in self.attacks.items()},
            },
        }

    def _entry(self, recovered: Recovered) -> ui.Document:
        entry: ui.Document = {
            "cell": recovered.labels,
            "printed": recovered.printed,
            "value": recovered.value,
            "confidence": recovered.confidence,
        }
        return entry if self.truth is None else {**entry, "true": self.truth.get(tuple(sorted(recovered.cell)))}

    def to_report(self) -> ui.Report:
        parts: list[ui.Part] = [*self._opening()]
        for name, recovered in self.attacks.items():
            parts += [self._headline(name, recovered), ui.Points(self._lines(recovered), self.limit)]
        return ui.Report("Attacks on noisy tables", *parts)

    def _opening(self) -> list[str]:
        how = "estimated from the tables" if self.estimated else "given"
        known = "given" if self.inputs.get("law") else "the likeliest of five"
        sentences = [f"Variance of the noise: {self.variance:.3g}, {how}. Law of the noise: {self.law}, {known}."]
        bound = self.revealed
        if bound.tuples:
            sentences.append(
                f"Revealing: the bound is at least {bound.least} ({ui.plural(bound.tuples, 'count')} beside parts); "
                f"exactly that with probability {bound.confidence:.0%}. Keys add up with probability {bound.keyed:.0%}."
            )
        return sentences

    def _headline(self, name: str, recovered: Sequence[Recovered]) -> str:
        sure = sum(r.confidence >= self.confidence for r in recovered)
        text = (
            f"{name}: {sure:,} of {ui.plural(len(recovered), 'count')} disclosed with "
            f"{ui.exact_percent(self.confidence)} confidence; {sum(r.confidence for r in recovered):,.0f} of all "
            "guesses should be right"
        )
        if self.truth is not None and (judged := [r for r in recovered if tuple(sorted(r.cell)) in self.truth]):
            right = sum(self.truth[tuple(sorted(r.cell))] == r.value for r in judged)
            text += f", {right:,} of {len(judged):,} are"
        return f"{text}."

    def _lines(self, recovered: Sequence[Recovered]) -> list[str]:
        sure = sorted((r for r in recovered if r.confidence >= self.confidence), key=lambda r: -r.confidence)
        return [
            f"{ui.named_cell_label(r.labels)}: {r.value:,}"
            f"{'' if r.printed is None else f', printed {r.printed:,}'} ({r.confidence:.1%})"
            for r in sure
        ]


def attack(
    tables: Tables,
    *,
    variance: float | None = None,
    bound: int | None = None,
    law: str | None = None,
    before: Tables = (),
    targets: Sequence[Sequence[str]] | None = None,
    truth: Tables | None = None,
    confidence: float = SURE,
    count: str = "count",
    option: str = "option",
    by: str | None = None,
    skip: list[str] | None = None,
    hierarchy: list[str] | None = None,
    limit: int = LISTED,
) -> Denoised:
    """Attack noisy tables: averaging, fitting, revealing the bound, exploiting margins, differencing.

    Tables are files, DataFrames or values. What is not known is estimated from them. `before` are tables published
    earlier about almost the same people, `targets` the axes of the counts to average instead of every table's, `truth`
    the true tables, to count right guesses. `law` is gaussian, geometric, laplace, uniform or entropy (largest entropy
    within the bound). `hierarchy` are files with the hierarchies of axes, as `age=age.hrc`, for
    tables with wider areas beside their parts, such as those of `perturb`. `confidence` is how sure an attack must be
    for a count to be disclosed.
    """
    if not 0 < confidence <= 1:
        raise InputError(f"confidence = {confidence:g}: must be above 0 and at most 1, e.g. {SURE:g}")

    def read(given: Tables) -> tuple[PublishedTable, ...]:
        known = tuple(item for item in given if isinstance(item, PublishedTable))
        files = [item for item in given if not isinstance(item, PublishedTable)]
        return (*known, *(read_tables(files, count, option, by, skip, hierarchy) if files else ()))

    shown, earlier = read(tables), read(before)
    layout = lay_out(shown)
    spread = estimated_variance(layout) if variance is None else positive("variance", variance)
    revealed = revealing(layout, spread)
    # The smallest bound is certain: a gap cannot exceed the sum of the noise in it.
    if bound is not None and bound < revealed.least:
        raise InputError(f"bound = {bound}: does not explain the tables; the nearest is {revealed.least}")
    # Exploiting claims certainty, so a bound that is only likely must not be used below the confidence asked for.
    known = bound if bound is not None else revealed.least if revealed.confidence >= confidence else None
    if law is not None:
        noise = named_law(law, spread, bound)
    else:  # keys that add up: prints are not independent, so that no bound may make a count certain
        noise = named_law("gaussian", spread) if revealed.keyed > KEYED else likely_law(layout, spread, bound)
    attacks = {
        "averaging": tuple(averaging(layout, spread, targets, noise)),
        "fitting": tuple(fitting(layout, spread, noise)),
        "exploiting": () if known is None else tuple(exploiting(layout, known)),
        "differencing": tuple(nested(layout, spread, noise)),
    }
    if earlier:
        both = lay_out([*shown, *earlier])  # one list of categories for both releases
        now = replace(both, blocks=both.blocks[: len(layout.blocks)])
        then = replace(both, blocks=both.blocks[len(layout.blocks) :])
        attacks["changes"] = tuple(changes(now, then, noise))
    if sheets := [sheet for item in tables if (sheet := weighted_sheet(item)) is not None]:
        attacks["weights"] = tuple(guess for sheet in sheets for guess in from_weights(sheet, count, option, noise))
    if later := successive(layout, spread, confidence, [*attacks["averaging"], *attacks["fitting"]], noise):
        attacks["successive"] = later
    names = [str(item) if isinstance(item, str | Path) else getattr(item, "name", "data") for item in tables]
    inputs = {"files": names, "variance": variance, "bound": bound, "law": law, "confidence": confidence}
    true_counts = None if truth is None else _counts(read(truth))
    return Denoised(
        spread, variance is None, revealed, known, attacks, confidence, true_counts, inputs, limit, noise.name
    )


def successive(
    layout: Layout, variance: float, confidence: float, guesses: Sequence[Recovered], law: AttackLaw | None = None
) -> tuple[Recovered, ...]:
    """Counts that are disclosed once those of `guesses`, by averaging and fitting, are taken as exact (annex B.4).

    Every round fixes what it is sure of, and what is left is averaged and fitted again, until nothing is added. Whoever
    relies on earlier guesses is no surer than the least sure of them.
    """
    known: dict[tuple[tuple[str, str], ...], Recovered] = {}
    later: dict[tuple[tuple[str, str], ...], Recovered] = {}
    least = 1.0
    for round_ in range(MOST_ROUNDS):
        if round_:
            guesses = [*averaging(layout, variance, None, law), *fitting(layout, variance, law)]
        sure = {guess.cell: guess for guess in guesses if guess.confidence >= confidence}
        new = {cell: guess for cell, guess in sure.items() if cell not in known}
        if not new:
            break
        known |= new
        if round_:
            later |= {
                cell: replace(guess, attack="successive", confidence=min(guess.confidence, least))
                for cell, guess in new.items()
            }
        least = min(least, *(guess.confidence for guess in new.values()))
        layout = replace(layout, blocks=tuple(_fixed(layout, block, known) for block in layout.blocks))
        if not any(block.noised.any() for block in layout.blocks):
            break
    return tuple(later.values())


def _fixed(layout: Layout, block: LayoutBlock, known: Mapping[tuple[tuple[str, str], ...], Recovered]) -> LayoutBlock:
    """A table in which recovered counts are exact."""
    values, noised = block.values.copy(), block.noised.copy()
    for row in np.flatnonzero(block.noised).tolist():
        guess = known.get(layout.cell(block.axes, block.codes[row].tolist()))
        if guess is not None:
            values[row], noised[row] = guess.value, 0
    return replace(block, values=values, noised=noised)


def _counts(tables: Sequence[PublishedTable]) -> dict[tuple[tuple[str, str], ...], int]:
    """True counts by cell."""
    counts = {}
    for table in tables:
        for row, count in enumerate(table.lower.tolist()):
            # Tables name cells by group and option; attacks treat the option as one more axis.
            cell = table.cell(row)
            if table.options:
                cell[OPTION] = table.options[table.option[row]]
            counts[tuple(sorted(cell.items()))] = count
    return counts

"""Attacks on noisy tables: averaging, fitting, revealing the bound, exploiting margins, differencing.

They see only what is published, and may know the variance or the bound of the noise.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from safemargin import ui
from safemargin.core import RESERVED, InputError, PublishedTable
from safemargin.io import read_tables
from safemargin.noise.bounded import Revealed, exploiting, revealing
from safemargin.noise.differencing import changes, nested
from safemargin.noise.layout import OPTION, Recovered, estimated_variance, lay_out
from safemargin.noise.linear import averaging, fitting
from safemargin.noise.records import Data, data_file
from safemargin.noise.weighted import axes_beside_weights, from_weights
from safemargin.samplers import positive

SURE = 0.95
"""How sure an attack must be of a count for it to be disclosed."""
LISTED = 10
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

    def show(self, console: Console) -> None:
        for sentence in self._opening():
            ui.say(console, sentence)
        for name, recovered in self.attacks.items():
            ui.say(console, self._headline(name, recovered))
            lines = self._lines(recovered)
            for line in lines[: self.limit]:
                ui.say(console, f"  - {line}")
            if len(lines) > self.limit:
                ui.say(console, f"  and {len(lines) - self.limit:,} more")

    def to_html(self) -> str:
        title = "Attacks on noisy tables"
        body = [
            ui.section(
                name.capitalize(), ui.paragraphs(self._headline(name, recovered)), ui.points(self._lines(recovered))
            )
            for name, recovered in self.attacks.items()
        ]
        return ui.render_page(title, ui.header(title, ui.paragraphs(*self._opening())), ui.joined(body))

    def _opening(self) -> list[str]:
        how = "estimated from the tables" if self.estimated else "given"
        sentences = [f"Variance of the noise: {self.variance:.3g}, {how}."]
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
    """Attack noisy tables as somebody who sees them, and may know the variance or the bound of the noise.

    Tables are files, DataFrames or values. What is not known is estimated from them. `before` are tables published
    earlier about almost the same people, `targets` the axes of the counts to average instead of every table's, `truth`
    the true tables, to count right guesses. `hierarchy` are files with the hierarchies of axes, as `age=age.hrc`, for
    tables with wider areas beside their parts, such as those of `perturb`. `confidence` is how sure an attack must be
    for a count to be disclosed.
    """
    if not 0 < confidence <= 1:
        raise InputError(f"confidence = {confidence:g}: must be above 0 and at most 1, e.g. {SURE:g}")

    weighted: list[tuple[Path, tuple[str, ...]]] = []

    def read(given: Tables) -> tuple[PublishedTable, ...]:
        known = [item for item in given if isinstance(item, PublishedTable)]
        plain = []
        for item in given:
            if isinstance(item, PublishedTable):
                continue
            path = files.enter_context(data_file(item))
            axes = None if by is not None else axes_beside_weights(path, count, (*RESERVED, option))
            if axes is None:
                plain.append(path)
            else:
                weighted.append((path, axes))
                known += read_tables([path], count, option, ",".join(axes), skip, hierarchy)
        return (*known, *(read_tables(plain, count, option, by, skip, hierarchy) if plain else ()))

    files = ExitStack()
    with files:
        shown, earlier = read(tables), read(before)
        layout = lay_out(shown)
        spread = estimated_variance(layout) if variance is None else positive("variance", variance)
        from_means = [guess for path, axes in weighted for guess in from_weights(path, axes, count, spread)]
        true_counts = None if truth is None else _counts(read(truth))
    revealed = revealing(layout, spread)
    # The smallest bound is certain: a gap cannot exceed the sum of the noise in it.
    if bound is not None and bound < revealed.least:
        raise InputError(f"bound = {bound}: does not explain the tables; the nearest is {revealed.least}")
    # Exploiting claims certainty, so a bound that is only likely must not be used below the confidence asked for.
    known = bound if bound is not None else revealed.least if revealed.confidence >= confidence else None
    attacks = {
        "averaging": tuple(averaging(layout, spread, targets)),
        "fitting": tuple(fitting(layout, spread)),
        "exploiting": () if known is None else tuple(exploiting(layout, known)),
        "differencing": tuple(nested(layout, spread)),
    }
    if earlier:
        both = lay_out([*shown, *earlier])  # one list of categories for both releases
        now = replace(both, blocks=both.blocks[: len(layout.blocks)])
        then = replace(both, blocks=both.blocks[len(layout.blocks) :])
        attacks["changes"] = tuple(changes(now, then, spread))
    if weighted:
        attacks["weights"] = tuple(from_means)
    names = [str(item) if isinstance(item, str | Path) else getattr(item, "name", "data") for item in tables]
    inputs = {"files": names, "variance": variance, "bound": bound, "confidence": confidence}
    return Denoised(spread, variance is None, revealed, known, attacks, confidence, true_counts, inputs, limit)


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

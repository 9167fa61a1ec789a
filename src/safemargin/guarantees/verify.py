"""Compare a claimed guarantee with a small mechanism whose laws are listed: it holds, is tight or is violated."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainValidator, model_validator
from rich.console import Console

from safemargin import ui
from safemargin.core import (
    Amount,
    Distance,
    Fixes,
    Guarantee,
    InputError,
    Invariant,
    Measure,
    Progress,
    TooLargeError,
    no_progress,
)
from safemargin.guarantees.exact import (
    Holds,
    Loss,
    Metric,
    check_laws,
    frozen_hamming,
    hamming,
    universe_loss,
    zcdp_loss,
)
from safemargin.guarantees.guarantee_file import FractionField, Part, Texts, guarantee_from, rule, validated
from safemargin.guarantees.refinement import classes
from safemargin.io import read_json

CLOSE = 1e-9
MOST_PAIRS = {Measure.PURE: 200_000, Measure.ZCDP: 3_000}
"""About half a minute."""
IMPUTED = "imputed"
"""The variable that marks imputed records."""
VERDICTS = {
    Holds.HOLDS: "The guarantee holds",
    Holds.TIGHT: "The guarantee holds and is tight",
    Holds.VIOLATED: "The guarantee is violated",
    None: "No budget is claimed",
}
Record = tuple[str, ...]


class _DataSet(Part):
    records: tuple[tuple[Annotated[str, PlainValidator(str)], ...], ...]
    law: dict[str, FractionField]

    @model_validator(mode="after")
    def _sums_to_one(self) -> "_DataSet":
        total = sum(self.law.values(), Fraction(0))
        if total != 1 or min(self.law.values()) < 0:
            raise rule(f"law: probabilities must not be negative, and sum to 1 (they sum to {total})")
        return self


class _Mechanism(Part):
    variables: Annotated[Texts, Field(min_length=1)]
    data: Annotated[dict[str, _DataSet], Field(min_length=1)]
    guarantee: Any
    universes: dict[str, Texts] | None = None

    @model_validator(mode="after")
    def _names_agree(self) -> "_Mechanism":
        width = len(self.variables)
        for name, data in self.data.items():
            if odd := next((record for record in data.records if len(record) != width), None):
                raise rule(f"data.{name}.records: {odd!r}: every record needs {width} values, one per variable")
        for name, members in (self.universes or {}).items():
            if missing := next((member for member in members if member not in self.data), None):
                raise rule(f"universes.{name}: there is no data set {missing!r}")
        return self


@dataclass(frozen=True)
class Mechanism:
    """Data sets by name, each a list of records over `variables`; the law of the output for each; what is claimed.

    `universes` list the data sets that are compared; without them, these are the ones that agree on all invariants.
    """

    variables: tuple[str, ...]
    data: Mapping[str, tuple[Record, ...]]
    laws: Mapping[str, Mapping[str, Fraction]]
    guarantee: Guarantee
    universes: Mapping[str, tuple[str, ...]] | None = None


def read_mechanism(source: Path | str | Mapping[str, object]) -> Mechanism:
    """The mechanism in a JSON file, or in a value of the same shape; errors name the key."""
    where, value = "mechanism", source
    if not isinstance(source, Mapping):
        where, value = str(source), read_json(source)
    entry = validated(_Mechanism, value, where)
    return Mechanism(
        entry.variables,
        {name: data.records for name, data in entry.data.items()},
        {name: data.law for name, data in entry.data.items()},
        guarantee_from(entry.guarantee, f"{where}: guarantee"),
        entry.universes,
    )


@dataclass(frozen=True)
class Verified(ui.Result):
    """The loss of every universe (epsilon, or rho squared), the worst pair, and a verdict if a budget is claimed."""

    mechanism: Mechanism
    verdict: Holds | None
    losses: Mapping[str, Loss[str, str]]
    rho_squared: Mapping[str, float]
    worst: str
    pair: tuple[str, str] | None

    @property
    def loss(self) -> float:
        """The largest loss of all universes, in the measure of the guarantee."""
        return self.in_measure(self.worst)

    def in_measure(self, universe: str) -> float:
        """The loss of one universe in the measure of the guarantee."""
        return self.rho_squared[universe] if self.rho_squared else self.losses[universe].value

    @property
    def is_trivial(self) -> bool:
        """Whether every universe holds one data set, so that nothing is protected."""
        return all(loss.size < 2 for loss in self.losses.values())

    def to_json(self) -> ui.Document:
        claimed, worst = self.mechanism.guarantee, self.losses[self.worst].pair
        witness: ui.Document | None = None
        if self.pair is not None:
            witness = {"one": self.pair[0], "other": self.pair[1]}
            if worst is not None and not self.rho_squared:
                ratio = "infinite" if worst.ratio is None else str(worst.ratio)
                witness |= {"output": worst.output, "ratio": ratio}
        return {
            "schema": ui.SCHEMA,
            "verdict": None if self.verdict is None else str(self.verdict),
            "measure": str(claimed.measure),
            "claimed": None if claimed.budget is None else ui.finite(float(claimed.budget)),
            "loss": ui.finite(self.loss),
            "universes": {
                name: {"data_sets": loss.size, "neighbours": loss.neighbours, "loss": ui.finite(self.in_measure(name))}
                for name, loss in self.losses.items()
            },
            "witness": witness,
            "protects": not self.is_trivial,
        }

    @property
    def _measure(self) -> str:
        return "rho²" if self.rho_squared else "epsilon"

    @property
    def _rows(self) -> list[list[str]]:
        return [
            [name, f"{loss.size:,}", f"{loss.neighbours:,}", _shown(self.in_measure(name))]
            for name, loss in self.losses.items()
        ]

    @property
    def _headline(self) -> str:
        claimed = self.mechanism.guarantee.amount
        return f"{VERDICTS[self.verdict]}: {claimed} claimed, {self._measure} = {_shown(self.loss)} found."

    @property
    def _remarks(self) -> list[str]:
        lines = []
        worst = self.losses[self.worst].pair
        if self.pair is not None and self.rho_squared:
            lines.append(f"Most is lost between {self.pair[0]} and {self.pair[1]}.")
        elif worst is not None:
            odds = "possible" if worst.ratio is None else f"{float(worst.ratio):.6g} times as likely"
            only = " only" if worst.ratio is None else ""
            lines.append(
                f"Most is lost between {worst.one} and {worst.other}, {worst.distance:g} apart: the output "
                f"{worst.output} is {odds} from {worst.one}{only}."
            )
        if self.is_trivial:
            lines.append("Every universe holds one data set: the invariants disclose all, and nothing is protected.")
        elif not any(loss.neighbours for loss in self.losses.values()):
            lines.append("No two data sets of a universe are at distance one: a check of neighbours passes anything.")
        return lines

    def show(self, console: Console) -> None:
        ui.say(console, self._headline)
        console.print(ui.text_table(["universe", "data sets", "neighbours", self._measure], self._rows))
        for line in self._remarks:
            ui.say(console, line)

    def to_html(self) -> str:
        title = f"{self.mechanism.guarantee.mechanism}: exact loss"
        losses = ui.table(["universe", "data sets", "neighbours", self._measure], self._rows)
        body = ui.section("Loss by universe", losses, ui.paragraphs(*self._remarks))
        return ui.render_page(title, ui.header(title, ui.paragraphs(self._headline)), ui.joined([body]))


def verify(source: Path | str | Mapping[str, object], *, progress: Progress = no_progress) -> Verified:
    """Whether a guarantee about a small mechanism holds, is tight or is violated, over all pairs of data sets.

    `source` is a JSON file, or a value of the same shape: `variables`, `data` with `records` and `law` by name,
    `guarantee` and, optionally, `universes`.
    """
    mechanism = read_mechanism(source)
    progress("comparing all pairs of data sets")
    return check_mechanism(mechanism)


def check_mechanism(mechanism: Mechanism) -> Verified:
    """Compute the exact loss of a mechanism in every universe, and compare its guarantee with it.

    In rho squared, the supremum over orders is searched: what is found violated is, what holds does so numerically.
    """
    claimed = mechanism.guarantee
    if claimed.measure not in (Measure.PURE, Measure.ZCDP):
        raise InputError(f"guarantee: measure = {claimed.measure}: only pure and zcdp guarantees are checked")
    universes = _universes(mechanism)
    pairs = sum(len(members) * (len(members) - 1) // 2 for members in universes.values())
    if pairs > MOST_PAIRS[claimed.measure]:
        raise TooLargeError(f"{pairs:,} pairs of data sets to compare; at most {MOST_PAIRS[claimed.measure]:,} are")
    distance = _distance(mechanism)
    if claimed.measure is Measure.PURE:
        budget = None if claimed.budget is None else float(claimed.budget)
        checked = check_laws(mechanism.laws, universes, distance, lambda _: budget)
        losses = {str(name): loss for name, loss in checked.losses.items()}
        worst = max(losses, key=lambda name: losses[name].value)
        pair = losses[worst].pair
        ends = None if pair is None else (pair.one, pair.other)
        return Verified(mechanism, None if budget is None else checked.verdict, losses, {}, worst, ends)
    laws = {str(name): {data: mechanism.laws[data] for data in members} for name, members in universes.items()}
    losses = {name: universe_loss(law, distance) for name, law in laws.items()}
    squared = {name: zcdp_loss(law, distance) for name, law in laws.items()}
    worst = max(squared, key=lambda name: squared[name][0])
    rho = {name: value for name, (value, _) in squared.items()}
    return Verified(mechanism, _verdict(rho[worst], claimed.budget), losses, rho, worst, squared[worst][1])


def _verdict(loss: float, budget: Amount | None) -> Holds | None:
    if budget is None:
        return None
    # The supremum over orders is numerical, so equality is decided within nine digits.
    if budget == math.inf or loss < float(budget) * (1 - CLOSE) - CLOSE:
        return Holds.HOLDS
    return Holds.VIOLATED if loss > float(budget) * (1 + CLOSE) + CLOSE else Holds.TIGHT


def _universes(mechanism: Mechanism) -> dict[Hashable, tuple[str, ...]]:
    if mechanism.universes is not None:
        return dict(mechanism.universes.items())
    values = [_statistic(invariant, mechanism.variables) for invariant in mechanism.guarantee.invariants]

    def key(name: str) -> Hashable:
        return tuple(value(mechanism.data[name]) for value in values)

    return dict((members[0], tuple(members)) for members in classes(mechanism.data, key).values())


def _statistic(
    invariant: Invariant, variables: tuple[str, ...]
) -> Callable[[tuple[Record, ...]], frozenset[tuple[Hashable, int]]]:
    """The value of an invariant; counts of every kind of record are counts of the records of the file."""
    if invariant.fixes not in (Fixes.COUNTS, Fixes.AT_LEAST):
        raise InputError(f"guarantee: {invariant}: cannot be computed from records; list the universes instead")
    if missing := next((name for name in invariant.by if name not in variables), None):
        raise InputError(f"guarantee: {invariant}: there is no variable {missing!r}; they are {', '.join(variables)}")
    columns = [variables.index(name) for name in invariant.by]
    least = invariant.least if invariant.fixes is Fixes.AT_LEAST else None

    def value(records: tuple[Record, ...]) -> frozenset[tuple[Hashable, int]]:
        cells = Counter(tuple(record[column] for column in columns) for record in records)
        if least is None:
            return frozenset(cells.items())
        return frozenset((cell, 1) for cell, count in cells.items() if count >= least)

    return value


def _distance(mechanism: Mechanism) -> Metric[str]:
    kind, data = mechanism.guarantee.change.distance, mechanism.data
    if kind is Distance.HAMMING:
        return lambda one, other: hamming(data[one], data[other])
    if kind is Distance.ADD_REMOVE:
        return lambda one, other: float(
            (Counter(data[one]) - Counter(data[other])).total() + (Counter(data[other]) - Counter(data[one])).total()
        )
    if kind is not Distance.FROZEN:
        raise InputError(f"guarantee: change.distance = {kind}: must be hamming, add_remove or frozen")
    if IMPUTED not in mechanism.variables:
        raise InputError(f"guarantee: change.distance = frozen: needs a variable {IMPUTED!r} that is 'yes' or 'no'")
    column = mechanism.variables.index(IMPUTED)
    frozen = frozen_hamming(lambda record: isinstance(record, tuple) and record[column] == "yes")
    return lambda one, other: frozen(data[one], data[other])


def _shown(value: float) -> str:
    return "infinite" if math.isinf(value) else f"{value:.6g}"

"""Compare a claimed guarantee with a small mechanism whose laws are listed: it holds, is tight or is violated."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainValidator, model_validator

from safemargin import ui
from safemargin.core import (
    Amount,
    Distance,
    Fixes,
    Guarantee,
    InputError,
    Invariant,
    Limit,
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
from safemargin.guarantees.guarantee_file import (
    FractionField,
    Part,
    StatedBudget,
    Texts,
    guarantee_from,
    rule,
    validated,
)
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


class Mechanism(Part):
    """Data sets by name, each with its records over `variables` and the law of the output; what is claimed.

    `universes` list the data sets that are compared; without them, these are the ones that agree on all invariants.
    `budgets` are those of single universes, by their name or that of a data set in them; all others have that of the
    guarantee, which `read_mechanism` reads.
    """

    variables: Annotated[Texts, Field(min_length=1)]
    data: Annotated[dict[str, _DataSet], Field(min_length=1)]
    guarantee: Any
    universes: dict[str, Texts] | None = None
    budgets: dict[str, StatedBudget] = {}

    @model_validator(mode="after")
    def _names_agree(self) -> "Mechanism":
        width = len(self.variables)
        for name, data in self.data.items():
            if odd := next((record for record in data.records if len(record) != width), None):
                raise rule(f"data.{name}.records: {odd!r}: every record needs {width} values, one per variable")
        for name, members in (self.universes or {}).items():
            if missing := next((member for member in members if member not in self.data), None):
                raise rule(f"universes.{name}: there is no data set {missing!r}")
        names = {*self.data, *(self.universes or ())}
        if unknown := next((name for name in self.budgets if name not in names), None):
            raise rule(f"budgets.{unknown}: there is no such universe; name it, or a data set in it")
        return self

    @property
    def claimed(self) -> Guarantee:
        """The guarantee, once it was read."""
        assert isinstance(self.guarantee, Guarantee)
        return self.guarantee

    @property
    def laws(self) -> dict[str, Mapping[str, Fraction]]:
        """The law of the output for every data set."""
        return {name: data.law for name, data in self.data.items()}

    def budget(self, universe: str, members: Iterable[str]) -> Amount | None:
        """What is claimed for a universe."""
        stated = next((self.budgets[name] for name in (universe, *members) if name in self.budgets), None)
        if stated is None:
            return self.claimed.budget
        amount: Amount = stated.rho_squared if self.claimed.measure is Measure.ZCDP else stated.epsilon
        return amount


def read_mechanism(source: Path | str | Mapping[str, object]) -> Mechanism:
    """The mechanism in a JSON file, or in a value of the same shape; errors name the key."""
    where, value = "mechanism", source
    if not isinstance(source, Mapping):
        where, value = str(source), read_json(source)
    mechanism = validated(Mechanism, value, where)
    claimed = guarantee_from(mechanism.guarantee, f"{where}: guarantee")
    wanted = "rho_squared" if claimed.measure is Measure.ZCDP else "epsilon"
    if missing := next((name for name, budget in mechanism.budgets.items() if getattr(budget, wanted) is None), None):
        raise InputError(f"{where}: budgets.{missing}: a {claimed.measure} guarantee needs {wanted!r}")
    return mechanism.model_copy(update={"guarantee": claimed})


@dataclass(frozen=True)
class Verified(ui.Result):
    """The loss of every universe (epsilon, or rho squared), the worst pair, and a verdict if a budget is claimed.

    `outside` counts data sets whose counts are not admissible: no universe holds them.
    """

    mechanism: Mechanism
    verdict: Holds | None
    losses: Mapping[str, Loss[str, str]]
    rho_squared: Mapping[str, float]
    claimed: Mapping[str, Amount | None]
    worst: str
    pair: tuple[str, str] | None
    outside: int = 0

    @property
    def loss(self) -> float:
        """The largest loss of all universes, in the measure of the guarantee."""
        return max(map(self.in_measure, self.losses))

    def in_measure(self, universe: str) -> float:
        """The loss of one universe in the measure of the guarantee."""
        return self.rho_squared[universe] if self.rho_squared else self.losses[universe].value

    @property
    def is_trivial(self) -> bool:
        """Whether every universe holds one data set, so that nothing is protected."""
        return all(loss.size < 2 for loss in self.losses.values())

    def to_json(self) -> ui.Document:
        stated, worst = self.mechanism.claimed, self.losses[self.worst].pair
        witness: ui.Document | None = None
        if self.pair is not None:
            witness = {"one": self.pair[0], "other": self.pair[1]}
            if worst is not None and not self.rho_squared:
                ratio = "infinite" if worst.ratio is None else str(worst.ratio)
                witness |= {"output": worst.output, "ratio": ratio}
        return {
            "schema": ui.SCHEMA,
            "verdict": None if self.verdict is None else str(self.verdict),
            "measure": str(stated.measure),
            "claimed": _amount(stated.budget),
            "loss": ui.finite(self.loss),
            "universes": {
                name: {
                    "data_sets": loss.size,
                    "neighbours": loss.neighbours,
                    "loss": ui.finite(self.in_measure(name)),
                    "claimed": _amount(self.claimed[name]),
                }
                for name, loss in self.losses.items()
            },
            "not_admissible": self.outside,
            "witness": witness,
            "protects": not self.is_trivial,
        }

    def to_report(self) -> ui.Report:
        measure, stated = "rho²" if self.rho_squared else "epsilon", self.mechanism.claimed
        claimed = stated.amount if not self.mechanism.budgets else "a budget for each universe"
        varies = ["claimed"] if self.mechanism.budgets else []
        rows = [
            [
                name,
                f"{loss.size:,}",
                f"{loss.neighbours:,}",
                _shown(self.in_measure(name)),
                *("-" if self.claimed[name] is None else _shown(float(self.claimed[name] or 0)) for _ in varies),
            ]
            for name, loss in self.losses.items()
        ]
        headline = f"{VERDICTS[self.verdict]}: {claimed} claimed, {measure} = {_shown(self.loss)} found."
        grid = ui.Grid(["universe", "data sets", "neighbours", measure, *varies], rows)
        return ui.Report(f"{stated.mechanism}: exact loss", headline, grid, *self._remarks)

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
        if self.outside:
            lines.append(f"{ui.plural(self.outside, 'data set')} outside the admissible range: not compared.")
        if self.is_trivial:
            lines.append("Every universe holds one data set: the invariants disclose all, and nothing is protected.")
        elif not any(loss.neighbours for loss in self.losses.values()):
            lines.append("No two data sets of a universe are at distance one: a check of neighbours passes anything.")
        return lines


def verify(source: Path | str | Mapping[str, object], *, progress: Progress = no_progress) -> Verified:
    """Verify a guarantee about a small mechanism exactly, over all pairs of data sets.

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
    claimed = mechanism.claimed
    if claimed.measure not in (Measure.PURE, Measure.ZCDP):
        raise InputError(f"guarantee: measure = {claimed.measure}: only pure and zcdp guarantees are checked")
    universes = _universes(mechanism)
    pairs = sum(len(members) * (len(members) - 1) // 2 for members in universes.values())
    if pairs > MOST_PAIRS[claimed.measure]:
        raise TooLargeError(f"{pairs:,} pairs of data sets to compare; at most {MOST_PAIRS[claimed.measure]:,} are")
    distance = _distance(mechanism)
    budgets = {str(name): mechanism.budget(str(name), members) for name, members in universes.items()}
    outside = len(mechanism.data) - len({name for members in universes.values() for name in members})
    if claimed.measure is Measure.PURE:
        allowed = {name: None if budget is None else float(budget) for name, budget in budgets.items()}
        checked = check_laws(mechanism.laws, universes, distance, lambda name: allowed[str(name)])
        losses = {str(name): loss for name, loss in checked.losses.items()}
        worst = next(name for name, loss in losses.items() if loss is checked.worst)
        pair = losses[worst].pair
        ends = None if pair is None else (pair.one, pair.other)
        verdict = None if all(budget is None for budget in budgets.values()) else checked.verdict
        return Verified(mechanism, verdict, losses, {}, budgets, worst, ends, outside)
    laws = {str(name): {data: mechanism.laws[data] for data in members} for name, members in universes.items()}
    losses = {name: universe_loss(law, distance) for name, law in laws.items()}
    squared = {name: zcdp_loss(law, distance) for name, law in laws.items()}
    rho = {name: value for name, (value, _) in squared.items()}
    # The worst universe is the one that breaks its own budget, not the one that loses most.
    rank = (None, Holds.HOLDS, Holds.TIGHT, Holds.VIOLATED)
    verdicts = {name: _verdict(rho[name], budgets[name]) for name in rho}
    worst = max(rho, key=lambda name: (rank.index(verdicts[name]), rho[name]))
    return Verified(mechanism, verdicts[worst], losses, rho, budgets, worst, squared[worst][1], outside)


def _amount(budget: Amount | None) -> float | str | None:
    return None if budget is None else ui.finite(float(budget))


def _verdict(loss: float, budget: Amount | None) -> Holds | None:
    if budget is None:
        return None
    # The supremum over orders is numerical, so equality is decided within nine digits.
    if budget == math.inf or loss < float(budget) * (1 - CLOSE) - CLOSE:
        return Holds.HOLDS
    return Holds.VIOLATED if loss > float(budget) * (1 + CLOSE) + CLOSE else Holds.TIGHT


def _universes(mechanism: Mechanism) -> dict[Hashable, tuple[str, ...]]:
    """The data sets that are compared with each other, of those whose counts are admissible."""
    limits = mechanism.claimed.population.limits
    inside = {
        name for name, data in mechanism.data.items() if _is_admissible(data.records, limits, mechanism.variables)
    }
    if not inside:
        raise InputError("guarantee: population.limits: no data set is admissible")
    if mechanism.universes is not None:
        kept = {name: tuple(x for x in members if x in inside) for name, members in mechanism.universes.items()}
        return {name: members for name, members in kept.items() if members}
    values = [_statistic(invariant, mechanism.variables) for invariant in mechanism.claimed.invariants]

    def key(name: str) -> Hashable:
        return tuple(value(mechanism.data[name].records) for value in values)

    parted = classes((name for name in mechanism.data if name in inside), key).values()
    return {members[0]: tuple(members) for members in parted}


def _is_admissible(records: tuple[Record, ...], limits: tuple[Limit, ...], variables: tuple[str, ...]) -> bool:
    """Whether all counts are in range; cells that no record is in are not seen."""
    for limit in limits:
        columns = _columns(limit, variables)
        cells = Counter(tuple(record[column] for column in columns) for record in records)
        for value in cells.values() if limit.by else (len(records),):
            if value < limit.least or (limit.most is not None and value > limit.most):
                return False
    return True


def _columns(of: Invariant | Limit, variables: tuple[str, ...]) -> list[int]:
    if missing := next((name for name in of.by if name not in variables), None):
        raise InputError(f"guarantee: {of}: there is no variable {missing!r}; they are {', '.join(variables)}")
    return [variables.index(name) for name in of.by]


def _statistic(invariant: Invariant, variables: tuple[str, ...]) -> Callable[[tuple[Record, ...]], Hashable]:
    """The value of an invariant; counts of every kind of record are counts of the records of the file."""
    if invariant.fixes in (Fixes.LINEAR, Fixes.INEQUALITY):
        cells = [tuple(cell.split("/")) for cell in invariant.by]
        if odd := next((cell for cell in cells if len(cell) != len(variables)), None):
            example = "/".join("*" for _ in variables)
            raise InputError(f"guarantee: cell {'/'.join(odd)!r}: needs a value of each variable, or *, e.g. {example}")

        def sums(records: tuple[Record, ...]) -> Hashable:
            # Cells may overlap, as with *: a record counts in each that it matches.
            counts = [sum(_matches(record, cell) for record in records) for cell in cells]
            values = [sum(a * n for a, n in zip(row, counts, strict=True)) for row in invariant.rows]
            # Eq. 2.4: an inequality as an invariant is its indicator.
            return tuple(values if invariant.fixes is Fixes.LINEAR else [value >= invariant.least for value in values])

        return sums
    if invariant.fixes not in (Fixes.COUNTS, Fixes.AT_LEAST):
        raise InputError(f"guarantee: {invariant}: cannot be computed from records; list the universes instead")
    columns = _columns(invariant, variables)
    least = invariant.least if invariant.fixes is Fixes.AT_LEAST else None

    def value(records: tuple[Record, ...]) -> Hashable:
        cells = Counter(tuple(record[column] for column in columns) for record in records)
        if least is None:
            return frozenset(cells.items())
        return frozenset((cell, 1) for cell, count in cells.items() if count >= least)

    return value


def _matches(record: Record, cell: Record) -> bool:
    return all(wanted in ("*", value) for value, wanted in zip(record, cell, strict=True))


def _distance(mechanism: Mechanism) -> Metric[str]:
    kind = mechanism.claimed.change.distance
    data = {name: entry.records for name, entry in mechanism.data.items()}
    if kind is Distance.HAMMING:
        return lambda first, second: hamming(data[first], data[second])
    if kind is Distance.ADD_REMOVE:
        kept = {name: Counter(records) for name, records in data.items()}
        return lambda a, b: float((kept[a] - kept[b]).total() + (kept[b] - kept[a]).total())
    if kind is not Distance.FROZEN:
        raise InputError(f"guarantee: change.distance = {kind}: must be hamming, add_remove or frozen")
    if IMPUTED not in mechanism.variables:
        raise InputError(f"guarantee: change.distance = frozen: needs a variable {IMPUTED!r} that is 'yes' or 'no'")
    column = mechanism.variables.index(IMPUTED)
    frozen = frozen_hamming(lambda record: isinstance(record, tuple) and record[column] == "yes")
    return lambda first, second: frozen(data[first], data[second])


def _shown(value: float) -> str:
    return "infinite" if math.isinf(value) else f"{value:.6g}"

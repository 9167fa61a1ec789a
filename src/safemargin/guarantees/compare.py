"""Which of two guarantees is the stronger one: the first, if whatever satisfies it satisfies the second.

Each block is compared for itself; budgets only where all other blocks point one way, after the guarantee with stronger
blocks was brought into the flavour of the other. Otherwise they are numbers on different scales, and the answer is a
refusal to rank them. What holds over all is decided by implication, each way round.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from safemargin import ui
from safemargin.core import Guarantee, Measure, Population
from safemargin.guarantees.conversion import DELTA, Number, exact_amount
from safemargin.guarantees.guarantee_file import document
from safemargin.guarantees.implication import (
    STRENGTH,
    admits,
    brought,
    facts_between,
    implies,
    plain,
    reasons_empty,
    within,
)
from safemargin.guarantees.refinement import Determined, Witness, invariants_fixed, unit_factor
from safemargin.guarantees.report import (
    COLUMNS,
    SCALES,
    Source,
    as_guarantee,
    derivation_details,
    side_by_side,
)


class Standing(StrEnum):
    """How the first guarantee stands to the second."""

    EQUAL = "equal"
    STRONGER = "stronger"
    WEAKER = "weaker"
    INCOMPARABLE = "incomparable"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Block:
    """One of the five blocks of a guarantee: what both say, how the first stands to the second, and why."""

    name: str
    one: str
    other: str
    standing: Standing
    why: str


@dataclass(frozen=True)
class Contrast(ui.Result):
    """The five blocks, what follows from all of them, and what must not be read into the budgets.

    `down` says whether the first implies the second, `up` the same the other way round.
    """

    one: Guarantee
    other: Guarantee
    blocks: tuple[Block, ...]
    overall: Standing
    warnings: tuple[str, ...]
    down: Determined
    up: Determined

    def block(self, name: str) -> Block:
        """The block of that name."""
        return next(block for block in self.blocks if block.name == name)

    def to_json(self) -> ui.Document:
        return {
            "schema": ui.SCHEMA,
            "one": self.one.mechanism,
            "other": self.other.mechanism,
            "blocks": {
                block.name: {"one": block.one, "other": block.other, "standing": str(block.standing), "why": block.why}
                for block in self.blocks
            },
            "overall": str(self.overall),
            "first_implies_second": {"answer": self.down.answer, "why": self.down.why},
            "second_implies_first": {"answer": self.up.answer, "why": self.up.why},
            "warnings": list(self.warnings),
        }

    @property
    def _lines(self) -> list[str]:
        first, second = self.one.mechanism, self.other.mechanism
        if first == second:
            first, second = f"the first ({first})", f"the second ({second})"
        verdict = {
            Standing.EQUAL: f"{first} and {second} guarantee the same.",
            Standing.STRONGER: f"Whatever satisfies the guarantee of {first} satisfies that of {second}.",
            Standing.WEAKER: f"Whatever satisfies the guarantee of {second} satisfies that of {first}.",
            Standing.INCOMPARABLE: f"Neither guarantee implies the other: {first} and {second} cannot be ranked.",
            Standing.UNKNOWN: f"What is known does not rank {first} and {second}.",
        }
        return [
            f"Overall {self.overall}. {verdict[self.overall]}",
            explain(self.down, "the first", "the second", example=True),
            explain(self.up, "the second", "the first", example=True),
            *self.warnings,
        ]

    def to_report(self) -> ui.Report:
        rows = [[block.name, block.one, block.other, str(block.standing), block.why] for block in self.blocks]
        return ui.Report(
            f"{self.one.mechanism} and {self.other.mechanism}",
            ui.Grid(["block", "first", "second", "the first is", "why"], rows),
            *self._lines,
            ui.OnPage(ui.Section("Why", derivation_details(self.one), derivation_details(self.other))),
        )


ATLEAST = (Standing.EQUAL, Standing.STRONGER)
ATMOST = (Standing.EQUAL, Standing.WEAKER)
RANGES = {
    Standing.EQUAL: "the same data sets",
    Standing.STRONGER: "more values of counts are admissible",
    Standing.WEAKER: "fewer values of counts are admissible",
    Standing.UNKNOWN: "other values of counts are admissible",
}
"""Of one population, by the values of counts that each guarantee admits."""


def compare(first: Source, second: Source) -> Contrast:
    """Compare two guarantees block by block and as a whole; budgets alone are never ranked."""
    left, right = plain(as_guarantee(first)), plain(as_guarantee(second))
    facts = facts_between(left.population, right.population)
    blocks = [
        _population(left, right),
        _multiverse(left, right, facts),
        _change(left, right, facts),
        _measure(left, right),
    ]
    blocks.append(_budget(left, right, blocks, facts))
    down, up = implies(left, right), implies(right, left)
    overall = _standing(down.answer, up.answer)
    return Contrast(left, right, tuple(blocks), overall, tuple(_warnings(left, right, blocks)), down, up)


def _standing(down: bool | None, up: bool | None) -> Standing:
    """From whether the first is at least as strong as the second, and the second as the first; None is not known."""
    if down or up:
        return Standing.EQUAL if down and up else Standing.STRONGER if down else Standing.WEAKER
    return Standing.UNKNOWN if down is None or up is None else Standing.INCOMPARABLE


def _population(one: Guarantee, other: Guarantee) -> Block:
    ours, theirs = one.population, other.population
    if not ours.name and not theirs.name and one != other:
        standing, why = Standing.UNKNOWN, "neither says which data sets it is about"
    elif ours.name == theirs.name:
        # Other ranges of counts may still overlap: that one does not hold the other proves nothing.
        standing = _standing(admits(ours, theirs) or None, admits(theirs, ours) or None)
        why = RANGES[standing]
    elif ours.name and ours.name in theirs.part_of:
        standing, why = Standing.STRONGER, f"{theirs.name} is part of {ours.name}"
    elif theirs.name and theirs.name in ours.part_of:
        standing, why = Standing.WEAKER, f"{ours.name} is part of {theirs.name}"
    else:
        standing, why = Standing.UNKNOWN, "nothing is declared about how these data sets hang together"
    return Block("population", ours.name or "not named", theirs.name or "not named", standing, why)


def _multiverse(first: Guarantee, second: Guarantee, facts: Population) -> Block:
    down = invariants_fixed(first.invariants, second.invariants, facts)
    up = invariants_fixed(second.invariants, first.invariants, facts)
    standing = _standing(down.answer, up.answer)
    why = {
        Standing.EQUAL: "each fixes the other's invariants",
        Standing.STRONGER: f"it fixes less: {down.why}",
        Standing.WEAKER: f"it fixes more: {up.why}",
        Standing.INCOMPARABLE: f"{down.why}; {up.why}",
        Standing.UNKNOWN: (down if down.answer is None else up).why,
    }
    return Block("invariants", _listed(first), _listed(second), standing, why[standing])


def _change(first: Guarantee, second: Guarantee, facts: Population) -> Block:
    left, right = first.change, second.change
    down = unit_factor(left, right, facts, second.invariants)
    up = unit_factor(right, left, facts, first.invariants)
    if left == right:
        standing, why = Standing.EQUAL, "the same change"
    elif down == up == 1:
        standing, why = Standing.EQUAL, "each is at most one of the other"
    elif down == 1:
        standing, why = Standing.STRONGER, f"every change of the second kind is at most one of the first ({right.unit})"
    elif up == 1:
        standing, why = Standing.WEAKER, f"every change of the first kind is at most one of the second ({left.unit})"
    elif down is not None and up is not None:
        standing, why = Standing.UNKNOWN, f"changes of one kind are up to {down} and {up} of the other"
    elif down is not None:
        standing, why = Standing.STRONGER, f"a change of the second kind is at most {down} of the first"
    elif up is not None:
        standing, why = Standing.WEAKER, f"a change of the first kind is at most {up} of the second"
    else:
        standing, why = Standing.UNKNOWN, "nothing is declared about how these changes hang together"
    return Block("change", str(left), str(right), standing, why)


def _measure(first: Guarantee, second: Guarantee) -> Block:
    ours, theirs = STRENGTH[first.measure], STRENGTH[second.measure]
    if ours == theirs:
        standing, why = Standing.EQUAL, "the same measure"
        if first.delta != second.delta:
            standing = Standing.STRONGER if first.delta < second.delta else Standing.WEAKER
            why = "the smaller delta"
    else:
        strong, weak = (first.measure, second.measure) if ours > theirs else (second.measure, first.measure)
        standing = Standing.STRONGER if ours > theirs else Standing.WEAKER
        why = f"{strong} bounds {weak}, and not the other way round"
    return Block("measure", str(first.measure), str(second.measure), standing, why)


def _budget(first: Guarantee, second: Guarantee, blocks: list[Block], facts: Population) -> Block:
    def block(standing: Standing, why: str) -> Block:
        return Block("budget", first.amount, second.amount, standing, why)

    for guarantee in (first, second):
        if guarantee.measure is Measure.NONE:
            return block(Standing.UNKNOWN, "one of them guarantees no budget")
        if guarantee.budget is None:
            return block(Standing.UNKNOWN, f"the budget of {guarantee.mechanism} is not known")
    standings = [part.standing for part in blocks]
    if all(standing in ATLEAST for standing in standings):
        strong, weak, turned = first, second, False
    elif all(standing in ATMOST for standing in standings):
        strong, weak, turned = second, first, True
    elif Standing.UNKNOWN in standings and Standing.INCOMPARABLE not in standings:
        return block(Standing.UNKNOWN, "not known whether the budgets are on one scale")
    else:
        return block(Standing.INCOMPARABLE, "the budgets are on different scales")
    factor = unit_factor(strong.change, weak.change, facts, weak.invariants)
    amount = None if factor is None else brought(strong, weak, factor)
    if amount is None or weak.budget is None:
        return block(Standing.UNKNOWN, "no rule brings one into the flavour of the other")
    limit = weak.budget
    where = f"in one flavour{', for the data at hand' if first.varies or second.varies else ''}"
    if within(amount, limit) and within(limit, amount):
        return block(Standing.EQUAL, f"the same amount {where}")
    # A converted budget is a bound only: if it is too large, nothing follows.
    # Without any conversion the amounts are the budgets themselves, and compare both ways.
    exact = factor == 1 and strong.measure is weak.measure and strong.delta == weak.delta
    if amount > limit and not exact:
        loose = f"a bound of {float(amount):.6g}, perhaps too large, against {float(limit):.6g} {where}"
        return block(Standing.UNKNOWN, loose)
    ours, theirs = (limit, amount) if turned else (amount, limit)
    shown = f"{float(ours):.6g} against {float(theirs):.6g} {where}"
    return block(Standing.STRONGER if ours < theirs else Standing.WEAKER, shown)


def _warnings(one: Guarantee, other: Guarantee, blocks: list[Block]) -> list[str]:
    warnings = []
    differing = [block.name for block in blocks[:4] if block.standing is not Standing.EQUAL]
    if differing and one.budget is not None and other.budget is not None:
        warnings.append(
            f"{one.amount} and {other.amount} are not on one scale: the guarantees differ in {', '.join(differing)}. "
            "Do not rank them by these numbers."
        )
    for guarantee in (one, other) if one != other else (one,):
        warnings += reasons_empty(guarantee)
    return warnings


def _listed(guarantee: Guarantee) -> str:
    return "; ".join(map(str, guarantee.invariants)) or "none"


def explain(way: Determined, first: str, second: str, example: bool = False) -> str:
    """Whether one guarantee implies another, as a sentence; `example` adds two data sets that show why not."""
    subject = f"{first[:1].upper()}{first[1:]}"
    if way.witness is not None:
        published = f"it publishes the {way.witness.differ} exactly, {second} protects it."
        shown = f" Example: {way.witness.example}." if example else ""
        return f"{subject} does not imply {second}: {published}{shown}"
    verb = {True: "implies", False: "does not imply", None: "is not known to imply"}[way.answer]
    return f"{subject} {verb} {second}: {way.why}."


@dataclass(frozen=True)
class SideBySide(ui.Result):
    """Several guarantees side by side: what each is about, how each stands to each, and what they omit."""

    guarantees: tuple[Guarantee, ...]
    delta: float

    @cached_property
    def _pairs(self) -> list[list[Contrast]]:
        return [[compare(first, second) for second in self.guarantees] for first in self.guarantees]

    @property
    def _implications(self) -> list[tuple[str, Witness | None]]:
        """Which guarantee implies which, with a witness where one does not; empty ones are skipped."""
        said = [number for number, guarantee in enumerate(self.guarantees) if not reasons_empty(guarantee)]
        ways = [(n, m, self._pairs[n][m].down) for n in said for m in said if n != m]
        return [(explain(way, f"guarantee {n + 1}", f"guarantee {m + 1}"), way.witness) for n, m, way in ways]

    @property
    def _remarks(self) -> list[str]:
        """What readers of the table have to know: budgets on other scales, remarks, guarantees of nothing."""
        lines = [SCALES] if len({guarantee.flavour for guarantee in self.guarantees}) > 1 else []
        lines += [reason for guarantee in self.guarantees for reason in reasons_empty(guarantee)]
        for guarantee in self.guarantees:
            if guarantee.varies:
                lines.append(f"{guarantee.mechanism}: its budget depends on the data; here, {guarantee.varies}.")
        lines += [f"{guarantee.mechanism}: {remark}" for guarantee in self.guarantees for remark in guarantee.remarks]
        return list(dict.fromkeys(lines))

    def to_json(self) -> ui.Document:
        return {
            "schema": ui.SCHEMA,
            "guarantees": [
                {
                    **dict(zip(COLUMNS, row, strict=True)),
                    "remarks": list(guarantee.remarks),
                    "warnings": reasons_empty(guarantee),
                    "guarantee": document(guarantee),
                }
                for guarantee, row in zip(self.guarantees, side_by_side(self.guarantees, self.delta), strict=True)
            ],
            "standings": [[str(pair.overall) for pair in row] for row in self._pairs],
            "implications": [text for text, _ in self._implications],
        }

    def to_report(self) -> ui.Report:
        rows = [[str(n), *row] for n, row in enumerate(side_by_side(self.guarantees, self.delta), 1)]
        standings = [
            [str(n), *("-" if n == m else str(pair.overall) for m, pair in enumerate(row, 1))]
            for n, row in enumerate(self._pairs, 1)
        ]
        witnesses = [ui.Fold(text, str(witness)) for text, witness in self._implications if witness]
        return ui.Report(
            "Guarantees side by side",
            ui.Grid(("no.", *COLUMNS), rows),
            "The guarantee of the row, to that of the column",
            ui.Grid(["no.", *(row[0] for row in standings)], standings),
            *(text for text, _ in self._implications),
            *self._remarks,
            ui.OnPage(ui.Section("Examples", *witnesses)) if witnesses else None,
            ui.OnPage(ui.Section("Why", *map(derivation_details, self.guarantees))),
        )


def beside(sources: Sequence[Source], *, delta: Number = DELTA) -> SideBySide:
    """Show several guarantees side by side: what each covers, which implies which, and what they omit.

    `delta` is what epsilons of rho squared are shown at.
    """
    return SideBySide(tuple(as_guarantee(source) for source in sources), float(exact_amount("delta", delta)))

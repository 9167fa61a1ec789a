"""Every end of every interval, checked anew from the files alone.

Objects
    system      the rows that the files state, built from them again; nothing of it is taken from the certificate
    functional  the count of one option in one cell: offset + sign * (sum of x at places)
    evidence    what all duals and tables together show of one count

What is checked
    tables      every witness has integer counts and satisfies every row (`System.admits`)
    duals       weak duality in integers (the statement of `duals.py`), in Python's own integers where 64 bits might not
                do
    claims      every cell and option exactly once; a missing cell is a failure, as silence is no all-clear
    verdicts    the rule is ours, the counts of verdicts are right, and every cell that is not called disclosed is shown
                to be contained or open by its own evidence

Invariants
    * This module uses none of the search: it may be wrong only in `build_system` and in addition. `checker.py`, which
      shares no code with this package, checks releases once more.
    * A `Fault` ends the check of one end, or of everything where its meaning depends on it. There is no partial pass.
    * Slack is recomputed from the files: a certificate cannot make intervals wider by claiming more of it.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from safemargin.bounds.build import build_system
from safemargin.bounds.certificate import (
    ROLES,
    SEARCH,
    VERDICT_RULE,
    Claim,
    Dual,
    End,
    IntervalCertificate,
    target_failures,
)
from safemargin.bounds.system import System, complete_total, measured_slack, stated_population, stated_totals
from safemargin.bounds.verification import KIND, Verification
from safemargin.core import UNBOUNDED, VERDICTS, IntArray, Onlooker, PublishedTable, Target


class Fault(Exception):
    """A claim that does not hold, in words; it becomes a failure of the verification."""


def claim_name(claim: Claim) -> str:
    """The cell and option of a claim."""
    return ", ".join([*claim.cell.values(), *([claim.option] if claim.option else [])]) or "everybody"


@dataclass(frozen=True)
class ShownRange:
    """What is shown of one count: it cannot lie outside `outer`, and takes both values of `attained`, if any.

    `outer` comes from duals, so it holds for every possible table; `attained` from tables of the certificate.
    """

    outer: tuple[int, int]
    attained: tuple[int, int] | None


def check_verdicts(
    system: System,
    stated: IntervalCertificate,
    by_role: Mapping[str, tuple[PublishedTable, ...]],
    evidence: Mapping[int, ShownRange],
) -> None:
    """Raise a fault unless the rule is ours, the counts are right, and every cell called safe is shown to be.

    `evidence` is by the `id` of a claim.
    """
    verdict = stated.verdict or {}
    if set(verdict) != {"rule", "target", "counts"}:
        raise Fault("its verdict has other keys than rule, target and counts")
    if verdict["rule"] != VERDICT_RULE:
        raise Fault("it states another rule for verdicts")
    for failure in target_failures(verdict.get("target")):
        raise Fault(failure)
    target = Target(**verdict["target"])
    totals = stated_totals(system, (*by_role["table"], *by_role["fact"]))
    limits = target.limits(totals, stated_population(system, by_role["roll"]) or sum(totals), system.options)
    order = {name: rank for rank, name in enumerate(system.options)}
    claims = sorted(stated.claims, key=lambda c: (tuple(c.cell[axis] for axis in stated.target), order[c.option or ""]))
    cells = [claim.cell for claim in claims[:: len(order)]]
    ends = [(claim.lower.value, UNBOUNDED if claim.upper.value is None else claim.upper.value) for claim in claims]
    lower, upper = np.array(ends, dtype=np.int64).reshape(len(cells), len(order), 2).transpose(2, 0, 1)
    people = _people(system, by_role["roll"], stated.target, cells)
    codes = limits.verdicts(lower, upper, people)[:, : len(order)]
    tally = {str(name): int((codes == code).sum()) for code, name in enumerate(VERDICTS)}
    if json.dumps(tally, sort_keys=True) != json.dumps(verdict.get("counts"), sort_keys=True):  # 0.0 is no count
        raise Fault(f"it counts verdicts as {verdict.get('counts')}, they are {tally}")
    shown = [evidence[id(claim)] for claim in claims]
    outer = np.array([entry.outer for entry in shown], dtype=np.int64).reshape(len(cells), len(order), 2)
    attained = np.array([entry.attained or (0, 0) for entry in shown], dtype=np.int64).reshape(outer.shape)
    contained = limits.verdicts(outer[..., 0], outer[..., 1], people)[:, : len(order)] == 0
    # Tables show that a cell is open, never that it is contained: no cell is large enough for that here.
    open_limits = replace(limits, kappa=UNBOUNDED)
    is_open = open_limits.verdicts(attained[..., 0], attained[..., 1], people)[:, : len(order)] == 1
    is_open &= np.array([entry.attained is not None for entry in shown], dtype=bool).reshape(is_open.shape)
    unproved = np.flatnonzero(((codes < 2) & ~contained & ~is_open).ravel()).tolist()
    if unproved:
        claim, code = claims[unproved[0]], int(codes.ravel()[unproved[0]])
        more = f" ({len(unproved) - 1:,} more cells)" if len(unproved) > 1 else ""
        raise Fault(f"{claim_name(claim)}: is called {VERDICTS[code]}, but no proof and no tables show it{more}")


def _people(
    system: System, rolls: Sequence[PublishedTable], axes: tuple[str, ...], cells: Sequence[Mapping[str, str]]
) -> IntArray | None:
    """How many people each cell has, where a roll states it; None where none does, so that only widths are judged."""
    if system.people is not None:
        entries = [(system.cell(profile), people) for profile, people in enumerate(system.people.tolist())]
    else:
        wide = (roll for roll in rolls if set(roll.axes) >= set(axes) and complete_total(roll, system.seen) is not None)
        roll = next(wide, None)
        if roll is None or any(len(group) > 1 for axis in axes for group in roll.groups[roll.axes.index(axis)]):
            return None
        entries = [(roll.cell(row), people) for row, people in enumerate(roll.lower.tolist())]
    sizes = Counter[tuple[str, ...]]()
    for labels, people in entries:
        sizes[tuple(labels[axis] for axis in axes)] += people
    return np.array([sizes[tuple(cell[axis] for axis in axes)] for cell in cells], dtype=np.int64)


SAFE = 2**62
"""Sums below this are exact in 64 bits; larger ones are added in Python's own integers."""


def check(
    stated: IntervalCertificate, tables: Sequence[tuple[str, PublishedTable]], unchecked: tuple[str, ...] = ()
) -> Verification:
    """Check every claim of a certificate against its files, each read and with its role.

    The system is built anew from the files, and its shape must be the one that the certificate states: else numbers of
    rows and variables would mean something else. `unchecked` are notes of the reader about what was not looked at; they
    are passed on. The result lists failures, and holds only without any. Every end is checked, so that all failures are
    known.
    """
    by_role = {role: tuple(table for stated_role, table in tables if stated_role == role) for role in ROLES}
    # How far totals are apart follows from the files; a larger slack would make every interval wider than it is.
    slack = measured_slack(by_role["table"], 1.0)
    system = build_system(by_role["table"], Onlooker("public", by_role["roll"], by_role["fact"]), slack)
    shape = (system.axes, system.categories, system.options, len(system.lower), system.size)
    tallies = dict.fromkeys(("proved", "outer", "search", "unlimited"), 0)
    failures: list[str] = []
    try:
        if stated.slack != slack:
            raise Fault(f"it takes counts to be off by up to {stated.slack:,} (slack); the files say {slack:,}")
        if not stated.target and system.axes:
            raise Fault("its target names no axis, so it is about the total only and no cell is checked")
        if shape != (stated.axes, stated.categories, stated.options, stated.rows, stated.variables):
            raise Fault("the files have other axes, categories, options or rows than it says")
        checker = Checker(system, stated)
        evidence = {}
        for name, claim, target in checker.claims():
            evidence[id(claim)] = checker.evidence(target, claim)
            for upwards, end in ((False, claim.lower), (True, claim.upper)):
                try:
                    tallies[checker.end(target, end, upwards)] += 1
                except Fault as fault:
                    failures.append(f"{name}: {'upper' if upwards else 'lower'} end: {fault}")
        if not failures and stated.verdict is not None:
            check_verdicts(system, stated, by_role, evidence)
    except Fault as fault:
        failures.append(str(fault))
    return Verification(
        kind=KIND,
        files=len(tables),
        cells=len(stated.claims),
        tables=len(stated.tables),
        slack=slack,
        failures=tuple(failures),
        unchecked=(*unchecked, *_silent(stated)),
        proved=tallies["proved"],
        outer=tallies["outer"],
        search=tallies["search"],
        unlimited=tallies["unlimited"],
    )


def _silent(stated: IntervalCertificate) -> list[str]:
    """What a certificate could have stated, and does not: cells of further axes, and verdicts."""
    others = [axis for axis in stated.axes if axis not in stated.target]
    notes = (
        [f"cells by {', '.join(others)}: its claims are about cells by {', '.join(stated.target)}."] if others else []
    )
    return notes if stated.verdict is not None else [*notes, "verdicts: the certificate states none."]


@dataclass(frozen=True)
class Functional:
    """`offset + sign * (sum of x at places)`: the count of one option in one cell.

    For the option that the others leave, `offset` are the people of the cell and `sign` is -1; else they are 0 and 1.
    """

    places: IntArray
    offset: int
    sign: int


class Checker:
    """The rows of the files, the tables of the certificate, and the arithmetic.

    `free_to_grow` marks variables that no row limits from above: only sums with one of these may claim to be unlimited.
    """

    def __init__(self, system: System, stated: IntervalCertificate) -> None:
        self.system, self.stated, self.rows = system, stated, system.rows
        self.tables = [self._table(number, dict(table)) for number, table in enumerate(stated.tables)]
        limited = (system.upper < UNBOUNDED).astype(np.int64)
        self.free_to_grow = (self.rows.T @ limited == 0) & (system.high >= UNBOUNDED)
        self.people = np.zeros(len(system.codes), dtype=np.int64) if system.people is None else system.people
        ends = (system.upper[system.upper < UNBOUNDED], system.lower, system.high[system.high < UNBOUNDED], self.people)
        self.reach = sum(int(values.sum()) for values in ends) + 1

    def _table(self, number: int, table: Mapping[int, int]) -> IntArray:
        """A table as a vector, checked by addition."""
        if max(table, default=0) >= self.system.size or sum(table.values()) >= UNBOUNDED:
            raise Fault(f"table {number} counts what does not exist")
        counts = np.zeros(self.system.size, dtype=np.int64)
        counts[list(table)] = list(table.values())
        if not self.system.admits(counts):
            raise Fault(f"table {number} contradicts the files")
        return counts

    def claims(self) -> Iterator[tuple[str, Claim, Functional]]:
        """Every claim with its name and its functional; all cells and options must be there, once."""
        system, axes = self.system, self.stated.target
        if len(set(axes)) < len(axes) or not set(axes) <= set(system.axes):
            raise Fault("it is about axes that the files do not have")
        columns = [system.axes.index(axis) for axis in axes]
        profiles: dict[tuple[int, ...], list[int]] = {}
        for profile, codes in enumerate(system.codes[:, columns].tolist()):
            profiles.setdefault(tuple(codes), []).append(profile)
        missing = {(cell, option) for cell in profiles for option in system.options}
        codes_of = [{name: code for code, name in enumerate(system.categories[column])} for column in columns]
        for claim in self.stated.claims:
            name = claim_name(claim)
            cell = tuple(codes_of[a].get(claim.cell.get(axis, ""), -1) for a, axis in enumerate(axes))
            option = claim.option if system.options != ("",) else "" if claim.option is None else None
            if len(claim.cell) != len(axes) or (cell, option) not in missing or option is None:
                raise Fault(f"{name}: there is no such cell, or it is claimed twice")
            missing.discard((cell, option))
            yield name, claim, self._functional(np.array(profiles[cell]), system.options.index(option))
        if missing:
            cell, option = min(missing)
            names = [system.categories[c][code] for c, code in zip(columns, cell, strict=True)]
            raise Fault(f"{', '.join([*names, option]).strip(', ') or 'everybody'}: nothing is claimed about this cell")

    def _functional(self, profiles: IntArray, option: int) -> Functional:
        """The count of one option in some profiles; the reference option is the people less all others."""
        system = self.system
        if option < system.n_free_options and not (system.reference and option == len(system.options) - 1):
            return Functional(profiles * system.n_free_options + option, 0, 1)
        places = (profiles[:, None] * system.n_free_options + np.arange(system.n_free_options)).ravel()
        return Functional(places, int(self.people[profiles].sum()), -1)

    def evidence(self, target: Functional, claim: Claim) -> ShownRange:
        """What proofs and all tables together show of one count, if the proofs are right."""
        values = [target.offset + target.sign * int(table[target.places].sum()) for table in self.tables]
        lower, upper = claim.lower.outer, claim.upper.outer
        if claim.upper.value is None:
            values.append(UNBOUNDED)
        attained = (min(values), max(values)) if values else None
        return ShownRange((0 if lower is None else lower, UNBOUNDED if upper is None else upper), attained)

    def end(self, target: Functional, end: End, upwards: bool) -> str:
        """How well one end is shown; a fault if its proof is wrong.

        `proved` if the dual's limit and a witness meet at the value, `outer` if only the limit is shown, `search` if a
        gap is left between them, `unlimited` if no file limits the count.
        """
        if end.value is None:
            if not upwards or target.sign < 0 or not self.free_to_grow[target.places].any():
                raise Fault("is not without limit")
            return "unlimited"
        if end.witness is not None:
            self._check_witness(target, end.witness, end.value)
        if end.outer is None or end.dual is None:
            raise Fault("has no proof")
        if end.shown_by == SEARCH and end.witness is None:
            raise Fault(f"has no proof: {end.value:,} is claimed, and neither a limit nor a table shows it")
        limit = self.limit(target.places, target.sign if upwards else -target.sign, end.dual)
        shown = target.offset + limit if upwards else target.offset - limit
        if shown > end.outer if upwards else shown < end.outer:
            raise Fault(f"{end.outer:,} is claimed, {shown:,} is what its proof gives")
        if end.outer < end.value if upwards else end.outer > end.value:
            raise Fault(f"{end.value:,} is claimed beyond {end.outer:,}")
        return "search" if end.shown_by == SEARCH else "outer" if end.witness is None else "proved"

    def _check_witness(self, target: Functional, number: int, value: int) -> None:
        """Raise unless a table of the certificate has exactly the claimed value."""
        if number >= len(self.tables):
            raise Fault(f"there is no table {number}")
        attained = target.offset + target.sign * int(self.tables[number][target.places].sum())
        if attained != value:
            raise Fault(f"{value:,} is claimed, table {number} has {attained:,}")

    def limit(self, places: IntArray, way: int, dual: Dual) -> int:
        """The whole number that `way * sum(x[places])` cannot exceed, by the multipliers of `dual`: weak duality, by
        addition.

        Faults: a multiplier of an end that its row does not have, a negative one of people, or a variable without a
        ceiling that keeps a positive rest. Each would make the limit meaningless.
        """
        system, times = self.system, dual.denominator
        size = times + sum(abs(n) for n in dual.rows.values()) + sum(abs(n) for n in dual.people.values())
        # Python integers where 64 bits might not do: a checker must not overflow, however odd the multipliers are.
        kind = np.int64 if size * self.reach < SAFE else object
        rest = np.zeros(system.size, dtype=kind)
        rest[places] = way * times
        value = 0
        for row, number in dual.rows.items():
            if row >= len(system.lower) or (number > 0 and system.upper[row] >= UNBOUNDED):
                raise Fault(f"its proof uses a limit that row {row} does not have")
            value += number * int(system.upper[row] if number > 0 else system.lower[row])
            inside = slice(self.rows.indptr[row], self.rows.indptr[row + 1])
            rest[self.rows.indices[inside]] -= number * self.rows.data[inside].astype(kind)
        for profile, number in dual.people.items():
            if system.people is None or profile >= len(system.people) or number < 0:
                raise Fault(f"its proof uses people of profile {profile} in a way that is not allowed")
            value += number * int(system.people[profile])
            rest[profile * system.n_free_options : (profile + 1) * system.n_free_options] -= number
        above = rest > 0
        if (system.high[above] >= UNBOUNDED).any():
            raise Fault("its proof leaves a count without limit")
        ends = np.where(above, system.high, system.low).astype(kind)
        used = np.flatnonzero(rest)
        # Weak duality, by addition: any multipliers give a valid limit, good ones a sharp one.
        return int(value + int((rest[used] * ends[used]).sum())) // times

"""Whether tables are safe together, against what every onlooker knows: the joint roll, sizes alone, or own facts.

Objects
    onlooker    who reads the release: with a roll (joint, or sizes of groups), facts, and earlier releases
    reading     a way to reconcile sealed totals that disagree (`readings.py`); without disagreement the table itself
    proof       from `bounds.certify`: exposed cells, undecided cells, and the witnesses that clear the others

Statements
    joint       for somebody with the joint roll, the possible tables are those of a system with caps; `certify` decides
    sizes       without a joint roll every option is free by itself, so the ends of the count of a cell are those of
                Frechet, and the share reaches from its least beside the most of the others to its most beside their
                least; both ends are attained (`certify_by_sizes`)
    facts       what the total, the roll and the facts disclose by themselves is no fault of the release, as long as the
                release leaves the same interval (`without_known`)

Invariants
    * A release must be safe against every onlooker and in every reading: the first proof that fails is returned.
    * The certificate states the weakest of all proofs.
    * Integers decide. Cells that only fractional tables clear are few (`FEW`) and counted in the certificate.
    * Time may end the choice of further tables (`SafetyOracle.is_late`), never a proof.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from safemargin.bounds import (
    Exposed,
    Proof,
    System,
    build_system,
    certify,
    certify_pooled,
    certify_with_earlier,
    infer,
    propagate,
    settle,
    targets_of,
)
from safemargin.core import (
    JOINER,
    BoolArray,
    ContradictionError,
    IntArray,
    Limits,
    Onlooker,
    Progress,
    PublishedTable,
    Table,
    as_published,
    label,
    no_progress,
    onlooker_with_roll,
    protected_margin,
)
from safemargin.release.decide.readings import readings, shown_counts, shown_groups
from safemargin.release.decide.search import Choice, Margin, within
from safemargin.release.rule.candidates import Candidate, join
from safemargin.release.rule.split import AxisPartition, population, slack_of

READINGS = "readings of totals that disagree"
"""What the certificate calls the number of ways in which sealed totals were reconciled."""


def prove_counts(
    table: Table,
    candidate: Candidate,
    onlookers: Sequence[Onlooker],
    limits: Limits,
    progress: Progress = no_progress,
) -> Proof:
    """Whether the candidate is safe against every onlooker: the first proof that fails, or the one that says most.

    Where sealed totals disagree, it must be safe however they are read: disagreement never makes anything safe.
    """
    best = Proof((), {})
    count = 0
    for reading in readings(table, candidate.splits):
        if isinstance(reading, Exposed):
            return replace(best, undecided=1, doubtful=(reading,))
        count += 1
        strict = limits if count == 1 else replace(limits, hypothetical=True)
        try:
            proof = _prove_reading(reading, candidate, onlookers, strict, slack_of(table), progress)
        except ContradictionError:  # no table at all: some flow cannot be where this reading has it
            if not slack_of(table):
                raise
            doubt = Exposed({}, 0, population(table), 0, population(table))
            return replace(best, undecided=1, doubtful=(doubt,))
        if proof.exposed or proof.undecided:
            return proof
        best = proof if count == 1 else replace(best, linear=max(best.linear, proof.linear))
    return replace(best, checked=best.checked | {READINGS: count}) if count > 1 else best


def _prove_reading(
    table: Table,
    candidate: Candidate,
    onlookers: Sequence[Onlooker],
    limits: Limits,
    slack: int,
    progress: Progress,
) -> Proof:
    """The proof of one reading against every onlooker: the first that fails, or the weakest that holds.

    The total alone adds nothing to itself: what it discloses is listed as known before.
    """
    tables = candidate.tables(table)
    best = Proof((), {})
    for onlooker in onlookers:
        if onlooker.composition(table.schema.names) == "joint":
            # The caps `0 <= T[e] <= N[e]` of a known roll are in the system; the closed forms of the paper ignore them.
            system = build_system(tables, onlooker)
            if any(split.flagged for split in candidate.splits):
                proof = certify_pooled(system, tables, onlooker, limits, progress)
            else:
                proof = certify(system, limits, progress)
            if len(tables) == 1:  # the total alone adds nothing to itself
                proof = Proof((), proof.checked, tables=proof.tables, before=proof.exposed)
            elif proof.exposed and onlooker.facts:
                proof = without_known(proof, system, tables[0], onlooker, limits)
        else:
            proof = certify_by_sizes(table, candidate.splits, limits)
        # Earlier releases only narrow what is possible, so a candidate that fails alone need not be tested with them.
        if onlooker.past is not None and proof.holds:
            proof = join(proof, certify_with_earlier(tables, onlooker.past, limits, slack, progress=progress))
        if proof.exposed or proof.undecided:
            return proof
        # The certificate states the weakest proof: most cells by fractional tables only, then most cells.
        if (proof.linear, sum(proof.checked.values())) >= (best.linear, sum(best.checked.values())):
            best = proof
    return best


SMALL = 1_000
"""Profiles up to which every test counts as one; beyond, those that closed forms decide are brief."""
BRIEF = 0.1
SECONDS = 900.0
"""After which no test is begun."""
FEW = 1_000
"""One of so many cells may be proved by a fractional table only; the certificate says how many are."""


class SafetyOracle:
    """Tests choices of margins on top of tables that are published anyhow, against every onlooker.

    More tables only narrow what is possible. So what discloses an answer does so with more (`exposed`), and what is
    safe stays safe with less. There is one exception, with a tau above 0: an interval no wider than tau that reaches
    beyond the limits counts as disclosed, and may come to lie within them when it narrows. Such a choice (`narrow`)
    rules out nothing but itself, and one that no test decided (`loose`) nothing at all. A choice that discloses
    an answer only beside earlier releases is narrow too: a further table may show that people changed their answers.
    """

    def __init__(
        self,
        table: Table,
        base: Sequence[PublishedTable],
        margins: Sequence[Margin],
        onlookers: Sequence[Onlooker],
        limits: Limits,
        linear: int = 0,
        report: Callable[[Choice], None] = lambda choice: None,
    ) -> None:
        self.table, self.base, self.margins = table, tuple(base), tuple(margins)
        self.onlookers, self.limits, self.linear = tuple(onlookers), limits, linear
        self.safe: list[Choice] = []
        self.exposed: list[Choice] = []
        self.narrow: list[Choice] = []
        self.loose: list[Choice] = []
        self.proofs: dict[Choice, Proof] = {}
        self.report, self.started, self.spent = report, time.monotonic(), 0.0

    def tables(self, choice: Choice) -> tuple[PublishedTable, ...]:
        """What a choice publishes."""
        chosen = [margin.versions[level - 1] for margin, level in zip(self.margins, choice, strict=True) if level]
        return (*self.base, *(version.table(self.table) for version in chosen))

    def is_safe(self, choice: Choice) -> bool:
        """Whether a choice is proved safe: no cell disclosed, none undecided, few by fractional tables only.

        Asks what is known of smaller and larger choices first; else a test is made, and its result is sorted into
        `safe`, `exposed`, `narrow` or `loose`. A choice that no test decides counts as unsafe.
        """
        # Problem 1 of the paper is downward closed only for tau = 0 (see the class): else only the very choice counts.
        if choice in self.safe or (self.limits.tau == 0 and any(within(choice, known) for known in self.safe)):
            return True
        if choice in self.narrow or choice in self.loose or any(within(known, choice) for known in self.exposed):
            return False
        proof = self.proof(choice)
        if self.holds(proof):
            self.safe.append(choice)
            return True
        # Only what stays disclosed with further tables may rule out larger choices; anything else would make the
        # bound of the search too low.
        if any(map(self._persists, proof.exposed)):
            self.exposed.append(choice)
        else:
            (self.narrow if proof.exposed else self.loose).append(choice)
        return False

    def reason(self, choice: Choice, index: int) -> Proof | None:
        """A test that was made and says why a choice is not safe, because of the margin at this index; or none."""
        made = [known for known in self.exposed if known[index] and within(known, choice)]
        if made:
            return self.proofs[min(made, key=sum)]
        return self.proofs.get(choice)

    def is_exposed(self, choice: Choice) -> bool:
        """Whether a test that was made proves that a choice discloses an answer."""
        return any(within(known, choice) for known in self.exposed)

    def proof(self, choice: Choice) -> Proof:
        """The test of a choice."""
        if choice not in self.proofs:
            self.report(choice)
            proof = self.proofs[choice] = self.prove(self.tables(choice))
            self.spent += 1.0 if self.is_small or proof.tables else BRIEF
        return self.proofs[choice]

    @property
    def is_small(self) -> bool:
        """Whether the population is so small that programs decide what nothing else does."""
        return len(self.table.people(self.table.schema.names).codes) <= SMALL

    @property
    def is_late(self) -> bool:
        """Whether testing has taken so long that no other test is begun."""
        return time.monotonic() - self.started > SECONDS

    def screen(self, choice: Choice) -> bool:
        """Whether closed forms already prove that a choice discloses an answer, whatever else is published."""
        if self.is_exposed(choice):
            return True
        proof = self.prove(self.tables(choice), quick=True)
        if not any(map(self._persists, proof.exposed)):
            return False
        self.proofs[choice] = proof
        self.exposed.append(choice)
        self.spent += BRIEF
        return True

    def prove(self, tables: tuple[PublishedTable, ...], quick: bool = False) -> Proof:
        """The test of some tables against every onlooker: the first that fails, or the one that says most.

        Somebody without the joint roll gets a test of their own for cells that are known to within tau, and
        is covered by the proof for the joint roll otherwise: who knows more learns no less.
        """
        slack = slack_of(self.table)
        best = Proof((), {})
        for onlooker in self.onlookers:
            watching = onlooker
            if onlooker.composition(self.table.schema.names) != "joint":
                if exposed := self._exposed_without_roll(tables, onlooker):
                    return Proof(exposed, {})
                # Who knows more learns no less: the proof for a joint roll covers somebody without one.
                watching = replace(onlooker, roll=onlooker_with_roll(self.table, "joint").roll)
            system = build_system(tables, watching, slack)
            proof = certify(system, self.limits, quick=quick, most_linear=max(self.linear, system.size // FEW))
            if proof.exposed and onlooker.facts and not quick:
                proof = without_known(proof, system, tables[0], watching, self.limits)
            if onlooker.past is not None and not proof.exposed and (quick or self.holds(proof)):
                proof = join(proof, certify_with_earlier(tables, onlooker.past, self.limits, slack, quick))
            if not self.holds(proof):
                return proof
            if (proof.linear, sum(proof.checked.values())) >= (best.linear, sum(best.checked.values())):
                best = proof
        return best

    def _persists(self, exposed: Exposed) -> bool:
        """Whether a cell stays disclosed, whatever else is published."""
        people = np.array([exposed.people])
        least, most = self.limits.least(people)[0, exposed.option], self.limits.most(people)[0, exposed.option]
        outside = bool(exposed.upper < least or exposed.lower > most)
        return not exposed.earlier and (outside or exposed.lower == exposed.upper or exposed.people < self.limits.kappa)

    def holds(self, proof: Proof) -> bool:
        """Whether a proof says enough to publish."""
        # A fractional table proves less than an integer one: few cells may rest on these only.
        cells = proof.checked.get("joint cells", 0) + proof.checked.get("cells of fewer axes", 0)
        return proof.holds and proof.linear <= max(self.linear, cells // FEW)

    def _exposed_without_roll(self, tables: tuple[PublishedTable, ...], onlooker: Onlooker) -> tuple[Exposed, ...]:
        """Cells that are known to within tau to somebody who does not know how many people are in them."""
        exposure = infer(tables, onlooker, sharp=None, enough=self.limits.tau)
        whole = [table for table in tables if set(table.axes) == set(exposure.cells.axes)]
        if any(all(len(group) == 1 for groups in table.groups for group in groups) for table in whole):
            return ()  # each cell is printed by itself, and regular
        exposed = []
        for row, option in np.argwhere(exposure.width <= self.limits.tau).tolist():
            lower, upper = int(exposure.lower[row, option]), int(exposure.upper[row, option])
            people = upper if exposure.people is None else int(exposure.people[row])
            exposed.append(Exposed(exposure.cells.cell(row), option, people, lower, upper))
        return tuple(exposed)


MOST_CROSSED = 200_000
"""Combinations of groups of three axes or more that are looked at one by one."""


def certify_by_sizes(table: Table, splits: Sequence[AxisPartition], limits: Limits) -> Proof:
    """The certificate against somebody who knows the sizes of groups at most, not who is in two of them.

    Each axis by itself is a system with a known roll. Of a cell of several axes the number of people is unknown, and
    the answers of each option are any table with the published sums: every option is free by itself. So the ends of
    the count of an option are those of Frechet, and the share reaches from its least beside the most of the others to
    its most beside their least. Both are attained.
    """
    published = [split for split in splits if split.is_published]
    total = as_published(table.margin(()), table.schema, "total")
    exposed: list[Exposed] = []
    checked, linear, undecided = 0, 0, 0
    for split in published:
        roll = as_published(table.people((split.axis.name,)), table.schema, "roll", roll=True)
        shown = protected_margin(table, split.axis.name, split.groups, split.flagged)
        proof = certify(build_system((total, shown), Onlooker(roll=(roll,))), limits)
        exposed += proof.exposed
        checked += proof.checked["joint cells"]
        linear, undecided = linear + proof.linear, undecided + proof.undecided
    for count in range(2, len(published) + 1):
        for chosen in combinations(published, count):
            sizes = [len(shown_groups(split)) for split in chosen]
            if count > 2 and checked + int(np.prod(sizes)) > MOST_CROSSED:
                continue  # the certificate states how many combinations were looked at
            exposed += _crossed(table, chosen, limits)
            checked += int(np.prod(sizes))
    return Proof(tuple(exposed), {"groups and combinations": checked}, linear, undecided)


def _crossed(table: Table, splits: Sequence[AxisPartition], limits: Limits) -> list[Exposed]:
    """Cells of several axes whose count is known to within tau, or whose share lies outside the limits.

    Ends of Frechet per option (most: the least of the sums; least: the sum of the surpluses over the total), all cells
    of a crossing at once. A count that may be 0 and is small anyhow discloses nothing by being narrow, unless 0 is
    below a floor.
    """
    totals = table.totals
    silent = int(table.people(()).counts.sum()) - int(totals.sum())
    everybody = np.append(totals, silent)  # those without a listed answer last
    shape = [len(shown_groups(split)) for split in splits]
    most = np.broadcast_to(everybody, (*shape, len(everybody)))
    surplus = np.zeros((*shape, len(everybody)), dtype=np.int64)
    for place, split in enumerate(splits):
        rows = shown_counts(table, split)
        rows = rows.reshape([-1 if axis == place else 1 for axis in range(len(splits))] + [len(everybody)])
        most = np.minimum(most, rows)
        surplus = surplus + everybody - rows
    least = np.maximum(everybody - surplus, 0)
    # Every option is free by itself, so the ends of a set of options are sums of theirs.
    ends, columns = (least[..., :-1], most[..., :-1]), (*shape, len(limits.floors))
    every_least, every_most = least.sum(axis=-1, keepdims=True), most.sum(axis=-1, keepdims=True)
    least, most = (np.broadcast_to(limits.columns(end), columns) for end in ends)
    others_least, others_most = every_least - least, every_most - most
    bad = (most - least <= limits.tau) & (limits.has_floor | (least >= 1))
    for option, (floor, ceiling) in enumerate(zip(limits.floors, limits.ceilings, strict=True)):
        up, down, rest_up, rest_down = (a[..., option] for a in (most, least, others_most, others_least))
        bad[..., option] |= _below(up, rest_down, floor) | _below(rest_up, down, 1 - ceiling)
    bad &= ~np.array(limits.unchosen) & (every_most > 0)
    exposed = []
    for *cell, option in np.argwhere(bad).tolist():
        names = {
            s.axis.name: label(shown_groups(s)[code], s.axis.categories) for s, code in zip(splits, cell, strict=True)
        }
        people, name = int(every_most[tuple(cell)][0]), ("",) * limits.options + limits.names
        exposed.append(
            Exposed(names, option, people, int(least[*cell, option]), int(most[*cell, option]), secret=name[option])
        )
    return exposed


def _below(count: IntArray, others: IntArray, share: Fraction) -> BoolArray:
    """Where `count` is less than `share` of itself and the others, without rounding.

    One of ten is not below a tenth; one of twenty-one is:

    >>> _below(np.array([1, 1]), np.array([9, 20]), Fraction(1, 10)).tolist()
    [False, True]
    """
    return np.asarray(count * (share.denominator - share.numerator) < share.numerator * others)


def without_known(proof: Proof, system: System, total: PublishedTable, onlooker: Onlooker, limits: Limits) -> Proof:
    """The proof of a release without what was known before: cells that it narrows count, others do not.

    Section 9 of the release specification: what the total, the roll and the facts of the onlooker disclose by
    themselves is no fault of the release, as long as the release leaves the same interval.
    """
    before = build_system((total,), onlooker)
    excused: list[tuple[BoolArray, BoolArray]] = []
    cells: list[Exposed] = []
    while proof.exposed:
        fresh = [cell for cell in proof.exposed if not _is_unchanged(cell, system, before, limits)]
        if fresh:
            return replace(proof, exposed=tuple(fresh))
        for cell in proof.exposed:
            options = np.arange(len(limits.floors)) == cell.option
            excused.append((_members(cell, system), options))
        cells += proof.exposed
        # Deciding stops at the first cells that closed forms disclose, so the others are looked at again.
        proof = certify(system, limits, excused=excused)
    return replace(proof, before=tuple(cells))


def _members(cell: Exposed, system: System) -> BoolArray:
    """The profiles of a cell, given by labels; a merged label stands for its categories."""
    inside = np.ones(len(system.codes), dtype=bool)
    for axis, names in cell.cell.items():
        column = system.axes.index(axis)
        chosen = {*names.split(JOINER), names}
        inside &= np.array([name in chosen for name in system.categories[column]])[system.codes[:, column]]
    return inside


def _is_unchanged(cell: Exposed, system: System, before: System, limits: Limits) -> bool:
    """Whether a cell was disclosed before, and integer tables of the release attain both ends of its interval then."""
    least, most = before.listed_ends(*propagate(before))
    inside = _members(cell, before)
    if cell.option >= len(system.options):  # a set of options: what is not shown to be unchanged counts
        return False
    if least[inside, cell.option].sum() == most[inside, cell.option].sum():
        return True  # it was known exactly: there is nothing to narrow
    ends = []
    for either in (before, system):
        cell_of = (~_members(cell, either)).astype(np.int64)
        settled = settle(either, targets_of(either, cell_of, 2))
        option = cell.option
        ends.append((int(settled.lower[option]), int(settled.upper[option]), bool(settled.integer[option])))
    (lower, upper, _), (lower_now, upper_now, attained) = ends
    if not attained or (lower, upper) != (lower_now, upper_now):
        return False
    low, high = np.zeros((1, len(system.options)), dtype=np.int64), np.full((1, len(system.options)), cell.people)
    low[0, cell.option], high[0, cell.option] = lower, upper
    return bool(limits.verdicts(low, high, np.array([cell.people]))[0, cell.option] == 2)

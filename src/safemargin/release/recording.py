"""What a release owes to earlier ones: their certificates hold still, and it is recorded beside them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from safemargin.bounds import build_system, certify, certify_with_earlier, totals_of
from safemargin.core import (
    COMPOSITIONS,
    Earlier,
    Histories,
    InputError,
    Onlooker,
    Past,
    Profile,
    Publication,
    Table,
    Target,
    net_histories,
    onlooker_with_roll,
    roll_margin,
)
from safemargin.history.chain import Chain
from safemargin.history.entries import Entry, Person, budget, recommended_kappa, roll_of, same_wave
from safemargin.release.plan import Plan
from safemargin.release.project import LedgerSection, Project
from safemargin.release.rule.split import slack_of
from safemargin.ui import Document


@dataclass(frozen=True)
class LedgerContext:
    """The ledger before a release: earlier releases about its population, and its people under their own names."""

    section: LedgerSection
    chain: Chain
    entries: tuple[Entry, ...] = ()
    members: Mapping[Person, Profile] | None = None
    target: Target = Target()
    weaker: tuple[str, ...] = ()
    """In which way the target is weaker than earlier ones; the reason is `section.weaker`."""
    notes: tuple[str, ...] = ()
    """Which other populations of the ledger may hold the same people."""
    seen: int = 0
    """How many releases about the population there were, of whatever question."""

    @property
    def tied(self) -> tuple[Entry, ...]:
        """The earlier releases of the same answers, which are held together with the present one."""
        return same_wave(self.entries, self.section.answers or "")

    @property
    def apart(self) -> tuple[str, ...]:
        """The cycles of earlier releases of other answers: people were asked again since."""
        return tuple(entry.cycle for entry in self.entries[: len(self.entries) - len(self.tied)])


def held_to_earlier(
    plan: Plan, publication: Publication, table: Table, onlookers: Sequence[Onlooker], book: LedgerContext
) -> Plan:
    """A plan under a weaker target, certified only if the certificates of earlier releases hold still beside it."""
    plan = replace(plan, notes=(*plan.notes, f"The target is weaker: {book.weaker[0]}. Reason: {book.section.weaker}."))
    slack = slack_of(table)
    for onlooker in onlookers:
        for entry in book.tied if onlooker.past is not None else ():
            totals = totals_of(entry.tables, entry.options)
            assert totals is not None and onlooker.past is not None
            limits = entry.target.limits(totals.tolist(), entry.people, entry.options)
            joint = replace(onlooker, roll=onlooker_with_roll(table, "joint").roll)
            alone = certify(build_system(publication.tables, joint, slack), limits)
            proofs = alone, certify_with_earlier(publication.tables, onlooker.past, limits, slack)
            for cell in (cell for proof in proofs if not proof.holds for cell in (*proof.exposed, *proof.doubtful)):
                where = ", ".join(f"{axis} {value}" for axis, value in cell.cell.items())
                statement = (
                    f"The certificate of {entry.cycle} would not hold beside this release, whose target is weaker, for "
                    f"the {cell.people:,} people with {where}."
                )
                return replace(plan, certificate=replace(plan.certificate, certified=False, statement=statement))
    return plan


def entry_of_release(
    project: Project, table: Table, book: LedgerContext, publication: Publication, manifest: str
) -> Entry:
    """A release as the ledger keeps it."""
    # Somebody may know less than the onlookers of later releases do: what is known most is kept.
    known = max((section.composition for section in project.onlookers), key=COMPOSITIONS.index)
    return Entry(
        population=book.section.population,
        cycle=book.section.cycle,
        title=project.title,
        target=publication.target,
        axes={axis.name: axis.categories for axis in table.schema.axes},
        options=table.schema.options,
        people=int(table.people(()).counts.sum()),
        answered=int(table.totals.sum()),
        manifest=manifest,
        tables=publication.tables,
        rolls=roll_of(table, known),
        members=book.members or {},
        slack=slack_of(table),
        epsilon=sum(guarantee.epsilon or 0.0 for guarantee in publication.guarantees),
        epsilon_total=book.section.epsilon_total,
        weaker=(book.section.weaker or "") if book.weaker else "",
        answers=book.section.answers or "",
        bands=bands_of(project),
    )


def entry_of_questions(project: Project, everybody: Table, book: LedgerContext, each: Mapping[str, Entry]) -> Entry:
    """A release of several questions as the ledger keeps it; `each` are the entries of its questions."""
    first = next(iter(each.values()))
    known = max((section.composition for section in project.onlookers), key=COMPOSITIONS.index)
    return replace(
        first,
        target=book.target,
        options=(),
        people=int(everybody.people(()).counts.sum()),
        answered=max(entry.answered for entry in each.values()),
        tables=(),
        rolls=roll_of(everybody, known),
        weaker=next((entry.weaker for entry in each.values() if entry.weaker), ""),
        questions=dict(each),
    )


def bands_of(project: Project) -> dict[str, list[str]]:
    """The edges of the axes of a project that are cut from numbers or dates."""
    return {
        name: [str(edge) if isinstance(edge, date) else f"{edge:f}" for edge in edges]
        for name in project.axes
        if (edges := project.coding(name).bands)
    }


def inconsistency_notes(table: Table) -> list[str]:
    """How many people answered sealed elections differently, in words."""
    if not table.inconsistency.totals:
        return []
    apart = []
    if table.inconsistency.apart:
        apart.append("Tables are about those who answered. How many people of each group did is taken as known.")
    delta, low, high = (f"{100 * share:.2g} %" for share in table.inconsistency.estimate)
    return [
        *apart,
        f"Sealed elections: an estimated {delta} of the people ({low} to {high}, with 95 % confidence) answered "
        "another election otherwise than the binding one, or only one of the two.",
    ]


def wave_notes(book: "LedgerContext | None") -> list[str]:
    """That earlier releases are about other answers of the same people, in words."""
    if book is None or not book.apart:
        return []
    cycles = " and ".join(book.apart)
    return [f"People were asked again since {cycles}: nothing is concluded from the answers given then."]


def floor_notes(entries: Sequence[Entry], table: Table, plan: Plan) -> list[str]:
    """That the smallest group became a smaller share of those who answered, in words."""
    answered = int(table.totals.sum())
    kappa = recommended_kappa(entries, answered)
    if not entries or kappa <= plan.target.kappa:
        return []
    fewest = min(entries, key=lambda entry: entry.answered)
    return [
        f"{answered:,} people answered, {fewest.answered:,} in {fewest.cycle}: "
        f"kappa = {kappa} would be as strict as the floor then, target.kappa is {plan.target.kappa}."
    ]


def ledger_document(book: LedgerContext | None, entry: Entry | None) -> Document | None:
    """What the document of a release says about its ledger."""
    if book is None:
        return None
    entries = (*book.entries, *([] if entry is None else [entry]))
    return {
        "file": str(book.section.file),
        "population": book.section.population,
        "cycle": book.section.cycle,
        "recorded": entry is not None,
        "earlier": [earlier.cycle for earlier in book.entries],
        "answers": book.section.answers,
        "budget": budget(entries).document(),
    }


def remember(
    entries: Sequence[Entry],
    axes: tuple[str, ...],
    now: str,
    rolls: Mapping[tuple[str, ...], Mapping[Profile, int]],
    members: Mapping[Person, Profile],
    by_group: bool,
) -> Past | None:
    """Earlier releases as an onlooker who knows `rolls` remembers them; none if there are none.

    People are followed by their identifiers if all cycles have them and the joint roll is known. Otherwise the net
    change of every profile is taken to be all joiners or all leavers. Axes may have been added since: people who
    stayed have the categories of today on them, and for those who left it does not matter.
    """
    known = [entry for entry in entries if entry.rolls]
    if not known:
        return None
    slack = max(entry.slack for entry in known)
    earlier = tuple(Earlier(entry.cycle, entry.tables) for entry in known)
    is_joint = any(set(axes) == set(key) for key in rolls) and all(
        any(set(entry.axes) == set(key) for key in entry.rolls) for entry in known
    )
    if is_joint and members and all(entry.members for entry in known):
        followed = _followed([*(_ordered(entry, axes, members) for entry in known), members])
        return Past(axes, now, earlier, {axes: followed}, by_group, slack)
    wanted = [axes] if is_joint else [(axis,) for axis in axes]
    histories = {
        key: net_histories([*(_earlier_roll(entry, key, rolls) for entry in known), roll_margin(rolls, key)])
        for key in wanted
    }
    return Past(axes, now, earlier, histories, by_group, slack, net=True)


def _earlier_roll(
    entry: Entry, axes: tuple[str, ...], rolls: Mapping[tuple[str, ...], Mapping[Profile, int]]
) -> dict[Profile, int]:
    """The roll of an earlier cycle by axes of today; those that were added since have the categories of today."""
    shared = tuple(axis for axis in axes if axis in entry.axes)
    if shared == axes:
        return roll_margin(entry.rolls, axes)
    before, now = roll_margin(entry.rolls, shared), roll_margin(rolls, axes)
    places = [axes.index(axis) for axis in shared]
    sums: dict[Profile, int] = {}
    for profile, people in now.items():
        key = tuple(profile[column] for column in places)
        sums[key] = sums.get(key, 0) + people
    if (
        any(people > before.get(key, 0) for key, people in sums.items())
        if shared
        else sum(sums.values()) > entry.people
    ):
        added = next(axis for axis in axes if axis not in entry.axes)
        raise InputError(
            f"axes.{added}: is new since {entry.cycle!r}, and people joined: nobody knows which category of it they "
            "are in; name a column that identifies people (ledger.id) in every cycle"
        )
    # Who left is in no table of an added axis: any category serves.
    stayed = dict(now)
    first = {tuple(profile[column] for column in places): profile for profile in reversed(list(now))}
    for key, people in before.items() if shared else [((), entry.people)]:
        if key in first:
            stayed[first[key]] += people - sums[key]
        else:
            stayed[tuple(key[shared.index(axis)] if axis in shared else UNKNOWN for axis in axes)] = people
    return stayed


UNKNOWN = "(unknown)"
"""The category, on an axis that was added since, of somebody who left before."""


def _ordered(entry: Entry, axes: tuple[str, ...], now: Mapping[Person, Profile]) -> dict[Person, Profile]:
    """The members of an entry, with their categories in the order of `axes`."""
    places = {axis: place for place, axis in enumerate(entry.axes)}
    return {
        name: tuple(
            profile[places[axis]] if axis in places else now[name][position] if name in now else UNKNOWN
            for position, axis in enumerate(axes)
        )
        for name, profile in entry.members.items()
    }


def _followed(cycles: Sequence[Mapping[Person, Profile]]) -> Histories:
    everybody = {name for members in cycles for name in members}
    return Counter(tuple(members.get(name) for members in cycles) for name in sorted(everybody))

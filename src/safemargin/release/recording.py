"""What a release owes to earlier ones: their certificates hold still, and it is recorded beside them."""

from collections.abc import Sequence
from dataclasses import replace

from safemargin.bounds import build_system, certify, certify_with_earlier, totals_of
from safemargin.core import COMPOSITIONS, Publication, Table, onlooker_with_roll
from safemargin.release.inputs import Book, Inputs
from safemargin.release.ledger.entries import Entry, budget, recommended_kappa, roll_of
from safemargin.release.plan import Plan
from safemargin.ui import Document


def held_to_earlier(plan: Plan, publication: Publication, inputs: Inputs, book: Book) -> Plan:
    """A plan under a weaker target, certified only if the certificates of earlier releases hold still beside it."""
    plan = replace(plan, notes=(*plan.notes, f"The target is weaker: {book.weaker[0]}. Reason: {book.section.weaker}."))
    for onlooker in inputs.onlookers:
        for entry in book.entries if onlooker.past is not None else ():
            totals = totals_of(entry.tables, entry.options)
            assert totals is not None and onlooker.past is not None
            limits = entry.target.limits(totals.tolist(), entry.people)
            joint = replace(onlooker, roll=onlooker_with_roll(inputs.table, "joint").roll)
            alone = certify(build_system(publication.tables, joint, inputs.slack), limits)
            proofs = alone, certify_with_earlier(publication.tables, onlooker.past, limits, inputs.slack)
            for cell in (cell for proof in proofs if not proof.holds for cell in (*proof.exposed, *proof.doubtful)):
                where = ", ".join(f"{axis} {value}" for axis, value in cell.cell.items())
                statement = (
                    f"The certificate of {entry.cycle} would not hold beside this release, whose target is weaker, for "
                    f"the {cell.people:,} people with {where}."
                )
                return replace(plan, certificate=replace(plan.certificate, certified=False, statement=statement))
    return plan


def entry_of_release(inputs: Inputs, book: Book, publication: Publication, manifest: str) -> Entry:
    """A release as the ledger keeps it."""
    project, table = inputs.project, inputs.table
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
        slack=inputs.slack,
        epsilon=sum(guarantee.epsilon or 0.0 for guarantee in publication.guarantees),
        epsilon_total=book.section.epsilon_total,
        weaker=(book.section.weaker or "") if book.weaker else "",
    )


def inconsistency_notes(table: Table) -> list[str]:
    """How many people answered sealed elections differently, in words."""
    if not table.inconsistency.totals:
        return []
    delta, low, high = (f"{100 * share:.2g} %" for share in table.inconsistency.estimate)
    return [
        f"Sealed elections: an estimated {delta} of the people ({low} to {high}, with 95 % confidence) answered "
        "another election otherwise than the binding one."
    ]


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


def ledger_document(book: Book | None, entry: Entry | None) -> Document | None:
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
        "budget": budget(entries).document(),
    }

"""From what was read to a draft: decide, publish in memory, and attack that."""

from dataclasses import replace

from safemargin.core import (
    Onlooker,
    Progress,
    Publication,
    Table,
)
from safemargin.release.attacks import attack_release
from safemargin.release.decide.decide import decide
from safemargin.release.decide.maximise import maximise, withdraw_margins
from safemargin.release.decide.search import TABLES_STEP
from safemargin.release.draft import Draft
from safemargin.release.explain import explain
from safemargin.release.fields import certificate_fields
from safemargin.release.inputs import Inputs
from safemargin.release.plan import Evidence, Plan
from safemargin.release.posterior import with_posterior
from safemargin.release.publish import publish, roll_file
from safemargin.release.recording import floor_notes, held_to_earlier, inconsistency_notes
from safemargin.release.report.exposed import asked_cells, exposed
from safemargin.release.rerun import rule_of
from safemargin.release.rule.split import slack_of
from safemargin.release.witnesses import witnesses_of
from safemargin.voting.result import result_document, result_privacy, result_section


def draft_of(
    inputs: Inputs, progress: Progress, backwards: bool = True, decided: Plan | None = None, sharp: bool | None = None
) -> Draft:
    """Decide, publish in memory, and attack that; an alternative is not attacked by running the rule `backwards`.

    A plan that was `decided` together with other questions is taken as it is. `sharp` says how well attacks bound.
    """
    project, table, onlookers = inputs.project, inputs.table, inputs.onlookers
    progress("deciding")
    single = decided
    if single is None:
        single = decide(table, inputs.target, onlookers, protect=project.protect, progress=progress)
    notes = [*inputs.notes, *single.notes, *inconsistency_notes(table)]
    if inputs.book is not None:
        notes += floor_notes(inputs.book.entries, table, single)
    single = replace(single, notes=tuple(notes))
    plan = single
    if project.wanted:
        progress(TABLES_STEP)
        plan = maximise(plan, table, project.wanted, onlookers, protect=project.protect, progress=progress)
    progress("attacking")
    plan, publication = with_posterior(plan, publish(plan, table), table, onlookers)
    publication = with_witnesses(publication, plan, table, onlookers[0])
    # Where witnesses show that the rule publishes the same for other answers, running it on every possible table, which
    # only small populations have few of, adds nothing; where they do not, it is the only evidence.
    is_open = backwards and plan.certificate.rule != "rerun"
    rerun = rule_of(table, inputs.target, onlookers, project.protect, project.wanted) if is_open else None
    findings = attack_release(publication, inputs, rerun, sharp)
    if plan.maximum is not None and not all(result.is_safe for result in findings):
        plan = withdraw_margins(single, plan, "an attack on the release with it succeeded")
        # Noise is drawn once: a second draw would let an attack on the first choose among them.
        drawn = {each.axes: each for each in publication.tables if len(each.axes) < 2}
        again = publish(plan, table)
        again = replace(again, tables=tuple(drawn.get(each.axes, each) for each in again.tables))
        plan, publication = with_posterior(plan, again, table, onlookers)
        publication = with_witnesses(publication, plan, table, onlookers[0])
        findings = attack_release(publication, inputs, rerun, sharp)
    if inputs.book is not None and inputs.book.weaker:
        plan = held_to_earlier(plan, publication, table, onlookers, inputs.book)
    if plan.certificate.rule == "rerun":
        shown = {"rerun": "the certificate holds witnesses, and the program publishes the same for each of them"}
        findings = tuple(replace(result, skipped={**result.skipped, **shown}) for result in findings)
    if plan.certificate.certified:
        stated = certificate_fields(publication, plan.certificate, table, onlookers, project.title)["statement"]
        plan = replace(plan, certificate=replace(plan.certificate, statement=stated))
    facts = [fact for onlooker in onlookers for fact in onlooker.facts]
    privacy = result_privacy(table.schema.options, table.totals.tolist(), project.outcome.belief)
    return Draft(
        plan,
        publication,
        findings,
        title=project.title or "Release",
        onlookers=tuple(onlooker.name for onlooker in onlookers),
        orders={axis.name: axis.categories for axis in table.schema.axes},
        outcome=None if privacy is None else result_document(privacy),
        result=None if privacy is None else result_section(privacy),
        exposed=exposed(table, inputs.target, [wanted.axes for wanted in project.wanted]),
        asked_cells=asked_cells(table, project.wanted),
        roll=roll_file(table) if backwards else b"",
        evidence=explain(plan, publication, table, facts) if plan.rejected and backwards else Evidence(),
    )


def with_witnesses(publication: Publication, plan: Plan, table: Table, onlooker: Onlooker) -> Publication:
    """The same with the tables of the proof in the order of what is published, so that attacks need not search for any.

    Nothing is believed of them: whoever attacks adds them up.
    """
    if not plan.tables or slack_of(table):
        return publication
    found = witnesses_of(plan.tables, table.schema, publication.tables, onlooker)
    return replace(publication, witness=found) if found else publication

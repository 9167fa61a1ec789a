"""The witnesses that auditors get with a release: those of its proof, and moves that show every other count."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from safemargin import checker
from safemargin.bounds import WitnessCoverage, build_system, further_tables
from safemargin.core import Onlooker, Publication, Table, merged_margin
from safemargin.release.decide.beyond import range_table
from safemargin.release.decide.possible_tables import only_table
from safemargin.release.plan import Plan
from safemargin.release.project import Project
from safemargin.release.rule.split import slack_of
from safemargin.release.witnesses import (
    EARLIER,
    FACTS,
    NO_ROLL,
    NOISE,
    NOT_FOUND,
    NOT_SHOWN_BY_SETS,
    WitnessBundle,
    changes_between,
    in_order,
    listed_tables,
    rows_in,
)


def carried_by(
    project: Project,
    table: Table,
    onlookers: Sequence[Onlooker],
    plan: Plan,
    publication: Publication,
    fields: Mapping[str, Any],
) -> WitnessBundle | str:
    """The witnesses of a release for its auditors, or why there are none.

    They follow from the release, the roll and the rule (`ExplanationSearch` and `certify` read nothing else, and a test
    has other true answers lead to the same ones). Only where an onlooker holds facts, or knows who came and went, they
    follow from that too, and would disclose it to every auditor who has the roll.
    """
    if plan.guarantees or slack_of(table):
        return NOISE
    if any(onlooker.facts for onlooker in onlookers):
        return FACTS
    if any(onlooker.past is not None for onlooker in onlookers):
        return EARLIER
    if not table.knows_composition or not all(o.composition(table.schema.names) == "joint" for o in onlookers):
        return NO_ROLL
    if int(table.totals.sum()) != int(table.people(()).counts.sum()) or plan.target.secrets.least:
        return NOT_SHOWN_BY_SETS
    roll = table.people(table.schema.names)
    here = roll.counts[:, 0] > 0
    held = in_order(table.schema, roll.codes[here], roll.counts[here])
    tables = plan.tables
    if not tables:
        system = build_system(publication.tables, onlookers[0])
        same = [counts for counts in plan.witness if counts.shape == system.low.shape and system.admits(counts)]
        tables = listed_tables(same or only_table(system), system, table.schema)
    if not tables:
        return NOT_FOUND
    carried = WitnessBundle(
        table.schema, project.protect, project.wanted, held, tables, plan.shared_sums, beyond=plan.beyond
    )
    return _completed(carried, publication, onlookers[0], plan, fields)


def _completed(
    carried: WitnessBundle, publication: Publication, onlooker: Onlooker, plan: Plan, fields: Mapping[str, Any]
) -> WitnessBundle | str:
    """The same with moves that show every count which the tables alone do not."""
    first = Table(carried.schema, carried.tables[:1], (carried.roll,))
    parts = [merged_margin(first, axis, groups) for axis, groups in carried.shared_sums]
    parts += [range_table(each, carried.schema) for each in carried.beyond]
    system = build_system((*publication.tables, *parts), onlooker)
    (question,) = fields["questions"]
    secrets = [
        (
            tuple(question["options"].index(option) for option in secret["options"]),
            Fraction(secret["share"]),
            Fraction(secret["ceiling"]),
        )
        for secret in question["secrets"]
    ]
    if not secrets:  # of one option, nothing is secret, and nothing has to be shown
        return carried
    sets = checker.proved_sets(fields["checked"], carried.schema.names)
    shown = WitnessCoverage(system, publication.tables, sets, secrets, plan.target)
    order = rows_in(carried.schema, carried.roll.codes, system.axes, system.categories, system.codes)
    tables = [table.counts[order][:, : system.n_free_options].ravel() for table in carried.tables]
    moves = []
    for start, counts in further_tables(shown, tables):
        listed = np.empty_like(carried.roll.counts, shape=(len(order), len(carried.schema.options)))
        listed[order] = system.listed(counts)
        moves.append((start, changes_between(carried.tables[start].counts, listed)))
    if shown.count_missing():
        return NOT_FOUND
    return replace(carried, moves=tuple(moves))

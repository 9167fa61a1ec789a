"""Suppressed groups searched as one: the same facts, so the same tables agree with them."""

import numpy as np
import pytest

from cases import town
from safemargin.bounds import build_system, certify, certify_pooled, pooled
from safemargin.core import Table, Target, as_published, label, merged_margin, onlooker_with_roll, protected_margin

TARGET = Target(beta=0.1, kappa=3, tau=1)


@pytest.mark.parametrize("seed", range(12))
def test_the_sum_of_suppressed_groups_is_what_the_total_leaves(seed: int) -> None:
    rng = np.random.default_rng([seed, 4])
    table = town(rng, axes=2, options=2, people=40, covering=True, most_categories=5, most_per_profile=9).table()
    groups = [frozenset([name]) for name in table.schema.axis("p").categories]
    hidden = [group for group in groups if rng.random() < 0.5]
    total, other = as_published(table.margin(()), table.schema, "total"), merged_margin(table, "q", _single(table, "q"))
    tables = (total, protected_margin(table, "p", groups, hidden), other)
    seen = {axis.name: axis.categories for axis in table.schema.axes}
    fewer = pooled(tables, seen)
    assert fewer[0] is total and fewer[-1] is other
    if not hidden:
        assert fewer[1] is tables[1]
    elif len(hidden) == len(groups):  # such a table says nothing that the total does not
        assert len(fewer) == 2
    else:
        whole = frozenset().union(*hidden)
        joined = tuple(dict.fromkeys(whole if group in hidden else group for group in groups))
        exact = merged_margin(table, "p", joined)
        assert [label(group) for group in fewer[1].groups[0]] == [label(group) for group in exact.groups[0]]
        for name in ("codes", "option", "lower", "upper"):
            assert np.array_equal(getattr(fewer[1], name), getattr(exact, name)), name
        assert fewer[1].status == exact.status
    onlooker, limits = onlooker_with_roll(table, "joint"), TARGET.limits(table.totals.tolist(), int(table.totals.sum()))
    system = build_system(tables, onlooker)
    found, plain = certify_pooled(system, tables, onlooker, limits), certify(system, limits)
    assert all(system.admits(counts) for counts in found.tables)
    # Either search may leave a cell undecided; neither may clear a cell that the other proves to be disclosed.
    assert not (found.holds and plain.exposed) and not (plain.holds and found.exposed)
    assert found.checked == plain.checked


def test_tables_that_leave_people_out_are_left_as_they_are() -> None:
    table = town(np.random.default_rng(3), axes=2, options=2, people=30, covering=True, fill=1).table()
    groups = _single(table, "p")
    tables = (
        as_published(table.margin(()), table.schema, "total"),
        protected_margin(table, "p", groups, groups[:1]),
    )
    more = {"p": (*table.schema.axis("p").categories, "elsewhere")}
    assert pooled(tables, more)[1] is tables[1]  # the total counts people that the table does not list
    assert pooled(tables[1:], more)[0] is tables[1]  # no total


def _single(table: Table, axis: str) -> list[frozenset[str]]:
    return [frozenset([name]) for name in table.schema.axis(axis).categories]

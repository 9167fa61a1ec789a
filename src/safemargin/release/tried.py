"""Why much is lost, and remedies that were tried: other questions to the same data, decided like the release itself.

Objects
    cause      something in the project, not in the answers, that makes groups small or alike: an option that stands for
               silence, options that few chose, a few people without a category, an axis of many small categories, more
               axes than people can be spread over
    remedy     one change of the project that removes a cause: silence is not counted, rare options are joined, people
               without a category are skipped, an axis is omitted, or its categories are joined two and two
    kept       what a remedy publishes of the tables that it still asks for: tables, and people in exact groups

A remedy is shown only if it was decided, certified and attacked, and keeps more than the release: of the axes that it
still asks for, more people in exact groups. To omit an axis that is lost anyway is no remedy. It never loosens a limit.
How many are tried is a count of work (`effort`), never a clock: the same data give the same remedies. A report shows
the two that keep most.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from safemargin.core import Axis, IntArray, Schema, Table, Tally, frozen, onlooker_with_roll
from safemargin.release.axes import occupied
from safemargin.release.inputs import Inputs
from safemargin.release.microdata import inhabited
from safemargin.release.rare_options import joined_options, listed_options, rare_joins, rare_words
from safemargin.release.report.alternatives import WORK, effort
from safemargin.release.report.context import ReportContext, TriedRemedy, exact_share, is_wanting, lost_tables
from safemargin.ui import plural

MOST_TRIED = 10
MANY = 6
"""Categories from which on an axis is a cause."""
SHOWN = 2
LABELS = "[data] labels"


def tried_remedies(
    inputs: Inputs, here: ReportContext, attempt: Callable[[Inputs], ReportContext], work: float = WORK
) -> tuple[tuple[str, ...], tuple[TriedRemedy, ...]]:
    """The causes of what is lost, and the remedies that keep most; nothing where little is lost, or no work allowed."""
    table = inputs.table
    if (
        not work
        or not is_wanting(here)
        or inputs.book is not None
        or len(table.votes) > 1
        or not table.knows_composition
    ):
        return (), ()
    if any(onlooker.facts or onlooker.correlations for onlooker in inputs.onlookers):
        return _causes(inputs, here), ()
    better = []
    for words, key, other in islice(_changes(inputs, here), MOST_TRIED):
        if (cost := effort(other.table)) > work:
            continue  # a smaller change further on may still be decided
        work -= cost
        made = attempt(other)
        if made.is_sound:
            names = other.table.schema.names
            published = len(names) - len([name for name in lost_tables(made) if name in names])
            if published and exact_share(made, names) > exact_share(here, names):
                better.append(TriedRemedy(words, key, published, len(names), exact_share(made)))
    better.sort(key=lambda tried: (tried.published < tried.asked, -tried.share * tried.asked))
    joins = [tried for tried in better if tried.key.startswith(LABELS)]  # of two that keep the same, the smaller one
    return _causes(inputs, here), tuple([tried for tried in better if tried not in joins[1:]][:SHOWN])


def _silent(inputs: Inputs) -> str | None:
    """The option that stands for no answer, where it is counted as one."""
    data = inputs.project.data
    if data is None or data.blank is None or data.skips_blank or data.blank not in inputs.table.schema.options:
        return None
    return data.blank


def _unknown(inputs: Inputs, here: ReportContext) -> dict[str, int]:
    """By axis: people without a category, where they are too few to be published and the axis loses something."""
    if inputs.project.data is None:
        return {}
    found: dict[str, int] = {}
    for axis in _suspects(inputs, here):
        code = axis.index.get(inputs.project.axes[axis.name].missing or "", -1)
        roll = inputs.table.people((axis.name,))
        people = int(roll.counts[roll.codes[:, 0] == np.int64(code)].sum())
        found |= {axis.name: people} if 0 < people < inputs.target.kappa else {}
    return found


def _known(inputs: Inputs, names: list[str]) -> Table:
    """The table without people who have no category of these axes."""
    table = inputs.table
    (votes,) = table.votes
    whole = table.people(table.schema.names)
    for name in names:
        gone = table.schema.axis(name).index[inputs.project.axes[name].missing or ""]
        votes, whole = (
            Tally(each.axes, frozen(each.codes[kept], len(each.axes)), frozen(each.counts[kept], each.counts.shape[1]))
            for each in (votes, whole)
            for kept in [each.codes[:, each.axes.index(name)] != gone]
        )
    return inhabited(replace(table, votes=(votes,), roll=(whole,)))


def _toml_key(column: str) -> str:
    """A name as a key of a project file."""
    return column if re.fullmatch(r"[A-Za-z0-9_-]+", column) else json.dumps(column, ensure_ascii=False)


def _suspects(inputs: Inputs, here: ReportContext) -> list[Axis]:
    """Axes that lose something, those with most categories first."""
    losing = {axis for axis, groups in here.axes.items() if axis and any(str(g.action) != "exact" for g in groups)}
    return sorted(
        (axis for axis in inputs.table.schema.axes if axis.name in losing), key=lambda axis: -len(axis.categories)
    )


def _causes(inputs: Inputs, here: ReportContext) -> tuple[str, ...]:
    """What in the project makes groups small or alike, in words."""
    causes = []
    if (silent := _silent(inputs)) is not None:
        causes.append(f"{silent!r} is counted as an answer")
    if inputs.project.data is not None and (rare := rare_words(inputs.table, _silent(inputs))):
        causes.append(rare)
    causes += [f"{plural(count, 'person')} without {axis} in a group" for axis, count in _unknown(inputs, here).items()]
    causes += [
        f"{axis.name} has {plural(len(axis.categories), 'category')}: the more, the smaller its groups"
        for axis in _suspects(inputs, here)[:2]
        if len(axis.categories) >= MANY
    ]
    names = inputs.table.schema.names
    people, profiles = int(inputs.table.people(()).counts.sum()), len(inputs.table.people(names).counts)
    if len(names) > 2 and people < inputs.target.kappa * profiles:
        causes.append(f"{len(names)} axes part {people:,} people into {profiles:,} kinds, {people / profiles:.1f} each")
    return tuple(causes)


def _changes(inputs: Inputs, here: ReportContext) -> Iterator[tuple[str, str, Inputs]]:
    """Remedies to try, the least intrusive first: words, the lines of a project, and what would be decided."""
    if (silent := _silent(inputs)) is not None:
        yield "count only people who answered", '[data] blank = "skip"', _with(inputs, _answered(inputs.table, silent))
    yield from _with_joined_options(inputs)
    if unknown := _unknown(inputs, here):
        data = inputs.project.data
        none = json.dumps(list(data.missing if data is not None else ("",)), ensure_ascii=False)
        listed = ", ".join(f"{_toml_key(inputs.project.column(axis))} = {none}" for axis in unknown)
        words = f"skip {plural(sum(unknown.values()), 'person')} without {' or '.join(unknown)}"
        yield words, f"[data] skip = {{{listed}}}", _with(inputs, _known(inputs, list(unknown)))
    suspects = _suspects(inputs, here)
    for axis in suspects[:2]:
        if len(axis.categories) >= MANY and axis.hierarchy is None:
            joined = _paired(inputs.table, axis)
            lines = f"[axes.{axis.name}] join, or wider bands"
            yield f"join the categories of {axis.name} two and two", lines, _with(inputs, joined)
    axes = inputs.table.schema.axes
    if len(axes) > 2 and (lost_tables(here) or 2 * exact_share(here) < 1):  # perhaps no single column is to blame
        yield from (_only(inputs, count) for count in (2, 1))
    for axis in suspects[:2] if len(axes) > 1 else ():
        yield f"omit {axis.name}", f"without [axes.{axis.name}]", _with(inputs, _without(inputs.table, axis.name))


def _with_joined_options(inputs: Inputs) -> Iterator[tuple[str, str, Inputs]]:
    """Remedies that join options that few chose; none where the project says of one of these what is secret."""
    data = inputs.project.data
    if data is None:
        return
    for groups in rare_joins(inputs.table, _silent(inputs)):
        joined = [(group, name) for group, name in groups if len(group) > 1]
        if any(set(group) & set(inputs.project.target.secrets.named) for group, _ in joined):
            continue
        given = {
            option: [raw for raw, label in data.labels.items() if label == option]
            for group, _ in joined
            for option in group
        }
        lines = [
            f"{_toml_key(raw)} = {json.dumps(name, ensure_ascii=False)}"
            for group, name in joined
            for option in group
            for raw in given[option] or [option]
        ]
        words = " and ".join(f"join {listed_options(group)}" for group, _ in joined)
        yield words, f"{LABELS} = {{{', '.join(lines)}}}", _with(inputs, joined_options(inputs.table, groups))


def _only(inputs: Inputs, count: int) -> tuple[str, str, Inputs]:
    """The remedy that keeps so many axes: those whose smallest category has most people, which the roll says."""
    table = inputs.table
    smallest = {axis.name: int(table.people((axis.name,)).counts.min()) for axis in table.schema.axes}
    kept = sorted(smallest, key=lambda name: -smallest[name])[:count]
    gone = [name for name in smallest if name not in kept]
    for name in gone:
        table = _without(table, name)
    listed = " and ".join(name for name in smallest if name in kept)
    return f"publish {listed} only", f"without {', '.join(f'[axes.{name}]' for name in gone)}", _with(inputs, table)


def _with(inputs: Inputs, table: Table) -> Inputs:
    """The same project about another table; tables of several axes are not asked for."""
    kept = {name: section for name, section in inputs.project.axes.items() if name in table.schema.names}
    aims = inputs.project.aims
    sensitive = {axis: listed for axis, listed in aims.sensitive.items() if axis in kept}
    changed = {
        "axes": kept,
        "tables": type(inputs.project.tables)(),
        "outputs": inputs.project.outputs.model_copy(update={"margins": (), "pairs": None, "order": 1, "weights": {}}),
        "aims": aims.model_copy(update={"sensitive": sensitive}),
    }
    onlookers = tuple(
        replace(
            onlooker_with_roll(table, section.composition, section.name, section.knows_rule),
            posterior=section.posterior,
        )
        for section in inputs.project.onlookers
    )
    return replace(inputs, project=inputs.project.model_copy(update=changed), table=table, onlookers=onlookers)


def _answered(table: Table, silent: str) -> Table:
    """Those who answered: without one option, and the roll without those who chose it."""
    (votes,) = table.votes
    kept = [place for place, option in enumerate(table.schema.options) if option != silent]
    counts = votes.counts[:, kept]
    somebody = counts.any(axis=1)
    answers = Tally(votes.axes, frozen(votes.codes[somebody], len(votes.axes)), frozen(counts[somebody], len(kept)))
    roll = Tally(votes.axes, answers.codes, frozen(answers.counts.sum(axis=1), 1))
    options = tuple(table.schema.options[place] for place in kept)
    return replace(table, schema=replace(table.schema, options=options), votes=(answers,), roll=(roll,))


def _without(table: Table, name: str) -> Table:
    """The table without one axis."""
    axes = tuple(axis for axis in table.schema.axes if axis.name != name)
    names = tuple(axis.name for axis in axes)
    schema = replace(table.schema, axes=axes)
    return replace(table, schema=schema, votes=(table.margin(names),), roll=(table.people(names),))


def _paired(table: Table, axis: Axis) -> Table:
    """The table with the categories of an axis joined two and two: neighbours, or else in the order of their sizes."""
    roll = table.people((axis.name,))
    sizes = np.zeros(len(axis.categories), dtype=np.int64)
    sizes[roll.codes[:, 0]] = roll.counts[:, 0]
    order = np.arange(len(sizes)) if axis.ordered else np.argsort(sizes, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) // 2
    names = [
        " + ".join(axis.categories[code] for code in np.flatnonzero(place == group).tolist())
        for group in range(int(place.max()) + 1)
    ]
    joined = Axis(axis.name, tuple(names), axis.ordered)
    schema = replace(table.schema, axes=tuple(joined if a.name == axis.name else a for a in table.schema.axes))
    (votes,) = table.votes
    whole = table.people(table.schema.names)
    return replace(
        table,
        schema=schema,
        votes=(_recoded(votes, axis.name, place, schema),),
        roll=(_recoded(whole, axis.name, place, schema),),
    )


def _recoded(tally: Tally, name: str, place: IntArray, schema: Schema) -> Tally:
    codes = tally.codes.copy()
    column = tally.axes.index(name)
    codes[:, column] = place[codes[:, column]]
    return occupied(tally.axes, codes, tally.counts, [len(schema.axis(axis).categories) for axis in tally.axes])

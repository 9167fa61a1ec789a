"""The page of a plan: what was counted and what is published, what was tried, and the tables in colours."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from safemargin.core import PublishedTable
from safemargin.release.plan import Action
from safemargin.release.report.context import FIFTH, ReportContext, lost_tables, worst_axis
from safemargin.release.report.groups import NOT_COMPUTED, DecidedGroup, is_omitted
from safemargin.ui import (
    AxisStrip,
    AxisStrips,
    ChoiceBar,
    ChoiceBars,
    CountNote,
    Fold,
    Key,
    Paragraph,
    Part,
    Remedies,
    Section,
    StripGroup,
    band_label,
    crosstab,
    named_cell_label,
    percent,
    plural,
)

MOST_NOTES, MOST_NAMED = 400, 3
OPEN_ROWS = 60
"""Rows of a published table that is open."""
MEMBERS = " | "


def strips_section(context: ReportContext) -> Section | None:
    """Every axis before and after, with the people of each category where a roll states them."""
    axes = []
    for axis, groups in context.axes.items():
        if axis:
            sizes = _sizes(context, axis)
            made = [_group(group, sizes) for group in groups]
            axes.append(
                AxisStrip(axis, sum(group.members for group in groups), made, _kept(groups), is_omitted(groups))
            )
    if not axes:
        return None
    used = {group.status for axis in axes for group in axis.groups}
    return Section("Before and after", AxisStrips(axes, [str(action) for action in Action if str(action) in used]))


def _group(group: DecidedGroup, sizes: Mapping[str, int]) -> StripGroup:
    names = group.label.split(MEMBERS) if group.members > 1 else [group.label]
    if len(names) != group.members:
        names = [group.name]
    known = [sizes.get(name, 0) for name in names]
    if sum(known) != group.people:  # the roll is not known by category: equal parts
        known = [group.people // len(names)] * len(names)
    return StripGroup(str(group.action), [(band_label(name), size) for name, size in zip(names, known, strict=True)])


def _sizes(context: ReportContext, axis: str) -> dict[str, int]:
    for findings in context.findings:
        exposure = findings.exposure
        if exposure.people is not None and axis in exposure.cells.axes:
            place = exposure.cells.axes.index(axis)
            names = exposure.cells.categories[place]
            people = np.bincount(exposure.cells.codes[:, place], exposure.people, minlength=len(names))
            return dict(zip(names, people.astype(int).tolist(), strict=True))
    return {}


def _kept(groups: list[DecidedGroup]) -> str:
    if is_omitted(groups):
        return "table lost"
    everybody = sum(group.people for group in groups) or 1
    exact = sum(group.people for group in groups if group.action is Action.EXACT)
    if not exact and all(group.action is Action.MERGED for group in groups):
        return "merged only"
    return f"{percent(exact / everybody)} of people exact"


def remedies_block(context: ReportContext) -> Part:
    """Why much was lost, and what was tried and keeps more."""
    if not context.causes and not context.tried:
        return None
    cells = context.exposed.cells
    named = ", ".join(f"{named_cell_label(cell.cell)} ({cell.why})" for cell in cells[:MOST_NAMED])
    more = f" and {len(cells) - MOST_NAMED:,} more" if len(cells) > MOST_NAMED else ""
    forced = f"{plural(len(cells), 'group')} cannot be shown alone: {named}{more}" if cells else ""
    why = "; ".join([*([forced] if forced else []), *context.causes])
    tried = [
        (
            f"{remedy.words[:1].upper()}{remedy.words[1:]}",
            remedy.key,
            f"{percent(remedy.share)} exact, {remedy.published:,} of {plural(remedy.asked, 'table')}",
        )
        for remedy in context.tried
    ]
    note = "Each was decided, certified and attacked. None loosens a limit." if tried else ""
    is_much = bool(lost_tables(context)) or worst_axis(context)[1] > FIFTH or not context.is_sound
    title = "Why so much was lost" if is_much else "Why not everything is exact"
    return Remedies(f"{why[:1].upper()}{why[1:]}." if why else "", tried, note, title)


def choices_block(context: ReportContext) -> Part:
    """What other choices keep, as bars."""
    choices = context.alternatives
    if len(choices) < 2:
        return None
    same = [choice for choice in choices if choice.beta == choices[0].beta and choice.state == "certified"]
    best = max(same, key=lambda choice: choice.share, default=None)
    bars = []
    for place, choice in enumerate(choices):
        if choice.state == NOT_COMPUTED:
            continue
        is_best = choice is best and place and choice.share > choices[0].share
        detail = "protects less" if choice.beta < choices[0].beta else ""
        share = choice.share if choice.state == "certified" else None
        detail = choice.state if choice.state == "refused" else detail
        bars.append(ChoiceBar(choice.words, detail, share, "best" if is_best else "other" if place else "now"))
    caption = "People in exact groups, over all axes, by choice"
    left = [choice.words for choice in choices if choice.state == NOT_COMPUTED]
    missing = f"Not computed, since each takes long on these data: {'; '.join(left)}." if left else ""
    parts = Paragraph(f"{caption}.", "quiet"), ChoiceBars(caption, bars), Paragraph(missing, "quiet")
    return Section("Other choices", *parts)


def _notes(context: ReportContext, table: PublishedTable) -> dict[Key, CountNote]:
    """Why a group is not exact, what that costs, and what was tried that keeps more."""
    (axis,) = table.axes
    best = max(context.tried, key=lambda remedy: remedy.share, default=None)
    fix = "" if best is None else f"Tried for the whole release: {best.words}; then {percent(best.share)} are exact."
    notes: dict[Key, CountNote] = {}
    for group in context.axes.get(axis, []):
        if group.action is Action.EXACT or len(notes) >= MOST_NOTES:
            continue
        why = f"{group.reason[:1].upper()}{group.reason[1:]}." if group.reason else ""
        note = CountNote(f"{axis} {group.name}", [why] if why else [], fix=fix, price=_price(group))
        for option in table.options or ("",):
            notes[frozenset({(axis, group.label)}), option] = note
    return notes


def _price(group: DecidedGroup) -> str:
    people = plural(group.people, "person")
    if group.action is Action.MERGED:
        return f"{people} in {plural(group.members, 'category')} have one count together."
    if group.action is Action.NOISED:
        return f"The counts of {people} carry random noise."
    return f"Nothing is published about {people} by themselves."


def tables_section(context: ReportContext) -> Section:
    """The tables as they are published, in colours and with shares."""
    tables = context.publication.tables
    parts: list[Part] = []
    for table in tables:
        if table.is_roll or not table.axes:
            continue
        if all(status == "suppressed" for status in table.status):
            continue
        notes = _notes(context, table) if len(table.axes) == 1 else None
        made = crosstab(table, tables, orders=context.orders, notes=notes, shares=bool(table.options), total_name="All")
        made = replace(made, why="suppressed")
        parts.append(
            Fold(f"By {table.name}: {plural(len(made.rows), 'row')}", made, is_open=len(made.rows) <= OPEN_ROWS)
        )
    for axis, groups in context.axes.items():
        if axis and is_omitted(groups):
            categories = plural(sum(group.members for group in groups), "category")
            reasons = "; ".join(dict.fromkeys(group.reason for group in groups))
            parts.append(
                Paragraph(f"{axis}: nothing is published about this axis ({categories}): {reasons}.", "warning")
            )
    title = "What is published" if context.is_sound else "What would be published"
    return Section(title, *(parts or ["Only the total is published."]))

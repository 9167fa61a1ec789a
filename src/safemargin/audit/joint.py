"""All tables together: what they force in cells that nobody published."""

from collections.abc import Sequence

import numpy as np

from safemargin.audit.situation import Attempt, Finding, Situation
from safemargin.bounds import CellIndex, System, build_system, certify, certify_pooled
from safemargin.core import JOINER, BoolArray, PublishedTable, row_keys


def joint(situation: Situation) -> Attempt:
    """Bound every cell by everything the onlooker knows; with a joint roll, cells of fewer axes too."""
    exposure = situation.exposure
    findings = {(str(f.cell), f.option): f for f in _listed(situation)}
    looked = exposure.lower.size
    system = None
    if exposure.onlooker.roll and exposure.people is not None:
        system = build_system(situation.release.tables, situation.onlooker, situation.slack)
        if system.people is not None:
            witness, tables, onlooker = situation.release.witness, situation.release.tables, situation.onlooker
            if situation.slack:
                proof = certify(system, situation.limits, given=witness, most_linear=0)
            else:
                proof = certify_pooled(system, tables, onlooker, situation.limits, given=witness, most_linear=0)
            looked = sum(proof.checked.get(name, 0) for name in ("joint cells", "cells of fewer axes"))
            for cell in proof.exposed:
                option = cell.secret or system.options[cell.option] or None
                text = f"only {cell.lower} to {cell.upper} of {cell.people} people are possible"
                finding = Finding("joint", cell.cell, option, cell.people, cell.lower, cell.upper, text)
                findings.setdefault((str(cell.cell), option), finding)
    disclosed = tuple(findings.values())
    people = max((f.people or 0 for f in disclosed), default=0) if system is None else _people_inside(disclosed, system)
    cells = f"{len(disclosed):,} of {looked:,} cells are" if disclosed else f"none of {looked:,} cells is"
    return Attempt("joint", f"{cells} disclosed", looked, disclosed, people)


def _people_inside(findings: Sequence[Finding], system: System) -> int:
    """How many people are in at least one of the cells that are disclosed."""
    if system.people is None or not findings:
        return max((finding.people or 0 for finding in findings), default=0)
    index = [{name: code for code, name in enumerate(names)} for names in system.categories]
    inside = np.zeros(len(system.people), dtype=bool)
    profiles = {tuple(row): profile for profile, row in enumerate(system.codes.tolist())}
    for cell in {tuple(finding.cell.items()) for finding in findings}:
        named = dict(cell)
        if all(named.get(axis) in index[a] for a, axis in enumerate(system.axes)):
            codes = tuple(index[a][named[axis]] for a, axis in enumerate(system.axes))
            if codes in profiles:
                inside[profiles[codes]] = True
            continue
        here = np.ones(len(inside), dtype=bool)
        for axis, name in cell:
            column, codes_of = system.axes.index(axis), index[system.axes.index(axis)]
            members = [name] if name in codes_of else name.split(JOINER)
            here &= np.isin(system.codes[:, column], [codes_of[member] for member in members if member in codes_of])
        inside |= here
    return int(system.people[inside].sum())


def _listed(situation: Situation) -> list[Finding]:
    exposure = situation.exposure
    verdicts = exposure.verdicts(situation.release.target)
    findings = []
    stated = stated_cells(situation)
    for row, option in np.argwhere((verdicts == 2) & ~stated[:, None]).tolist():
        lower, upper = int(exposure.lower[row, option]), int(exposure.upper[row, option])
        people = None if exposure.people is None else int(exposure.people[row])
        of = f" of {people} people" if people is not None else ""
        text = f"exactly {lower}{of}" if lower == upper else f"{lower} to {upper}{of}"
        if exposure.fiber is not None and (values := exposure.fiber.gap(row * exposure.lower.shape[1] + option)):
            text = f"{' or '.join(map(str, values))}{of}, nothing in between"
        name = exposure.options[option] if exposure.options else None
        findings.append(Finding("joint", exposure.cells.cell(row), name, people, lower, upper, text))
    return findings


def stated_cells(situation: Situation) -> BoolArray:
    """Cells that a table prints: to read them takes no attack, and `small` and `homogeneity` look at them."""
    return printed_cells(situation.exposure.cells, situation.release.tables) | _deserted(situation)


def printed_cells(cells: CellIndex, tables: Sequence[PublishedTable]) -> BoolArray:
    """Cells that one of the tables prints, and those of a margin that one prints as zero."""
    stated = np.full(len(cells), not cells.axes)  # the total is printed, always
    sizes = [len(names) for names in cells.categories]
    for table in tables:
        if table.axes and set(table.axes) < set(cells.axes) and not table.options:
            for row in np.flatnonzero(table.upper == 0).tolist():
                empty = np.ones(len(cells), dtype=bool)
                for column, axis in enumerate(table.axes):
                    a, group = cells.axes.index(axis), table.groups[column][table.codes[row, column]]
                    inside = np.array([name in group for name in cells.categories[a]])
                    empty &= inside[cells.codes[:, a]]
                stated |= empty
        if set(table.axes) != set(cells.axes) or not table.axes:
            continue
        columns = []
        for a, axis in enumerate(cells.axes):
            column = table.axes.index(axis)
            index = {name: code for code, name in enumerate(cells.categories[a])}
            single = [index[next(iter(g))] if len(g) == 1 else -1 for g in table.groups[column]]
            columns.append(np.array(single, dtype=np.int64)[table.codes[:, column]])
        codes = np.stack(columns, axis=1)
        printed = (codes >= 0).all(axis=1) & (table.lower == table.upper)
        stated |= np.isin(row_keys(cells.codes, sizes), row_keys(codes[printed], sizes))
        if table.is_exact and all(len(group) == 1 for groups in table.groups for group in groups):
            stated[:] = True  # what such a table omits is empty
    return stated


def _deserted(situation: Situation) -> BoolArray:
    """Cells of a category that has no people on a roll by single axes."""
    cells = situation.exposure.cells
    deserted = np.zeros(len(cells), dtype=bool)
    for roll in situation.onlooker.roll:
        for column, axis in enumerate(roll.axes):
            if axis in cells.axes and roll.is_exact:
                occupied = np.unique(roll.codes[roll.lower > 0, column]).tolist()
                counted = {name for code in occupied for name in roll.groups[column][code]}
                listed = {name for group in roll.groups[column] for name in group}
                a = cells.axes.index(axis)
                empty = np.array([name in listed and name not in counted for name in cells.categories[a]])
                deserted |= empty[cells.codes[:, a]]
    return deserted

"""All tables together: what they force in cells that nobody published."""

from collections.abc import Sequence

import numpy as np

from safemargin.audit.findings import Attempt, Finding
from safemargin.audit.situation import Situation
from safemargin.bounds.build import build_system
from safemargin.bounds.certify import certify
from safemargin.bounds.system import System
from safemargin.core import JOINER, row_keys


def joint(situation: Situation) -> Attempt:
    """Bound every cell by everything the onlooker knows; with a joint roll, cells of fewer axes too."""
    exposure = situation.exposure
    findings = {(str(f.cell), f.option): f for f in _listed(situation)}
    looked = exposure.lower.size
    known = None
    if exposure.onlooker.roll and exposure.people is not None:
        known = build_system(situation.release.tables, situation.onlooker, situation.slack)
        if known.people is not None:
            proof = certify(known, situation.limits, given=situation.release.witness, most_linear=0)
            looked = sum(proof.checked.get(name, 0) for name in ("joint cells", "cells of fewer axes"))
            for one in proof.exposed:
                option = known.options[one.option] or None
                words = f"only {one.lower} to {one.upper} of {one.people} people are possible"
                finding = Finding("joint", one.cell, option, one.people, one.lower, one.upper, words)
                findings.setdefault((str(one.cell), option), finding)
    found = tuple(findings.values())
    people = max((f.people or 0 for f in found), default=0) if known is None else _people_in(found, known)
    summary = (
        f"{len(found):,} of {looked:,} cells are given away" if found else f"none of {looked:,} cells is given away"
    )
    return Attempt("joint", summary, looked, found, people)


def _people_in(findings: Sequence[Finding], known: System) -> int:
    """How many people are in at least one of the cells that are given away."""
    if known.people is None or not findings:
        return max((one.people or 0 for one in findings), default=0)
    index = [{name: code for code, name in enumerate(names)} for names in known.categories]
    inside = np.zeros(len(known.people), dtype=bool)
    place = {tuple(row): at for at, row in enumerate(known.codes.tolist())}
    for cell in {tuple(one.cell.items()) for one in findings}:
        named = dict(cell)
        if all(named.get(axis) in index[at] for at, axis in enumerate(known.axes)):
            codes = tuple(index[at][named[axis]] for at, axis in enumerate(known.axes))
            if codes in place:
                inside[place[codes]] = True
            continue
        here = np.ones(len(inside), dtype=bool)
        for axis, name in cell:
            at = known.axes.index(axis)
            members = [name] if name in index[at] else name.split(JOINER)
            here &= np.isin(known.codes[:, at], [index[at][member] for member in members if member in index[at]])
        inside |= here
    return int(known.people[inside].sum())


def _listed(situation: Situation) -> list[Finding]:
    exposure = situation.exposure
    verdicts = exposure.verdicts(situation.release.target)
    findings = []
    stated = _stated(situation) | _deserted(situation)
    for row, option in np.argwhere((verdicts == 2) & ~stated[:, None]).tolist():
        lower, upper = int(exposure.lower[row, option]), int(exposure.upper[row, option])
        people = None if exposure.people is None else int(exposure.people[row])
        of = f" of {people} people" if people is not None else ""
        words = f"exactly {lower}{of}" if lower == upper else f"{lower} to {upper}{of}"
        if exposure.fiber is not None and (values := exposure.fiber.gap(row * exposure.lower.shape[1] + option)):
            words = f"{' or '.join(map(str, values))}{of}, nothing in between"
        name = exposure.options[option] if exposure.options else None
        findings.append(Finding("joint", exposure.cells.cell(row), name, people, lower, upper, words))
    return findings


def _stated(situation: Situation) -> np.ndarray:
    """Cells that a table prints: to read them takes no attack, and `slices` looks at them."""
    cells = situation.exposure.cells
    stated = np.full(len(cells), not cells.axes)  # tier 0 is printed, always
    sizes = [len(names) for names in cells.categories]
    for table in situation.release.tables:
        if set(table.axes) != set(cells.axes) or not table.axes:
            continue
        columns = []
        for a, axis in enumerate(cells.axes):
            at = table.axes.index(axis)
            index = {name: code for code, name in enumerate(cells.categories[a])}
            lookup = np.array([index[next(iter(g))] if len(g) == 1 else -1 for g in table.groups[at]], dtype=np.int64)
            columns.append(lookup[table.codes[:, at]])
        codes = np.stack(columns, axis=1)
        printed = (codes >= 0).all(axis=1) & (table.lower == table.upper)
        stated |= np.isin(row_keys(cells.codes, sizes), row_keys(codes[printed], sizes))
        if table.is_exact and all(len(group) == 1 for groups in table.groups for group in groups):
            stated[:] = True  # what such a table leaves out is empty
    return stated


def _deserted(situation: Situation) -> np.ndarray:
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

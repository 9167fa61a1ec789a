"""Subtraction: what a suppressed or noised cell must be, once the rest of its table is subtracted from the total."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from safemargin.audit.situation import Attempt, Finding, Situation, people_in
from safemargin.bounds import disjoint_cell_sets
from safemargin.core import PublishedTable, frozen


def subtraction(situation: Situation) -> Attempt:
    """Subtract the published cells of every one-axis table from the exact total."""
    findings: list[Finding] = []
    looked = 0
    for table in situation.release.tables:
        if len(table.axes) == 1 and any(word in ("suppressed", "noised") for word in table.status):
            for part in _parts(table):
                disclosed, count = _attack(situation, part)
                findings += disclosed
                looked += count
    summary = f"{len(findings)} of {looked} protected counts follow by subtraction" if looked else "nothing to subtract"
    return Attempt("subtraction", summary, looked, tuple(findings), people_in(findings))


def _parts(table: PublishedTable) -> Iterator[PublishedTable]:
    """The table, or where its groups overlap, each set of disjoint rows that holds every category."""
    parts = list(disjoint_cell_sets(table))
    if len(parts) == 1:
        yield table
        return
    everybody = frozenset().union(*table.groups[0])
    for part in parts:
        used, codes = np.unique(table.codes[part.rows, 0], return_inverse=True)
        groups = tuple(table.groups[0][group] for group in used.tolist())
        if frozenset().union(*groups) == everybody:
            yield replace(
                table,
                groups=(groups,),
                codes=frozen(codes, 1),
                option=frozen(table.option[part.rows]),
                lower=frozen(table.lower[part.rows]),
                upper=frozen(table.upper[part.rows]),
                status=tuple(table.status[row] for row in part.rows.tolist()),
                noisy=None if table.noisy is None else frozen(table.noisy[part.rows]),
            )


def _attack(situation: Situation, table: PublishedTable) -> tuple[list[Finding], int]:
    totals = situation.totals()
    sizes = situation.sizes(table)
    hidden = np.array([word in ("suppressed", "noised") for word in table.status])
    findings, looked = [], 0
    for option in np.unique(table.option[hidden]).tolist():
        name = table.options[option] if option >= 0 else ""
        if name not in totals:
            continue
        chosen = table.option == option
        left = totals[name] - int(table.lower[chosen & ~hidden].sum())
        rows = np.flatnonzero(chosen & hidden)
        people = np.array([left if sizes is None else sizes.get(tuple(table.codes[row]), 0) for row in rows])
        # every cell has at least what is left if all others are as large as they can be
        upper = np.minimum(people, left + situation.slack)
        lower = np.maximum(left - situation.slack - (upper.sum() - upper), 0)
        disclosed = upper - lower <= situation.limits.tau
        if sizes is not None:
            disclosed = situation.verdicts(name, lower, upper, people) == 2
        looked += len(rows)
        for number in np.flatnonzero(disclosed).tolist():
            low, high = int(lower[number]), int(upper[number])
            text = f"the rest of {table.name} leaves {low} to {high}"
            size = None if sizes is None else int(people[number])
            cell = table.cell(int(rows[number]))
            findings.append(Finding("subtraction", cell, name or None, size, low, high, text))
    return findings, looked

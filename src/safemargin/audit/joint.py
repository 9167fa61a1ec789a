"""All tables together: what they force in cells that nobody published."""

import numpy as np

from safemargin.audit.situation import Situation
from safemargin.bounds.certify import certify
from safemargin.bounds.system import system
from safemargin.model.findings import Attempt, Finding


def joint(situation: Situation) -> Attempt:
    """Bound every cell by everything the onlooker knows; with a joint roll, cells of fewer axes too."""
    exposure = situation.exposure
    findings = {(str(f.cell), f.option): f for f in _listed(situation)}
    looked = exposure.lower.size
    if exposure.onlooker.roll and exposure.people is not None:
        known = system(situation.release.tables, situation.onlooker, situation.slack)
        if known.people is not None:
            proof = certify(known, situation.limits, given=situation.release.witness)
            looked = sum(proof.checked.get(name, 0) for name in ("joint cells", "cells of fewer axes"))
            for one in proof.exposed:
                option = known.options[one.option] or None
                words = f"only {one.lower} to {one.upper} of {one.people} people are possible"
                finding = Finding("joint", one.cell, option, one.people, one.lower, one.upper, words)
                findings.setdefault((str(one.cell), option), finding)
    found = tuple(findings.values())
    people = max((f.people or 0 for f in found), default=0)
    summary = f"{len(found):,} of {looked:,} cells are given away" if found else f"none of {looked:,} cells is given away"
    return Attempt("joint", summary, looked, found, people)


def _listed(situation: Situation) -> list[Finding]:
    exposure = situation.exposure
    verdicts = situation.limits.verdicts(exposure.lower, exposure.upper, exposure.people)
    findings = []
    for row, option in np.argwhere(verdicts == 2).tolist():
        lower, upper = int(exposure.lower[row, option]), int(exposure.upper[row, option])
        people = None if exposure.people is None else int(exposure.people[row])
        of = f" of {people} people" if people is not None else ""
        words = f"exactly {lower}{of}" if lower == upper else f"{lower} to {upper}{of}"
        name = exposure.options[option] if exposure.options else None
        findings.append(Finding("joint", exposure.cells.cell(row), name, people, lower, upper, words))
    return findings

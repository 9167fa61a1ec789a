"""What an analyst believes: the shares of the maximum-entropy fit, under correlations that the onlooker states.

Mode M2 of the paper: intervals may be wide, and still nearly everybody in a cell is believed to have answered alike.
With a limit on belief (`Onlooker.posterior`), a cell is disclosed if the release raises the belief beyond it.
"""

import numpy as np

from safemargin.audit.situation import Attempt, Finding, Situation, people_in
from safemargin.bounds import infer


def posterior(situation: Situation) -> Attempt:
    """Compare what is believed of every cell with the limit, and with what was believed from the total alone."""
    exposure, limit = situation.exposure, situation.onlooker.posterior
    assert limit is not None
    people = exposure.people
    totals = [table for table in situation.release.tables if not table.axes]
    if exposure.fitted is None or people is None or not totals:
        text = "what an analyst believes could not be worked out, which counts as unsafe"
        unknown = Finding("posterior", {}, None, exposure.population, 0, exposure.population or 0, text)
        return Attempt("posterior", text, 0, (unknown,), exposure.population or 0)
    before = infer(totals, situation.onlooker, target=exposure.cells.axes, sharp=None).fitted
    size = np.maximum(people, 1)[:, None]
    believed = exposure.fitted / size
    # A hair above rounding of the fit: what the total alone makes somebody believe is no fault of the release.
    raised = np.full(believed.shape, True) if before is None else believed > before / size + 1e-6
    findings = []
    for row, option in np.argwhere((believed > limit) & raised & (people > 0)[:, None]).tolist():
        share, name = float(believed[row, option]), exposure.options[option] if exposure.options else None
        count = round(share * int(people[row]))
        text = f"an analyst believes that {share:.1%} of {int(people[row]):,} people gave this answer"
        findings.append(Finding("posterior", exposure.cells.cell(row), name, int(people[row]), count, count, text))
    cells = f"{len(findings):,} of" if findings else "none of"
    summary = f"{cells} {believed.size:,} believed shares {'are' if findings else 'is'} above {limit:g}"
    return Attempt("posterior", summary, believed.size, tuple(findings), people_in(findings))

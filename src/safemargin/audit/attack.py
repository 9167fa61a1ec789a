"""All attacks on a publication, with nothing but what is published and what the onlooker knows."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from safemargin.audit.differencing import differencing
from safemargin.audit.findings import Findings
from safemargin.audit.homogeneity import homogeneity
from safemargin.audit.joint import joint, stated_cells
from safemargin.audit.noise import noise
from safemargin.audit.posterior import posterior
from safemargin.audit.rerun import Rerun, rerun
from safemargin.audit.rule import noise_guarantee, rule
from safemargin.audit.situation import Attempt, Situation
from safemargin.audit.small import SMALLEST, small
from safemargin.audit.subtraction import subtraction
from safemargin.audit.suppressed import suppressed
from safemargin.bounds import infer
from safemargin.core import Onlooker, Progress, Publication, no_progress

ATTACKS: Mapping[str, Callable[[Situation], Attempt]] = {
    "homogeneity": homogeneity,
    "subtraction": subtraction,
    "suppressed": suppressed,
    "joint": joint,
    "rule": rule,
    "small": small,
}
"""One attack per file; `noise` joins them where counts are noised, `differencing` where there is an earlier release,
and `rerun` where the rule can be run on all that is possible."""


def attack(
    release: Publication,
    onlooker: Onlooker | None = None,
    *,
    target: tuple[str, ...] | None = None,
    slack: int = 0,
    sharp: bool | None = None,
    enough: int | None = None,
    fiber: bool = False,
    judged: Mapping[str, int] | None = None,
    smallest: int = SMALLEST,
    rule_again: Rerun | None = None,
    progress: Progress = no_progress,
) -> Findings:
    """Run every attack as `onlooker`; `target`, `sharp`, `enough` and `fiber` say which cells are bounded and how well,
    as in `bound`.

    With more than two options the limits depend on the totals. `judged` gives those of a release that does not print
    them exactly; no attack uses them. Groups of up to `smallest` people are not to be printed. `rule_again` is the
    whole rule, for an onlooker who knows it and runs it again.
    """
    onlooker = onlooker or Onlooker()
    exposure = infer(
        release.tables,
        onlooker,
        target=target,
        slack=slack,
        sharp=sharp,
        enough=enough,
        fiber=fiber,
        given=release.witness,
        progress=progress,
    )
    if judged is not None:
        exposure = replace(exposure, totals=tuple(judged.get(name, 0) for name in exposure.options))
    most = min(smallest, release.target.kappa - 1)  # a group that the target lets stand alone is not too small
    situation = Situation(release, onlooker, exposure, exposure.limits(release.target), slack, most)
    attempts = [run(situation) for run in ATTACKS.values()]
    skipped = {}
    for run, applies, reason in (
        (noise, noise_guarantee(release) is not None, "no count is noised"),
        (differencing, onlooker.past is not None, "the onlooker remembers no earlier release"),
        (posterior, onlooker.posterior is not None, "no limit is set on what the onlooker believes"),
    ):
        if applies:
            attempts.append(run(situation))
        else:
            skipped[run.__name__] = reason
    if rule_again is not None and onlooker.knows_rule:
        attempt = rerun(situation, rule_again)
        if attempt.looked_at:
            attempts.append(attempt)
        else:
            skipped[rerun.__name__] = attempt.summary
    else:
        skipped[rerun.__name__] = "the onlooker does not know the rule, or not the joint roll"
    return Findings(onlooker, release.target, exposure, tuple(attempts), stated_cells(situation), skipped)

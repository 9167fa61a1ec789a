"""What an attacker still gets, seeing nothing but the release and what the onlooker knows."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from safemargin.audit.backwards import Rerun, backwards
from safemargin.audit.earlier import earlier
from safemargin.audit.findings import Attempt, Findings
from safemargin.audit.joint import joint
from safemargin.audit.noise import noise
from safemargin.audit.rule import promise_of, rule
from safemargin.audit.situation import Situation
from safemargin.audit.slices import slices
from safemargin.audit.subtraction import subtraction
from safemargin.audit.suppressed import suppressed
from safemargin.bounds.bound import bound
from safemargin.core import Onlooker, Progress, Publication, no_progress

__all__ = ["ATTACKS", "Rerun", "audit"]

ATTACKS: Mapping[str, Callable[[Situation], Attempt]] = {
    "slices": slices,
    "subtraction": subtraction,
    "suppressed": suppressed,
    "joint": joint,
    "rule": rule,
}
"""One attack per file; `noise` joins them where counts are noised, `earlier` where there is an earlier release,
and `backwards` where the rule can be run on all that is possible."""


def audit(
    release: Publication,
    onlooker: Onlooker | None = None,
    *,
    target: tuple[str, ...] | None = None,
    slack: int = 0,
    sharp: bool | None = None,
    enough: int | None = None,
    fiber: bool = False,
    judged: Mapping[str, int] | None = None,
    rerun: Rerun | None = None,
    progress: Progress = no_progress,
) -> Findings:
    """Run every attack as `onlooker`; `target`, `sharp`, `enough` and `fiber` say which cells are bounded and how well,
    as in `bound`.

    With more than two options the limits depend on the totals. `judged` gives those of a release that does not print
    them exactly; no attack uses them. `rerun` is the whole rule, for an onlooker who knows it to run backwards.
    """
    onlooker = onlooker or Onlooker()
    exposure = bound(
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
    situation = Situation(release, onlooker, exposure, exposure.limits(release.target), slack)
    attacks = [*ATTACKS.values()]
    attacks += [] if promise_of(release) is None else [noise]
    attacks += [] if onlooker.past is None else [earlier]
    attempts = tuple(attack(situation) for attack in attacks)
    if rerun is not None and onlooker.knows_rule:
        attempt = backwards(situation, rerun)
        attempts = (*attempts, attempt) if attempt.looked_at else attempts
    return Findings(onlooker, release.target, exposure, attempts)

"""The release as safemargin decides it."""

from dataclasses import replace

from safemargin.release.compare.method import Case, Method
from safemargin.release.decide.decide import decide
from safemargin.release.plan import Action
from safemargin.release.publish import publish


def ours(case: Case) -> list[Method]:
    """Decide once; noise, if the project asks for it, is drawn afresh."""
    plan = decide(case.table, case.target, case.onlookers, protect=case.protect)
    release = publish(plan, case.table)
    certified = plan.certificate.certified
    noised = any(decision.action is Action.NOISED for decision in plan.decisions)
    return [
        Method(
            name="safemargin",
            family="safemargin",
            does="exact where a certificate shows that nobody is given away, else merged, noised or suppressed",
            draw=lambda draws: (publish(plan, case.table).tables if noised else release.tables for _ in range(draws)),
            known=lambda tables, onlooker: replace(release, tables=tables),
            is_random=noised,
            loss=max((each.epsilon or 0.0 for each in plan.guarantees), default=None),
            guarantee=plan.certificate.statement if certified else "",
            promises=plan.guarantees,
            refused="" if certified else "no release that was tried meets the target: nothing is published",
            must_be_safe=True,
        )
    ]

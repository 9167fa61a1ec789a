"""Decisions about several questions that share one grouping of every axis.

Objects are those of `rule/questions.py`, which has the rule: the first release, and coarser ones for an exposed cell.
Here candidates are proved, question by question, until all are safe.

Statement (docs/decide.md, *Several questions*)
    Let every merged block have a reason X in one question: sums of its parts, one of them outside the strict limits.
    Every tuple (W_q) of tables that agree with the published files P and with X leads to P. The question with the
    reason keeps the cut at the block or above, because a part outside the limits is never published. No question cuts
    above a published block, because its counts there are published and regular. So F^-1(P) contains the product of the
    tables of every question that agree with P and with the reasons of that question, and each question is certified
    over its own factor, as one question alone is (`rerun.py`).

    Where some axes are merged and a single group of others is suppressed, this is not claimed, and the label is "not
    shown". Where every axis suppresses, the rolls alone make the groups, and decisions about q read q only: F^-1(P) is
    the product of the sets of single questions, each of which is decided and certified as one question alone is.
"""

from collections.abc import Sequence

from safemargin.bounds import Exposed, Proof
from safemargin.core import Onlooker, Progress, Table, Target, no_progress
from safemargin.release.decide.decide import WITHOUT, ProofResult, plan_of, search
from safemargin.release.decide.explained import explained
from safemargin.release.decide.judge import prove_counts
from safemargin.release.decide.statements import refusal_of
from safemargin.release.plan import Plan, Refusal
from safemargin.release.rule.questions import CommonCandidate, CommonRule, common_rule
from safemargin.release.rule.steps import STEP, plainly_exposed


def decide_common(
    everybody: Table,
    tables: Sequence[Table],
    targets: Sequence[Target],
    onlookers: Sequence[Sequence[Onlooker]],
    *,
    protect: str = "auto",
    progress: Progress = no_progress,
) -> tuple[Plan, ...]:
    """A plan for every question, all with the same groups, that meets every target against all onlookers.

    Plans stand in the order of the questions. Where no axis is merged for answers, each question is decided as one
    alone. Otherwise all are proved first; then it is tried to show them against somebody who knows the rule
    (`explained`), and where that fails each certificate says that the rule is not shown.
    """
    rule = common_rule(everybody, tables, targets, onlookers, protect)
    if not any(rule.covers):  # nothing is merged for answers, so decisions about a question read that question only
        return tuple(
            plan_of(own, target, *search(own, progress)) for own, target in zip(rule.rules, targets, strict=True)
        )
    candidate, proofs, refused = search_common(rule, progress)
    shown = explained(rule, candidate, proofs, progress) if all(proof.holds for proof in proofs) else None
    shown = shown or tuple(ProofResult(proof) for proof in proofs)
    return tuple(plan_of(*each) for each in zip(rule.rules, targets, candidate.each, shown, refused, strict=True))


def search_common(
    rule: CommonRule, progress: Progress
) -> tuple[CommonCandidate, tuple[Proof, ...], list[list[Refusal]]]:
    """Cut axes further up until every question is proved safe, or nothing is left to merge.

    Returns the candidate, a proof per question (which may fail where nothing is left to merge), and the refusals.
    Questions that failed last are looked at first. Proofs are kept by what a question publishes, so a step that leaves
    a question as it was costs nothing for it.
    """
    refused: list[list[Refusal]] = [[] for _ in rule.rules]
    proved: dict[object, Proof] = {}
    order, candidate = list(range(len(rule.rules))), rule.first()
    # Every turn merges blocks or omits an axis, so that there are fewer groups than before: it ends.
    while True:
        failed = _failing(rule, candidate, order, proved, progress)
        if failed is None:
            return candidate, tuple(proved[q, candidate.each[q].key()] for q in range(len(rule.rules))), refused
        question, proof = failed
        order.remove(question)
        order.insert(0, question)  # what failed last is looked at first
        cells, is_exposed = proof.exposed or proof.doubtful, bool(proof.exposed)
        what = WITHOUT if refused[question] else "Publishing every regular group exactly"
        few = 1 if refused[question] else 5
        table = rule.rules[question].table
        refused[question].extend(refusal_of(table, what, cell, is_exposed) for cell in cells[:few])
        coarser = _next(rule, candidate, question, cells, is_exposed)
        if coarser is None:
            proofs = [_proof(rule, candidate, q, proved, progress) for q in range(len(rule.rules))]
            return candidate, tuple(proofs), refused
        candidate = coarser


def _failing(
    rule: CommonRule, candidate: CommonCandidate, order: Sequence[int], proved: dict[object, Proof], progress: Progress
) -> tuple[int, Proof] | None:
    """The first question that is not safe: closed forms of all come first, since they are quick."""
    for question in order:
        plain = plainly_exposed(rule.rules[question], candidate.each[question])
        if plain.exposed:
            return question, plain
    for question in order:
        progress(STEP)
        proof = _proof(rule, candidate, question, proved, progress)
        if not proof.holds:
            return question, proof
    return None


def _proof(
    rule: CommonRule, candidate: CommonCandidate, question: int, proved: dict[object, Proof], progress: Progress
) -> Proof:
    """The proof of one question, kept by what it publishes."""
    own, each = rule.rules[question], candidate.each[question]
    key = question, each.key()
    if key not in proved:
        proved[key] = prove_counts(own.table, each, own.onlookers, own.limits, progress=progress)
    return proved[key]


def _next(
    rule: CommonRule, candidate: CommonCandidate, question: int, cells: Sequence[Exposed], proved: bool
) -> CommonCandidate | None:
    """The change that leaves fewest people of this question plainly exposed, then loses least."""
    best, fewest = None, -1
    for trial in sorted(
        rule.coarser(candidate, question, cells, proved), key=lambda trial: trial.each[question].loss()
    ):
        exposed = plainly_exposed(rule.rules[question], trial.each[question]).exposed
        left = sum(cell.people for cell in exposed)
        if best is None or left < fewest:
            best, fewest = trial, left
        if not left:
            break
    return best

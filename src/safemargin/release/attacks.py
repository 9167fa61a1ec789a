"""Every attack on a release before it is written, less what was possible without it."""

from dataclasses import replace

from safemargin.audit.attack import attack
from safemargin.audit.findings import Findings
from safemargin.audit.rerun import Rerun
from safemargin.audit.situation import Finding, people_in
from safemargin.core import Publication, Table
from safemargin.release.inputs import Inputs
from safemargin.ui import plural


def attack_release(
    publication: Publication, inputs: Inputs, rerun: Rerun | None, sharp: bool | None = None
) -> tuple[Findings, ...]:
    """Every attack of every onlooker, less what the total and the facts of the onlooker disclose by themselves."""
    findings = []
    for onlooker in inputs.onlookers:
        # To run the rule on all that is possible takes the people of every profile, which only a joint roll gives.
        again = rerun if onlooker.composition(inputs.table.schema.names) == "joint" else None
        result = attack(publication, onlooker, slack=inputs.slack, sharp=sharp, rule_again=again)
        if not result.is_safe:
            known: set[object] = set()
            if onlooker.facts or len(publication.tables) == 1:
                total = replace(publication, tables=publication.tables[:1], guarantees=(), rule="", witness=())
                before = attack(total, replace(onlooker, past=None), slack=inputs.slack, sharp=sharp)
                known = {_key(finding) for attempt in before.attempts for finding in attempt.findings}
            result = _less(result, known, _unanimous(inputs.table))
        findings.append(result)
    return tuple(findings)


def _unanimous(table: Table) -> set[str | None]:
    """Options that everybody or nobody chose: the total says so of every group."""
    people = int(table.people(()).counts.sum())
    return {
        name for name, total in zip(table.schema.options, table.totals.tolist(), strict=True) if total in (0, people)
    }


def _less(findings: Findings, known: set[object], settled: set[str | None]) -> Findings:
    """Findings without those that were possible before the release, for the same cell and with the same interval."""
    attempts = []
    for attempt in findings.attempts:
        new = tuple(
            finding for finding in attempt.findings if _key(finding) not in known and finding.option not in settled
        )
        if len(new) < len(attempt.findings):
            old = len(attempt.findings) - len(new)
            summary = f"{attempt.summary}; {plural(old, 'cell')} known before the release"
            attempt = replace(attempt, findings=new, summary=summary, people_exposed=people_in(new))
        attempts.append(attempt)
    return replace(findings, attempts=tuple(attempts))


def _key(finding: Finding) -> tuple[object, ...]:
    return tuple(sorted(finding.cell.items())), finding.option, finding.lower, finding.upper

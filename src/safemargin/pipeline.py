"""A whole project from its file to its folder: tabulate, decide, publish, audit, report."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from safemargin.audit import audit
from safemargin.decide import decide
from safemargin.decide.maximise import maximise, withdrawn
from safemargin.explain import Explained, explain
from safemargin.model.findings import Findings
from safemargin.model.margins import knowing
from safemargin.model.onlooker import Onlooker
from safemargin.model.plan import Plan
from safemargin.model.release import Release
from safemargin.model.table import Table
from safemargin.project import Project
from safemargin.publish import check_folder, publish, release_files, write_folder
from safemargin.report import html_report, release_document
from safemargin.report.margins import margins_document
from safemargin.report.painter import Painter
from safemargin.tabulate import tabulate
from safemargin.tabulate.tidy import read_many

REFUSED = "inside/refused"
"""Where it is proved what tables that were refused would give away."""

Step = Callable[[str], None]
"""Told in words what begins."""


@dataclass(frozen=True)
class Outcome:
    """Everything that a run produced; `files` are what it wrote or would write."""

    table: Table
    plan: Plan
    release: Release
    findings: tuple[Findings, ...]
    document: dict[str, object]
    certificates: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def is_safe(self) -> bool:
        """Whether the certificate holds and no attack found anything."""
        return self.plan.certificate.certified and all(each.is_safe for each in self.findings)


def onlookers_of(project: Project, table: Table) -> tuple[Onlooker, ...]:
    """The onlookers that a project names, with the rolls and facts they hold."""
    found = []
    for each in project.onlookers:
        onlooker = knowing(table, each.composition, each.name, each.knows_rule)
        found.append(Onlooker(onlooker.name, onlooker.roll, read_many(each.facts), each.knows_rule))
    return tuple(found)


def run(project: Project, folder: Path, step: Step = lambda words: None) -> Outcome:
    """Release a project into `folder`. A release that is not certified is refused: only the report is written."""
    check_folder(folder)
    step("reading")
    table = tabulate(project)
    with Painter() as painter:
        return _release(project, table, folder, painter, step)


def _release(project: Project, table: Table, folder: Path, painter: Painter, step: Step) -> Outcome:
    title = project.title or "Release"
    watching = onlookers_of(project, table)
    step("deciding")
    plan = decide(table, project.target, watching, protect=project.protect)
    single = plan
    if project.wanted:
        step("choosing tables of several axes")
        plan = maximise(plan, table, project.wanted, watching)
    release = publish(plan, table, [onlooker.name for onlooker in watching])
    orders = {axis.name: axis.categories for axis in table.schema.axes}
    html_report(title, plan, release, (), orders=orders, draw=painter.order)  # pictures that no finding changes
    step("attacking")
    findings = _attacked(release, table, watching)
    if plan.maximum is not None and not all(each.is_safe for each in findings):
        plan = withdrawn(single, plan, "an attack on the release with it succeeded")
        release = publish(plan, table, release.onlookers)
        findings = _attacked(release, table, watching)
    step("writing")
    facts = [fact for onlooker in watching for fact in onlooker.facts]
    explained = explain(plan, release, table, facts) if plan.rejected else Explained()
    certificates = {name: f"{REFUSED}/{file}" for name, file in explained.certificates.items()}
    files: dict[str, bytes] = {}
    if plan.certificate.certified and all(each.is_safe for each in findings):
        public = release_files(release, project.outputs.formats, orders, project.title or "")
        files = {f"published/{name}": content for name, content in public.items()}
    document = release_document(
        plan,
        release,
        [str(folder / name) for name in files],
        str(folder / "published" / "certificate.json") if files else "",
        orders=orders,
    )
    document["certified"] = bool(files)
    document |= margins_document(plan, {name: str(folder / file) for name, file in certificates.items()}, orders)
    files |= {f"{REFUSED}/{name}": content for name, content in explained.files.items()}
    files["inside/plan.json"] = (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
    files["inside/report.html"] = html_report(title, plan, release, findings, orders=orders, draw=painter.draw).encode()
    write_folder(folder, files)
    return Outcome(table, plan, release, findings, document, certificates)


def _attacked(release: Release, table: Table, onlookers: Sequence[Onlooker]) -> tuple[Findings, ...]:
    slack = table.inconsistency.slack(int(table.totals.sum()))
    return tuple(audit(release, onlooker, slack=slack, sharp=None) for onlooker in onlookers)

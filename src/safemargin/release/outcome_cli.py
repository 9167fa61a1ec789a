"""What the exact result of a project, or exact counts by group, disclose."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError, Table
from safemargin.release.inputs import tabulate
from safemargin.release.project import Project
from safemargin.ui import Document, Json, out, print_json
from safemargin.voting.result import ResultPrivacy, result_document, result_lines, result_privacy

GROUPS_SHOWN = 20


def outcome(
    path: Annotated[Path, typer.Argument(metavar="PROJECT", help="Project file (TOML).")],
    by: Annotated[str | None, typer.Option(help="Axis: what exact counts of its groups disclose.")] = None,
    as_json: Json = False,
) -> None:
    """What the exact result of a project discloses about one person.

    Example: safemargin outcome project.toml --by district
    """
    project = Project.load(path)
    table = tabulate(project)
    privacy = result_privacy(table.schema.options, table.totals.tolist(), project.outcome.belief)
    if privacy is None:
        raise InputError(
            f"{path}: the result has fewer than two options, or no answers; no two votes can be distinguished"
        )
    groups = {} if by is None else _by_group(table, by, project.outcome.belief)
    document: Document = {"schema": 1, **result_document(privacy)}
    if by is not None:
        document["by"] = by
        document["groups"] = [{"group": name, **result_document(group)} for name, group in groups.items()]
    if as_json:
        print_json(document)
        return
    out.print(document["words"], soft_wrap=False)
    for line in result_lines(privacy):
        out.print(f"- {line}")
    for point, delta in privacy.curve:
        out.print(f"  epsilon {point:<7g} delta {delta:.3g}")
    if by is not None:
        _show_groups(by, groups)


def _by_group(table: Table, axis: str, belief: str) -> dict[str, ResultPrivacy]:
    """Groups of an axis, the most exposed first. The counts of other groups do not depend on a person's answer."""
    margin = table.margin((axis,))
    categories = table.schema.axis(axis).categories
    groups = {}
    for row, counts in zip(margin.codes[:, 0].tolist(), margin.counts.tolist(), strict=True):
        privacy = result_privacy(table.schema.options, counts, belief)
        if privacy is not None:
            groups[categories[row]] = privacy
    return dict(sorted(groups.items(), key=lambda item: (-item[1].curve[0][1], item[0])))


def _show_groups(axis: str, groups: dict[str, ResultPrivacy]) -> None:
    out.print(f"Exact counts by {axis}: one answer shows in the counts of its own group only. The most exposed first:")
    for name, group in list(groups.items())[:GROUPS_SHOWN]:
        out.print(f"  {name}: {group.voters:,} people, delta {group.curve[0][1]:.3g} at epsilon 0", markup=False)
    if len(groups) > GROUPS_SHOWN:
        out.print(f"  {len(groups) - GROUPS_SHOWN:,} more groups are not shown; --json lists all.")

"""The page for the public beside the published tables, made from what is published only."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from safemargin.core import PublishedTable
from safemargin.io import rows_of
from safemargin.release.report.answers import RULE_NOT_CHECKED
from safemargin.release.report.groups import Orders
from safemargin.ui import Fold, Grid, Headline, Paragraph, Report, Section, plural, render_report

HOW_TO_CHECK = (
    Paragraph("safemargin verify published", "code"),
    "Whoever may hold the folder for auditors can verify the statement too:",
    Paragraph("safemargin verify published --auditors auditors", "code"),
)
"""What somebody does who wants to check a release."""


def public_page(
    certificate: Mapping[str, Any],
    tables: Sequence[PublishedTable],
    hashes: Mapping[str, str],
    *,
    orders: Orders,
    onlookers: Sequence[str],
    rule: str,
) -> str:
    """The page beside the published tables. It is made from what is published only, and holds the rows as data."""
    sections, data = [], {}
    for table in tables:
        rows = list(rows_of(table, orders))
        data[table.name] = [list(row.values()) for row in rows]
        columns = list(rows[0]) if rows else []
        values = [["" if value is None else value for value in row.values()] for row in rows]
        merged = sum(len(group) > 1 for groups in table.groups for group in groups)
        note = f"{plural(merged, 'group')} of several categories, joined by |." if merged else ""
        heading = f"{table.name}: {plural(len(rows), 'row')}"
        sections.append(Fold(heading, note, Grid(columns, values, sortable=True), is_open=len(rows) <= 12))
    page = render_report(
        Report(
            certificate["title"] or "Published tables",
            safe_to_read(certificate, "These tables are safe to read and to use.", certificate["statement"]),
            Section(
                "Against whom",
                f"Onlookers considered: {', '.join(onlookers) or 'anybody who reads these tables'}.",
                Fold("The rule by which groups are protected", rule),
            ),
            Section(
                "Tables",
                "Status says how a count is published: exact; merged: several categories together; noised: with random "
                "noise; suppressed: not published.",
                *sections,
            ),
            Section(
                "How to check",
                "The hashes below are those of the files beside this page.",
                *HOW_TO_CHECK,
                Grid(("file", "SHA-256"), list(hashes.items())),
            ),
        ),
        checks_itself=True,
    )
    return with_data(page, data)


def safe_to_read(certificate: Mapping[str, Any], sentence: str, detail: str) -> Headline:
    """The headline of a page for everybody: amber where less was shown than that the rule discloses nothing."""
    missing = [RULE_NOT_CHECKED] if certificate["rule"]["label"] != "rerun" else []
    if certificate["unproved"]:
        missing.append(f"Not checked: {plural(certificate['unproved'], 'count')} that only fractional tables show.")
    return Headline("partly" if missing else "sound", " ".join([sentence, *missing]), detail)


def with_data(page: str, data: Mapping[str, Sequence[Sequence[object]]]) -> str:
    """A page with the rows of every table as data, by the name of the table."""
    # A block of data is not run; an angle bracket could end it.
    block = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return page.replace("</body>", f'<script type="application/json" id="tables">{block}</script>\n</body>')

"""The page for the public beside the published tables, made from what is published only."""

from collections.abc import Mapping, Sequence

from safemargin.core import PublishedTable
from safemargin.io import rows_of
from safemargin.release.plan import Certificate
from safemargin.release.report.groups import Orders
from safemargin.release.witnesses import WITNESSES
from safemargin.ui import Fold, Grid, Headline, Paragraph, Part, Report, Section, band_label, plural, render_report


def _printed(value: object, is_group: bool) -> object:
    return "" if value is None else band_label(str(value)) if is_group else value


def _with_roll(certificate: Certificate) -> tuple[Part, ...]:
    command = "safemargin verify certificate.json . --roll roll.csv" + (
        " --rerun" if certificate.rule == "rerun" else ""
    )
    return "Whoever has the roll can verify the statement too, from published counts alone:", Paragraph(command, "code")


def public_page(
    title: str,
    tables: Sequence[PublishedTable],
    certificate: Certificate,
    hashes: Mapping[str, str],
    *,
    orders: Orders,
    onlookers: Sequence[str],
    rule: str,
) -> str:
    """The page beside the published tables. It is made from what is published only."""
    sections = []
    for table in tables:
        rows = list(rows_of(table, orders))
        columns = list(rows[0]) if rows else []
        values = [[_printed(row.get(name), name in table.axes) for name in columns] for row in rows]
        merged = sum(len(group) > 1 for groups in table.groups for group in groups)
        note = f"{plural(merged, 'group')} of several categories, joined by | or as one band." if merged else ""
        heading = f"{table.name}: {plural(len(rows), 'row')}"
        sections.append(Fold(heading, note, Grid(columns, values, sortable=True), is_open=len(rows) <= 12))
    return render_report(
        Report(
            title or "Published tables",
            Headline("sound", "These tables are safe to read and to use.", certificate.statement),
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
                Paragraph("safemargin verify certificate.json .", "code"),
                *(_with_roll(certificate) if WITNESSES in hashes else ()),
                Grid(("file", "SHA-256"), list(hashes.items())),
            ),
        )
    )

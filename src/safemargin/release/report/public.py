"""The page for the public beside the published tables, made from what is published only: results first, proof last."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from safemargin.core import PublishedTable
from safemargin.io import rows_of
from safemargin.release.report.answers import RULE_NOT_CHECKED
from safemargin.release.report.groups import Orders
from safemargin.ui import (
    CHECK,
    CountCell,
    CountRow,
    CountTable,
    Coverage,
    Dot,
    DotPlot,
    Downloads,
    Fold,
    Grid,
    Paragraph,
    Part,
    Protection,
    Report,
    ResultBar,
    Section,
    Strip,
    band_label,
    crosstab,
    percent,
    plural,
    render_report,
)

HOW_TO_CHECK = (
    Paragraph("safemargin verify published", "code"),
    "Whoever may hold the folder for auditors can verify the statement too:",
    Paragraph("safemargin verify published --auditors auditors", "code"),
)
"""What somebody does who wants to check a release."""
FORMATS = {"csv": "CSV", "xlsx": "Excel", "json": "JSON", "parquet": "Parquet", "px": "PX", "sdmx.csv": "SDMX-CSV"}
"""Words of the formats, in the order of the links."""
SUPPRESSED = "not published, to protect people"
"""The one reason that a page for the public gives: it never separates primary from secondary suppression."""
FEWEST_DOTS, MOST_STRIPS, MOST_SEGMENTS = 6, 6, 6
OPEN_ROWS = 150
"""Rows of a table that is open."""


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
    data = {table.name: [list(row.values()) for row in rows_of(table, orders)] for table in tables}
    crossed = {table.name: crossed_table(table, tables, orders, bool(certificate["slack"])) for table in tables}
    singles = [table for table in tables if len(table.axes) == 1]
    ranked = sorted(singles, key=lambda table: len(table.groups[0]))
    plots = [plot for table in singles if (plot := dot_plot(crossed[table.name])) is not None]
    plots = sorted(plots, key=lambda plot: -len(plot.strips[0].dots))[:1]
    links = {table["name"]: links_of(table["files"]) for table in certificate["tables"]}
    sections: list[Part] = [_table(crossed[table.name], links.get(table.name, [])) for table in ranked]
    if ranked:
        sections[-1:-1] = [Section(plot.caption, plot) for plot in plots]
    sections += [_table(crossed[table.name], links.get(table.name, [])) for table in tables if len(table.axes) > 1]
    kinds, sentences = protection(certificate, tables)
    page = render_report(
        Report(
            certificate["title"] or "Published tables",
            *result_parts(certificate["questions"][0]["people"], tables),
            _coverage(tables),
            *not_checked(certificate),
            *_files(links),
            *sections,
            Section("How people were protected", Protection(kinds, sentences), anchor="protect"),
            CHECK,
            Section(
                "Statement, rule and files",
                Fold("The whole statement", certificate["statement"]),
                Fold(
                    "Against whom, and by which rule",
                    f"Onlookers considered: {', '.join(onlookers) or 'anybody who reads these tables'}.",
                    rule,
                ),
                Fold("The same on the command line", *HOW_TO_CHECK),
                Fold(f"SHA-256 of {plural(len(hashes), 'file')}", Grid(("file", "SHA-256"), list(hashes.items()))),
                *file_folds(tables, orders),
            ),
            kicker="Published counts, with a certificate that anybody can check",
        ),
    )
    return with_data(page, data)


def file_folds(tables: Sequence[PublishedTable], orders: Orders) -> Iterator[Fold]:
    """The rows of every table as its files have them, which a checker compares with the files."""
    for table in tables:
        rows = list(rows_of(table, orders))
        values = [["" if value is None else value for value in row.values()] for row in rows]
        merged = sum(len(group) > 1 for groups in table.groups for group in groups)
        note = f"{plural(merged, 'group')} of several categories, joined by |." if merged else ""
        title = f"Rows of the file {table.name}: {plural(len(rows), 'row')}"
        grid = Grid(list(rows[0]) if rows else [], values, sortable=True)
        yield Fold(title, note, grid, on_paper=False)


def not_checked(certificate: Mapping[str, Any]) -> list[Part]:
    """What was not shown, for everybody to read: amber, since less is known than that the rule discloses nothing."""
    missing = [RULE_NOT_CHECKED] if certificate["rule"]["label"] != "rerun" else []
    if certificate["unproved"]:
        missing.append(f"Not checked: {plural(certificate['unproved'], 'count')} that only fractional tables show.")
    return [Paragraph(text, "warning") for text in missing]


def with_data(page: str, data: Mapping[str, Sequence[Sequence[object]]]) -> str:
    """A page with the rows of every table as data, by the name of the table."""
    # A block of data is not run; an angle bracket could end it.
    block = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return page.replace("</body>", f'<script type="application/json" id="tables">{block}</script>\n</body>')


def crossed_table(
    table: PublishedTable, tables: Sequence[PublishedTable], orders: Orders, has_slack: bool
) -> CountTable:
    """A table with shares, its suppressed groups, and what these have together, which everybody can subtract."""
    made = crosstab(table, tables, orders=orders, shares=bool(table.options), total_name="All")
    together = None
    rows = [row for row in made.rows if row.counts[0].value is None]
    is_plain = all(count.status != "noised" for row in made.rows for count in row.counts)
    if rows and made.total and len(table.axes) == 1 and is_plain and not has_slack:
        shown = [row for row in made.rows if row.counts[0].value is not None]
        gaps = [
            (total.value or 0) - sum(row.counts[place].value or 0 for row in shown)
            for place, total in enumerate(made.total.counts)
        ]
        members = sum(name.count(" | ") + 1 for row in rows for name in row.labels)
        words = f"{plural(members, 'suppressed category')} together"
        if min(gaps) >= 0 and all(count.value is not None for count in made.total.counts):
            together = CountRow((words,), [CountCell(gap) for gap in gaps])
    return CountTable(
        f"By {table.name}" if table.axes else "Everybody",
        made.corners,
        made.columns,
        made.rows,
        made.total,
        together,
        totals=made.totals,
        shares=made.shares,
        why=SUPPRESSED,
    )


def _table(table: CountTable, links: Sequence[tuple[str, str]]) -> Part:
    parts: tuple[Part, ...] = (Downloads(links), table)
    if len(table.rows) <= OPEN_ROWS:
        return Section(table.caption, *parts)
    return Section(table.caption, parts[0], Fold(f"{len(table.rows):,} rows", table, is_open=len(table.rows) <= 600))


def result_parts(people: int, tables: Sequence[PublishedTable]) -> Iterator[Part]:
    """The finding: what most of so many people chose."""
    total = next((table for table in tables if not table.axes), None)
    if total is None:
        return
    counts = {
        (total.options[option] if option >= 0 else ""): count
        for option, count in zip(total.option.tolist(), total.lower.tolist(), strict=True)
    }
    answers = sum(counts.values())
    if not total.options:
        yield Paragraph(f"{answers:,} of {plural(people, 'person')} are counted.", "lead")
        return
    first = max(counts, key=lambda name: counts[name])
    of = f"{answers:,} answers" if answers != people else plural(people, "person")
    yield Paragraph(f"{percent(counts[first] / max(answers, 1))} of {of} chose {first}.", "lead")
    ordered = dict(sorted(counts.items(), key=lambda item: -item[1]))
    if len(ordered) > MOST_SEGMENTS:
        names = list(ordered)
        others = sum(ordered[name] for name in names[MOST_SEGMENTS - 1 :])
        rest = f"{len(names) - MOST_SEGMENTS + 1:,} others"
        ordered = {**{name: ordered[name] for name in names[: MOST_SEGMENTS - 1]}, rest: others}
    yield ResultBar(ordered, answers)


def _status(table: PublishedTable) -> list[tuple[str, int]]:
    """How every group of a table of one axis is published, and how many categories it has."""
    found = {code: status for code, status in zip(table.codes[:, 0].tolist(), table.status, strict=True)}
    return [
        (
            "merged" if len(group) > 1 and found.get(code) in ("exact", "merged") else found.get(code, "exact"),
            len(group),
        )
        for code, group in enumerate(table.groups[0])
    ]


def _coverage(tables: Sequence[PublishedTable]) -> Part:
    """How many categories of the longest axis are exact, merged, noised and suppressed."""
    singles = [table for table in tables if len(table.axes) == 1]
    if not singles:
        return None
    longest = max(singles, key=lambda table: (any(s != "exact" for s, _ in _status(table)), len(table.groups[0])))
    states = _status(longest)
    every = sum(members for _, members in states)
    parts = []
    for kind in ("exact", "merged", "noised", "suppressed"):
        members = [size for state, size in states if state == kind]
        if members:
            into = f" into {plural(len(members), 'group')}" if kind == "merged" else ""
            parts.append(f"{sum(members):,} {'is' if sum(members) == 1 else 'are'} {kind}{into}")
    words = f"Of {plural(every, 'category')} of {longest.axes[0]}, {_and(parts)}. {_changed(tables)}"
    order = ("exact", "merged", "noised", "suppressed")
    squares = sorted(
        [
            (state, size if state == "merged" else 1)
            for state, size in states
            for _ in range(1 if state == "merged" else size)
        ],
        key=lambda each: order.index(each[0]) if each[0] in order else 0,
    )
    return Coverage(squares if every <= 400 else [], words)


def _changed(tables: Sequence[PublishedTable]) -> str:
    noised = sum(status == "noised" for table in tables for status in table.status)
    return f"{plural(noised, 'count')} carry random noise." if noised else "No number on this page was changed."


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def dot_plot(table: CountTable, fewest: int = FEWEST_DOTS) -> DotPlot | None:
    """How the groups of an axis differ, option by option; nothing where there are fewer than `fewest`."""
    shown = [row for row in table.rows if row.counts and row.counts[0].value]
    if not table.shares or len(shown) < fewest or table.total is None or not table.total.counts[0].value:
        return None
    options = sorted(range(1, len(table.columns)), key=lambda place: -(_value(table.total, place)))[:MOST_STRIPS]
    strips = []
    for place in sorted(options):
        dots = [
            Dot(
                band_label(row.labels[0]),
                _value(row, place) / _value(row, 0),
                _value(row, 0),
                "noised" if row.counts[place].status == "noised" else "merged" if " | " in row.labels[0] else "exact",
            )
            for row in shown
        ]
        if table.together and _value(table.together, 0):
            whole = _value(table.together, 0)
            dots.append(Dot(table.together.labels[0], _value(table.together, place) / whole, whole, "together"))
        strips.append(Strip(table.columns[place], dots, _value(table.total, place) / _value(table.total, 0)))
    kinds = [
        kind for kind in ("exact", "merged", "noised", "together") if any(d.status == kind for d in strips[0].dots)
    ]
    return DotPlot(f"How groups differ, by {table.corners[0]}", strips, kinds)


def _value(row: CountRow | None, place: int) -> int:
    return (row.counts[place].value or 0) if row else 0


def protection(certificate: Mapping[str, Any], tables: Sequence[PublishedTable]) -> tuple[list[str], list[str]]:
    """What was done, for the diagram, and in three sentences; the last is the first one of the statement."""
    statuses = {status for table in tables for status in table.status}
    merged = any(len(group) > 1 for table in tables if len(table.axes) == 1 for group in table.groups[0])
    return sentences_of(certificate, statuses, merged)


def sentences_of(
    certificate: Mapping[str, Any], statuses: Collection[str], merged: bool
) -> tuple[list[str], list[str]]:
    """The same from the statuses that occur, and whether groups are merged."""
    kappa = certificate["target"]["kappa"]
    kinds = ["exact"]
    few = f"No group under {plural(kappa, 'person')} is published by itself."
    if merged:
        kinds.append("merged")
        few = (
            f"Groups under {plural(kappa, 'person')}, or nearly of one mind, were merged with others or not published."
        )
    if "suppressed" in statuses:
        kinds.append("suppressed")
    if "noised" in statuses:
        kinds.append("noised")
    hidden = {
        (False, False): "Every count that is shown is exact.",
        (
            True,
            False,
        ): "Where nearly everybody or nearly nobody in a group chose one answer, it was suppressed, with enough "
        "others that no subtraction discloses it.",
        (False, True): "Some counts carry random noise, drawn so that nobody can infer which groups needed it.",
        (
            True,
            True,
        ): "Some groups were suppressed, with enough others that no subtraction discloses them; other counts "
        "carry random noise.",
    }["suppressed" in statuses, "noised" in statuses]
    first, dot, _ = str(certificate["statement"]).partition(". ")
    return kinds, [few, hidden, first + dot.strip()]


def links_of(files: Mapping[str, str]) -> list[tuple[str, str]]:
    """The files of a table as links, by their format."""
    ends = {name: name.partition(".")[2] for name in files}
    order = list(FORMATS)
    ranked = sorted(files, key=lambda name: order.index(ends[name]) if ends[name] in order else len(order))
    return [(FORMATS.get(ends[name], ends[name].upper()), name) for name in ranked]


def _files(links: Mapping[str, Sequence[tuple[str, str]]]) -> Iterator[Part]:
    if total := links.get("total"):
        yield Downloads(total, "Download the totals:")

"""The page for the public about several questions: heat maps first, one certificate, proof last.

A heat map has questions by groups: the share favourable of a scale (of other questions the share of the option that
most chose), coloured by the distance from everybody. It is made from published counts only; what is not published is a
hatched gap.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from safemargin.release.derived import Row, Scales, counted, figures
from safemargin.release.questions import SurveyQuestion
from safemargin.release.report.public import HOW_TO_CHECK, links_of, not_checked, sentences_of, with_data
from safemargin.ui import (
    CHECK,
    AnswerStrips,
    Downloads,
    Fold,
    Grid,
    Heat,
    HeatCell,
    HeatRow,
    OnPage,
    Paragraph,
    Protection,
    Report,
    Section,
    band_label,
    percent,
    plural,
    render_report,
)

NEAR, FAR = 0.05, 0.12
"""Differences from everybody, in shares, from which on a cell of the heat map is coloured, and strongly."""
STEPS = (
    f"{100 * FAR:.0f} points or more below all ▼",
    f"{100 * NEAR:.0f} to {100 * FAR - 1:.0f} below",
    "about the same",
    f"{100 * NEAR:.0f} to {100 * FAR - 1:.0f} above",
    f"{100 * FAR:.0f} or more above ▲",
)


def heat_maps(
    questions: Sequence[SurveyQuestion], tables: Mapping[str, Sequence[Row]], scales: Scales
) -> Iterator[Heat]:
    """One heat map per published table of one axis, from published rows alone."""
    overall = counted(tables.get("total", ()))
    for name, rows in tables.items():
        cells = counted(rows)
        groups = list(dict.fromkeys(group for _, group in cells))
        if name == "total" or len(groups[0]) != 1:
            continue
        theme, lines = None, []
        for question in questions:
            figure, scale = _figure(question, scales, overall)
            everybody = figures(overall[question.name, ()], scale)
            whole = everybody[figure] or 0.0
            line = [
                _cell(question, group[0], cells.get((question.name, group)), scale, figure, whole) for group in groups
            ]
            strip = [(option, everybody[f"share of {option}"] or 0.0) for option in question.options]
            heading = question.section.theme or ""
            label = question.label if scale else f"{question.label} ({figure.removeprefix('share of ')})"
            shown = heading if heading != theme else ""
            lines.append(HeatRow(label, percent(whole), line, strip if len(strip) <= 12 else (), shown))
            theme = heading
        sizes = [max(sum(c for c in cells[key].values() if c) for key in cells if key[1] == group) for group in groups]
        columns = [(band_label(group[0]), f"{size:,}") for group, size in zip(groups, sizes, strict=True)]
        what = (
            "Share favourable" if len(scales) == len(questions) else "Share favourable, or of the most frequent answer"
        )
        yield Heat(f"{what}, by {name}", "question", columns, lines, STEPS, name)


def _figure(
    question: SurveyQuestion, scales: Scales, overall: Mapping[tuple[str, tuple[str, ...]], Mapping[str, int | None]]
) -> tuple[str, tuple[str, ...]]:
    """Which figure of a question is shown, and its scale."""
    if question.name in scales:
        return "favourable", scales[question.name]
    counts = overall[question.name, ()]
    return f"share of {max(counts, key=lambda option: counts[option] or 0)}", ()


def _cell(
    question: SurveyQuestion,
    group: str,
    counts: Mapping[str, int | None] | None,
    scale: Sequence[str],
    figure: str,
    whole: float,
) -> HeatCell:
    value = None if counts is None else figures(counts, scale)[figure]
    if value is None or counts is None:
        return HeatCell("", None, f"{question.label}, {group}: not published")
    apart = value - whole
    step = (apart >= NEAR) + (apart >= FAR) - (apart <= -NEAR) - (apart <= -FAR)
    people = sum(count or 0 for count in counts.values())
    return HeatCell(percent(value), int(step), f"{group}: {percent(value)} of {people:,}, {100 * apart:+.0f} points")


def questions_page(
    certificate: Mapping[str, Any],
    questions: Sequence[SurveyQuestion],
    tables: Mapping[str, Sequence[Row]],
    scales: Scales,
    hashes: Mapping[str, str],
    onlookers: Sequence[str],
    rule: str,
) -> str:
    """The page beside the tables. It is made from what is published only, and holds the rows as data."""
    maps = list(heat_maps(questions, tables, scales))
    gaps = sum(cell.step is None for heat in maps for row in heat.rows for cell in row.cells)
    every = sum(len(row.cells) for heat in maps for row in heat.rows)
    lost = (
        f"One certificate for {plural(len(questions), 'question')}. {every - gaps:,} of {every:,} results are published"
    )
    lost += f"; {gaps:,} are not, and no share or mean follows for them." if gaps else "."
    links = {table["name"]: links_of(table["files"]) for table in certificate["tables"]}
    favourable = "Favourable are the two highest answers of a scale (of three answers: the highest)." if scales else ""
    people = max((each["people"] for each in certificate["questions"]), default=0)
    strips = [row for row in maps[0].rows if row.strip] if maps else []
    statuses = {str(row["status"]) for rows in tables.values() for row in rows}
    is_merged = any(" | " in label for table in certificate["tables"] for axis in table["groups"] for label in axis)
    page = render_report(
        Report(
            certificate["title"] or "Published tables",
            Paragraph(_finding(questions, tables, scales), "lead"),
            lost,
            *not_checked(certificate),
            *(Section(heat.caption, Downloads(links.get(heat.table, [])), favourable, OnPage(heat)) for heat in maps),
            Section("How everybody answered", AnswerStrips(strips)) if strips else None,
            Section("How people were protected", Protection(*sentences_of(certificate, statuses, is_merged))),
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
                *_file_folds(tables),
            ),
            kicker=f"{plural(len(questions), 'question')}, up to {plural(people, 'person')}",
        ),
    )
    return with_data(page, {name: [list(row.values()) for row in rows] for name, rows in tables.items()})


def _file_folds(tables: Mapping[str, Sequence[Row]]) -> Iterator[Fold]:
    """The rows of every table as its files have them, which a checker compares with the files."""
    for name, rows in tables.items():
        columns = list(rows[0])
        values = [["" if row[column] is None else row[column] for column in columns] for row in rows]
        title = f"Rows of the file {name}: {plural(len(rows), 'row')}"
        yield Fold(title, Grid(columns, values, sortable=True), on_paper=False)


def _finding(questions: Sequence[SurveyQuestion], tables: Mapping[str, Sequence[Row]], scales: Scales) -> str:
    """What all questions with a scale say together, and which is lowest."""
    overall = counted(tables.get("total", ()))
    shares = [
        (figures(overall[question.name, ()], scales[question.name])["favourable"] or 0.0, question.label)
        for question in questions
        if question.name in scales and (question.name, ()) in overall
    ]
    if not shares:
        return ""
    low, label = min(shares)
    mean = sum(share for share, _ in shares) / len(shares)
    if len(shares) == 1:
        return f"{percent(low)} of answers are favourable."
    return f"On average {percent(mean)} of answers are favourable. The low point is {label} ({percent(low)})."

"""Several questions as one report for the office, and one record."""

from collections.abc import Iterator, Sequence

from safemargin.release.plan import Action
from safemargin.release.questions import SurveyQuestion
from safemargin.release.report.answers import Origin, exposed_together, files_section, with_rule
from safemargin.release.report.context import ReportContext, headline
from safemargin.ui import (
    Answers,
    Figures,
    Grid,
    Headline,
    Paragraph,
    Part,
    Points,
    Report,
    Section,
    Signatures,
    exact_percent,
    percent,
    plural,
)

BANNER = ("Confidential.", "The reasons on this page look at answers. Do not publish it.")
TASKS = ("decided by", "checked by")
RULE_WORDS = {"rerun": "checked"}
Pairs = Sequence[tuple[SurveyQuestion, ReportContext]]


def _verdict(context: ReportContext, pairs: Pairs, shares: tuple[int, int]) -> tuple[str, str, str]:
    if not context.is_sound:
        return "unsound", f"{headline(context)}.", "Nothing was published."
    exact, every = shares
    shown = [question.name for question, own in pairs if own.total_exposes]
    if shown:
        return (
            "partly",
            f"The total alone shows how everybody answered {', '.join(shown)}; publishing it is your decision.",
            "The tables add nothing to that.",
        )
    lost = [
        f"{question.name} by {axis}"
        for question, own in pairs
        for axis, groups in own.axes.items()
        if axis and all(group.action is Action.SUPPRESSED for group in groups)
    ]
    kept = f"{exact:,} of {every:,} results (a question in a category of an axis) are exact."
    if lost or 5 * exact < 4 * every:
        named = ", ".join(lost[:6]) + (f" and {len(lost) - 6:,} more" if len(lost) > 6 else "")
        return (
            "partly",
            "You may publish this release, but a part of it is lost.",
            kept + (f" Nothing is published of {named}. {_reason(pairs)}" if lost else ""),
        )
    return "sound", f"You may publish {plural(len(pairs), 'question')} in one release.", kept


def _reason(pairs: Pairs) -> str:
    """Why the first table is lost that is."""
    for question, own in pairs:
        for axis, groups in own.axes.items():
            if axis and groups and all(group.action is Action.SUPPRESSED for group in groups) and groups[0].reason:
                return f"{question.name} by {axis}: {groups[0].reason}."
    return ""


def questions_verdict(context: ReportContext, pairs: Pairs, shares: tuple[int, int]) -> tuple[str, str, str]:
    """The state, the sentence that counts, and one sentence more."""
    return with_rule(context, *_verdict(context, pairs, shares))


def questions_answers(context: ReportContext, pairs: Pairs, shares: tuple[int, int]) -> list[tuple[str, str, str]]:
    """May I publish, what did it cost, who would be exposed: question, answer, and a sentence or two."""
    tried = sum(len(findings.attempts) for findings in context.findings)
    beta, kappa = context.plan.target.beta, context.plan.target.kappa
    exact, every = shares
    names = ", ".join(map(repr, context.onlookers))
    return [
        (
            "May I publish?",
            "Yes" if context.is_sound else "No",
            f"Tested with {plural(tried, 'attack')} against {names}. No group under {plural(kappa, 'person')} is "
            f"published, and nobody may be able to infer that more than {exact_percent(1 - beta)} of a group "
            "answered alike.",
        ),
        (
            "What did it cost?",
            "Nothing" if exact == every else f"{every - exact:,} of {every:,} results",
            "Every result that was asked for is exact."
            if exact == every
            else f"{percent(exact / every)} of the results are exact; the others are merged or not published.",
        ),
        ("Who would be exposed if every table asked for were exact?", *_exposed(pairs)),
    ]


def _exposed(pairs: Pairs) -> tuple[str, str]:
    """Who would be exposed in the question with most of them, if every table were published as it is."""
    question, own = max(
        pairs, key=lambda pair: (pair[1].plan.exposed_people, any(r.proved for r in pair[1].plan.refusals))
    )
    if own.plan.exposed_people:
        return plural(own.plan.exposed_people, "person"), f"In {question.label}, the question with most of them."
    people, why = exposed_together(own.plan)
    return people, f"{question.label}: {why[0].lower()}{why[1:]}" if own.plan.refusals else why


def _groups(pairs: Pairs) -> Iterator[Part]:
    """Per axis, its groups with the number of questions for which each is exact, and why others are not."""
    axes: dict[str, dict[str, list[tuple[SurveyQuestion, Action, str]]]] = {}
    for question, own in pairs:
        for group in own.groups:
            axes.setdefault(group.axis, {}).setdefault(group.label, []).append((question, group.action, group.reason))
    for axis, groups in axes.items():
        rows = []
        for label, decided in groups.items():
            counts = {action: sum(1 for _, done, _ in decided if done is action) for action in Action}
            reasons = dict.fromkeys(reason for _, done, reason in decided if done is not Action.EXACT)
            if not reasons:
                continue
            rows.append(
                (
                    label,
                    counts[Action.EXACT],
                    counts[Action.MERGED],
                    counts[Action.SUPPRESSED],
                    "; ".join(reasons)[:300],
                )
            )
        columns = ("group", "questions exact", "merged", "not published", "why")
        whole = len(groups) - len(rows)
        said = f"{whole:,} of {plural(len(groups), 'group')} of {axis} are exact in every question."
        if not rows:
            said = f"All {plural(len(groups), 'group')} of {axis} are exact in every question."
        yield Section(f"Groups of {axis}", said, Grid(columns, rows, most=12) if rows else None)


def questions_report(context: ReportContext, pairs: Pairs, shares: tuple[int, int], origin: Origin) -> Report:
    """Everything for the office that made the release. It holds reasons that look at answers."""
    state, sentence, detail = questions_verdict(context, pairs, shares)
    refused = [f"{question.name}: {refusal}" for question, own in pairs for refusal in own.plan.refusals]
    rows = [
        (
            question.label,
            question.people,
            len(question.options),
            f"{sum(len(d.group) for d in own.plan.decisions if d.action is Action.EXACT):,} of "
            f"{sum(len(d.group) for d in own.plan.decisions):,}",
            RULE_WORDS.get(own.plan.certificate.rule, "not checked"),
        )
        for question, own in pairs
    ]
    columns = ("question", "people", "options", "exact results", "against somebody who knows the rule")
    return Report(
        context.title,
        Headline(state, sentence, detail),
        Answers(questions_answers(context, pairs, shares)),
        files_section(origin),
        *(Paragraph(note, "warning") for note in context.plan.notes),
        Section("Questions", Grid(columns, rows, most=20)),
        *_groups(pairs),
        Section("Alternatives that were rejected", Points(refused)) if refused else None,
        Section("Certificate", context.plan.certificate.statement),
        banner=BANNER,
    )


def questions_record(
    context: ReportContext, pairs: Pairs, shares: tuple[int, int], origin: Origin, names: Sequence[str]
) -> Report:
    """The record to be printed and signed: limits, questions, what was decided, and by whom."""
    _, sentence, detail = with_rule(context, *_verdict(context, pairs, shares))
    target = context.plan.target
    limits = {
        "no share may be inferred above": exact_percent(1 - target.beta),
        "least people of a published group": target.kappa,
        "a count is disclosed if its interval is no wider than": target.tau,
    }
    signed = [*names, "", ""][:2]
    return Report(
        f"Decision record: {context.title}",
        Paragraph(sentence, "strong"),
        detail,
        files_section(origin),
        Section("Limits", Figures(limits), f"Onlookers considered: {', '.join(context.onlookers) or 'none'}."),
        Section("Questions", Points([f"{question.name}: {question.label}" for question, _ in pairs])),
        *_groups(pairs),
        Section("Certificate", context.plan.certificate.statement),
        Signatures(
            [f"{task} {name}".rstrip() for task, name in zip(("decided by", "checked by"), signed, strict=True)]
        ),
        banner=BANNER,
    )

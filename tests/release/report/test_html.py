"""The page: one file, nothing fetched, nothing that users wrote taken for markup."""

import math
import re
from dataclasses import replace
from html.parser import HTMLParser

from pictures import validate
from safemargin.release.draft import Draft
from safemargin.release.plan import Action
from safemargin.release.report.charts import strictness_chart
from safemargin.release.report.groups import Choice, DecidedGroup
from safemargin.release.report.sections import counts_text

VOID = {"meta", "br", "hr", "img", "link", "input"}
EVIL = "<script>alert(1)</script>"


class Reader(HTMLParser):
    """Checks nesting and collects the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def page(draft: Draft, title: str = "A vote") -> tuple[str, Reader]:
    html = replace(draft, title=title).to_html()
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return html, reader


def test_the_page_stands_alone(story) -> None:
    html, reader = page(story)
    addresses = re.sub(r'xmlns(:xlink)?="http://www\.w3\.org/[^"]*"', "", html)
    assert "http://" not in addresses and "https://" not in addresses
    assert not {"link", "img", "iframe"} & set(reader.tags) and reader.tags.count("script") == 2
    assert set(re.findall(r"url\((.)", html)) <= {"#"}


def test_the_page_reports_the_release(story) -> None:
    html, reader = page(story)
    for words in (
        "Do not publish it",
        "? You may publish this release.",
        "Not checked: what somebody infers who knows the rule",
        "3 of 8 categories of religion",
        story.plan.certificate.statement,
        "By district: 58 rows",
        "489,275 (97.9 %)",
        "D58 | D59 | D60",
        "nearly unanimous",
        str(story.plan.refusals[0]),
        "subtracts published tables",
        "census analyst",
        "kappa = 30",
    ):
        assert words in reader.text.replace("\u00a0", " ")
    assert html.count('class="bar ') == 40


def test_a_failed_release_says_so(story, broken_story) -> None:
    _, reader = page(broken_story)
    assert "✕ Not certified: do not publish." in reader.text and "! 12" in reader.text
    mixed = replace(story, findings=broken_story.findings)
    assert "✕ An attack succeeded" in page(mixed)[1].text


def test_everything_users_wrote_is_escaped(story) -> None:
    plan = replace(
        story.plan,
        decisions=tuple(
            replace(decision, group=frozenset({EVIL}) if decision.group == {"woman"} else decision.group, reason=EVIL)
            for decision in story.plan.decisions
        ),
        refusals=tuple(replace(refusal, what=EVIL, cell={EVIL: EVIL}) for refusal in story.plan.refusals),
        guarantees=tuple(replace(guarantee, statement=EVIL) for guarantee in story.plan.guarantees),
        certificate=replace(story.plan.certificate, statement=EVIL, method=EVIL),
    )
    findings = tuple(
        replace(
            each,
            onlooker=replace(each.onlooker, name=EVIL),
            exposure=replace(each.exposure, options=(EVIL, '"><b>', "'", "&")),
            attempts=tuple(replace(attempt, attack=EVIL, summary=EVIL) for attempt in each.attempts),
        )
        for each in story.findings
    )
    evil = replace(story, plan=plan, publication=replace(story.publication, rule=EVIL), findings=findings)
    html, reader = page(evil, EVIL)
    assert html.lower().count("<script") == 2, "those of the page"
    assert reader.text.count(EVIL) > 90
    assert "b" not in reader.tags


def test_missing_values(bare_story, optionless_story, story) -> None:
    _, reader = page(bare_story)
    assert "Only the total is published." in reader.text and "Nothing had to be rejected." in reader.text
    _, reader = page(optionless_story)
    assert "counted" in reader.text
    _, reader = page(replace(story, findings=()))
    assert "not been attacked" in reader.text and "It has not been attacked yet." in reader.text


def test_unknown_sizes_and_no_fit(story) -> None:
    blind = replace(
        story.findings[0], exposure=replace(story.findings[0].exposure, people=None, fitted=None, population=None)
    )
    _, reader = page(replace(story, findings=(blind,)))
    assert "What the onlooker census analyst can infer" in reader.text and "The dot" not in reader.text


def test_an_omitted_axis_is_named(story) -> None:
    whole = replace(
        story.plan.decisions[-1],
        group=frozenset(group.label for group in story.groups[-6:]),
        action=Action.SUPPRESSED,
        reason="the tables together would disclose the answers of 3 people",
    )
    plan = replace(story.plan, decisions=(*story.plan.decisions[:-6], whole))
    _, reader = page(replace(story, plan=plan))
    assert "nothing is published about this axis (6 categories)" in reader.text


def test_a_release_without_a_total(story) -> None:
    release = replace(story.publication, tables=story.publication.tables[1:])
    _, reader = page(replace(story, publication=release))
    assert "Harbour" in reader.text


def test_pictures_follow_the_schema() -> None:
    validate(strictness_chart([Choice("now", "merge", 0.05, categories=3), Choice("other", "noise", 0.03)]))


def test_pictures_show_where_this_release_is() -> None:
    choices = [Choice("now", "auto", 0.05, categories=40), Choice("3 %", "auto", 0.03, categories=50)]
    ring = strictness_chart(choices)["layer"][1]["data"]["values"]
    assert ring == [{"limit": 0.05, "kept": 40, "words": "you are here"}]


def test_noised_counts_state_their_error() -> None:
    """The least distance within which 95 of 100 draws of the noise are, by adding up its law."""
    group = DecidedGroup("site", "North", 1, 50, Action.NOISED, "", {"yes": 30, "no": 20}, 0.5)
    error, ratio = int(group.margin_of_error), math.exp(-0.5)
    law = {n: (1 - ratio) / (1 + ratio) * ratio ** abs(n) for n in range(-200, 201)}
    beyond = [sum(chance for n, chance in law.items() if abs(n) > most) for most in (error, error - 1)]
    assert beyond[0] <= 0.05 < beyond[1]
    assert counts_text(group) == f"yes\xa0≈\xa030\xa0±\xa0{error} · no\xa0≈\xa020\xa0±\xa0{error}"

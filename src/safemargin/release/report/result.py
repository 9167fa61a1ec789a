"""What the exact total discloses, as a section of the page."""

from safemargin.release.report.story import Story
from safemargin.ui import Html, element, figure, paragraphs, points, section
from safemargin.voting.result_report import CAPTION, curve_chart, result_lines, result_words


def result_section(story: Story) -> Html:
    """The part of the report about the result itself."""
    if story.privacy is None:
        return Html("")
    privacy = story.privacy
    return section(
        "What the result itself tells",
        paragraphs(element("strong", result_words(privacy))),
        points(result_lines(privacy)),
        figure(story.draw(curve_chart(privacy.curve)), CAPTION, fits=True),
    )

"""What a page for the office shows of a plan: what was counted and what is published, remedies, and other choices."""

from collections.abc import Sequence
from dataclasses import dataclass

MOST_SEGMENTS = 150
"""Categories that a strip shows one by one."""


@dataclass(frozen=True)
class StripGroup:
    """Categories that are published as one: how, and each with its people."""

    status: str
    members: Sequence[tuple[str, int]]

    @property
    def people(self) -> int:
        """People in all of them."""
        return sum(people for _, people in self.members)


@dataclass(frozen=True)
class AxisStrip:
    """One axis before and after: its groups in the order of the categories, and what is left in a few words."""

    axis: str
    categories: int
    groups: Sequence[StripGroup]
    words: str
    is_lost: bool = False

    @property
    def drawn(self) -> list[StripGroup]:
        """The groups; where there are too many, one for each status."""
        if self.categories <= MOST_SEGMENTS:
            return list(self.groups)
        found: dict[str, tuple[int, int]] = {}
        for group in self.groups:
            count, people = found.get(group.status, (0, 0))
            found[group.status] = count + len(group.members), people + group.people
        return [StripGroup(status, [(f"{count:,} {status}", people)]) for status, (count, people) in found.items()]


@dataclass(frozen=True)
class AxisStrips:
    """What was counted and what is published, axis by axis; widths are people."""

    axes: Sequence[AxisStrip]
    kinds: Sequence[str]


@dataclass(frozen=True)
class Remedies:
    """Why much was lost, and what was tried and keeps more: words, key of the project, what it keeps."""

    why: str
    tried: Sequence[tuple[str, str, str]]
    note: str = ""
    title: str = "Why so much was lost"


@dataclass(frozen=True)
class ChoiceBar:
    """One way to publish with the share of people in exact groups; none where it was not computed."""

    words: str
    detail: str
    share: float | None
    kind: str
    """`now`, `best` or `other`."""


@dataclass(frozen=True)
class ChoiceBars:
    """Other choices as bars with their labels."""

    caption: str
    bars: Sequence[ChoiceBar]

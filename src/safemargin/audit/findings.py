"""What an attacker gets out of a release."""

from dataclasses import dataclass, field

from safemargin.bounds.exposure import Exposure
from safemargin.core import Onlooker, Target


@dataclass(frozen=True)
class Finding:
    """One cell that one attack gives away."""

    attack: str
    cell: dict[str, str] = field(hash=False)
    option: str | None
    people: int | None
    lower: int
    upper: int
    words: str


@dataclass(frozen=True)
class Attempt:
    """One attack: what it looked at, what it found, how many people that exposes."""

    attack: str
    summary: str
    looked_at: int
    findings: tuple[Finding, ...] = ()
    people_exposed: int = 0


@dataclass(frozen=True)
class Findings:
    """All attacks of one onlooker on one release."""

    onlooker: Onlooker
    target: Target
    exposure: Exposure
    attempts: tuple[Attempt, ...]

    @property
    def is_safe(self) -> bool:
        """Whether no attack found anything."""
        return not any(attempt.findings for attempt in self.attempts)

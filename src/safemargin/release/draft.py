"""A release before it is certified and attacked."""

from dataclasses import dataclass

from safemargin.core import Publication
from safemargin.release.plan import Certificate


@dataclass(frozen=True)
class Draft(Publication):
    """What a plan would publish, with its certificate and the names of the onlookers it was made against."""

    certificate: Certificate | None = None
    onlookers: tuple[str, ...] = ()

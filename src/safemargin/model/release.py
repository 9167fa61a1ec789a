"""The only thing that leaves: published tables and public metadata, nothing secret."""

from dataclasses import dataclass, field

from safemargin.model.arrays import IntArray
from safemargin.model.guarantee import Guarantee
from safemargin.model.plan import Certificate
from safemargin.model.published import PublishedTable
from safemargin.model.target import Target


@dataclass(frozen=True)
class Release:
    """Tables to publish with the target they meet, the promises made and the certificate.

    `witness` tables prove the certificate; they hold the joint roll and are written only where that is public.
    """

    tables: tuple[PublishedTable, ...]
    target: Target
    guarantees: tuple[Guarantee, ...] = ()
    certificate: Certificate | None = None
    onlookers: tuple[str, ...] = ()
    rule: str = ""
    witness: tuple[IntArray, ...] = field(default=(), hash=False, compare=False)

"""The only thing that leaves: published tables and public metadata, nothing secret."""

from dataclasses import dataclass, field

from safemargin.core.arrays import IntArray
from safemargin.core.guarantee import Guarantee
from safemargin.core.published import PublishedTable
from safemargin.core.target import Target
from safemargin.release.plan import Certificate


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

"""What the public sees: tables and public metadata, nothing secret. Ours, or somebody else's."""

from dataclasses import dataclass, field

from safemargin.core.arrays import IntArray
from safemargin.core.guarantee import Guarantee
from safemargin.core.published import PublishedTable
from safemargin.core.target import Target


@dataclass(frozen=True)
class Publication:
    """Published tables, the target to judge them by, and what is stated beside them.

    `witness` tables prove that nothing is disclosed; they hold the joint roll and are written only where that is
    public.
    """

    tables: tuple[PublishedTable, ...]
    target: Target
    guarantees: tuple[Guarantee, ...] = ()
    rule: str = ""
    witness: tuple[IntArray, ...] = field(default=(), hash=False, compare=False)

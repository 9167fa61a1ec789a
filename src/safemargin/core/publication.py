"""What the public sees: tables and public metadata, nothing secret. Ours, or somebody else's."""

from dataclasses import dataclass, field

from safemargin.core.arrays import IntArray
from safemargin.core.guarantee import Guarantee
from safemargin.core.published import Group, PublishedTable
from safemargin.core.target import Target


@dataclass(frozen=True)
class NoisedGroup:
    """What the noised counts of one group say, for somebody who takes all counts as equally probable beforehand.

    `chance` is the probability that its share is outside the limits (of `secret`, where there are several), rounded up
    to three digits. `counted` says whether the draw that chose the group is in the likelihood.
    """

    axis: str
    group: Group
    chance: str
    secret: str = ""
    counted: bool = True


@dataclass(frozen=True)
class Publication:
    """Published tables, the target to judge them by, and what is stated beside them.

    `noised` has a line for every noised group, `omitted` the axes of which the noised counts said too much.

    `witness` tables prove that nothing is disclosed; they hold the joint roll and are written only where that is
    public.
    """

    tables: tuple[PublishedTable, ...]
    target: Target
    guarantees: tuple[Guarantee, ...] = ()
    rule: str = ""
    noised: tuple[NoisedGroup, ...] = ()
    omitted: tuple[str, ...] = ()
    witness: tuple[IntArray, ...] = field(default=(), hash=False, compare=False)

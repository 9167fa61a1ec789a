"""The rule for a table: limits, trees of blocks and the lot, from everything but the answers.

Objects
    rule        `ReleaseRule`: a map from votes to candidates
    kappa       the least number of people in a published group
    tree        per axis, the blocks in which groups cover each other (`protect.AxisCoarsening`)

Method
    1. The target, its protection and the noise of axes must agree with each other (`made_rule`).
    2. Groups below kappa people are merged (`by_size`); axes beyond the reach of proofs are omitted (`by_reach`).
    3. Per axis: which groups are of a kind, which are suppressed for the roll alone, and the tree of the others.

Invariants
    * All of this reads the roll, the target and the totals of options. So two tables with one roll and one total have
      the same trees, and running the rule on other votes (`ReleaseRule.on`) needs no new ones.
    * An error names the key of the project that must change.
"""

from collections.abc import Sequence

import numpy as np

from safemargin.bounds import within_reach
from safemargin.core import InputError, Limits, Onlooker, Table, Target, numpy_generator, onlooker_with_roll
from safemargin.guarantees import check_noise, choice_epsilon
from safemargin.release.rule.candidates import ReleaseRule
from safemargin.release.rule.lot import RandomisedSelection
from safemargin.release.rule.protect import (
    AxisCoarsening,
    add_complementary_suppression,
    by_size,
    hidden_by_roll,
    kinds_of,
    sensitive_groups,
    suppresses_single,
)
from safemargin.release.rule.split import AxisPartition, covers_everybody, group_codes, population, unmerged_split

PROTECTIONS = "auto", "merge", "noise", "suppress"
"""What may be done with groups whose share is outside the target."""
REACH_SEED = 20_100
"""Of the random sets that the reach of a proof is estimated from: the same roll gives the same axes everywhere."""
MANY = "so many axes together cannot be proved safe for so few people"


def made_rule(table: Table, target: Target, onlookers: Sequence[Onlooker], protect: str) -> ReleaseRule:
    """The rule for a table, once the target, its protection and the noise of axes agree with each other.

    Raises `InputError` for a protection that there is none, for noise on axes beside `protect = "noise"`, and where the
    axes cost more than `epsilon_max` together. Without onlookers, one who knows the joint roll is assumed.
    """
    if protect not in PROTECTIONS:
        raise InputError(f"target.protect = {protect!r}: must be one of {', '.join(PROTECTIONS)}")
    noised = [axis for axis in table.schema.axes if axis.epsilon is not None]
    if noised and protect == "noise":
        raise InputError(f'axes.{noised[0].name}.epsilon: choose another target.protect than "noise", or remove it')
    if (spent := sum(axis.epsilon or 0.0 for axis in noised)) > target.epsilon_max:
        raise InputError(
            f"axes.{noised[0].name}.epsilon: the axes cost {spent:g} together, target.epsilon_max is "
            f"{target.epsilon_max:g}"
        )
    limits = target.limits(table.totals.tolist(), population(table), table.schema.options)
    return rule_for(table, limits, tuple(onlookers) or (onlooker_with_roll(table, "joint"),), protect, target)


def rule_for(table: Table, limits: Limits, onlookers: Sequence[Onlooker], protect: str, target: Target) -> ReleaseRule:
    """The rule for a table. Small groups are merged first (Theorem 6(b) of the paper on exact reporting): this reads
    the roll only.

    Everything that a rule holds besides the table and its lot is public: two tables with one roll have the same trees.
    """
    plain = [unmerged_split(table, name) for name in table.schema.names]
    sized = [split if split.axis.epsilon is not None else by_size(split, limits.kappa) for split in plain]
    is_joint = any(onlooker.composition(table.schema.names) == "joint" for onlooker in onlookers)
    if is_joint and table.knows_composition and protect != "noise":
        sized = by_reach(table, sized)
    axes = sum(split.is_published for split in sized)
    if protect == "noise":
        check_noise(table.schema, axes, covers_everybody(table), target)
    # One lot for the whole search: a second draw for the same group would let the search prefer a lucky one, which the
    # epsilon of the choice does not cover.
    lot = RandomisedSelection(choice_epsilon(axes, target.epsilon_max))
    covers = []
    for axis, (split, kinds) in enumerate(zip(sized, kinds_of(table, sized), strict=True)):
        sensitive = sensitive_groups(split, limits.sensitive)
        hides = protect == "suppress" or (protect == "auto" and suppresses_single(split))
        hides = (hides or bool(sensitive)) and protect != "noise"
        always = sensitive
        if hides:
            others = hidden_by_roll(table, sized, axis, limits.kappa) if table.knows_composition else frozenset()
            always = add_complementary_suppression(split, sensitive | others)
        covers.append(AxisCoarsening(split, limits.strict, kinds, hides, always, sensitive))
    return ReleaseRule(table, limits, tuple(onlookers), protect, lot, tuple(covers))


def by_reach(table: Table, splits: Sequence[AxisPartition]) -> list[AxisPartition]:
    """Omit axes, the last ones first, if there are more than a proof can be found for; looks at the roll only.

    How many are within reach is estimated from random sets of profiles with a fixed seed (`bounds.within_reach`), so
    that everybody with the roll comes to the same axes. Axes whose counts are all noised need no proof and stay.
    """
    exact = [axis for axis, split in enumerate(splits) if split.is_published and split.axis.epsilon is None]
    roll = table.people(table.schema.names)
    blocks = np.array([group_codes(splits[axis])[roll.codes[:, axis]] for axis in exact], dtype=np.int64)
    kept = {exact[place] for place in within_reach(blocks, numpy_generator(REACH_SEED))}
    return [split if axis in kept or axis not in exact else split.collapse(MANY) for axis, split in enumerate(splits)]

"""The verdicts that a certificate counts, counted anew from its intervals."""

from collections.abc import Mapping, Sequence

import numpy as np

from safemargin.bounds.certificate import VERDICT_RULE, IntervalCertificate
from safemargin.bounds.system import System, complete_total
from safemargin.core import UNBOUNDED, VERDICTS, InputError, IntArray, Limits, PublishedTable, Target


class Fault(Exception):
    """A claim that does not hold, in words."""


def check_verdicts(
    known: System, stated: IntervalCertificate, by_role: Mapping[str, tuple[PublishedTable, ...]]
) -> None:
    """Raise a fault unless the rule is ours and the counts are right."""
    verdict = stated.verdict or {}
    if verdict.get("rule") != VERDICT_RULE:
        raise Fault("it states another rule for verdicts")
    try:
        target = Target(**verdict.get("target", {}))
    except (TypeError, InputError) as error:
        raise Fault(f"its target is wrong ({error})") from None
    limits = _limits(known, target, (*by_role["table"], *by_role["fact"]), by_role["roll"])
    order = {name: place for place, name in enumerate(known.options)}
    claims = sorted(stated.claims, key=lambda c: (tuple(c.cell[axis] for axis in stated.target), order[c.option or ""]))
    cells = [claim.cell for claim in claims[:: len(order)]]
    ends = [(claim.lower.value, UNBOUNDED if claim.upper.value is None else claim.upper.value) for claim in claims]
    lower, upper = np.array(ends, dtype=np.int64).reshape(len(cells), len(order), 2).transpose(2, 0, 1)
    codes = limits.verdicts(lower, upper, _people(known, by_role["roll"], stated.target, cells))
    found = {str(name): int((codes == code).sum()) for code, name in enumerate(VERDICTS)}
    if found != verdict.get("counts"):
        raise Fault(f"it counts verdicts as {verdict.get('counts')}, they are {found}")


def _limits(known: System, target: Target, facts: Sequence[PublishedTable], rolls: Sequence[PublishedTable]) -> Limits:
    """The target made concrete by the totals that the files state."""
    seen = dict(zip(known.axes, known.categories, strict=True))
    totals: dict[str, int] = {}
    for table in facts:
        for name, total in zip(table.options or ("",), complete_total(table, seen) or (), strict=False):
            totals.setdefault(name, total)
    listed = [totals.get(name, 0) for name in known.options]
    people = [sum(whole) for table in rolls if (whole := complete_total(table, seen)) is not None]
    return target.limits(listed, max(people, default=0) or sum(listed))


def _people(
    known: System, rolls: Sequence[PublishedTable], axes: tuple[str, ...], cells: Sequence[Mapping[str, str]]
) -> IntArray | None:
    """How many people each cell has, where a roll tells."""
    seen = dict(zip(known.axes, known.categories, strict=True))
    sizes: dict[tuple[str, ...], int] = {}
    if known.people is not None:
        columns = [known.axes.index(axis) for axis in axes]
        for codes, people in zip(known.codes[:, columns].tolist(), known.people.tolist(), strict=True):
            key = tuple(seen[axis][code] for axis, code in zip(axes, codes, strict=True))
            sizes[key] = sizes.get(key, 0) + people
    else:
        wide = (roll for roll in rolls if set(roll.axes) >= set(axes) and complete_total(roll, seen) is not None)
        roll = next(wide, None)
        if roll is None or any(len(group) > 1 for axis in axes for group in roll.groups[roll.axes.index(axis)]):
            return None
        for row, people in enumerate(roll.lower.tolist()):
            labels = roll.cell(row)
            key = tuple(labels[axis] for axis in axes)
            sizes[key] = sizes.get(key, 0) + people
    return np.array([sizes.get(tuple(cell[axis] for axis in axes), 0) for cell in cells], dtype=np.int64)

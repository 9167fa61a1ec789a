"""Options that few chose, and how they could be counted as one: read off the exact total, which is always published."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from safemargin.core import IntArray, Table, Tally, frozen

RARE = Fraction(1, 100), Fraction(1, 20)
"""Shares of all answers below which an option is rare: the first is tried before the second."""
Joined = tuple[tuple[tuple[str, ...], str], ...]
"""Options that become one, and how that is called, in the order of the options; most of them alone."""


def rare_words(table: Table, silent: str | None = None) -> str:
    """Which options few chose, in words; nothing if none is rare. `silent` stands for no answer: it is none of them."""
    totals, options = table.totals.tolist(), table.schema.options
    people = max(sum(totals), 1)
    rare = [(t, o) for t, o in zip(totals, options, strict=True) if 0 < t < RARE[0] * people and o != silent]
    if not rare:
        return ""
    most = f"{100 * max(rare)[0] / people:.2g} %"
    return (
        f"{most if len(rare) == 1 else f'at most {most} each'} chose {listed_options([option for _, option in rare])}"
    )


def listed_options(options: Sequence[str]) -> str:
    """Options in a sentence."""
    named = [repr(option) for option in options]
    return f"{', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else named[0]


def rare_joins(table: Table, silent: str | None = None) -> Iterator[Joined]:
    """Ways to join rare options, of which at least two options are left; each once.

    On a scale an option is joined with its rarer neighbour. Else all rare ones become one; one alone is joined with the
    next rarest.
    """
    seen: set[Joined] = set()
    for share in RARE:
        groups = _on_scale(table, share) if table.schema.ordered_options else _together(table, share, silent)
        named = tuple((group, _name(group, table.schema.options)) for group in groups)
        if named not in seen and any(len(group) > 1 for group in groups) and len(groups) > 1:
            seen.add(named)
            yield named


def joined_options(table: Table, groups: Joined) -> Table:
    """The table with the options of every group counted as one."""
    places = [[table.schema.options.index(option) for option in group] for group, _ in groups]
    schema = replace(table.schema, options=tuple(name for _, name in groups))
    return replace(table, schema=schema, votes=tuple(_summed(tally, places) for tally in table.votes))


def _summed(tally: Tally, places: Sequence[Sequence[int]]) -> Tally:
    counts: IntArray = np.stack([tally.counts[:, list(inside)].sum(axis=1) for inside in places], axis=1)
    return Tally(tally.axes, tally.codes, frozen(counts, len(places)))


def _together(table: Table, share: Fraction, silent: str | None) -> list[tuple[str, ...]]:
    """All rare options as one group; nobody's options too, so that they do not stand beside it as a row of zeros."""
    totals = dict(zip(table.schema.options, table.totals.tolist(), strict=True))
    few = share * sum(totals.values())
    order = sorted((option for option in totals if option != silent), key=lambda option: totals[option])
    rare = [option for option in order if totals[option] < few]
    rare = order[:2] if len(rare) == 1 else rare
    inside = [option for option in totals if option in rare]
    first = inside[:1]
    return [tuple(inside) if [option] == first else (option,) for option in totals if option not in inside[1:]]


def _on_scale(table: Table, share: Fraction) -> list[tuple[str, ...]]:
    """The scale with its rarest part joined to its rarer neighbour, until none is rare or two are left."""
    totals: list[int] = table.totals.tolist()
    parts: list[tuple[tuple[str, ...], int]] = [((o,), t) for o, t in zip(table.schema.options, totals, strict=True)]
    few = share * sum(total for _, total in parts)
    while len(parts) > 2:
        least = min(range(len(parts)), key=lambda place: parts[place][1])
        if parts[least][1] >= few:
            break
        beside = [place for place in (least - 1, least) if 0 <= place < len(parts) - 1]
        left = min(beside, key=lambda place: parts[place][1] + parts[place + 1][1])
        (first, one), (second, other) = parts[left : left + 2]
        parts[left : left + 2] = [((*first, *second), one + other)]
    return [options for options, _ in parts]


def _name(group: Sequence[str], options: Sequence[str]) -> str:
    """What options are called together.

    >>> _name(["Left", "Green"], ["Left", "Green", "Right"]), _name(["a", "b", "c", "d"], ["a", "b", "c", "d", "other"])
    ('Left + Green', 'other answers')
    """
    if len(group) <= 3:
        return " + ".join(group)
    return "other" if "other" not in options else "other answers"

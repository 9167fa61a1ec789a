"""Random small populations and what is published about them, for tests that enumerate every possibility."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from brute import Cell, Range, published
from safemargin.core import Axis, Onlooker, PublishedTable, Schema, Table, Tally, frozen

Rng = np.random.Generator
LETTERS = "pqrstuvw"


@dataclass(frozen=True)
class Town:
    """A population: people and votes per option of every occupied profile."""

    axes: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    options: tuple[str, ...]
    people: dict[Cell, int] = field(hash=False)
    votes: dict[Cell, tuple[int, ...]] = field(hash=False)

    def count(self, axes: Sequence[str], groups: Sequence[Iterable[str]], option: str | None) -> int:
        """Votes for `option` (people if it is None) of the profiles in these groups."""
        columns = [self.axes.index(axis) for axis in axes]
        total = 0
        for profile, people in self.people.items():
            if all(profile[c] in group for c, group in zip(columns, groups, strict=True)):
                total += people if option is None else self.votes[profile][self.options.index(option)]
        return total

    def table(self) -> Table:
        """The same as the office holds it, with a joint tally and a joint roll."""
        schema = Schema(tuple(Axis(a, c) for a, c in zip(self.axes, self.categories, strict=True)), self.options)
        codes = [[schema.axes[a].index[name] for a, name in enumerate(profile)] for profile in self.people]
        codes = frozen(codes, len(self.axes))
        votes = Tally(self.axes, codes, frozen([self.votes[p] for p in self.people], len(self.options)))
        roll = Tally(self.axes, codes, frozen(list(self.people.values()), 1))
        return Table(schema, (votes,), (roll,))

    def sealed(self) -> Table:
        """One tally per axis and the total; nobody holds the joint votes."""
        whole = self.table()
        votes = [whole.margin((axis,)) for axis in self.axes]
        return Table(whole.schema, (*votes, whole.margin(())), whole.roll)


def town(
    rng: Rng,
    axes: int = 2,
    options: int = 1,
    people: int = 12,
    covering: bool | None = None,
    fill: float = 0.8,
    most_categories: int = 3,
    most_per_profile: int = 12,
) -> Town:
    """Random people in random profiles; with `covering` everybody chose one of the options."""
    names = tuple(LETTERS[:axes])
    categories = tuple(tuple(f"{name}{i}" for i in range(int(rng.integers(2, most_categories + 1)))) for name in names)
    cells = [cell for cell in product(*categories) if rng.random() < fill] or [tuple(c[0] for c in categories)]
    sizes = dict.fromkeys(cells, 0)
    for _ in range(people):
        cell = cells[int(rng.integers(len(cells)))]
        if sizes[cell] < most_per_profile:
            sizes[cell] += 1
    sizes = {cell: size for cell, size in sizes.items() if size}
    covering = bool(rng.random() < 0.6) and options > 1 if covering is None else covering
    votes = {}
    for cell, size in sizes.items():
        share = rng.dirichlet(np.full(options + (not covering), 0.7))
        votes[cell] = tuple(rng.multinomial(size, share)[:options].tolist())
    labels = tuple("ABCDE"[:options])
    return Town(names, categories, labels, sizes, votes)


def partition(rng: Rng, categories: Sequence[str], merge: float) -> list[tuple[str, ...]]:
    """Categories, some of them merged."""
    groups: list[list[str]] = []
    for name in categories:
        if groups and rng.random() < merge:
            groups[int(rng.integers(len(groups)))].append(name)
        else:
            groups.append([name])
    return [tuple(group) for group in groups]


def margin(
    place: Town,
    axes: Sequence[str],
    *,
    name: str = "",
    groups: Sequence[Sequence[Sequence[str]]] | None = None,
    options: Sequence[str] | None = None,
    rng: Rng | None = None,
    hide: float = 0.0,
    widen: float = 0.0,
    drop: float = 0.0,
    measure: str = "count",
) -> PublishedTable:
    """The true margin over `axes`; with `rng`, cells are suppressed, given as ranges, or omitted if zero."""
    if groups is None:
        groups = [[(c,) for c in place.categories[place.axes.index(axis)]] for axis in axes]
    wanted: Sequence[str | None] = [None] if measure == "people" else options if options is not None else place.options
    rows: list[tuple[Cell, str | None, int | Range | None]] = []
    for cell in product(*groups):
        for option in wanted:
            count = place.count(axes, cell, option)
            shown: int | Range | None = count
            if rng is not None:
                if count == 0 and rng.random() < drop:
                    continue
                if rng.random() < hide:
                    shown = None
                elif rng.random() < widen:
                    shown = (max(0, count - int(rng.integers(3))), count + int(rng.integers(3)))
            rows.append((tuple("|".join(group) for group in cell), option, shown))
    if not rows:
        cell = tuple("|".join(each[0]) for each in groups)
        rows = [(cell, wanted[0], place.count(axes, [each[0] for each in groups], wanted[0]))]
    if rng is not None:
        rng.shuffle(rows)
    return published(name or " x ".join(axes) or "total", axes, rows, options=[o for o in wanted if o], measure=measure)


def turnout(place: Town, axes: Sequence[str], name: str = "answers") -> PublishedTable:
    """Answers of any option by `axes`: a table without an option column."""
    groups = [place.categories[place.axes.index(axis)] for axis in axes]
    rows = [
        (cell, None, sum(place.count(axes, [(c,) for c in cell], option) for option in place.options))
        for cell in product(*groups)
    ]
    return published(name, axes, rows)


def rolls(place: Town, composition: str, rng: Rng | None = None, drop: float = 0.0) -> tuple[PublishedTable, ...]:
    """The joint roll, the sizes of every axis, or nothing."""
    if composition == "joint":
        return (margin(place, place.axes, name="roll", measure="people", rng=rng, drop=1.0),)
    if composition == "sizes":
        return tuple(
            margin(place, (axis,), name=f"roll {axis}", measure="people", rng=rng, drop=drop) for axis in place.axes
        )
    return ()


def unlisted(place: Town, rng: Rng, axes: Sequence[str]) -> PublishedTable:
    """A fact about a few cells only: categories that it does not list are unknown to it."""
    groups = []
    for axis in axes:
        categories = place.categories[place.axes.index(axis)]
        chosen = [c for c in categories if rng.random() < 0.5] or [categories[0]]
        groups.append([(c,) for c in chosen])
    options = [o for o in place.options if rng.random() < 0.6] or [place.options[0]]
    return margin(place, axes, name="fact", groups=groups, options=options, rng=rng, widen=0.2)


def facts_about(
    rng: Rng, place: Town, *, two_way: float = 0.4, merge: float = 0.25, hide: float = 0.1, widen: float = 0.1
) -> tuple[list[PublishedTable], list[PublishedTable]]:
    """Random true tables about a town, and random auxiliary facts about axes that they cover."""
    tables = [margin(place, ())]
    covered = []
    for axis, categories in zip(place.axes, place.categories, strict=True):
        if rng.random() < 0.85:
            covered.append(axis)
            groups = [partition(rng, categories, merge)]
            tables.append(margin(place, (axis,), groups=groups, rng=rng, hide=hide, widen=widen, drop=0.3))
    if rng.random() < two_way and len(place.axes) > 1:
        chosen = [place.axes[int(i)] for i in sorted(rng.choice(len(place.axes), 2, replace=False))]
        groups = [partition(rng, place.categories[place.axes.index(axis)], merge) for axis in chosen]
        tables.append(margin(place, chosen, groups=groups, rng=rng, hide=hide, widen=widen, drop=0.5))
    aside = []
    if rng.random() < 0.3 and covered:
        count = int(rng.integers(1, len(covered) + 1))
        chosen = [covered[int(i)] for i in sorted(rng.choice(len(covered), count, replace=False))]
        aside.append(unlisted(place, rng, chosen))
    return tables, aside


def situation(
    seed: int, composition: str, options: int, *, people: int | None = None, **about: float
) -> tuple[Town, list[PublishedTable], Onlooker]:
    """A random town, what is published about it, and an onlooker with this roll: the same for the same seed."""
    rng = np.random.default_rng([seed, options, len(composition)])
    joint = composition == "joint"
    axes = int(rng.integers(2, 5)) if joint else int(rng.integers(2, 4))
    place = town(
        rng,
        axes=axes,
        options=options,
        people=people or int(rng.integers(1, 13 if joint else 8)),
        fill=float(rng.choice([0.4, 0.8, 1.0])),
        most_categories=3 if joint or axes == 2 else 2,
    )
    tables, aside = facts_about(rng, place, **about)
    if rng.random() < 0.1:
        tables.append(turnout(place, (place.axes[0],)))
    return place, tables, Onlooker(roll=rolls(place, composition, rng, drop=0.5), facts=tuple(aside))

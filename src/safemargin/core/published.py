"""What the public sees and remembers: published tables, earlier releases, and the onlookers who hold them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from safemargin.core.arrays import IntArray, frozen
from safemargin.core.errors import InputError

Group = frozenset[str]
"""One category, or several that were merged."""
STATUSES = ("exact", "merged", "noised", "suppressed", "range")
"""How a cell was published. A noised count is no fact about the true one and bounds nothing."""
JOINER = " | "


def label(group: Group, order: tuple[str, ...] = ()) -> str:
    """A group as tidy tables write it: its members joined by ` | `, in the order of the axis.

    >>> label(frozenset({"young", "old"}), ("young", "old"))
    'young | old'
    """
    if len(group) == 1:
        return next(iter(group))
    rank = {category: position for position, category in enumerate(order)}
    return JOINER.join(sorted(group, key=lambda member: (rank.get(member, len(rank)), member)))


@dataclass(frozen=True)
class PublishedTable:
    """One tidy table: rows of cells with a range `[lower, upper]` of people each.

    `groups[a]` lists the distinct categories or merged categories of axis `a`, `codes` points into them. `option` is an
    index into `options`, or -1 in every row when the table has none. `measure` is `people` for a roll, else `count`.
    `noisy` holds what is printed in rows whose status is `noised`; it may be negative and bounds nothing.
    """

    name: str
    axes: tuple[str, ...]
    groups: tuple[tuple[Group, ...], ...]
    codes: IntArray
    options: tuple[str, ...]
    option: IntArray
    lower: IntArray
    upper: IntArray
    status: tuple[str, ...]
    measure: str = "count"
    noisy: IntArray | None = None

    def __post_init__(self) -> None:
        rows = len(self.lower)
        if not (len(self.codes) == len(self.option) == len(self.upper) == len(self.status) == rows):
            raise InputError(f"{self.name}: columns of different length")
        if rows == 0:
            raise InputError(f"{self.name}: the table is empty")
        if (self.lower < 0).any() or (self.upper < self.lower).any():
            raise InputError(f"{self.name}: a range is negative or ends before it starts")

    @cached_property
    def is_exact(self) -> bool:
        """Whether every cell has one published value."""
        return bool((self.lower == self.upper).all())

    @cached_property
    def stated(self) -> tuple[object, ...]:
        """All that bounds anything: tables of other names, or with other noise, that are equal here say the same."""
        arrays = (self.codes, self.option, self.lower, self.upper)
        return (self.axes, self.groups, self.options, self.measure, *(array.tobytes() for array in arrays))

    @property
    def is_roll(self) -> bool:
        """Whether it counts people rather than answers."""
        return self.measure == "people"

    def cell(self, row: int, orders: dict[str, tuple[str, ...]] | None = None) -> dict[str, str]:
        """The labels of one row by axis."""
        return {
            axis: label(self.groups[a][self.codes[row, a]], (orders or {}).get(axis, ()))
            for a, axis in enumerate(self.axes)
        }


SIGN = " x "
"""Stands between the axes in the name of a margin."""

Profile = tuple[str, ...]
"""One category per axis."""
History = tuple[Profile | None, ...]
"""The profile of a person in every cycle, the present one last; none where they were not on the roll."""
Histories = Mapping[History, int]
"""People by their history."""
CROSS = "\x1f"
"""Between the names of several axes, or of their categories, where they stand for one axis."""
HISTORY = "history"
"""The axis of the larger system that states in which cycles somebody was there."""


def net_histories(rolls: Sequence[Mapping[Profile, int]]) -> dict[History, int]:
    """Histories with the fewest changes that explain the rolls of all cycles: who came last leaves first, nobody moves.

    >>> net_histories([{("a",): 5}, {("a",): 7}])
    {(('a',), ('a',)): 5, (None, ('a',)): 2}
    """
    histories: dict[History, int] = {}
    for profile in sorted({profile for roll in rolls for profile in roll}):
        cohorts: list[tuple[int, int]] = []  # since when, how many
        for cycle, roll in enumerate(rolls):
            change = roll.get(profile, 0) - sum(people for _, people in cohorts)
            if change > 0:
                cohorts.append((cycle, change))
            # Who came last leaves first: this explains the rolls with the fewest changes.
            while change < 0:
                since, people = cohorts.pop()
                gone = min(people, -change)
                _add(histories, profile, range(since, cycle), len(rolls), gone)
                change += gone
                if people > gone:
                    cohorts.append((since, people - gone))
        for since, people in cohorts:
            _add(histories, profile, range(since, len(rolls)), len(rolls), people)
    return histories


def _add(histories: dict[History, int], profile: Profile, there: range, cycles: int, people: int) -> None:
    history = tuple(profile if cycle in there else None for cycle in range(cycles))
    histories[history] = histories.get(history, 0) + people


@dataclass(frozen=True)
class Earlier:
    """One earlier release: its cycle and what was published then."""

    cycle: str
    tables: tuple[PublishedTable, ...]


@dataclass(frozen=True)
class Larger:
    """All cycles as one population: who was there when, and the earlier tables as facts about it.

    `columns[c]` names the axes as they were in cycle `c`, the present one last; `there[c]` are the histories of the
    people on the roll then.
    """

    roll: PublishedTable
    facts: tuple[PublishedTable, ...]
    columns: tuple[Mapping[str, str], ...]
    there: tuple[Group, ...]

    def placed(self, table: PublishedTable, cycle: int = -1) -> PublishedTable:
        """A table of one cycle as a fact about the larger population."""
        return replace(
            table,
            axes=(*(self.columns[cycle][axis] for axis in table.axes), self.roll.axes[-1]),
            groups=(*table.groups, (self.there[cycle],)),
            codes=frozen(np.column_stack([table.codes, np.zeros(len(table.lower), dtype=np.int64)])),
        )

    def only_history(self) -> PublishedTable:
        """The roll by history alone."""
        column = self.roll.codes[:, -1]
        sums = np.bincount(column, self.roll.lower, minlength=len(self.roll.groups[-1])).astype(np.int64)
        return _roll(self.roll.axes[-1:], self.roll.groups[-1:], np.arange(len(sums))[:, None], sums)


@dataclass(frozen=True)
class Past:
    """What was published before about the same population.

    `histories` holds the people by history over all axes together, or over each axis alone where no more is public.
    `by_group` says whether onlookers count who believe of any single group that those who stayed kept their answers;
    they may well believe it of everybody in any case. `slack` is how far counts published then may be off. `net` says
    that nobody was followed: histories are the net changes of rolls.
    """

    axes: tuple[str, ...]
    now: str
    earlier: tuple[Earlier, ...]
    histories: Mapping[tuple[str, ...], Histories] = field(hash=False)
    by_group: bool = True
    slack: int = 0
    net: bool = False

    @cached_property
    def axis(self) -> str:
        """The name of the axis of histories: no other axis has it."""
        name = HISTORY
        while name in self.axes:
            name += "'"
        return name

    @property
    def cycles(self) -> tuple[str, ...]:
        """All cycles, the present one last."""
        return (*(release.cycle for release in self.earlier), self.now)

    @cached_property
    def kinds(self) -> tuple[int, ...]:
        """Per earlier cycle the first one in which everybody was where they were then and the same was published.

        What two cycles say together depends on who was where in them, and on what their tables state: so it is the same
        for two others of the same kinds.
        """
        first: dict[object, int] = {}
        return tuple(
            first.setdefault(
                (
                    tuple(tuple(history[cycle] for history in people) for people in self.histories.values()),
                    tuple(table.stated for table in release.tables),
                ),
                cycle,
            )
            for cycle, release in enumerate(self.earlier)
        )

    def turnover(self, axis: str, group: Group | None, first: int, second: int) -> tuple[int, int, int]:
        """Between two cycles: people who came into a group (none: the population), who went, and who of these moved.

        Several axes, and categories of a group of them, are joined by `CROSS`. All pairs of cycles are counted at once:
        with `I` the 0-1 matrix of who (with weights `w`) was inside when, `came = (w (1 - I))' I`.
        """
        known: dict[object, IntArray] = self.__dict__.setdefault("_turnovers", {})
        if (axis, group) not in known:
            codes, names = self._places(axis)
            member = np.array([*(group is None or name in group for name in names), False])
            came = np.zeros((2, len(self.cycles), len(self.cycles)), dtype=np.int64)
            people = np.array(list(self._known_by(axis.split(CROSS))[1].values()), dtype=np.int64)
            for start in range(0, len(people), 10_000):  # so many at once, for the sake of memory
                part = codes[start : start + 10_000]
                inside, size = member[part], people[start : start + 10_000, None]
                came += [(size * outside).T @ inside for outside in (~inside, ~inside & (part >= 0))]
            known[axis, group] = came
        came = known[axis, group]
        moved = came[1, first, second] + came[1, second, first]
        return int(came[0, first, second]), int(came[0, second, first]), int(moved)

    def knows(self, axes: Sequence[str]) -> bool:
        """Whether it is known who came and who went by all of these axes together."""
        return any(set(axes) <= set(known) for known in self.histories)

    def _known_by(self, axes: Sequence[str]) -> tuple[tuple[str, ...], Histories]:
        return next((known, histories) for known, histories in self.histories.items() if set(axes) <= set(known))

    def _places(self, axis: str) -> tuple[IntArray, list[str]]:
        """The category of an axis (or several, joined) by history and cycle, -1 for not there; and all categories."""
        axes = axis.split(CROSS)
        known, histories = self._known_by(axes)
        places = [known.index(name) for name in axes]
        code_of: dict[Profile | None, int] = {None: -1}
        names: dict[str, int] = {}
        for profile in (profile for history in histories for profile in history):
            if profile is not None and profile not in code_of:
                code_of[profile] = names.setdefault(CROSS.join(profile[place] for place in places), len(names))
        codes = np.array([[code_of[profile] for profile in history] for history in histories], dtype=np.int64)
        return codes.reshape(-1, len(self.cycles)), list(names)

    @cached_property
    def larger(self) -> Larger | None:
        """One population out of all cycles, where everybody's whole profile is known: nobody changed their answer."""
        return self.divided(lambda history: [tuple(c for c, profile in enumerate(history) if profile is not None)])

    def divided(self, parts: Callable[[History], Sequence[tuple[int, ...]]]) -> Larger | None:
        """The same where people may answer otherwise in each of the `parts` of their cycles."""
        histories = self.histories.get(self.axes)
        if histories is None:
            return None
        people: dict[tuple[History, str], int] = {}
        for history, size in histories.items():
            divided = parts(history)
            words = self.words(tuple(profile is not None for profile in history))
            for part in divided:
                row = tuple(profile if cycle in part else None for cycle, profile in enumerate(history))
                then = f", in {', '.join(self.cycles[cycle] for cycle in part)}" if len(divided) > 1 else ""
                people[row, words + then] = people.get((row, words + then), 0) + size
        return self._larger(people)

    def _larger(self, people: Mapping[tuple[History, str], int]) -> Larger:
        rows = [row for row, _ in people]
        count = len(self.cycles)
        names: list[str] = []
        columns: list[dict[str, str]] = [{} for _ in range(count)]
        values: list[list[str]] = []
        for a, axis in enumerate(self.axes):
            kept = [{profile[a] for profile in row if profile is not None} for row in rows]
            if all(len(seen) == 1 for seen in kept):  # nobody moved: one column serves every cycle
                for column in columns:
                    column[axis] = axis
                names.append(axis)
                values.append([next(iter(seen)) for seen in kept])
                continue
            for cycle, label in enumerate(self.cycles):
                columns[cycle][axis] = axis if cycle == count - 1 else f"{axis} in {label}"
                names.append(columns[cycle][axis])
                values.append([_near(row, cycle)[a] for row in rows])
        there = {text: tuple(profile is not None for profile in row) for row, text in people}
        values.append([text for _, text in people])
        groups, codes = _coded(values)
        larger = Larger(
            _roll((*names, self.axis), groups, codes, np.array(list(people.values()), dtype=np.int64)),
            (),
            tuple(columns),
            tuple(
                frozenset(text for text, pattern in there.items() if pattern[cycle]) or frozenset({"nobody"})
                for cycle in range(count)
            ),
        )
        facts = tuple(
            replace(larger.placed(table, cycle), name=f"{table.name} of {release.cycle}")
            for cycle, release in enumerate(self.earlier)
            for table in release.tables
        )
        return replace(larger, facts=facts)

    def words(self, pattern: tuple[bool, ...]) -> str:
        """A history in words."""
        last = self.earlier[-1].cycle
        if all(pattern):
            return f"stayed since {self.earlier[0].cycle}"
        if pattern[-1] and not any(pattern[:-1]):
            return f"joined since {last}"
        if all(pattern[:-1]):
            return f"left since {last}"
        return f"there in {', '.join(c for c, here in zip(self.cycles, pattern, strict=True) if here)}"


def _near(row: History, cycle: int) -> Profile:
    """The profile in the cycle, or in the nearest one that has any."""
    there = [(abs(position - cycle), position) for position, profile in enumerate(row) if profile is not None]
    profile = row[min(there)[1]]
    assert profile is not None
    return profile


def _coded(columns: Iterable[Sequence[str]]) -> tuple[tuple[tuple[Group, ...], ...], IntArray]:
    groups, codes = [], []
    for column in columns:
        code_of = {text: code for code, text in enumerate(sorted(set(column)))}
        groups.append(tuple(frozenset([text]) for text in code_of))
        codes.append([code_of[text] for text in column])
    return tuple(groups), np.array(codes, dtype=np.int64).T


def _roll(
    axes: tuple[str, ...], groups: tuple[tuple[Group, ...], ...], codes: IntArray, people: IntArray
) -> PublishedTable:
    return PublishedTable(
        name="roll of all cycles",
        axes=axes,
        groups=groups,
        codes=frozen(codes, len(axes)),
        options=(),
        option=frozen(np.full(len(people), -1)),
        lower=frozen(people),
        upper=frozen(people),
        status=("exact",) * len(people),
        measure="people",
    )


@dataclass(frozen=True)
class Onlooker:
    """An onlooker: the rolls and facts they hold, whether they know the rule by which cells were protected, and what
    they remember of earlier releases.

    `apart` are the cycles of releases about other answers of the same people, from which nothing follows about these.

    `correlations` are counts by cell and option, of others or of earlier times, from which they take how answers hang
    together. `posterior` is the largest share of a cell that they may come to believe gave one answer.
    """

    name: str = "public"
    roll: tuple[PublishedTable, ...] = ()
    facts: tuple[PublishedTable, ...] = ()
    knows_rule: bool = False
    past: Past | None = field(default=None, compare=False)
    apart: tuple[str, ...] = field(default=(), compare=False)
    correlations: PublishedTable | None = field(default=None, compare=False)
    posterior: float | None = None

    def composition(self, axes: tuple[str, ...]) -> str:
        """`joint` if an exact roll covers all `axes` together, `sizes` if none does, `none` without a roll.

        A roll that only bounds how many people answered is none of who answered, also where there is one axis.
        """
        if not self.roll:
            return "none"
        return "joint" if any(roll.is_exact and set(roll.axes) >= set(axes) for roll in self.roll) else "sizes"

    def describe(self, axes: tuple[str, ...]) -> dict[str, object]:
        """What this onlooker knows, for a document."""
        return {
            "name": self.name,
            "composition": self.composition(axes),
            "facts": [table.name for table in self.facts],
            "knows_rule": self.knows_rule,
            **({} if self.past is None else {"earlier": [release.cycle for release in self.past.earlier]}),
            **({"other_waves": list(self.apart)} if self.apart else {}),
            **({} if self.posterior is None else {"posterior": self.posterior}),
            **({} if self.correlations is None else {"correlations": self.correlations.name}),
        }

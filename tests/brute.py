"""A second opinion: every integer table that public facts admit, by exhaustion. Shares no code with `bounds`.

A combination that a table does not list, although all its categories appear there, is empty. A category that a table
does not list is unknown to it. Tables are walked profile by profile; states are the sums of all rows so far.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product

import numpy as np

from safemargin.bounds import Exposure
from safemargin.core import JOINER, UNBOUNDED, Limits, Onlooker, PublishedTable, Table, frozen, onlooker_with_roll

HIDDEN = "(unlisted)"
MOST_STEPS = 40_000

Cell = tuple[str, ...]
Range = tuple[int, int]


class TooMany(Exception):
    """More states than a test should wait for."""


class Unlimited(Exception):
    """Nothing published limits some count."""


def published(
    name: str,
    axes: Sequence[str],
    rows: Iterable[tuple[Cell, str | None, int | Range | None]],
    options: Sequence[str] = (),
    measure: str = "count",
) -> PublishedTable:
    """A table from rows of labels (merged ones joined by `|`), option and count, range or nothing."""
    groups: list[list[frozenset[str]]] = [[] for _ in axes]
    codes, option, lower, upper, status = [], [], [], [], []
    for cell, chosen, count in rows:
        places = []
        for a, text in enumerate(cell):
            group = frozenset(part.strip() for part in text.split(JOINER.strip()))
            if group not in groups[a]:
                groups[a].append(group)
            places.append(groups[a].index(group))
        low, high = (0, UNBOUNDED) if count is None else (count, count) if isinstance(count, int) else count
        codes.append(places)
        option.append(-1 if chosen is None else list(options).index(chosen))
        lower.append(low)
        upper.append(high)
        merged = any("|" in text for text in cell)
        status.append("suppressed" if count is None else "range" if low < high else "merged" if merged else "exact")
    return PublishedTable(
        name,
        tuple(axes),
        tuple(tuple(each) for each in groups),
        frozen(codes, len(axes)),
        tuple(options),
        frozen(option),
        frozen(lower),
        frozen(upper),
        tuple(status),
        measure,
    )


class Fiber:
    """All integer tables that `tables` and what `onlooker` holds leave possible."""

    def __init__(self, tables: Sequence[PublishedTable], onlooker: Onlooker | None = None) -> None:
        onlooker = onlooker or Onlooker()
        facts = [*tables, *onlooker.facts]
        self.axes = list(dict.fromkeys(axis for table in facts for axis in table.axes))
        joints = [roll for roll in onlooker.roll if _is_joint(roll, self.axes)]
        joint = max(joints, key=lambda roll: len(roll.axes), default=None)
        rolls = [] if joint else list(onlooker.roll)
        known = [joint] if joint else rolls
        self.axes += [a for a in dict.fromkeys(a for roll in known for a in roll.axes) if a not in self.axes]
        self.options = list(dict.fromkeys(name for table in facts for name in table.options)) or [""]
        self.units = [*self.options, HIDDEN]
        self.people: dict[Cell, int] | None = None
        if joint:
            self.people = {}
            for row, count in enumerate(joint.lower.tolist()):
                cell = _labels(joint, row)
                key = tuple(cell[axis] for axis in self.axes)
                self.people[key] = self.people.get(key, 0) + count
            self.people = {key: count for key, count in sorted(self.people.items()) if count}
            self.profiles = list(self.people)
        else:
            seen = {axis: _categories([*facts, *rolls], axis) for axis in self.axes}
            self.profiles = [tuple(cell) for cell in product(*(seen[axis] for axis in self.axes))]
        if not joint and not rolls:
            self.units = self.options
        self.closed: set[tuple[int, int]] = set()
        self.rows: list[tuple[set[tuple[int, int]], int, int]] = []
        for table in [*tables, *rolls]:
            self._add(table, leaves_out=True)
        for table in onlooker.facts:
            cells = {(tuple(code), option) for code, option in zip(table.codes.tolist(), table.option, strict=True)}
            combinations = len(set(table.option.tolist())) * np.prod([len(groups) for groups in table.groups])
            self._add(table, leaves_out=len(cells) == combinations)
        self.layers = self._walk()

    def _add(self, table: PublishedTable, leaves_out: bool) -> None:
        listed = [_categories([table], axis) for axis in table.axes]
        columns = [self.axes.index(axis) for axis in table.axes]
        for option in sorted(set(table.option.tolist())):
            if table.is_roll:
                units = range(len(self.units))
            elif option < 0:
                units = range(len(self.options))
            else:
                units = [self.options.index(table.options[option])]
            covered = set()
            for row in np.flatnonzero(table.option == option).tolist():
                members = set()
                for p, profile in enumerate(self.profiles):
                    inside = (profile[c] in table.groups[a][table.codes[row, a]] for a, c in enumerate(columns))
                    if all(inside):
                        members.add(p)
                covered |= members
                where = {(p, u) for p in members for u in units}
                self.rows.append((where, int(table.lower[row]), int(table.upper[row])))
            for p, profile in enumerate(self.profiles if leaves_out else ()):
                if p not in covered and all(profile[c] in listed[a] for a, c in enumerate(columns)):
                    self.closed |= {(p, u) for u in units}

    def _walk(self) -> list[dict[tuple[int, ...], list[tuple[tuple[int, ...], tuple[int, ...]]]]]:
        last = [max((p for p, _ in where), default=-1) for where, _, _ in self.rows]
        if any(low > 0 for (where, low, _) in self.rows if not where):
            return []
        start = tuple(0 for _ in self.rows)
        layers: list[dict[tuple[int, ...], list[tuple[tuple[int, ...], tuple[int, ...]]]]] = []
        states = {start}
        steps = 0
        for p in range(len(self.profiles)):
            layer = {}
            # Rows that count somebody of this profile, with the units that they count; all others stay as they are.
            counted = [[u for u in range(len(self.units)) if (p, u) in where] for where, _, _ in self.rows]
            touched = [(r, units) for r, units in enumerate(counted) if units]
            for state in states:
                edges = []
                for choice in self._choices(p, state, touched):
                    after = self._after(p, state, choice, touched, last)
                    if after is not None:
                        edges.append((choice, after))
                steps += len(edges)
                if steps > MOST_STEPS:
                    raise TooMany
                layer[state] = edges
            layers.append(layer)
            states = {after for edges in layer.values() for _, after in edges}
        alive = states
        for layer in reversed(layers):
            for state in list(layer):
                layer[state] = [edge for edge in layer[state] if edge[1] in alive]
                if not layer[state]:
                    del layer[state]
            alive = set(layer)
        return layers

    def _choices(self, p: int, state: tuple[int, ...], touched: list[tuple[int, list[int]]]) -> list[tuple[int, ...]]:
        cap = None if self.people is None else self.people[self.profiles[p]]
        tops = []
        for u in range(len(self.units)):
            left = [self.rows[r][2] - state[r] for r, units in touched if u in units]
            if (p, u) in self.closed or (not left and self.units[u] == HIDDEN and cap is None):
                tops.append(0)  # nobody, or people whom no roll mentions
            else:
                tops.append(min(left + ([] if cap is None else [cap]), default=UNBOUNDED))
        if max(tops) > 10_000:
            raise Unlimited
        if cap is None:
            return list(product(*(range(top + 1) for top in tops)))
        # Everybody is in one unit: who is not in the others is in the last.
        others = product(*(range(top + 1) for top in tops[:-1]))
        return [(*choice, rest) for choice in others if 0 <= (rest := cap - sum(choice)) <= tops[-1]]

    def _after(
        self,
        p: int,
        state: tuple[int, ...],
        choice: tuple[int, ...],
        touched: list[tuple[int, list[int]]],
        last: list[int],
    ) -> tuple[int, ...] | None:
        after = list(state)
        for r, units in touched:
            _, low, high = self.rows[r]
            done = state[r]
            for u in units:
                done += choice[u]
            if done > high or (last[r] == p and done < low):
                return None
            after[r] = 0 if last[r] <= p else min(done, low) if high >= UNBOUNDED else done
        return tuple(after)

    @property
    def is_empty(self) -> bool:
        """Whether no table is left."""
        return not self.layers or not self.layers[0]

    def count(self) -> int:
        """How many tables there are (one per way to fill all profiles)."""
        ways = {state: 1 for state in self.layers[0]}
        for layer in self.layers:
            onward: dict[tuple[int, ...], int] = {}
            for state, edges in layer.items():
                for _, after in edges:
                    onward[after] = onward.get(after, 0) + ways[state]
            ways = onward
        return sum(ways.values())

    def values(self, profiles: Iterable[int], option: str) -> list[int]:
        """Every value that the sum of `option` over some profiles takes."""
        unit, inside = self.units.index(option), set(profiles)
        if len(inside) == 1:
            (p,) = inside
            return sorted({choice[unit] for edges in self.layers[p].values() for choice, _ in edges})
        # Every state of a layer is reached and leads to an end, so the layers before and behind make no difference.
        first, end = min(inside), max(inside) + 1
        masks = {state: 1 for state in self.layers[first]}
        for p, layer in enumerate(self.layers[first:end], first):
            onward: dict[tuple[int, ...], int] = {}
            for state, edges in layer.items():
                mask = masks[state]
                if p in inside:
                    for choice, after in edges:
                        onward[after] = onward.get(after, 0) | mask << choice[unit]
                else:
                    for after in {after for _, after in edges}:
                        onward[after] = onward.get(after, 0) | mask
            masks = onward
        total = 0
        for mask in masks.values():
            total |= mask
        return [v for v in range(total.bit_length()) if total >> v & 1]

    def cells(self, axes: Sequence[str]) -> dict[Cell, list[int]]:
        """The profiles of every cell over `axes`."""
        columns = [self.axes.index(axis) for axis in axes]
        found: dict[Cell, list[int]] = {}
        for p, profile in enumerate(self.profiles):
            found.setdefault(tuple(profile[c] for c in columns), []).append(p)
        return found

    def size(self, profiles: Iterable[int]) -> int:
        """People of some profiles, by the joint roll."""
        assert self.people is not None
        return sum(self.people[self.profiles[p]] for p in profiles)

    def disclosed(self, profiles: Sequence[int], limits: Limits) -> list[int]:
        """The options (by place) that these profiles together disclose under `limits`."""
        size = self.size(profiles)
        ends = [self.values(profiles, option) for option in self.options]
        lower, upper = np.array([[e[0] for e in ends]]), np.array([[e[-1] for e in ends]])
        return np.flatnonzero(limits.verdicts(lower, upper, np.array([size]))[0] == 2).tolist()

    def contains(self, truth: Mapping[Cell, Sequence[int]]) -> bool:
        """Whether a table (counts per listed option by profile) satisfies every fact."""
        full = []
        for profile in self.profiles:
            counts = list(truth.get(profile, [0] * len(self.options)))
            if self.people is not None:
                counts.append(self.people[profile] - sum(counts))
            full.append(counts)
        return all(
            low <= sum(full[p][u] for p, u in where if u < len(full[p])) <= high for where, low, high in self.rows
        )


def mismatches(exposure: Exposure, fiber: Fiber) -> list[str]:
    """Where an exposure is not exactly what exhaustion finds."""
    axes = exposure.cells.axes
    cells = fiber.cells(axes)
    found = {tuple(exposure.cells.cell(row)[axis] for axis in axes): row for row in range(len(exposure.cells))}
    wrong = [f"cells {sorted(set(found) ^ set(cells))}"] if set(found) != set(cells) else []
    for cell, profiles in cells.items() if not wrong else ():
        for option, name in enumerate(fiber.options):
            values, row = fiber.values(profiles, name), found[cell]
            ends = (int(exposure.lower[row, option]), int(exposure.upper[row, option]))
            if ends != (values[0], values[-1]) or not exposure.integer[row, option]:
                wrong.append(f"{cell} {name!r}: {values[0]} to {values[-1]}, not {ends}")
    return wrong


def subsets(axes: Sequence[str], orders: Iterable[int]) -> list[tuple[str, ...]]:
    """Sets of axes of the given sizes."""
    return [chosen for order in orders for chosen in combinations(axes, order)]


def is_safe(tables: Sequence[PublishedTable], table: Table, limits: Limits) -> bool:
    """By exhaustion: no cell of any set of axes, no printed cell, no two printed cells together are disclosed."""
    fiber = Fiber(tables, onlooker_with_roll(table, "joint"))
    sets = [p for axes in subsets(fiber.axes, range(1, len(fiber.axes) + 1)) for p in fiber.cells(axes).values()]
    shown: list[tuple[set[str], set[int]]] = []
    for each in tables:
        columns = [fiber.axes.index(axis) for axis in each.axes]
        for codes in {tuple(row) for row in each.codes.tolist()} if each.axes else ():
            groups = [each.groups[a][code] for a, code in enumerate(codes)]
            inside = {
                p
                for p, profile in enumerate(fiber.profiles)
                if all(profile[c] in group for c, group in zip(columns, groups, strict=True))
            }
            shown.append((set(each.axes), inside))
    sets += [sorted(inside) for _, inside in shown]
    sets += [sorted(a[1] & b[1]) for a, b in combinations(shown, 2) if not a[0] & b[0]]
    unique = {tuple(each) for each in sets if each}
    return not any(fiber.disclosed(list(each), limits) for each in unique)


def _is_joint(roll: PublishedTable, axes: Sequence[str]) -> bool:
    plain = all(len(group) == 1 for groups in roll.groups for group in groups)
    return plain and roll.is_exact and set(roll.axes) >= set(axes)


def _labels(table: PublishedTable, row: int) -> dict[str, str]:
    return {axis: next(iter(table.groups[a][table.codes[row, a]])) for a, axis in enumerate(table.axes)}


def _categories(tables: Sequence[PublishedTable], axis: str) -> list[str]:
    groups = [group for t in tables if axis in t.axes for group in t.groups[t.axes.index(axis)]]
    return sorted({name for group in groups for name in group})

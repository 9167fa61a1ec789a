"""Check certificates of intervals: lies beside `safemargin_verify.py` and `safemargin_verify_tables.py`, which load it.

    python safemargin_verify.py proofs.json published roll.csv

It uses the standard library and integers, and shares no code with the program that searches and solves. Section 8 of
docs/certificate.md describes the file. Objects:
    profile     one category of every axis
    variable    how many people of one profile chose one option
    row         what one line of a file says: the least and the most of a sum of variables
    witness     whole numbers for every variable that satisfy all rows: a table that could be true
    dual        a multiplier per row; together they limit a count, whatever the true table is
An interval is right if duals show that nothing lies beyond its ends, and sharp if witnesses attain them.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from itertools import product
from math import prod
from typing import Any

tables: Any = import_module(__name__.replace("intervals", "tables"))  # the second file, under whatever name it runs
base: Any = tables.base
refuse, expect, member, only, texts = base.refuse, base.expect, base.member, base.only, base.texts
integers, many, NotRead = tables.integers, tables.many, tables.NotRead
MOST_PROFILES = 300_000
Files = Mapping[str, bytes]
UNBOUNDED = 2**53  # stands for no upper end
RESERVED = ("option", "count", "people", "lower", "upper", "status")
JOINER, ROLES = " | ", ("table", "roll", "fact")
DUAL, SEARCH, UNLIMITED = "dual", "search", "no limit"
VERDICTS = ("contained", "open", "disclosed")
VERDICT_RULE = (
    "A cell is contained if its whole interval lies within the limits and it has at least kappa people. Otherwise it "
    "is disclosed if its interval lies wholly outside the limits or is no wider than tau (in a small cell: than a "
    "quarter of its people), and open if not. The limits are beta and 1 - beta of the people of the cell; with three "
    "or more options never more than half of what the total leaves. Where the people of a cell are not known, only the "
    "width counts."
)
INVISIBLE, NOTHING = "[\u200b\u200c\u200d\u2060\ufeff\u00ad]", "[\u200b\u2060\ufeff\u00ad]"
BLANKS = "[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\t]+"


def plain_label(text: str) -> str:
    """A label in Unicode form NFC without blanks around, and without the apostrophe before a formula."""
    if text.startswith("'") and text.lstrip("'")[:1] in tuple("=+-@") and not is_number(text.lstrip("'")):
        text = text[1:]
    return re.sub(BLANKS, " ", re.sub(NOTHING, "", unicodedata.normalize("NFC", text))).strip(" ")


def is_number(text: str) -> bool:
    return bool(
        re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?|[-+]?(inf|infinity|nan)", text, re.I | re.A)
    )


class Labels:
    """The labels of one column: those that look the same are one, in the spelling of the first."""

    def __init__(self) -> None:
        self.spelling: dict[str, str] = {}

    def read(self, text: str) -> str:
        plain = plain_label(text)
        if not plain:
            raise NotRead("a label is empty.")
        return self.spelling.setdefault(re.sub(INVISIBLE, "", plain), plain)


class Source:
    """One file: rows of groups of categories, an option, and the least and most people."""

    def __init__(self, stated: Any, content: bytes, where: str) -> None:
        self.name, self.role = stated["name"], stated["role"]
        refuse(self.role not in ROLES, f"{where}: {self.role!r:.60} is no role")
        try:
            rows = base.parse_csv(self.name, content)
        except base.Finding as finding:
            raise NotRead(f"{finding}.") from None
        by, skip = stated["by"], expect(stated["skip"], list, where)
        words = [stated["count"], stated["option"], *(by or []), *(text for pair in skip for text in pair)]
        clear = all(type(text) is str for text in words) and all(type(p) is list and len(p) == 2 for p in skip)
        refuse(not clear or type(by) not in (list, type(None)), f"{where}: it is unclear how {self.name} is read")
        for column, value in skip:
            rows = [row for row in rows if (row[column] or "") != value]
        if not rows:
            raise NotRead(f"{self.name}: no row is left.")
        columns, count, option = list(rows[0]), stated["count"], stated["option"]
        measures = [name for name in dict.fromkeys((count, "people")) if name in columns]
        own = [name for name in columns if name not in {*RESERVED, count, option}]
        self.axes = own if by is None else texts(by, where)
        counted = measures or {"lower", "upper"} & set(columns)
        if len(measures) > 1 or not set(self.axes) <= set(columns) or not counted:
            raise NotRead(f"{self.name}: has other columns than this program reads.")
        self.is_roll = measures == ["people"]  # it counts people, not answers
        self.groups: list[list[frozenset[str]]] = [[] for _ in self.axes]
        self.options: list[str] = []
        self.rows: list[tuple[tuple[int, ...], int, int, int]] = []  # groups, option or -1, least, most
        readers, answers, seen = [Labels() for _ in self.axes], Labels(), set()
        for number, row in enumerate(rows, 1):
            codes = []
            for a, axis in enumerate(self.axes):
                members = [readers[a].read(text) for text in (row[axis] or "").split(JOINER)]
                group = frozenset(members)
                refuse(len(group) < len(members), f"{self.name}: row {number}: names a category twice")
                if group not in self.groups[a]:
                    self.groups[a].append(group)
                codes.append(self.groups[a].index(group))
            chosen = -1
            if option in columns:
                name = answers.read(row[option] or "")
                self.options += [] if name in self.options else [name]
                chosen = self.options.index(name)
            refuse((tuple(codes), chosen) in seen, f"{self.name}: row {number}: occurs twice")
            seen.add((tuple(codes), chosen))
            self.rows.append((tuple(codes), chosen, *self._ends(row, measures)))

    def _ends(self, row: Mapping[str, Any], measures: Sequence[str]) -> tuple[int, int]:
        """The least and the most of a row; a noised count says nothing, and a gap that it is not negative."""
        noised = row.get("status") == "noised"
        count, least, most = (self._number(row, name, noised) for name in ([*measures, ""][0], "lower", "upper"))
        low, high = least or 0, UNBOUNDED if most is None else most
        refuse(count is not None and not low <= count <= high, f"{self.name}: a count lies outside its range")
        low, high = (low, high) if count is None else (count, count)
        refuse(low > high, f"{self.name}: a range ends before it starts")
        return low, high

    def _number(self, row: Mapping[str, Any], name: str, noised: bool) -> int | None:
        text = (row.get(name) or "").strip()
        if not text or noised:
            return None
        if not re.fullmatch("[0-9]{1,10}", text):
            raise NotRead(f"{self.name}: the count {base.quoted([text[:60]])} is not written in digits alone.")
        return int(text)

    @property
    def is_exact(self) -> bool:
        return all(low == high for _, _, low, high in self.rows)

    @property
    def has_gaps(self) -> bool:
        """Whether some combination of the groups that it lists has no row."""
        return any(
            len({codes for codes, chosen, _, _ in self.rows if chosen == option}) < prod(map(len, self.groups))
            for option in {chosen for _, chosen, _, _ in self.rows}
        )

    def layers(self) -> Iterator[tuple[list[int], list[dict[str, int]]]]:
        """Rows whose cells do not overlap, in as few sets as a greedy pass finds, with the group of every category."""
        levels = [_levels(groups) for groups in self.groups]
        for chosen in product(*(range(max(level, default=0) + 1) for level in levels)):
            rows = [
                number
                for number, (codes, _, _, _) in enumerate(self.rows)
                if all(levels[a][code] == chosen[a] for a, code in enumerate(codes))
            ]
            group_of = [
                {name: g for g, group in enumerate(groups) if levels[a][g] == chosen[a] for name in group}
                for a, groups in enumerate(self.groups)
            ]
            if rows:
                yield rows, group_of

    def listed(self, a: int) -> set[str]:
        return set().union(*self.groups[a])

    def total(self, seen: Mapping[str, Sequence[str]]) -> dict[str, int] | None:
        """Totals by option, where all cells are exact and part everybody whom any file lists; else none."""
        whole = all(set(seen.get(axis, ())) <= self.listed(a) for a, axis in enumerate(self.axes))
        if not self.is_exact or len(list(self.layers())) != 1 or not whole:
            return None
        sums = dict.fromkeys(self.options or [""], 0)
        for _, option, low, _ in self.rows:
            sums[self.options[option] if option >= 0 else ""] += low
        return sums


def _levels(groups: Sequence[frozenset[str]]) -> list[int]:
    taken: list[set[str]] = []
    levels = []
    for group in groups:
        level = next((number for number, used in enumerate(taken) if not used & group), len(taken))
        if level == len(taken):
            taken.append(set())
        taken[level] |= group
        levels.append(level)
    return levels


def categories_of(sources: Sequence[Source], axis: str) -> list[str]:
    """Every category of an axis in the order in which files list it."""
    seen: dict[str, None] = {}
    for source in sources:
        for group in source.groups[source.axes.index(axis)] if axis in source.axes else ():
            seen.update(dict.fromkeys(sorted(group)))
    return list(seen)


class System:
    """Variables and rows: all that the files say. A variable is `profile * free + option`."""

    def __init__(self, tables: Sequence[Source], rolls: Sequence[Source], facts: Sequence[Source]) -> None:
        said, whole = [*tables, *facts], [*tables, *(fact for fact in facts if not fact.has_gaps)]
        self.options = list(dict.fromkeys(name for source in said for name in source.options)) or [""]
        axes = list(dict.fromkeys(axis for source in said for axis in source.axes))
        singles = [roll for roll in rolls if all(len(group) == 1 for groups in roll.groups for group in groups)]
        fits = [roll for roll in singles if roll.is_exact and set(roll.axes) >= set(axes)]
        joint = max(fits, key=lambda roll: len(roll.axes), default=None)
        known = [joint] if joint else rolls
        self.axes = list(dict.fromkeys([*axes, *(axis for roll in known for axis in roll.axes)]))
        self.categories = [categories_of([*said, *rolls], axis) for axis in self.axes]
        self.seen = dict(zip(self.axes, self.categories))
        own = {axis: categories_of(tables, axis) for table in tables for axis in table.axes}
        totals: dict[str, list[int]] = {}
        for table in tables:
            for name, total in (table.total(own) or {}).items():
                totals.setdefault(name, []).append(total)
        self.slack = max((max(each) - min(each) for each in totals.values()), default=0)
        self._check_totals(whole)
        self.people: list[int] | None = None
        if joint:
            sizes = Counter[tuple[int, ...]]()
            places = [joint.axes.index(axis) for axis in self.axes]
            for codes, _, people, _ in joint.rows:
                names = [min(joint.groups[at][codes[at]]) for at in places]
                sizes[tuple(each.index(name) for each, name in zip(self.categories, names))] += people
            self.profiles = sorted(profile for profile, people in sizes.items() if people)
            self.people = [sizes[profile] for profile in self.profiles]
        else:
            if prod(map(len, self.categories)) > MOST_PROFILES:
                raise NotRead(f"more than {MOST_PROFILES:,} combinations of categories.")
            self.profiles = list(product(*(range(len(each)) for each in self.categories)))
        self._choose_form(whole, rolls)
        self.size = len(self.profiles) * self.free
        self.high = [UNBOUNDED] * self.size
        if self.people is not None:
            self.high = [people for people in self.people for _ in range(self.free)]
        self.rows: list[tuple[list[int], int, int]] = []  # variables, least, most
        for table in tables:
            self._add(table, True)
        for fact in facts:
            self._add(fact, not fact.has_gaps)
        for roll in rolls if self.people is None else ():
            self._add(roll, True)

    def _check_totals(self, sources: Sequence[Source]) -> None:
        first: dict[str, int] = {}
        for source in sources:
            for name, total in (source.total(self.seen) or {}).items():
                apart = abs(first.setdefault(name, total) - total) > 2 * self.slack
                refuse(apart, f"{source.name}: adds up to another total than the files before it")

    def _choose_form(self, facts: Sequence[Source], rolls: Sequence[Source]) -> None:
        """Which options are variables: the last is what the others leave, where all people on a joint roll answered;
        without a joint roll there is one more, unlisted, where people are left over.
        """
        everybody = {sum(total.values()) for roll in rolls if (total := roll.total(self.seen)) is not None}
        answered = {
            sum(total.values())
            for fact in facts
            if set(fact.options) == set(self.options) and (total := fact.total(self.seen)) is not None
        }
        covering = bool(everybody & answered) or self._all_answered(facts)
        covering = covering and len(self.options) > 1 and self.slack == 0
        self.free, self.reference, self.unlisted = len(self.options), False, False
        if self.people is not None and covering:
            self.free, self.reference = len(self.options) - 1, True
        elif self.people is None and rolls and not covering:
            self.free, self.unlisted = len(self.options) + 1, True

    def _all_answered(self, facts: Sequence[Source]) -> bool:
        """Whether exact tables, each about a part of the people, count as many answers as people there."""
        if self.people is None or any(set(fact.options) != set(self.options) for fact in facts):
            return False
        sure = set[int]()
        for fact in facts:
            if fact.is_exact and len(list(fact.layers())) == 1:
                inside = self._appears(fact)
                if sum(self.people[p] for p in inside) == sum(low for _, _, low, _ in fact.rows):
                    sure |= inside
        return len(sure) == len(self.profiles)

    def names(self, profile: int) -> dict[str, str]:
        codes = self.profiles[profile]
        return {axis: self.categories[a][codes[a]] for a, axis in enumerate(self.axes)}

    def _appears(self, source: Source) -> set[int]:
        """Profiles whose categories all appear in a file."""
        places = [(self.axes.index(axis), source.listed(a)) for a, axis in enumerate(source.axes)]
        listed = [(p, {code for code, name in enumerate(self.categories[p]) if name in names}) for p, names in places]
        return {p for p, codes in enumerate(self.profiles) if all(codes[at] in inside for at, inside in listed)}

    def _add(self, source: Source, leaves_out: bool) -> None:
        """The rows of one file; a combination that it lists no cell for, although it lists the categories, is empty."""
        covered: dict[int, set[int]] = {}
        columns = [self.axes.index(axis) for axis in source.axes]
        for rows, group_of in source.layers():
            codes_of = [[of.get(name, -1) for name in self.categories[at]] for at, of in zip(columns, group_of)]
            inside: dict[tuple[int, ...], list[int]] = {}
            for profile, codes in enumerate(self.profiles):
                cell = tuple(of[codes[at]] for at, of in zip(columns, codes_of))
                inside.setdefault(cell, []).append(profile)
            for option in sorted({source.rows[row][1] for row in rows}):
                filled = covered.setdefault(option, set())
                for codes, _, low, high in (source.rows[row] for row in rows if source.rows[row][1] == option):
                    profiles = inside.get(codes, [])
                    filled.update(profiles)
                    self._add_row(source, option, profiles, low, high)
        for option, filled in covered.items() if leaves_out else ():
            self._leave_out(source, option, sorted(self._appears(source) - filled))

    def _add_row(self, source: Source, option: int, profiles: Sequence[int], low: int, high: int) -> None:
        if self.slack and not source.is_roll:
            low, high = max(low - self.slack, 0), min(high + self.slack, UNBOUNDED)
        columns = self._columns(source, option)
        if columns is None:  # the last option, which is what the others leave; or any option
            size = self._sum_people(profiles)
            wrong = size < low or (size > high and option < 0)
            refuse(wrong, f"{source.name}: counts other people than the roll")
            if option < 0:
                return
            low, high, columns = max(size - high, 0), size - low, list(range(self.free))
        self.rows.append(([p * self.free + column for p in profiles for column in columns], low, high))

    def _leave_out(self, source: Source, option: int, empty: Sequence[int]) -> None:
        columns = self._columns(source, option)
        for variable in [p * self.free + column for p in empty for column in columns or ()]:
            self.high[variable] = 0
        if columns is None and empty:  # nobody there chose the last option
            size = self._sum_people(empty)
            variables = [p * self.free + column for p in empty for column in range(self.free)]
            self.rows.append((variables, size if option >= 0 else size + 1, size))

    def _sum_people(self, profiles: Sequence[int]) -> int:
        return sum(self.people[p] for p in profiles) if self.people is not None else 0

    def _columns(self, source: Source, option: int) -> list[int] | None:
        """The options that a row adds; none where it is about the last option, or about all of them."""
        if source.is_roll:
            return list(range(self.free))
        if option < 0:
            return None if self.reference else list(range(self.free - self.unlisted))
        column = self.options.index(source.options[option])
        return [column] if column < self.free - self.unlisted else None

    def misses(self, counts: Sequence[int]) -> str:
        """Why counts of all variables contradict the files; empty if they do not."""
        if any(not 0 <= count <= high for count, high in zip(counts, self.high)):
            return "counts people where nobody can be"
        for number, (variables, low, high) in enumerate(self.rows):
            if not low <= sum(counts[variable] for variable in variables) <= high:
                return f"contradicts row {number}"
        if self.people is not None:
            sums = (sum(counts[p * self.free : (p + 1) * self.free]) for p in range(len(self.profiles)))
            if any(chose > people for chose, people in zip(sums, self.people)):
                return "has more answers than people"
        return ""


class Intervals:
    """Every claim of a certificate of intervals, with its duals and witnesses."""

    def __init__(self, stated: Any, system: System, sources: Sequence[Source], where: str) -> None:
        self.stated, self.system, self.sources, self.where, self.text = stated, system, sources, where, ""
        self.rolls = [source for source in sources if source.role == "roll"]
        self.tables = [self._table(table, number) for number, table in enumerate(stated["tables"])]
        limited = {v for variables, _, high in system.rows if high < UNBOUNDED for v in variables}
        self.endless = {v for v, high in enumerate(system.high) if high >= UNBOUNDED} - limited
        self.kinds = Counter[str]()
        self.outer: list[tuple[int, int]] = []  # what the duals show of every claim
        self.attained: list[tuple[int, int] | None] = []

    def _table(self, pairs: Any, number: int) -> list[int]:
        where, counts = f"{self.where}: table {number}", [0] * self.system.size
        given = [integers(pair, where, 0) for pair in expect(pairs, list, where)]
        once = all(len(pair) == 2 for pair in given) and len({pair[0] for pair in given}) == len(given)
        refuse(not once or any(v >= len(counts) for v, _ in given), f"{where}: counts what does not exist, or twice")
        for variable, count in given:
            counts[variable] = count
        wrong = self.system.misses(counts)
        refuse(wrong, f"{where}: {wrong}")
        return counts

    def check(self) -> None:
        """Every cell of the target and every option is claimed once, with both ends."""
        system, axes = self.system, texts(self.stated["target"], f"{self.where}: target")
        refuse(not set(axes) <= set(system.axes) or (system.axes and not axes), f"{self.where}: target: names no axis")
        places, cells = [system.axes.index(axis) for axis in axes], dict[tuple[str, ...], list[int]]()
        for profile, codes in enumerate(system.profiles):
            cells.setdefault(tuple(system.categories[at][codes[at]] for at in places), []).append(profile)
        missing = {(cell, option) for cell in cells for option in system.options}
        self.claims: list[tuple[tuple[str, ...], int, Any]] = []
        for claim in expect(self.stated["cells"], list, self.where):
            option: Any = claim.get("option", "") if system.options != [""] else "" if "option" not in claim else None
            only(claim, "cell lower upper" + (" option" if "option" in claim else ""), f"{self.where}: a cell")
            labels = expect(claim["cell"], dict, f"{self.where}: a cell")
            cell = tuple(labels.get(axis) for axis in axes)
            known = set(labels) == set(axes) and (cell, option) in missing
            refuse(not known, f"{self.where}: {str(labels)[:60]}: there is no such cell, or it is claimed twice")
            missing.discard((cell, option))
            self._claim(claim, cells[cell], system.options.index(option))
            self.claims.append((cell, system.options.index(option), claim))
        refuse(missing, f"{self.where}: nothing is claimed about {many(len(missing), 'count')}")
        self.people_of = {cell: self._people(axes, cell, inside) for cell, inside in cells.items()}

    def _claim(self, claim: Any, profiles: Sequence[int], option: int) -> None:
        """One count as `offset + sign * (sum of variables)`, and both of its ends."""
        system, free = self.system, self.system.free
        if option < free and not (system.reference and option == len(system.options) - 1):
            places, offset, sign = [p * free + option for p in profiles], 0, 1
        else:
            places = [p * free + column for p in profiles for column in range(free)]
            offset, sign = system._sum_people(profiles), -1
        values = [offset + sign * sum(table[place] for place in places) for table in self.tables]
        ends = []
        for key, upwards in (("lower", False), ("upper", True)):
            end, where = claim[key], f"{self.where}: {str(claim['cell'])[:60]}: {key}"
            by = member(end, "shown_by", str, where)
            if by == UNLIMITED:
                only(end, "value shown_by", where)
                fits = end["value"] is None and upwards and sign > 0 and self.endless.intersection(places)
                refuse(not fits, f"{where}: is not without limit")
                self.kinds["unlimited"] += 1
                ends.append(UNBOUNDED)
                continue
            refuse(by not in (DUAL, SEARCH), f"{where}: {by!r:.60} is no proof")
            only(end, "value shown_by dual witness" + (" outer" if by == SEARCH else ""), where)
            value = integers([end["value"]], where)[0]
            outer = integers([end["outer"]], where)[0] if by == SEARCH else value
            if end["witness"] is not None:
                number = integers([end["witness"]], where, 0)[0]
                refuse(number >= len(values) or values[number] != value, f"{where}: table {number} does not attain it")
            refuse(by == SEARCH and end["witness"] is None, f"{where}: neither a dual nor a witness shows it")
            limit = self._limit(end["dual"], places, sign if upwards else -sign, where)
            shown = offset + limit if upwards else offset - limit
            beyond = shown > outer or outer < value if upwards else shown < outer or outer > value
            refuse(beyond, f"{where}: {value:,} is claimed, {shown:,} is what its dual gives")
            self.kinds[SEARCH if by == SEARCH else "proved" if end["witness"] is not None else "outer"] += 1
            ends.append(outer)
        values += [UNBOUNDED] if claim["upper"]["value"] is None else []
        self.outer.append((ends[0], ends[1]))
        self.attained.append((min(values), max(values)) if values else None)

    def _limit(self, dual: Any, places: Sequence[int], way: int, where: str) -> int:
        """The integer that `way * (sum of variables)` cannot exceed, whatever the true table is.

        Multiply row i by y, and the people of profile p by z >= 0, and add: the sum of the variables at `places`, times
        `denominator`, is that plus a rest in which every variable is at most what the files say.
        """
        more = " people" if "people" in expect(dual, dict, f"{where}: dual") else ""
        times = integers([only(dual, f"denominator rows{more}", where)["denominator"]], where, 1)[0]
        system, value, rest = self.system, 0, Counter[int]()
        for place in places:
            rest[place] += way * times
        for row, number in self._numbers(dual["rows"], len(system.rows), where):
            variables, low, high = system.rows[row]
            refuse(number > 0 and high >= UNBOUNDED, f"{where}: uses a limit that row {row} does not have")
            value += number * (high if number > 0 else low)
            for variable in variables:
                rest[variable] -= number
        people = system.people or []
        for profile, number in self._numbers(dual.get("people", {}), len(people), where):
            refuse(number < 0, f"{where}: uses people in a way that is not allowed")
            value += number * people[profile]
            for variable in range(profile * system.free, (profile + 1) * system.free):
                rest[variable] -= number
        above = [(variable, number) for variable, number in rest.items() if number > 0]
        refuse(any(system.high[v] >= UNBOUNDED for v, _ in above), f"{where}: its dual leaves a count without limit")
        limit: int = (value + sum(number * system.high[variable] for variable, number in above)) // times
        return limit

    def _numbers(self, stated: Any, most: int, where: str) -> list[tuple[int, int]]:
        """Multipliers by the number of a row or profile, which is written in one way only."""
        keys = [key for key in expect(stated, dict, where) if not re.fullmatch("0|[1-9][0-9]{0,14}", key)]
        wrong = bool(keys) or any(int(key) >= most for key in stated)
        refuse(wrong, f"{where}: has a multiplier of a row or profile that does not exist")
        return [(int(key), number) for key, number in zip(stated, integers(list(stated.values()), where))]

    def _people(self, axes: Sequence[str], cell: tuple[str, ...], profiles: Sequence[int]) -> int | None:
        """How many people a cell has, where a roll states it."""
        if self.system.people is not None:
            return self.system._sum_people(profiles)
        for roll in self.rolls:
            if set(roll.axes) >= set(axes) and roll.total(self.system.seen) is not None:
                places = [roll.axes.index(axis) for axis in axes]
                if any(len(group) > 1 for at in places for group in roll.groups[at]):
                    return None
                names = [frozenset([name]) for name in cell]
                fits = [r for r in roll.rows if all(roll.groups[at][r[0][at]] == n for at, n in zip(places, names))]
                return sum(low for _, _, low, _ in fits)
        return None

    def verdicts(self) -> str:
        """Whether the cells that are called contained or open are shown to be; what is not checked, in words."""
        stated, where = self.stated["verdict"], f"{self.where}: verdict"
        only(stated, "rule target counts", where)
        refuse(stated["rule"] != VERDICT_RULE, f"{where}: states another rule")
        target = expect(stated["target"], dict, f"{where}: target")
        if not set(target) <= {"beta", "kappa", "tau", "epsilon_max", "guard"}:
            return "verdicts: their target has secrets or sensitive categories, which this program does not read."
        beta, kappa, tau = Fraction(-1), member(target, "kappa", int, where), member(target, "tau", int, where)
        if type(target["beta"]) in (int, float):
            beta = Fraction(target["beta"]).limit_denominator(10**9)
        refuse(not 0 < beta < Fraction(1, 2) or kappa < 1 or tau < 0, f"{where}: its target is impossible")
        more, guard = target.get("epsilon_max", 1), target.get("guard")
        good = type(more) in (int, float) and 0 < more < float("inf")
        good = good and (guard is None or (type(guard) in (int, float) and 0 < guard < Fraction(1, 2) - beta))
        refuse(not good, f"{where}: its target is impossible")
        limits = Limits(self, beta, kappa, tau)
        tally = dict.fromkeys(VERDICTS, 0)
        for number, (cell, option, claim) in enumerate(self.claims):
            people, upper = self.people_of[cell], claim["upper"]["value"]
            stated_ends = (claim["lower"]["value"], UNBOUNDED if upper is None else upper)
            said = limits.verdict(option, people, *stated_ends)
            tally[said] += 1
            proved = limits.verdict(option, people, *self.outer[number]) == "contained"
            attained = self.attained[number]  # tables show that a cell is open, never that it is contained
            is_open = attained is not None and limits.verdict(option, people, *attained, never=True) == "open"
            unproved = said != "disclosed" and not proved and not is_open
            refuse(unproved, f"{where}: {cell}: is called {said}, but no dual and no witness shows it")
        refuse(not base.same(stated["counts"], tally), f"{where}: counts other verdicts than {tally}")
        self.text = f" Of these counts {tally['contained']:,} are contained, {tally['open']:,} open, "
        self.text += f"{tally['disclosed']:,} disclosed (beta {float(beta):g}, kappa {kappa:,}, tau {tau:,})."
        return ""


class Limits:
    """What may be inferred of a count of every option: shares from `floors` to `ceilings`, in groups of `kappa` people,
    and nothing to an interval no wider than `tau`.
    """

    def __init__(self, claims: Intervals, beta: Fraction, kappa: int, tau: int) -> None:
        system, self.kappa, self.tau = claims.system, kappa, tau
        totals = dict.fromkeys(system.options, 0)
        for source in reversed(claims.sources):  # the first file that states a total counts
            own = source.total(system.seen) if source.role != "roll" else {}
            totals.update({name: total for name, total in (own or {}).items() if name in totals})
        people = [sum(sums.values()) for roll in claims.rolls if (sums := roll.total(system.seen)) is not None]
        everybody = max(people, default=sum(totals.values()))
        two = len(totals) <= 2 or sum(totals.values()) != everybody  # then no share may be too small either
        shares = [Fraction(total, max(everybody, 1)) for total in totals.values()]
        self.ends = [
            (min(beta, share / 2) if two else Fraction(-1), 1 - min(beta, (1 - share) / 2), two, share in (0, 1))
            for share in shares
        ]

    def verdict(self, option: int, people: int | None, low: int, high: int, never: bool = False) -> str:
        if people is None:
            return "disclosed" if high - low <= self.tau else "open"
        floor, ceiling, has_floor, unchosen = self.ends[option]
        least = -(-people * floor.numerator // floor.denominator)  # rounded up
        most, near = people * ceiling.numerator // ceiling.denominator, min(self.tau, people // 4 if people else -1)
        large = people >= self.kappa and not never
        if (low >= least and high <= most and large) or unchosen:
            return "contained"
        some, few = not (high <= most and large) and low >= 1, not (low >= least and large) and high < people
        says = some or (has_floor and few)
        return "disclosed" if high < least or low > most or (high - low <= near and says) else "open"


KEYS = "schema kind files axes categories options slack rows variables target tables cells sha256"


def check(stated: Any, files: Files, where: str, result: Any) -> None:
    """A certificate of intervals, with the files that it is about; `result` takes what is found."""
    only(stated, KEYS + (" verdict" if "verdict" in stated else ""), where)
    refuse(not base.same([stated["schema"], stated["kind"]], [1, "bounds"]), f"{where}: is of another schema or kind")
    content = {name: value for name, value in stated.items() if name != "sha256"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    mark = hashlib.sha256(text.encode("utf-8")).hexdigest()
    refuse(mark != stated["sha256"], f"{where}: it was changed after it was written: its seal does not match")
    sources, listed = [], member(stated, "files", list, where)
    tables.refuse_others(files, [member(entry, "name", str, f"{where}: files") for entry in listed])
    for entry in listed:
        only(entry, "name role sha256 count option by skip", f"{where}: files")
        name = entry["name"]
        if name not in files:
            raise NotRead(f"{name}: is not here, and the certificate speaks about it; give the file, too.")
        refuse(hashlib.sha256(files[name]).hexdigest() != entry["sha256"], f"{name}: its hash is not that of {where}")
        if not name.endswith(".csv"):
            raise NotRead(f"{name}: is no CSV file.")
        sources.append(Source(entry, files[name], f"{where}: files"))
    of = {role: [source for source in sources if source.role == role] for role in ROLES}
    refuse(not of["table"] and not of["fact"], f"{where}: is about no table")
    system = System(of["table"], of["roll"], of["fact"])
    shape = [system.axes, system.categories, system.options, system.slack, len(system.rows), system.size]
    said = [stated[key] for key in ("axes", "categories", "options", "slack", "rows", "variables")]
    refuse(not base.same(shape, said), f"{where}: has other axes, categories, options, slack or rows than the files")
    claims = Intervals(stated, system, [*of["table"], *of["fact"], *of["roll"]], where)
    claims.check()
    notes = [claims.verdicts() if "verdict" in stated else "verdicts: the certificate states none."]
    others = [axis for axis in system.axes if axis not in stated["target"]]
    if others:
        notes.append(f"cells by {', '.join(others)}: its claims are about cells by {', '.join(stated['target'])}.")
    for entry in stated["files"]:
        notes += [
            f"{entry['name']}: rows with {c} = {shown(v)}, which the certificate omits." for c, v in entry["skip"]
        ]
    kinds = claims.kinds
    if kinds[SEARCH]:
        notes.append(f"{many(kinds[SEARCH], 'end')}: a search closed the last gap, which the duals leave open.")
    notes.append("the printed counts and the roll themselves, and what onlookers know beside these files.")
    result.unchecked += [note for note in notes if note]
    result.files, result.tables, result.cells = len(sources), len(claims.tables), len(claims.claims)
    result.is_proved, result.statement = not kinds[SEARCH], statement(stated, claims)


def shown(value: Any) -> str:
    """A text, or a list of texts, in quotes."""
    return f"[{', '.join(map(shown, value))}]" if isinstance(value, list) else str(base.quoted([value]))


def statement(stated: Any, claims: Intervals) -> str:
    """What was checked, in words: who knows what, and what follows."""

    def named(role: str) -> str:
        ways = []
        for entry in (each for each in stated["files"] if each["role"] == role):
            plain: dict[str, Any] = {
                "count": "people" if role == "roll" else "count",
                "option": "option",
                "by": None,
                "skip": [],
            }
            odd = [f"{key} {shown(entry[key])}" for key, value in plain.items() if entry[key] != value]
            ways.append(base.quoted([entry["name"]]) + (f" (read with {', '.join(odd)})" if odd else ""))
        return ", ".join(ways)

    words = {"table": "sees", "roll": "knows the roll", "fact": "knows the facts"}
    who = " and ".join(f"{word} {named(role)}" for role, word in words.items() if named(role))
    kinds, over = claims.kinds, " x ".join(stated["target"]) or "everybody"
    text = f"For somebody who {who}, each of {many(len(claims.claims), 'count')} by {over} lies within its interval. "
    text += f"Of the ends, {kinds['proved']:,} are attained by a table that fits"
    text += f", {kinds['outer']:,} are limits that may not be attained" if kinds["outer"] else ""
    text += f", and nothing limits {kinds['unlimited']:,}" if kinds["unlimited"] else ""
    text += f". Every count may be off by {claims.system.slack:,}, since totals disagree" if claims.system.slack else ""
    return f"{text}.{claims.text}"

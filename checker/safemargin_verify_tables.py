"""Check certificates of suppression; `safemargin_verify.py` beside it loads this file, for intervals a third one, too.

    python safemargin_verify.py published                                  tables with suppressed counts
    python safemargin_verify.py published earlier.csv                      the same, with tables that were out before
    python safemargin_verify.py certificate.json published                 the certificate of the office

It uses the standard library and integers, and shares no code with the program that searches for what to suppress.
Section 7 of docs/certificate.md describes the files. Objects:
    cell        one category or sum (or none) of every axis; a margin that two tables share is one cell
    sum         a cell, and the cells of one axis that add up to it
    gap         a cell that is suppressed: it holds one person at least, since zeros are printed
    witness     whole numbers for every cell that satisfy all sums and every printed count: a table that could be true
    change      what leads from the first witness to another one
A suppressed count that takes two values more than tau apart in two witnesses cannot be inferred, whatever is true.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import product
from math import prod
from typing import Any

base: Any = import_module(__name__.replace("_tables", ""))  # the first file, under whatever name it runs
refuse, expect, member, only, texts = base.refuse, base.expect, base.member, base.only, base.texts
OFFICE, PUBLIC, INTERVALS = "safemargin-pattern", base.SUPPRESSED, "bounds"
MOST_COALITIONS, MOST_CELLS = 20_000, 3_000_000
WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError, OverflowError)
Cell = frozenset  # of pairs of an axis and a label; an axis that is summed over is not named
Files = Mapping[str, bytes]
View = tuple[Sequence[int], Sequence[tuple[int, int]]]  # cells whose count somebody knows; least counts of others


class NotRead(Exception):
    """What is there, and cannot be checked by this program: no finding, and no proof."""


def check_given(path: str, paths: Sequence[str], key: bytes | None = None) -> Any:
    """Check a certificate of intervals or of suppression, or a folder, with further files or folders of them."""
    if os.path.isdir(path):
        return base.check(base.read_folder(path), key=key, more=read_given(paths, path))
    result, name = base.Result(), os.path.basename(path)
    with open(path, "rb") as file:
        content = file.read()
    with found(result):
        refuse(key is not None, "key: is for folders that are signed; this is one certificate")
        check_one(content, read_given(paths, path), name, result)
    return result


def check_one(content: bytes, given: Files, name: str, result: Any) -> None:
    """A certificate by itself, with the files that it is about."""
    stated = expect(base.parse_json(name, content, free=True), dict, name)
    kind = stated.get("kind")
    if kind == "release":
        raise NotRead("anything: the certificate of a release is checked with its folder; give `published`.")
    refuse(kind not in (PUBLIC, OFFICE, INTERVALS), f"{name}: is no certificate of intervals or of suppression")
    try:
        checker = check if kind != INTERVALS else import_module(__name__.replace("tables", "intervals")).check
    except ModuleNotFoundError:
        raise NotRead("what nobody can infer: that needs safemargin_verify_intervals.py beside this file.") from None
    # Only certificates of intervals have integers of more than 15 characters, and numbers with a point.
    checker(stated if kind == INTERVALS else base.parse_json(name, content), given, name, result)


@contextmanager
def found(result: Any) -> Iterator[None]:
    """Findings, and what cannot be read, go into the result."""
    try:
        yield
    except base.Finding as finding:
        result.failures.append(str(finding))
    except NotRead as reason:
        result.unchecked.append(str(reason))
    except WRONG as error:
        result.failures.append(f"a file does not have the form that docs/certificate.md describes ({error!r:.80})")


def read_given(paths: Sequence[str], alone: str) -> dict[str, bytes]:
    """Files and those of folders by name; neither the certificate itself, nor a folder inside the one of the office."""
    files: dict[str, bytes] = {}
    for path in paths:
        inside = os.path.join(path, "published")
        folder = inside if os.path.isdir(inside) else path if os.path.isdir(path) else ""
        for place in [os.path.join(folder, name) for name in sorted(os.listdir(folder))] if folder else [path]:
            if not os.path.samefile(place, alone):
                refuse(
                    os.path.islink(place) or not os.path.isfile(place), f"{place}: is a link or a folder, not a file"
                )
                with open(place, "rb") as file:
                    content, name = file.read(), os.path.basename(place)
                refuse(files.get(name, content) != content, f"{name}: two files have this name")
                files[name] = content
    return files


def refuse_others(files: Files, names: Iterable[str]) -> None:
    """Refuse files that a certificate does not speak about: whoever reads them knows more than it says."""
    beside = {base.MANIFEST, base.SIGNATURE, base.CERTIFICATE}
    odd = sorted(set(files) - {*names, *beside})
    refuse(odd, f"{''.join(odd[:1])}: the certificate does not speak about this file")


def integers(value: Any, where: str, least: int | None = None) -> list[int]:
    """A list of integers, none below `least`."""
    for each in expect(value, list, where):
        refuse(type(each) is not int or (least is not None and each < least), f"{where}: {each!r:.60} is no count")
    return list(value)


def many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


class Axis:
    """The categories of one axis and their sums; node 0 is the sum over all of them."""

    def __init__(self, stated: Any, where: str) -> None:
        self.name = member(only(stated, "name labels splits", where), "name", str, where)
        where = f"{where}: {self.name}"
        self.labels = texts(member(stated, "labels", list, where), where)
        self.splits: list[tuple[int, list[int]]] = []
        for split in member(stated, "splits", list, where):
            refuse(type(split) is not list or len(split) != 2, f"{where}: a sum is not [whole, parts]")
            whole, parts = integers([split[0]], where, 0)[0], integers(split[1], where, 0)
            wrong = not parts or max(whole, *parts) >= len(self.labels) or len({whole, *parts}) <= len(parts)
            refuse(wrong, f"{where}: a sum has no parts, a part twice, or one that does not exist")
            self.splits.append((whole, parts))
        parents = {whole for whole, _ in self.splits}
        self.leaves = [node for node in range(len(self.labels)) if node not in parents]
        self.below = [self._below(node, where) for node in range(len(self.labels))]
        # A category that adds up to nothing could have any count: sums that are dropped widen every range.
        refuse(not self.labels or len(self.below[0]) < len(self.labels), f"{where}: a category is part of no sum")

    def _below(self, node: int, where: str) -> set[int]:
        """A node and all that it is the sum of; no node may be below itself."""
        found, waiting = {node}, [node]
        while waiting:
            at = waiting.pop()
            parts = [part for whole, listed in self.splits if whole == at for part in listed]
            refuse(node in parts, f"{where}: {self.labels[node]!r} is a part of itself")
            waiting += [part for part in parts if part not in found]
            found.update(parts)
        return found

    def leaf_labels(self, node: int = 0) -> frozenset[str]:
        return frozenset(self.labels[leaf] for leaf in self.leaves if leaf in self.below[node])


class PrintedTable:
    """One table: its axes, the numbers of its cells in the order of `product`, and what its file prints."""

    def __init__(self, stated: Any, where: str) -> None:
        self.file = member(only(stated, "file earlier axes", where), "file", str, where)
        self.earlier = member(stated, "earlier", bool, where)
        self.axes = [Axis(each, where) for each in member(stated, "axes", list, where)]
        names = [axis.name for axis in self.axes]
        refuse(not names or len(set(names)) < len(names), f"{where}: {self.file}: has no axes, or one twice")
        self.shape = [len(axis.labels) for axis in self.axes]
        if prod(self.shape) > MOST_CELLS:
            raise NotRead(f"{self.file}: has more than {MOST_CELLS:,} cells.")
        self.ids: list[int] = []

    def cells(self) -> Iterator[Cell[tuple[str, str]]]:
        pairs = [[None, *((axis.name, label) for label in axis.labels[1:])] for axis in self.axes]
        yield from (frozenset(pair for pair in chosen if pair) for chosen in product(*pairs))

    def read(self, content: bytes) -> dict[int, int | None]:
        """Count by place, `None` for a gap; a new table prints every cell, an earlier one what it lists."""
        try:
            rows = base.parse_csv(self.file, content)
        except base.Finding as finding:
            if self.earlier:
                raise NotRead(str(finding)) from None
            raise
        names, columns = [axis.name for axis in self.axes], list(rows[0]) if rows else []
        plain = self.earlier and set(columns) == {*names, "count"}
        unread = not plain and set(columns) != {*names, "count", "status"}
        if unread and self.earlier:
            raise NotRead(f"{self.file}: has other columns than its axes, count and status.")
        refuse(unread, f"{self.file}: has other columns than its axes, count and status")
        nodes = [{label: node for node, label in enumerate(axis.labels)} for axis in self.axes]
        found: dict[int, int | None] = {}
        for row in rows:
            at = [of.get((row[name] or "").strip(), -1) for name, of in zip(names, nodes)]
            refuse(-1 in at, f"{self.file}: has a category that the certificate does not list")
            place, count, status = self.place(at), row["count"] or "", "exact" if plain else row["status"]
            refuse(place in found, f"{self.file}: prints a cell twice")
            if status not in ("exact", "suppressed") or (count and not re.fullmatch("[0-9]{1,15}", count)):
                refuse(not self.earlier, f"{self.file}: a status or a count is not one that is written here")
                raise NotRead(f"{self.file}: has a status or a count of another program.")
            refuse((status == "suppressed") != (not count), f"{self.file}: a gap has a count, or a count is missing")
            found[place] = int(count) if count else None
        inner = [self.place(at) for at in product(*(axis.leaves for axis in self.axes))]
        if self.earlier and any(place in found for place in inner):  # cells that are not listed are empty
            found = {**dict.fromkeys(inner, 0), **found}
        refuse(not self.earlier and len(found) < len(self.ids), f"{self.file}: does not print every cell")
        return found

    def place(self, nodes: Sequence[int]) -> int:
        place = 0
        for node, size in zip(nodes, self.shape):
            place = place * size + node
        return place

    def sums(self) -> Iterator[tuple[int, list[int]]]:
        """Every sum as the number of a cell and those of its parts."""
        steps = [prod(self.shape[a + 1 :]) for a in range(len(self.shape))]
        for a, axis in enumerate(self.axes):
            others = [range(size) if b != a else range(1) for b, size in enumerate(self.shape)]
            starts = [self.place(at) for at in product(*others)]
            for whole, parts in axis.splits:
                for start in starts:
                    ids = [self.ids[start + steps[a] * node] for node in (whole, *parts)]
                    yield ids[0], ids[1:]


class Pattern:
    """All tables of a certificate of suppression, the first witness, and the changes that lead to others."""

    def __init__(self, stated: Any, files: Files, where: str) -> None:
        listed = member(stated, "tables", list, where)
        self.where, self.stated, self.tables = where, stated, [PrintedTable(each, where) for each in listed]
        self.new = [table for table in self.tables if not table.earlier]
        refuse(not self.new, f"{where}: is about no table but earlier ones")
        refuse(self.tables[: len(self.new)] != self.new, f"{where}: tables: earlier ones must come last")
        hashes, names = member(stated, "files", dict, where), [table.file for table in self.tables]
        refuse(list(hashes) != names, f"{where}: files: are not those of its tables")
        for name, mark in hashes.items():
            if name not in files:
                raise NotRead(f"{name}: is not here, and the certificate speaks about it; give the file, too.")
            refuse(hashlib.sha256(files[name]).hexdigest() != mark, f"{name}: its hash is not that of the certificate")
        self.number: dict[Cell[tuple[str, str]], int] = {}
        for table in self.tables:
            table.ids = [self.number.setdefault(cell, len(self.number)) for cell in table.cells()]
        self.size = len(self.number)
        self.fewest: Any = None  # cells of every pattern, as far as that was shown
        self._read(files)
        self.tau = integers([stated["tau"]], f"{where}: tau", 0)[0]
        self.hidden = [self.find(cell) for cell in member(stated, "suppressed", list, where)]
        self.known_before = {self.find(cell) for cell in member(stated, "known_before", list, where)}
        self.people = [self.combination(each) for each in member(stated, "people", list, where)]
        missing = (set(self.gaps) - set(self.printed)) ^ set(self.hidden)
        unlisted = {cell for cell in missing if cell not in self.gaps and cell not in self.printed}  # in no table
        once = len(set(self.hidden)) == len(self.hidden)
        refuse(missing - unlisted or not once, f"{where}: other cells are suppressed than it says")
        wrong = self.new_gaps & (set(self.printed) | self.known_before)
        refuse(wrong, f"{where}: a count that is suppressed is printed elsewhere, or said to be known")
        self._witness()

    def _read(self, files: Files) -> None:
        self.printed: dict[int, int] = {}
        self.gaps, self.new_gaps, self.old_gaps, self.printed_before = set[int](), set[int](), set[int](), set[int]()
        for table in self.tables:
            for place, count in table.read(files[table.file]).items():
                cell = table.ids[place]
                if count is None:
                    self.gaps.add(cell)
                    (self.old_gaps if table.earlier else self.new_gaps).add(cell)
                else:
                    self.printed_before |= {cell} if table.earlier else set()
                    other = self.printed.setdefault(cell, count)
                    refuse(other != count, f"{table.file}: prints another count than the files before it")

    def find(self, cell: Any) -> int:
        """The number of a cell that is given by its labels."""
        key = frozenset(expect(cell, dict, f"{self.where}: a cell").items())
        refuse(key not in self.number, f"{self.where}: there is no cell {str(cell)[:60]}")
        return self.number[key]

    def combination(self, who: Any) -> list[int]:
        """The inner cell of every table that people of this combination of categories are in."""
        labels, cells = expect(who, dict, f"{self.where}: people"), []
        for table in self.tables:
            nodes = []
            for axis in table.axes:
                of = [leaf for leaf in axis.leaves if labels.get(axis.name) in self.labels_below(axis, leaf)]
                refuse(len(of) != 1, f"{self.where}: people: {str(who)[:60]} is in no category of {table.file}")
                nodes += of
            cells.append(table.ids[table.place(nodes)])
        refuse(set(labels) != {a.name for t in self.tables for a in t.axes}, f"{self.where}: people: has other axes")
        return cells

    def labels_below(self, axis: Axis, node: int) -> set[str]:
        """A category of one table and all finer ones of other tables inside it."""
        found, size = {axis.labels[node]}, 0
        others = [other for table in self.tables for other in table.axes if other.name == axis.name]
        while len(found) > size:
            size = len(found)
            for other in others:
                for whole, parts in other.splits:
                    found |= {other.labels[part] for part in parts} if whole and other.labels[whole] in found else set()
        return found

    def _witness(self) -> None:
        """Counts of every cell and combination of people that satisfy all sums; and every change of them."""
        where, count = self.where, self.size
        self.places = [*self.hidden, *range(count, count + len(self.people))]
        given = integers(self.stated["counts"], f"{where}: counts", 0)
        refuse(len(given) != len(self.places), f"{where}: counts: are more or fewer than hidden cells and people")
        self.counts = [self.printed.get(cell, 0) for cell in range(count)] + [0] * len(self.people)
        for place, number in zip(self.places, given):
            self.counts[place] = number
        # Zeros are printed: what is suppressed is one at least.
        self.least = {cell: 1 for cell in self.gaps if cell not in self.printed}
        equations = [pair for table in self.tables for pair in table.sums()]
        if self.people:  # every inner cell holds just the people in it
            inside: dict[int, list[int]] = {}
            for number, cells in enumerate(self.people):
                for cell in set(cells):
                    inside.setdefault(cell, []).append(count + number)
            leaves = [t.ids[t.place(at)] for t in self.tables for at in product(*(axis.leaves for axis in t.axes))]
            equations += [(cell, inside.get(cell, [])) for cell in dict.fromkeys(leaves)]
        rows_of: list[list[tuple[int, int]]] = [[] for _ in self.counts]
        for row, (whole, parts) in enumerate(equations):
            refuse(self.counts[whole] != sum(self.counts[part] for part in parts), f"{where}: counts: do not add up")
            rows_of[whole].append((row, 1))
            for part in parts:
                rows_of[part].append((row, -1))
        small = any(self.counts[cell] < least for cell, least in self.least.items())
        refuse(small, f"{where}: counts: a suppressed count is below 1")
        self.changes: list[dict[int, int]] = []
        for change in member(self.stated, "changes", list, where):
            pairs = [integers(pair, f"{where}: changes") for pair in expect(change, list, f"{where}: changes")]
            good = all(len(pair) == 2 and 0 <= pair[0] < len(self.places) for pair in pairs)
            steps = {self.places[place]: step for place, step in pairs} if good else {}
            refuse(len(steps) < len(pairs), f"{where}: changes: names a count that is not hidden, or one twice")
            sums: dict[int, int] = {}
            for cell, step in steps.items():
                refuse(self.counts[cell] + step < self.least.get(cell, 0), f"{where}: changes: a count falls too low")
                for row, sign in rows_of[cell]:
                    sums[row] = sums.get(row, 0) + sign * step
            refuse(any(sums.values()), f"{where}: changes: one does not leave every sum as it is")
            self.changes.append(steps)

    def ranges(self, known: Sequence[int] = (), least: Sequence[tuple[int, int]] = ()) -> tuple[Any, Any]:
        """How far every count rises and falls over the changes that somebody cannot exclude who knows some counts."""
        up, down = dict[int, int](), dict[int, int]()
        for steps in self.changes:
            if any(steps.get(cell) for cell in known):
                continue
            if any(self.counts[cell] + steps.get(cell, 0) < fewest for cell, fewest in least):
                continue
            for cell, step in steps.items():
                up[cell], down[cell] = max(up.get(cell, 0), step), max(down.get(cell, 0), -step)
        return up, down

    def near(self, cells: Sequence[int], view: View = ((), ())) -> list[int]:
        """Which of these counts take no two values more than tau apart, for somebody with this view."""
        up, down = self.ranges(*view)
        known = set(view[0])
        return [cell for cell in cells if cell not in known and up.get(cell, 0) + down.get(cell, 0) <= self.tau]

    @property
    def claimed(self) -> list[int]:
        return sorted(self.gaps - set(self.printed) - self.known_before)


def is_cycle(tables: Sequence[PrintedTable]) -> bool:
    """Whether tables that agree on all shared margins may have no population behind them (Graham's reduction).

    Regions in one table and districts in another act like two axes, of which the finer table has both.
    """
    used: dict[str, list[frozenset[str]]] = {}
    for axis in (axis for table in tables for axis in table.axes):
        leaves = axis.leaf_labels()
        used.setdefault(axis.name, []).extend([] if leaves in used.get(axis.name, []) else [leaves])
    apart = any(len(each) > 1 for each in used.values())
    if apart and not all(is_nested(tables, name, each) for name, each in used.items()):
        return len(tables) > 2
    rank = {name: sorted(each, key=len) for name, each in used.items()}
    scopes = [
        {(axis.name, level) for axis in table.axes for level in range(rank[axis.name].index(axis.leaf_labels()) + 1)}
        for table in tables
    ]
    while len(scopes) > 1:
        lone = {each for each in set().union(*scopes) if sum(each in scope for scope in scopes) == 1}
        smaller = [scope - lone for scope in scopes]
        kept = [s for a, s in enumerate(smaller) if not any(s < o or (s == o and a < b) for b, o in enumerate(smaller))]
        if kept == scopes:
            return True
        scopes = kept
    return False


def is_nested(tables: Sequence[PrintedTable], name: str, used: Sequence[frozenset[str]]) -> bool:
    """Whether every finer set of categories of an axis parts each category of the next wider one."""
    parts: dict[str, set[str]] = {}
    for axis in (axis for table in tables for axis in table.axes if axis.name == name):
        for whole, listed in axis.splits:
            if whole:
                parts.setdefault(axis.labels[whole], set()).update(axis.labels[part] for part in listed)

    def below(label: str) -> set[str]:
        return {label}.union(*(below(part) for part in parts.get(label, ())))

    order = sorted(used, key=len)
    for wide, fine in zip(order, order[1:]):
        holders = [sum(label in below(each) for each in wide) for label in fine]
        if set(holders) != {1} or any(not below(each) & fine for each in wide):
            return False
    return True


def views(pattern: Pattern, insiders: int) -> Iterator[View]:
    """What every coalition of so many respondents knows: counts of cells that hold nobody else, least counts of others.

    A member of a cell knows that it is not empty, as everybody does; two of them know that it holds two. A sum whose
    occupied parts they know is known, too.
    """
    counts, sums = pattern.counts, small_sums(pattern, insiders)
    choices = []
    for table in pattern.new:
        inner = [table.ids[table.place(at)] for at in product(*(axis.leaves for axis in table.axes))]
        members = [(cell, n) for cell in inner for n in range(1, min(counts[cell], insiders) + 1)]
        choices.append([(), *subsets([(c, n) for c, n in members if n == counts[c] or n > 1], insiders)])
    labels = {number: dict(cell) for cell, number in pattern.number.items()}
    seen = set()
    for chosen in product(*choices):
        items = sorted({item for group in chosen for item in group})
        if not items or (insiders == 1 and not is_one_person(pattern, [labels[cell] for cell, _ in items])):
            continue
        full = {cell for cell, n in items if n == counts[cell]}
        known = full | {cell for part in full for cell, parts in sums.get(part, ()) if parts <= full}
        view = (tuple(sorted(known)), tuple(item for item in items if item[0] not in known))
        if view not in seen:
            seen.add(view)
            if len(seen) > MOST_COALITIONS:
                raise NotRead(f"more than {MOST_COALITIONS:,} coalitions of {insiders} respondents.")
            yield view


def subsets(items: Sequence[tuple[int, int]], most: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Cells with members, so many together; each cell once."""
    for index, (cell, members) in enumerate(items):
        if members <= most:
            yield ((cell, members),)
            rest = [item for item in items[index + 1 :] if item[0] != cell]
            for more in subsets(rest, most - members):
                yield ((cell, members), *more)


def small_sums(pattern: Pattern, most: int) -> dict[int, list[tuple[int, frozenset[int]]]]:
    """For every inner cell, the cells of at most `most` people that it is part of, each with its occupied parts."""
    found: dict[int, list[tuple[int, frozenset[int]]]] = {}
    for table in pattern.new:
        for place, at in enumerate(product(*(range(size) for size in table.shape))):
            if 0 < pattern.counts[table.ids[place]] <= most:
                leaves = [[n for n in axis.leaves if n in axis.below[node]] for axis, node in zip(table.axes, at)]
                parts = [table.ids[table.place(each)] for each in product(*leaves)]
                occupied = frozenset(part for part in parts if pattern.counts[part] > 0)
                for part in occupied:
                    found.setdefault(part, []).append((table.ids[place], occupied))
    return found


def is_one_person(pattern: Pattern, cells: Sequence[Mapping[str, str]]) -> bool:
    """Whether one person can be in all of these cells: on every axis the narrowest category lies in the others."""
    axes = {axis.name: axis for table in pattern.new for axis in table.axes}
    for name in axes:
        labels = {cell[name] for cell in cells if name in cell}
        inside = []
        for label in labels:
            holder = next(a for t in pattern.tables for a in t.axes if a.name == name and label in a.labels)
            inside.append(pattern.labels_below(holder, holder.labels.index(label)))
        if inside and not set.intersection(*inside):
            return False
    return True


PUBLIC_KEYS = "schema kind statement tau files tables suppressed people counts changes known_before unproved"
OFFICE_KEYS = (
    "schema kind statement files tables suppressed people counts changes primary tau insiders protect lower_bound "
    "fewest extra known_in_range known_before rule rule_tables"
)
OFFICE_STATEMENT = "each suppressed count has values more than tau apart in integer tables that print the same"


def statement(stated: Mapping[str, Any]) -> str:
    """What a public certificate of suppression states, in words."""
    tau, before = stated["tau"], [table["file"] for table in stated["tables"] if table["earlier"]]
    near = f"to an interval no wider than {tau:,}" if tau else "exactly"
    text = f"Nobody can infer a suppressed count {near} from all printed counts together"
    text += f", those of {base.quoted(before, ', ')} included" if before else ""
    if stated["known_before"]:
        verb = "is" if len(stated["known_before"]) == 1 else "are"
        text += f"; {many(len(stated['known_before']), 'count')} that earlier tables disclose {verb} excepted"
    text += ". "
    if stated["unproved"]:
        text += f"For {many(stated['unproved'], 'suppressed count')} this was not shown. "
    return (
        f"{text}The onlooker of this statement knows that zeros are printed, and neither the rule by which counts were "
        "chosen to be suppressed nor any count that is not printed."
    )


def check(stated: Any, files: Files, where: str, result: Any) -> None:
    """A certificate of suppression, with the files that it is about; `result` takes what is found."""
    is_public = stated.get("kind") == PUBLIC
    only(stated, PUBLIC_KEYS if is_public else OFFICE_KEYS, where)
    refuse(not base.same(stated["schema"], 2 if is_public else 1), f"{where}: is of another schema")
    text = statement(stated) if is_public else OFFICE_STATEMENT
    refuse(stated["statement"] != text, f"{where}: its statement does not follow from it")
    refuse_others({} if is_public else files, member(stated, "files", dict, where))
    pattern = Pattern(stated, files, where)
    short = pattern.near(pattern.claimed)
    said = integers([stated["unproved"]], f"{where}: unproved", 0)[0] if is_public else 0
    refuse(len(short) != said, f"{where}: {len(short):,} suppressed counts have no values far enough apart")
    notes = [] if is_public else check_office(pattern)
    areas = {axis.name for table in pattern.tables for axis in table.axes if len(axis.splits) > 1}
    notes += [f"which areas of {name} add up to which: the certificate states it." for name in sorted(areas)]
    if len(pattern.tables) > 1:  # a column that is called otherwise in one of them links no counts
        notes.append("that axes and categories with different names are different: names are taken as they are.")
    if pattern.known_before:
        notes.append(f"that {many(len(pattern.known_before), 'count')} were known before, as the certificate says.")
    notes.append("the printed counts themselves, and whether all earlier tables about these people are listed.")
    is_behind = bool(pattern.people) or not is_cycle(pattern.tables)
    if not is_behind:
        notes.append("whether a population is behind each witness: the tables form a cycle.")
    result.unchecked += notes
    result.files, result.cells = max(result.files, len(pattern.tables)), len(pattern.claimed)
    result.tables, result.moves = 1, len(pattern.changes)
    result.is_proved, result.statement = is_behind, text if is_public else office_text(pattern)


def check_folder(manifest: Any, files: Files, more: Files, result: Any) -> Any:
    """The result for a published folder of tables with gaps: its certificate is checked, and fits the manifest."""
    where = base.CERTIFICATE
    stated = expect(base.parse_json(where, files[where]), dict, where)
    refuse(stated.get("kind") != PUBLIC, f"{where}: is not of suppressed tables")
    for key in ("statement", "tau"):
        refuse(not base.same(stated.get(key), manifest.get(key)), f"manifest: states another {key} than {where}")
    own = [member(table, "file", str, where) for table in member(stated, "tables", list, where)]
    before = [table["file"] for table in stated["tables"] if member(table, "earlier", bool, where)]
    missing = [name for name in own if name not in files and name not in before]
    refuse(missing or set(before) & set(files), f"{where}: the folder does not hold its tables, or earlier ones")
    refuse_others(more, before)
    others = [name for name in sorted(manifest["files"]) if name not in (*own, where)]
    result.unchecked += [f"that {name} prints the same as the tables of the certificate." for name in others]
    with found(result):
        check(stated, {**more, **files}, where, result)
    return result


def office_text(pattern: Pattern) -> str:
    """What a confidential certificate of suppression states, with the limits that it names."""
    stated = pattern.stated
    text = f"Each suppressed count has values more than {stated['tau']:,} apart in integer tables that print the same"
    if stated["insiders"]:
        text += f", also for {many(stated['insiders'], 'respondent')} together who know their own cells"
    if stated["protect"] is not None:
        least, most = stated["primary"]
        text += f"; each suppressed count from {least:,} to {most:,} could be {stated['protect']:,} or more"
    if pattern.fewest is not None and pattern.fewest >= stated["lower_bound"] > 0:
        text += f"; no pattern that protects them has fewer than {many(stated['lower_bound'], 'cell')}"
    return f"{text}."


def check_fewest(pattern: Pattern, lower_bound: int) -> list[str]:
    """The lower bound on the number of cells, as far as its proof goes."""
    where, stated = f"{pattern.where}: lower_bound", pattern.stated["fewest"]
    refuse(lower_bound > len(pattern.new_gaps), f"{where}: is more than the cells that are suppressed")
    if stated is None:
        return (
            [f"that no pattern that protects them has fewer than {many(lower_bound, 'cell')}."] if lower_bound else []
        )
    pattern.fewest = shown = shown_fewest(pattern)
    short = f"that no pattern that protects them has fewer than {many(lower_bound, 'cell')}: the proof shows {shown:,}."
    return [short] if shown < lower_bound else []


def shown_fewest(pattern: Pattern) -> int:
    """How many cells every pattern has that prints zeros, the grand total, what was printed before and what is `kept`,
    suppresses primary cells and earlier gaps, and lets every suppressed count take values more than tau apart.

    A proof has sums times integers, added up: `rest` is what they leave. For a change of suppressed counts that leaves
    every sum, `times * change of cell = -(rest * changes)`; where `cells` are printed, nothing in `rest` is negative,
    so the cell rises by at most `rest * room / times`, room being how far counts may fall. The second side is the same
    for a fall. So one of `cells` is suppressed wherever `cell` is. Weights of these requirements add up to a bound: see
    `least_cells`.
    """
    stated, where = only(pattern.stated["fewest"], "kept proofs tree", pattern.where), f"{pattern.where}: fewest"
    counts, tau, protect = pattern.counts, pattern.tau, pattern.stated["protect"]
    low, high = pattern.stated["primary"]
    kept, new = set(integers(stated["kept"], where, 0)), {cell for table in pattern.new for cell in table.ids}
    refuse(kept & pattern.gaps or not kept <= new, f"{where}: a cell that is kept is suppressed, or in no new table")
    fixed = kept | pattern.printed_before | pattern.known_before | {pattern.number[frozenset()]}
    fixed |= {cell for cell, count in pattern.printed.items() if not count}
    primary = {cell for cell in pattern.new_gaps if low <= counts[cell] <= high}
    forced = primary | (pattern.new_gaps & pattern.old_gaps)
    free = new - fixed - forced
    room = [counts[c] - (c in pattern.gaps or c in pattern.printed) for c in range(pattern.size)]  # zeros are printed
    sums = [each for table in pattern.tables for each in table.sums()]
    needs: list[tuple[int, set[int]]] = []
    for proof in member(stated, "proofs", list, where):
        (cell,), cells = (
            integers([only(proof, "cell cells sides", where)["cell"]], where, 0),
            integers(proof["cells"], where),
        )
        claimed = cell in free or cell in forced or (cell in pattern.gaps and cell not in fixed)
        refuse(
            not claimed or not set(cells) <= free - {cell}, f"{where}: a proof is about cells that are never printed"
        )
        sides = [expect(side, list, where) for side in expect(proof["sides"], list, where)]
        good = len(sides) in (1, 2) and all(len(side) == 3 for side in sides)
        amounts = integers([amount for amount, _, _ in sides], where, 1) if good else []
        rise = protect - counts[cell] if protect is not None and cell in primary else 0
        asked = sum(amounts) <= tau + 2 if len(amounts) == 2 else amounts and amounts[0] <= rise
        refuse(not asked, f"{where}: a proof shows no limit that is asked for")
        for sign, (amount, times, rows) in zip((1, -1), sides):
            rest = {cell: -sign * integers([times], where, 1)[0]}
            for pair in expect(rows, list, where):
                row, number = integers(pair, where)
                refuse(not 0 <= row < len(sums), f"{where}: there is no sum {row}")
                for at, n in ((sums[row][0], number), *((part, -number) for part in sums[row][1])):
                    rest[at] = rest.get(at, 0) + n
            left = {at: n for at, n in rest.items() if at not in fixed and at not in cells}
            wrong = any(n < 0 for n in left.values()) or sum(n * room[at] for at, n in left.items()) >= amount * times
            refuse(wrong, f"{where}: a proof does not add up")
        needs.append((cell, set(cells)))
    return len(forced) + max(least_cells(stated["tree"], needs, free, {}, where), 0)


def least_cells(
    node: Any, needs: Sequence[tuple[int, set[int]]], free: set[int], said: Mapping[int, int], where: str
) -> int:
    """How many free cells are suppressed by weights of the requirements, in this case and in all cases within it.

    With y = 1 for a free cell that is suppressed, a requirement says: sum of y over its cells - y of its cell >= 0 (or
    - 1, if its cell always is). Times weights, added, and taken from the sum of all y: each y is left with a factor r,
    and nothing less than min(0, r); `said` has the cells that are suppressed (1) or printed (0) in this case.
    """
    if "cell" in expect(node, dict, where):
        (cell,) = integers([only(node, "cell with without", where)["cell"]], where, 0)
        refuse(cell not in free or cell in said, f"{where}: a case is about no free cell, or about one twice")
        cases = ((node["with"], 1), (node["without"], 0))
        return min(least_cells(each, needs, free, {**said, cell: inside}, where) for each, inside in cases)
    (times,), total = integers([only(node, "times weights", where)["times"]], where, 1), 0
    left = {cell: times for cell, inside in said.items() if inside}
    for pair in expect(node["weights"], list, where):
        number, weight = integers(pair, where, 0)
        refuse(number >= len(needs), f"{where}: there is no proof {number}")
        cell, cells = needs[number]
        total += 0 if cell in free else weight
        for at, n in ((cell, weight), *((other, -weight) for other in cells)):
            if at in free:
                left[at] = left.get(at, times) + n
    total += sum(r if said.get(cell) else min(0, r) if cell not in said else 0 for cell, r in left.items())
    return -(-total // times)


def check_office(pattern: Pattern) -> list[str]:
    """What only the certificate of the office states; its counts are the true ones."""
    stated, where = pattern.stated, pattern.where
    least, most = integers(stated["primary"], f"{where}: primary", 1)
    insiders = integers([stated["insiders"]], f"{where}: insiders", 0)[0]
    bounds = integers([stated["lower_bound"], stated["extra"], stated["rule_tables"]], where, 0)
    refuse(not least <= most or len(bounds) != 3, f"{where}: primary: is no range")
    for view in views(pattern, insiders) if insiders else ():
        near = pattern.near(pattern.claimed, view)
        refuse(near, f"{where}: insiders can infer {many(len(near), 'suppressed count')}")
    up, _ = pattern.ranges()
    primary = [cell for cell in sorted(pattern.new_gaps) if least <= pattern.counts[cell] <= most]
    notes = check_fewest(pattern, bounds[0])
    if stated["protect"] is not None:
        protect = integers([stated["protect"]], f"{where}: protect", 0)[0]
        low = sum(pattern.counts[cell] + up.get(cell, 0) < protect for cell in primary)
        refuse(low, f"{where}: {many(low, 'primary count')} are below {protect} in every table")
    in_range = {pattern.find(cell) for cell in member(stated, "known_in_range", list, where)}
    low = sum(pattern.counts[c] + up.get(c, 0) <= most for c in primary if c not in in_range)
    if low:
        notes.append(f"that {many(low, 'primary count')} can be above {most}: no table of the certificate shows it.")
    refuse(stated["rule"] not in ("rerun", "not shown"), f"{where}: rule: is unknown")
    if stated["rule"] == "rerun":
        notes.append(f"that the program may print the same gaps for {stated['rule_tables']:,} other tables.")
    return notes

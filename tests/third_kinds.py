"""The third checker for suppressed tables and intervals: sections 7 and 8 of docs/certificate.md, and nothing else.

It is slow on purpose: every witness is a whole table, every sum is added up for each, every coalition is tried.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from safemargin import checker_tables
from third_checker import Wrong, csv_of, has, json_of, must, names

Files = dict[str, bytes]
BREAKS = (Wrong, KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError)


class Unread(Exception):
    pass


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def outcome_of(certificate: Any, files: Files) -> str:
    """`holds`, `fails` or `not checked`, of a certificate alone or (where it is None) of a published folder."""
    try:
        if certificate is None:
            return folder(dict(files))
        stated = json.loads(json.dumps(certificate))
        kind = stated["kind"]
        must(kind in ("bounds", "safemargin-pattern", "suppressed tables"), "kind")
        others = set(files) - {"manifest.json", "manifest.json.minisig", "certificate.json"}
        listed = [each["name"] for each in stated["files"]] if kind == "bounds" else list(stated["files"])
        if kind != "bounds":
            shape(stated, kind == "suppressed tables")
        must(others <= set(listed), "a file more")
        return Intervals(stated, files).outcome() if kind == "bounds" else Pattern(stated, files).outcome()
    except Unread:
        return "not checked"
    except BREAKS:
        return "fails"


def folder(files: Files) -> str:
    manifest = json_of(files["manifest.json"], reals=True)
    stated = json_of(files["certificate.json"])
    earlier = [table["file"] for table in stated["tables"] if table["earlier"]]
    before = {name: files.pop(name) for name in earlier if name in files and name not in manifest["files"]}
    must(set(manifest["files"]) == set(files) - {"manifest.json", "manifest.json.minisig"}, "files")
    must(all(sha(files[name]) == mark for name, mark in manifest["files"].items()), "hash")
    must(manifest["schema"] == 1 and type(manifest["schema"]) is int, "schema")
    must(manifest["kind"] == stated["kind"] == "suppressed tables", "kind")
    for key in ("statement", "tau"):
        must(json.dumps(manifest[key]) == json.dumps(stated[key]), key)
    new = [table["file"] for table in stated["tables"] if not table["earlier"]]
    must(set(new) <= set(files) and not set(earlier) & set(files), "tables")
    shape(stated, True)
    return Pattern(stated, {**before, **files}).outcome()


# Section 7

BOTH = {"schema": int, "kind": str, "statement": str, "tau": int, "files": dict, "tables": list, "suppressed": list}
BOTH |= {"people": list, "counts": list, "changes": list, "known_before": list}
OFFICE = {"primary": list, "insiders": int, "lower_bound": int, "extra": int, "rule_tables": int, "rule": str}
OFFICE |= {"known_in_range": list}
FEWEST = {"kept": list, "proofs": list, "tree": dict}
STATEMENT = "each suppressed count has values more than tau apart in integer tables that print the same"


def shape(stated: Any, public: bool) -> None:
    if public:
        has(stated, **BOTH, unproved=int)
        must(stated["schema"] == 2 and stated["tau"] >= 0 and stated["unproved"] >= 0, "numbers")
        must(stated["statement"] == checker_tables.statement(stated), "statement")
    else:
        protect, fewest = stated.pop("protect"), stated.pop("fewest")
        has(stated, **BOTH, **OFFICE)
        stated |= {"protect": protect, "fewest": fewest}
        must(fewest is None or type(fewest) is dict, "fewest")
        must(protect is None or (type(protect) is int and protect >= 0), "protect")
        must(stated["schema"] == 1 and stated["statement"] == STATEMENT, "statement")
        must(all(stated[key] >= 0 for key in ("tau", "insiders", "lower_bound", "extra", "rule_tables")), "numbers")
        low, high = stated["primary"]
        must(type(low) is int and type(high) is int and 1 <= low <= high, "primary")
        must(stated["rule"] in ("rerun", "not shown"), "rule")


Cell = frozenset[tuple[str, str]]


class Axis:
    def __init__(self, stated: Any) -> None:
        has(stated, name=str, labels=list, splits=list)
        self.name, self.labels, self.splits = stated["name"], names(stated["labels"]), stated["splits"]
        self.parts: dict[str, list[list[str]]] = {}
        for whole, parts in self.splits:
            must(type(whole) is int and type(parts) is list and parts and all(type(n) is int for n in parts), "split")
            must(min(whole, *parts) >= 0 and len(set(parts)) == len(parts), "split")
            self.parts.setdefault(self.labels[whole], []).append([self.labels[part] for part in parts])
        self.root = self.labels[0]
        self.categories = [label for label in self.labels if label not in self.parts]
        must(self.under(self.root) == set(self.labels), "part of no sum")
        for label in self.labels:
            must(all(label not in self.under(part) for parts in self.parts.get(label, []) for part in parts), "round")

    def under(self, label: str) -> set[str]:
        found, waiting = {label}, [label]
        while waiting:
            more = {part for parts in self.parts.get(waiting.pop(), []) for part in parts} - found
            found |= more
            waiting += more
        return found


class Table:
    def __init__(self, stated: Any) -> None:
        has(stated, file=str, earlier=bool, axes=list)
        self.file, self.earlier, self.axes = stated["file"], stated["earlier"], [Axis(axis) for axis in stated["axes"]]
        must(self.axes and len({axis.name for axis in self.axes}) == len(self.axes), "axes")

    def cell(self, labels: tuple[str, ...]) -> Cell:
        return frozenset((a.name, label) for a, label in zip(self.axes, labels, strict=True) if label != a.root)

    def cells(self) -> Iterator[Cell]:
        yield from map(self.cell, product(*(axis.labels for axis in self.axes)))

    def inner(self) -> Iterator[tuple[str, ...]]:
        yield from product(*(axis.categories for axis in self.axes))

    def sums(self) -> Iterator[tuple[Cell, list[Cell]]]:
        for place, axis in enumerate(self.axes):
            for labels in product(*(other.labels if other is not axis else [""] for other in self.axes)):
                for whole, splits in axis.parts.items():
                    for parts in splits:
                        put = [self.cell((*labels[:place], part, *labels[place + 1 :])) for part in (whole, *parts)]
                        yield put[0], put[1:]

    def sums_in_order(self) -> Iterator[tuple[Cell, list[Cell]]]:
        """The same sums as they are numbered: axis by axis, split by split, then by the cells of the other axes."""
        for place, axis in enumerate(self.axes):
            for whole, parts in axis.splits:
                for labels in product(*(other.labels if other is not axis else [""] for other in self.axes)):
                    put = [self.cell((*labels[:place], axis.labels[n], *labels[place + 1 :])) for n in (whole, *parts)]
                    yield put[0], put[1:]

    def printed(self, content: bytes) -> dict[Cell, int | None]:
        try:
            rows = csv_of(content)
        except BREAKS:
            if self.earlier:
                raise Unread from None
            raise
        columns = set(rows[0]) if rows else set()
        axes = {axis.name for axis in self.axes}
        if columns not in ({*axes, "count", "status"}, *([{*axes, "count"}] if self.earlier else [])):
            if self.earlier:
                raise Unread
            raise Wrong("columns")
        found: dict[Cell, int | None] = {}
        for row in rows:
            labels = tuple(row[axis.name].strip() for axis in self.axes)
            must(all(label in axis.labels for label, axis in zip(labels, self.axes, strict=True)), "label")
            count, status = row["count"], row.get("status", "exact")
            if not re.fullmatch("[0-9]{0,15}", count) or status not in ("exact", "suppressed"):
                if self.earlier:
                    raise Unread
                raise Wrong("count")
            must((count == "") == (status == "suppressed") and self.cell(labels) not in found, "gap")
            found[self.cell(labels)] = int(count) if count else None
        inner = [self.cell(labels) for labels in self.inner()]
        if self.earlier and any(cell in found for cell in inner):
            found = {**dict.fromkeys(inner, 0), **found}
        must(self.earlier or set(found) == set(self.cells()), "every cell")
        return found


class Pattern:
    def __init__(self, stated: Any, files: Files) -> None:
        self.stated, self.tables = stated, [Table(table) for table in stated["tables"]]
        order = [table.earlier for table in self.tables]
        must(order and order == sorted(order) and not order[0], "order")
        must(list(stated["files"]) == [table.file for table in self.tables], "files")
        for name, mark in stated["files"].items():
            if name not in files:
                raise Unread
            must(sha(files[name]) == mark, "hash")
        self.counts: dict[Cell, int] = {}
        gaps, fresh = set[Cell](), set[Cell]()
        self.old, self.before = set[Cell](), set[Cell]()
        for table in self.tables:
            for cell, count in table.printed(files[table.file]).items():
                if count is None:
                    gaps.add(cell)
                    (self.old if table.earlier else fresh).add(cell)
                else:
                    must(self.counts.setdefault(cell, count) == count, "printed differently")
                    self.before |= {cell} if table.earlier else set()
        every = {cell for table in self.tables for cell in table.cells()}
        known = {self.read(cell, every) for cell in stated["known_before"]}
        hidden = [self.read(cell, every) for cell in stated["suppressed"]]
        must(len(set(hidden)) == len(hidden) and not set(hidden) & set(self.counts), "suppressed")
        must(gaps - set(self.counts) <= set(hidden) and not fresh & (set(self.counts) | known), "suppressed")
        self.known, self.all_gaps = known, gaps
        self.gaps, self.fresh, self.claimed = gaps - set(self.counts), fresh, gaps - set(self.counts) - known
        self.known_in_range = {self.read(cell, every) for cell in stated.get("known_in_range", [])}
        self.people = [self.places(who) for who in stated["people"]]
        keys: list[Any] = [*hidden, *range(len(self.people))]
        must(len(stated["counts"]) == len(keys), "counts")
        must(all(type(n) is int and n >= 0 for n in stated["counts"]), "counts")
        first: dict[Any, int] = {cell: self.counts.get(cell, 0) for cell in every}
        first |= dict(zip(keys, stated["counts"], strict=True))
        self.witnesses = [first]
        for change in stated["changes"]:
            must(type(change) is list and all(type(n) is int for pair in change for n in pair), "change")
            steps = {place: step for place, step in change}
            must(len(steps) == len(change) and all(0 <= place < len(keys) for place in steps), "change")
            self.witnesses.append({**first, **{keys[place]: first[keys[place]] + s for place, s in steps.items()}})
        for witness in self.witnesses:
            self.adds_up(witness)

    @staticmethod
    def read(cell: Any, every: set[Cell]) -> Cell:
        must(frozenset(cell.items()) in every, "cell")
        return frozenset(cell.items())

    def under(self, axis: str, label: str) -> set[str]:
        """Below a label in some table."""
        found, size = {label}, 0
        while size < len(found):
            size = len(found)
            for own in (a for table in self.tables for a in table.axes if a.name == axis):
                for each in list(found):
                    found |= own.under(each) if each in own.labels and each != own.root else set()
        return found

    def places(self, who: Any) -> list[Cell]:
        must(set(who) == {axis.name for table in self.tables for axis in table.axes}, "people")
        cells = []
        for table in self.tables:
            labels = []
            for axis in table.axes:
                (label,) = (each for each in axis.categories if who[axis.name] in self.under(axis.name, each))
                labels.append(label)
            cells.append(table.cell(tuple(labels)))
        return cells

    def adds_up(self, witness: dict[Any, int]) -> None:
        must(all(count >= (key in self.gaps) for key, count in witness.items()), "too small")
        for table in self.tables:
            for whole, parts in table.sums():
                must(witness[whole] == sum(witness[part] for part in parts), "sum")
            for labels in table.inner() if self.people else ():
                cell = table.cell(labels)
                must(witness[cell] == sum(witness[n] for n, cells in enumerate(self.people) if cell in cells), "people")

    def near(self, known: set[Cell], least: dict[Cell, int]) -> int:
        """How many counts somebody with a view knows to within tau."""
        first = self.witnesses[0]
        fits = [
            witness
            for witness in self.witnesses
            if all(witness[cell] == first[cell] for cell in known) and all(witness[c] >= n for c, n in least.items())
        ]
        values = [[witness[cell] for witness in fits] for cell in self.claimed - known]
        return sum(max(each) - min(each) <= self.stated["tau"] for each in values)

    def outcome(self) -> str:
        must(self.near(set(), {}) == self.stated.get("unproved", 0), "too close")
        if "primary" in self.stated:
            for known, least in self.coalitions():
                must(not self.near(known, least), "insiders")
            self.check_fewest()
            low, high = self.stated["primary"]
            for cell in self.fresh if self.stated["protect"] is not None else ():
                if low <= self.witnesses[0][cell] <= high:
                    must(max(witness[cell] for witness in self.witnesses) >= self.stated["protect"], "protect")
        return "holds" if self.people or not self.is_cycle() else "not checked"

    def check_fewest(self) -> None:
        """The proof of the lower bound: every combination of sums is written out, every case added up."""
        stated, first, new = self.stated["fewest"], self.witnesses[0], [t for t in self.tables if not t.earlier]
        must(self.stated["lower_bound"] <= len(self.fresh), "lower bound")
        if stated is None:
            return
        has(stated, **FEWEST)
        order = list(dict.fromkeys(cell for table in self.tables for cell in table.cells()))
        sums = [each for table in self.tables for each in table.sums_in_order()]
        (low, high), protect = self.stated["primary"], self.stated["protect"]
        in_new = {cell for table in new for cell in table.cells()}
        must(all(type(n) is int and n >= 0 for n in stated["kept"]), "kept")
        kept = {order[n] for n in stated["kept"]}
        must(kept <= in_new and not kept & self.all_gaps, "kept")
        zero = {cell for cell, count in self.counts.items() if count == 0}
        fixed = kept | zero | self.before | self.known | {frozenset()}
        primary = {cell for cell in self.fresh if low <= first[cell] <= high}
        forced = primary | (self.fresh & self.old)
        free = in_new - fixed - forced
        needs = []
        for proof in stated["proofs"]:
            has(proof, cell=int, cells=list, sides=list)
            must(all(type(n) is int and n >= 0 for n in [proof["cell"], *proof["cells"]]), "cells")
            cell, cells = order[proof["cell"]], {order[n] for n in proof["cells"]}
            must(cell in free | forced or (cell in self.all_gaps and cell not in fixed), "cell")
            must(cells <= free - {cell}, "cells")
            amounts = [side[0] for side in proof["sides"]]
            must(all(type(n) is int and n >= 1 for n in amounts), "amount")
            if len(amounts) == 1:
                must(cell in primary and protect is not None and amounts[0] <= protect - first[cell], "rise")
            else:
                must(len(amounts) == 2 and sum(amounts) <= self.stated["tau"] + 2, "width")
            for place, (amount, times, rows) in enumerate(proof["sides"]):
                must(type(times) is int and times >= 1, "times")
                line = dict.fromkeys(order, 0)
                line[cell] += times if place else -times
                for row, number in rows:
                    must(type(row) is int and type(number) is int and row >= 0, "row")
                    whole, parts = sums[row]
                    line[whole] += number
                    for part in parts:
                        line[part] -= number
                left = [c for c in order if c not in fixed and c not in cells]
                must(all(line[c] >= 0 for c in left), "below 0")
                room = {c: first[c] - (c in self.all_gaps or c in self.counts) for c in left}
                must(sum(line[c] * room[c] for c in left) < amount * times, "room")
            needs.append((cell, cells))

        def least(node: Any, inside: set[Cell], outside: set[Cell]) -> int:
            if "cell" in node:
                has(node, **{"cell": int, "with": dict, "without": dict})
                must(node["cell"] >= 0, "cell")
                cell = order[node["cell"]]
                must(cell in free - inside - outside, "case")
                return min(
                    least(node["with"], inside | {cell}, outside), least(node["without"], inside, outside | {cell})
                )
            has(node, times=int, weights=list)
            must(node["times"] >= 1, "times")
            value, factor = 0, dict.fromkeys(free, node["times"])
            for number, weight in node["weights"]:
                must(type(number) is int and type(weight) is int and min(number, weight) >= 0, "weight")
                cell, cells = needs[number]
                value += 0 if cell in free else weight
                for c in free:
                    factor[c] += weight * ((c == cell) - (c in cells))
            value += sum(factor[c] if c in inside else min(factor[c], 0) for c in free - outside)
            return int(-(-value // node["times"]))

        least(stated["tree"], set(), set())

    def coalitions(self) -> Iterator[tuple[set[Cell], dict[Cell, int]]]:
        first, size = self.witnesses[0], self.stated["insiders"]
        new = [table for table in self.tables if not table.earlier]
        choices = [list(self.members([table.cell(each) for each in table.inner()], size)) for table in new]
        for chosen in product(*choices) if size else ():
            members = {cell: n for each in chosen for cell, n in each.items()}
            if size == 1 and not self.in_common(list(members)):
                continue
            full = {cell for cell, n in members.items() if n == first[cell]}
            known = set(full)
            for table in new:
                for labels in product(*(axis.labels for axis in table.axes)):
                    inside = [axis.under(label) for axis, label in zip(table.axes, labels, strict=True)]
                    parts = {
                        table.cell(each)
                        for each in table.inner()
                        if all(one in of for one, of in zip(each, inside, strict=True)) and first[table.cell(each)]
                    }
                    if parts <= full and 0 < first[table.cell(labels)] <= size:
                        known.add(table.cell(labels))
            yield known, {cell: n for cell, n in members.items() if cell not in known and n > 1}

    def members(self, cells: list[Cell], most: int) -> Iterator[dict[Cell, int]]:
        if not cells:
            yield {}
            return
        for n in range(min(most, self.witnesses[0][cells[0]]) + 1):
            for rest in self.members(cells[1:], most - n):
                yield {cells[0]: n, **rest} if n else rest

    def in_common(self, cells: list[Cell]) -> bool:
        for axis in {name for cell in cells for name, _ in cell}:
            inside = [self.under(axis, dict(cell)[axis]) for cell in cells if axis in dict(cell)]
            if not set.intersection(*inside):
                return False
        return True

    def is_cycle(self) -> bool:
        sets = []
        for table in self.tables:
            own = set()
            for axis in table.axes:
                for other in (a for t in self.tables for a in t.axes if a.name == axis.name):
                    if all(
                        any(each in self.under(axis.name, wide) for wide in other.categories)
                        for each in axis.categories
                    ):
                        own.add((axis.name, frozenset(other.categories)))
            sets.append(own)
        while True:
            lone = {each for own in sets for each in own if sum(each in other for other in sets) == 1}
            smaller = [own - lone for own in sets]
            kept: list[set[Any]] = []
            for number, own in enumerate(smaller):
                inside = any(own < other or (own == other and number < at) for at, other in enumerate(smaller))
                kept += [] if inside else [own]
            if kept == sets:
                return len(sets) > 1
            sets = kept


# Section 8

NO_END = None
RULE = (
    "A cell is contained if its whole interval lies within the limits and it has at least kappa people. Otherwise it "
    "is disclosed if its interval lies wholly outside the limits or is no wider than tau (in a small cell: than a "
    "quarter of its people), and open if not. The limits are beta and 1 - beta of the people of the cell; with three "
    "or more options never more than half of what the total leaves. Where the people of a cell are not known, only the "
    "width counts."
)
Ends = tuple[int, int | None]


def label_of(text: str) -> str:
    text = unicodedata.normalize("NFC", text)
    return re.sub("[\u200b\u2060\ufeff\u00ad]", "", re.sub(r"\s+", " ", text)).strip()


class File:
    def __init__(self, stated: Any, content: bytes) -> None:
        has(stated, name=str, role=str, sha256=str, count=str, option=str, skip=list, by=type(stated["by"]))
        must(stated["role"] in ("table", "roll", "fact") and sha(content) == stated["sha256"], "file")
        must(
            all(type(pair) is list and len(pair) == 2 and all(type(t) is str for t in pair) for pair in stated["skip"]),
            "skip",
        )
        if not stated["name"].endswith(".csv"):
            raise Unread
        try:
            rows = csv_of(content)
        except BREAKS:
            raise Unread from None
        rows = [row for row in rows if all(row[column] != value for column, value in stated["skip"])]
        if not rows:
            raise Unread
        self.role, count, option = stated["role"], stated["count"], stated["option"]
        special = {"option", "count", "people", "lower", "upper", "status", count, option}
        self.axes = [column for column in rows[0] if column not in special]
        if stated["by"] is not None:
            self.axes = names(stated["by"])
        measures = {count, "people"} & set(rows[0])
        if (
            len(measures) > 1
            or not set(self.axes) <= set(rows[0])
            or not (measures or {"lower", "upper"} & set(rows[0]))
        ):
            raise Unread
        self.counts_people = measures == {"people"}
        self.rows: list[tuple[tuple[frozenset[str], ...], str | None, Ends]] = []
        for row in rows:
            groups = []
            for axis in self.axes:
                parts = [label_of(part) for part in row[axis].split(" | ")]
                if "" in parts:
                    raise Unread
                must(len(set(parts)) == len(parts), "twice")
                groups.append(frozenset(parts))
            chosen = label_of(row[option]) if option in row else None
            if chosen == "":
                raise Unread
            must((tuple(groups), chosen) not in [(g, o) for g, o, _ in self.rows], "a cell twice")
            self.rows.append((tuple(groups), chosen, self.ends(row, measures)))
        self.options = list(dict.fromkeys(option for _, option, _ in self.rows if option is not None))
        self.exact = all(low == high for _, _, (low, high) in self.rows)

    def ends(self, row: dict[str, str], measures: set[str]) -> Ends:
        noised = row.get("status") == "noised"
        texts = {key: "" if noised else row.get(key, "").strip() for key in [*measures, "lower", "upper"]}
        if not all(re.fullmatch("[0-9]{0,10}", text) for text in texts.values()):
            raise Unread
        low = int(texts["lower"] or 0)
        high = int(texts["upper"]) if texts["upper"] else NO_END
        must(high is None or low <= high, "range")
        for key in measures:
            if texts[key]:
                must(low <= int(texts[key]) and (high is None or int(texts[key]) <= high), "range")
                return int(texts[key]), int(texts[key])
        return low, high

    def groups(self, place: int) -> list[frozenset[str]]:
        return list(dict.fromkeys(groups[place] for groups, _, _ in self.rows))

    def level(self, place: int, group: frozenset[str]) -> int:
        taken: list[set[str]] = []
        for each in self.groups(place):
            at = next((n for n, used in enumerate(taken) if not used & each), len(taken))
            taken += [set()] if at == len(taken) else []
            taken[at] |= each
            if each == group:
                return at
        raise Wrong("level")

    def levels(self) -> list[tuple[int, ...]]:
        return [tuple(self.level(place, group) for place, group in enumerate(groups)) for groups, _, _ in self.rows]

    def totals(self, seen: dict[str, list[str]]) -> dict[str, int] | None:
        listed = [set().union(*self.groups(place)) for place in range(len(self.axes))]
        whole = all(set(seen.get(axis, [])) <= own for axis, own in zip(self.axes, listed, strict=True))
        if not self.exact or len(set(self.levels())) > 1 or not whole:
            return None
        return {o: sum(low for _, own, (low, _) in self.rows if (own or "") == o) for o in self.options or [""]}

    def gaps(self) -> bool:
        every = set(product(*(self.groups(place) for place in range(len(self.axes)))))
        return any({g for g, o, _ in self.rows if o == option} != every for option in {o for _, o, _ in self.rows})


def categories(files: list[File], axis: str) -> list[str]:
    found: dict[str, None] = {}
    for file in files:
        for group in file.groups(file.axes.index(axis)) if axis in file.axes else ():
            found |= dict.fromkeys(sorted(group))
    return list(found)


class Intervals:
    def __init__(self, stated: Any, files: Files) -> None:
        keys = {"schema": int, "kind": str, "files": list, "axes": list, "categories": list, "options": list}
        keys |= {
            "slack": int,
            "rows": int,
            "variables": int,
            "target": list,
            "tables": list,
            "cells": list,
            "sha256": str,
        }
        has(stated, **keys, **({"verdict": dict} if "verdict" in stated else {}))
        must(stated["schema"] == 1, "schema")
        rest = {key: value for key, value in stated.items() if key != "sha256"}
        text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        must(sha(text.encode("utf-8", "surrogatepass")) == stated["sha256"], "seal")
        if any(each["name"] not in files for each in stated["files"]):
            raise Unread
        self.stated = stated
        read = [File(each, files[each["name"]]) for each in stated["files"]]
        self.tables, self.facts, self.rolls = (
            [f for f in read if f.role == role] for role in ("table", "fact", "roll")
        )
        said = [*self.tables, *self.facts]
        must(said, "no table")
        self.options = list(dict.fromkeys(option for file in said for option in file.options)) or [""]
        axes = list(dict.fromkeys(axis for file in said for axis in file.axes))
        joint = [
            roll
            for roll in self.rolls
            if roll.exact
            and set(axes) <= set(roll.axes)
            and all(len(g) == 1 for groups, _, _ in roll.rows for g in groups)
        ]
        joint = sorted(joint, key=lambda roll: -len(roll.axes))[:1]
        self.axes = list(dict.fromkeys([*axes, *(axis for roll in joint or self.rolls for axis in roll.axes)]))
        self.seen = {axis: categories([*said, *self.rolls], axis) for axis in self.axes}
        own = {axis: categories(self.tables, axis) for axis in {a for t in self.tables for a in t.axes}}
        sums: dict[str, list[int]] = {}
        for table in self.tables:
            for option, total in (table.totals(own) or {}).items():
                sums.setdefault(option, []).append(total)
        self.slack = max((max(each) - min(each) for each in sums.values()), default=0)
        self.whole = [*self.tables, *(fact for fact in self.facts if not fact.gaps())]
        first: dict[str, int] = {}
        for file in self.whole:
            for option, total in (file.totals(self.seen) or {}).items():
                must(abs(first.setdefault(option, total) - total) <= 2 * self.slack, "totals")
        every = list(product(*self.seen.values()))
        self.people: dict[tuple[str, ...], int] | None = None
        if joint:
            (roll,) = joint
            self.people = dict.fromkeys(every, 0)
            for groups, _, (people, _) in roll.rows:
                self.people[tuple(min(groups[roll.axes.index(axis)]) for axis in self.axes)] += people
            every = [profile for profile in every if self.people[profile]]
        if len(every) > 300_000:
            raise Unread
        self.profiles = every
        cover = len(self.options) > 1 and self.slack == 0 and self.covers()
        self.last_follows = cover and bool(joint)
        self.none = not cover and not joint and bool(self.rolls)
        self.free = len(self.options) - self.last_follows + self.none
        self.high: list[int | None] = [
            self.people[p] if self.people is not None else NO_END for p in self.profiles for _ in range(self.free)
        ]
        self.rows: list[tuple[list[int], int, int | None]] = []
        for file in [*self.tables, *self.facts, *([] if joint else self.rolls)]:
            self.add(file)
        shape = [self.axes, list(self.seen.values()), self.options, self.slack, len(self.rows), len(self.high)]
        given = [stated[key] for key in ("axes", "categories", "options", "slack", "rows", "variables")]
        must(json.dumps(shape) == json.dumps(given), "shape")

    def inside(self, file: File, groups: tuple[frozenset[str], ...], profile: tuple[str, ...]) -> bool:
        return all(profile[self.axes.index(axis)] in group for axis, group in zip(file.axes, groups, strict=True))

    def covers(self) -> bool:
        everybody = [sum(t.values()) for roll in self.rolls if (t := roll.totals(self.seen)) is not None]
        for file in self.whole:
            totals = file.totals(self.seen)
            if set(file.options) == set(self.options) and totals is not None and sum(totals.values()) in everybody:
                return True
        if self.people is None or any(set(file.options) != set(self.options) for file in self.whole):
            return False
        sure = set()
        for file in self.whole:
            if file.exact and len(set(file.levels())) == 1:
                listed = tuple(frozenset().union(*file.groups(place)) for place in range(len(file.axes)))
                there = [p for p in self.profiles if self.inside(file, listed, p)]
                if sum(self.people[p] for p in there) == sum(low for _, _, (low, _) in file.rows):
                    sure |= set(there)
        return sure == set(self.profiles)

    def columns(self, file: File, option: str | None) -> list[int] | None:
        """Variables of a profile that a row adds; none if it is about an option that follows from the others."""
        if file.counts_people:
            return list(range(self.free))
        if option is None:
            return None if self.last_follows else list(range(self.free - self.none))
        at = self.options.index(option)
        return None if self.last_follows and at == len(self.options) - 1 else [at]

    def add(self, file: File) -> None:
        levels, covered = file.levels(), dict[str | None, set[int]]()
        for level in sorted(set(levels)):
            rows = [row for row, own in zip(file.rows, levels, strict=True) if own == level]
            for option in file.options or [None]:
                for groups, _, ends in (row for row in rows if row[1] == option):
                    there = [n for n, profile in enumerate(self.profiles) if self.inside(file, groups, profile)]
                    covered.setdefault(option, set()).update(there)
                    self.add_row(file, option, there, *ends)
        if file.role == "fact" and file.gaps():
            return
        listed = tuple(frozenset().union(*file.groups(place)) for place in range(len(file.axes)))
        for option, filled in covered.items():
            empty = [n for n, p in enumerate(self.profiles) if self.inside(file, listed, p) and n not in filled]
            columns = self.columns(file, option)
            for n in empty:
                for column in columns or []:
                    self.high[n * self.free + column] = 0
            if columns is None and empty:
                assert self.people is not None
                size = sum(self.people[self.profiles[n]] for n in empty)
                variables = [n * self.free + column for n in empty for column in range(self.free)]
                must(option is not None, "nobody there answered")
                self.rows.append((variables, size, size))

    def add_row(self, file: File, option: str | None, there: list[int], low: int, high: int | None) -> None:
        if not file.counts_people:
            low, high = max(low - self.slack, 0), None if high is None else high + self.slack
        columns = self.columns(file, option)
        if columns is None:
            assert self.people is not None
            size = sum(self.people[self.profiles[n]] for n in there)
            must(low <= size and (option is not None or high is None or size <= high), "roll")
            if option is None:
                return
            low, high, columns = 0 if high is None else max(size - high, 0), size - low, list(range(self.free))
        self.rows.append(([n * self.free + column for n in there for column in columns], low, high))

    def outcome(self) -> str:
        stated, witnesses = self.stated, [self.witness(table) for table in self.stated["tables"]]
        target = names(stated["target"])
        must(set(target) <= set(self.axes) and (target or not self.axes), "target")
        places = [self.axes.index(axis) for axis in target]
        cells: dict[tuple[str, ...], list[int]] = {}
        for n, profile in enumerate(self.profiles):
            cells.setdefault(tuple(profile[place] for place in places), []).append(n)
        wanted = {(cell, option) for cell in cells for option in self.options}
        searched, claims = False, []
        for claim in stated["cells"]:
            has(claim, cell=dict, lower=dict, upper=dict, **({} if self.options == [""] else {"option": str}))
            must(list(sorted(claim["cell"])) == sorted(target), "cell")
            key = (tuple(claim["cell"][axis] for axis in target), claim.get("option", ""))
            wanted.remove(key)
            there, at = cells[key[0]], self.options.index(key[1])
            rest = self.last_follows and at == len(self.options) - 1
            columns = range(self.free) if rest else [at]
            variables = [n * self.free + column for n in there for column in columns]
            people = self.people_in(key[0], target, there)
            plus, sign = (people or 0, -1) if rest else (0, 1)
            values = [plus + sign * sum(table[v] for v in variables) for table in witnesses]
            ends: list[int | None] = []
            for side, up in (("lower", 1), ("upper", -1)):
                end = claim[side]
                if end["shown_by"] == "no limit":
                    must(
                        set(end) == {"value", "shown_by"} and end["value"] is None and side == "upper" and not rest,
                        "end",
                    )
                    limited = {v for inside, _, high in self.rows if high is not None for v in inside}
                    must(any(self.high[v] is None and v not in limited for v in variables), "no limit")
                    ends.append(NO_END)
                    continue
                is_search = end["shown_by"] == "search"
                must(is_search or end["shown_by"] == "dual", "shown_by")
                must(set(end) == {"value", "shown_by", "dual", "witness"} | ({"outer"} if is_search else set()), "end")
                outer = end["outer"] if is_search else end["value"]
                must(type(end["value"]) is int and type(outer) is int, "value")
                if end["witness"] is not None:
                    must(type(end["witness"]) is int and end["witness"] >= 0, "witness")
                    must(values[end["witness"]] == end["value"], "witness")
                must(end["witness"] is not None or not is_search, "search")
                shown = plus * up - self.most(end["dual"], variables, -up * sign) if up > 0 else None
                if up > 0:
                    must(shown is not None and shown >= outer and outer <= end["value"], "lower")
                else:
                    must(plus + self.most(end["dual"], variables, sign) <= outer and outer >= end["value"], "upper")
                searched |= is_search
                ends.append(outer)
            values_up = [*values, *([NO_END] if claim["upper"]["value"] is None else [])]
            claims.append((at, people, claim, (ends[0], ends[1]), values_up))
        must(not wanted, "missing")
        if "verdict" in stated:
            self.verdicts(claims)
        return "not checked" if searched else "holds"

    def witness(self, pairs: Any) -> list[int]:
        must(type(pairs) is list, "witness")
        table = [0] * len(self.high)
        must(
            all(type(n) is int for pair in pairs for n in pair) and len(dict(map(tuple, pairs))) == len(pairs),
            "witness",
        )
        for variable, count in pairs:
            must(0 <= variable and 0 <= count, "witness")
            table[variable] = count
        must(all(high is None or count <= high for count, high in zip(table, self.high, strict=True)), "witness")
        for variables, low, high in self.rows:
            value = sum(table[v] for v in variables)
            must(low <= value and (high is None or value <= high), "row")
        for n, profile in enumerate(self.profiles if self.people is not None else ()):
            assert self.people is not None
            must(sum(table[n * self.free : (n + 1) * self.free]) <= self.people[profile], "people")
        return table

    def most(self, dual: Any, variables: list[int], sign: int) -> int:
        """What `sign` times the sum of some variables is at most."""
        has(dual, denominator=int, rows=dict, **({"people": dict} if "people" in dual else {}))
        must(dual["denominator"] >= 1, "denominator")
        left = [Fraction(0)] * len(self.high)
        for v in variables:
            left[v] += sign
        total = Fraction(0)
        for row, number in dual["rows"].items():
            must(type(number) is int and str(int(row)) == row and int(row) >= 0, "row")
            inside, low, high = self.rows[int(row)]
            y = Fraction(number, dual["denominator"])
            must(y <= 0 or high is not None, "no end")
            total += y * (high if y > 0 and high is not None else low)
            for v in inside:
                left[v] -= y
        for profile, number in dual.get("people", {}).items():
            must(type(number) is int and number >= 0 and str(int(profile)) == profile and int(profile) >= 0, "people")
            assert self.people is not None
            z = Fraction(number, dual["denominator"])
            total += z * self.people[self.profiles[int(profile)]]
            for v in range(int(profile) * self.free, (int(profile) + 1) * self.free):
                left[v] -= z
        for rest, high in zip(left, self.high, strict=True):
            must(rest <= 0 or high is not None, "no end")
            total += rest * high if rest > 0 and high is not None else 0
        return total.numerator // total.denominator

    def people_in(self, cell: tuple[str, ...], target: list[str], there: list[int]) -> int | None:
        if self.people is not None:
            return sum(self.people[self.profiles[n]] for n in there)
        for roll in self.rolls:
            if set(target) <= set(roll.axes) and roll.totals(self.seen) is not None:
                at = [roll.axes.index(axis) for axis in target]
                if any(len(groups[place]) > 1 for groups, _, _ in roll.rows for place in at):
                    return None
                own = [low for groups, _, (low, _) in roll.rows if tuple(min(groups[place]) for place in at) == cell]
                return sum(own)
        return None

    def verdicts(self, claims: list[Any]) -> None:
        stated = self.stated["verdict"]
        has(stated, rule=str, target=dict, counts=dict)
        must(stated["rule"] == RULE, "rule")
        target = stated["target"]
        if not set(target) <= {"beta", "kappa", "tau", "epsilon_max", "guard"}:
            return
        kappa, tau = target["kappa"], target["tau"]
        must(type(kappa) is int and kappa >= 1 and type(tau) is int and tau >= 0, "target")
        must(type(target["beta"]) in (int, float), "target")
        beta = Fraction(target["beta"]).limit_denominator(10**9)
        must(0 < beta < Fraction(1, 2), "target")
        epsilon, guard = target.get("epsilon_max", 1), target.get("guard")
        must(type(epsilon) in (int, float) and 0 < epsilon < float("inf"), "target")
        must(guard is None or (type(guard) in (int, float) and 0 < guard < Fraction(1, 2) - beta), "target")
        totals: dict[str, int] = {}
        for file in [*self.tables, *self.facts]:
            for option, total in (file.totals(self.seen) or {}).items():
                totals.setdefault(option, total)
        counts = [totals.get(option, 0) for option in self.options]
        sizes = [sum(t.values()) for roll in self.rolls if (t := roll.totals(self.seen)) is not None]
        everybody = max(sizes, default=sum(counts))
        floored = len(counts) < 3 or sum(counts) != everybody

        def verdict(at: int, people: int | None, ends: Any, large: bool = True) -> str:
            lo, hi = ends
            hi = 2**53 if hi is None else hi
            if people is None:
                return "disclosed" if hi - lo <= tau else "open"
            s = Fraction(counts[at], max(everybody, 1))
            floor = min(beta, s / 2) * people if floored else -people
            ceiling = (1 - min(beta, (1 - s) / 2)) * people
            large = large and people >= kappa
            if s in (0, 1) or (floor <= lo and hi <= ceiling and large):
                return "contained"
            if hi < floor or lo > ceiling:
                return "disclosed"
            some = lo >= 1 and not (hi <= ceiling and large)
            few = floored and hi < people and not (lo >= floor and large)
            return "disclosed" if people and hi - lo <= min(tau, people // 4) and (some or few) else "open"

        tally = {"contained": 0, "open": 0, "disclosed": 0}
        for at, people, claim, outer, values in claims:
            said = verdict(at, people, (claim["lower"]["value"], claim["upper"]["value"]))
            tally[said] += 1
            reached = [2**53 if value is None else value for value in values]
            is_open = bool(values) and verdict(at, people, (min(reached), max(reached)), large=False) == "open"
            must(said == "disclosed" or verdict(at, people, outer) == "contained" or is_open, "verdict")
        must(json.dumps(tally, sort_keys=True) == json.dumps(stated["counts"], sort_keys=True), "counts")

"""A third checker, written from docs/certificate.md alone, as somebody would who has not seen the other two.

It is short and slow: dictionaries of cells, fractions, no attempt at good messages. It takes the words of the statement
from `statement` in safemargin_verify.py, as section 4 says, and checks no signature.
"""

import csv
import hashlib
import io
import json
import re
from fractions import Fraction
from itertools import combinations
from typing import Any

from safemargin.checker import statement

Files = dict[str, bytes]
Labels = tuple[str, ...]


class Wrong(Exception):
    pass


def must(good: object, what: str) -> None:
    if not good:
        raise Wrong(what)


def outcome(published: Files, auditors: Files | None = None) -> str:
    """`holds`, `fails` or `not checked`."""
    try:
        return Certificate(published).outcome(auditors)
    except (
        Wrong,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        IndexError,
        ArithmeticError,
        RecursionError,
        csv.Error,
    ):
        return "fails"


# Section 1


def text_of(content: bytes) -> str:
    text = content.decode("utf-8")
    must("\ufeff" not in text and "\0" not in text, "byte order mark")
    return text


def json_of(content: bytes, reals: bool = False) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        must(len(dict(pairs)) == len(pairs), "a key twice")
        return dict(pairs)

    def no(text: str) -> float:
        must(reals, text)
        return float(text)

    def integer(text: str) -> int:
        must(len(text) <= 15, text)
        return int(text)

    def never(text: str) -> None:
        raise Wrong(text)

    return json.loads(
        text_of(content), object_pairs_hook=unique, parse_float=no, parse_int=integer, parse_constant=never
    )


def csv_of(content: bytes) -> list[dict[str, str]]:
    head, *rows = list(csv.reader(io.StringIO(text_of(content), newline=""), strict=True))
    must(len(set(head)) == len(head) and all(len(row) == len(head) for row in rows), "columns")
    return [dict(zip(head, row, strict=True)) for row in rows]


def equal(one: Any, other: Any) -> bool:
    return type(one) is type(other) and (
        (one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one))
        if isinstance(one, dict)
        else (len(one) == len(other) and all(map(equal, one, other)))
        if isinstance(one, list)
        else one == other
    )


def has(value: Any, **kinds: type) -> None:
    must(isinstance(value, dict) and set(value) == set(kinds), f"keys {sorted(kinds)}")
    must(all(type(value[key]) is kind for key, kind in kinds.items()), f"kinds {kinds}")


def names(value: Any) -> list[str]:
    must(type(value) is list and all(type(each) is str for each in value) and len(set(value)) == len(value), "names")
    return list(value)


def exact(text: Any) -> Fraction:
    must(type(text) is str and re.fullmatch("[0-9]+/[1-9][0-9]*", text), "fraction")
    value = Fraction(text)
    must(f"{value.numerator}/{value.denominator}" == text and 0 <= value <= 1, "lowest terms")
    return value


def manifest_of(files: Files, signed: bool) -> dict[str, Any]:
    manifest = json_of(files["manifest.json"], reals=True)
    others = {"manifest.json", *(["manifest.json.minisig"] if signed else [])}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items() if name not in others}
    must(manifest["files"] == hashes and not any("/" in name for name in files), "files")
    return dict(manifest)


# Sections 2 and 3


class Certificate:
    def __init__(self, files: Files) -> None:
        manifest, stated = manifest_of(files, signed=True), json_of(files["certificate.json"])
        more = {"figures": list} if "figures" in stated else {}
        has(
            stated, schema=int, kind=str, title=str, target=dict, onlookers=list, questions=list, tables=list,
            checked=list, rule=dict, earlier=dict, noise=list, slack=int, unproved=int, auditors=str, statement=str,
            **more,
        )  # fmt: skip
        self.stated, self.target = stated, stated["target"]
        for document in (manifest, stated):
            must(equal([document["schema"], document["kind"]], [2, "release"]), "schema")
        must(all(equal(manifest[key], stated[key]) for key in ("title", "statement", "auditors")), "manifest")
        has(self.target, beta=str, kappa=int, tau=int, sensitive=dict)
        said = manifest["target"]
        must(type(said["beta"]) is float, "beta")
        must(equal([said["kappa"], said["tau"]], [self.target["kappa"], self.target["tau"]]), "target")
        must(equal(said.get("sensitive", {}), self.target["sensitive"]), "sensitive")
        self.beta = exact(self.target["beta"])
        must(Fraction(said["beta"]).limit_denominator(10**9) == self.beta, "beta")
        must(0 < self.beta < Fraction(1, 2) and self.target["kappa"] >= 1 and self.target["tau"] >= 0, "target")
        [names(each) for each in self.target["sensitive"].values()]
        must(stated["rule"] in ({"label": "rerun"}, {"label": "not shown"}), "rule")
        must(manifest["rule"] == stated["rule"]["label"], "rule")
        must(stated["slack"] >= 0 and stated["unproved"] >= 0, "numbers")
        self.people()
        self.questions = {each["question"]: each for each in stated["questions"]}
        must(0 < len(self.questions) == len(stated["questions"]), "questions")
        must(len(self.questions) > 1 or not stated.get("figures"), "figures")
        for question in stated["questions"]:
            self.question(question)
        self.tables = [Table(each, files, self.questions) for each in stated["tables"]]
        must(len({each["name"] for each in stated["tables"]}) == len(self.tables), "tables of one name")
        hashes = [pair for each in stated["tables"] for pair in each["files"].items()]
        hashes += [
            (name, manifest["files"][name])
            for name in ("certificate.json", "index.html", *names(stated.get("figures", [])))
        ]
        must(len(hashes) == len(dict(hashes)) and dict(hashes) == manifest["files"], "files of tables")
        self.totals()
        joint = any(each["roll"] == "joint" for each in stated["onlookers"])
        must(equal(stated["checked"], self.sets(self.tables) if joint else []), "checked")
        self.noise()
        self.page(text_of(files["index.html"]))
        must(statement(stated) == stated["statement"], "statement")

    @staticmethod
    def sets(tables: list["Table"]) -> list[list[str]]:
        axes = list(dict.fromkeys(axis for table in tables for axis in table.axes))
        return [*([axes] if len(axes) > 2 else []), *map(list, combinations(axes, 2)), *([axis] for axis in axes)]

    def people(self) -> None:
        onlookers, earlier = self.stated["onlookers"], self.stated["earlier"]
        for onlooker in onlookers:
            has(onlooker, name=str, roll=str, facts=bool, earlier=bool)
            must(onlooker["roll"] in ("joint", "sizes", "none"), "roll")
        has(earlier, cycles=list, held=str, net=bool)
        cycles = names(earlier["cycles"])
        must(onlookers and bool(cycles) == any(each["earlier"] for each in onlookers), "earlier")
        must(earlier["held"] in (("jointly", "group by group", "not") if cycles else ("not",)), "held")
        must(cycles or not earlier["net"], "net")

    def noise(self) -> None:
        said = set()
        for noise in self.stated["noise"]:
            has(noise, epsilon=str, posterior=list, omitted=list)
            names(noise["omitted"])
            for group in noise["posterior"]:
                has(group, axis=str, group=str, chance=str, secret=str, draw=str)
                said.add((group["axis"], group["group"]))
        rows = [(table, row) for table in self.tables for row in table.rows if row[-1] == "noised"]
        noised = {(table.axes[0], row[-4]) for table, row in rows}
        must(said in (noised, set()), "posterior")
        must(bool(noised) == any(said or not noise["omitted"] for noise in self.stated["noise"]), "noise")

    def question(self, question: Any) -> None:
        has(question, question=str, options=list, people=int, secrets=list, least=dict)
        options, seen = names(question["options"]), set()
        must(question["people"] >= 0, "people")
        must(all(name in options and type(n) is int and n >= 2 for name, n in question["least"].items()), "least")
        for secret in question["secrets"]:
            has(secret, options=list, share=str, ceiling=str)
            inside = frozenset(names(secret["options"]))
            must(inside and inside < set(options) and inside not in seen, "secret")
            seen.add(inside)
            must(exact(secret["ceiling"]) == 1 - min(self.beta, (1 - exact(secret["share"])) / 2), "ceiling")

    def totals(self) -> None:
        (total,) = (table for table in self.tables if not table.axes)
        must(len({frozenset(table.axes) for table in self.tables}) == len(self.tables), "tables")
        for name, question in self.questions.items():
            counts = {option: total.counts[name, (), option] for option in question["options"]}
            must(all(count is not None for count in counts.values()), "total")
            must(sum(counts.values()) <= question["people"], "people")
            for secret in question["secrets"]:
                chose = sum(counts[option] for option in secret["options"])
                must(exact(secret["share"]) == Fraction(chose, question["people"] or 1), "share")
            for table in self.tables if not self.stated["slack"] else []:
                if name in table.questions and all(row[-1] in ("exact", "merged") for row in table.rows):
                    for option, count in counts.items():
                        own = [n for (q, _, o), n in table.counts.items() if (q, o) == (name, option)]
                        must(sum(own) == count, "adds up")

    def page(self, page: str) -> None:
        blocks = re.findall(r'<script[^>]*id="tables"[^>]*>(.*?)</script>', page, re.DOTALL)
        must(len(blocks) == 1, "block")
        must(equal(json_of(blocks[0].encode()), {table.name: table.rows for table in self.tables}), "block")
        shown = []
        for table in re.findall(r"<table.*?</table>", page, re.DOTALL):
            rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
            cells = [re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", row) for row in rows]
            if cells and cells[0][-3:] == ["option", "count", "status"]:
                shown.append([[cell.replace("\u00a0", " ") for cell in row] for row in cells[1:]])
        must(shown == [[list(map(on_page, row)) for row in table.rows[:2000]] for table in self.tables], "page")

    # Sections 5 and 6

    def outcome(self, auditors: Files | None) -> str:
        if auditors is None:
            return "not checked"
        manifest = manifest_of(auditors, signed=False)
        must(hashlib.sha256(auditors["manifest.json"]).hexdigest() == self.stated["auditors"], "commitment")
        more = {"reason": str} if "reason" in manifest else {}
        has(manifest, schema=int, kind=str, files=dict, salt=str, **more)
        must(
            manifest["schema"] == 2
            and manifest["kind"] == "auditors"
            and re.fullmatch("[0-9a-f]{64}", manifest["salt"]),
            "auditors",
        )
        if "witnesses.json" not in auditors:
            must(more, "reason")
            return "not checked"
        beyond = [self.stated[key] for key in ("noise", "slack", "unproved")] + [self.stated["earlier"]["cycles"]]
        must(not any(beyond) and not more, "witnesses of something else")
        must(all(each["roll"] == "joint" and not each["facts"] for each in self.stated["onlookers"]), "onlookers")
        carried = json_of(auditors["witnesses.json"])
        has(carried, schema=int, questions=list)
        must(carried["schema"] == 2, "schema")
        must(sorted(each["question"] for each in carried["questions"]) == sorted(self.questions), "questions")
        everybody = self.counted(csv_of(auditors["roll.csv"]))
        for each in carried["questions"]:
            own = self.counted(csv_of(auditors[each["roll"]]))
            must(all(people <= everybody.get(profile, 0) for profile, people in own.items()), "people of no roll")
            more = {"beyond": list} if "beyond" in each else {}
            has(each, question=str, roll=str, tables=list, moves=list, fixed=list, **more)
            self.prove(self.questions[each["question"]], csv_of(auditors[each["roll"]]), each)
        return "holds"

    @staticmethod
    def counted(rows: list[dict[str, str]]) -> dict[Any, int]:
        must(any(row["people"] != "0" for row in rows), "roll")
        return {frozenset(row.items() - {("people", row["people"])}): int(row["people"]) for row in rows}

    def prove(self, question: Any, rows: list[dict[str, str]], carried: Any) -> None:
        must(rows and all(all(row.values()) and re.fullmatch("[0-9]{1,15}", row["people"]) for row in rows), "roll")
        roll = [row for row in rows if int(row["people"])]
        people = [int(row["people"]) for row in roll]
        profiles = [tuple(value for key, value in row.items() if key != "people") for row in roll]
        must(roll and len(set(profiles)) == len(profiles) and sum(people) == question["people"], "roll")
        options = question["options"]
        witnesses = [list(self.split(table, people, len(options))) for table in carried["tables"]]
        must(witnesses, "tables")
        for move in carried["moves"]:
            witnesses.append(self.moved(witnesses[: len(carried["tables"])], move))
        fixed = []
        for each in carried["fixed"]:
            has(each, axis=str, groups=list)
            part = [names(group) for group in each["groups"]]
            fixed += [[p for p, row in enumerate(roll) if row[each["axis"]] in group] for group in part]
        ranges = []
        for each in carried.get("beyond", []):
            has(each, axis=str, group=list, option=int, least=int, most=int)
            must(0 <= each["option"] < len(options), "beyond")
            group = names(each["group"])
            ranges.append(([p for p, row in enumerate(roll) if row[each["axis"]] in group], each))
        for witness in witnesses:
            for inside, each in ranges:
                must(each["least"] <= sum(witness[p][each["option"]] for p in inside) <= each["most"], "beyond")
            for counts, all_ in zip(witness, people, strict=True):
                must(min(counts, default=0) >= 0 and sum(counts) <= all_, "people")
            for inside in fixed:
                for o in range(len(options)):
                    must(sum(witness[p][o] for p in inside) == sum(witnesses[0][p][o] for p in inside), "fixed")
        cells: list[tuple[list[int], bool]] = [([p], False) for p in range(len(roll))]
        tables = [table for table in self.tables if question["question"] in table.questions]
        columns = [axis for axis in rows[0] if axis != "people"]
        must(set(self.target["sensitive"]) <= set(columns), "sensitive")
        for axes in [*self.sets(tables), *map(list, combinations(columns, 2)), *([axis] for axis in columns)]:
            for key, inside in self.parted([tuple(row[axis] for axis in axes) for row in roll]):
                cells.append((inside, len(axes) == 1 and key[0] in self.target["sensitive"].get(axes[0], [])))
        printed, parts = [], []
        for table in tables:
            keys = [tuple(table.group(question["question"], axis, row[axis]) for axis in table.axes) for row in roll]
            for key, inside in self.parted(keys):
                counts = [table.counts[question["question"], key, option] for option in options]
                printed.append((inside, counts))
                for witness in witnesses:
                    sums = [sum(witness[p][o] for p in inside) for o in range(len(options))]
                    must(all(n is None or n == m for n, m in zip(counts, sums, strict=True)), "adds up")
            if table.axes:
                parts.append((table.axes, keys))
                cells += [(inside, False) for _, inside in self.parted(keys)]
        for (axes, one), (others, other) in combinations(parts, 2):
            if not set(axes) & set(others):
                cells += [(inside, False) for _, inside in self.parted(list(zip(one, other, strict=True)))]
        totals = [sum(each) for each in zip(*witnesses[0], strict=True)]
        for inside, sensitive in cells:
            self.cell(question, inside, sensitive, people, witnesses, totals, printed)

    def split(self, table: Any, people: list[int], width: int) -> list[list[int]]:
        must(type(table) is list and all(type(n) is int for n in table) and len(table) == len(people) * width, "table")
        return [table[p * width : (p + 1) * width] for p in range(len(people))]

    def moved(self, tables: list[list[list[int]]], move: Any) -> list[list[int]]:
        has(move, **{"from": int, "changes": list})
        must(0 <= move["from"] < len(tables), "from")
        made, seen = [list(counts) for counts in tables[move["from"]]], set()
        for profile, option, step in move["changes"]:
            must(all(type(n) is int for n in (profile, option, step)) and profile >= 0 and option >= 0, "change")
            must((profile, option) not in seen, "twice")
            seen.add((profile, option))
            made[profile][option] += step
        return made

    @staticmethod
    def parted(keys: list[Any]) -> list[tuple[Any, list[int]]]:
        found: dict[Any, list[int]] = {}
        for place, key in enumerate(keys):
            found.setdefault(key, []).append(place)
        return list(found.items())

    def cell(
        self, question: Any, inside: list[int], sensitive: bool, people: list[int], witnesses: Any, totals: list[int],
        printed: list[tuple[list[int], list[Any]]],
    ) -> None:  # fmt: skip
        n, everybody, options = sum(people[p] for p in inside), question["people"], question["options"]
        large, t = n >= self.target["kappa"], min(self.target["tau"], n // 4)
        for secret in question["secrets"]:
            which, share = [options.index(name) for name in secret["options"]], exact(secret["share"])
            m = exact(secret["ceiling"]) * n // 1
            values = [sum(witness[p][o] for p in inside for o in which) for witness in witnesses]
            a, b = min(values), max(values)
            total = sum(totals[o] for o in which)
            f, l_ = max(total - (everybody - n), 0), min(total, n)
            wide = a <= m and (b - a > t or (a == 0 and not sensitive) or (large and a + t <= m and not sensitive))
            own = [[counts[o] for o in which] for places, counts in printed if places == inside]
            shown = large and not sensitive and any(None not in counts and sum(counts) <= m for counts in own)
            known = not (large and l_ <= m and not sensitive)
            known = known and (f > m or (l_ - f <= t and (f >= 1 or sensitive)))
            must(share in (0, 1) or wide or shown or known, "cell")
        for name, least in question["least"].items():
            o = options.index(name)
            values = [sum(witness[p][o] for p in inside) for witness in witnesses]
            f, l_ = max(totals[o] - (everybody - n), 0), min(totals[o], n)
            must(not (min(values) >= 1 and max(values) < least) or (f >= 1 and l_ < least), "least")


class Table:
    def __init__(self, stated: Any, files: Files, questions: dict[str, Any]) -> None:
        has(stated, name=str, axes=list, groups=list, files=dict)
        self.name, self.axes, self.groups = stated["name"], names(stated["axes"]), stated["groups"]
        must(not {"question", "option", "count", "status"} & set(self.axes), "axes")
        must(len(self.groups) == len(self.axes), "groups")
        for groups in self.groups:
            must(all(names(each) and label == " | ".join(each) for label, each in groups.items()), "label")
        self.rows: list[list[Any]] = []
        self.counts: dict[tuple[str, Labels, str], Any] = {}
        read = None
        for name in stated["files"]:
            if name.endswith(".json") or (name.endswith(".csv") and not name.endswith(".sdmx.csv")):
                self.read(name, files[name], questions)
                must(read is None or read == sorted(map(repr, self.rows)), "formats")
                read = sorted(map(repr, self.rows))
        must(self.rows, "rows")
        self.questions = {question for question, _, _ in self.counts}
        for question in self.questions:
            for place in range(len(self.axes)):
                used = {labels[place] for name, labels, _ in self.counts if name == question}
                inside = [category for label in used for category in self.groups[place][label]]
                must(len(inside) == len(set(inside)), "two groups")

    def group(self, question: str, axis: str, category: str) -> str:
        place = self.axes.index(axis)
        used = {labels[place] for name, labels, _ in self.counts if name == question}
        (label,) = (each for each in used if category in self.groups[place][each])
        return str(label)

    def read(self, name: str, content: bytes, questions: dict[str, Any]) -> None:
        self.rows, self.counts, many = [], {}, next(iter(questions)) != ""
        columns = [*(["question"] if many else []), *self.axes, "option", "count", "status"]
        for row in csv_of(content) if name.endswith(".csv") else json_of(content):
            must(list(row) == columns, "columns")
            question = row["question"] if many else next(iter(questions))
            labels = [plain(row[axis], groups) for axis, groups in zip(self.axes, self.groups, strict=True)]
            option = plain(row["option"], questions[question]["options"])
            count, status = row["count"], row["status"]
            if status == "suppressed":
                must(count in ("", None), "gap")
                count = None
            else:
                must(status in ("exact", "merged", "noised"), "status")
                must(type(count) in (int, str) and re.fullmatch("-?[0-9]{1,15}", str(count)), "count")
                count = int(count)
                must(count >= 0 or status == "noised", "negative")
            key = (question, tuple(labels), option)
            must(key not in self.counts, "twice")
            self.counts[key] = count if status in ("exact", "merged") else None
            self.rows.append([*([question] if many else []), *labels, option, count, status])


def plain(text: Any, known: Any) -> str:
    must(type(text) is str and (text in known or (text[:1] == "'" and text[1:] in known)), "label")
    return str(text if text in known else text[1:])


def on_page(cell: Any) -> str:
    text = "" if cell is None else f"{cell:,}" if isinstance(cell, int) else str(cell)
    for sign, mark in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&#34;"), ("'", "&#39;"), ("\u00a0", " ")):
        text = text.replace(sign, mark)
    return text

"""Check the certificate of a safemargin release: one file, the standard library, integers only.

    python safemargin_verify.py published --auditors auditors

A release prints counts of answers by group and states what nobody can infer from them; this program checks that. It
shares no code with the program that made the release; docs/certificate.md describes every file it reads. Objects:
    profile     one category per axis, with N > 0 people on the roll
    table       one published file: groups of categories of some axes, an option, a count or a gap
    witness     counts of every option in every profile that add up to every published count: answers that could be true
    move        changes of one witness that leave every published count: another witness
    secret      a set of options; its ceiling is the share of a group that may be inferred to have chosen within it
    cell        people with the same category on each of some axes, or in the same published group
What an onlooker infers is true in every witness; section 5 of docs/certificate.md says why `check_level` suffices.
Outcomes: holds (exit 0: the printed statement was checked), fails (1), not checked (3); a wrong call ends with 2.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import combinations
from typing import Any

MANIFEST, CERTIFICATE, PAGE, SIGNATURE = "manifest.json", "certificate.json", "index.html", "manifest.json.minisig"
SCHEMA, ROLL, WITNESSES, SUPPRESSED = 2, "roll.csv", "witnesses.json", "suppressed tables"
HOLDS, FAILS, NOT_CHECKED = "holds", "fails", "not checked"
EXIT_CODES = {HOLDS: 0, FAILS: 1, NOT_CHECKED: 3}
DEFAULTS: dict[str, Any] = {"beta": Fraction(1, 20), "kappa": 30, "tau": 3}
COUNTED, STATUSES = ("exact", "merged"), ("exact", "merged", "noised", "suppressed")
HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;", "\xa0": " "})
KEYS = "schema kind title target onlookers questions tables checked rule earlier noise slack unproved auditors"
CONTROL = "[\\x00-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"  # would move a cursor
# Bytes of a file, characters of a field, objects within objects; and rows of a table that the page shows.
LARGEST, LONGEST, DEEPEST, PAGE_ROWS = 2**30, 100_000, 100, 2000
QUOTE = r"^'(?='*[=+@-])"  # before a label that a spreadsheet would run
Files = dict[str, bytes]


class Finding(Exception):
    """Something that is wrong, in one line that names the file."""


def refuse(wrong: Any, finding: str) -> None:
    if wrong:
        raise Finding(finding)


class Result:  # what was found: failures, what was not checked, and the strongest statement that was
    def __init__(self, *failures: str) -> None:
        self.failures, self.unchecked, self.warnings = list(failures), list[str](), list[str]()
        self.statement, self.is_proved, self.files, self.tables, self.moves, self.cells = "", False, 0, 0, 0, 0

    @property
    def outcome(self) -> str:
        return FAILS if self.failures else HOLDS if self.is_proved else NOT_CHECKED

    def lines(self) -> Iterator[str]:
        agree = " The files agree with each other; nothing shows the statement."
        yield f"Outcome: {self.outcome}.{agree if self.outcome == NOT_CHECKED and self.files else ''}"
        yield from (f"Finding: {failure}" for failure in self.failures)
        if self.outcome == HOLDS:
            yield f"{self.cells:,} counts, {self.tables:,} witness tables, {self.moves:,} moves: all checked."
            yield f"Checked: {self.statement}"
        if not self.failures:
            yield from (f"Note: {warning}" for warning in self.warnings)
            yield from (f"Not checked: {note}" for note in self.unchecked)


# 1. Files: a flat folder, exactly the files of its manifest, each read once and parsed from the bytes that were hashed.
def read_folder(path: str) -> Files:
    """Every file of a folder by name. Links and folders inside are findings: a reader may be shown other files."""
    files = {}
    refuse(os.path.islink(path) or os.path.isfile(path), f"{path}: is not a folder")
    for name in sorted(os.listdir(path)):
        place = os.path.join(path, name)
        refuse(os.path.islink(place) or not os.path.isfile(place), f"{name}: is a link or a folder, not a file")
        refuse(os.path.getsize(place) > LARGEST, f"{name}: is larger than {LARGEST:,} bytes")
        with open(place, "rb") as file:
            files[name] = file.read()
    return files


def decoded(name: str, content: bytes) -> str:  # UTF-8 without a byte order mark, which programs read in many ways
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise Finding(f"{name}: is not UTF-8") from None
    refuse("\ufeff" in text or "\0" in text, f"{name}: has a byte order mark, or a character 0")
    return text


def parse_json(name: str, content: bytes, free: bool = False) -> Any:
    """A JSON file in which nothing is said twice: of duplicate keys, two programs may read different ones."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        refuse(len(found) < len(pairs), f"{name}: has a key twice in one object")
        return found

    def constant(text: str) -> Any:
        raise Finding(f"{name}: has the number {text:.60}")

    def integer(text: str) -> int:  # browsers have no larger ones
        return int(text) if len(text) < 16 or free else constant(text)

    text, real = decoded(name, content), float if name == MANIFEST or free else constant  # others are integers
    try:
        value = json.loads(text, object_pairs_hook=unique, parse_constant=constant, parse_float=real, parse_int=integer)
    except (ValueError, RecursionError):
        raise Finding(f"{name}: is not JSON") from None
    layer, depth = [value], 0
    while layer := [each for each in layer if isinstance(each, (dict, list))]:  # another limit in every program
        layer, depth = [each for of in layer for each in (of.values() if isinstance(of, dict) else of)], depth + 1
    refuse(depth > DEEPEST, f"{name}: is nested more than {DEEPEST} deep")
    return value


def same(one: Any, other: Any) -> bool:  # as values of JSON: `1`, `1.0` and `true` differ, objects have no order
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def parse_csv(name: str, content: bytes) -> list[dict[str, Any]]:  # the rows of a CSV file; an empty field is None
    try:
        lines = list(csv.reader(io.StringIO(decoded(name, content), newline=""), strict=True))
    except csv.Error:
        raise Finding(f"{name}: is not CSV") from None
    refuse(not lines or len(set(lines[0])) < len(lines[0]), f"{name}: has no columns, or two of one name")
    refuse(any(len(line) != len(lines[0]) for line in lines), f"{name}: a row has more or fewer fields than columns")
    refuse(any(len(field) > LONGEST for line in lines for field in line), f"{name}: has a field that is too long")
    return [dict(zip(lines[0], (field or None for field in line))) for line in lines[1:]]


def expect(value: Any, kind: type, where: str) -> Any:  # a value that must be of this kind; `True` is no integer
    refuse(type(value) is not kind, f"{where}: {str(value)[:60]!r} is not of the kind {kind.__name__}")
    return value


def member(holder: Any, key: str, kind: type, where: str) -> Any:  # the value of a key that must be there
    refuse(key not in expect(holder, dict, where), f"{where}: has no {key!r}")
    return expect(holder[key], kind, f"{where}: {key}")


def only(holder: Any, keys: str, where: str) -> Any:  # just these keys: what is not known cannot be checked
    refuse(set(expect(holder, dict, where)) != set(keys.split()), f"{where}: has other keys than {keys}")
    return holder


def texts(value: Any, where: str) -> list[str]:  # a list of texts, none of them twice
    once = len({expect(each, str, where) for each in expect(value, list, where)}) == len(value)
    refuse(not once, f"{where}: names something twice")
    return list(value)


def numbered(names: Sequence[str]) -> dict[str, int]:
    """The number of every name; CSV may have an apostrophe before one that a spreadsheet would run."""
    return {**{f"'{name}": number for number, name in enumerate(names)}, **{name: n for n, name in enumerate(names)}}


def fraction(holder: Any, key: str, where: str) -> Fraction:  # from 0 to 1, as `numerator/denominator` in lowest terms
    text = member(holder, key, str, where)
    value = Fraction(text) if re.fullmatch(r"[0-9]{1,40}/[1-9][0-9]{0,39}", text) else Fraction(-1)
    lowest = f"{value.numerator}/{value.denominator}"
    refuse(not 0 <= value <= 1 or lowest != text, f"{where}: {key}: is no fraction from 0 to 1 in lowest terms")
    return value


def check_hashes(files: Files, place: str, signature: str = "") -> dict[str, Any]:
    """The manifest of a folder that holds exactly the files it names, as they were hashed, and perhaps a signature."""
    refuse(MANIFEST not in files, f"{place}{MANIFEST}: is missing")
    manifest = parse_json(MANIFEST, files[MANIFEST])
    hashes: dict[str, str] = member(manifest, "files", dict, f"{place}{MANIFEST}")
    odd = sorted(set(hashes) ^ (set(files) - {MANIFEST, signature})) or [name for name in files if "/" in name]
    how = "lies in the folder, but its manifest does not name it" if set(odd[:1]) & set(files) else "is missing"
    refuse(odd, f"{place}{''.join(odd[:1])}: {how}")
    for name, mark in hashes.items():
        refuse(hashlib.sha256(files[name]).hexdigest() != mark, f"{place}{name}: its hash is not that of the manifest")
    return dict(manifest)


def check_files(files: Files, manifest: dict[str, Any]) -> dict[str, Any]:
    """The certificate of a published folder whose manifest names the same files and states the same."""
    refuse(CERTIFICATE not in files or PAGE not in files, f"{CERTIFICATE} or {PAGE}: is missing")
    certificate = parse_json(CERTIFICATE, files[CERTIFICATE])
    for name, document in ((MANIFEST, manifest), (CERTIFICATE, certificate)):
        kind = [expect(document, dict, name).get(key) for key in ("schema", "kind")]
        refuse(not same(kind, [SCHEMA, "release"]), f"{name}: is not of a release, or of another schema than {SCHEMA}")
    figures = texts(certificate.get("figures", []), CERTIFICATE)  # files that only some releases have
    only({**certificate, "figures": figures}, KEYS + " statement figures", CERTIFICATE)
    listed = [member(table, "files", dict, f"{CERTIFICATE}: tables") for table in certificate["tables"]]
    hashes = {name: mark for each in listed for name, mark in each.items()}
    others = {name: manifest["files"][name] for name in (CERTIFICATE, PAGE, *figures)}
    once = {**hashes, **others} == manifest["files"] and len(manifest["files"]) == sum(map(len, [others, *listed]))
    refuse(not once, f"{MANIFEST}: names other files or hashes than the certificate")
    target = member(manifest, "target", dict, MANIFEST)
    apart = abs(member(target, "beta", float, MANIFEST) - float(fraction(certificate["target"], "beta", "target")))
    refuse(not apart < 1e-12, f"{MANIFEST}: states another beta than the certificate")
    stated = {"sensitive": {}, **manifest, **target, "rule": {"label": manifest.get("rule")}}
    wanted = {**certificate, **certificate["target"]}
    for key in ("title", "statement", "auditors", "rule", "kappa", "tau", "sensitive"):
        refuse(not same(stated.get(key), wanted.get(key)), f"{MANIFEST}: states another {key} than the certificate")
    return dict(certificate)


# 2. The certificate: every field is checked against the tables, or against what it must follow from.
class Table:  # one published table: which group every category falls in, and what is printed
    def __init__(self, stated: Any, files: Files, questions: Sequence[Question], result: Result) -> None:
        where = f"{CERTIFICATE}: tables"
        self.name = member(only(stated, "name axes groups files", where), "name", str, where)
        self.axes = texts(member(stated, "axes", list, where), where)
        refuse({"question", "option", "count", "status"} & set(self.axes), f"{where}: an axis is called like a column")
        groups = member(stated, "groups", list, where)
        refuse(len(groups) != len(self.axes), f"{where}: {self.name}: has groups of other axes")
        self.labels = [list(expect(each, dict, where)) for each in groups]
        self.numbers = list(map(numbered, self.labels))
        self.members = [[texts(each[label], where) for label in each] for each in groups]
        for label, names in (pair for each in groups for pair in each.items()):
            wrong = not names or label != " | ".join(names)
            refuse(wrong, f"{where}: {self.name}: {label!r}: is not the name of its categories")
        # What is printed, by question: (groups, option) -> count, or None where there is a gap or noise.
        self.printed: dict[str, dict[tuple[tuple[int, ...], int], int | None]] = {}
        self.statuses, self.rows, known = set[str](), list[Any](), dict[Any, Any]()  # rows as the page embeds them
        result.unchecked += [FORMAT_NOTE.format(name) for name in stated["files"] if not is_read(name)]
        for name in filter(is_read, stated["files"]):
            rows = (parse_csv if name.endswith(".csv") else parse_json)(name, files[name])
            cells = self._cells(name, expect(rows, list, name), questions)
            refuse(bool(known) and cells != known, f"{name}: prints other rows than the other formats of {self.name}")
            known = cells
        refuse(not known, f"{self.name}: no file of it is CSV or JSON")
        by_name = {question.name: question.options for question in questions}
        for (name, codes, option), (count, status) in known.items():
            self.statuses.add(status)
            self.printed.setdefault(name, {})[codes, option] = count if status in COUNTED else None
            labels = [*([name] if name else []), *(each[code] for each, code in zip(self.labels, codes))]
            self.rows.append([*labels, by_name[name][option], count, status])
        self.group_of: dict[str, list[dict[str, int]]] = {}  # by question, per axis: the group of every category
        for name, printed in self.printed.items():
            used = [sorted(set(codes)) for codes in zip(*(groups for groups, _ in printed))]
            pairs = [[(name, n) for n in numbers for name in each[n]] for each, numbers in zip(self.members, used)]
            refuse(any(len(dict(each)) < len(each) for each in pairs), f"{self.name}: a category is in two groups")
            self.group_of[name] = [dict(each) for each in pairs]

    def _cells(self, name: str, rows: list[Any], questions: Sequence[Question]) -> dict[Any, Any]:
        many, by_name = [key for key in ["question"] if questions[0].name], {each.name: each for each in questions}
        columns, cells = [*many, *self.axes, "option", "count", "status"], dict[Any, Any]()
        for number, row in enumerate(rows, 1):
            where = f"{name}: row {number}"
            refuse(list(expect(row, dict, where)) != columns, f"{where}: has other columns than {', '.join(columns)}")
            question = by_name.get(row["question"] if many else questions[0].name)
            codes = tuple(numbers.get(row[axis], -1) for axis, numbers in zip(self.axes, self.numbers))
            option = question.numbers.get(row["option"], -1) if question else -1
            refuse(option < 0 or -1 in codes, f"{where}: has a label or an option that the certificate does not list")
            key = (question.name if question else "", codes, option)
            refuse(key in cells, f"{where}: occurs twice")
            count, status = row["count"], row["status"]
            refuse(status not in STATUSES, f"{where}: its status is not one of {', '.join(STATUSES)}")
            gap, text = status == "suppressed", "" if isinstance(count, bool) else str(count)
            wrong = count is not None if gap else not re.fullmatch(r"-?[0-9]{1,15}", text)
            how = "has a count although it is suppressed" if gap else f"its count {str(count)[:60]!r} is not an integer"
            refuse(wrong, f"{where}: {how}")
            refuse(not gap and int(count) < 0 and status != "noised", f"{where}: its count is negative")
            cells[key] = (None if gap else int(count), status)
        refuse(not cells, f"{name}: has no rows")
        return cells


def is_read(name: str) -> bool:  # other formats are hashed only
    return name.endswith((".csv", ".json")) and not name.endswith(".sdmx.csv")


class Question:  # one question: its options, and the secrets with their overall shares and ceilings
    def __init__(self, stated: Any, beta: Fraction) -> None:
        where = f"{CERTIFICATE}: questions"
        self.name = member(only(stated, "question options people secrets least", where), "question", str, where)
        self.options = texts(member(stated, "options", list, where), where)
        self.numbers = numbered(self.options)
        self.people = member(stated, "people", int, where)
        self.secrets: list[tuple[list[int], Fraction, Fraction]] = []
        for secret in member(stated, "secrets", list, where):
            names = texts(member(only(secret, "options share ceiling", where), "options", list, where), where)
            refuse(not names or not set(names) < set(self.options), f"{where}: a secret is no set of some options")
            share, ceiling = fraction(secret, "share", where), fraction(secret, "ceiling", where)
            wrong = ceiling != 1 - min(beta, (1 - share) / 2)
            refuse(wrong, f"{where}: the ceiling of {' or '.join(names)} does not follow from beta and its share")
            self.secrets.append((sorted(self.numbers[name] for name in names), share, ceiling))
        once = len({tuple(options) for options, _, _ in self.secrets}) == len(self.secrets) and self.people >= 0
        clear = all(name in self.options and expect(n, int, where) > 1 for name, n in stated["least"].items())
        refuse(not once or not clear, f"{where}: has no people, a secret twice, or a least count of no option")
        self.least = [(self.numbers[name], n) for name, n in stated["least"].items()]

    def check_totals(self, total: Table) -> None:  # shares follow from the total that is published
        printed = [total.printed.get(self.name, {}).get(((), option)) for option in range(len(self.options))]
        self.totals = [count for count in printed if count is not None]
        refuse(len(self.totals) < len(self.options), f"{total.name}: does not print the total of every option")
        refuse(sum(self.totals) > self.people, f"{CERTIFICATE}: questions: there are fewer people than answers")
        for options, share, _ in self.secrets:
            chose = Fraction(sum(self.totals[option] for option in options), max(self.people, 1))
            refuse(share != chose, f"{CERTIFICATE}: questions: a share does not follow from the total")


def check_certificate(certificate: dict[str, Any], files: Files, result: Result) -> tuple[list[Question], list[Table]]:
    """The questions and tables of a certificate whose fields follow from each other and from the files."""
    target = only(certificate["target"], "beta kappa tau sensitive", f"{CERTIFICATE}: target")
    beta = fraction(target, "beta", "target")
    kappa, tau = member(target, "kappa", int, "target"), member(target, "tau", int, "target")
    refuse(not 0 < beta < Fraction(1, 2) or kappa < 1 or tau < 0, f"{CERTIFICATE}: target: is impossible")
    for axis, names in member(target, "sensitive", dict, "target").items():
        texts(names, f"target: sensitive: {axis}")
    questions = [Question(stated, beta) for stated in member(certificate, "questions", list, CERTIFICATE)]
    once = bool(certificate.get("figures")) < len(questions) == len({question.name for question in questions})
    refuse(not once, f"{CERTIFICATE}: questions: there is none, or one stands twice, or figures are of a single one")
    tables = [Table(stated, files, questions, result) for stated in certificate["tables"]]
    total = [table for table in tables if not table.axes]
    once = len(total) == 1 and len({frozenset(t.axes) for t in tables}) == len({t.name for t in tables}) == len(tables)
    refuse(not once, f"{CERTIFICATE}: tables: there must be one total, and one table of any set of axes")
    for question in questions:
        question.check_totals(total[0])
        for table in tables if not certificate["slack"] else ():
            printed, sums = table.printed.get(question.name, {}), [0] * len(question.options)
            for (_, option), count in printed.items():
                sums[option] += count or 0
            whole = table.statuses <= set(COUNTED) and bool(printed)  # then it is about everybody
            refuse(whole and sums != question.totals, f"{table.name}: adds up to another total")
    refuse(not same(certificate["checked"], checked_sets(certificate, tables)), f"{CERTIFICATE}: checked: are others")
    onlookers, earlier = certificate["onlookers"], only(certificate["earlier"], "cycles held net", CERTIFICATE)
    fields = [[type(each[key]) for key in ("name", "roll", "facts", "earlier")] for each in onlookers]
    clear = all(each == [str, str, bool, bool] for each in fields) and all(len(each) == 4 for each in onlookers)
    clear = clear and {each["roll"] for each in onlookers} <= {"none", "sizes", "joint"}
    refuse(not clear or not onlookers, f"{CERTIFICATE}: onlookers: it is unclear what they know")
    cycles, net = texts(earlier["cycles"], "earlier"), expect(earlier["net"], bool, "earlier")
    held = earlier["held"] in (("jointly", "group by group", "not") if cycles else ("not",))
    known = any(onlooker["earlier"] for onlooker in onlookers) == bool(cycles) >= net
    refuse(not held or not known, f"{CERTIFICATE}: earlier: says otherwise than the onlookers, or something unknown")
    refuse(certificate["rule"] not in ({"label": "rerun"}, {"label": "not shown"}), f"{CERTIFICATE}: rule: is unknown")
    numbers = [member(certificate, key, int, CERTIFICATE) for key in ("slack", "unproved")]
    refuse(min(numbers) < 0 or type(certificate["title"]) is not str, f"{CERTIFICATE}: has a number below 0")
    noise = [only(each, "epsilon posterior omitted", "noise") for each in expect(certificate["noise"], list, "noise")]
    groups = [only(group, "axis group chance secret draw", "noise") for each in noise for group in each["posterior"]]
    noised = {(table.axes[0], row[-4]) for table in tables for row in table.rows if row[-1] == "noised"}
    stated = {(group["axis"], group["group"]) for group in groups}
    clear = bool(noised) == any([not texts(each["omitted"], "noise") or bool(stated) for each in noise])
    clear = clear and all(re.fullmatch(r"[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?", each["epsilon"]) for each in noise)
    clear = clear and all(re.fullmatch(r"0\.[0-9]{3}|1\.000", each["chance"]) for each in groups)
    clear = clear and all(type(each["secret"]) is str and each["draw"] in ("counted", "not counted") for each in groups)
    refuse(not clear or stated not in (noised, set()), f"{CERTIFICATE}: noise: is not what the tables have")
    refuse(statement(certificate) != certificate["statement"], f"{CERTIFICATE}: its statement does not follow from it")
    for name, limit in (("beta", beta), ("kappa", kappa), ("tau", tau)):
        result.warnings += [f"{name} is weaker than its default, {DEFAULTS[name]}."] if limit < DEFAULTS[name] else []
    return questions, tables


def checked_sets(certificate: Mapping[str, Any], tables: Sequence[Any]) -> list[list[str]]:
    """The sets of axes whose cells a certificate is about: all axes together, every pair, every single one."""
    if not any(onlooker["roll"] == "joint" for onlooker in certificate["onlookers"]):
        return []
    axes = list(dict.fromkeys(axis for table in tables for axis in table.axes))
    sets = [axes] if len(axes) > 2 else []
    return [*sets, *(list(pair) for pair in combinations(axes, 2)), *([axis] for axis in axes)]


def proved_sets(checked: Iterable[Sequence[str]], axes: Sequence[str]) -> list[Sequence[str]]:
    """Those sets, and every column of the roll and every pair of them: some may be in no table, but are known."""
    sets = [*checked, *combinations(axes, 2), *((axis,) for axis in axes)]
    return [each for each in {frozenset(each): each for each in sets}.values() if len(each) < max(len(axes), 2)]


# 3. The statement: a function of the fields, so that nothing can be stated that is not a field, and no field twice.
FORMAT_NOTE = "that {} prints the same as the other formats of its table."
KEY_NOTE = "who made the files: without a signature and a key, they agree with each other at most."
KIND_NOTE = "what an onlooker can infer: a folder of kind {} has no certificate of a release."
PAGE_NOTE = f"what {PAGE} shows and {MANIFEST} states beside what the tables and the certificate do."
FIGURES_NOTE = "that the files of derived figures follow from the tables."
ALONE_NOTE = "what nobody can infer: that needs safemargin_verify_tables.py and safemargin_verify_intervals.py beside."
RULE_NOTE = "that it holds for somebody who knows the rule; `safemargin verify --rerun` runs the rule on every table."


def statement(certificate: Mapping[str, Any], rule: str = "") -> str:
    """What a certificate states, in words; `rule` replaces its label where less was checked."""
    return "".join(_sentences(certificate, rule or certificate["rule"]["label"]))


def _sentences(certificate: Mapping[str, Any], rule: str) -> Iterator[str]:
    onlookers, target, earlier = certificate["onlookers"], certificate["target"], certificate["earlier"]
    names, s = quoted((onlooker["name"] for onlooker in onlookers), ", "), "" if len(onlookers) > 1 else "s"
    # The statement is about all onlookers together, so it names the most that any of them knows.
    rolls = {onlooker["roll"] for onlooker in onlookers}
    knows = "how many people there are of every kind" if "joint" in rolls else "no sizes of groups"
    knows = knows if "joint" in rolls or "sizes" not in rolls else "how many people each group has"
    if any(onlooker["facts"] for onlooker in onlookers):
        knows += f" and hold{s} facts of their own"
    if earlier["cycles"]:
        knows += f", and remember{s} the release of {quoted(earlier['cycles'], ' and ')}"
        knows += f" and believe{s} that nobody who stayed changed their answer"
    claims: dict[tuple[str, str, str], list[str]] = {}
    for question in certificate["questions"]:
        claims.setdefault(_claim(question, target), []).append(question["question"])
    limits = "; ".join(f"({quoted(of, ', ')}) " * (len(claims) > 1) + claim[0] for claim, of in claims.items())
    counts = max(claim[1] for claim in claims)  # what is protected of every question
    tau, near = target["tau"], f"to an interval no wider than {target['tau']}" if target["tau"] else "exactly"
    small = " (in small groups: a quarter of their people)" if tau else ""
    yield f"The onlooker{'' if s else 's'} {names}, who know{s} {knows}, cannot infer that {limits}. {counts} can be "
    yield f"inferred {near}{small} only for groups of {target['kappa']:,} people or more that lie within these limits, "
    yield f"as all published groups do.{''.join(dict.fromkeys(claim[2] for claim in claims))}"
    sensitive = [quoted([f"{axis} {name}"]) for axis, names in target["sensitive"].items() for name in names]
    if sensitive:
        more = f" and {len(sensitive) - 10:,} more" if len(sensitive) > 10 else ""
        yield f" The counts of {'; '.join(sensitive[:10])}{more}, which are sensitive, cannot be inferred {near}."
    if certificate["noise"]:
        noise = " and ".join(each["epsilon"] for each in certificate["noise"])
        yield f" Noised counts of large groups are close to the true ones (noise of epsilon {noise})."
        for each in sorted((g for n in certificate["noise"] for g in n["posterior"]), key=lambda g: g["chance"])[-1:]:
            yield " To somebody who takes all counts as equally probable, the probability that "
            yield f"{quoted([each['axis'] + ' ' + each['group']])} is beyond a limit is {each['chance']} (the draw of "
            yield f"noised groups: {each['draw']})."
    if certificate["slack"]:
        yield f" Totals disagree: every published count may be off by {certificate['slack']:,}."
    if certificate["unproved"]:
        yield f" For {certificate['unproved']:,} counts only fractional tables show it, which is no proof."
    if rule == "rerun":
        yield " This holds also for somebody who knows the rule by which groups are merged and axes omitted, and runs "
        yield "the program on all other answers that could have led to the same files."
    else:
        yield " The onlooker of this statement does not know the rule by which groups are merged and axes omitted: "
        yield "what somebody can infer who runs the program on other answers was not shown."
    if earlier["cycles"]:
        yield " What the totals of all cycles disclose by themselves is not covered."
        held = {"jointly": "", "group by group": " Earlier releases were compared group by group, not all together."}
        yield held.get(earlier["held"], " Earlier releases were not held together with this one.")
        if earlier["net"]:
            yield " Between cycles only net changes of the roll are compared: if people of one kind came and others "
            yield "of it left at once, they are not covered."
    for question in certificate["questions"]:
        shares = {tuple(secret["options"]): Fraction(secret["share"]) for secret in question["secrets"]}
        nobody = [option for option in question["options"] if shares.get((option,)) == 0]
        where, people = f" ({quoted([question['question']])})" if question["question"] else "", question["people"]
        yield f" The total says that nobody chose {quoted(nobody)}{where}." if nobody else ""
        sets = [share for each, share in shares.items() if len(each) == 1 or len(question["options"]) - len(each) > 1]
        if 0 < people <= 2 or (people and max(sets, default=0) * people >= people - min(tau, people // 4)):
            yield f" The total alone shows how everybody voted{where}; publishing it is the decision of the office."
    if len(certificate["questions"]) > 1:
        yield " Each question is about the people who answered it, and no table ties answers to different questions."
        yield " Somebody who knows how answers to different questions hang together can infer more."
    if "joint" in rolls:
        yield " Checked are all combinations of categories that occur, all pairs of columns, the published groups and "
        yield "any two of them together. What the total, the roll and facts disclose by themselves does not count."


def _claim(question: Mapping[str, Any], target: Mapping[str, Any]) -> tuple[str, str, str]:
    """The limits of one question in words, of which counts they speak, and what is not protected."""
    beta, kappa, options = Fraction(target["beta"]), target["kappa"], question["options"]
    low, high = percent(beta), percent(1 - beta)
    shares = {frozenset(each["options"]): Fraction(each["share"]) for each in question["secrets"]}
    every, singles = frozenset(options), [frozenset([option]) for option in options]
    above = [option for option in options if frozenset([option]) in shares]
    below = [option for option in options if every - {option} in shares]
    own = [each for each in shares if each not in singles and every - each not in singles]
    least = "".join(f", nor that 1 to {n - 1:,} chose {quoted([option])}" for option, n in question["least"].items())
    excepted = ", options that nobody or everybody chose excepted" if {0, 1} & set(shares.values()) else ""
    if above == below == options and not own:
        rare = " (options that few or nearly all chose: within half of what the total leaves)"
        rare = rare if any(0 < 1 - share < 2 * beta for share in shares.values()) else ""
        text = f"fewer than {low} or more than {high} of any checked group chose an option{rare}{excepted}{least}"
        return text, "A count", ""
    few = any(0 < 1 - shares[each] < 2 * beta for each in singles if each in shares)
    rare = " (an option that nearly all chose: more than half of what the total leaves)" if few else ""
    which = "one option" if above == options else quoted(above)
    text = f"more than {high} of any checked group chose {which}{rare}{excepted}"
    for each in own:  # a set and its complement are said together
        if every - each not in own or own.index(each) < own.index(every - each):
            text += f", nor that more than {high} chose {quoted(option for option in options if option in each)}"
            text += f" or that fewer than {low} did" if every - each in shares else ""
    if below:
        text += f", nor that fewer than {low} chose {quoted(below) if below != options else 'an option'}"
    free = [option for option in options if option not in (*above, *below, *question["least"])]
    listed = [f"that people chose {quoted(free)}"] if free else []
    if below != options:
        listed += ["that nobody chose an option", "that all chose among several"]
        listed += [f'and small counts in groups of {kappa:,} people or more (secrets = "both" asks for the first)']
    return text + least, "A count above 0 of these", f" Not protected: {', '.join(listed)}." if listed else ""


def percent(share: Fraction) -> str:  # nine digits behind the point, without zeros at the end
    whole, part = divmod((200 * 10**9 * share.numerator + share.denominator) // (2 * share.denominator), 10**9)
    return f"{whole}.{part:09}".rstrip("0").rstrip(".") + " %"


def quoted(names: Iterable[str], between: str = " or ") -> str:  # no name can end its own quotation
    return between.join('"' + name.replace('"', '\\"') + '"' if "'" in name else f"'{name}'" for name in names)


# 4. The proof: witnesses add up to everything that is published, and leave every cell within the limits.
class Roll:  # people by profile
    def __init__(self, name: str, content: bytes) -> None:
        rows = parse_csv(name, content)
        self.axes = [column for column in (rows[0] if rows else {}) if column != "people"]
        self.profiles, self.people = list[tuple[str, ...]](), list[int]()
        for row in rows:
            number = row.get("people") or ""
            wrong = not re.fullmatch(r"[0-9]{1,15}", number) or None in row.values()
            refuse(wrong, f"{name}: a row has an empty label, or no number of people")
            if int(number):
                self.profiles.append(tuple(row[axis] for axis in self.axes))
                self.people.append(int(number))
        wrong = not self.profiles or len(set(self.profiles)) < len(self.profiles)
        refuse(wrong, f"{name}: has no people, or a profile twice")

    def counted(self, quote: str = "") -> dict[Any, int]:  # in whatever order the file has its rows and columns
        plain = [[re.sub(quote, "", text) for text in profile] for profile in self.profiles]
        return {frozenset(zip(self.axes, each)): people for each, people in zip(plain, self.people)}

    def column(self, axis: str) -> list[str]:
        refuse(axis not in self.axes, f"{ROLL}: has no column {axis}")
        return [profile[self.axes.index(axis)] for profile in self.profiles]


class Level:  # cells that part the profiles: `cell_of` every profile, and the people of every cell
    def __init__(self, name: str, keys: Sequence[Any], people: Sequence[int], never: Sequence[Any] = ()) -> None:
        self.name, self.keys = name, keys
        numbers: dict[Any, int] = {}
        self.cell_of = [numbers.setdefault(key, len(numbers)) for key in keys]
        self.count, self.printed = len(numbers), list[list[Any]]()
        self.people, self.sensitive = self.added(people), {numbers[key] for key in never if key in numbers}

    @cache  # noqa: B019 (levels live as long as the program)
    def alike(self, other: Level) -> Mapping[int, int]:
        """The cell of another level that a cell lies within, for every cell that lies within one."""
        first, pairs = dict(zip(self.cell_of, other.cell_of)), set(zip(self.cell_of, other.cell_of))
        apart = {cell for cell, at in pairs if first[cell] != at}
        return {cell: at for cell, at in first.items() if cell not in apart}

    def added(self, values: Sequence[int]) -> list[int]:
        sums = [0] * self.count
        for cell, value in zip(self.cell_of, values):
            sums[cell] += value
        return sums


class Proof:  # the witnesses of one question, and the check of every cell
    def __init__(self, question: Question, roll: Roll, tables: Sequence[Table], target: Mapping[str, Any]) -> None:
        self.question, self.roll, self.target = question, roll, target
        self.tables = tables = [table for table in tables if question.name in table.printed]
        self.count, people = len(question.options), sum(roll.people)
        refuse(people != question.people, f"{ROLL}: has {people:,} people; the certificate says {question.people:,}")
        self.levels_of = [self._published(table) for table in tables]
        # What every witness must add up to, by option and cell; None where anything will do.
        self.facts = [(level.name, level, level.printed) for level in self.levels_of]
        self.witnesses, self.moves = list[Any](), list[Any]()  # columns by option; (witness, changes)
        self.ranges = list[tuple[str, list[int], int, int, int]]()  # axis, profiles, option, least and most

    def _published(self, table: Table) -> Level:  # its cells; a combination with people and no row is a finding
        codes = []
        for axis, group_of in zip(table.axes, table.group_of[self.question.name]):
            unknown = sorted(set(self.roll.column(axis)) - set(group_of))
            refuse(unknown, f"{table.name}: {axis} {unknown[:1]} is on the roll and in no group")
            codes.append([group_of[name] for name in self.roll.column(axis)])
        keys = list(zip(*codes)) if codes else [()] * len(self.roll.profiles)
        level, printed = Level(table.name, keys, self.roll.people), table.printed.get(self.question.name, {})
        absent = any((key, option) not in printed for key in set(keys) for option in range(self.count))
        refuse(absent, f"{table.name}: has no row for a group that has people on the roll")
        level.printed = [[printed[key, option] for key in dict.fromkeys(keys)] for option in range(self.count)]
        return level

    def add_witness(self, counts: Any, number: int) -> None:  # every option of the first profile, then the second
        size, name = len(self.roll.profiles) * self.count, f"{WITNESSES}: table {number}"
        wrong = len(expect(counts, list, name)) != size or any(type(each) is not int or each < 0 for each in counts)
        refuse(wrong, f"{name}: is not a list of {size:,} counts")
        columns = [counts[option :: self.count] for option in range(self.count)]
        wrong = any(sum(each) > people for each, people in zip(zip(*columns), self.roll.people))
        refuse(wrong, f"{name}: has more answers of some profile than the roll has people")
        for fact, level, printed in self.facts:
            sums = zip(printed, map(level.added, columns))
            met = all(count in (None, added) for wanted, own in sums for count, added in zip(wanted, own))
            refuse(not met, f"{name}: adds up to other counts than {fact}")
        self._check_ranges(columns, {}, name)
        self.witnesses.append(columns)

    def bound(self, stated: Any) -> None:  # ranges that a count of every witness lies in, as the rule asks
        for entry in (only(each, "axis group option least most", "beyond") for each in stated):
            axis, group = member(entry, "axis", str, "beyond"), set(texts(entry["group"], "beyond"))
            option, least, most = (member(entry, key, int, "beyond") for key in ("option", "least", "most"))
            refuse(not 0 <= option < self.count, "beyond: option: there is none of this number")
            inside = [profile for profile, name in enumerate(self.roll.column(axis)) if name in group]
            self.ranges.append((axis, inside, option, least, most))

    def _check_ranges(self, columns: Any, steps: Mapping[tuple[int, int], int], name: str) -> None:
        for axis, inside, option, least, most in self.ranges:
            count = sum(columns[option][profile] + steps.get((profile, option), 0) for profile in inside)
            refuse(not least <= count <= most, f"{name}: a count of {axis} is not beyond the limit")

    def fix(self, stated: Any) -> None:
        """Sums that all witnesses share with the first: answers with these sums lead the rule to this release."""
        for entry in (only(each, "axis groups", "fixed") for each in stated):
            axis, groups = member(entry, "axis", str, "fixed"), member(entry, "groups", list, "fixed")
            of = {name: number for number, group in enumerate(groups) for name in texts(group, "fixed")}
            keys = [of.get(name, -1) for name in self.roll.column(axis)]
            level, order = Level(axis, keys, self.roll.people), list(dict.fromkeys(keys))
            sums = [dict(zip(order, level.added(column))) for column in self.witnesses[0]]
            fixed = [[None if key == -1 else each[key] for key in order] for each in sums]
            self.facts.append((f"fixed {axis}", level, fixed))

    def add_move(self, stated: Any, number: int) -> None:  # changes of one witness that leave printed counts
        name = f"{WITNESSES}: move {number}"
        start, changes = member(only(stated, "from changes", name), "from", int, name), stated["changes"]
        refuse(not 0 <= start < len(self.witnesses), f"{name}: starts from no table")
        good = all(type(each) is list and [*map(type, each)] == [int] * 3 for each in expect(changes, list, name))
        refuse(not good, f"{name}: is not a list of changes")
        steps = {(profile, option): step for profile, option, step in changes}
        inside = all(0 <= profile < len(self.roll.profiles) and 0 <= option < self.count for profile, option in steps)
        wrong = not inside or len(steps) < len(changes)
        refuse(wrong, f"{name}: names a count that does not exist, or one twice")
        for profile in {profile for profile, _ in steps}:
            counts = [by[profile] + steps.get((profile, option), 0) for option, by in enumerate(self.witnesses[start])]
            wrong = min(counts) < 0 or sum(counts) > self.roll.people[profile]
            refuse(wrong, f"{name}: leaves a negative count, or more answers than people")
        for fact, level, printed in self.facts:
            sums: dict[tuple[int, int], int] = {}
            for (profile, option), step in steps.items():
                at = option, level.cell_of[profile]
                sums[at] = sums.get(at, 0) + step
            changed = any(step and printed[option][cell] is not None for (option, cell), step in sums.items())
            refuse(changed, f"{name}: changes a count of {fact}")
        self._check_ranges(self.witnesses[start], steps, name)
        self.moves.append((start, [[(at, n) for (at, o), n in steps.items() if o == i] for i in range(self.count)]))

    def levels(self, sets: Sequence[Sequence[str]]) -> Iterator[Level]:
        """Full profiles, sets of columns of the roll, published groups, and published groups two by two."""
        people, sensitive = self.roll.people, self.target["sensitive"]
        yield Level("full profiles", self.roll.profiles, people)
        refuse(set(sensitive) - set(self.roll.axes), f"{CERTIFICATE}: target: sensitive: is no column of the roll")
        for axes in proved_sets(sets, self.roll.axes):
            never = [(name,) for name in sensitive.get(axes[0], ())] if len(axes) == 1 else ()
            yield Level(" x ".join(axes), list(zip(*map(self.roll.column, axes))), people, never)
        yield from (level for table, level in zip(self.tables, self.levels_of) if table.axes)
        for one, other in combinations(zip(self.tables, self.levels_of), 2):
            if one[0].axes and other[0].axes and not set(one[0].axes) & set(other[0].axes):
                name, keys = f"{one[0].name} x {other[0].name}, as published", zip(one[1].cell_of, other[1].cell_of)
                yield Level(name, list(keys), people)

    def check_level(self, level: Level) -> list[int]:  # cells of counts that nothing shows within limits
        sums = [[level.added(column) for column in columns] for columns in self.witnesses]
        missing, kappa, tau = list[int](), self.target["kappa"], self.target["tau"]
        for options, share, ceiling in self.question.secrets:
            total, (least, most) = sum(self.question.totals[o] for o in options), self._range(level, sums, options)
            for cell, people in enumerate(level.people):
                low, high, limit = least[cell], most[cell], people * ceiling.numerator // ceiling.denominator
                near, never = min(tau, people // 4), cell in level.sensitive
                inside = low + near <= limit and people >= kappa  # every narrow interval around it is
                if share in (0, 1) or (low <= limit and (high - low > near or (not never and (low == 0 or inside)))):
                    continue
                # What the total and the roll say by themselves does not count.
                first, last = max(total - (self.question.people - people), 0), min(total, people)
                known = first > limit or (last - first <= near and (first >= 1 or never))
                known = known and not (people >= kappa and last <= limit and not never)
                if not known and not (people >= kappa and not never and self._printed(level, cell, options, limit)):
                    missing.append(cell)
        for option, fewest in self.question.least:  # 1 to fewest - 1 may not be known, but by total and roll
            total, (least, most) = self.question.totals[option], self._range(level, sums, [option])
            small = [(cell, n) for cell, n in enumerate(level.people) if 0 < least[cell] <= most[cell] < fewest]
            missing += [cell for cell, n in small if total <= self.question.people - n or min(total, n) >= fewest]
        return missing

    def _range(self, level: Level, sums: Sequence[Any], options: Sequence[int]) -> tuple[list[int], list[int]]:
        """Per cell the least and the most who chose within some options, over all witnesses and moves."""
        values = [[sum(each) for each in zip(*(by[option] for option in options))] for by in sums]
        least, most = [min(each) for each in zip(*values)], [max(each) for each in zip(*values)]
        for start, steps in self.moves:
            changed: dict[int, int] = {}
            for profile, step in (each for option in options for each in steps[option]):
                cell = level.cell_of[profile]
                changed[cell] = changed.get(cell, 0) + step
            for cell, step in changed.items():
                value = values[start][cell] + step
                least[cell], most[cell] = min(least[cell], value), max(most[cell], value)
        return least, most

    def _printed(self, level: Level, cell: int, options: Sequence[int], limit: int) -> bool:
        """Whether a table prints just this cell, with a count within the limit."""
        places = [(each.printed, each.people, level.alike(each).get(cell, -1)) for each in self.levels_of]
        alike = [(printed, at) for printed, people, at in places if at >= 0 and people[at] == level.people[cell]]
        counts: list[list[Any]] = [[printed[option][at] for option in options] for printed, at in alike]
        return any(None not in each and sum(each) <= limit for each in counts)


def check_auditors(stated: Any, auditors: Files, questions: list[Question], tables: list[Table], into: Result) -> None:
    """The witnesses in the folder for auditors prove the statement, for somebody who does not know the rule."""
    manifest, mark = check_hashes(auditors, "auditors/"), hashlib.sha256(auditors.get(MANIFEST, b"")).hexdigest()
    refuse(mark != stated["auditors"], "auditors: is not the folder that the certificate commits to")
    salt = member(only({"reason": "", **manifest}, "schema kind salt files reason", MANIFEST), "salt", str, MANIFEST)
    agree = same(manifest, {**manifest, "schema": SCHEMA, "kind": "auditors"}) and re.fullmatch("[0-9a-f]{64}", salt)
    refuse(not agree, f"auditors/{MANIFEST}: states something else, or has no salt")
    if WITNESSES not in auditors:
        into.unchecked.append(f"the statement: {member(manifest, 'reason', str, MANIFEST)}.")
        return
    facts, apart = ([each[key] for each in stated["onlookers"]] for key in ("facts", "roll"))
    beyond = stated["slack"] or stated["noise"] or stated["earlier"]["cycles"] or stated["unproved"] or any(facts)
    refuse(beyond, f"{WITNESSES}: says nothing about noise, facts, earlier releases or totals that disagree")
    refuse({*apart} != {"joint"}, f"{WITNESSES}: an onlooker does not know the joint roll, which it discloses")
    carried = only(parse_json(WITNESSES, auditors[WITNESSES]), "schema questions", WITNESSES)
    refuse(not same(carried["schema"], SCHEMA) or "reason" in manifest, f"{WITNESSES}: is of another schema")
    by_name = {member(each, "question", str, WITNESSES): each for each in member(carried, "questions", list, WITNESSES)}
    others = set(by_name) != {question.name for question in questions} or len(by_name) < len(carried["questions"])
    refuse(others, f"{WITNESSES}: is about other questions than the certificate")
    everybody = Roll(ROLL, auditors.get(ROLL, b"")).counted()
    for question in questions:
        held = only({"beyond": [], **by_name[question.name]}, "question roll tables moves fixed beyond", WITNESSES)
        name = member(held, "roll", str, WITNESSES)
        roll = Roll(name, auditors.get(name, b""))
        more = name != ROLL and any(people > everybody.get(each, 0) for each, people in roll.counted().items())
        refuse(more, f"{name}: has people who are not in {ROLL}")
        proof = Proof(question, roll, tables, stated["target"])
        proof.bound(member(held, "beyond", list, WITNESSES))
        for number, counts in enumerate(member(held, "tables", list, WITNESSES)):
            proof.add_witness(counts, number)
            if number == 0:
                proof.fix(member(held, "fixed", list, WITNESSES))
        refuse(not proof.witnesses, f"{WITNESSES}: holds no table")
        for number, move in enumerate(member(held, "moves", list, WITNESSES)):
            proof.add_move(move, number)
        for level in proof.levels(checked_sets(stated, proof.tables)):
            missing = proof.check_level(level)
            first = [level.keys[level.cell_of.index(cell)] for cell in missing[:1]]
            refuse(missing, f"{WITNESSES}: does not show {len(missing):,} counts within limits ({level.name} {first})")
            into.cells += level.count * (len(question.secrets) + len(question.least))
        into.tables += len(proof.witnesses)
        into.moves += len(proof.moves)
    into.is_proved = True


def check_page(page: bytes, tables: Sequence[Table], result: Result) -> None:
    """The page embeds the rows of all tables as data, and shows the same numbers in tables that end with a status."""
    text = decoded(PAGE, page)
    data = re.findall(r'(?s)<script[^>]*id="tables"[^>]*>(.*?)</script>', text)
    agree = len(data) == 1 and same(parse_json(PAGE, data[0].encode()), {each.name: each.rows for each in tables})
    refuse(not agree, f"{PAGE}: its block of data holds other numbers than the tables")
    bodies = [re.findall("(?s)<tr.*?</tr>", each) for each in re.findall("(?s)<table.*?</table>", text)]
    cells = [[re.findall("<t[dh][^>]*>([^<]*)</t[dh]>", row.replace("\xa0", " ")) for row in body] for body in bodies]
    shown = [rows[1:] for rows in cells if rows and rows[0][-3:] == ["option", "count", "status"]]
    cells = [[[f"{n:,}" if isinstance(n, int) else n or "" for n in row] for row in t.rows[:PAGE_ROWS]] for t in tables]
    printed = [[[cell.translate(HTML) for cell in row] for row in rows] for rows in cells]
    refuse(shown != printed, f"{PAGE}: shows other numbers than the tables")
    result.unchecked.append(PAGE_NOTE)


# 5. The signature: Ed25519 (RFC 8032) in the format of minisign, over the BLAKE2b hash of the manifest.
PRIME, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
CURVE = -121665 * pow(121666, PRIME - 2, PRIME) % PRIME


def _add(p: Any, q: Any) -> Any:  # the sum of two points of the curve, in extended coordinates (RFC 8032, 5.1.4)
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % PRIME, (p[1] + p[0]) * (q[1] + q[0]) % PRIME
    c, d = 2 * p[3] * q[3] * CURVE % PRIME, 2 * p[2] * q[2] % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME


def _times(number: int, point: Any) -> Any:
    rest = _times(number >> 1, _add(point, point)) if number > 1 else (0, 1, 1, 0)
    return _add(rest, point) if number & 1 else rest


def _point(encoded: bytes) -> Any:  # a point from its 32 bytes (RFC 8032, 5.1.3); None if there is no such point
    sign, y = divmod(int.from_bytes(encoded, "little"), 2**255)
    square = (y * y - 1) * pow(CURVE * y * y + 1, PRIME - 2, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if (x * x - square) % PRIME:
        x = x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
    if y >= PRIME or (x * x - square) % PRIME or (x == 0 and sign):
        return None
    x = PRIME - x if x & 1 != sign else x
    return x, y, 1, x * y % PRIME


def is_signed(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether an Ed25519 signature of 64 bytes is that of a message by a public key of 32 bytes."""
    base = _point((4 * pow(5, PRIME - 2, PRIME) % PRIME).to_bytes(32, "little"))
    key, start = _point(public), _point(signature[:32])
    number = int.from_bytes(signature[32:], "little")
    if base is None or key is None or start is None or number >= ORDER:
        return False
    mixed = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % ORDER
    left, right = _times(number, base), _add(start, _times(mixed, key))
    return not any((left[i] * right[2] - right[i] * left[2]) % PRIME for i in (0, 1))


def check_signature(files: Files, key: bytes | None) -> None:
    """The manifest is signed with this public key, if there is one, and so is the comment that says so."""
    if key is None:
        return
    lines = decoded("key", key).replace("\r\n", "\n").rstrip("\n").split("\n")
    public = _unpacked("key", lines[-1] if len(lines) in (1, 2) else "", 2 + 8 + 32)  # algorithm, id, key
    refuse(public[:2] != b"Ed", "key: is not a public key of minisign")
    refuse(not files.get(SIGNATURE), f"{SIGNATURE}: is missing or empty; nobody has signed {MANIFEST}")
    lines = decoded(SIGNATURE, files[SIGNATURE]).replace("\r\n", "\n").rstrip("\n").split("\n")
    refuse(len(lines) != 4 or lines[2][:17] != "trusted comment: ", f"{SIGNATURE}: is not a signature of minisign")
    mark, whole = _unpacked(SIGNATURE, lines[1], 2 + 8 + 64), _unpacked(SIGNATURE, lines[3], 64)
    refuse(mark[2:10] != public[2:10], f"{SIGNATURE}: was made with another key")
    refuse(mark[:2] != b"ED", f"{SIGNATURE}: signs in the old way of minisign, without a hash; sign again")
    comment, hashed = lines[2][17:], hashlib.blake2b(files[MANIFEST]).digest()
    signed = is_signed(public[10:], hashed, mark[10:]) and is_signed(public[10:], mark[10:] + comment.encode(), whole)
    refuse(not signed, f"{SIGNATURE}: does not sign {MANIFEST} as it is; one of them was changed")


def _unpacked(name: str, line: str, length: int) -> bytes:
    wrong = len(line) != 4 * ((length + 2) // 3) or not re.fullmatch("[A-Za-z0-9+/]+={0,2}", line)
    refuse(wrong or len(base64.b64decode(line)) != length, f"{name}: is not a file of minisign")
    return base64.b64decode(line)


def beside() -> Any:  # the file beside this one that checks suppression and finds what checks intervals, if it is there
    name = "safemargin_verify" if __name__ == "__main__" else __name__
    sys.modules.setdefault(name, sys.modules[__name__])  # which it uses
    sys.path += [os.path.dirname(os.path.abspath(__file__))] if __name__ == "__main__" else []
    return import_module(f"{name}_tables") if find_spec(f"{name}_tables") else None


def check(files: Files, auditors: Any = None, key: Any = None, roll: Any = None, more: Any = None) -> Result:
    """Check a published folder, with the folder for auditors if it is at hand; both as bytes by file name."""
    result = Result()
    try:
        manifest = check_hashes(files, "", SIGNATURE)
        result.files, kind = len(manifest["files"]), manifest.get("kind")
        result.unchecked += [KEY_NOTE] if key is None else []
        check_signature(files, key)
        if same(manifest.get("schema"), 1) and isinstance(kind, str) and kind != "release":  # of another command
            note = ALONE_NOTE if kind == SUPPRESSED and CERTIFICATE in files else KIND_NOTE.format(quoted([kind]))
            tables = beside() if note == ALONE_NOTE else None
            result.unchecked += [] if tables else [note]
            return tables.check_folder(manifest, files, more or {}, result) if tables else result
        refuse(more, "a release is checked as a whole: give its published folder, and no further files")
        certificate = check_files(files, manifest)
        questions, tables = check_certificate(certificate, files, result)
        check_page(files[PAGE], tables, result)
        if auditors is not None:
            check_auditors(certificate, auditors, questions, tables, result)
            if roll is not None:  # it may have an apostrophe before labels that a spreadsheet would run
                own, theirs = Roll("roll", roll), Roll(ROLL, auditors.get(ROLL, b"")).counted()
                agree = theirs in (own.counted(), own.counted(QUOTE))
                refuse(not agree, "roll: has other people than the one in the folder for auditors")
        notes = [  # what the files do not show, or what was not given
            (auditors is None, "the statement: it needs the folder `auditors`, for those who may hold it."),
            (certificate["rule"]["label"] == "rerun", RULE_NOTE),
            (certificate.get("figures"), FIGURES_NOTE),
            (certificate["noise"], "how the noise was drawn, and what noised counts disclose."),
            (certificate["slack"], "why totals disagree."),
            (certificate["earlier"]["cycles"], "what earlier releases add, and whether all of them are listed."),
            (True, "the counts themselves, the roll, and what onlookers know that is not stated."),
        ]
        result.unchecked += [note for applies, note in notes if applies]
        result.statement = statement(certificate, "not shown")
    except Finding as finding:
        result.failures.append(str(finding))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        result.failures.append(f"a file does not have the form that docs/certificate.md describes ({error!r:.80})")
    return result


def main(arguments: Sequence[str] | None = None) -> int:  # the command line
    parser = argparse.ArgumentParser(description="Check the certificate of a safemargin release.")
    parser.add_argument("published", help="folder `published`, or a certificate of intervals or of suppression")
    parser.add_argument("files", nargs="*", help="files that such a certificate is about, or folders with them")
    parser.add_argument("--auditors", help="folder `auditors` of the release")
    parser.add_argument("--roll", help="your own roll (CSV), to be compared with the one in the folder for auditors")
    parser.add_argument("--key", help="public key (minisign) with which the manifest must be signed")
    parser.add_argument("--files-only", action="store_true", help="exit with 0 if the files agree with each other")
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    said = parser.parse_args(arguments)
    try:
        key, roll = (open(each, "rb").read() if each else None for each in (said.key, said.roll))
        inside = os.path.join(said.published, "published")
        if os.path.isdir(inside) and not os.path.exists(os.path.join(said.published, MANIFEST)):
            parser.error(f"{said.published}: is the whole folder of the office; give {inside}")
        if said.files or os.path.isfile(said.published):
            result = beside().check_given(said.published, said.files, key) if beside() else Result()
            result.unchecked += [] if beside() else [ALONE_NOTE]
        else:
            auditors = read_folder(said.auditors) if said.auditors else None
            result = check(read_folder(said.published), auditors, key, roll)
    except Finding as finding:
        result = Result(str(finding))
    except OSError as error:
        print(f"{error.filename}: cannot be read ({error.strerror})", file=sys.stderr)
        return 2
    shown = "\n".join(re.sub(CONTROL, "?", line) for line in result.lines())
    print(json.dumps({"outcome": result.outcome, **vars(result)}, indent=2) if said.json else shown)
    return 0 if said.files_only and result.files and result.outcome == NOT_CHECKED else EXIT_CODES[result.outcome]


if __name__ == "__main__":
    sys.exit(main())

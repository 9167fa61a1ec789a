"""Check the certificate of a safemargin release: one file, the standard library, integers only.

    python safemargin_verify.py published --auditors auditors

A release prints counts of answers by group and states what nobody can infer from them; this program checks that. It
shares no code with the program that made the release; docs/certificate.md describes every file it reads.

Objects
    profile     one category per axis, with N > 0 people on the roll
    table       one published file: groups of categories of some axes, an option, a count or a gap
    witness     counts of every option in every profile that add up to every published count: answers that could be true
    move        changes of one witness that leave every published count: another witness
    secret      a set of options; its ceiling is the share of a group that may be inferred to have chosen within it
    cell        people with the same category on each of some axes, or in the same published group

Statement (docs/certificate.md, section 5)
    What an onlooker infers is true in every witness. Of a cell of N people, let a and b be the least and the most who
    chose within a secret, over all witnesses; t = min(tau, N // 4); m the largest number allowed. The cell is safe if
    a <= m and one of these holds: b - a > t; a = 0, not sensitive; N >= kappa, not sensitive, a + t <= m. A cell of
    kappa people that is printed with at most m is safe by what is printed.

Outcomes: holds (exit 0: everything in the printed statement was checked); fails (exit 1: findings say why); not checked
(exit 3: the files agree with each other, but the statement needs what was not given). A wrong call ends with 2.
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
from html import unescape
from itertools import combinations
from typing import Any

SCHEMA = 2
MANIFEST, CERTIFICATE, PAGE, SIGNATURE = "manifest.json", "certificate.json", "index.html", "manifest.json.minisig"
ROLL, WITNESSES = "roll.csv", "witnesses.json"
HOLDS, FAILS, NOT_CHECKED = "holds", "fails", "not checked"
EXIT_CODES = {HOLDS: 0, FAILS: 1, NOT_CHECKED: 3}
DEFAULTS: dict[str, Any] = {"beta": Fraction(1, 20), "kappa": 30, "tau": 3}
COUNTED, STATUSES = ("exact", "merged"), ("exact", "merged", "noised", "suppressed")
RESERVED = ("question", "option", "count", "status")
LARGEST = 2**30  # bytes of one file; a folder that somebody sends may hold anything
QUOTE = r"^'(?='*[=+@-])"  # before a label that a spreadsheet would run
Files = dict[str, bytes]


class Finding(Exception):
    """Something that is wrong, in one line that names the file."""


def refuse(wrong: bool, finding: str) -> None:
    if wrong:
        raise Finding(finding)


class Result:
    """What was found: failures, what was not checked, and the strongest statement that was."""

    def __init__(self, *failures: str) -> None:
        self.failures, self.unchecked, self.warnings = list(failures), list[str](), list[str]()
        self.statement, self.is_proved = "", False
        self.files = self.tables = self.moves = self.cells = 0

    @property
    def outcome(self) -> str:
        return FAILS if self.failures else HOLDS if self.is_proved else NOT_CHECKED

    def lines(self) -> Iterator[str]:
        why = " The files agree with each other; nothing shows the statement." if self.outcome == NOT_CHECKED else ""
        yield f"Outcome: {self.outcome}.{why}"
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
    refuse(os.path.islink(path) or not os.path.isdir(path), f"{path}: is not a folder")
    for name in sorted(os.listdir(path)):
        place = os.path.join(path, name)
        if os.path.islink(place) or not os.path.isfile(place):
            raise Finding(f"{name}: is a link or a folder; a folder of a release holds files only")
        refuse(os.path.getsize(place) > LARGEST, f"{name}: is larger than {LARGEST:,} bytes")
        with open(place, "rb") as file:
            files[name] = file.read()
    return files


def decoded(name: str, content: bytes) -> str:
    """The text of a file: UTF-8 without a byte order mark, which programs read in different ways."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise Finding(f"{name}: is not UTF-8") from None
    refuse("\ufeff" in text, f"{name}: has a byte order mark")
    return text


def parse_json(name: str, content: bytes) -> Any:
    """A JSON file in which nothing is said twice: of duplicate keys, two programs may read different ones."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        refuse(len(found) < len(pairs), f"{name}: has a key twice in one object")
        return found

    def constant(text: str) -> Any:
        raise Finding(f"{name}: has the number {text}")

    try:
        real = float if name == MANIFEST else constant  # every number that is checked is an integer
        return json.loads(decoded(name, content), object_pairs_hook=unique, parse_constant=constant, parse_float=real)
    except (ValueError, RecursionError):
        raise Finding(f"{name}: is not JSON") from None


def parse_csv(name: str, content: bytes) -> list[dict[str, Any]]:
    """The rows of a CSV file; an empty field is None."""
    try:
        lines = list(csv.reader(io.StringIO(decoded(name, content), newline=""), strict=True))
    except csv.Error:
        raise Finding(f"{name}: is not CSV") from None
    refuse(not lines or len(set(lines[0])) < len(lines[0]), f"{name}: has no columns, or two of one name")
    if any(len(line) != len(lines[0]) for line in lines):
        raise Finding(f"{name}: a row has more or fewer fields than there are columns")
    return [dict(zip(lines[0], (field or None for field in line))) for line in lines[1:]]


def expect(value: Any, kind: type, where: str) -> Any:
    """A value of a JSON file that must be of this kind; `True` is no integer."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise Finding(f"{where}: {str(value)[:60]!r} is not of the kind {kind.__name__}")
    return value


def member(holder: Any, key: str, kind: type, where: str) -> Any:
    """The value of a key that must be there."""
    refuse(key not in expect(holder, dict, where), f"{where}: has no {key!r}")
    return expect(holder[key], kind, f"{where}: {key}")


def texts(value: Any, where: str) -> list[str]:
    """A list of texts, none of them twice."""
    if len(set(expect(each, str, where) for each in expect(value, list, where))) < len(value):
        raise Finding(f"{where}: names something twice")
    return list(value)


def fraction(holder: Any, key: str, where: str) -> Fraction:
    """An exact number between 0 and 1, written as `numerator/denominator` in lowest terms."""
    text = member(holder, key, str, where)
    match = re.fullmatch(r"([0-9]{1,40})/([1-9][0-9]{0,39})", text)
    value = Fraction(int(match[1]), int(match[2])) if match else Fraction(-1)
    wrong = not 0 <= value <= 1 or written(value) != text
    refuse(wrong, f"{where}: {key}: {text[:60]!r} is no fraction between 0 and 1 in lowest terms")
    return value


def written(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


def check_hashes(files: Files, place: str, signature: str = "") -> dict[str, Any]:
    """The manifest of a folder that holds exactly the files it names, as they were hashed, and perhaps a signature."""
    refuse(MANIFEST not in files, f"{place}{MANIFEST}: is missing")
    manifest = parse_json(MANIFEST, files[MANIFEST])
    hashes: dict[str, str] = member(manifest, "files", dict, f"{place}{MANIFEST}")
    for name in sorted(set(hashes) ^ (set(files) - {MANIFEST, signature})):
        raise Finding(f"{place}{name}: only one of the folder and its manifest has this file")
    for name, mark in hashes.items():
        refuse(hashlib.sha256(files[name]).hexdigest() != mark, f"{place}{name}: its hash is not that of the manifest")
    return dict(manifest)


def check_files(files: Files, result: Result) -> dict[str, Any]:
    """The certificate of a published folder whose manifest names the same files and states the same."""
    manifest = check_hashes(files, "", SIGNATURE)
    refuse(CERTIFICATE not in files or PAGE not in files, f"{CERTIFICATE} or {PAGE}: is missing")
    certificate = parse_json(CERTIFICATE, files[CERTIFICATE])
    for key, value in (("schema", SCHEMA), ("kind", "release")):
        for name, document in ((MANIFEST, manifest), (CERTIFICATE, certificate)):
            refuse(expect(document, dict, name).get(key) != value, f"{name}: its {key} is not {value!r}")
    listed = [member(table, "files", dict, f"{CERTIFICATE}: tables") for table in certificate["tables"]]
    hashes = {name: mark for each in listed for name, mark in each.items()}
    others = {name: manifest["files"][name] for name in (CERTIFICATE, PAGE, *certificate.get("figures", ()))}
    same = {**hashes, **others} == manifest["files"] and len(hashes) == sum(map(len, listed))
    refuse(not same, f"{MANIFEST}: names other files or hashes than the certificate")
    target = member(manifest, "target", dict, MANIFEST)
    beta = written(Fraction(member(target, "beta", float, MANIFEST)).limit_denominator(10**9))
    stated = {"sensitive": {}, **manifest, **target, "beta": beta, "rule": {"label": manifest.get("rule")}}
    wanted = {**certificate, **certificate["target"]}
    for key in ("title", "statement", "auditors", "rule", "beta", "kappa", "tau", "sensitive"):
        refuse(stated.get(key) != wanted.get(key), f"{MANIFEST}: states another {key} than the certificate")
    result.files = len(manifest["files"])
    return dict(certificate)


# 2. The certificate: every field is checked against the tables, or against what it must follow from.
class Table:
    """One published table: which group every category falls in, and what is printed."""

    def __init__(self, stated: Any, files: Files, questions: Sequence[Question], result: Result) -> None:
        where = f"{CERTIFICATE}: tables"
        self.name = member(stated, "name", str, where)
        self.axes = texts(member(stated, "axes", list, where), where)
        refuse(bool(set(self.axes) & set(RESERVED)), f"{where}: an axis has the name of another column")
        groups = member(stated, "groups", list, where)
        refuse(len(groups) != len(self.axes), f"{where}: {self.name}: has groups of other axes")
        self.labels = [list(expect(each, dict, where)) for each in groups]
        self.numbers = [{label: number for number, label in enumerate(labels)} for labels in self.labels]
        self.members = [[texts(each[label], where) for label in each] for each in groups]
        for label, names in (pair for each in groups for pair in each.items()):
            wrong = len(names) == 0 or (len(names) == 1 and label != names[0])
            refuse(wrong, f"{where}: {self.name}: {label!r}: is the name of no group")
        # What is printed, by question: (groups, option) -> count, or None where there is a gap or noise.
        self.printed: dict[str, dict[tuple[tuple[int, ...], int], int | None]] = {}
        self.statuses: set[str] = set()
        self._read(stated["files"], files, questions, result)
        self.group_of = {name: self._groups(printed) for name, printed in self.printed.items()}

    def _groups(self, printed: Mapping[Any, Any]) -> list[dict[str, int]]:
        """Per axis the group of every category, of those that are printed for one question."""
        used = [sorted(set(codes)) for codes in zip(*(groups for groups, _ in printed))]
        pairs = [[(name, n) for n in numbers for name in each[n]] for each, numbers in zip(self.members, used)]
        refuse(any(len(dict(each)) < len(each) for each in pairs), f"{self.name}: a category is in two groups")
        return [dict(each) for each in pairs]

    def _read(self, names: Mapping[str, str], files: Files, questions: Sequence[Question], result: Result) -> None:
        known: dict[Any, Any] = {}
        for name in names:
            if not is_read(name):
                result.unchecked.append(FORMAT_NOTE.format(name))
                continue
            is_csv = name.endswith(".csv")
            rows = parse_csv(name, files[name]) if is_csv else expect(parse_json(name, files[name]), list, name)
            cells = self._cells(name, rows, questions)
            refuse(bool(known) and cells != known, f"{name}: prints other rows than the other formats of {self.name}")
            known = cells
        refuse(not known, f"{self.name}: no file of it is CSV or JSON")
        by_name = {question.name: question.options for question in questions}
        self.rows: list[list[Any]] = []  # as the page embeds them
        for (name, groups, option), (count, status) in known.items():
            self.statuses.add(status)
            self.printed.setdefault(name, {})[groups, option] = count if status in COUNTED else None
            labels = [*([name] if name else []), *(each[code] for each, code in zip(self.labels, groups))]
            self.rows.append([*labels, by_name[name][option], count, status])

    def _cells(self, name: str, rows: list[Any], questions: Sequence[Question]) -> dict[Any, Any]:
        many, by_name = [key for key in ["question"] if questions[0].name], {each.name: each for each in questions}
        columns, cells = [*many, *self.axes, "option", "count", "status"], dict[Any, Any]()
        for number, row in enumerate(rows, 1):
            where = f"{name}: row {number}"
            refuse(list(expect(row, dict, where)) != columns, f"{where}: has other columns than {', '.join(columns)}")
            question = by_name.get(row["question"] if many else questions[0].name)
            codes = tuple(self._code(numbers, row[axis]) for axis, numbers in zip(self.axes, self.numbers))
            option = self._code(question.numbers, row["option"]) if question else -1
            if question is None or option < 0 or -1 in codes:
                raise Finding(f"{where}: has a label or an option that the certificate does not list")
            key = (question.name, codes, option)
            refuse(key in cells, f"{where}: occurs twice")
            cells[key] = (_count(where, row["count"], row["status"]), row["status"])
        refuse(not cells, f"{name}: has no rows")
        return cells

    @staticmethod
    def _code(numbers: Mapping[Any, int], text: Any) -> int:
        """The number of a label; CSV may have an apostrophe before one that a spreadsheet would run."""
        return numbers.get(text, numbers.get(text[1:], -1) if isinstance(text, str) and text[:1] == "'" else -1)


def is_read(name: str) -> bool:  # other formats are hashed only
    return name.endswith((".csv", ".json")) and not name.endswith(".sdmx.csv")


def _count(where: str, count: Any, status: Any) -> int | None:
    """The count of a row, which its status must explain."""
    refuse(status not in STATUSES, f"{where}: its status is not one of {', '.join(STATUSES)}")
    if status == "suppressed":
        refuse(count is not None, f"{where}: has a count although it is suppressed")
        return None
    if isinstance(count, bool) or not re.fullmatch(r"-?[0-9]{1,18}", str(count)):
        raise Finding(f"{where}: its count {str(count)[:60]!r} is not an integer")
    refuse(int(count) < 0 and status != "noised", f"{where}: its count is negative")
    return int(count)


class Question:
    """One question: its options, and the secrets with their overall shares and ceilings."""

    def __init__(self, stated: Any, beta: Fraction) -> None:
        where = f"{CERTIFICATE}: questions"
        self.name = member(stated, "question", str, where)
        self.options = texts(member(stated, "options", list, where), where)
        self.numbers = {option: number for number, option in enumerate(self.options)}
        self.people = member(stated, "people", int, where)
        self.secrets: list[tuple[list[int], Fraction, Fraction]] = []
        seen = set()
        for secret in member(stated, "secrets", list, where):
            names = texts(member(secret, "options", list, where), where)
            if not names or not set(names) < set(self.options) or frozenset(names) in seen:
                raise Finding(f"{where}: a secret is no set of some options, or stands twice")
            seen.add(frozenset(names))
            share, ceiling = fraction(secret, "share", where), fraction(secret, "ceiling", where)
            if ceiling != 1 - min(beta, (1 - share) / 2):
                raise Finding(f"{where}: the ceiling of {' or '.join(names)} does not follow from beta and its share")
            self.secrets.append(([self.numbers[name] for name in names], share, ceiling))
        refuse(self.people < 0, f"{where}: has no people")

    def check_totals(self, total: Table) -> None:
        """Shares follow from the total that is published."""
        printed = [total.printed.get(self.name, {}).get(((), option)) for option in range(len(self.options))]
        self.totals = [count for count in printed if count is not None]
        refuse(len(self.totals) < len(self.options), f"{total.name}: does not print the total of every option")
        refuse(sum(self.totals) > self.people, f"{CERTIFICATE}: questions: there are fewer people than answers")
        for options, share, _ in self.secrets:
            if share != Fraction(sum(self.totals[option] for option in options), max(self.people, 1)):
                raise Finding(f"{CERTIFICATE}: questions: a share does not follow from the total")


def check_certificate(certificate: dict[str, Any], files: Files, result: Result) -> tuple[list[Question], list[Table]]:
    """The questions and tables of a certificate whose fields follow from each other and from the files."""
    target = member(certificate, "target", dict, CERTIFICATE)
    beta = fraction(target, "beta", "target")
    kappa, tau = member(target, "kappa", int, "target"), member(target, "tau", int, "target")
    refuse(not 0 < beta < Fraction(1, 2) or kappa < 1 or tau < 0, f"{CERTIFICATE}: target: is impossible")
    for axis, names in member(target, "sensitive", dict, "target").items():
        texts(names, f"target: sensitive: {axis}")
    questions = [Question(stated, beta) for stated in member(certificate, "questions", list, CERTIFICATE)]
    once = 0 < len(questions) == len({question.name for question in questions})
    refuse(not once, f"{CERTIFICATE}: questions: there is none, or one stands twice")
    tables = [Table(stated, files, questions, result) for stated in certificate["tables"]]
    total = [table for table in tables if not table.axes]
    if len(total) != 1 or len({tuple(sorted(table.axes)) for table in tables}) < len(tables):
        raise Finding(f"{CERTIFICATE}: tables: there must be one total, and one table of any set of axes")
    for question in questions:
        question.check_totals(total[0])
        for table in tables if not certificate["slack"] else ():
            printed, sums = table.printed.get(question.name, {}), [0] * len(question.options)
            for (_, option), count in printed.items():
                sums[option] += count or 0
            whole = table.statuses <= set(COUNTED) and bool(printed)  # then it is about everybody
            refuse(whole and sums != question.totals, f"{table.name}: adds up to another total")
    refuse(certificate["checked"] != checked_sets(certificate, tables), f"{CERTIFICATE}: checked: are other sets")
    onlookers, earlier = certificate["onlookers"], certificate["earlier"]
    fields = [[type(each[key]) for key in ("name", "roll", "facts", "earlier")] for each in onlookers]
    clear = all(each == [str, str, bool, bool] for each in fields) and all(len(each) == 4 for each in onlookers)
    clear = clear and {each["roll"] for each in onlookers} <= {"none", "sizes", "joint"}
    refuse(not clear or not onlookers, f"{CERTIFICATE}: onlookers: it is unclear what they know")
    kinds = [type(each) for each in (earlier["cycles"], *(certificate[key] for key in ("noise", "slack", "unproved")))]
    held = earlier["held"] in (("jointly", "group by group", "not") if earlier["cycles"] else ("not",))
    known = any(onlooker["earlier"] for onlooker in onlookers) == bool(earlier["cycles"]) >= earlier["net"]
    wrong = not held or not known or kinds != [list, list, int, int]
    refuse(wrong, f"{CERTIFICATE}: earlier: says otherwise than the onlookers, or something unknown")
    refuse(certificate["rule"] not in ({"label": "rerun"}, {"label": "not shown"}), f"{CERTIFICATE}: rule: is unknown")
    noised = {(table.axes[0], row[-4]) for table in tables for row in table.rows if row[-1] == "noised"}
    stated = {(group["axis"], group["group"]) for each in certificate["noise"] for group in each["posterior"]}
    clear = bool(noised) == any(stated or not each["omitted"] for each in certificate["noise"]) and stated <= noised
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


# 3. The statement: a function of the fields, so that nothing can be stated that is not a field, and no field twice.
RULE_SHOWN = (
    " This holds also for somebody who knows the rule by which groups are merged and axes omitted, and runs the "
    "program on all other answers that could have led to the same files."
)
RULE_NOT_SHOWN = (
    " The onlooker of this statement does not know the rule by which groups are merged and axes omitted: what somebody "
    "can infer who runs the program on other answers was not shown."
)
FORMAT_NOTE = "that {} prints the same as the other formats of its table."
FIGURES_NOTE = "that the files of derived figures follow from the tables."
RULE_NOTE = "that it holds for somebody who knows the rule; `safemargin verify --rerun` runs the rule on every table."


def statement(certificate: Mapping[str, Any], rule: str | None = None) -> str:
    """What a certificate states, in words; `rule` replaces its label where less was checked."""
    return "".join(_sentences(certificate, rule or certificate["rule"]["label"]))


def _sentences(certificate: Mapping[str, Any], rule: str) -> Iterator[str]:
    onlookers, target, earlier = certificate["onlookers"], certificate["target"], certificate["earlier"]
    many = len(onlookers) > 1
    names = ", ".join(repr(onlooker["name"]) for onlooker in onlookers)
    # The statement is about all onlookers together, so it names the most that any of them knows.
    rolls = {onlooker["roll"] for onlooker in onlookers}
    sizes = "how many people each group has" if "sizes" in rolls else "no sizes of groups"
    knows = "how many people there are of every kind" if "joint" in rolls else sizes
    s = "" if many else "s"
    if any(onlooker["facts"] for onlooker in onlookers):
        knows += f" and hold{s} facts of their own"
    if earlier["cycles"]:
        knows += f", and remember{s} the release of {' and '.join(earlier['cycles'])}"
        knows += f" and believe{s} that nobody who stayed changed their answer"
    claims: dict[tuple[str, str, str], list[str]] = {}
    for question in certificate["questions"]:
        claims.setdefault(_claim(question, target), []).append(question["question"])
    limits = "; ".join(f"({', '.join(of)}) " * (len(claims) > 1) + claim[0] for claim, of in claims.items())
    counts = max(claim[1] for claim in claims)  # what is protected of every question
    tau, kappa = int(target["tau"]), int(target["kappa"])
    wide = f"to an interval no wider than {tau}" if tau else "exactly"
    near = wide + (" (in small groups: a quarter of their people)" if tau else "")
    yield (
        f"The onlooker{'s' if many else ''} {names}, who know{'' if many else 's'} {knows}, cannot infer that "
        f"{limits}. {counts} can be inferred {near} only for groups of {kappa:,} people or more that lie "
        f"within these limits, as all published groups do.{''.join(dict.fromkeys(claim[2] for claim in claims))}"
    )
    sensitive = [f"{axis} {name}" for axis, names in sorted(target["sensitive"].items()) for name in sorted(names)]
    if sensitive:
        more = f" and {len(sensitive) - 10:,} more" if len(sensitive) > 10 else ""
        yield f" The counts of {'; '.join(sensitive[:10])}{more}, which are sensitive, cannot be inferred {wide}."
    if certificate["noise"]:
        noise = " and ".join(each["epsilon"] for each in certificate["noise"])
        yield f" Noised counts of large groups are close to the true ones (noise of epsilon {noise})."
        for each in sorted((g for n in certificate["noise"] for g in n["posterior"]), key=lambda g: g["chance"])[-1:]:
            yield f" To somebody who takes all counts as equally probable, the probability that {each['axis']} "
            yield f"{each['group']} is beyond a limit is {each['chance']} (the draw of noised groups: {each['draw']})."
    if certificate["slack"]:
        yield f" Totals disagree: every published count may be off by {certificate['slack']:,}."
    if certificate["unproved"]:
        yield f" For {certificate['unproved']:,} counts only fractional tables show it, which is no proof."
    yield RULE_SHOWN if rule == "rerun" else RULE_NOT_SHOWN
    if earlier["cycles"]:
        yield " What the totals of all cycles disclose by themselves is not covered."
        held = {"jointly": "", "group by group": " Earlier releases were compared group by group, not all together."}
        yield held.get(earlier["held"], " Earlier releases were not held together with this one.")
        if earlier["net"]:
            yield " Between cycles only net changes of the roll are compared: if people of one kind came and others "
            yield "of it left at once, they are not covered."
    for question in certificate["questions"]:
        shares = {tuple(secret["options"]): Fraction(secret["share"]) for secret in question["secrets"]}
        nobody = [repr(option) for option in question["options"] if shares.get((option,)) == 0]
        where, people = f" ({question['question']})" if question["question"] else "", question["people"]
        yield f" The total says that nobody chose {' or '.join(nobody)}{where}." if nobody else ""
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
    beta, options = Fraction(target["beta"]), question["options"]
    low, high = f"{float(100 * beta):g} %", f"{float(100 * (1 - beta)):g} %"
    shares = {frozenset(each["options"]): Fraction(each["share"]) for each in question["secrets"]}
    every, singles = frozenset(options), [frozenset([option]) for option in options]
    above = [option for option in options if frozenset([option]) in shares]
    below = [option for option in options if every - {option} in shares]
    own = [each for each in shares if each not in singles and every - each not in singles]
    least = "".join(f", nor that 1 to {n - 1} chose {option!r}" for option, n in question["least"].items())
    excepted = ", options that nobody or everybody chose excepted" if {0, 1} & set(shares.values()) else ""
    if above == below == options and not own:
        rare = " (options that few or nearly all chose: within half of what the total leaves)"
        rare = rare if any(0 < 1 - share < 2 * beta for share in shares.values()) else ""
        text = f"fewer than {low} or more than {high} of any checked group chose an option{rare}{excepted}{least}"
        return text, "A count", ""
    few = any(0 < 1 - shares[each] < 2 * beta for each in singles if each in shares)
    rare = " (an option that nearly all chose: more than half of what the total leaves)" if few else ""
    which = "one option" if above == options else _or(above)
    text = f"more than {high} of any checked group chose {which}{rare}{excepted}"
    for each in own:  # a set and its complement are said together
        if every - each not in own or own.index(each) < own.index(every - each):
            text += f", nor that more than {high} chose {_or(option for option in options if option in each)}"
            text += f" or that fewer than {low} did" if every - each in shares else ""
    if below:
        text += f", nor that fewer than {low} chose {_or(below) if below != options else 'an option'}"
    free = [option for option in options if option not in (*above, *below, *question["least"])]
    listed = [f"that people chose {_or(free)}"] if free else []
    if below != options:
        small = f"and small counts in groups of {target['kappa']:,} people or more"
        small += ' (secrets = "both" asks for the first)'
        listed += ["that nobody chose an option", "that all chose among several", small]
    return text + least, "A count above 0 of these", f" Not protected: {', '.join(listed)}." if listed else ""


def _or(options: Iterable[str]) -> str:
    return " or ".join(map(repr, options))


# 4. The proof: witnesses add up to everything that is published, and leave every cell within the limits.
class Roll:
    """People by profile."""

    def __init__(self, name: str, content: bytes) -> None:
        rows = parse_csv(name, content)
        self.axes = [column for column in (rows[0] if rows else {}) if column != "people"]
        self.profiles: list[tuple[str, ...]] = []
        self.people: list[int] = []
        for row in rows:
            number = row.get("people") or ""
            if not re.fullmatch(r"[0-9]{1,18}", number) or None in row.values():
                raise Finding(f"{name}: a row has an empty label, or no number of people")
            if int(number):
                self.profiles.append(tuple(row[axis] for axis in self.axes))
                self.people.append(int(number))
        if not self.profiles or len(set(self.profiles)) < len(self.profiles):
            raise Finding(f"{name}: has no people, or a profile twice")

    def counted(self, quote: str = "") -> dict[Any, int]:  # in whatever order the file has its rows and columns
        plain = [[re.sub(quote, "", text) for text in profile] for profile in self.profiles]
        return {frozenset(zip(self.axes, each)): people for each, people in zip(plain, self.people)}

    def column(self, axis: str) -> list[str]:
        return [profile[self.axes.index(axis)] for profile in self.profiles]


class Level:
    """Cells that part the profiles: `cell_of` every profile, and the people of every cell."""

    def __init__(self, name: str, keys: Sequence[Any], people: Sequence[int], never: Iterable[Any] = ()) -> None:
        self.name, self.keys = name, keys
        numbers: dict[Any, int] = {}
        self.cell_of = [numbers.setdefault(key, len(numbers)) for key in keys]
        self.count = len(numbers)
        self.people = self.added(people)
        wanted = set(never)
        self.sensitive = {cell for key, cell in zip(keys, self.cell_of) if key in wanted} if wanted else set()

    def added(self, values: Sequence[int]) -> list[int]:
        sums = [0] * self.count
        for cell, value in zip(self.cell_of, values):
            sums[cell] += value
        return sums

    def sums(self, columns: Sequence[Sequence[int]]) -> dict[tuple[Any, int], int]:
        added = [self.added(column) for column in columns]
        cells = dict(zip(self.keys, self.cell_of))
        return {(key, option): by[cell] for option, by in enumerate(added) for key, cell in cells.items()}


class Proof:
    """The witnesses of one question, and the check of every cell."""

    def __init__(self, question: Question, roll: Roll, tables: Sequence[Table], target: Mapping[str, Any]) -> None:
        self.question, self.roll, self.target = question, roll, target
        self.tables = tables = [table for table in tables if question.name in table.printed]
        self.count = len(question.options)
        if sum(roll.people) != question.people:
            raise Finding(f"{ROLL}: has {sum(roll.people):,} people; the certificate says {question.people:,}")
        self.levels_of = [self._published(table) for table in tables]
        self.facts = [(table.name, level, table.printed[question.name]) for table, level in zip(tables, self.levels_of)]
        self.witnesses: list[list[list[int]]] = []
        self.moves: list[tuple[int, list[tuple[int, int, int]]]] = []

    def _published(self, table: Table) -> Level:
        """The cells of a published table; a combination that has people and no row is a finding."""
        codes = []
        for axis, group_of in zip(table.axes, table.group_of[self.question.name]):
            refuse(axis not in self.roll.axes, f"{ROLL}: has no column {axis}, which {table.name} has")
            unknown = next((name for name in self.roll.column(axis) if name not in group_of), None)
            refuse(unknown is not None, f"{table.name}: {axis} {unknown!r} is on the roll and in no group")
            codes.append([group_of[name] for name in self.roll.column(axis)])
        keys = list(zip(*codes)) if codes else [()] * len(self.roll.profiles)
        printed = table.printed.get(self.question.name, {})
        for key in dict.fromkeys(keys):
            if any((key, option) not in printed for option in range(self.count)):
                raise Finding(f"{table.name}: has no row for a group that has people on the roll")
        return Level(table.name, keys, self.roll.people)

    def add_witness(self, counts: Any, number: int) -> None:
        """A table, given as one list: every option of the first profile, then of the second."""
        size, name = len(self.roll.profiles) * self.count, f"{WITNESSES}: table {number}"
        if len(expect(counts, list, name)) != size or any(type(each) is not int or each < 0 for each in counts):
            raise Finding(f"{name}: is not a list of {size:,} counts")
        columns = [counts[option :: self.count] for option in range(self.count)]
        if any(sum(each) > people for each, people in zip(zip(*columns), self.roll.people)):
            raise Finding(f"{name}: has more answers of some profile than the roll has people")
        for fact, level, printed in self.facts:
            for (key, option), count in level.sums(columns).items():
                if printed[key, option] not in (None, count):
                    raise Finding(f"{name}: adds up to other counts than {fact}")
        self.witnesses.append(columns)

    def fix(self, stated: Any) -> None:
        """Sums that all witnesses share with the first: answers with these sums lead the rule to this release."""
        for entry in stated:
            axis, groups = member(entry, "axis", str, "fixed"), member(entry, "groups", list, "fixed")
            of = {name: number for number, group in enumerate(groups) for name in texts(group, "fixed")}
            refuse(axis not in self.roll.axes, f"{WITNESSES}: fixed: there is no axis {axis!r}")
            level = Level(axis, [of.get(name, -1) for name in self.roll.column(axis)], self.roll.people)
            sums = level.sums(self.witnesses[0])
            self.facts.append((f"fixed {axis}", level, {at: None if at[0] == -1 else sums[at] for at in sums}))

    def add_move(self, stated: Any, number: int) -> None:
        """Changes of some counts of one witness that leave every printed count as it is."""
        name = f"{WITNESSES}: move {number}"
        start, changes = member(stated, "from", int, name), member(stated, "changes", list, name)
        refuse(not 0 <= start < len(self.witnesses), f"{name}: starts from no table")
        steps: dict[tuple[int, int], int] = {}
        for change in changes:
            if not isinstance(change, list) or [type(each) for each in change] != [int] * 3:
                raise Finding(f"{name}: is not a list of changes")
            profile, option, step = change
            if not (0 <= profile < len(self.roll.profiles) and 0 <= option < self.count) or (profile, option) in steps:
                raise Finding(f"{name}: names a count that does not exist, or one twice")
            steps[profile, option] = step
        for profile in {profile for profile, _ in steps}:
            columns = enumerate(self.witnesses[start])
            counts = [column[profile] + steps.get((profile, option), 0) for option, column in columns]
            if min(counts) < 0 or sum(counts) > self.roll.people[profile]:
                raise Finding(f"{name}: leaves a negative count, or more answers than people")
        for fact, level, printed in self.facts:
            sums: dict[tuple[Any, int], int] = {}
            for (profile, option), step in steps.items():
                key = level.keys[profile], option
                sums[key] = sums.get(key, 0) + step
            refuse(any(n and printed[key] is not None for key, n in sums.items()), f"{name}: changes a count of {fact}")
        self.moves.append((start, [(profile, option, step) for (profile, option), step in steps.items() if step]))

    def levels(self, sets: Sequence[Sequence[str]]) -> Iterator[Level]:
        """Full profiles, the stated sets of axes, published groups, and published groups two by two."""
        people, sensitive = self.roll.people, self.target["sensitive"]
        yield Level("full profiles", self.roll.profiles, people)
        for axes in sets:
            columns = [self.roll.column(axis) for axis in axes]
            never = [(name,) for name in sensitive.get(axes[0], ())] if len(axes) == 1 else ()
            yield Level(" x ".join(axes), list(zip(*columns)), people, never)
        yield from (level for table, level in zip(self.tables, self.levels_of) if table.axes)
        for one, other in combinations(zip(self.tables, self.levels_of), 2):
            if one[0].axes and other[0].axes and not set(one[0].axes) & set(other[0].axes):
                keys = list(zip(one[1].cell_of, other[1].cell_of))
                yield Level(f"{one[0].name} x {other[0].name}, as published", keys, people)

    def check_level(self, level: Level) -> tuple[int, list[str]]:
        """How many counts of a level were checked, and those that nothing shows within the limits."""
        sums = [[level.added(column) for column in columns] for columns in self.witnesses]
        ranges = [self._range(level, sums, options) for options, _, _ in self.question.secrets]
        missing, kappa, tau = [], self.target["kappa"], self.target["tau"]
        for (options, share, ceiling), (least, most) in zip(self.question.secrets, ranges):
            total = sum(self.question.totals[option] for option in options)
            over, under = ceiling.numerator, ceiling.denominator
            for cell, people in enumerate(level.people):
                low, high, limit = least[cell], most[cell], people * over // under
                near, never = min(tau, people // 4), cell in level.sensitive
                inside = low + near <= limit and people >= kappa  # every narrow interval around it is
                if share in (0, 1) or (low <= limit and (high - low > near or (not never and (low == 0 or inside)))):
                    continue
                # What the total and the roll say by themselves does not count.
                first, last = max(total - (self.question.people - people), 0), min(total, people)
                known = first > limit or (last - first <= near and (first >= 1 or never))
                if known and not (people >= kappa and last <= limit and not never):
                    continue
                if people >= kappa and not never and self._printed(level, cell, options, limit):
                    continue
                names = " or ".join(self.question.options[option] for option in options)
                where = next(key for key, at in zip(level.keys, level.cell_of) if at == cell)
                missing.append(f"{level.name}, {where}: {names} ({people:,} people)")
        return level.count * len(self.question.secrets), missing

    def _range(self, level: Level, sums: Sequence[Any], options: Sequence[int]) -> tuple[list[int], list[int]]:
        """Per cell the least and the most who chose within some options, over all witnesses and moves."""
        values = [[sum(each) for each in zip(*(by[option] for option in options))] for by in sums]
        least, most = [min(each) for each in zip(*values)], [max(each) for each in zip(*values)]
        wanted, cell_of = set(options), level.cell_of
        for start, steps in self.moves:
            changed: dict[int, int] = {}
            for profile, option, step in steps:
                if option in wanted:
                    changed[cell_of[profile]] = changed.get(cell_of[profile], 0) + step
            for cell, step in changed.items():
                value = values[start][cell] + step
                least[cell], most[cell] = min(least[cell], value), max(most[cell], value)
        return least, most

    def _printed(self, level: Level, cell: int, options: Sequence[int], limit: int) -> bool:
        """Whether a table prints just this cell, with a count within the limit."""
        members = [profile for profile, at in enumerate(level.cell_of) if at == cell]
        for table, published in zip(self.tables, self.levels_of):
            key = published.keys[members[0]]
            same = all(published.keys[profile] == key for profile in members)
            if same and published.people[published.cell_of[members[0]]] == level.people[cell]:
                counts = [table.printed[self.question.name][key, option] for option in options]
                if None not in counts and sum(count or 0 for count in counts) <= limit:
                    return True
        return False


def check_auditors(stated: Any, auditors: Files, questions: list[Question], tables: list[Table], into: Result) -> None:
    """The witnesses in the folder for auditors prove the statement, for somebody who does not know the rule."""
    manifest = check_hashes(auditors, "auditors/")
    mark = hashlib.sha256(auditors[MANIFEST]).hexdigest()
    refuse(mark != stated["auditors"], "auditors: is not the folder that the certificate commits to")
    if WITNESSES not in auditors:
        into.unchecked.append(f"the statement: {member(manifest, 'reason', str, MANIFEST)}.")
        return
    if stated["slack"] or stated["noise"] or stated["earlier"]["cycles"] or stated["unproved"]:
        raise Finding(f"{WITNESSES}: says nothing about noise, earlier releases or totals that disagree")
    if not all(onlooker["roll"] == "joint" for onlooker in stated["onlookers"]):
        raise Finding(f"{WITNESSES}: an onlooker does not know the joint roll, which it discloses")
    carried = parse_json(WITNESSES, auditors[WITNESSES])
    by_name = {member(each, "question", str, WITNESSES): each for each in member(carried, "questions", list, WITNESSES)}
    refuse(set(by_name) != {each.name for each in questions}, f"{WITNESSES}: is about other questions")
    for question in questions:
        held = by_name[question.name]
        name = member(held, "roll", str, WITNESSES)
        refuse(name not in auditors, f"{WITNESSES}: there is no roll {name!r}")
        proof = Proof(question, Roll(name, auditors[name]), tables, stated["target"])
        for number, counts in enumerate(member(held, "tables", list, WITNESSES)):
            proof.add_witness(counts, number)
            if number == 0:
                proof.fix(member(held, "fixed", list, WITNESSES))
        refuse(not proof.witnesses, f"{WITNESSES}: holds no table")
        for number, move in enumerate(member(held, "moves", list, WITNESSES)):
            proof.add_move(move, number)
        for level in proof.levels(checked_sets(stated, proof.tables)):
            cells, missing = proof.check_level(level)
            into.cells += cells
            some = f"{len(missing):,} counts within the limits ({'; '.join(missing[:3])})"
            refuse(bool(missing), f"{WITNESSES}: does not show {some}")
        into.tables += len(proof.witnesses)
        into.moves += len(proof.moves)
    into.is_proved = True


def check_page(page: bytes, tables: Sequence[Table], result: Result) -> None:
    """The page embeds the rows of all tables as data, and shows the same numbers in tables that end with a status."""
    text, every = decoded(PAGE, page), re.DOTALL
    data = re.findall(r'<script[^>]*id="tables"[^>]*>(.*?)</script>', text, every)
    same = len(data) == 1 and parse_json(PAGE, data[0].encode()) == {table.name: table.rows for table in tables}
    refuse(not same, f"{PAGE}: its block of data holds other numbers than the tables")
    shown = []
    for body in re.findall(r"<table.*?</table>", text, every):
        rows = [re.findall(r"<t[dh].*?</t[dh]>", row, every) for row in re.findall(r"<tr.*?</tr>", body, every)]
        cells = [[unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in row[-3:]] for row in rows]
        if cells and cells[0] == ["option", "count", "status"]:
            shown.append([[option, count.replace(",", ""), status] for option, count, status in cells[1:]])
    printed = [[["" if cell is None else str(cell).strip() for cell in row[-3:]] for row in t.rows] for t in tables]
    refuse(shown != printed, f"{PAGE}: shows other numbers than the tables")
    result.unchecked.append(f"what {PAGE} shows beside the numbers of the tables; read the statement here.")


# 5. The signature: Ed25519 (RFC 8032) in the format of minisign, over the BLAKE2b hash of the manifest.
PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE = -121665 * pow(121666, PRIME - 2, PRIME) % PRIME
Point = tuple[int, int, int, int]


def _add(p: Point, q: Point) -> Point:
    """The sum of two points of the curve, in extended coordinates (RFC 8032, 5.1.4)."""
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % PRIME, (p[1] + p[0]) * (q[1] + q[0]) % PRIME
    c, d = 2 * p[3] * q[3] * CURVE % PRIME, 2 * p[2] * q[2] % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME


def _times(number: int, point: Point) -> Point:
    result = (0, 1, 1, 0)
    while number:
        if number & 1:
            result = _add(result, point)
        point, number = _add(point, point), number >> 1
    return result


def _point(encoded: bytes) -> Point | None:
    """A point from its 32 bytes (RFC 8032, 5.1.3); None if there is no such point."""
    y = int.from_bytes(encoded, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    if y >= PRIME:
        return None
    square = (y * y - 1) * pow(CURVE * y * y + 1, PRIME - 2, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if (x * x - square) % PRIME:
        x = x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
    if (x * x - square) % PRIME or (x == 0 and sign):
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


def check_signature(files: Files, key: bytes) -> None:
    """The manifest is signed with this public key, and so is the comment that says so."""
    lines = decoded("key", key).splitlines()
    public = _unpacked("key", lines[-1] if len(lines) in (1, 2) else "", 2 + 8 + 32)  # algorithm, id, key
    refuse(public[:2] != b"Ed", "key: is not a public key of minisign")
    refuse(not files.get(SIGNATURE), f"{SIGNATURE}: is missing or empty; nobody has signed {MANIFEST}")
    lines = decoded(SIGNATURE, files[SIGNATURE]).splitlines()
    trusted = "trusted comment: "
    refuse(len(lines) != 4 or not lines[2].startswith(trusted), f"{SIGNATURE}: is not a signature of minisign")
    mark, whole = _unpacked(SIGNATURE, lines[1], 2 + 8 + 64), _unpacked(SIGNATURE, lines[3], 64)
    refuse(mark[2:10] != public[2:10], f"{SIGNATURE}: was made with another key")
    refuse(mark[:2] != b"ED", f"{SIGNATURE}: signs in the old way of minisign, without a hash; sign again")
    comment, hashed = lines[2][len(trusted) :], hashlib.blake2b(files[MANIFEST]).digest()
    signed = is_signed(public[10:], hashed, mark[10:]) and is_signed(public[10:], mark[10:] + comment.encode(), whole)
    refuse(not signed, f"{SIGNATURE}: does not sign {MANIFEST} as it is; one of them was changed")


def _unpacked(name: str, line: str, length: int) -> bytes:
    try:
        content = base64.b64decode(line, validate=True)
    except ValueError:
        content = b""
    refuse(len(content) != length, f"{name}: is not a file of minisign")
    return content


def check(files: Files, auditors: Files | None = None, key: bytes | None = None, roll: bytes | None = None) -> Result:
    """Check a published folder, with the folder for auditors if it is at hand; both as bytes by file name."""
    result = Result()
    try:
        certificate = check_files(files, result)
        questions, tables = check_certificate(certificate, files, result)
        check_page(files[PAGE], tables, result)
        if key is not None:
            check_signature(files, key)
        if auditors is not None:
            check_auditors(certificate, auditors, questions, tables, result)
            if roll is not None:  # it may have an apostrophe before labels that a spreadsheet would run
                own, theirs = Roll("roll", roll), Roll(ROLL, auditors.get(ROLL, b"")).counted()
                same = theirs in (own.counted(), own.counted(QUOTE))
                refuse(not same, "roll: has other people than the one in the folder for auditors")
        notes = [  # what the files do not show, or what was not given
            (auditors is None, "the statement: it needs the folder `auditors`, for those who may hold it."),
            (key is None, "who made the files: without a signature and a key, they agree with each other at most."),
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


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Check the certificate of a safemargin release.")
    parser.add_argument("published", help="folder `published` of a release")
    parser.add_argument("--auditors", help="folder `auditors` of the release")
    parser.add_argument("--roll", help="your own roll (CSV), to be compared with the one in the folder for auditors")
    parser.add_argument("--key", help="public key (minisign) with which the manifest must be signed")
    parser.add_argument("--files-only", action="store_true", help="exit with 0 if the files agree with each other")
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    said = parser.parse_args(arguments)
    try:
        key, roll = (open(each, "rb").read() if each else None for each in (said.key, said.roll))
        folders = [read_folder(path) if path else None for path in (said.published, said.auditors)]
        result = check(folders[0] or {}, folders[1], key, roll)
    except Finding as finding:
        result = Result(str(finding))
    except OSError as error:
        print(f"{error.filename}: cannot be read ({error.strerror})", file=sys.stderr)
        return 2
    print(json.dumps({"outcome": result.outcome, **vars(result)}, indent=2) if said.json else "\n".join(result.lines()))
    return 0 if said.files_only and result.outcome == NOT_CHECKED else EXIT_CODES[result.outcome]


if __name__ == "__main__":
    sys.exit(main())

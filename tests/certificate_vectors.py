"""True certificates of every kind, and forgeries of them: the vectors on which every checker must agree.

True ones come from two sources: releases that the program makes of random cities (`released`), and folders that are
written here from the definition of the format alone, with several questions (`written`). A forgery is a true
certificate that somebody changed, who makes every hash anew (`resealed`) unless the hash is what is attacked.
"""

import base64
import copy
import csv
import hashlib
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from safemargin import Target, checker, release, sign
from safemargin.core import InputError, RefusedError, Secrets

Files = dict[str, bytes]
Document = dict[str, Any]
MANIFEST, CERTIFICATE, PAGE, WITNESSES = "manifest.json", "certificate.json", "index.html", "witnesses.json"
SIGNATURE = f"{MANIFEST}.minisig"


@dataclass(frozen=True)
class Vector:
    """Files that a checker is given, and what it must say; `why` argues where a change changes nothing claimed."""

    name: str
    published: Files
    auditors: Files | None
    outcome: str
    key: bytes | None = None
    roll: bytes | None = None
    why: str = ""

    def line(self) -> str:
        """The files as one line of JSON, for programs in other languages."""

        def packed(held: Files | None) -> dict[str, str] | None:
            return None if held is None else {name: base64.b64encode(each).decode() for name, each in held.items()}

        one = {
            name: each and base64.b64encode(each).decode() for name, each in (("key", self.key), ("roll", self.roll))
        }
        return json.dumps({"published": packed(self.published), "auditors": packed(self.auditors), **one})


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def folder(path: Path) -> Files:
    return {each.name: each.read_bytes() for each in sorted(path.iterdir())}


# True certificates


def city(rng: random.Random, options: list[str], axes: list[str]) -> list[Document]:
    """Random people: a row per profile and option that occurs."""
    sizes = {axis: rng.randint(2, 4) for axis in axes}
    lean = {axis: [rng.random() for _ in range(size)] for axis, size in sizes.items()}
    weights = [rng.uniform(0.2, 1) for _ in options]
    sharp = rng.choice([0.0, 0.3, 1.5])
    counts: dict[tuple[str, ...], int] = {}
    for profile in product(*(range(size) for size in sizes.values())):
        people = rng.choice([0, 1, 4, 15, 40, 90, 200])
        tilt = sum(lean[axis][code] for axis, code in zip(axes, profile, strict=True)) / len(axes)
        bent = [w * (1 + sharp * 8 * tilt if n == 0 else 1) for n, w in enumerate(weights)]
        for option in rng.choices(options, bent, k=people):
            key = (*(f"{axis}{code}" for axis, code in zip(axes, profile, strict=True)), option)
            counts[key] = counts.get(key, 0) + 1
    return [dict(zip((*axes, "v"), key, strict=True)) | {"n": n} for key, n in sorted(counts.items())]


SECRETS = (
    Secrets(),
    Secrets(default="both"),
    Secrets(options=(("b", "none"),)),
    Secrets(sets=(("a", "b"),)),
    Secrets(least=(("a", 5),)),
)
KNOWN: tuple[list[Document], ...] = (
    [],
    [{"name": "neighbour", "composition": "joint"}],
    [{"name": "O'Neil", "knows_rule": False}],
    [{"name": "reader", "composition": "sizes"}],
    [{"name": "a"}, {"name": "b"}],
)


def released(seed: int, place: Path) -> Vector | None:
    """A release of a random city; nothing if the program refuses it."""
    rng = random.Random(seed)
    options = ["a", "b", "c %", "d & <e>", 'f "g"'][: rng.randint(2, 5)]
    axes = ["x", "y", "2020"][: rng.choice([1, 2, 2, 2, 3])]
    secrets = rng.choice(SECRETS if len(options) > 2 else SECRETS[:1])
    sensitive = (("x", "x0"),) if axes and rng.random() < 0.15 else ()
    target = Target(
        beta=rng.choice([0.05, 0.05, 0.02, 1 / 16, 0.0123456789]),
        kappa=rng.choice([10, 20, 30, 1000]) if rng.random() < 0.9 else 5,
        tau=rng.choice([0, 1, 3, 3]),
        secrets=secrets,
        sensitive=sensitive,
    )
    more: Document = {"protect": rng.choice(["merge", "merge", "suppress", "noise"])}
    if len(axes) > 1 and rng.random() < 0.3:
        more["tables"] = {"margins": [axes[:2]]}
    if known := rng.choice(KNOWN):
        more["onlookers"] = known
    more["outputs"] = {"formats": rng.choice([["csv"], ["json"], ["csv", "json"], ["csv", "px", "parquet"]])}
    if rng.random() < 0.2:
        more["outputs"]["quote_formulas"] = True
    try:
        made = release(
            city(rng, options, axes),
            answer="v", count="n", by=axes, target=target, title=rng.choice(["", "Größe", "=1+1"]), **more,
        )  # fmt: skip
    except (RefusedError, InputError):
        return None
    made.write(place)
    auditors = folder(place / "auditors")
    return Vector(f"release {seed}", folder(place / "published"), auditors, expected(auditors))


def surveyed(seed: int, place: Path) -> Vector | None:
    """A release of two or three questions about the same people, some of whom skipped one."""
    rng = random.Random(seed)
    names, axes = ["pay", "hours", "plan"][: rng.randint(2, 3)], ["x", "y"]
    rows: dict[tuple[str, ...], int] = {}
    for _ in range(rng.choice([300, 900, 2000])):
        answers = [rng.choice(["good", "bad", "bad", "none"][: rng.randint(2, 4)]) for _ in names]
        answers = [answer if rng.random() < 0.95 else "" for answer in answers]
        key = (f"x{rng.randint(0, 3)}", f"y{min(rng.randint(0, 3), rng.randint(0, 3))}", *answers)
        rows[key] = rows.get(key, 0) + 1
    data = [dict(zip((*axes, *names), key, strict=True)) | {"n": n} for key, n in sorted(rows.items())]
    try:
        made = release(data, answers=names, count="n", by=axes, target=Target(kappa=rng.choice([10, 30])))
    except (RefusedError, InputError):
        return None
    made.write(place)
    auditors = folder(place / "auditors") if (place / "auditors").is_dir() else None
    return Vector(f"survey {seed}", folder(place / "published"), auditors, expected(auditors))


def expected(auditors: Files | None) -> str:
    """What a checker must say of a true certificate: witnesses show the statement, and nothing else does."""
    return "holds" if auditors is not None and WITNESSES in auditors else "not checked"


def written(seed: int) -> Vector:
    """A folder of one to three questions from the definition of the format: large groups, exact counts, two witnesses.

    Every profile has 2k people of whom k chose each of two options in the first witness; the second moves a few of them
    around every cycle of the table, which leaves each margin and makes every profile's interval wide.
    """
    rng = random.Random(seed)
    rows, columns = rng.randint(2, 5), 2 * rng.randint(1, 3)
    names = [f"r{i}" for i in range(rows)], [f"c{j}" for j in range(columns)]
    half, step, rows = rng.randint(40, 90), rng.randint(8, 20), rows + rows % 2
    names = [f"r{i}" for i in range(rows)], names[1]
    cells = list(product(range(rows), range(columns)))
    people = len(cells) * 2 * half
    questions = ["", "pay", "hours"][: rng.choice([1, 2, 3])]
    questions = questions if len(questions) == 1 else questions[1:] + ["plan's"][: len(questions) - 2]
    many = bool(questions[0])
    tables: list[Document] = []
    files: Files = {}
    page = ""
    shape = [("total", [], [()], people // 2), ("r", ["r"], [(i,) for i in range(rows)], columns * half)]
    shape += [("c", ["c"], [(j,) for j in range(columns)], rows * half)]
    data: Document = {}
    for name, axes, keys, count in shape:
        own = [names[0 if axis == "r" else 1] for axis in axes]
        listed = [
            [*([question] if many else []), *(own[a][code] for a, code in enumerate(key)), option, count, "exact"]
            for question in questions
            for key in keys
            for option in ("no", "yes")
        ]
        heads = [*(["question"] if many else []), *axes, "option", "count", "status"]
        text = "\n".join(",".join(map(str, line)) for line in [heads, *listed]) + "\n"
        files[f"{name}.csv"] = text.encode()
        files[f"{name}.json"] = json.dumps([dict(zip(heads, line, strict=True)) for line in listed]).encode()
        tables.append({"name": name, "axes": axes, "groups": [{label: [label] for label in labels} for labels in own]})
        tables[-1]["files"] = {each: sha(files[each]) for each in (f"{name}.csv", f"{name}.json")}
        data[name] = listed
        page += shown([heads, *listed])
    secret = [{"options": [option], "share": "1/2", "ceiling": "19/20"} for option in ("no", "yes")]
    stated = [
        {"question": name, "options": ["no", "yes"], "people": people, "secrets": secret, "least": {}}
        for name in questions
    ]
    certificate: Document = {
        "schema": 2, "kind": "release", "title": "T", "auditors": "", "slack": 0, "unproved": 0, "noise": [],
        "target": {"beta": "1/20", "kappa": 30, "tau": 3, "sensitive": {}},
        "onlookers": [{"name": "x", "roll": "joint", "facts": False, "earlier": False}],
        "questions": stated, "tables": tables, "checked": [["r", "c"], ["r"], ["c"]],
        "rule": {"label": "not shown"}, "earlier": {"cycles": [], "held": "not", "net": False},
    }  # fmt: skip
    certificate["statement"] = checker.statement(certificate)
    block = json.dumps(data).replace("<", "\\u003c")
    files[PAGE] = f'<main>{page}</main><script type="application/json" id="tables">{block}</script>'.encode()
    lines = [f"{names[0][i]},{names[1][j]},{2 * half}" for i, j in cells]
    roll = ("\n".join(["r,c,people", *lines]) + "\n").encode()
    moved = [[half - step * (-1) ** (i + j), half + step * (-1) ** (i + j)] for i, j in cells]
    proof = [
        {
            "question": name,
            "roll": "roll.csv",
            "tables": [[half] * (2 * len(cells)), sum(moved, [])],
            "moves": [{"from": 0, "changes": [[0, 0, 1], [0, 1, -1], [1, 0, -1], [1, 1, 1]]
                      + [[columns, 0, -1], [columns, 1, 1], [columns + 1, 0, 1], [columns + 1, 1, -1]]}],
            "fixed": [],
        }
        for name in questions
    ]  # fmt: skip
    auditors = {"roll.csv": roll, WITNESSES: json.dumps({"schema": 2, "questions": proof}).encode()}
    auditors[MANIFEST] = json.dumps(
        {"schema": 2, "kind": "auditors", "salt": sha(str(seed).encode()), "files": {}}
    ).encode()
    files[CERTIFICATE] = json.dumps(certificate).encode()
    manifest = {"schema": 2, "kind": "release", "target": {"beta": 0.05, "kappa": 30, "tau": 3}, "files": {}}
    files[MANIFEST] = json.dumps(manifest).encode()
    return resealed(Vector(f"written {seed}", files, auditors, "holds"))


def with_columns(vector: Vector, of: Callable[[str, str], list[str]], name: str, outcome: str) -> Vector:
    """A written folder whose roll has columns that no table has; `of` a row and a column, the first is sensitive."""
    auditors = dict(vector.auditors or {})
    head, *rows = auditors["roll.csv"].decode().splitlines()
    parts = [row.split(",") for row in rows]
    more = [of(r, c) for r, c, _ in parts]
    names = [f"z{number}" for number in range(len(more[0]))]
    lines = [",".join([r, c, *own, people]) for (r, c, people), own in zip(parts, more, strict=True)]
    auditors["roll.csv"] = "\n".join([",".join(["r,c", *names, "people"]), *lines, ""]).encode()
    target = {**loads(vector.published[CERTIFICATE])["target"], "sensitive": {"z0": [more[0][0]]}}
    return restated(replace(vector, auditors=auditors), name, outcome, target=target)


def column_vectors(vector: Vector) -> Iterator[Vector]:
    """What is known of a column that no table has: a sensitive group of it, and pairs with it, are checked."""
    yield with_columns(
        vector, lambda r, c: [f"z{(int(r[1:]) + int(c[1:])) % 2}"], "a column in no table", vector.outcome
    )
    yield with_columns(
        vector, lambda r, c: [f"as {r}"], "a sensitive group that a table prints by another name", "fails"
    )
    yield with_columns(
        vector,
        lambda r, c: [f"z{(int(r[1:]) + int(c[1:])) % 2}", f"as {r}", f"as {c}"],
        "columns in no table, whose pairs are those of others",
        vector.outcome,
    )
    stated = {**loads(vector.published[CERTIFICATE])["target"], "sensitive": {"z": ["z0"]}}
    yield restated(vector, "a sensitive group of no column of the roll", "fails", target=stated)


def shown(rows: list[list[Any]]) -> str:
    """Rows as a page shows them."""
    text = [[f"{cell:,}" if isinstance(cell, int) else str(cell).replace("'", "&#39;") for cell in row] for row in rows]
    lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in text]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def signed(vector: Vector, place: Path) -> Vector:
    """The same with a signature, and the key to check it with."""
    keys = place / "k", place / "k.pub"
    if not keys[0].exists():
        sign(key=keys[0], new=True)
    out = place / vector.name
    out.mkdir()
    for name, content in vector.published.items():
        (out / name).write_bytes(content)
    sign(out, key=keys[0])
    return replace(vector, name=f"{vector.name}, signed", published=folder(out), key=keys[1].read_bytes())


# Forgeries


def loads(content: bytes) -> Any:
    return json.loads(content)


def resealed(vector: Vector) -> Vector:
    """Every hash made anew, and a manifest that repeats what the certificate states."""
    published, auditors = dict(vector.published), dict(vector.auditors or {})
    certificate, manifest = loads(published[CERTIFICATE]), loads(published[MANIFEST])
    if vector.auditors is not None:
        inner = loads(auditors[MANIFEST])
        if isinstance(inner, dict):
            inner["files"] = {name: sha(content) for name, content in auditors.items() if name != MANIFEST}
            auditors[MANIFEST] = json.dumps(inner).encode()
        certificate["auditors"] = manifest["auditors"] = sha(auditors[MANIFEST])
    for table in certificate["tables"] if isinstance(certificate.get("tables"), list) else []:
        if isinstance(table, dict) and isinstance(table.get("files"), dict):
            table["files"] = {n: sha(published[n]) if n in published else mark for n, mark in table["files"].items()}
    published[CERTIFICATE] = json.dumps(certificate).encode()
    manifest |= {key: certificate.get(key) for key in ("title", "statement")}
    target, rule = certificate.get("target"), certificate.get("rule")
    if isinstance(target, dict):
        manifest["target"] |= {key: target.get(key) for key in ("kappa", "tau", "sensitive")}
        try:
            manifest["target"]["beta"] = float(Fraction(target.get("beta")))
        except (TypeError, ValueError, ZeroDivisionError):
            manifest["target"]["beta"] = target.get("beta")
    manifest["rule"] = rule.get("label") if isinstance(rule, dict) else rule
    manifest["files"] = {name: sha(each) for name, each in published.items() if name not in (MANIFEST, SIGNATURE)}
    published[MANIFEST] = json.dumps(manifest).encode()
    return replace(vector, published=published, auditors=None if vector.auditors is None else auditors)


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from paths(child, (*path, key))


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value at a place; `...` removes it."""
    made = copy.deepcopy(document)
    holder = made
    for key in path[:-1]:
        holder = holder[key]
    if value is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return made


def others(value: Any, rng: random.Random) -> Any:
    """A value that somebody could put in place of another one, or nothing at all."""
    if isinstance(value, bool):
        return rng.choice([not value, int(value), None, ...])
    if isinstance(value, int):
        return rng.choice([value + 1, value - 1, -value - 1, float(value), str(value), True, None, 10**20, ...])
    if isinstance(value, str):
        return rng.choice([f"{value} ", f"x{value}", "" if value else "y", None, 1, "\ud800", ...])
    if isinstance(value, list):
        return rng.choice([value[:-1], [*value, *value[-1:]], None, {}] if value else [["x"], None, {}])
    if isinstance(value, float):
        return rng.choice([value * 2, -value, int(value), str(value), None, ...])
    return rng.choice([{}, None, [], {**(value or {}), "more": 1}] if value else [{"x": 1}, None, []])


def restated(vector: Vector, what: str, outcome: str, **fields: Any) -> Vector:
    """A certificate with other fields, whose statement is that of these fields."""
    stated = {**loads(vector.published[CERTIFICATE]), **fields}
    stated["statement"] = checker.statement(stated)
    made = replace(vector, published={**vector.published, CERTIFICATE: json.dumps(stated).encode()})
    return replace(resealed(made), name=f"{vector.name}: restated, {what}", outcome=outcome)


def restated_forgeries(vector: Vector) -> Iterator[Vector]:
    """Claims beyond what the witnesses show, in the words that follow from the forged fields."""
    stated = loads(vector.published[CERTIFICATE])
    one = stated["onlookers"][0]
    yield restated(vector, "facts", "fails", onlookers=[{**one, "facts": True}])
    yield restated(vector, "no joint roll", "fails", onlookers=[{**one, "roll": "sizes"}])
    yield restated(vector, "nobody looks on", "fails", onlookers=[])
    yield restated(vector, "earlier releases", "fails", onlookers=[{**one, "earlier": True}],
                   earlier={"cycles": ["2020"], "held": "jointly", "net": False})  # fmt: skip
    yield restated(vector, "earlier releases that nobody saw", "fails",
                   earlier={"cycles": ["2020"], "held": "jointly", "net": False})  # fmt: skip
    yield restated(vector, "noise that no count has", "fails", noise=[{"epsilon": "0", "posterior": [], "omitted": []}])
    yield restated(vector, "slack", "fails", slack=3)
    yield restated(vector, "unproved counts", "fails", unproved=3)
    question = stated["questions"][0]
    for place, secret in enumerate(question["secrets"]):
        more = {**secret, "share": "1/3"}
        secrets = [*question["secrets"][:place], more, *question["secrets"][place + 1 :]]
        yield restated(vector, f"another share {place}", "fails" if secret["share"] != "1/3" else vector.outcome,
                       questions=[{**question, "secrets": secrets}, *stated["questions"][1:]])  # fmt: skip
    target = stated["target"]
    everybody = str(question["people"] * 10)
    yield restated(
        vector, "a wider interval than there are people", "fails or holds", target={**target, "tau": int(everybody)}
    )
    weaker = replace(restated(vector, "a weaker kappa", vector.outcome, target={**target, "kappa": 1}),
                     why="groups of one person may be printed within the limits: less is claimed")  # fmt: skip
    yield replace(weaker, outcome=f"fails or {vector.outcome}")


FREE = {
    "title": "a title claims nothing",
    "auditors": "it is made anew with every hash",
    "files": "they are made anew with every hash",
}
WHY_RULE = "`rule.json` is read by --rerun only, and the printed statement has an onlooker who does not know the rule"


def field_forgeries(vector: Vector, rng: random.Random, count: int) -> Iterator[Vector]:
    """Other values at random places of the certificate, the witnesses and both manifests, with every hash made anew."""
    held = {CERTIFICATE: vector.published}
    if vector.auditors is not None:
        held |= {f"auditors/{name}": vector.auditors for name in (WITNESSES, MANIFEST) if name in vector.auditors}
    for number in range(count):
        name = rng.choice(list(held))
        short = name.removeprefix("auditors/")
        document = loads(held[name][short])
        path = rng.choice([path for path in paths(document) if path and not set(path[:1]) & {"auditors", "files"}])
        if path[:3:2] == ("tables", "files") and name == CERTIFICATE:
            continue
        value = document
        for key in path:
            value = value[key]
        put = others(value, rng)
        if put is not ... and json.dumps(put) == json.dumps(value):
            continue
        why = argued(name, path, put, document)
        forged = {**held[name], short: json.dumps(changed(document, path, put)).encode()}
        made = replace(vector, published=forged) if name == CERTIFICATE else replace(vector, auditors=forged)
        said = f"{vector.name}: {name} {'.'.join(map(str, path))} = {put!r:.30} ({number})"
        yield replace(
            resealed(made), name=said, why=why, outcome=vector.outcome if why else outcomes(name, path, put, vector)
        )


def argued(name: str, path: tuple[Any, ...], put: Any, document: Document) -> str:
    """Why a change is none of what is claimed; empty if it must be refused."""
    if path == ("title",) and isinstance(put, str) and name == CERTIFICATE:
        return FREE["title"]
    if name == f"auditors/{MANIFEST}" and path == ("reason",) and isinstance(put, str):
        return "a reason is shown, and shows nothing"
    if name == f"auditors/{WITNESSES}" and path[2:] in (("tables",), ("moves",)) and isinstance(put, list):
        before = document["questions"][path[1]][path[2]]
        return "the same again shows what it showed" if len(put) > len(before) > 0 else ""
    return ""


def outcomes(name: str, path: tuple[Any, ...], put: Any, vector: Vector) -> str:
    """Outcomes that a change allows: where witnesses are omitted, the others may show the statement or not."""
    less = put is ... or (isinstance(put, list) and len(path) == 3)
    of_proof = name == f"auditors/{WITNESSES}" and path[2:3] in (("tables",), ("moves",), ("fixed",))
    if of_proof and less and (len(path) == 4 or path[2:3] == path[2:]) and (put is not ... or len(path) == 4):
        return f"fails or {vector.outcome}"
    if name == f"auditors/{WITNESSES}" and "fixed" in path and len(path) > 3:
        return f"fails or {vector.outcome}"  # other sums that all witnesses happen to share
    return "fails"


def file_forgeries(vector: Vector, other: Vector) -> Iterator[Vector]:
    """Moved, added, removed and exchanged files; texts that two programs may read in two ways."""
    published, auditors, name = vector.published, vector.auditors, vector.name
    named = [each for table in loads(published[CERTIFICATE])["tables"] for each in table["files"]]
    table = next((each for each in named if each.endswith(".csv") and not each.endswith(".sdmx.csv")), "")
    if not table:  # in other formats only: those of the next vector are attacked
        return

    def forged(what: str, files: Files, seal: bool = True, why: str = "", **more: Any) -> Vector:
        made = replace(vector, published=files, **more)
        made = resealed(made) if seal else made
        return replace(made, name=f"{name}: {what}", outcome=vector.outcome if why else "fails", why=why)

    text = published[table].decode()
    head, *rows = text.splitlines()
    for what, content in {
        "two columns of counts": "\n".join([f"{head},count", *(f"{row},1" for row in rows)]) + "\n",
        "a byte order mark": "\ufeff" + text,
        "a byte order mark inside": text.replace(rows[0], "\ufeff" + rows[0], 1),
        "a row twice": "\n".join([head, *rows, rows[-1]]) + "\n",
        "a row less": "\n".join([head, *rows[:-1]]) + "\n",
        "an empty line": text + "\n",
        "a quote that does not end": text + '"',
        "another status": text.replace("exact", "Exact", 1) if "exact" in text else text.replace("e", "E"),
        "a column less": "\n".join(line.rpartition(",")[0] for line in [head, *rows]) + "\n",
        "a character 0": text.replace(rows[0], rows[0] + "\0", 1),
        "a label in Latin-1": None,
    }.items():
        content_bytes = b"\xe4" + text.encode() if content is None else content.encode()
        yield forged(f"{table} with {what}", {**published, table: content_bytes})
    numbers = [place for place, row in enumerate(rows) if row.split(",")[-2].isdigit()]
    for place in numbers[:2]:
        parts = rows[place].split(",")
        for put in (str(int(parts[-2]) + 1), f"-{parts[-2]}", f"{parts[-2]}.0", "", f"+{parts[-2]}", "1" * 16):
            line = ",".join([*parts[:-2], put, parts[-1]])
            changed_text = "\n".join([head, *rows[:place], line, *rows[place + 1 :]]) + "\n"
            yield forged(f"{table} row {place} with {put!r}", {**published, table: changed_text.encode()})
    for mine in (CERTIFICATE, MANIFEST):
        plain = published[mine].decode()
        for what, content_text in {
            "a key twice": plain.replace('"schema"', '"kind": "release", "schema"', 1),
            "a number that is none": plain.replace(": 2", ": NaN", 1),
            "an infinite number": plain.replace(": 2", ": Infinity", 1),
            "a byte order mark": "\ufeff" + plain,
            "something behind": plain + "x",
            "a comment": plain.replace("{", "{ /* */", 1),
            "a comma too many": plain.rstrip()[:-1] + ",}",
            "another schema": plain.replace('"schema": 2', '"schema": 1', 1),
            "a schema with a point": plain.replace('"schema": 2', '"schema": 2.0', 1),
            "nothing": "",
            "a list": "[]",
            "deep brackets": plain.rstrip()[:-1] + ', "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
        }.items():
            files = {**published, mine: content_text.encode()}
            if mine == CERTIFICATE:
                manifest = loads(published[MANIFEST])
                manifest["files"][CERTIFICATE] = sha(files[CERTIFICATE])
                files[MANIFEST] = json.dumps(manifest).encode()
            yield forged(f"{mine} with {what}", files, seal=False)
    page = published[PAGE].decode()
    shown_count = next(row[-2] for rows_ in page_data(page).values() for row in rows_ if isinstance(row[-2], int))
    # The rows of the files; cross tables and pictures before them are what a page shows beside the tables.
    listed = max(page.find('data-label="option"'), 0)
    for what, content_text in {
        "another number": page[:listed] + page[listed:].replace(f">{shown_count:,}<", f">{shown_count + 1:,}<", 1),
        "other data": page.replace(f", {shown_count}, ", f", {shown_count + 1}, ", 1),
        "no data": page.replace('id="tables"', 'id="data"'),
        "data twice": page.replace("</main>", '<script id="tables">{}</script></main>'),
        "a table more": page.replace("</main>", shown([["option", "count", "status"], ["x", 1, "exact"]]) + "</main>"),
        "no tables": page.replace("<tr", "<div"),
    }.items():
        yield forged(f"page with {what}", {**published, PAGE: content_text.encode()})
    yield forged("page with another title", {**published, PAGE: page.replace("</main>", "<p>x</p></main>").encode()},
                 why="what a page shows beside the tables is listed as not checked")  # fmt: skip
    yield forged("a file more", {**published, "more.csv": b"x"}, seal=False)
    yield forged("a hidden file", {**published, ".x": b""}, seal=False)
    yield forged("a file more, named", {**published, "more.csv": b"x"})
    yield forged("a file more, in a folder", {**published, "published/site.csv": b"x"}, seal=False)
    for gone in (table, CERTIFICATE, MANIFEST, PAGE):
        yield forged(f"without {gone}", {n: c for n, c in published.items() if n != gone}, seal=False)
    for gone in (table, PAGE):
        yield forged(f"without {gone}, named nowhere", {n: c for n, c in published.items() if n != gone})
    for mine in (table, CERTIFICATE, MANIFEST, PAGE):
        if mine in other.published and other.published[mine] != published[mine]:
            yield forged(f"{mine} of another release", {**published, mine: other.published[mine]}, seal=False)
            if mine != MANIFEST:
                yield forged(f"{mine} of another release, sealed", {**published, mine: other.published[mine]})
    if auditors is not None:
        yield forged("auditors of another release", published, seal=False, auditors=other.auditors)
        yield forged("auditors without a manifest", published, seal=False,
                     auditors={n: c for n, c in auditors.items() if n != MANIFEST})  # fmt: skip
        yield forged("auditors with a file more", published, seal=False, auditors={**auditors, "x": b""})
        short = {n: c for n, c in loads(auditors[MANIFEST]).items() if n != "salt"}
        yield forged("auditors without salt", published, auditors={**auditors, MANIFEST: json.dumps(short).encode()})
    if auditors is not None and WITNESSES in auditors:
        yield from proof_forgeries(vector, other)
        yield from restated_forgeries(vector)


def page_data(page: str) -> Document:
    found: Document = json.loads(page.split('id="tables">')[1].split("</script>")[0])
    return found


def proof_forgeries(vector: Vector, other: Vector) -> Iterator[Vector]:
    """Wrong rolls and wrong witnesses, with every hash made anew."""
    auditors = vector.auditors
    assert auditors is not None
    name = loads(auditors[WITNESSES])["questions"][0]["roll"]
    roll = auditors[name].decode()
    head, *rows = roll.splitlines()
    labels, _, people = rows[0].rpartition(",")

    def forged(what: str, files: Files, why: str = "", **more: Any) -> Vector:
        made = resealed(replace(vector, auditors=files, **more))
        return replace(made, name=f"{vector.name}: {what}", outcome=vector.outcome if why else "fails", why=why)

    for what, content in {
        "a person more": "\n".join([head, f"{labels},{int(people) + 1}", *rows[1:]]) + "\n",
        "a profile more": "\n".join([head, *rows, rows[0].replace(",", "x,", 1)]) + "\n",
        "a profile less": "\n".join([head, *rows[1:]]) + "\n",
        "a profile twice": "\n".join([head, *rows, rows[0]]) + "\n",
        "no people": head + "\n",
        "a negative number": "\n".join([head, f"{labels},-{people}", *rows[1:]]) + "\n",
        "another column": roll.replace("people", "count", 1),
        "a column twice": "\n".join([f"people,{head}", *(f"1,{row}" for row in rows)]) + "\n",
    }.items():
        yield forged(f"roll with {what}", {**auditors, name: content.encode()})
    if len(rows) > 1 and rows[0].rpartition(",")[2] != rows[-1].rpartition(",")[2]:
        swapped = [rows[-1].rpartition(",")[0] + "," + people, *rows[1:-1], labels + "," + rows[-1].rpartition(",")[2]]
        other = forged(
            "people of two profiles exchanged", {**auditors, name: ("\n".join([head, *swapped]) + "\n").encode()}
        )
        yield replace(other, outcome="fails or holds", why="a roll that fits every table and witness proves as much")
    zero = "\n".join([head, *rows, ",".join(["zz"] * head.count(",") + ["0"])]) + "\n"
    yield forged("roll with nobody more", {**auditors, name: zero.encode()}, why="rows with 0 people do not count")
    if "rule.json" in auditors:
        yield forged("another rule", {**auditors, "rule.json": b"{}"}, why=WHY_RULE)
    proof = loads(auditors[WITNESSES])
    tables = proof["questions"][0]["tables"]

    def proofs(what: str, tables_: Any, why: str = "", **more: Any) -> Vector:
        made = copy.deepcopy(proof)
        made["questions"][0] |= {"tables": tables_, **more}
        return forged(what, {**auditors, WITNESSES: json.dumps(made).encode()}, why)

    options = len(loads(vector.published[CERTIFICATE])["questions"][0]["options"])
    for place in range(0, len(tables[0]), max(1, len(tables[0]) // 4)):
        for step in (1, -1):
            yield proofs(
                f"witness {place} {step:+}", [[n + step * (i == place) for i, n in enumerate(tables[0])], *tables[1:]]
            )
    yield proofs("no witness", [])
    yield proofs("a witness as an object", [{str(i): n for i, n in enumerate(tables[0])}])
    yield proofs("a witness that is too short", [tables[0][:-1], *tables[1:]])
    yield proofs("a move of an option that does not exist", tables, moves=[{"from": 0, "changes": [[0, options, 1]]}])
    yield proofs("a move from nowhere", tables, moves=[{"from": len(tables), "changes": []}])
    yield proofs("a move that changes a total", tables, moves=[{"from": 0, "changes": [[0, 0, 1]]}])
    yield proofs("a move that names a count twice", tables,
                 moves=[{"from": 0, "changes": [[0, 0, 1], [0, 0, -1]]}])  # fmt: skip
    axis, label = head.split(",")[0], next(csv.reader(rows))[0]
    span = {"axis": axis, "group": [label], "option": 0, "least": 0, "most": 10**9}
    yield proofs("a range that every count lies in", tables, why="it asks for nothing", beyond=[span])
    for what, wrong in {
        "a range that no count lies in": {**span, "least": 10**9},
        "a range of an option that does not exist": {**span, "option": options},
        "a range of no column": {**span, "axis": "no such axis"},
        "a range of a label twice": {**span, "group": [label, label]},
        "a range with another key": {**span, "more": 1},
        "a range of a fraction": {**span, "least": 0.0},
        "a range that is true": {**span, "most": True},
    }.items():
        yield proofs(what, tables, beyond=[wrong])
    yield proofs("a range of nobody", tables, beyond=[{**span, "group": [], "least": 1}])
    moves = proof["questions"][0]["moves"]
    yield proofs("a move that changes nothing", tables, why="the empty move is its witness again",
                 moves=[*moves, {"from": 0, "changes": []}])  # fmt: skip
    yield proofs("a witness twice", [*tables, tables[-1]], why="the same table again shows what it showed")
    true = "holds" if len(tables) == 1 and not moves else "fails"
    if true == "fails" and options > 1:
        alone = replace(proofs("one witness alone", tables[:1], moves=[], fixed=[]), outcome="fails or holds")
        yield alone
    if name != "roll.csv":
        return
    own = replace(vector, roll=auditors["roll.csv"], name=f"{vector.name}: one's own roll", why="the same roll")
    yield own
    wrong = "\n".join([head, f"{labels},{int(people) + 1}", *rows[1:]]) + "\n"
    yield replace(own, roll=wrong.encode(), name=f"{vector.name}: another roll of one's own", outcome="fails", why="")
    yield replace(
        own, roll="\n".join([head, *rows[::-1]]).encode(), name=f"{vector.name}: the same roll in another order"
    )


def signature_forgeries(vector: Vector, stranger: bytes) -> Iterator[Vector]:
    """A signed folder whose signature is removed, emptied, changed, or made with another key."""
    mark = vector.published[SIGNATURE].decode().splitlines()

    def forged(what: str, content: bytes | None, **more: Any) -> Vector:
        files = {name: each for name, each in vector.published.items() if name != SIGNATURE}
        files |= {} if content is None else {SIGNATURE: content}
        return replace(vector, name=f"{vector.name}: {what}", published=files, outcome="fails", **more)

    def flipped(line: str) -> str:
        raw = bytearray(base64.b64decode(line))
        raw[-1] ^= 1
        return base64.b64encode(raw).decode()

    lines = {
        "signature of other bytes": [mark[0], flipped(mark[1]), *mark[2:]],
        "another comment": [*mark[:2], mark[2] + "x", mark[3]],
        "another signature of the comment": [*mark[:3], flipped(mark[3])],
        "a line more": [*mark, "x"],
        "no base64": [mark[0], "!" + mark[1][1:], *mark[2:]],
    }
    for what, each in lines.items():
        yield forged(what, ("\n".join(each) + "\n").encode())
    yield forged("no signature", None)
    yield forged("an empty signature", b"")
    yield forged("another key", vector.published[SIGNATURE], key=stranger)
    yield forged("a key that is none", vector.published[SIGNATURE], key=b"x")
    other = resealed(replace(vector, published={**vector.published}))
    yield replace(other, name=f"{vector.name}: another manifest under the signature", outcome="fails")

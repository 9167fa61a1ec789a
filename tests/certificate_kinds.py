"""Certificates of suppression and of intervals, true and forged: vectors for every program that checks them.

True ones come from the program, of random people; a forgery changes a field, a file or the folder, and makes every
hash and seal anew, as a forger would.
"""

import base64
import csv
import io
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import certificate_vectors as vectors
from cases import situation
from certificate_vectors import Files, folder, loads, others, paths, sha
from safemargin import RefusedError, checker, checker_tables, suppress
from safemargin.bounds import SourceFile, digest, infer, prove_intervals
from safemargin.core import UNBOUNDED, ContradictionError, InputError, MismatchError, Onlooker, PublishedTable, Target
from safemargin.io import hash_file, read_tidy

CERTIFICATE, MANIFEST = "certificate.json", "manifest.json"


@dataclass(frozen=True)
class Kind:
    """What a checker is given: a certificate alone with its files, or a published folder and what was out before."""

    name: str
    kind: str
    files: Files
    certificate: Any = None
    """The certificate, where it is no part of the folder."""
    more: Files = field(default_factory=dict)
    outcome: str = "holds"
    why: str = ""

    @property
    def stated(self) -> Any:
        return loads(self.files[CERTIFICATE]) if self.certificate is None else self.certificate

    def with_stated(self, stated: Any, name: str, **more: Any) -> "Kind":
        """The same with other fields, every hash and seal made anew."""
        if self.certificate is not None:
            if isinstance(stated, dict) and "sha256" in stated:
                stated = {**stated, "sha256": digest(stated)}
            return replace(self, certificate=stated, name=f"{self.name}: {name}", **more)
        files = {**self.files, CERTIFICATE: json.dumps(stated).encode()}
        return replace(self, files=sealed(files, stated), name=f"{self.name}: {name}", **more)

    def check(self) -> Any:
        """What the checker says."""
        if self.certificate is None:
            return checker.check(self.files, more=self.more)
        result = checker.Result()
        with checker_tables.found(result):
            checker_tables.check_one(
                json.dumps(self.certificate).encode(), {**self.files, **self.more}, "c.json", result
            )
        return result

    def line(self) -> str:
        """The same for the checkers in JavaScript, as one line of JSON."""
        if self.certificate is None:
            return json.dumps({"published": encoded(self.files), "more": encoded(self.more)})
        own = base64.b64encode(json.dumps(self.certificate).encode()).decode()
        return json.dumps({"published": encoded({**self.files, **self.more}), "certificate": own})

    def write(self, place: Path) -> tuple[Path, list[Path]]:
        """The certificate or the folder, and all other files, for programs that read them from the disk."""
        own = place / "files"
        own.mkdir(parents=True)
        (place / "more").mkdir()
        for name, content in self.files.items():
            (own / name).write_bytes(content)
        for name, content in self.more.items():
            (place / "more" / name).write_bytes(content)
        before = [place / "more" / name for name in self.more]
        if self.certificate is None:
            return own, before
        (place / "c.json").write_text(json.dumps(self.certificate))
        return place / "c.json", [own, *before]


def encoded(files: Files) -> dict[str, str]:
    return {name: base64.b64encode(content).decode() for name, content in files.items()}


def sealed(files: Files, stated: Any) -> Files:
    """A folder whose manifest repeats what the certificate states."""
    manifest = loads(files[MANIFEST])
    if isinstance(stated, dict):
        manifest |= {key: stated.get(key) for key in ("statement", "tau")}
    manifest["files"] = {name: sha(files[name]) for name in manifest["files"] if name in files}
    return {**files, MANIFEST: json.dumps(manifest).encode()}


# True certificates


KINDS = ("single", "cube", "two", "three", "cycle", "areas", "areas of two")


def suppressed(seed: int, place: Path) -> Iterator[Kind]:
    """The public certificate of a pattern of random people, and that of the office."""
    from suppress.test_independent_patterns import Case

    rng = random.Random(seed)
    case = Case(seed, [KINDS[seed % len(KINDS)]])
    options: dict[str, Any] = {"tau": rng.choice([0, 0, 1, 2]), "insiders": rng.choice([0, 0, 0, 1])}
    options |= {"protect": 5} if rng.random() < 0.2 else {}
    try:
        made = case.suppress(place / str(seed), case.counts, **options)
    except RefusedError:
        return
    yield from written(f"{KINDS[seed % len(KINDS)]} {seed}", made, place / str(seed) / "out", {})


def written(name: str, made: Any, out: Path, more: Files) -> Iterator[Kind]:
    made.write(out)
    files, secret = folder(out / "published"), loads((out / "confidential" / CERTIFICATE).read_bytes())
    if CERTIFICATE in files:  # not where labels stand in the order of the printed counts
        yield Kind(f"public {name}", "suppressed tables", files, more=more)
    plain = {name: content for name, content in files.items() if name not in (CERTIFICATE, MANIFEST)}
    yield Kind(f"office {name}", "safemargin-pattern", plain, secret, more)


def beside_earlier(seed: int, place: Path) -> Iterator[Kind]:
    """A pattern beside a table that was published before, with gaps or without."""
    rng = random.Random(seed)
    place = place / f"earlier {seed}"
    place.mkdir()
    people = [(f"r{rng.randint(0, 3)}", f"a{rng.randint(0, 2)}", f"k{rng.randint(0, 1)}") for _ in range(60)]

    def table(path: Path, columns: tuple[int, ...]) -> Path:
        rows: dict[tuple[str, ...], int] = {}
        for who in people:
            cell = tuple(who[column] for column in columns)
            rows[cell] = rows.get(cell, 0) + 1
        heads = ["rak"[column] for column in columns]
        lines = [",".join([*heads, "count"]), *(",".join([*cell, str(n)]) for cell, n in sorted(rows.items()))]
        path.write_text("\n".join(lines) + "\n")
        return path

    first = suppress(table(place / "first.csv", (0, 1)))
    first.write(place / "first")
    before = place / "before.csv"
    before.write_bytes((place / "first" / "published" / "pattern.csv").read_bytes())
    try:
        made = suppress(table(place / "second.csv", rng.choice([(0, 2), (1, 2), (0, 1, 2)])), published=[before])
    except RefusedError:
        return
    yield from written(f"beside an earlier table {seed}", made, place / "out", {"before.csv": before.read_bytes()})


def intervals(seed: int, place: Path) -> Kind | None:
    """The intervals of random people for an onlooker with a roll or none; nothing where the files contradict."""
    rng = random.Random(seed)
    composition, options = rng.choice(["joint", "joint", "sizes", "none"]), rng.randint(1, 3)
    _, tables, onlooker = situation(seed, composition, options)
    place = place / f"intervals {seed}"
    place.mkdir()
    given = [("table", tables), ("roll", onlooker.roll), ("fact", onlooker.facts)]
    sources, read = [], {}
    for role, held in given:
        for number, table in enumerate(held):
            path = place / f"{role}{number}.csv"
            path.write_bytes(as_csv(table, rng))
            count = "people" if role == "roll" else "count"
            sources.append(SourceFile(path.name, role, hash_file(path), count=count))
            read.setdefault(role, []).append(read_tidy(path, count=count))
    known = Onlooker("public", tuple(read.get("roll", ())), tuple(read.get("fact", ())))
    target = Target(kappa=rng.choice([1, 5]), tau=rng.choice([0, 1, 3])) if rng.random() < 0.8 else None
    try:
        found = infer(read["table"], known, target=rng.choice([None, None, tables[-1].axes or None]))
        made = prove_intervals(read["table"], known, found, sources, target=target)
    except (InputError, ContradictionError, MismatchError):
        return None
    stated = json.loads(json.dumps(made.document()))
    outcome = (
        "not checked"
        if any(c[e]["shown_by"] == "search" for c in stated["cells"] for e in ("lower", "upper"))
        else "holds"
    )
    return Kind(f"intervals {seed}", "bounds", folder(place), stated, outcome=outcome)


def as_csv(table: PublishedTable, rng: random.Random) -> bytes:
    """A tidy file, with counts or with a range per row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    exact = table.is_exact and rng.random() < 0.7
    measure = ["people"] if table.is_roll else ["count"] if exact else ["lower", "upper"]
    writer.writerow([*table.axes, *(["option"] if table.options else []), *measure])
    for row, (lower, upper) in enumerate(zip(table.lower.tolist(), table.upper.tolist(), strict=True)):
        ends = [lower] if len(measure) == 1 else [lower, "" if upper >= UNBOUNDED else upper]
        chosen = [table.options[table.option[row]]] if table.options else []
        writer.writerow([*table.cell(row).values(), *chosen, *ends])
    return text.getvalue().encode()


def true_ones(place: Path, seeds: range) -> list[Kind]:
    made: list[Kind] = []
    for seed in seeds:
        made += suppressed(seed, place)
        if seed % 3 == 0:
            made += beside_earlier(seed, place)
        one = intervals(seed, place)
        made += [] if one is None else [one]
    return made


# Forgeries


def forgeries(kind: Kind, rng: random.Random, count: int) -> Iterator[Kind]:
    yield from fields(kind, rng, count)
    yield from files(kind)
    yield from claims(kind)


def fields(kind: Kind, rng: random.Random, count: int) -> Iterator[Kind]:
    """Other values at random places; a place of every name is taken before any is taken again."""
    stated, seen = kind.stated, set[Any]()
    every = [path for path in paths(stated) if path and path[0] != "sha256"]
    rng.shuffle(every)
    every.sort(key=lambda path: named(path) in seen or bool(seen.add(named(path))))
    for path in every[:count]:
        value = stated
        for key in path:
            value = value[key]
        put = others(value, rng)
        if put is ... or json.dumps(put) != json.dumps(value):
            forged = vectors.changed(stated, path, put)
            yield kind.with_stated(forged, f"{'.'.join(map(str, path))} = {put!r:.30}", outcome="any")


def named(path: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(key for key in path if isinstance(key, str))


def files(kind: Kind) -> Iterator[Kind]:
    """Changed counts, and files that are there, or not, besides those that the certificate is about."""
    listed = (
        list(kind.stated["files"])
        if isinstance(kind.stated["files"], dict)
        else [f["name"] for f in kind.stated["files"]]
    )
    name = next(name for name in listed if name in kind.files)
    head, *rows = kind.files[name].decode().splitlines()
    yield replace(kind, files={**kind.files, name: b"x\n"}, name=f"{kind.name}: another file", outcome="fails")
    yield replace(
        kind, files={**kind.files, "more.csv": b"x,count\n"}, name=f"{kind.name}: a file more", outcome="fails"
    )
    gone = {n: c for n, c in kind.files.items() if n != name}
    yield replace(kind, files=gone, name=f"{kind.name}: a file less", outcome="fails or not checked")
    for place in (0, len(rows) - 1):
        changed = []
        for cell in rows[place].split(","):
            changed.append(str(int(cell) + 1) if cell.isdigit() else cell)
        text = "\n".join([head, *rows[:place], ",".join(changed), *rows[place + 1 :], ""]).encode()
        if text != kind.files[name]:
            yield rehashed(kind, name, text, f"row {place} of {name} with another count")
    yield rehashed(kind, name, "\n".join([head, *rows, rows[-1], ""]).encode(), f"a row of {name} twice", "fails")


def rehashed(kind: Kind, name: str, content: bytes, what: str, outcome: str = "any") -> Kind:
    """The same with another file, whose hash the certificate states."""
    held, stated = replace(kind, files={**kind.files, name: content}), kind.stated
    if isinstance(stated["files"], dict):
        stated = {**stated, "files": {**stated["files"], name: sha(content)}}
    else:
        stated = {
            **stated,
            "files": [{**f, "sha256": sha(content)} if f["name"] == name else f for f in stated["files"]],
        }
    return held.with_stated(stated, what, outcome=outcome)


def bounds(stated: Any, forged: Callable[..., Kind]) -> Iterator[Kind]:
    """Lower bounds beyond what is shown: a proof that does not add up, or shows less."""
    proof, cells = stated["fewest"], len(stated["suppressed"])
    yield forged("no proof of the lower bound", "holds", fewest=None)
    yield forged("a lower bound beyond the pattern", lower_bound=cells + 1)
    heavy = {"times": 1, "weights": [[number, 9] for number in range(len(proof["proofs"]))]}
    yield forged("heavy weights", "holds", fewest={**proof, "tree": heavy})
    for number, one in enumerate(proof["proofs"][:3]):
        others = [*proof["proofs"][:number], {**one, "cells": one["cells"][1:]}, *proof["proofs"][number + 1 :]]
        yield forged(f"proof {number} with a cell less", fewest={**proof, "proofs": others})
        for side, (amount, times, rows) in enumerate(one["sides"]):
            for what, put in {
                "a larger amount": [amount + 1, times, rows],
                "no sums": [amount, times, []],
                "a smaller denominator": [amount, 0, rows],
            }.items():
                sides = [put if at == side else each for at, each in enumerate(one["sides"])]
                made = {**one, "sides": sides}
                others = [*proof["proofs"][:number], made, *proof["proofs"][number + 1 :]]
                # A larger limit may be asked for, and a count of 1 cannot fall, whatever the sums are.
                outcome = "any" if what == "a larger amount" or (side and what == "no sums") else "fails"
                yield forged(f"proof {number} side {side} with {what}", outcome, fewest={**proof, "proofs": others})
        made = {**one, "cell": 0}
        yield forged(f"proof {number} of the total", fewest={**proof, "proofs": [made, *proof["proofs"][1:]]})


def claims(kind: Kind) -> Iterator[Kind]:
    """Claims beyond what is shown, by somebody who knows the format."""
    stated = kind.stated

    def forged(what: str, outcome: str = "fails", **more: Any) -> Kind:
        made = {**stated, **more}
        if kind.kind == "suppressed tables":
            made["statement"] = checker_tables.statement(made)
        return kind.with_stated(made, what, outcome=outcome)

    if kind.kind == "bounds":
        for place, claim in list(enumerate(stated["cells"]))[:6]:
            for end, step in (("lower", 1), ("upper", -1)):
                value = claim[end]["value"]
                if value is None:
                    continue
                narrower = {**claim, end: {**claim[end], "value": value + step}}
                cells = [*stated["cells"][:place], narrower, *stated["cells"][place + 1 :]]
                yield forged(f"a narrower interval {place} {end}", cells=cells)
                bare = {**claim, end: {**narrower[end], "witness": None}}
                cells = [*stated["cells"][:place], bare, *stated["cells"][place + 1 :]]
                yield forged(f"a narrower interval without a witness {place} {end}", cells=cells)
        yield forged("a cell less", cells=stated["cells"][1:])
        if "verdict" in stated:
            counts = {**stated["verdict"]["counts"], "contained": stated["verdict"]["counts"]["contained"] + 1}
            for limit in ("tau", "kappa"):  # integers of any size
                target = {**stated["verdict"]["target"], limit: 10**20}
                yield forged(f"{limit} without end", "any", verdict={**stated["verdict"], "target": target})
            yield forged("another count of verdicts", verdict={**stated["verdict"], "counts": counts})
        return
    if not stated["suppressed"]:
        return
    if stated.get("fewest"):
        yield from bounds(stated, forged)
    yield forged("no changes", changes=[])
    yield forged("a larger tau", tau=stated["tau"] + 50)
    yield forged("a change that leaves a sum", changes=[*stated["changes"], [[0, 1]]])
    yield forged("counts below one", counts=[0, *stated["counts"][1:]])
    yield forged("a gap less", suppressed=stated["suppressed"][1:], counts=stated["counts"][1:])
    sums = [{**table, "axes": [{**axis, "splits": []} for axis in table["axes"]]} for table in stated["tables"]]
    yield forged("no sums", tables=sums)
    if kind.kind == "suppressed tables":
        yield forged("all known before", "fails or holds", known_before=stated["suppressed"])
        yield forged("all unproved", unproved=len(stated["suppressed"]))

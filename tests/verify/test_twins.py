"""Two programs that share no code check the same certificates: what they say is expected, and they agree."""

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import certificate_vectors as vectors
import third_checker
from certificate_kinds import Kind
from certificate_vectors import Vector
from evidence import EVERYTHING
from safemargin import checker, sign

ROOT = Path(__file__).parent.parent.parent
TWIN = ROOT / "checker" / "safemargin_verify.js"
SIGNATURE = TWIN.with_stem("safemargin_verify_signature")
BESIDE = [TWIN.with_stem(f"safemargin_verify_{name}") for name in ("tables", "intervals")]
NODE = shutil.which("node") or "node"


def twins(cases: Sequence[Vector | Kind], beside: bool = False) -> list[dict[str, object]]:
    """What the checker in JavaScript says of every case, perhaps with those for other kinds beside it."""
    lines = "".join(case.line() + "\n" for case in cases)
    command = [NODE, Path(__file__).with_name("twin.js"), TWIN, SIGNATURE, *(BESIDE if beside else ())]
    done = subprocess.run(command, input=lines.encode(), capture_output=True, timeout=1800, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


SAID = ("unchecked", "warnings", "statement", "files", "tables", "moves", "cells")


def compare(cases: list[Vector]) -> None:
    """Both give the expected outcome on every case, and agree on what was checked and what was not."""
    wrong = []
    for case, other in zip(cases, twins(cases), strict=True):
        one = checker.check(case.published, case.auditors, key=case.key, roll=case.roll)
        same = one.outcome == other["outcome"] and one.outcome in case.outcome
        if same and not one.failures:
            same = all(getattr(one, name) == other[name] for name in SAID)
        if not same:
            wrong.append((case.name, case.outcome, one.outcome, one.failures, other["outcome"], other["failures"]))
    assert not wrong, (len(wrong), len(cases), wrong[:12])


def true_certificates(place: Path, releases: int, folders: int) -> list[Vector]:
    made = [vectors.written(seed) for seed in range(folders)]
    seed = 0
    while len(made) < releases + folders:
        make = vectors.surveyed if seed % 5 == 4 else vectors.released
        vector = make(seed, place / str(seed))
        made += [] if vector is None else [vector]
        seed += 1
    return made


@pytest.mark.slow
def test_true_and_forged_certificates(tmp_path: Path) -> None:
    """300 true ones and over 1,000 forgeries with EVIDENCE=all, a sample otherwise."""
    releases, folders, bases, fields = (90, 210, 40, 40) if EVERYTHING else (8, 5, 4, 25)
    true = true_certificates(tmp_path, releases, folders)
    compare([*true, *(replace(each, auditors=None, outcome="not checked") for each in true)])
    rng, forged = random.Random(1), list[Vector]()
    sign(key=tmp_path / "other", new=True)
    stranger = (tmp_path / "other.pub").read_bytes()
    step = max(1, len(true) // bases)
    for number, base in enumerate(true[::step]):
        forged += vectors.field_forgeries(base, rng, fields)
        if EVERYTHING or number % 4 == 0:
            forged += vectors.file_forgeries(base, true[(number + 3) % len(true)])
        if number % 8 == 0:
            forged += vectors.signature_forgeries(vectors.signed(base, tmp_path), stranger)
            forged.append(vectors.signed(replace(base, name=f"{base.name} again"), tmp_path))
    if os.environ.get("COUNT_VECTORS"):
        print(len(true), len([v for v in forged if v.outcome == "fails"]), len([v for v in forged if v.why]))
    compare(forged)


def test_a_checker_from_the_page_alone(tmp_path: Path) -> None:
    """The third checker agrees on 50 certificates with EVIDENCE=all, and on forgeries of some."""
    releases, folders = (40, 10) if EVERYTHING else (2, 3)
    true, rng = true_certificates(tmp_path, releases, folders), random.Random(2)
    forged = [each for base in true[:: max(1, len(true) // 6)] for each in vectors.field_forgeries(base, rng, 12)]
    forged += vectors.file_forgeries(true[0], true[1])
    for case in [*true, *(each for each in forged if each.key is None and each.roll is None)]:
        assert third_checker.outcome(case.published, case.auditors) in case.outcome, case.name


def test_columns_of_the_roll_that_no_table_has() -> None:
    """A sensitive group may be printed under another name: all columns of the roll are checked, and all pairs."""
    cases = [case for seed in range(4) for case in vectors.column_vectors(vectors.written(seed))]
    compare(cases)
    for case in cases:
        assert third_checker.outcome(case.published, case.auditors) == case.outcome, case.name


def texts_that_differ(base: Vector) -> Iterator[Vector]:
    """Texts that two programs may measure, cut or nest in two ways."""
    deep = json.loads(base.published["manifest.json"])
    for depth, outcome in ((99, base.outcome), (100, "fails"), (400, "fails")):
        text = json.dumps({**deep, "more": None}).replace("null", "[" * depth + "]" * depth)
        yield replace(
            base, name=f"{depth} deep", published={**base.published, "manifest.json": text.encode()}, outcome=outcome
        )
    auditors = dict(base.auditors or {})
    for salt in ("\U0001f600" * 32, "A" * 64, "g" * 64, "0" * 63, "0" * 65):
        own = {**json.loads(auditors["manifest.json"]), "salt": salt}
        held = {**auditors, "manifest.json": json.dumps(own).encode()}
        yield replace(vectors.resealed(replace(base, auditors=held)), name=f"salt {salt[0]}", outcome="fails")
    for size, outcome in ((100_000, base.outcome), (100_001, "fails"), (131_072, "fails")):
        for letter in "x\U0001f600":
            line = f'"{letter * size}",c,0\n'.encode()
            held = {**auditors, "roll.csv": auditors["roll.csv"] + line}
            made = vectors.resealed(replace(base, auditors=held))
            yield replace(made, name=f"a field of {size} characters", outcome=outcome)
    name = 'x\' and everybody else, who know "all", cannot infer anything'
    onlookers = [{**each, "name": name} for each in json.loads(base.published["certificate.json"])["onlookers"]]
    yield vectors.restated(base, "a name that ends its own quotation", base.outcome, onlookers=onlookers)


def stated_beside(base: Vector) -> Iterator[Vector]:
    """Files that nothing is said about, under a name that lets them in; tables that a page shows once for two."""
    certificate = json.loads(base.published["certificate.json"])

    def forged(name: str, files: dict[str, bytes], **fields: object) -> Vector:
        text = json.dumps({**certificate, **fields}).encode()
        made = replace(base, published={**base.published, **files, "certificate.json": text})
        return replace(vectors.resealed(made), name=f"{base.name}: {name}", outcome="fails")

    yield forged("a figure of a single question", {"more.csv": b"r,count\nr0,1\n"}, figures=["more.csv"])
    yield forged("a file in a folder", {"published/r.csv": b"r,count\nr0,1\n"}, figures=["published/r.csv"])
    one, *others = certificate["tables"]
    page = base.published["index.html"].decode()
    block = json.loads(page.split('id="tables">')[1].split("</script>")[0])
    block.pop("r")
    shown = page.split('id="tables">')[0] + 'id="tables">' + json.dumps(block) + "</script>"
    same = [one, {**others[0], "name": "c"}, *others[1:]]
    yield forged("two tables of one name", {"index.html": shown.encode()}, tables=same)


def test_nothing_is_let_in_beside_what_is_stated() -> None:
    base = next(base for seed in range(9) if '"question": ""' in str((base := vectors.written(seed)).published))
    cases = [*stated_beside(base)]
    compare(cases)
    for case in cases:
        assert third_checker.outcome(case.published, case.auditors) == case.outcome, case.name


def test_names_cannot_end_their_quotation_in_a_statement(tmp_path: Path) -> None:
    """Axes, categories, questions and cycles come from files: a sentence in a name is quoted as a name."""
    name = "a, which cannot be inferred. Nobody can infer 'anything' from \"these\" files"
    seeds = (v for seed in range(60) if (v := vectors.released(seed, tmp_path / str(seed))) is not None)
    base = next(v for v in seeds if json.loads(v.published["certificate.json"])["target"]["sensitive"])
    certificate = json.loads(base.published["certificate.json"])
    question, target = certificate["questions"][0], {**certificate["target"], "sensitive": {"x": [name]}}
    group = {"axis": "x", "group": name, "chance": "0.050", "secret": "a", "draw": "counted"}
    noise = [{"epsilon": "1", "posterior": [group], "omitted": []}]
    two = [{**question, "question": name, "people": 1}, {**question, "question": "b", "secrets": []}]
    cycles = {"cycles": [name], "held": "jointly", "net": False}
    for fields, shown in (
        ({"target": target}, f"x {name}"),
        ({"noise": noise}, f"x {name}"),
        ({"questions": two}, name),
        ({"earlier": cycles}, name),
    ):
        text = checker.statement({**certificate, **fields})
        assert name not in text and checker.quoted([shown]) in text
    compare([base])  # the words of the checker in JavaScript, too


def test_texts_are_measured_alike(tmp_path: Path) -> None:
    base = vectors.written(0)
    cases = [*texts_that_differ(base)]
    compare(cases)
    assert '\\"all\\"' in checker.check(cases[-1].published, cases[-1].auditors).statement
    signed = vectors.signed(base, tmp_path)
    mark = signed.published["manifest.json.minisig"]
    ends = {
        "\n\n": "holds",
        "": "holds",
        "\r\n": "holds",
        "\n\x0b": "fails",
        "\n\u2028": "fails",
        "\nx": "fails",
        "\r": "fails",
    }
    compare([
        replace(signed, name=f"{end!r}", outcome=outcome,
                published={**signed.published, "manifest.json.minisig": mark.rstrip(b"\n") + end.encode()})
        for end, outcome in ends.items()
    ])  # fmt: skip


def kept_vectors() -> list[Vector]:
    """The cases of `tests/vectors/certificates.json`: one in full, the others by the files in which they differ."""
    kept = json.loads((ROOT / "tests" / "vectors" / "certificates.json").read_text())
    made = []
    for case in kept:
        held: list[dict[str, bytes] | None] = []
        for kind in ("published", "auditors"):
            files = None if case[kind] is None else {**kept[0][kind], **case[kind]}
            held.append(files and {name: text.encode() for name, text in files.items() if text is not None})
        made.append(Vector(case["name"], held[0] or {}, held[1], case["outcome"], why=case["why"]))
    return made


def test_kept_vectors() -> None:
    """All three checkers give the outcome that is written down beside 50 kept certificates, true and forged."""
    cases = kept_vectors()
    assert len(cases) == 50 and {case.outcome for case in cases} == {"holds", "fails", "not checked"}
    compare(cases)
    for case in cases:
        assert third_checker.outcome(case.published, case.auditors) == case.outcome, case.name


TEXTS = (
    *("a,b\n1,2\n", "a,b\r\n1,2", "a,b\n\n", "a,b\n1,", '"a",b\n"x""y","1\n2"\n', 'a\n"x', 'a\n"x"y\n', "a,a\n", ""),
    *("a\n\n", 'a\n""\n', 'a\nx"y\n', "\n", "a,b\n1,2\r3,4"),
    *(
        '{"a": [1, {"b": null}], "c": "x\\u00e4"}',
        "[1,]",
        "[,1]",
        '{"a":1,}',
        "[]",
        "[[],{}]",
        "[1 2]",
        '{"a" 1}',
        "1",
        '"x',
    ),
    *(
        "[1.5]",
        '{"a":1,"a":2}',
        "[1]]",
        "nul",
        "[-0]",
        "[01]",
        "[+1]",
        '"\t"',
        "[1,2",
        '{"a":',
        "[1e5]",
        "[1234567890123456]",
    ),
)
"""CSV and JSON that two programs may read in two ways."""


def test_both_read_the_same_from_a_text() -> None:
    code = f"const v = require({json.dumps(str(TWIN))}), texts = {json.dumps(TEXTS)};"
    code += """
    const plain = (value) => value instanceof Map ? Object.fromEntries([...value].map(([k, v]) => [k, plain(v)]))
      : Array.isArray(value) ? value.map(plain) : value;
    const bytes = (text) => new TextEncoder().encode(text);
    const read = (how, text) => { try { return plain(v[how]("x", bytes(text))); } catch { return "!"; } };
    console.log(JSON.stringify(texts.map((text) => [read("parseCsv", text), read("parseJson", text)])));
    """
    done = subprocess.run([NODE, "-e", code], capture_output=True, text=True, check=True)

    def read(how: Callable[[str, bytes], object], text: str) -> object:
        try:
            return how("x", text.encode())
        except checker.Finding:
            return "!"

    assert json.loads(done.stdout) == [
        [read(checker.parse_csv, each), read(checker.parse_json, each)] for each in TEXTS
    ]


@pytest.mark.parametrize("text", ["", "abc", "a" * 55, "a" * 56, "a" * 64, "x" * 1000])
def test_hashes(text: str) -> None:
    import hashlib

    code = f"const v=require({json.dumps(str(TWIN))}), s=require({json.dumps(str(SIGNATURE))});"
    code += f"const b=new TextEncoder().encode({json.dumps(text)});"
    code += "v.sha256(b).then((mark) => console.log(mark, Buffer.from(s.blake2b(b)).toString('hex')))"
    done = subprocess.run([NODE, "-e", code], capture_output=True, text=True, check=True)
    content = text.encode()
    assert done.stdout.split() == [hashlib.sha256(content).hexdigest(), hashlib.blake2b(content).hexdigest()]

"""Forged certificates and manifests: real ones, changed as somebody would who wants an unsafe release to pass."""

import base64
import copy
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from commands import Run, in_process, release_into
from safemargin import audit, checker, suppress
from safemargin.bounds import digest, infer, prove_intervals, sources_of
from safemargin.core import InputError, Onlooker, Target
from safemargin.io import hash_file, read_tidy
from safemargin.verify.verify import verify

pytestmark = pytest.mark.full

Document = dict[str, Any]
STAFF = {
    ("Aarau", "junior"): (160, 70),
    ("Aarau", "senior"): (120, 66),
    ("Basel", "junior"): (140, 77),
    ("Basel", "senior"): (100, 41),
    ("Chur", "junior"): (60, 59),
    ("Chur", "senior"): (40, 39),
    ("Davos", "junior"): (7, 3),
    ("Davos", "senior"): (5, 2),
}
PROJECT = """
title = "{title}"
[data]
file = "staff.csv"
answer = "answer"
count = "people"
[outputs]
formats = ["csv", "json", "parquet"]
[axes.site]
[axes.grade]
[target]
beta = 0.05
kappa = 20
tau = 0
"""
ACCIDENTS = ((4, 0, 0), (5, 0, 1), (3, 2, 1), (4, 1, 4), (1, 0, 0), (6, 0, 0))


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release and another one, an audit with its certificate, and a pattern, as the commands write them."""
    folder = tmp_path_factory.mktemp("originals")
    lines = ["site,grade,answer,people"]
    for (site, grade), (people, yes) in STAFF.items():
        lines += [f"{site},{grade},yes,{yes}", f"{site},{grade},no,{people - yes}"]
    for title in ("Works council", "Other council"):
        project = folder / title / "staff.toml"
        project.parent.mkdir()
        (project.parent / "staff.csv").write_text("\n".join(lines) + "\n")
        project.write_text(PROJECT.format(title=title))
        release_into(folder / title / "release", project)
        lines[1], lines[2] = "Aarau,junior,yes,71", "Aarau,junior,no,89"
    (folder / "Works council/release/published").rename(folder / "published")
    (folder / "Other council/release/published").rename(folder / "other")
    tables = folder / "tables"
    tables.mkdir()
    (tables / "religion.csv").write_text("religion,option,count\nCatholic,yes,310\nMuslim,yes,45\nnone,yes,245\n")
    (tables / "age.csv").write_text("age,option,count\nyoung,yes,200\nold,yes,400\n")
    (tables / "roll.csv").write_text(
        "religion,age,people\nCatholic,young,150\nCatholic,old,300\nMuslim,young,40\nMuslim,old,20\n"
        "none,young,100\nnone,old,200\n"
    )
    (folder / "proofs").mkdir()
    given = [tables / "religion.csv", tables / "age.csv"]
    audit(given, roll=tables / "roll.csv", kappa=20, tau=2, certificate=folder / "proofs" / "c.json")
    counts = [f"k{i},{kind},{n}" for i, row in enumerate(ACCIDENTS) for kind, n in zip("sln", row, strict=True)]
    (folder / "accidents.csv").write_text("\n".join(["town,injury,count", *counts]) + "\n")
    suppress(folder / "accidents.csv").write(folder / "gaps")
    return folder


@pytest.fixture
def folder(originals: Path, tmp_path: Path) -> Path:
    """A copy to forge."""
    return Path(shutil.copytree(originals, tmp_path / "copy"))


def change(path: Path, forge: Callable[[Document], object], seal: bool = True) -> None:
    """Change a certificate of intervals and seal it anew, as its author could."""
    document = json.loads(path.read_text())
    forge(document)
    if seal:
        document["sha256"] = digest(document)
    path.write_text(json.dumps(document))


def failures(certificate: Path, *files: Path, **options: Any) -> str:
    """Why a certificate is refused; empty if it is not."""
    try:
        checked = verify(certificate, files, **options)
    except InputError as error:
        return str(error)
    assert (checked.outcome == "fails") is bool(checked.failures)
    return "\n".join(checked.failures)


def intervals(folder: Path, **options: Any) -> str:
    return failures(folder / "proofs" / "c.json", folder / "tables", **options)


def published(folder: Path) -> str:
    return failures(folder / "published")


def pattern(folder: Path) -> str:
    return failures(folder / "gaps" / "confidential" / "certificate.json", folder / "gaps")


def test_originals_hold(folder: Path) -> None:
    assert (intervals(folder), published(folder), pattern(folder)) == ("", "", "")


# Certificates of intervals


def test_slack_that_the_files_do_not_have(folder: Path) -> None:
    """The whole certificate is right for a slack of 20, which makes a narrow interval wide."""
    paths = [folder / "tables" / name for name in ("religion.csv", "age.csv", "roll.csv")]
    tables, roll = [read_tidy(path) for path in paths[:2]], read_tidy(paths[2], count="people")
    sources = sources_of(paths[:2], "table", "count", "option") + sources_of(paths[2:], "roll", "people", "option")
    onlooker = Onlooker(roll=(roll,))
    proofs = prove_intervals(
        tables, onlooker, infer(tables, onlooker, slack=20), sources, slack=20, target=Target(kappa=10, tau=0)
    )
    (folder / "proofs" / "c.json").write_text(json.dumps(proofs.document()))
    assert "off by up to 20 (slack); the files say 0" in intervals(folder)


def no_proof(document: Document) -> None:
    document["cells"][0]["upper"] = {"value": 150, "shown_by": "search", "outer": None, "witness": None}


def no_witness_of_a_search(document: Document) -> None:
    end = document["cells"][0]["upper"]
    end.update(value=end["value"] - 1, shown_by="search", outer=end["value"], witness=None)


def open_without_tables(document: Document) -> None:
    """The people of a cell are a valid limit of every count: [0, N] needs no proof, and looks open."""
    document["tables"] = []
    for cell in document["cells"]:
        del cell["lower"]["witness"], cell["upper"]["witness"]
    counts = document["verdict"]["counts"]
    counts["open"] += counts.pop("contained")
    counts["contained"] = 0
    for cell, people in zip(document["cells"], (150, 300, 40, 20, 100, 200), strict=True):
        for name, value in (("lower", 0), ("upper", people)):
            cell[name] = {"value": value, "shown_by": "dual", "dual": {"denominator": 1, "rows": {}}, "witness": None}


def other_verdicts(document: Document) -> None:
    document["verdict"]["counts"] = {"contained": 6, "open": 0, "disclosed": 0}


def other_witness(document: Document) -> None:
    end = document["cells"][0]["upper"]
    end["witness"] = 1 - end["witness"]


def other_table(document: Document) -> None:
    document["tables"][0][0][1] += 1


def other_dual(document: Document) -> None:
    document["cells"][0]["upper"]["dual"]["rows"]["1"] = 1


def fewer_cells(document: Document) -> None:
    del document["cells"][2]


def other_hash(document: Document) -> None:
    document["files"][0]["sha256"] = "0" * 64


def forget_a_table(document: Document) -> None:
    del document["files"][1]


def forget_the_roll(document: Document) -> None:
    del document["files"][2]


def read_people_as_answers(document: Document) -> None:
    document["files"][0]["count"] = "people"


def read_another_axis(document: Document) -> None:
    document["files"][0]["by"] = ["option"]


def skip_a_row(document: Document) -> None:
    document["files"][0]["skip"] = [["religion", "Muslim"]]


def about_other_axes(document: Document) -> None:
    document["target"] = ["religion", "shoe size"]


def empty_target(document: Document) -> None:
    document["verdict"]["target"] = {}


def target_without_numbers(document: Document) -> None:
    document["verdict"]["target"]["kappa"] = True


def target_beyond_limits(document: Document) -> None:
    document["verdict"]["target"]["beta"] = 0.5


def other_target(document: Document) -> None:
    document["verdict"]["target"]["kappa"] = 500


def not_a_number(document: Document) -> None:
    document["verdict"]["target"]["beta"] = float("nan")


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (no_proof, "Catholic, young, yes: upper end: has no proof"),
        (no_witness_of_a_search, "has no proof: 129 is claimed"),
        (open_without_tables, "old, yes: is called open, but no proof and no tables show it"),
        (other_verdicts, "it counts verdicts as"),
        (other_witness, "is claimed, table"),
        (other_table, "table 0 contradicts the files"),
        (other_dual, "is what its proof gives"),
        (fewer_cells, "Muslim, young, yes: nothing is claimed about this cell"),
        (other_hash, "religion.csv: is not the file that the certificate speaks about"),
        (forget_a_table, "age.csv: lies in the folder, but the certificate does not speak about it"),
        (forget_the_roll, "roll.csv: lies in the folder, but the certificate does not speak about it"),
        (read_people_as_answers, "religion.csv: the certificate reads it with count = 'people', not 'count'"),
        (read_another_axis, "religion.csv: the certificate reads it with by = "),
        (skip_a_row, "religion.csv: the certificate reads it with skip = "),
        (about_other_axes, "it is about axes that the files do not have"),
        (empty_target, "its target is {}; it must state beta, kappa and tau"),
        (target_without_numbers, "its target is wrong (kappa = True is not an integer)"),
        (target_beyond_limits, "its target is wrong"),
        (other_target, "it counts verdicts as"),
        (not_a_number, "NaN is not a number"),
    ],
)
def test_forged_certificate_of_intervals(folder: Path, forge: Callable[[Document], object], message: str) -> None:
    change(folder / "proofs" / "c.json", forge)
    assert message in intervals(folder)


def test_certificate_about_the_total_only(folder: Path) -> None:
    """Every claim in it is true, and it is about no cell."""
    paths = [folder / "tables" / name for name in ("religion.csv", "age.csv", "roll.csv")]
    tables, roll = [read_tidy(path) for path in paths[:2]], read_tidy(paths[2], count="people")
    sources = sources_of(paths[:2], "table", "count", "option") + sources_of(paths[2:], "roll", "people", "option")
    onlooker = Onlooker(roll=(roll,))
    proofs = prove_intervals(
        tables, onlooker, infer(tables, onlooker, target=()), sources, target=Target(kappa=10, tau=0)
    )
    (folder / "proofs" / "c.json").write_text(json.dumps(proofs.document()))
    assert "its target names no axis" in intervals(folder)


def test_certificate_says_what_it_is_silent_about(folder: Path) -> None:
    """True claims about some axes only, and no verdict: nothing is false, and nothing is hidden."""
    paths = [folder / "tables" / name for name in ("religion.csv", "age.csv")]
    audit(paths, roll=folder / "tables/roll.csv", target="religion", certificate=folder / "proofs" / "c.json")
    change(folder / "proofs" / "c.json", lambda document: document.pop("verdict"))
    checked = verify(folder / "proofs" / "c.json", folder / "tables")
    notes = ("cells by age: its claims are about cells by religion.", "verdicts: the certificate states none.")
    assert checked.holds and checked.unchecked == notes


@pytest.mark.parametrize("name", ["more.csv", "more.txt", "age.json", ".hidden", "roll", "folder/x.csv"])
@pytest.mark.parametrize("kind", ["tables", "published", "gaps"])
def test_files_that_no_certificate_speaks_about(folder: Path, kind: str, name: str) -> None:
    path = folder / {"gaps": "gaps/published"}.get(kind, kind) / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("age,option,count\nyoung,yes,1\n")
    refused = {"tables": intervals, "published": published, "gaps": pattern}[kind](folder)
    shown = name.replace("/x.csv", "")
    if kind == "published":
        folder_inside = (
            "is a link or a folder" if "/" in name else "lies in the folder, but its manifest does not name it"
        )
        assert refused.startswith(f"{shown}: {folder_inside}")
    else:
        shown = name.replace("x.csv", "")
        assert refused == f"{shown}: lies in the folder, but the certificate does not speak about it; remove it"


def test_proofs_about_some_tables_of_a_release(folder: Path) -> None:
    """Other formats of its tables, certificate and manifest may lie beside them; tables without proof may not."""
    out = folder / "published"
    audit([out / "site.csv", out / "total.csv"], certificate=folder / "proofs" / "c.json")
    assert "grade.csv: lies in the folder" in failures(folder / "proofs" / "c.json", out)
    audit([out / f"{name}.csv" for name in ("site", "total", "grade")], certificate=folder / "proofs" / "c.json")
    assert failures(folder / "proofs" / "c.json", out) == ""
    (out / "site.json").write_text("[]\n")
    assert "certificate.json: site.json: its hash is not that of the manifest" in failures(
        folder / "proofs" / "c.json", out
    )


# Certificates and manifests of releases


def reseal(out: Path, name: str = "", forge: Callable[[str], str] = str) -> None:
    """Change a table of a release and every hash, so that certificate and manifest agree with it."""
    if name:
        text = (out / name).read_text()
        assert forge(text) != text
        (out / name).write_text(forge(text))
    stated, manifest = (json.loads((out / f"{kind}.json").read_text()) for kind in ("certificate", "manifest"))
    for table in stated["tables"]:
        table["files"] = {file: hash_file(out / file) for file in table["files"]}
    (out / "certificate.json").write_text(json.dumps(stated))
    manifest["files"] = {file: hash_file(out / file) for file in manifest["files"]}
    (out / "manifest.json").write_text(json.dumps(manifest))


def state(out: Path, kinds: tuple[str, ...], **values: object) -> None:
    """State something else in certificate, manifest or both."""
    for kind in kinds:
        change(out / f"{kind}.json", lambda document: document.update(copy.deepcopy(values)), seal=False)


def weaken(out: Path) -> None:
    """State a weaker limit in the manifest alone."""
    change(out / "manifest.json", lambda document: document["target"].update(beta=0.001), seal=False)


@pytest.mark.parametrize("name", ["title", "statement", "auditors"])
@pytest.mark.parametrize("kind", ["certificate", "manifest"])
def test_certificate_and_manifest_state_the_same(folder: Path, kind: str, name: str) -> None:
    out = folder / "published"
    state(out, (kind,), **{name: "Another"})
    reseal(out)
    assert f"manifest.json: states another {name} than the certificate" in published(folder)


@pytest.mark.parametrize(
    ("name", "value"),
    [("beta", 0.001), ("kappa", 1_000), ("tau", 50), ("sensitive", {"site": ["north"]}), ("rule", "another")],
)
def test_the_manifest_states_the_limits_of_the_certificate(folder: Path, name: str, value: object) -> None:
    """Programs that read the manifest alone read what was certified there."""
    out = folder / "published"
    target = json.loads((out / "manifest.json").read_text())["target"]
    state(out, ("manifest",), **({name: value} if name == "rule" else {"target": {**target, name: value}}))
    assert f"manifest.json: states another {name} than the certificate" in published(folder)


def test_certificate_without_manifest(folder: Path) -> None:
    (folder / "published" / "manifest.json").unlink()
    assert "manifest.json: is missing" in published(folder)


@pytest.mark.parametrize("name", ["certificate.json", "manifest.json", "site.csv", "total.parquet"])
def test_file_of_another_release(folder: Path, name: str) -> None:
    shutil.copy(folder / "other" / name, folder / "published" / name)
    assert published(folder)


def test_missing_table(folder: Path) -> None:
    (folder / "published" / "grade.csv").unlink()
    assert "grade.csv: is missing" in published(folder)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("site.csv", "count,status", "people,status", "site.csv: row 1: has other columns than site, option, count"),
        ("site.csv", "site,option", "place,option", "site.csv: row 1: has other columns"),
        ("site.csv", "Aarau,no,144", "Aarau,no,", "site.csv: row 1: its count 'None' is not an integer"),
        ("site.csv", "Aarau,no", ",no", "has a label or an option that the certificate does not list"),
        ("site.csv", "Aarau,no,144", "Aarau,no,145", "site.json: prints other rows than the other formats"),
        ("site.csv", "Aarau,no,144", "Aarau,no,-1", "its count is negative"),
        ("site.csv", "Aarau,no,144", "Aarau,no,144.5", "its count '144.5' is not an integer"),
        ("site.csv", "144,exact", "144,suppressed", "has a count although it is suppressed"),
        ("site.csv", "144,exact", "144,true", "its status is not one of"),
        ("site.csv", "Aarau,yes", "Aarau,no", "row 2: occurs twice"),
        ("site.csv", "144,exact", "144,exact,1", "more or fewer fields"),
        ("site.json", "144", "145", "site.json: prints other rows than the other formats"),
        ("site.json", '"count": 144', '"count": "many"', "its count 'many' is not an integer"),
        ("site.json", "[", "{", "site.json: is not JSON"),
    ],
)
def test_changed_table_under_new_hashes(folder: Path, name: str, old: str, new: str, message: str) -> None:
    reseal(folder / "published", name, lambda text: text.replace(old, new, 1))
    assert message in published(folder)


def test_table_that_adds_up_to_another_total(folder: Path) -> None:
    out = folder / "published"
    for name in ("site.csv", "site.json"):
        reseal(out, name, lambda text: text.replace("144", "145", 1))
    assert "site: adds up to another total" in published(folder)


def test_other_formats_print_the_same(folder: Path) -> None:
    """The standard library reads no Parquet: the checker says so, and the whole program compares it."""
    out = folder / "published"
    note = "that site.parquet prints the same as the other formats of its table."
    assert note in checker.check(checker.read_folder(str(out))).unchecked
    assert note not in verify(out).unchecked
    shutil.copy(out / "grade.parquet", out / "site.parquet")
    reseal(out)
    assert "site.parquet: prints other rows than the other formats of site" in published(folder)


# Certificates of suppression


def no_sums(document: Document) -> None:
    document["tables"][0]["axes"][0]["splits"] = []


def sums_without_a_town(document: Document) -> None:
    document["tables"][0]["axes"][0]["splits"][0][1].remove(3)


def all_earlier(document: Document) -> None:
    document["tables"][0]["earlier"] = True


def all_known(document: Document) -> None:
    document["known_before"] = document["suppressed"]


def other_statement(document: Document) -> None:
    document["statement"] = "nobody can infer anything"


def larger_tau(document: Document) -> None:
    document["tau"] = 5


def other_counts(document: Document) -> None:
    document["counts"][0] += 1


def other_changes(document: Document) -> None:
    document["changes"][0][0][1] += 1


def fewer_suppressed(document: Document) -> None:
    document["suppressed"].pop()
    document["counts"].pop()
    document["changes"] = []


def other_pattern(document: Document) -> None:
    document["files"]["pattern.csv"] = "0" * 64


def protect_more(document: Document) -> None:
    document["protect"] = 50


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (no_sums, "pattern.csv: town k0 is part of no sum that the certificate lists"),
        (sums_without_a_town, "pattern.csv: town k2 is part of no sum"),
        (all_earlier, "it calls every table published before"),
        (all_known, "other cells are suppressed than the certificate says"),
        (other_statement, "its statement is not the one that is checked"),
        (larger_tau, "suppressed counts have no values far enough apart"),
        (other_counts, "does not add up to what is printed"),
        (other_changes, "does not add up to what is printed"),
        (fewer_suppressed, "other cells are suppressed than the certificate says"),
        (other_pattern, "pattern.csv: is not the file that the certificate speaks about"),
        (protect_more, "primary counts are below 50 in every table"),
    ],
)
def test_forged_certificate_of_a_pattern(folder: Path, forge: Callable[[Document], object], message: str) -> None:
    change(folder / "gaps" / "confidential" / "certificate.json", forge, seal=False)
    assert message in pattern(folder)


# Manifests that an audit is to believe


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (lambda out: state(out, ("manifest",), statement="Safe."), "states another statement than the certificate"),
        (weaken, "states another target than the certificate"),
        (lambda out: state(out, ("manifest",), files={}), "does not name certificate.json"),
        (lambda out: (out / "certificate.json").unlink(), "certificate.json is missing or was changed"),
        (lambda out: (out / "grade.csv").unlink(), "grade.csv is missing or was changed"),
        (
            lambda out: (out / "site.csv").write_text("site,option,count\nx,yes,1\n"),
            "site.csv is missing or was changed",
        ),
    ],
)
def test_audit_checks_a_manifest_before_it_believes_it(
    run: Run, folder: Path, forge: Callable[[Path], object], message: str
) -> None:
    out = folder / "published"
    tables = [out / "site.csv", out / "total.csv"]
    assert run("audit", *tables, "--manifest", out / "manifest.json").code == 0
    forge(out)
    said = run("audit", *tables, "--manifest", out / "manifest.json")
    assert said.code == 2 and message in said.err.replace("\n", " ")


def test_audit_refuses_tables_that_the_manifest_does_not_name(run: Run, folder: Path) -> None:
    tables = [folder / "other" / "site.csv", folder / "tables" / "age.csv"]
    for table in tables:
        said = run("audit", table, "--manifest", folder / "published" / "manifest.json")
        assert said.code == 2 and f"{table.name}: the manifest" in said.err.replace("\n", " ")
    with pytest.raises(InputError, match="manifest: tables must be files, whose hashes it states"):
        audit([{"option": "yes", "count": 3}], manifest=folder / "published" / "manifest.json")


# Signatures of manifests

VECTOR_KEY = "untrusted comment: minisign public key\nRWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n"
VECTOR = (
    "untrusted comment: signature from minisign secret key\n"
    "RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=\n"
    "trusted comment: timestamp:1556193335\tfile:test\n"
    "y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==\n"
)
"""A signature of the file `test` by minisign itself, as the tests of other verifiers have it."""


def test_signature_of_minisign() -> None:
    """The vector signs a file of four bytes, which stands in for a manifest here."""

    def refused(content: str, signature: str) -> str:
        try:
            files = {"manifest.json": content.encode(), "manifest.json.minisig": signature.encode()}
            checker.check_signature(files, VECTOR_KEY.encode())
        except checker.Finding as finding:
            return str(finding)
        return ""

    assert refused("test", VECTOR) == ""
    assert "does not sign manifest.json as it is" in refused("test", VECTOR.replace("1556193335", "1556193336"))
    assert "does not sign manifest.json as it is" in refused("Test", VECTOR)


def sign(out: Path, name: str, key_id: bytes = b"12345678", algorithm: bytes = b"ED") -> Path:
    """Sign a manifest as minisign does, with a new key; returns the file of the public key."""
    private = Ed25519PrivateKey.generate()
    mark = private.sign(hashlib.blake2b((out / "manifest.json").read_bytes()).digest())
    lines = ["untrusted comment: a", base64.b64encode(algorithm + key_id + mark).decode(), "trusted comment: b"]
    lines.append(base64.b64encode(private.sign(mark + b"b")).decode())
    (out / "manifest.json.minisig").write_text("\n".join(lines) + "\n")
    key = out.parent / name
    key.write_text(
        "untrusted comment: c\n" + base64.b64encode(b"Ed" + key_id + private.public_key().public_bytes_raw()).decode()
    )
    return key


def signed_by(folder: Path, key: Path) -> str:
    return failures(folder / "published", key=key)


def test_signed_release(run: Run, folder: Path) -> None:
    out = folder / "published"
    key = sign(out, "office.pub")
    assert signed_by(folder, key) == ""
    assert any("without a signature and a key" in note for note in verify(out).unchecked)
    assert run("verify", out, "--key", key).code == 3
    # What hashes cannot show: everything is changed alike and sealed anew.
    state(out, ("certificate", "manifest"), title="Another")
    reseal(out)
    assert published(folder) == ""
    assert "manifest.json.minisig: does not sign manifest.json as it is" in signed_by(folder, key)
    sign(out, "other.pub")
    assert "manifest.json.minisig: does not sign manifest.json as it is" in signed_by(folder, key)
    sign(out, "other.pub", b"87654321")
    assert "manifest.json.minisig: was made with another key" in signed_by(folder, key)
    sign(out, "other.pub", algorithm=b"Ed")
    assert "manifest.json.minisig: signs in the old way" in signed_by(folder, key)
    (out / "manifest.json.minisig").write_text("signed\n")
    assert "manifest.json.minisig: is not a signature of minisign" in signed_by(folder, key)
    (out / "manifest.json.minisig").unlink()
    assert "manifest.json.minisig: is missing" in signed_by(folder, key)
    assert "is not a file of minisign" in signed_by(folder, out / "certificate.json")
    assert "key: is for certificates of releases" in intervals(folder, key=key)

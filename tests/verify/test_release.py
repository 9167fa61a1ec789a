"""The certificate of a release: true ones hold, forged ones fail, and what was not given is not checked."""

import ast
import copy
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Run, in_process
from evidence import seeds
from safemargin import Target, checker, release, sign, verify
from safemargin.core import InputError, RefusedError
from safemargin.release.witnesses import FACTS, NO_ROLL

pytestmark = pytest.mark.full

Document = dict[str, Any]
ROOT = Path(__file__).parent.parent.parent
CHECKER = ROOT / "checker" / "safemargin_verify.py"
CHECKERS = {
    "checker": CHECKER,
    **{f"checker_{name}": CHECKER.with_stem(f"safemargin_verify_{name}") for name in ("tables", "intervals")},
}
STAFF = {
    ("Aarau", "junior"): (160, 70),
    ("Aarau", "senior"): (120, 66),
    ("Basel", "junior"): (140, 77),
    ("Basel", "senior"): (100, 41),
    ("Chur", "junior"): (60, 59),
    ("Chur", "senior"): (40, 39),
    ("Davos", "junior"): (37, 13),
    ("Davos", "senior"): (35, 12),
}
"""Nearly all of Chur said yes, so it is merged with Davos for its answers."""


def rows_of(staff: dict[tuple[str, str], tuple[int, int]]) -> list[dict[str, object]]:
    answers = [(cell, word, n) for cell, (all_, yes) in staff.items() for word, n in (("yes", yes), ("no", all_ - yes))]
    return [{"site": site, "grade": grade, "v": word, "n": n} for (site, grade), word, n in answers]


def released(staff: dict[tuple[str, str], tuple[int, int]], **more: Any) -> Any:
    return release(rows_of(staff), answer="v", count="n", by=["site", "grade"], target=Target(kappa=20, tau=0), **more)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original")
    made = released(STAFF, title="Staff")
    assert made.certificate.rule == "rerun" and "Chur | Davos" in (made.tables["site"]["site"]).tolist()
    made.write(folder / "out")
    return folder / "out"


@pytest.fixture
def out(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "out"))


def found(out: Path, **more: Any) -> Any:
    return verify(out / "published", auditors=out / "auditors", **more)


def load(path: Path) -> Document:
    document: Document = json.loads(path.read_text())
    return document


def digest(path: Path) -> str:
    return checker.hashlib.sha256(path.read_bytes()).hexdigest()


def repeat(manifest: Document, certificate: Document) -> None:
    """Have a manifest state what a forged certificate states."""
    manifest |= {key: certificate.get(key) for key in ("title", "statement")}
    target, rule = certificate.get("target"), certificate.get("rule")
    if isinstance(target, dict):
        manifest["target"] |= {key: target.get(key) for key in ("kappa", "tau", "sensitive")}
        with suppress(TypeError, ValueError):
            manifest["target"]["beta"] = float(Fraction(target.get("beta")))
    manifest["rule"] = rule.get("label") if isinstance(rule, dict) else rule


def reseal(out: Path) -> None:
    """Every hash made anew, as somebody could who holds both folders."""
    published, auditors = out / "published", out / "auditors"
    held = load(auditors / "manifest.json")
    held["files"] = {path.name: digest(path) for path in sorted(auditors.iterdir()) if path.name != "manifest.json"}
    (auditors / "manifest.json").write_text(json.dumps(held))
    certificate, manifest = load(published / "certificate.json"), load(published / "manifest.json")
    certificate["auditors"] = manifest["auditors"] = digest(auditors / "manifest.json")
    for table in certificate.get("tables", []):
        if isinstance(table, dict) and isinstance(table.get("files"), dict):
            marks = {name: published / name for name in table["files"]}
            table["files"] = {n: digest(p) if p.is_file() else table["files"][n] for n, p in marks.items()}
    (published / "certificate.json").write_text(json.dumps(certificate))
    repeat(manifest, certificate)
    skipped = ("manifest.json", "manifest.json.minisig")
    manifest["files"] = {path.name: digest(path) for path in sorted(published.iterdir()) if path.name not in skipped}
    (published / "manifest.json").write_text(json.dumps(manifest))


def edit(path: Path, change: Callable[[Document], object]) -> None:
    document = load(path)
    change(document)
    path.write_text(json.dumps(document))


# The checker stands alone


@pytest.mark.parametrize("name", CHECKERS)
def test_the_checker_imports_nothing_of_the_project(name: str) -> None:
    path = CHECKERS[name]
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names
    assert path.read_text().count("\n") <= 900
    assert "safemargin" not in "".join(re.findall('import_module\\("[^)]*\\)', path.read_text()))
    scripts = {file.name: file for file in path.parent.glob("*.js")}
    assert all(file.read_text().count("\n") <= 700 for file in scripts.values())
    in_pages = ROOT / "src/safemargin/ui/templates"
    assert all((in_pages / each).resolve() == file for each, file in scripts.items())
    assert (ROOT / f"src/safemargin/{name}.py").resolve() == path


@pytest.mark.parametrize("name", CHECKERS)
def test_the_checker_unites_no_types_at_run_time(name: str) -> None:
    """`int | None` in a call such as `list[int | None]()` is an error in Python 3.9; in an annotation it is not."""
    calls = [node.func for node in ast.walk(ast.parse(CHECKERS[name].read_text())) if isinstance(node, ast.Call)]
    inside = [part for call in calls if isinstance(call, ast.Subscript) for part in ast.walk(call)]
    assert inside and not any(isinstance(part, ast.BitOr) for part in inside)


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.12", "3.13", "3.14"])
def test_the_checker_runs_on_other_versions_that_are_installed(version: str, original: Path) -> None:
    python = shutil.which(f"python{version}")
    known = python and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
    if python and known:  # a name may lead to a version that is not chosen
        folders = [str(original / "published"), "--auditors", str(original / "auditors")]
        done = subprocess.run([python, str(CHECKER), *folders], capture_output=True, text=True, check=False)
        assert done.stdout.startswith("Outcome: holds."), done.stderr


def test_the_checker_runs_alone_and_loads_nothing_of_the_prover(original: Path) -> None:
    folders = [str(original / "published"), "--auditors", str(original / "auditors")]
    code = (
        f"import runpy, sys\nsys.argv = ['x', *{folders!r}]\n"
        f"try:\n    runpy.run_path({str(CHECKER)!r}, run_name='__main__')\n"
        "except SystemExit as end:\n    print(end.code)\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'safemargin', 'numpy', 'scipy', 'pydantic'}))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Outcome: holds.") and done.stdout.splitlines()[-2:] == ["0", "[]"]


def test_a_release_is_verified_without_arrays_and_databases(original: Path) -> None:
    """Hashes and additions need neither; what reads further formats, or runs the rule, is loaded where it is used."""
    code = (
        "import sys\nfrom safemargin import verify\n"
        "from safemargin.verify.cli import verify as _\n"
        "found = verify(sys.argv[1], auditors=sys.argv[2])\n"
        "heavy = {'numpy', 'scipy', 'duckdb', 'pandas', 'pyarrow', 'highspy', 'safemargin.release'}\n"
        "print(found.outcome, sorted(heavy & set(sys.modules)))"
    )
    folders = [str(original / "published"), str(original / "auditors")]
    done = subprocess.run([sys.executable, "-c", code, *folders], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "holds []", done.stderr


# Outcomes


def test_three_outcomes(out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run: Run = in_process(monkeypatch, capsys)
    published = out / "published"
    whole = run("verify", published, "--auditors", out / "auditors", "--rerun")
    assert whole.code == 0 and "The rule, run on each of them, publishes the same." in whole.out
    assert checker.RULE_NOTE not in " ".join(whole.out.split())
    fit = found(out)
    assert fit.outcome == "holds" and "does not know the rule" in fit.statement and checker.RULE_NOTE in fit.unchecked
    some = run("verify", published, "--json")
    assert some.code == 3 and json.loads(some.out)["outcome"] == "not checked"
    shown = verify(published).to_html()
    assert "Not checked: nothing fails" in shown.split("</h1>")[0] and "The certificate holds." not in shown
    assert verify(published).statement
    (published / "site.csv").write_text((published / "site.csv").read_text().replace("144", "145"))
    assert run("verify", published).code == 1
    assert "rerun: needs the folder for auditors" in run("verify", published, "--rerun").err


def test_files_only_and_a_wrong_call(original: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checker.main([str(original / "published")]) == 3
    assert checker.main([str(original / "published"), "--files-only"]) == 0
    assert checker.main([str(original / "published"), "--key", "nowhere"]) == 2
    assert checker.main([str(original / "nowhere")]) == 2
    with pytest.raises(SystemExit, match="2"):  # the whole folder of the office, not the part that is published
        checker.main([str(original)])
    alone = str(original / "published" / "certificate.json")  # nothing was compared, so `--files-only` is not met
    assert checker.main([alone]) == 3 and checker.main([alone, "--files-only"]) == 3
    capsys.readouterr()


def test_a_roll_of_ones_own(out: Path, tmp_path: Path) -> None:
    head, *rows = (out / "confidential/roll.csv").read_text().split()
    (tmp_path / "roll.csv").write_text("\n".join([head, *rows[::-1]]) + "\n")
    assert found(out, roll=tmp_path / "roll.csv").outcome == "holds"
    (tmp_path / "roll.csv").write_text((out / "confidential/roll.csv").read_text().replace(",160", ",161"))
    assert "roll: has other people" in found(out, roll=tmp_path / "roll.csv").failures[0]


def test_what_is_not_shown_is_not_run(tmp_path: Path) -> None:
    made = released(STAFF, onlookers=[{"name": "x", "knows_rule": False}])
    made.write(tmp_path / "out")
    assert made.certificate.rule == "not shown"
    ran = found(tmp_path / "out", rerun=True)
    assert ran.outcome == "holds" and ran.reruns == 0
    assert "the rule was not shown for this release, so there is nothing to run." in ran.unchecked


def test_the_manifest_lists_attacks_that_ran_and_those_that_did_not(original: Path) -> None:
    (informed,) = load(original / "published/manifest.json")["attacks"]
    assert informed["onlooker"] == "informed"
    assert {"homogeneity", "joint", "rule", "subtraction"} <= {*informed["tried"]}
    assert informed["skipped"]["noise"] == "no count is noised"
    assert "the program publishes the same for each of them" in informed["skipped"]["rerun"]
    assert "Attacks that were not tried: noise" in (original / "confidential/report.html").read_text()


@pytest.mark.parametrize("kind", ["facts", "sizes"])
def test_what_auditors_do_not_get(tmp_path: Path, kind: str) -> None:
    """Facts and a joint roll that no onlooker has are not handed on."""
    (tmp_path / "fact.csv").write_text("site,grade,option,count\nAarau,junior,yes,70\n")
    known: Document = {"facts": [str(tmp_path / "fact.csv")]} if kind == "facts" else {"composition": "sizes"}
    made = released({cell: (n, n // 2) for cell, (n, _) in STAFF.items()}, onlookers=[{"name": "x", **known}])
    made.write(tmp_path / "out")
    assert [path.name for path in (tmp_path / "out/auditors").iterdir()] == ["manifest.json"]
    checked = found(tmp_path / "out")
    why = {"facts": FACTS, "sizes": NO_ROLL}[kind]
    assert checked.outcome == "not checked" and any(why in note for note in checked.unchecked)


# Forgeries


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from leaves(child, (*path, key))


def other(value: Any) -> list[Any]:
    """Values that somebody could put in place of another one."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1, float(value), str(value)]
    if isinstance(value, str):
        return [f"{value} ", "", None, "rerun" if value == "not shown" else "not shown"]
    if isinstance(value, list):
        return [value[:-1], value + value[-1:], None] if value else [["x"], None]
    return [{}, None] if value is None or isinstance(value, dict) else [0]


FREE = {("title",), ("auditors",)}
"""What a forger may write who makes every hash anew: it claims nothing."""


def test_no_field_of_the_certificate_can_be_changed(original: Path, tmp_path: Path) -> None:
    """Every field, one at a time, with every hash made anew; the statement stays, or is that of the changed fields."""
    genuine = load(original / "published/certificate.json")
    tried = 0
    files = checker.read_folder(str(original / "published"))
    auditors = checker.read_folder(str(original / "auditors"))
    manifest = json.loads(files["manifest.json"])
    for path in leaves(genuine):
        if not path or path[:1] in FREE or path[:3:2] == ("tables", "files"):
            continue
        for value in other(at(genuine, path)):
            if value == at(genuine, path) and type(value) is type(at(genuine, path)):
                continue
            forged = copy.deepcopy(genuine)
            at(forged, path[:-1])[path[-1]] = value
            files["certificate.json"] = json.dumps(forged).encode()
            manifest["files"]["certificate.json"] = checker.hashlib.sha256(files["certificate.json"]).hexdigest()
            repeat(manifest, forged)
            files["manifest.json"] = json.dumps(manifest).encode()
            result = checker.check(files, auditors)
            assert result.outcome == "fails", (path, value)
            tried += 1
    assert tried > 200


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def test_no_count_of_a_witness_can_be_changed(original: Path) -> None:
    """One more, one less, at every place, with every hash made anew."""
    files, auditors = (checker.read_folder(str(original / name)) for name in ("published", "auditors"))
    genuine = json.loads(auditors["witnesses.json"])
    for number, table in enumerate(genuine["questions"][0]["tables"]):
        for place in range(len(table)):
            for step in (1, -1):
                forged = copy.deepcopy(genuine)
                forged["questions"][0]["tables"][number][place] += step
                assert checked_with(files, auditors, forged).outcome == "fails"


def checked_with(files: checker.Files, auditors: checker.Files, witnesses: Document, **more: str) -> checker.Result:
    """What the checker says of other witnesses whose hashes, and all that depend on them, were made anew."""

    def sha(content: bytes) -> str:
        return checker.hashlib.sha256(content).hexdigest()

    held = {**auditors, "witnesses.json": json.dumps(witnesses).encode()}
    inner = json.loads(held["manifest.json"])
    inner["files"]["witnesses.json"] = sha(held["witnesses.json"])
    held["manifest.json"] = json.dumps(inner).encode()
    certificate, manifest = json.loads(files["certificate.json"]), json.loads(files["manifest.json"])
    certificate["auditors"] = manifest["auditors"] = sha(held["manifest.json"])
    published = {**files, "certificate.json": json.dumps(certificate).encode()}
    manifest["files"]["certificate.json"] = sha(published["certificate.json"])
    published["manifest.json"] = json.dumps(manifest).encode()
    return checker.check(published, held)


def true_table_only(out: Path) -> None:
    """The true answers as the only witness: they fit, and show nothing."""
    order = [tuple(row.split(",")[:2]) for row in (out / "auditors/roll.csv").read_text().splitlines()[1:]]
    (question,) = load(out / "published/certificate.json")["questions"]
    true = [n for cell in order for n in (STAFF[cell][0] - STAFF[cell][1], STAFF[cell][1])]
    assert question["options"] == ["no", "yes"]
    edit(out / "auditors/witnesses.json", lambda held: held["questions"][0].update(tables=[true], moves=[], fixed=[]))


def true_table_said_to_be_linear(out: Path) -> None:
    true_table_only(out)
    edit(out / "published/certificate.json", lambda stated: stated.update(proved="linear", linear=1_000_000))


def other_statement(out: Path) -> None:
    words = "Epsilon 0: nobody infers anything."
    edit(out / "published/certificate.json", lambda stated: stated.update(statement=words))


def weaker_limit_in_the_same_words(out: Path) -> None:
    edit(out / "published/certificate.json", lambda stated: stated["target"].update(beta="1/10000"))


def moved_down(out: Path) -> None:
    """Signed files one folder further down, false ones beside."""
    inner = out / "published/published"
    shutil.copytree(out / "published", inner)
    (out / "published/site.csv").write_text((out / "published/site.csv").read_text().replace("144", "244"))


def link_to_the_parent(out: Path) -> None:
    (out / "published/up").symlink_to(out, target_is_directory=True)


def link_to_the_certificate(out: Path) -> None:
    (out / "published/other.json").symlink_to(out / "published/certificate.json")


def two_columns_of_counts(out: Path) -> None:
    path = out / "published/site.csv"
    head, *rows = path.read_text().splitlines()
    path.write_text("\n".join([f"{head},count", *(f"{row},1" for row in rows)]) + "\n")


def a_key_twice(out: Path) -> None:
    path = out / "published/total.json"
    path.write_text(path.read_text().replace('"count": 315', '"count": 1, "count": 315'))


def not_a_number(out: Path) -> None:
    path = out / "published/total.json"
    path.write_text(path.read_text().replace('"count": 315', '"count": NaN'))


def a_mark_in_the_middle(out: Path) -> None:
    path = out / "published/site.csv"
    path.write_text(path.read_text().replace("Basel", "\ufeffBasel"))


def page_with_other_numbers(out: Path) -> None:
    path = out / "published/index.html"
    path.write_text(re.sub(r'(class="number">)144<', r"\g<1>244<", path.read_text()))


def page_with_other_data(out: Path) -> None:
    path = out / "published/index.html"
    path.write_text(path.read_text().replace('"no", 144,', '"no", 244,'))


def other_roll(out: Path) -> None:
    path = out / "auditors/roll.csv"
    path.write_text(path.read_text().replace(",160", ",161"))


def more_groups(out: Path) -> None:
    """A group of people that no row is about: its categories are taken off the list."""

    def change(stated: Document) -> None:
        site = next(table for table in stated["tables"] if table["axes"] == ["site"])
        site["groups"][0]["Chur | Davos"] = ["Chur"]

    edit(out / "published/certificate.json", change)


def other_sums(out: Path) -> None:
    edit(out / "published/certificate.json", lambda stated: stated["questions"][0].update(people=693))


FORGERIES = {
    true_table_only: "does not show",
    true_table_said_to_be_linear: "has other keys",
    other_statement: "its statement does not follow from it",
    weaker_limit_in_the_same_words: "does not follow",
    moved_down: "is a link or a folder",
    link_to_the_parent: "is a link or a folder",
    link_to_the_certificate: "is a link or a folder",
    two_columns_of_counts: "two of one name",
    a_key_twice: "has a key twice",
    not_a_number: "has the number NaN",
    a_mark_in_the_middle: "byte order mark",
    page_with_other_numbers: "shows other numbers than the tables",
    page_with_other_data: "block of data holds other numbers",
    other_roll: "people",
    more_groups: "is not the name of its categories",
    other_sums: "share does not follow",
}


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
@pytest.mark.parametrize("sealed", [True, False])
def test_forgery(out: Path, forge: Callable[[Path], None], sealed: bool) -> None:
    forge(out)
    if sealed and forge not in (moved_down, link_to_the_parent, link_to_the_certificate):
        reseal(out)
    result = found(out)
    assert result.outcome == "fails"
    if sealed:
        assert FORGERIES[forge] in result.failures[0]


@pytest.mark.parametrize("name", ["published/more.csv", "published/.hidden", "auditors/more.json"])
def test_added_files(out: Path, name: str) -> None:
    (out / name).write_text("x")
    assert "lies in the folder, but its manifest does not name it" in found(out).failures[0]


@pytest.mark.parametrize("name", ["certificate.json", "manifest.json", "site.csv", "index.html"])
def test_files_of_another_release(out: Path, tmp_path: Path, name: str) -> None:
    released({**STAFF, ("Aarau", "junior"): (160, 71)}).write(tmp_path / "other")
    shutil.copy(tmp_path / "other/published" / name, out / "published" / name)
    assert found(out).outcome == "fails" and verify(out / "published").outcome == "fails"


def test_auditors_of_another_release(out: Path, tmp_path: Path) -> None:
    released(STAFF).write(tmp_path / "other")
    result = verify(out / "published", auditors=tmp_path / "other/auditors")
    assert result.failures == ("auditors: is not the folder that the certificate commits to",)


def test_other_witnesses_do_not_explain_the_rule(out: Path) -> None:
    edit(out / "auditors/witnesses.json", lambda held: held["questions"][0].update(fixed=[]))
    reseal(out)
    assert found(out).outcome == "holds"
    assert "fixes no sums that explain why site Chur | Davos is merged" in found(out, rerun=True).failures[0]


# Signatures


def test_signatures_bind_the_folder(out: Path, tmp_path: Path) -> None:
    sign(key=tmp_path / "k", new=True)
    sign(key=tmp_path / "other", new=True)
    assert "is missing or empty" in found(out, key=tmp_path / "k.pub").failures[0]
    sign(out, key=tmp_path / "k")
    assert found(out, key=tmp_path / "k.pub").outcome == "holds"
    assert "was made with another key" in found(out, key=tmp_path / "other.pub").failures[0]
    edit(out / "published/certificate.json", lambda stated: stated.update(title="Other"))
    reseal(out)
    assert found(out).outcome == "holds"
    assert "does not sign manifest.json as it is" in found(out, key=tmp_path / "k.pub").failures[0]


# Nothing in `published` depends on the confidential roll


def test_published_files_are_no_function_of_the_roll(tmp_path: Path) -> None:
    """Two joint rolls and answers with the same published tables: the same files but for the random commitment.

    A guesser who compares anything in `published` with what a guessed roll would give has nothing to compare.
    """
    moved = {**STAFF}
    for cell, people, yes in ((("Aarau", "junior"), 10, 5), (("Basel", "senior"), 10, 5)):
        moved[cell] = (STAFF[cell][0] - people, STAFF[cell][1] - yes)
    for cell, people, yes in ((("Aarau", "senior"), 10, 5), (("Basel", "junior"), 10, 5)):
        moved[cell] = (STAFF[cell][0] + people, STAFF[cell][1] + yes)
    contents = []
    for number, staff in enumerate((STAFF, moved, STAFF)):
        released(staff).write(tmp_path / str(number))
        place = tmp_path / str(number) / "published"
        texts = {path.name: path.read_text() for path in sorted(place.iterdir())}
        commitment = load(place / "certificate.json")["auditors"]
        known = [commitment, *(digest(place / name) for name in ("certificate.json", "index.html"))]
        for mark in known:
            texts = {name: text.replace(mark, "?") for name, text in texts.items()}
        contents.append((texts, commitment))
    assert contents[0][0] == contents[1][0] == contents[2][0]
    # The commitment is salted: the same roll gives another one, so a guess cannot be tested against it.
    assert len({commitment for _, commitment in contents}) == 3
    salts = {load(tmp_path / str(number) / "auditors/manifest.json")["salt"] for number in range(3)}
    assert len(salts) == 3 and all(re.fullmatch("[0-9a-f]{64}", salt) for salt in salts)


def test_guesses_of_the_roll_cannot_be_tested(tmp_path: Path) -> None:
    """A guesser hashes every roll that fits the printed margins in each way that files write one: no hash occurs."""
    staff = {("a", "x"): (40, 20), ("a", "y"): (41, 20), ("b", "x"): (42, 21), ("b", "y"): (43, 22)}
    released(staff).write(tmp_path / "out")
    texts = "".join(path.read_text() for path in (tmp_path / "out/published").iterdir())
    hashes = set(re.findall(r"\b[0-9a-f]{64}\b", texts))
    files = checker.read_folder(str(tmp_path / "out/published"))
    known = {checker.hashlib.sha256(content).hexdigest() for content in files.values()}
    (commitment,) = hashes - known
    witnesses, rule = ((tmp_path / "out/auditors" / name).read_bytes() for name in ("witnesses.json", "rule.json"))
    for n in range(82):
        counts = [n, 81 - n, 82 - n, 84 - 81 + n]
        rows = [f"{site},{grade},{people}" for (site, grade), people in zip(staff, counts, strict=True)]
        roll = ("\n".join(["site,grade,people", *rows]) + "\n").encode()
        inner = {"schema": 2, "kind": "auditors", "files": {"roll.csv": checker.hashlib.sha256(roll).hexdigest()}}
        for guess in (roll, roll + witnesses, roll + witnesses + rule, json.dumps(inner).encode()):
            assert checker.hashlib.sha256(guess).hexdigest() not in hashes
    assert commitment == digest(tmp_path / "out/auditors/manifest.json")


def test_witnesses_follow_from_what_is_public(original: Path, tmp_path: Path) -> None:
    """Other answers that lead to the same files lead to the same witnesses, byte for byte."""
    held = load(original / "auditors/witnesses.json")["questions"][0]
    (question,) = load(original / "published/certificate.json")["questions"]
    yes = question["options"].index("yes")
    rows = [row.split(",") for row in (original / "auditors/roll.csv").read_text().splitlines()[1:]]
    last = held["tables"][-1][yes::2]
    staff = {(site, grade): (int(n), count) for (site, grade, n), count in zip(rows, last, strict=True)}
    assert staff != STAFF
    released(staff, title="Staff").write(tmp_path / "out")
    for name in ("roll.csv", "witnesses.json", "rule.json"):
        assert (tmp_path / "out/auditors" / name).read_bytes() == (original / "auditors" / name).read_bytes()
    for name in ("site.csv", "grade.json", "total.csv"):
        assert (tmp_path / "out/published" / name).read_bytes() == (original / "published" / name).read_bytes()


# Random cities


def city(seed: int) -> tuple[list[dict[str, object]], list[str]]:
    rng = np.random.default_rng(seed)
    axes = [f"a{number}" for number in range(int(rng.integers(2, 4)))]
    sizes, options = rng.integers(2, 5, len(axes)), int(rng.integers(2, 4))
    share = float(rng.choice([0.5, 0.8, 0.93]))
    counts: dict[tuple[str, ...], int] = {}
    for _ in range(int(rng.integers(60, 1500))):
        profile = tuple(f"c{rng.integers(0, size)}" if rng.random() < 0.7 else "c0" for size in sizes)
        answer = "yes" if rng.random() < share else "no" if options == 2 or rng.random() < 0.6 else "maybe"
        counts[*profile, answer] = counts.get((*profile, answer), 0) + 1
    return [dict(zip(axes, key, strict=False)) | {"v": key[-1], "n": n} for key, n in counts.items()], axes


@pytest.mark.parametrize("seed", seeds(0, 8, 300))
def test_random_cities_hold_and_forged_ones_fail(seed: int, tmp_path: Path) -> None:
    rows, axes = city(seed)
    try:
        made = release(rows, answer="v", count="n", by=axes)
    except RefusedError:
        return
    made.write(tmp_path / "out")
    files, auditors = (checker.read_folder(str(tmp_path / "out" / name)) for name in ("published", "auditors"))
    result = checker.check(files, auditors)
    assert result.outcome == "holds", result.failures
    witnesses, rng = json.loads(auditors["witnesses.json"]), np.random.default_rng(seed)
    for _ in range(3):
        forged = copy.deepcopy(witnesses)
        table = forged["questions"][0]["tables"][int(rng.integers(len(witnesses["questions"][0]["tables"])))]
        table[int(rng.integers(len(table)))] += 1
        assert checked_with(files, auditors, forged).outcome == "fails"


def intervals(people: list[int], printed: dict[tuple[int, ...], int]) -> list[tuple[int, int]]:
    """By enumeration: the least and most yes of each of four profiles, over all tables with these sums."""
    possible = [
        table
        for table in product(*(range(n + 1) for n in people))
        if all(sum(table[place] for place in places) == count for places, count in printed.items())
    ]
    return [(min(column), max(column)) for column in zip(*possible, strict=True)]


@pytest.mark.parametrize("seed", seeds(0, 8, 300))
def test_what_holds_is_not_disclosed_by_enumeration(seed: int, tmp_path: Path) -> None:
    """Four profiles, every table enumerated: no cell of a certificate that holds is disclosed by the definition."""
    rng = np.random.default_rng(seed)
    people = rng.integers(4, 13, 4).tolist()
    yes = [int(rng.integers(0, n + 1)) for n in people]
    cells = list(product("ab", "xy"))
    rows = [
        {"row": r, "column": c, "v": word, "n": n}
        for (r, c), all_, some in zip(cells, people, yes, strict=True)
        for word, n in (("yes", some), ("no", all_ - some))
    ]
    target = Target(beta=0.1, kappa=8, tau=1)
    try:
        made = release(rows, answer="v", count="n", by=["row", "column"], target=target)
    except RefusedError:
        return
    made.write(tmp_path / "out")
    if found(tmp_path / "out").outcome != "holds":
        return
    printed: dict[tuple[int, ...], int] = {(0, 1, 2, 3): sum(yes)}
    places = {"row": lambda cell: cell[0], "column": lambda cell: cell[1]}
    for table in load(tmp_path / "out/published/certificate.json")["tables"]:
        if len(table["axes"]) == 1:
            of = places[table["axes"][0]]
            for group in table["groups"][0].values():
                inside = tuple(n for n, cell in enumerate(cells) if of(cell) in group)
                printed[inside] = sum(yes[n] for n in inside)
    total, everybody = sum(yes), sum(people)
    for (low, high), n in zip(intervals(people, printed), people, strict=True):
        for first, last, all_ in ((low, high, total), (n - high, n - low, everybody - total)):
            share, near = all_ / everybody, min(1, n // 4)
            ceiling = 1 - min(0.1, (1 - share) / 2)
            before = max(all_ - (everybody - n), 0), min(all_, n)
            disclosed = [
                not (n >= 8 and b <= ceiling * n) and (a > ceiling * n or (b - a <= near and a >= 1))
                for a, b in ((first, last), before)
            ]
            assert share in (0, 1) or not disclosed[0] or disclosed[1]


def test_rerun_is_for_releases(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"schema": 1, "kind": "bounds"}')
    with pytest.raises(InputError, match="rerun: is for certificates of releases"):
        verify(tmp_path / "c.json", tmp_path, rerun=True)

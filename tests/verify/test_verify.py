"""Certificates on disk: files, seals, hashes, the certificate of a release, and the command."""

import copy
import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cases import margin, rolls, town
from commands import Run, in_process
from loaded import imported
from safemargin.bounds import SourceFile, Verification, digest, infer, prove_intervals
from safemargin.core import UNBOUNDED, InputError, Onlooker, PublishedTable, Target
from safemargin.io import hash_file, read_tidy
from safemargin.verify.verify import verify

pytestmark = pytest.mark.full

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


def test_no_solver_is_within_reach() -> None:
    """Follow the imports of the verifier, file by file."""
    loaded_later = ["bounds.check", "bounds.certificate", "suppress.check", "verify.questions", "release.witnesses"]
    waiting, seen = ["safemargin.verify.verify", *(f"safemargin.{name}" for name in loaded_later)], set()
    outside: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        path = SOURCE / Path(*name.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if path.is_file():  # not the name of something in a module
            names = imported(path)
            waiting += [other for other in names if other.startswith("safemargin")]
            waiting += [other.rpartition(".")[0] for other in names if other.startswith("safemargin.")]
            outside |= {other.split(".")[0] for other in names} - {"safemargin"}
    assert "safemargin.bounds.system" in seen
    allowed = {"system", "build", "effort", "certificate", "check", "verification"}
    modules = {path.stem for path in (SOURCE / "safemargin" / "bounds").glob("*.py")}
    assert {name.split(".")[2] for name in seen if name.startswith("safemargin.bounds.")} & modules <= allowed
    assert not outside & {"highspy", "ortools", "cvxpy", "clarabel"}


def write(table: PublishedTable, path: Path) -> Path:
    """A tidy file with a range per row, or people in a roll."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        option = ["option"] if table.options else []
        writer.writerow([*table.axes, *option, *(["people"] if table.is_roll else ["lower", "upper"])])
        for row, lower in enumerate(table.lower.tolist()):
            upper = int(table.upper[row])
            ends = [lower] if table.is_roll else [lower, "" if upper >= UNBOUNDED else upper]
            chosen = [table.options[table.option[row]]] if table.options else []
            writer.writerow([*table.cell(row).values(), *chosen, *ends])
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Tables, a joint roll, and the certificate of their intervals."""
    place = town(np.random.default_rng(11), axes=2, options=2, people=40, fill=1.0, covering=False)
    for axes in ((), ("p",), ("q",)):
        write(margin(place, axes), tmp_path / f"{'x'.join(axes) or 'total'}.csv")
    write(rolls(place, "joint")[0], tmp_path / "roll.csv")
    paths = {name: tmp_path / f"{name}.csv" for name in ("total", "p", "q", "roll")}
    tables = [read_tidy(paths[name]) for name in ("total", "p", "q")]
    onlooker = Onlooker(roll=(read_tidy(paths["roll"], count="people"),))
    sources = [SourceFile(paths[name].name, "table", hash_file(paths[name])) for name in ("total", "p", "q")]
    sources.append(SourceFile(paths["roll"].name, "roll", hash_file(paths["roll"]), count="people"))
    proofs = prove_intervals(tables, onlooker, infer(tables, onlooker), sources, target=Target(kappa=10, tau=0))
    (tmp_path / "proofs").mkdir()
    (tmp_path / "proofs" / "c.json").write_text(json.dumps(proofs.document()))
    return tmp_path


def verified(folder: Path, *names: str) -> Verification:
    files = [folder / name for name in names or (".",)]
    return verify(folder / "proofs" / "c.json", files)


def refused(folder: Path, *names: str) -> bool:
    try:
        return not verified(folder, *names).holds
    except InputError:
        return True


def test_verifying_loads_no_solver(folder: Path) -> None:
    script = """
import sys
from pathlib import Path
from safemargin.verify.verify import verify

found = verify(Path(sys.argv[1]), [Path(sys.argv[2])])
print(found.holds, found.proved, [name for name in ("highspy", "scipy.optimize") if name in sys.modules])
"""
    run = subprocess.run(
        [sys.executable, "-c", script, str(folder / "proofs" / "c.json"), str(folder)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout.strip()) == (0, f"True {verified(folder).proved} []"), run.stderr


@pytest.mark.slow
def test_no_command_loads_the_solver_before_it_needs_it() -> None:
    script = (
        "import sys; from safemargin.cli import app; app(); "
        "print([name for name in ('highspy', 'scipy.optimize', 'opendp') if name in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.strip()) == (0, "[]"), run.stderr


def test_files_are_found_in_a_folder_or_by_name(folder: Path) -> None:
    found = verified(folder)
    assert found.holds and found.files == 4 and found.proved == 2 * found.cells
    certificate_, tables = folder / "proofs" / "c.json", [folder / f"{name}.csv" for name in ("q", "total", "p")]
    assert verify(certificate_, tables, [folder / "roll.csv"]) == found
    with pytest.raises(InputError, match="roll.csv: the certificate speaks about this file; give it as `roll`"):
        verify(certificate_, tables)
    assert not verify(certificate_, [*tables, folder / "roll.csv"], [folder / "roll.csv"]).holds


def test_changed_swapped_lost_and_added_files(folder: Path) -> None:
    kept = (folder / "p.csv").read_bytes()
    (folder / "p.csv").write_bytes(kept.replace(b"1", b"2", 1))
    assert "p.csv: is not the file" in verified(folder).failures[0]
    (folder / "p.csv").write_bytes(kept)
    (folder / "q.csv").rename(folder / "r.csv")
    assert refused(folder)
    (folder / "p.csv").rename(folder / "q.csv")
    (folder / "r.csv").rename(folder / "p.csv")
    assert refused(folder)
    (folder / "p.csv").rename(folder / "r.csv")
    (folder / "q.csv").rename(folder / "p.csv")
    (folder / "r.csv").rename(folder / "q.csv")
    (folder / "new.csv").write_text("count\n7\n")
    assert verified(folder).failures[0].startswith("new.csv: lies in the folder")
    assert "does not speak about" in verified(folder, ".", "new.csv").failures[0]
    (folder / "new.csv").unlink()
    assert verified(folder).holds


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every value in a document stands."""
    if path:
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from leaves(child, (*path, key))


def test_any_change_to_the_file_breaks_the_seal(folder: Path) -> None:
    file = folder / "proofs" / "c.json"
    document = json.loads(file.read_text())
    everywhere = list(leaves(document))
    rng = np.random.default_rng(5)
    for number in rng.choice(len(everywhere), 120, replace=False).tolist():
        changed = copy.deepcopy(document)
        *way, last = everywhere[number]
        inside = changed
        for key in way:
            inside = inside[key]
        value = inside[last]
        if isinstance(value, int) and rng.random() < 0.6:
            inside[last] = value + 1
        elif isinstance(value, str) and rng.random() < 0.6:
            inside[last] = f"{value}x"
        else:
            del inside[last]
        file.write_text(json.dumps(changed))
        assert refused(folder), everywhere[number]
    file.write_text(json.dumps(document, indent=3, sort_keys=True))
    assert verified(folder).holds  # the layout is not the content


def test_a_resealed_change_is_still_refused(folder: Path) -> None:
    file = folder / "proofs" / "c.json"
    document = json.loads(file.read_text())
    document["cells"][0]["upper"]["value"] -= 1
    document["sha256"] = digest(document)
    file.write_text(json.dumps(document))
    found = verified(folder)
    name = ", ".join([*document["cells"][0]["cell"].values(), document["cells"][0]["option"]])
    assert found.failures[0].startswith(f"{name}: upper end: ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not JSON"),
        ("[]", "is not a certificate"),
        ('{"schema": 2}', "schema 1"),
        ('{"schema": 1, "schema": 1}', "a key occurs twice"),
        ('{"schema": 1}', "is not a certificate"),
        ('{"schema": 1, "kind": "bounds", "axes": []}', "has no 'files'"),
        ('{"schema": 1, "kind": "bounds", "files": 1}', "files: 1 is not a list"),
        ('{"schema": 1, "kind": "bounds", "files": [{"name": 1}]}', "files: name: 1 is not a text"),
    ],
)
def test_bad_certificates_are_named(tmp_path: Path, text: str, words: str) -> None:
    if "kind" in text:
        document = json.loads(text)
        text = json.dumps({**document, "sha256": digest(document)})
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(InputError, match=words):
        verify(tmp_path / "c.json", [tmp_path])


def test_command(run: Run, folder: Path) -> None:
    tables, roll = [folder / f"{name}.csv" for name in ("total", "p", "q")], folder / "roll.csv"
    written = folder / "proofs" / "d.json"
    assert run("audit", *tables, "--roll", roll, "--certificate", written).code in (0, 1)
    good = run("verify", written, *tables, "--roll", roll)
    assert good.code == 0 and "every hash matches" in good.out and "proved" in good.out
    assert run("verify", written, folder, "--json").document["holds"] is True
    written.write_text(written.read_text().replace('"denominator": 1', '"denominator": 2', 1))
    bad = run("verify", written, folder, "--json")
    assert bad.code == 1 and bad.document["holds"] is False
    assert "its seal does not match" in run("verify", written, folder).out
    assert run("verify", folder / "none.json", folder).code == 2
    assert run("verify", written, folder, folder / "none.csv").code == 2
    assert run("audit", *tables, "--decide", "--certificate", written).code == 2


def test_certificate_says_how_its_files_are_read(run: Run, tmp_path: Path) -> None:
    text = "place,colour,votes,party\nx,red,5,A\nx,all,5,A\ny,red,7,A\ny,all,7,A\n"
    (tmp_path / "a.csv").write_text(text)
    reading = ["--count", "votes", "--option", "party", "--by", "place", "--skip", "colour=all"]
    written = tmp_path / "c.json"
    assert run("audit", tmp_path / "a.csv", *reading, "--certificate", written).code in (0, 1)
    refused = run("verify", written, tmp_path / "a.csv")
    assert refused.code == 1 and "a.csv: the certificate reads it with count = 'votes', not 'count'" in refused.out
    said = run("verify", written, tmp_path / "a.csv", *reading)
    assert said.code == 0
    assert "Not checked: a.csv: rows with colour = 'all', which the certificate omits (skip colour=all)." in said.out
    stated = run("verify", written, tmp_path / "a.csv", *reading, "--json").document["unchecked"]
    assert isinstance(stated, list) and len(stated) == 1 and "skip colour=all" in stated[0]


@pytest.mark.parametrize("known", [["--roll"], ["--roll", "--fact"]])
def test_certificate_of_a_roll_without_people(run: Run, tmp_path: Path, known: list[str]) -> None:
    table, written = tmp_path / "t.csv", tmp_path / "c.json"
    files = {"--roll": tmp_path / "roll.csv", "--fact": tmp_path / "fact.csv"}
    table.write_text("r,option,count\na,yes,0\nb,yes,0\n")
    files["--roll"].write_text("r,people\na,0\nb,0\n")
    files["--fact"].write_text("r,option,count\na,yes,0\n")
    given = [part for name in known for part in (name, files[name])]
    assert run("audit", table, *given, "--certificate", written).code == 0
    assert run("verify", written, table, *given).code == 0

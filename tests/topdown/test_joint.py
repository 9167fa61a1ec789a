"""Households and persons together, microdata, folders of unfinished runs, and flat noise, from their definitions."""

import json
import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest

import safemargin
from safemargin.core import InputError
from safemargin.guarantees.guarantee_file import read_guarantee
from safemargin.topdown.accuracy import CELLS, FLAT, GAUSSIAN, PEOPLE
from safemargin.topdown.report import TopDownRelease
from safemargin.topdown.topdown import JointRelease

pytestmark = pytest.mark.full

BLOCKS = [f"b{n}" for n in range(6)]
AREAS = [(f"t{n // 3}", block) for n, block in enumerate(BLOCKS)]
SIZES = {"1": (1, 1), "2": (2, 2), "3+": (3, 9)}

HOUSEHOLDS = """
[data]
file = "households.csv"
unit = "household"
[spine]
root = "land"
levels = ["tract", "block"]
file = "areas.csv"
[attributes]
size = ["1", "2", "3+"]
[budget]
rho_squared = 2
levels = { land = "1/4", tract = "1/4", block = "1/2" }
queries = { detailed = 1 }
[[invariants]]
level = "block"
query = "total"
"""
PERSONS = """
[data]
file = "persons.csv"
[spine]
root = "land"
levels = ["tract", "block"]
file = "areas.csv"
[attributes]
sex = ["f", "m"]
home = ["household", "quarters"]
[budget]
rho_squared = 1
levels = { land = "1/4", tract = "1/4", block = "1/2" }
queries = { total = "1/4", detailed = "3/4" }
"""
JOINT = """
[joint]
households = "households.toml"
persons = "persons.toml"
size = "size"
sizes = { "1" = [1, 1], "2" = [2, 2], "3+" = [3, 9] }
living = "home"
inside = "household"
"""


@pytest.fixture
def land(tmp_path: Path) -> Path:
    homes, people = ["tract,block,size"], ["tract,block,sex,home"]
    for number, (tract, block) in enumerate(AREAS):
        for home in range(8):
            size = (1, 2, 2, 4, 3, 1, 5, 2)[(home + number) % 8]
            homes.append(f"{tract},{block},{size if size < 3 else '3+'}")
            people += [f"{tract},{block},{'fm'[(home + person) % 2]},household" for person in range(size)]
        people += [f"{tract},{block},m,quarters"] * (number % 3)
    for name, lines in (("households", homes), ("persons", people), ("areas", ["tract,block", *map(",".join, AREAS)])):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    for name, text in (("households", HOUSEHOLDS), ("persons", PERSONS), ("joint", JOINT)):
        (tmp_path / f"{name}.toml").write_text(text)
    return tmp_path


def rows(path: Path, query: str = "*") -> list[tuple[object, ...]]:
    with duckdb.connect() as database:
        return database.execute(f"select {query} from '{path}'").fetchall()


def test_persons_fit_into_households_in_every_block(land: Path) -> None:
    found = safemargin.topdown(land / "joint.toml", land / "out")
    assert isinstance(found, JointRelease)
    homes = rows(land / "out/households/published/microdata.parquet", "tract, block, size")
    people = rows(land / "out/persons/published/microdata.parquet", "tract, block, sex, home")
    assert len(homes) == 48  # the number of households of every block is exact
    assert len(people) == len((land / "persons.csv").read_text().splitlines()) - 1
    for tract, block in AREAS:
        sizes = [SIZES[str(size)] for t, b, size in homes if (t, b) == (tract, block)]
        living = sum((t, b, home) == (tract, block, "household") for t, b, _, home in people)
        assert len(sizes) == 8 and sum(low for low, _ in sizes) <= living <= sum(high for _, high in sizes)
    for name in ("households", "persons"):
        folder = land / "out" / name / "published"
        table = {row[:-1]: row[-1] for row in rows(next(folder.glob("tables/2-*")), "* exclude (status)")}
        records = [row[1:] for row in (homes if name == "households" else people)]
        assert {key: records.count(key) for key in table} == table
        assert safemargin.topdown(folder).agrees  # type: ignore[union-attr]
    guarantee = read_guarantee(land / "out/guarantee.json")
    assert guarantee == found.guarantee and guarantee.budget == Fraction(7)
    assert str(guarantee.change) == "one person record changed" and found.to_json()["rho_squared"] == "7"
    assert "number of households by block" in map(str, guarantee.invariants)
    assert "Households and persons together: rho² = 7 per person" in found.to_text()
    assert "Do not publish" in (land / "out/confidential/report.html").read_text()
    again = safemargin.topdown(land / "joint.toml", land / "out")  # nothing is drawn again
    assert rows(land / "out/persons/published/microdata.parquet") and again.to_json()["rho_squared"] == "7"


CROWDED = {
    "nobody lives elsewhere": ('\n[[zeros]]\nhome = ["quarters"]\n', True),
    "exact totals of tracts": ('\n[[invariants]]\nlevel = "tract"\n', False),
}


@pytest.mark.parametrize(("more", "exactly"), CROWDED.values(), ids=CROWDED)
def test_households_keep_to_the_exact_number_of_persons(land: Path, more: str, exactly: bool) -> None:
    """Nobody lives outside households, and much noise moves their sizes: without a constraint they hold more or fewer
    people than there are in nearly all draws.
    """
    (land / "persons.toml").write_text(PERSONS + more)
    (land / "households.toml").write_text(HOUSEHOLDS.replace("rho_squared = 2", 'rho_squared = "1/50"'))
    sizes = {"1": (1, 1), "2": (2, 2), "3+": (3, 3)}
    (land / "joint.toml").write_text(JOINT.replace("[3, 9]", "[3, 3]"))
    homes = [line.split(",") for line in (land / "households.csv").read_text().splitlines()[1:]]
    fitting = [f"{t},{b},{'fm'[n % 2]},household" for t, b, size in homes for n in range(sizes[size][0])]
    (land / "persons.csv").write_text("\n".join(["tract,block,sex,home", *fitting[1:]]) + "\n")
    with pytest.raises(
        InputError, match=r"households\.toml: .*: its households do not fit the exact counts of persons"
    ):
        safemargin.topdown(land / "joint.toml", land / "out")  # one person is missing
    assert not (land / "out").exists()
    (land / "persons.csv").write_text("\n".join(["tract,block,sex,home", *fitting]) + "\n")
    assert isinstance(safemargin.topdown(land / "joint.toml", land / "out"), JointRelease)
    published = rows(land / "out/households/published/microdata.parquet", "tract, size")
    for tract in ("t0", "t1", ""):
        there = sum(line.startswith(tract) for line in fitting)
        held = sum(sizes[str(size)][0] for name, size in published if str(name).startswith(tract))
        if exactly and not tract:
            assert held == there
        elif not exactly:
            assert held <= there
    assert safemargin.topdown(land / "out/households/published").agrees  # type: ignore[union-attr]
    assert safemargin.topdown(land / "out/persons/published").agrees  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("joint", 'inside = "household"', 'inside = "house"', "joint.inside = 'house': must be a category of home"),
        ("joint", '"2" = [2, 2], ', "", "joint.sizes: category '2' of size has no least and most"),
        ("joint", 'living = "home"', "", "joint.living is missing"),
        ("households", 'unit = "household"', "", "data.unit: say what a record is"),
        ("persons", 'file = "areas.csv"', 'file = "fewer.csv"', "its areas are not those of"),
    ],
)
def test_wrong_joint_files_are_refused(land: Path, file: str, old: str, new: str, message: str) -> None:
    (land / "fewer.csv").write_text("\n".join(["tract,block", *map(",".join, AREAS), "t9,b9"]) + "\n")
    path = land / f"{file}.toml"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError, match=message):
        safemargin.topdown(land / "joint.toml", land / "out")
    with pytest.raises(InputError, match="one by one"):
        safemargin.topdown(land / "joint.toml", land / "other", plan=True)


def test_flat_noise_is_on_the_smallest_areas(land: Path) -> None:
    """Gaussian noise of variance 1 / rho on every count of a block; it adds up over blocks."""
    found = safemargin.topdown(land / "persons.toml", land / "flat")
    assert isinstance(found, TopDownRelease)
    errors = {(e.method, e.level, e.counts): e.rmse for e in found.accuracy.levels}
    for level, blocks in (("block", 1), ("tract", 3), ("land", 6)):
        assert errors[GAUSSIAN, level, CELLS] == pytest.approx(np.sqrt(blocks))
        assert errors[GAUSSIAN, level, PEOPLE] == pytest.approx(np.sqrt(4 * blocks))
        assert errors[GAUSSIAN, level, CELLS] < errors[FLAT, level, CELLS]


KILLED = """
import os, signal, sys
import safemargin
from safemargin.topdown import run
whole = run._write_manifest
def killed(*options):
    os.kill(os.getpid(), signal.SIGKILL)
run._write_manifest = killed
safemargin.topdown(sys.argv[1], sys.argv[2])
"""


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_killed_run_publishes_nothing_and_is_resumed(land: Path) -> None:
    out = land / "out"
    ran = subprocess.run([sys.executable, "-c", KILLED, str(land / "persons.toml"), str(out)], check=False)
    assert ran.returncode == -signal.SIGKILL
    assert (out / "unfinished/noisy").exists() and not (out / "published").exists()
    noise = {path.name: path.read_bytes() for path in (out / "unfinished/noisy").iterdir()}
    draft = out / "unfinished/.tables.draft"
    draft.write_text("half")
    safemargin.topdown(land / "persons.toml", out)
    assert not (out / "unfinished").exists() and not (out / "published/.tables.draft").exists()
    assert {path.name: path.read_bytes() for path in (out / "published/noisy").iterdir()} == noise
    assert json.loads((out / "published/manifest.json").read_text())["files"]

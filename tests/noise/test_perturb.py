"""The commands about p-tables and the cell key method, from files to files."""

import csv
import io
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pytest

from cell_key_vectors import CELLS, PERTURBED, PTABLES, WEIGHTED
from commands import Run, in_process
from safemargin import noise
from safemargin.core import InputError, numpy_generator
from safemargin.noise.perturb import perturb
from safemargin.samplers import epsilon_at, ptable, request

pytestmark = pytest.mark.full

TRUTH = Path(__file__).parents[3] / "shared" / "truth" / "cellkey"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def reference_file(folder: Path, setting: tuple[int, str, int]) -> Path:
    """The p-table as the reference package prints it."""
    lines = ["i,j,p,v"]
    for count, law in PTABLES[setting].items():
        lines += [f"{count},{count + v},{p:.8f},{v}" for v, p in law.items()]
    (folder / "ptable.csv").write_text("\n".join(lines) + "\n")
    return folder / "ptable.csv"


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    """The inner cells of the reference's test data, with their keys."""
    lines = ["sex,age,n,weight,key", *(f"{s},{a},{n},{w},{k}" for s, a, n, w, k in CELLS)]
    (tmp_path / "cells.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "cells.csv"


def test_the_p_table_as_rows(run: Run) -> None:
    ran = run("noise", "ptable", "--variance", 2, "--bound", 5, "--js", 0, "--json")
    assert ran.code == 0 and ran.err == ""
    document = json.loads(ran.out)
    rows = document["rows"]
    assert set(rows[0]) == {"count", "noise", "probability"}
    assert document["variance"] == {str(count): 2.0 for count in range(1, 6)}
    for count, law in PTABLES[5, "2", 0].items():
        mine = {row["noise"]: row["probability"] for row in rows if row["count"] == count}
        assert sum(mine.values()) == pytest.approx(1) and set(mine) == set(law)
        if count != 1:
            assert mine == pytest.approx(law, abs=2e-6)
    assert document["missed"] == [] and document["privacy"]["epsilon"]["0.01"] == pytest.approx(1.516, abs=1e-3)


def test_the_numbers_of_the_reference(run: Run) -> None:
    document = json.loads(run(*"noise ptable --variance 2 --bound 5 --compatible --json".split()).out)
    mine = {(row["count"], row["noise"]): row["probability"] for row in document["rows"]}
    expected = {(count, v): p for count, law in PTABLES[5, "2", 0].items() for v, p in law.items()}
    assert mine == pytest.approx(expected, abs=5e-7)
    assert document["variance"]["1"] == pytest.approx(1.302474, abs=1e-6)
    assert [each["words"] for each in document["missed"]] == ["count 1: the reference has variance 1.302474, not 2"]


@pytest.mark.slow
def test_the_price_of_js_of_a_table_that_is_read(run: Run, tmp_path: Path) -> None:
    made = run(*"noise ptable --variance 2.1 --bound 5 --js 2 --form ons --out".split(), tmp_path / "ons.csv", "--json")
    read = run("noise", "ptable", "--ptable", tmp_path / "ons.csv", "--json")
    prices = [ran.document["privacy"]["epsilon_without_js"]["0.01"] for ran in (made, read)]  # type: ignore[index]
    assert prices[0] == pytest.approx(epsilon_at(ptable(request(5, 2.1))[0], 0.01))
    assert prices[1] == pytest.approx(prices[0], rel=0.05)  # keys round the variance
    (tmp_path / "none.csv").write_text("i,j,p,v\n0,0,1,0\n1,0,1,-1\n2,2,1,0\n")
    assert "Without js" not in run("noise", "ptable", "--biased", "--ptable", tmp_path / "none.csv").out


def test_what_is_not_attainable_is_reported(run: Run) -> None:
    ran = run(*"noise ptable --variance 1 --bound 5 --js 2 --json".split())
    assert ran.code == 0 and "count 1: variance 1 is not attainable, nearest is 2" in ran.err
    assert [each["nearest"] for each in ran.document["missed"]] == [2.0, 2.0]  # type: ignore[attr-defined]
    assert (
        "count 1: variance 1 is not attainable, nearest is 2."
        in run(*"noise ptable --variance 1 --bound 5 --js 2".split()).out
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--variance 11 --bound 5", "nearest is 10"),
        ("--variance 2 --bound 5 --js 6", "nearest is 5"),
        ("--variance 2", "give variance and bound"),
        ("--variance 2 --bound 5 --free 1", "free needs compatible"),
        ("--variance 2 --ptable absent.csv", "absent.csv: a p-table file already defines the noise; remove variance"),
        ("--ptable absent.csv", "there is no such file"),
        ("--variance 2 --bound 5 --out no/such/folder.csv", "cannot be written"),
        ("--variance 2 --bound 5 --out x.csv --form sas", "form = sas"),
    ],
)
def test_bad_calls_are_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("noise", "ptable", *arguments.split())
    assert ran.code == 2 and words in ran.err and ran.err.count("\n") == 1 and not ran.out


@pytest.mark.slow
def test_forms_are_converted(run: Run, tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("r.csv", "argus.txt", "ons.csv"))
    assert run("noise", "ptable", "--variance", 2, "--bound", 5, "--out", first).code == 0
    assert run("noise", "ptable", "--ptable", first, "--out", second, "--form", "tau-argus").code == 0
    assert second.read_text().startswith("i;j;p;v;p_int_ub\n0;0;1;0;1\n")
    assert run("noise", "ptable", "--ptable", second, "--out", third, "--form", "ons").code == 0
    ran = run("noise", "ptable", "--ptable", third)
    assert ran.code == 0 and "721 more are not shown" in ran.out


@pytest.mark.parametrize("setting", PERTURBED, ids=str)
def test_counts_of_the_reference_cell_for_cell(
    run: Run, tmp_path: Path, cells: Path, setting: tuple[int, str, int]
) -> None:
    given = reference_file(tmp_path, setting)
    ran = run(
        *("noise", "perturb", cells, "--by", "sex,age", "--count", "n", "--record-key", "key", "--weight", "weight"),
        *("--ptable", given, "--out", tmp_path / "out"),
    )
    assert ran.code == 0 and "21 cells" in ran.out
    published = {(row["sex"], row["age"]): row for row in rows_of((tmp_path / "out/published/table.csv").read_text())}
    inside = {(row["sex"], row["age"]): row for row in rows_of((tmp_path / "out/confidential/table.csv").read_text())}
    assert len(published) == 21 and set(next(iter(published.values()))) == {"sex", "age", "count", "weighted", "status"}
    for sex, age, true, perturbed in PERTURBED[setting]:
        assert int(published[sex, age]["count"]) == perturbed and int(inside[sex, age]["true"]) == true
    if setting == (5, "2", 0):
        for sex, age, weighted, noised in WEIGHTED:
            assert float(inside[sex, age]["true_weighted"]) == weighted
            mean = weighted / int(inside[sex, age]["true"])
            assert mean * int(published[sex, age]["count"]) == pytest.approx(noised, abs=1e-6)


@pytest.mark.skipif(not TRUTH.is_dir(), reason="the reference's test data are not beside the checkout")
def test_the_records_of_the_reference() -> None:
    found = perturb(
        TRUTH / "in_testdata_with_rkeys.csv",
        ("sex", "age"),
        record_key="rec_key",
        ptable=TRUTH / "ptable_D5V2js0.csv",
    )
    for sex, age, true, perturbed in PERTURBED[5, "2", 0]:
        place = tuple(tree.labels.index(label) for tree, label in zip(found.trees, (sex, age), strict=True))
        assert (found.counts[place], found.printed[place]) == (true, perturbed)


def people(folder: Path, number: int = 3000) -> Path:
    """Records with an id, a district, a sex and an age group."""
    generator = numpy_generator(1)
    lines = ["person,district,sex,age"]
    for n in range(number):
        district, sex, age = generator.integers(0, [6, 2, 4])
        lines.append(f"p{n},d{district},{'fm'[sex]},{age}0s")
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "district.hrc").write_text("north\n@d0\n@d1\n@d2\nsouth\n@d3\n@d4\n@d5\n")
    return folder / "people.csv"


def test_the_same_people_get_the_same_noise(run: Run, tmp_path: Path) -> None:
    """Across tables, orders of records, hierarchies and releases; with another secret it is another noise."""
    file, secret = people(tmp_path), tmp_path / "secret.key"
    assert run("noise", "key", secret, "--json").document["file"] == str(secret)
    assert os.stat(secret).st_mode & 0o077 == 0
    assert run("noise", "key", secret).code == 2, "a secret is never overwritten"
    common = ("--id", "person", "--variance", 2, "--bound", 5, "--json", "--secret")

    def table(path: Path, by: str, *more: object) -> dict[tuple[tuple[str, str], ...], int]:
        ran = run("noise", "perturb", path, "--by", by, *common, secret, *more)
        assert ran.code == 0, ran.err
        document = json.loads(ran.out)
        return {
            tuple(sorted((k, v) for k, v in each["cell"].items() if v != "Total")): each["count"]
            for each in document["cells"]
        }

    hierarchy = ("--hierarchy", f"district={tmp_path / 'district.hrc'}")
    one, other = table(file, "district,sex", *hierarchy), table(file, "age,district", *hierarchy)
    common_cells = [cell for cell in one if cell in other]
    assert len(common_cells) == 9 and all(one[cell] == other[cell] for cell in common_cells)
    head, *records = file.read_text().splitlines()
    (tmp_path / "later.csv").write_text("\n".join([head, *records[::-1]]) + "\n")
    assert table(tmp_path / "later.csv", "district,sex", *hierarchy) == one
    (tmp_path / "secret2.key").write_text("another secret of enough letters")
    (tmp_path / "secret2.key").chmod(0o600)
    ran = run("noise", "perturb", file, "--by", "district,sex", *common, tmp_path / "secret2.key", *hierarchy)
    assert [each["count"] for each in json.loads(ran.out)["cells"]] != list(one.values())


def test_one_person_more_changes_only_their_cells(tmp_path: Path) -> None:
    file = people(tmp_path)
    (tmp_path / "secret").write_bytes(b"0123456789abcdef")
    (tmp_path / "secret").chmod(0o600)
    laws, _ = ptable(request(5, 2))
    before = perturb(file, ("district", "sex"), id="person", ptable=laws, secret=tmp_path / "secret")
    file.write_text(file.read_text() + "new,d0,f,00s\n")
    after = perturb(file, ["district", "sex"], id="person", ptable=laws, secret=tmp_path / "secret")
    changed = np.argwhere(before.counts != after.counts)
    assert len(changed) == 4
    same = before.counts == after.counts
    assert (before.noise[same] == after.noise[same]).all()


def test_whole_number_keys(run: Run, tmp_path: Path) -> None:
    """Records and a p-table in the ONS form: the key of a cell is the sum modulo 256."""
    (tmp_path / "records.csv").write_text("area,key\na,250\na,9\nb,3\n")
    lines = ["pcv,ckey,pvalue"]
    for count in range(1, 4):
        lines += [f"{count},{key},{(-1 if key < 128 else 1) * min(count, 2)}" for key in range(256)]
    (tmp_path / "ons.csv").write_text("\n".join(lines) + "\n")
    ran = run(
        *("noise", "perturb", tmp_path / "records.csv", "--by", "area", "--record-key", "key"),
        "--ptable",
        tmp_path / "ons.csv",
        "--json",
    )
    assert ran.code == 0, ran.err
    assert {each["cell"]["area"]: each["count"] for each in json.loads(ran.out)["cells"]} == {
        "Total": 1,
        "a": 0,
        "b": 0,
    }
    ran = run(
        *("noise", "perturb", tmp_path / "records.csv", "--by", "area", "--record-key", "key"),
        "--modulus",
        200,
        "--variance",
        1,
        "--bound",
        2,
    )
    assert ran.code == 2 and "column 'key': '250': a record key is an integer from 0 to 199" in ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--by area", "give record_key, or id with secret"),
        ("--by area --record-key key --id id", "give record_key, or id with secret"),
        ("--by area --id id", "id and secret go together"),
        ("--by area --id id --secret secret --count n", "remove it, or give record_key"),
        ("--by area --id id --secret secret", "column 'id': 'x' occurs twice"),
        ("--by area --record-key wrong", "no column 'wrong'"),
        ("--by area --record-key n", "column 'n': '2': a record key is a number from 0 to 1"),
        ("--by area --record-key key --count id", "column 'id': 'x': a count is an integer"),
        ("--by area --record-key key --weight id", "column 'id': 'x': a weight is a number"),
        ("--record-key key", "name the axes (by)"),
        ("--by sex,sex --record-key key", "by = sex,sex: names an axis twice"),
        ("--by area --record-key key --hierarchy place=x.hrc", "hierarchy place: there is no such axis"),
        ("--by area --record-key key --out full", "the output folder is not empty"),
    ],
)
def test_bad_records_are_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("records.csv").write_text("area,id,key,n\na,x,0.5,2\nb,x,0.25,1\n")
    Path("secret").write_text("0123456789abcdef")
    Path("secret").chmod(0o600)
    Path("full").mkdir()
    Path("full/file").write_text("")
    ran = run(*f"noise perturb records.csv --variance 2 --bound 5 {arguments}".split())
    assert ran.code == 2 and words in ran.err and ran.err.count("\n") == 1


def test_other_files_of_records(run: Run, cells: Path) -> None:
    """Keys that are doubles in Parquet are the decimals that were meant; SQLite is not read."""
    parquet = cells.with_suffix(".parquet")
    duckdb.sql(f"copy (from read_csv('{cells}')) to '{parquet}' (format parquet)")
    common = ("--by", "sex,age", "--count", "n", "--record-key", "key", "--variance", 2, "--bound", 5, "--json")
    first, second = (run("noise", "perturb", path, *common).document for path in (cells, parquet))
    assert first == second
    with closing(sqlite3.connect(cells.with_suffix(".sqlite"))) as database:
        database.execute("create table t (sex, age, n, key)")
    ran = run("noise", "perturb", cells.with_suffix(".sqlite"), *common)
    assert ran.code == 2 and "records with keys are read from CSV, Parquet and JSON files" in ran.err


def test_a_folder_is_found_where_none_is_named(run: Run, cells: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(cells.parent)
    common = "noise perturb cells.csv --by sex,age --count n --record-key key --variance 2 --bound 5".split()
    assert run(*common).code == 0 and run(*common).code == 0 and run(*common, "--json").document["files"] == []
    tables = [Path(f"cells-noised{end}/published/table.csv").read_text() for end in ("", "-2")]
    assert tables[0] == tables[1] and not Path("cells-noised-3").exists()


def test_keys_and_ids_are_written_nowhere(run: Run, tmp_path: Path) -> None:
    file, secret = people(tmp_path), tmp_path / "secret.key"
    run("noise", "key", secret)
    run(
        *("noise", "perturb", file, "--by", "sex", "--id", "person", "--secret", secret),
        *("--variance", 2, "--bound", 5, "--out", tmp_path / "out"),
    )
    assert (tmp_path / "out/published/table.csv").read_text().splitlines()[0] == "sex,count,status"
    for path in (tmp_path / "out").rglob("*.csv"):
        assert secret.read_text().strip() not in path.read_text() and "p17" not in path.read_text()
        assert "key" not in path.read_text()


def test_beliefs_about_a_table(run: Run, tmp_path: Path) -> None:
    (tmp_path / "published.csv").write_text("area,count\na,0\nb,4\nc,4\n")
    (tmp_path / "sizes.csv").write_text("area,count\na,1\nb,3\nc,5\nd,3\n")
    (tmp_path / "prior.csv").write_text("count,probability\n3,0.5\n5,0.25\n1,0.25\n")
    common = ("noise", "posterior", tmp_path / "published.csv", "--variance", 2, "--bound", 5)
    data = json.loads(run(*common, "--prior", tmp_path / "sizes.csv", "--json").out)
    given = json.loads(run(*common, "--prior", tmp_path / "prior.csv", "--json").out)
    assert data == given
    four = next(each for each in data["printed"] if each["printed"] == 4)
    assert four["cells"] == 2 and set(four["counts"]) == {"1", "3", "5"} and four["unchanged"] == 0
    assert 0.5 == data["right_before"] < data["right_after"] < 1
    page = tmp_path / "risk.html"
    ran = run(*common, "--prior", tmp_path / "sizes.csv", "--out", page)
    assert ran.code == 0 and "Over all cells of the prior, the best guess is right for" in ran.out
    text = page.read_text()
    assert (
        "<svg" in text
        and "What a printed number discloses" in text
        and "http://" not in text.replace("http://www.w3.org", "")
    )


def test_beliefs_about_parts_and_their_sum(run: Run) -> None:
    common = ("noise", "posterior", "--variance", 1, "--bound", 2, "--parts", "3,2")
    ran = run(*common, "--total", 11, "--independent", "--json")
    assert [each["counts"] for each in json.loads(ran.out)["printed"]] == [{"5": 1.0}, {"4": 1.0}, {"9": 1.0}]
    ran = run(*common, "--total", 11)
    assert ran.code == 2 and "cannot be printed together" in ran.err
    assert run(*common, "--total", 6).code == 0
    for wrong in (
        ["--parts", "3,x", "--total", 5],
        ["--parts", "3,-2", "--total", 5],
        ["--parts", "3,2"],
        ["--total", 5],
    ):
        ran = run(*common[:-2], *wrong)
        assert ran.code == 2 and ran.err.count("\n") == 1
        assert "parts and total go together" in ran.err or "must be integers" in ran.err


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ("count,probability\n3,-1\n", "is not a number of at least 0"),
        ("count,probability\n3,0\n", "all are 0"),
        ("area,people_there\na,3\n", "no column holds counts; name it (count)"),
        ("area,count\na,-3\n", "is negative"),
    ],
)
def test_bad_priors(run: Run, tmp_path: Path, prior: str, words: str) -> None:
    (tmp_path / "prior.csv").write_text(prior)
    ran = run(*("noise", "posterior", "--variance", 2, "--bound", 5, "--prior", tmp_path / "prior.csv"))
    assert ran.code == 2 and words in ran.err and ran.err.count("\n") == 1


def test_data_in_memory_give_what_files_give(tmp_path: Path) -> None:
    """Rows, and whatever offers its rows as a DataFrame or an Arrow table does."""
    file = people(tmp_path, 200)
    rows = rows_of(file.read_text())

    pandas = pytest.importorskip("pandas")
    (tmp_path / "secret").write_bytes(b"0123456789abcdef")
    (tmp_path / "secret").chmod(0o600)
    tables = [
        noise.perturb(data, ["district", "sex"], id="person", secret=tmp_path / "secret", variance=2, bound=5)
        for data in (file, rows, pandas.DataFrame(rows))
    ]
    assert {table.to_csv() for table in tables} == {tables[0].to_csv()}
    assert "district" in tables[0].to_html() and tables[0].write(tmp_path / "out") == tmp_path / "out"
    sizes = [{"area": "a", "count": 3}, {"area": "b", "count": 5}, {"area": "c", "count": 3}]
    beliefs = noise.posterior([0, 4, 4], variance=2, bound=5, prior=sizes)
    assert beliefs.beliefs[-1].cells == 2 and beliefs.before == pytest.approx(2 / 3)
    with pytest.raises(InputError, match="int cannot be read; give a file, a DataFrame, an Arrow table or rows"):
        noise.perturb(3, ["sex"], record_key="key", variance=2, bound=5)


def weighted_people(folder: Path, classes: list[float]) -> Path:
    generator = numpy_generator(3)
    lines = ["person,district,sex,age,weight"]
    for n in range(700):
        district, sex, age, weight = generator.integers(0, [6, 2, 4, len(classes)])
        lines.append(f"p{n},d{district},{'fm'[sex]},{age}0s,{classes[weight]}")
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    return folder / "people.csv"


def possible_counts(printed: int, mean: float, classes: list[float], bound: int) -> list[int]:
    """By enumeration: every count within the bound that some choice of weights gives this mean for."""
    fits = []
    for count in range(max(1, printed - bound), printed + bound + 1):
        sums = {0.0}
        for _ in range(count):
            sums = {round(total + weight, 6) for total in sums for weight in classes}
        if any(abs(total / count - mean) < 1e-6 for total in sums):
            fits.append(count)
    return fits


def test_weighted_counts_disclose_no_true_count(tmp_path: Path) -> None:
    """The exact mean weight discloses most counts, to enumeration and to `attack`; what is published excludes none."""
    classes = [7.25, 11.5, 13.1]
    file = weighted_people(tmp_path, classes)
    (tmp_path / "secret.key").write_text("s" * 32)
    (tmp_path / "secret.key").chmod(0o600)
    made = perturb(
        file,
        ("district", "sex", "age"),
        id="person",
        secret=tmp_path / "secret.key",
        variance=2,
        bound=5,
        weight="weight",
    )
    made.write(tmp_path / "out")
    truth = {tuple(row.values()): row for row in rows_of((tmp_path / "out/confidential/table.csv").read_text())}
    published = (tmp_path / "out/published/table.csv").read_text()
    exact = [["district", "sex", "age", "count", "weighted", "status"]]
    disclosed = cells = 0
    for row in truth.values():
        true, shown = int(row["true"]), int(row["count"])
        mean = float(row["true_weighted"]) / true if true else 0.0
        exact.append([row["district"], row["sex"], row["age"], str(shown), f"{mean * shown:.6f}", "noised"])
        if 0 < shown < 12 and true:
            cells += 1
            ours = float(row["weighted"]) / shown
            disclosed += possible_counts(shown, mean, classes, 5) == [true]
            assert possible_counts(shown, ours, classes, 5) == list(range(max(1, shown - 5), shown + 6))
    assert disclosed > cells / 3, "the exact mean is a fraction over the true count"
    (tmp_path / "exact.csv").write_text("\n".join(map(",".join, exact)) + "\n")
    read_off = noise.attack([tmp_path / "exact.csv"], variance=2).attacks["weights"]
    true_of = {key[:3]: int(row["true"]) for key, row in truth.items()}
    sure = [
        guess.value == true_of[tuple(guess.labels.get(axis, "Total") for axis in ("district", "sex", "age"))]
        for guess in read_off
        if guess.confidence > 0.95
    ]
    assert len(sure) > 60 and sum(sure) >= 0.95 * len(sure)
    assert published.startswith("district,sex,age,count,weighted,status")
    assert noise.attack([tmp_path / "out/published/table.csv"], variance=2).attacks["weights"] == ()

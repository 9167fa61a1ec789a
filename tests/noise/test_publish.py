"""Publishing a programme: counts of records, the same noise for the same people, and what is refused."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Run, in_process
from safemargin.core import InputError, PublishedTable, TooLargeError, numpy_generator
from safemargin.io import read_tidy
from safemargin.noise.attack import attack
from safemargin.noise.programme import Programme, parse_programme
from safemargin.noise.publish import noised_statistics
from safemargin.samplers import ptable, read_secret, request

PROGRAMME = """
[variables]
sex = ["F", "M"]
age = 3
geo = { region = 2, town = 4 }
[[tables]]
axes = ["geo", "sex"]
[[tables]]
axes = ["age", "sex"]
"""
SECRET = b"sixteen bytes at least"
NOISE = ptable(request(5, 2.0))[0]


def people(count: int, seed: int = 1) -> list[str]:
    rng = numpy_generator(seed)
    towns = rng.integers(0, 4, size=count)
    return [
        f"p{at},{'FM'[rng.integers(2)]},{rng.choice(['old', 'mid', 'young'])},r{town // 2},t{town}"
        for at, town in enumerate(towns.tolist())
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "programme.toml").write_text(PROGRAMME)
    (tmp_path / "secret.key").write_bytes(SECRET)
    (tmp_path / "secret.key").chmod(0o600)
    write(tmp_path, people(400))
    return tmp_path


def write(folder: Path, rows: list[str]) -> Path:
    path = folder / "people.csv"
    path.write_text("\n".join(["id,sex,age,region,town", *rows]) + "\n")
    return path


def spread_in(folder: Path, programme: str = PROGRAMME) -> tuple[PublishedTable, ...]:
    secret = read_secret(folder / "secret.key")
    tables, people = noised_statistics(parse_programme(programme), folder / "people.csv", "id", secret, NOISE)
    assert people == len((folder / "people.csv").read_text().splitlines()) - 1
    return tables


def cells(table: PublishedTable) -> dict[tuple[str, ...], int]:
    assert table.noisy is not None
    return {tuple(table.cell(row).values()): int(count) for row, count in enumerate(table.noisy)}


def true_counts(rows: list[str], columns: tuple[int, ...]) -> dict[tuple[str, ...], int]:
    found: dict[tuple[str, ...], int] = {}
    for row in rows:
        cell = tuple(row.split(",")[column] for column in columns)
        found[cell] = found.get(cell, 0) + 1
    return found


def test_every_statistic_is_printed_once_near_the_truth(folder: Path) -> None:
    found = spread_in(folder)
    names = {table.name: table for table in found}
    assert set(names) == {
        *("total", "sex", "age", "geo.region", "geo.town"),
        *("sex x age", "sex x geo.region", "sex x geo.town"),
    }
    assert names["sex x geo.town"].axes == ("sex", "town")
    for name, columns in {"total": (), "sex": (1,), "sex x age": (1, 2), "geo.town": (4,)}.items():
        true = true_counts(people(400), columns)
        printed = cells(names[name])
        assert set(true) <= set(printed)
        assert all(abs(count - true.get(cell, 0)) <= 5 for cell, count in printed.items())
        assert set(names[name].status) == {"noised"}


def test_noise_depends_on_who_is_in_a_cell_and_nothing_else(folder: Path) -> None:
    before = spread_in(folder)
    again = spread_in(folder)
    assert [cells(table) for table in before] == [cells(table) for table in again]
    write(folder, list(reversed(people(400))))
    assert [cells(table) for table in before] == [cells(table) for table in spread_in(folder)]
    write(folder, [*people(400), "p400,F,old,r1,t3"])
    later = spread_in(folder)
    changed = {
        (table.name, cell)
        for table, other in zip(before, later, strict=True)
        for cell, count in cells(table).items()
        if cells(other)[cell] != count
    }
    assert changed and all(set(cell) <= {"F", "old", "r1", "t3"} for _, cell in changed)
    (folder / "secret.key").write_bytes(SECRET + b"!")
    write(folder, people(400))
    assert [cells(table) for table in spread_in(folder)] != [cells(table) for table in before]


def test_the_noise_has_its_variance(folder: Path) -> None:
    rng = numpy_generator(9)
    rows = [f"p{at},{'FM'[rng.integers(2)]},a{rng.integers(300)},r0,t0" for at in range(30_000)]
    write(folder, rows)
    table = spread_in(folder, "[variables]\nsex = 2\nage = 300\n[[tables]]\naxes = ['sex', 'age']\n")[-1]
    true = true_counts(rows, (1, 2))
    off = np.array([count - true.get(cell, 0) for cell, count in cells(table).items()])
    assert len(off) == 600 and abs(off.mean()) < 5 * np.sqrt(2 / 600)
    assert abs((off**2).mean() - 2) < 5 * np.sqrt(8 / 600)


def test_attacks_do_not_claim_more_than_they_get(folder: Path) -> None:
    """On sparse tables, where nobody stays nobody and the same people are counted twice, guesses are right at least as
    often as they should be, but for chance; and no wrong bound is disclosed.
    """
    sure, right, keyed = 0.0, 0, []
    programme = PROGRAMME.replace("age = 3", "age = 40").replace('"age", "sex"', '"age", "geo", "sex"')
    for seed in range(4):
        rng = numpy_generator(seed)
        towns = rng.integers(0, 4, size=900).tolist()
        rows = [f"p{n},{'FM'[rng.integers(2)]},a{rng.integers(40)},r{t // 2},t{t}" for n, t in enumerate(towns)]
        write(folder, rows)
        (folder / "secret.key").write_bytes(rng.bytes(32))
        found = spread_in(folder, programme)
        columns = {"sex": 1, "age": 2, "region": 3, "town": 4}
        truth = {table.axes: true_counts(rows, tuple(columns[axis] for axis in table.axes)) for table in found}
        denoised = attack(found)
        assert denoised.bound is None and denoised.sure(0.99) == ()
        keyed.append(denoised.revealed.keyed)
        for one in (*denoised.attacks["averaging"], *denoised.attacks["fitting"]):
            axes = next(table.axes for table in found if set(table.axes) == set(one.labels))
            sure += one.confidence
            right += truth[axes].get(tuple(one.labels[axis] for axis in axes), 0) == one.value
    assert min(keyed) > 0.9
    assert right > 0.95 * sure


@pytest.mark.parametrize(
    ("programme", "rows", "said"),
    [
        (PROGRAMME, ["p1,X,old,r1,t1"], "line 2: sex = 'X': is not a category of the programme"),
        (PROGRAMME, ["p1,F,,r1,t1"], "age = '': is not a category"),
        (PROGRAMME, ["p1,F,a,r1,t1", "p1,F,a,r1,t1"], "line 3: id = 'p1': occurs twice"),
        (PROGRAMME, [",F,a,r1,t1"], "an id must not be empty"),
        (PROGRAMME, [f"p{at},F,a{at},r1,t1" for at in range(4)], "age has 4 categories; the programme says 3"),
        (PROGRAMME, ["p1,F,a,r1,t1", "p2,F,a,r2,t1"], "town = 't1': lies in more than one region"),
        (PROGRAMME.replace("age", "job"), ["p1,F,a,r1,t1"], "job"),
    ],
)
def test_what_is_refused(folder: Path, programme: str, rows: list[str], said: str) -> None:
    write(folder, rows)
    with pytest.raises(InputError) as caught:
        spread_in(folder, programme)
    assert said in str(caught.value)


def test_secrets_and_sizes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[noised_statistics.__module__], "MOST_CELLS", 10)
    with pytest.raises(TooLargeError, match="more than 10"):
        spread_in(folder)
    (folder / "secret.key").write_bytes(b"short")
    with pytest.raises(InputError, match="has 5 bytes"):
        spread_in(folder)
    (folder / "secret.key").unlink()
    with pytest.raises(InputError, match="the secret cannot be read"):
        spread_in(folder)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


def test_the_command(run: Run, folder: Path) -> None:
    given = ("noise", "publish", folder / "programme.toml", "--records", folder / "people.csv")
    keyed = ("--id", "id", "--secret", folder / "secret.key")
    document: Any = run(*given, *keyed, "--out", folder / "one", "--json").document
    assert document["value"] == 8 and document["inputs"]["bound"] >= 2
    table = read_tidy(folder / "one/published/sex_x_age.csv")
    assert table.axes == ("sex", "age") and table.noisy is not None
    published = sorted((folder / "one/published").glob("*.csv"))
    assert "bound" not in "".join(path.read_text() for path in published)
    attacked = run("noise", "attack", *published, "--variance", document["inputs"]["variance"])
    assert "averaging:" in attacked.out
    shown = run(*given, *keyed, "--out", folder / "two", "--variance", "2", "--bound", "5")
    assert "variance 2 within 5" in " ".join(shown.out.split())
    assert "give variance with bound" in run(*given, *keyed, "--out", folder / "three", "--variance", "2").err
    assert "not empty" in run(*given, *keyed, "--out", folder / "one").err


def test_a_programme_without_room_is_refused(run: Run, folder: Path) -> None:
    assert isinstance(parse_programme(PROGRAMME), Programme)
    ran = run(
        *("noise", "publish", folder / "programme.toml", "--records", folder / "people.csv", "--id", "id"),
        *("--secret", folder / "secret.key", "--out", folder / "x", "--variance", "50", "--bound", "5"),
    )
    assert ran.code == 2 and "variance = 50" in ran.err and not (folder / "x").exists()

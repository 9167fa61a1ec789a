"""Publishing a programme: counts of records, the same noise for the same people, and what is refused."""

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Run, in_process
from safemargin.core import InputError, PublishedTable, TooLargeError, numpy_generator
from safemargin.io import read_manifest, read_tidy
from safemargin.noise.attack import attack
from safemargin.noise.laws import truncated_delta
from safemargin.noise.programme import Programme, parse_programme
from safemargin.noise.publish import NoisyProgramme, publish

pytestmark = [pytest.mark.usefixtures("no_pictures"), pytest.mark.full]

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
    made = publish(parse_programme(programme), folder / "people.csv", "id", folder / "secret.key", 2.0, 5)
    assert made.people == len((folder / "people.csv").read_text().splitlines()) - 1
    return made.tables


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
    assert names["sex x geo.town"].axes == ("sex", "region", "town"), "which region a town lies in"
    for name, columns in {"total": (), "sex": (1,), "sex x age": (1, 2), "geo.town": (3, 4)}.items():
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


@pytest.mark.slow
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
        denoised, truth = attack(found), dict[tuple[str, ...], dict[tuple[str, ...], int]]()
        assert denoised.bound is None and denoised.sure(0.99) == ()
        keyed.append(denoised.revealed.keyed)
        for one in (*denoised.attacks["averaging"], *denoised.attacks["fitting"]):
            axes = tuple(sorted(one.labels))
            if axes not in truth:
                truth[axes] = true_counts(rows, tuple(columns[axis] for axis in axes))
            sure += one.confidence
            right += truth[axes].get(tuple(one.labels[axis] for axis in axes), 0) == one.value
    assert min(keyed) > 0.9
    assert right > 0.95 * sure


@pytest.mark.parametrize(
    ("programme", "rows", "said"),
    [
        (PROGRAMME, ["p1,X,old,r1,t1"], "column 'sex': 'X': is not a category of the programme"),
        (PROGRAMME, ["p1,F,,r1,t1"], "column 'age': '': is not a category"),
        (PROGRAMME, ["p1,F,a,r1,t1", "p1,F,a,r1,t1"], "column 'id': 'p1' occurs twice"),
        (PROGRAMME, [",F,a,r1,t1"], "an id is not empty"),
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
    monkeypatch.setattr(sys.modules[publish.__module__], "MOST_CELLS", 10)
    with pytest.raises(TooLargeError, match="more than 10"):
        spread_in(folder)
    (folder / "secret.key").write_bytes(b"short")
    with pytest.raises(InputError, match="has 5 bytes"):
        spread_in(folder)
    (folder / "secret.key").unlink()
    with pytest.raises(InputError, match="there is no such file"):
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


def test_tables_can_be_attacked_as_they_are(folder: Path) -> None:
    """A region is also the sum of its towns: fitting gives what least squares over all printed counts gives."""
    programme = "[variables]\nsex = ['F', 'M']\ngeo = { region = 2, town = 4 }\n[[tables]]\naxes = ['geo', 'sex']\n"
    tables = spread_in(folder, programme)
    guesses = {guess.cell: guess for guess in attack(tables, variance=2.0).attacks["fitting"]}
    # Independently: one unknown per sex and town, one equation per printed number.
    unknowns = [(sex, f"t{town}") for sex in "FM" for town in range(4)]
    rows, printed, names = [], [], []
    for table in tables:
        assert table.noisy is not None
        for row, number in enumerate(table.noisy.tolist()):
            cell = table.cell(row)
            if "town" in cell:
                assert cell["region"] == f"r{int(cell['town'][1]) // 2}"
            inside = {"sex": lambda u: u[0], "town": lambda u: u[1], "region": lambda u: f"r{int(u[1][1]) // 2}"}
            rows.append([float(all(inside[axis](u) == name for axis, name in cell.items())) for u in unknowns])
            printed.append(number)
            names.append(tuple((axis, name) for axis, name in cell.items() if axis != "region" or "town" not in cell))
    design = np.array(rows)
    hat = design @ np.linalg.pinv(design)
    estimates = hat @ np.array(printed, dtype=float)
    assert len(guesses) == len(names) == 21
    for name, estimate in zip(names, estimates, strict=True):
        assert guesses[tuple(sorted(name))].value == max(0, round(float(estimate)))


def test_two_statistics_never_share_a_file(folder: Path) -> None:
    """Names that are equal once they are cleaned, or but for case."""
    for names in (("a b", "a_b"), ("Sex", "sex")):
        header = f"id,{names[0]},{names[1]}"
        rows = [f"p{n},{n % 2},{n % 3 % 2}" for n in range(40)]
        (folder / "people.csv").write_text("\n".join([header, *rows]) + "\n")
        variables = "\n".join(f"'{name}' = ['0', '1']" for name in names)
        programme = f"[variables]\n{variables}\n[[tables]]\naxes = ['{names[0]}']\n[[tables]]\naxes = ['{names[1]}']\n"
        made = publish(parse_programme(programme), folder / "people.csv", "id", folder / "secret.key", 2.0, 5)
        assert len(made.tables) == 3 and len(made.files) == 5
        out = made.write(folder / f"out {names[0]}")
        manifest = read_manifest(out / "published/manifest.json")
        assert set(manifest.files) == {path.name for path in (out / "published").glob("*.csv")}
        assert not manifest.changed(out / "published")
        assert {read_tidy(path).axes for path in (out / "published").glob("*.csv")} == {(), (names[0],), (names[1],)}


def drawn(folder: Path, **noise: Any) -> NoisyProgramme:
    return publish(folder / "programme.toml", folder / "people.csv", **noise)


@pytest.mark.parametrize("sampler", ["inversion", "opendp"])
def test_programmes_with_an_epsilon_need_no_keys(folder: Path, sampler: str) -> None:
    made = drawn(folder, law="geometric", epsilon=0.5, sampler=sampler)
    assert made.guarantee is not None and made.guarantee.epsilon == 8 * 0.5, "a person is in eight statistics"
    assert made.guarantee.delta == 0 and "exp(4)" in made.guarantee.statement
    assert "confidential/parameters.json" not in made.files and "published/guarantee.json" in made.files
    again = drawn(folder, law="geometric", epsilon=0.5)
    assert any(cells(a) != cells(b) for a, b in zip(made.tables, again.tables, strict=True)), "fresh noise every time"


def test_truncated_noise_has_its_bound_and_its_delta(folder: Path) -> None:
    """The delta of the programme is the mass that only one of two neighbours can print, once per statistic."""
    rows = people(400)
    for noise in ({"law": "geometric", "epsilon": 1.0}, {"law": "gaussian", "epsilon": 1.0, "variance": 2.0}):
        made = drawn(folder, **noise, bound=3)
        table = next(table for table in made.tables if table.name == "sex x age")
        true = true_counts(rows, (1, 2))
        assert max(abs(count - true[cell]) for cell, count in cells(table).items()) <= 3
        weight = (lambda k: np.exp(-abs(k))) if noise["law"] == "geometric" else (lambda k: np.exp(-(k**2) / 4))
        whole = sum(weight(k) for k in range(-3, 4))
        own = {k: weight(k) / whole for k in range(-3, 4)}
        excess = sum(max(0.0, p - np.e * own.get(k + 1, 0.0)) for k, p in own.items())
        assert made.guarantee is not None and made.guarantee.epsilon == 8.0
        assert made.guarantee.delta == pytest.approx(8 * excess, rel=1e-9)
    by_delta = drawn(folder, law="geometric", epsilon=1.0, delta=0.001)
    bound = by_delta.parameters["bound"]
    assert isinstance(bound, int) and truncated_delta(1.0, bound) <= 0.001 < truncated_delta(1.0, bound - 1)


def test_categories_that_occur_are_stated_as_exact(folder: Path) -> None:
    """A category that one person alone has appears with them, whatever the noise: the guarantee does not cover it."""
    made = drawn(folder, law="geometric", epsilon=0.5)
    assert made.guarantee is not None
    assert [str(invariant) for invariant in made.guarantee.invariants] == [
        "which categories of age occur",
        "which categories of geo occur",
    ]
    write(folder, [*people(400)[:-1], "p999,F,nobody else,r1,t3"])
    (folder / "programme.toml").write_text(PROGRAMME.replace("age = 3", "age = 4"))
    later = next(table for table in drawn(folder, law="geometric", epsilon=0.5).tables if table.name == "age")
    assert ("nobody else",) in cells(later)
    (folder / "listed.toml").write_text("[variables]\nsex = ['F', 'M']\n[[tables]]\naxes = ['sex']\n")
    listed = publish(folder / "listed.toml", folder / "people.csv", law="geometric", epsilon=0.5)
    assert listed.guarantee is not None and listed.guarantee.invariants == ()


def test_rounded_laplace_noise_has_the_delta_of_its_law(folder: Path) -> None:
    """Eight statistics; the law from integrals of the density, delta from its definition."""
    epsilon, per_count = 0.5, 0.01
    made = drawn(folder, law="laplace", epsilon=epsilon, delta=per_count)
    bound = made.parameters["bound"]
    assert isinstance(bound, int) and made.guarantee is not None and made.guarantee.epsilon == 8 * epsilon

    def delta(reach: int) -> float:
        def mass(k: int) -> float:
            ends = np.abs([k - 0.5, k + 0.5])
            parts = np.exp(-epsilon * ends) / 2
            return float(1 - parts.sum() if k == 0 else abs(parts[0] - parts[1]))

        law = {k: mass(k) for k in range(-reach, reach + 1)}
        gaps = (p - math.exp(epsilon) * law.get(k - 1, 0.0) for k, p in law.items())
        return sum(max(gap, 0.0) for gap in gaps) / sum(law.values())

    assert delta(bound) <= per_count < delta(bound - 1)
    assert made.guarantee.delta == pytest.approx(8 * delta(bound), rel=1e-9)


def test_gaussian_noise_states_rho(folder: Path) -> None:
    made = drawn(folder, law="gaussian", variance=4.0)
    assert made.guarantee is not None and made.guarantee.rho_squared == pytest.approx(8 / (2 * 4.0))


@pytest.mark.parametrize(
    ("noise", "said"),
    [
        ({"law": "dice"}, "law = 'dice': must be one of keys, geometric, laplace, gaussian"),
        ({"law": "laplace"}, "epsilon is needed"),
        ({}, "id and secret go with the law keys"),
        (
            {"law": "geometric", "id": "id", "secret": "secret.key", "epsilon": 1.0},
            "id and secret go with the law keys",
        ),
        ({"law": "geometric"}, "epsilon is needed"),
        ({"law": "gaussian"}, "variance goes with the law gaussian"),
        ({"law": "geometric", "epsilon": 1.0, "bound": 3, "delta": 0.1}, "give one of bound and delta"),
        ({"law": "gaussian", "variance": 2.0, "bound": 3}, "epsilon is needed"),
        ({"id": "id", "secret": "secret.key", "epsilon": 1.0}, "epsilon, delta and sampler go with the laws"),
    ],
)
def test_laws_that_do_not_fit_are_refused(folder: Path, noise: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        drawn(folder, **noise)

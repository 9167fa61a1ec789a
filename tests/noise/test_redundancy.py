"""Redundancies: the annex's example, brute force over actual cells, and programmes of real size."""

import itertools
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from commands import Run, in_process
from safemargin.core import Generator, InputError, TooLargeError, numpy_generator
from safemargin.noise.programme import PlannedTable, Programme, Variable, load_programme, parse_programme
from safemargin.noise.redundancy import optimised, redundancies, tuples

pytestmark = pytest.mark.full

ANNEX = "[variables]\nSEX = ['F', 'M']\nAGE = 2\n[[tables]]\naxes = ['SEX', 'AGE']\n"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


def test_the_example_of_the_annex() -> None:
    """Footnote 18: total t = 4, k = 9; one-way t = 2, k = 3; cells once."""
    found = {each.statistic: (each.t, each.k, each.ratio) for each in redundancies(parse_programme(ANNEX))}
    assert found == {
        "total": (4, 9, Fraction(9, 16)),
        "SEX": (2, 3, Fraction(3, 4)),
        "AGE": (2, 3, Fraction(3, 4)),
        "SEX x AGE": (1, 1, Fraction(1)),
    }


def test_weights_beat_the_three_steps() -> None:
    """Precision weights give 4/9 for the total of the annex's example, the three steps 5/9."""
    total = redundancies(parse_programme(ANNEX))[0]
    assert (total.best_t, total.best_k) == (3, 5)
    assert total.weighted == pytest.approx(4 / 9)
    for seed in range(20):
        for each in redundancies(random_programme(seed)):
            assert each.weighted <= min(each.best_ratio, each.ratio) * (1 + 1e-12)


def test_the_three_steps_stop_at_the_first_increase() -> None:
    """Though going on would pay: one count, then a hundred sums of four, give 401/101^2 in the end."""
    assert optimised([(Fraction(1), 1), (Fraction(4), 100)]) == (1, 1)
    assert optimised([(Fraction(1), 3), (Fraction(2), 1)]) == (4, 5)


def random_programme(seed: int) -> Programme:
    """Up to six tables over up to five variables, some of which have nested levels."""
    rng = numpy_generator(seed)
    variables = []
    for name in "ABCDE"[: int(rng.integers(1, 6))]:
        wide = int(rng.integers(2, 4))
        levels = ((f"{name}1", wide), (f"{name}2", 2 * wide)) if rng.random() < 0.3 else ((name, wide),)
        variables.append(Variable(name, tuple(n for n, _ in levels), tuple(size for _, size in levels)))
    return Programme("", tuple(variables), tuple(random_table(rng, variables, at) for at in range(rng.integers(1, 7))))


def random_table(rng: Generator, variables: list[Variable], at: int) -> PlannedTable:
    most = min(len(variables), 4)
    chosen = sorted(rng.choice(len(variables), size=int(rng.integers(1, most + 1)), replace=False).tolist())
    return PlannedTable(str(at), tuple((v, int(rng.integers(1, len(variables[v].sizes) + 1))) for v in chosen))


def brute(programme: Programme, same_noise: bool) -> dict[str, tuple[int, Fraction, list[int]]]:
    """Representations of the first cell of every statistic, found among the actual cells as sets of people.

    There is one person for every combination of finest categories. A representation is a set of cells, of one table and
    one combination of levels, that are disjoint and make up the target.
    """
    finest = [variable.sizes[-1] for variable in programme.variables]
    people = list(itertools.product(*(range(size) for size in finest)))

    def cells(levels: tuple[int, ...]) -> list[frozenset[tuple[int, ...]]]:
        found = defaultdict(set)
        for person in people:
            key = tuple(person[v] * programme.size(v, level) // finest[v] for v, level in enumerate(levels))
            found[key].add(person)
        return [frozenset(members) for members in found.values()]

    printed = []  # (table, cells), every block a table prints with margins
    for table in programme.tables:
        depth = dict(table.axes)
        for levels in itertools.product(*(range(depth.get(v, 0) + 1) for v in range(len(finest)))):
            printed.append((levels, cells(levels)))
    found = {}
    for levels, block in printed:
        target = block[0]
        ways = []
        for _, other in printed:
            parts = [cell for cell in other if cell <= target]
            if sum(map(len, parts)) == len(target):
                ways.append(frozenset(parts))
        if same_noise:
            ways = list(set(ways))
        statistic = tuple((v, level) for v, level in enumerate(levels) if level)
        added = sorted(map(len, ways))
        found[programme.label(statistic)] = (len(ways), Fraction(sum(added)), added)
    return found


@pytest.mark.parametrize("same_noise", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_counts_are_those_of_brute_force(seed: int, same_noise: bool) -> None:
    programme = random_programme(seed)
    expected = brute(programme, same_noise)
    found = redundancies(programme, same_noise=same_noise)
    assert {each.statistic: (each.t, each.k) for each in found} == {
        name: (t, k) for name, (t, k, _) in expected.items()
    }
    for each in found:
        _, _, added = expected[each.statistic]
        assert each.weighted == pytest.approx(1 / sum(1 / one for one in added))
        t, k = 1, added[0]  # the three steps, one representation at a time
        for one in added[1:]:
            if Fraction(k + one, (t + 1) ** 2) > Fraction(k, t**2):
                break
            t, k = t + 1, k + one
        assert (each.best_t, each.best_k) == (t, k)


@pytest.mark.parametrize("seed", range(12))
def test_the_best_linear_estimate_is_that_of_least_squares(seed: int) -> None:
    """All printed cells are equations about the finest cells, with noise of variance one."""
    programme = random_programme(seed)
    for same_noise in (True, False):
        depth = {v: max([0, *(d for table in programme.tables for w, d in table.axes if w == v)]) for v in range(5)}
        finest = [programme.size(v, depth[v]) for v in range(len(programme.variables))]
        people = list(itertools.product(*(range(size) for size in finest)))
        if len(people) > 200:
            continue
        equations: dict[str, list[list[int]]] = defaultdict(list)
        for table in programme.tables:
            for statistic in programme.statistics_of(table):
                if same_noise and programme.label(statistic) in equations:
                    continue
                rows: dict[tuple[int, ...], list[int]] = {}
                for at, person in enumerate(people):
                    cell = tuple(person[v] * programme.size(v, level) // finest[v] for v, level in statistic)
                    rows.setdefault(cell, [0] * len(people))[at] = 1
                equations[programme.label(statistic)] += list(rows.values())
        matrix = np.array([row for rows in equations.values() for row in rows], dtype=float)
        covariance = np.linalg.pinv(matrix.T @ matrix)
        for each in redundancies(programme, same_noise=same_noise):
            row = np.array(equations[each.statistic][0], dtype=float)
            assert each.linear == pytest.approx(row @ covariance @ row)
            assert each.linear <= each.weighted * (1 + 1e-12)


def large_programme(tables: int = 100, variables: int = 30) -> Programme:
    rng = numpy_generator(7)
    known = [Variable(f"v{at}", (f"v{at}",), (int(rng.choice([2, 3, 5, 21, 101])),)) for at in range(variables)]
    listed = []
    for at in range(tables):
        chosen = sorted(rng.choice(variables, size=int(rng.integers(3, 7)), replace=False).tolist())
        listed.append(PlannedTable(str(at), tuple((v, 1) for v in chosen)))
    return Programme("", tuple(known), tuple(listed))


def test_a_table_of_thirty_axes_is_refused_at_once() -> None:
    variables = tuple(Variable(f"v{at}", (f"v{at}",), (2,)) for at in range(30))
    with pytest.raises(TooLargeError, match="205,891,132,094,649 pairs"):
        tuples(Programme("", variables, (PlannedTable("1", tuple((v, 1) for v in range(30))),)))


@pytest.mark.parametrize("same_noise", [True, False])
def test_a_hundred_tables_are_counted(same_noise: bool) -> None:
    found = redundancies(large_programme(), same_noise=same_noise)
    assert len(found) > 1000


def test_more_than_can_be_counted_is_refused() -> None:
    variables = tuple(Variable(f"v{at}", (f"v{at}",), (2,)) for at in range(16))
    with pytest.raises(TooLargeError, match="43,046,721 pairs"):
        redundancies(Programme("", variables, (PlannedTable("1", tuple((v, 1) for v in range(16))),)))


def test_tuples_of_nested_levels() -> None:
    text = "[variables]\nGEO = { region = 2, district = 6 }\nSEX = 2\n[[tables]]\naxes = ['GEO', 'SEX']\n"
    # sex of everybody, of 2 regions and of 6 districts; the total into 2 regions for all and by sex, each into 3
    assert tuples(parse_programme(text)) == {"GEO": {2: 3, 3: 6}, "SEX": {2: 9}}


def test_the_file(tmp_path: Path) -> None:
    path = tmp_path / "programme.toml"
    path.write_text(
        'title = "Census"\nareas = "GEO.region"\n[variables]\nSEX = ["F", "M"]\nAGE = 21\n'
        'GEO = { region = 4, district = 40 }\n"YAE.H" = 30\n'
        '[[tables]]\nname = "9.2"\naxes = ["YAE.H", "GEO", "SEX"]\n[[tables]]\naxes = ["GEO.region", "AGE"]\n'
    )
    found = load_programme(path)
    assert found.title == "Census" and found.small_areas == 4
    assert found.tables == (PlannedTable("9.2", ((0, 1), (2, 2), (3, 1))), PlannedTable("2", ((1, 1), (2, 1))))
    assert found.label(found.tables[0].axes) == "SEX x GEO.district x YAE.H"
    assert found.variables[0].categories == ("F", "M")
    assert parse_programme(ANNEX).small_areas == 2


def test_other_ways_to_write_it() -> None:
    sections = "[variables.SEX]\ncategories = ['F', 'M']\n[variables.GEO]\nlevels = { region = 2, town = 6 }\n"
    found = parse_programme(f"tables = [['SEX', 'GEO']]\n{sections}")
    plain = parse_programme(
        "tables = [{ axes = ['SEX', 'GEO'] }]\n[variables]\nSEX = ['F', 'M']\nGEO = { region = 2, town = 6 }"
    )
    assert found == plain


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "x: there is no such key; there are title, areas, variables, tables"),
        ("[variables", "programme: "),
        ("", "variables: list the variables"),
        ("title = 3\n" + ANNEX, "title = 3: must be a text"),
        ("[variables]\nA = 2", "tables: list the tables"),
        ("[variables]\nA = 1\n[[tables]]\naxes = ['A']", "variables.A = 1: a variable has at least two categories"),
        ("[variables]\nA = 1.5\n[[tables]]\naxes = ['A']", "variables.A = 1.5: give the categories"),
        ("[variables]\nA = ['x', 'x']\n[[tables]]\naxes = ['A']", "variables.A: lists 'x' twice"),
        ("[variables]\nA = ['x', 3]\n[[tables]]\naxes = ['A']", "variables.A: categories must be texts"),
        ("[variables]\nA = { u = 4, v = 6 }\n[[tables]]\naxes = ['A']", "levels go from wide to fine"),
        ("[variables]\ncount = 4\n[[tables]]\naxes = ['count']", "'count' is empty or reserved"),
        ("[variables]\nB = 3\nA = { B = 4, v = 8 }\n[[tables]]\naxes = ['A']", "'B' is named twice"),
        ("[variables]\nA = 2\n[[tables]]\naxes = ['B']", "tables[1].axes: there is no variable 'B'; there are A"),
        ("[variables]\nA = 2\n[[tables]]\naxes = []", "tables[1].axes: list at least one variable"),
        ("[variables]\nA = 2\n[[tables]]\naxes = ['A', 'A']", "tables[1].axes: A is there twice"),
        ("[variables]\nA = 2\n[[tables]]\naxes = ['A']\nb = 1", "tables[1].b: there is no such key"),
        ("[variables]\nA = 2\n[[tables]]\naxes = ['A']\nname = 1", "tables[1].name = 1: must be a text"),
        ("[variables]\nA=2\n[[tables]]\naxes=['A']\nname='2'\n[[tables]]\naxes=['A']", "another table has this name"),
        ("areas = 'Z'\n" + ANNEX, "areas: there is no variable 'Z'"),
    ],
)
def test_what_is_wrong_is_named(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_programme(text)
    assert said in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        load_programme(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"title = '\xe9'")
    with pytest.raises(InputError, match="is not UTF-8"):
        load_programme(tmp_path / "latin.toml")


def test_the_command(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "programme.toml"
    path.write_text(ANNEX)
    document = run("noise", "redundancy", path, "--json").document
    assert document["value"] == pytest.approx(5 / 9)
    assert document["inputs"] == {"programme": str(path), "same_noise": True}
    rows = document["details"]["statistics"]  # type: ignore[index]
    assert [(row["statistic"], row["t"], row["k"], row["kt2"]) for row in rows][0] == ("total", 4, 9, 9 / 16)
    shown = run("noise", "redundancy", path)
    assert "total" in shown.out and shown.code == 0


def test_a_grid_without_a_total_adds_only_its_sums() -> None:
    """Squares of a grid are printed by sex, without totals: sums over all squares represent the counts by sex."""
    text = "[variables]\nSEX = 2\nAGE = 3\nGRID = { categories = 50, total = false }\n"
    alone = text + "[[tables]]\naxes = ['SEX', 'AGE']\n"
    both = alone + "[[tables]]\naxes = ['GRID', 'SEX']\n"
    without = {entry.statistic: entry for entry in redundancies(parse_programme(alone))}
    entries = {entry.statistic: entry for entry in redundancies(parse_programme(both))}
    assert set(entries) == {"total", "SEX", "AGE", "SEX x AGE", "GRID", "SEX x GRID"}
    # By hand: the total is also the sum of 50 squares, and of 100 counts by square and sex.
    assert entries["total"].t == without["total"].t + 2 and entries["total"].k == without["total"].k + 150
    assert entries["SEX"].t == without["SEX"].t + 1 and entries["SEX"].k == without["SEX"].k + 50
    assert entries["total"].best_ratio == without["total"].best_ratio, "too long to pay"
    assert tuples(parse_programme(both))["GRID"] == {50: 3}, "the total and both sexes are printed by the other table"
    assert tuples(parse_programme(text + "[[tables]]\naxes = ['GRID', 'SEX']\n")) == {"SEX": {2: 50}}
    with pytest.raises(InputError, match="variables.GRID"):
        parse_programme(text.replace("false", "'no'") + "[[tables]]\naxes = ['GRID']\n")

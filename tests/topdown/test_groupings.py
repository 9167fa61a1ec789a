"""Groups of categories as TopDown's queries, constraints and columns."""

import importlib.util
import json
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest

from safemargin.core import InputError, OutputError
from safemargin.guarantees.census import PERSONS
from safemargin.topdown.attributes import Attributes, Grouping, MarginQuery
from safemargin.topdown.basis import Basis
from safemargin.topdown.design import MAX_COUNT, Design
from safemargin.topdown.folder import Folder
from safemargin.topdown.least_squares import check_size, fit
from safemargin.topdown.run import recompute, run
from spines import GROUPED, dense_fit, designed, people, rounded_noise, summing, uneven_spine

pytestmark = pytest.mark.full

SPLIT = {"total": "1/8", "voting": "1/8", "sex*helped": "1/8", "voting*housed": "1/8", "tenure": "1/8"}
SPLIT |= {"detailed": "3/8"}
TITLES = ["total", "sex", "voting", "helped", "housed", "age", "sex*voting", "helped*tenure", "voting*housed"]
TITLES += ["sex*helped*housed", "age*tenure", "detailed"]
QUERIES = {title: GROUPED.query(title) for title in TITLES}


def test_margins_are_named_and_summed() -> None:
    table = np.arange(30).reshape(1, 30)
    for title, query in QUERIES.items():
        assert GROUPED.title(query) == title
        assert (GROUPED.margin(table, query) == table @ summing(query, GROUPED).T.astype(np.int64)).all()
    assert GROUPED.label(QUERIES["sex*voting"], 3) == "sex m, voting major"
    with pytest.raises(InputError, match=r"query 'age\*voting': must be .*, each once"):
        GROUPED.query("age*voting")


@pytest.mark.parametrize("one", TITLES)
def test_margins_are_ordered_by_what_they_determine(one: str) -> None:
    """Against the ranks of matrices: a margin determines another if its rows span those of the other."""

    def rank(*queries: MarginQuery) -> int:
        return int(np.linalg.matrix_rank(np.vstack([summing(query, GROUPED) for query in queries])))

    mine, table = QUERIES[one], np.arange(30).reshape(1, 30) ** 2
    for theirs in QUERIES.values():
        assert (mine <= theirs) == (rank(theirs) == rank(mine, theirs))
        both, either = mine & theirs, mine | theirs
        assert both <= mine and both <= theirs and mine <= either and theirs <= either
        assert all(query <= both for query in QUERIES.values() if query <= mine and query <= theirs)
        assert all(either <= query for query in QUERIES.values() if mine <= query and theirs <= query)
        if mine <= theirs:
            wide = GROUPED.margin(table, theirs)
            summed = np.bincount(GROUPED.cell_of(mine, theirs), wide[0], GROUPED.cells(mine))
            assert (summed == GROUPED.margin(table, mine)[0]).all()
            assert (GROUPED.margin(wide, mine, theirs) == GROUPED.margin(table, mine)).all()


@pytest.mark.parametrize("title", TITLES)
def test_moving_a_person_changes_every_margin_by_at_most_two_in_squares(title: str) -> None:
    """From any cell to any other: within a group nothing changes."""
    counts = summing(QUERIES[title], GROUPED)
    squares = ((counts[:, :, None] - counts[:, None, :]) ** 2).sum(axis=0)
    assert set(squares.reshape(-1)) == ({0.0} if title == "total" else {0.0, 2.0})


def test_coordinates_lose_nothing() -> None:
    basis = Basis(GROUPED)
    values = np.arange(60.0).reshape(2, 30) ** 1.5
    coordinates = [each for each in basis.forward(values, GROUPED.detailed) if each is not None]
    assert basis.back(coordinates) == pytest.approx(values)
    assert sum(each[0].size for each in coordinates) == 30
    assert sum(float((each**2).sum()) for each in coordinates) == pytest.approx(float((values**2).sum()))
    assert basis.counts == (1, 4, 2), "only adult and mature are always in the same group"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "exact",
    [
        ((0, "total"),),
        ((0, "total"), (1, "voting"), (2, "housed")),
        ((0, "sex*helped"), (2, "voting")),
        ((1, "helped*housed"), (1, "voting"), (2, "total")),
        ((1, "voting"), (1, "helped"), (1, "tenure")),
    ],
)
def test_estimates_are_those_of_dense_least_squares(seed: int, exact: tuple[tuple[int, str], ...]) -> None:
    spine = uneven_spine(seed, depth=2)
    check(designed(spine, exact, split=SPLIT, kinds=GROUPED), seed)


@pytest.mark.parametrize("tiny", [Fraction(1, 10**7), Fraction(1, 10**4)])
def test_shares_of_very_different_size_lose_no_digits(tiny: Fraction) -> None:
    spine = uneven_spine(2, depth=2)
    split = {"voting": str(tiny), "helped": "1/4", "housed": str(tiny), "detailed": str(Fraction(3, 4) - 2 * tiny)}
    check(designed(spine, ((0, "total"), (1, "helped")), split=split, kinds=GROUPED), 2)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("level", [1, 2])
def test_what_follows_from_exact_counts_is_known_above(seed: int, level: int) -> None:
    """All counts of two levels are exact: above, what is left of their variances is rounding errors of zero."""
    kinds = Attributes(("a", "b"), (tuple("1234"), tuple("12")), (Grouping("g", 0, ("x", "y"), (0, 1, 1, 0)),))
    spine = uneven_spine(seed)
    counts = people(spine, seed, kinds=kinds)
    exact = ((0, "total"), (0, "b"), (level, "detailed"), (level + 1, "detailed"))
    design = designed(spine, exact, split={"total": "1/8", "a": "3/8", "detailed": "1/2"}, kinds=kinds)
    found = fit(design, rounded_noise(design, counts, seed))
    for place in range(level + 2):
        assert found.estimate(place) == pytest.approx(counts[place], abs=1e-9)
        assert not found.standard_error(place, kinds.detailed).any()


@pytest.mark.parametrize("rho", [Fraction(400), Fraction(3000), Fraction(10**9)])
def test_noise_that_is_hardly_ever_there_leaves_nothing_open(rho: Fraction) -> None:
    """Variances from 1e-10 down to what is zero in floating point, beside exact counts."""
    spine = uneven_spine(3, depth=2)
    counts = people(spine, 3, kinds=GROUPED)
    design = designed(spine, ((0, "total"), (1, "voting"), (2, "sex")), rho=rho, split=SPLIT, kinds=GROUPED)
    found = fit(design, rounded_noise(design, counts, 1))
    for level, true in enumerate(counts):
        assert found.estimate(level) == pytest.approx(true, abs=1e-6)
        assert found.standard_error(level, GROUPED.detailed).max() < (1e-3 if rho < 1000 else 1e-9)


def test_groupings_with_too_many_blocks_are_refused() -> None:
    labels = tuple(map(str, range(60)))
    pairs = tuple(each // 2 for each in range(60))
    groupings = tuple(Grouping(f"g{axis}", axis, labels[:30], pairs) for axis in range(3))
    design = designed(
        uneven_spine(1, depth=1), kinds=Attributes(("a", "b", "c"), (labels,) * 3, groupings), split={"detailed": "1"}
    )
    with pytest.raises(InputError, match="groupings: they cut the attributes into 27,000 combinations of blocks"):
        check_size(design)


def check(design: Design, seed: int) -> None:
    """Estimates and standard errors of every query against dense algebra."""
    measured = rounded_noise(design, people(design.spine, seed, kinds=GROUPED), seed)
    found = fit(design, measured)
    best, covariance, sums = dense_fit(design, measured)
    for level in range(len(design.spine.levels)):
        assert found.estimate(level) == pytest.approx(sums[level] @ best, abs=1e-6)
        for query in QUERIES.values():
            rows = np.kron(sums[level], summing(query, GROUPED))
            error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, covariance, rows), 0))
            assert found.standard_error(level, query).reshape(-1) == pytest.approx(error, abs=2e-5)


PEOPLE = "state,town,age,home\n" + "".join(
    f"{town[0]},{town},{age},{home}\n"
    for town, age, home, count in [
        ("n1", "0-9", "flat", 4), ("n1", "10-17", "flat", 3), ("n1", "30+", "care", 2), ("n2", "18-29", "dorm", 5),
        ("n2", "30+", "flat", 6), ("s1", "0-9", "flat", 1), ("s1", "18-29", "flat", 7), ("s2", "30+", "care", 3),
    ]
    for _ in range(count)
)  # fmt: skip

CONFIG = """\
[data]
file = "people.csv"

[spine]
levels = ["state", "town"]

[attributes]
age = ["0-9", "10-17", "18-29", "30+"]
home = ["flat", "dorm", "care"]

[groupings.voting]
of = "age"
groups = { minor = ["0-9", "10-17"], adult = ["18-29", "30+"] }

[groupings.quarters]
of = "home"
file = "quarters.csv"

[budget]
rho_squared = "1/20"
levels = { all = "1/3", state = "1/3", town = "1/3" }
queries = { total = "1/4", "voting*quarters" = "1/4", detailed = "1/2" }

[[invariants]]
level = "state"
query = "voting"

[[zeros]]
voting = ["minor"]
quarters = ["group"]

[[bounds]]
level = "town"
query = "quarters"
file = "limits.csv"
"""


def land(folder: Path, config: str = CONFIG) -> Path:
    """Two states with two towns each; nobody under 18 lives in group quarters."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "quarters.csv").write_text("home,quarters\nflat,private\ndorm,group\ncare,group\n")
    (folder / "half.csv").write_text("home,quarters\nflat,private\ndorm,group\n")
    (folder / "limits.csv").write_text("town,quarters,at_least,at_most\nn1,group,1,2\ns1,group,0,0\n")
    (folder / "topdown.toml").write_text(config)
    return folder / "topdown.toml"


def test_a_release_by_groups(tmp_path: Path) -> None:
    outcome = run(land(tmp_path), tmp_path / "out")
    folder, kinds = Folder(outcome.published), outcome.design.attributes
    design = folder.read_design()
    assert design.attributes == kinds and design.passes == (kinds.query("quarters"), kinds.detailed)
    voting, quarters = kinds.query("voting"), kinds.query("quarters")
    tables = [folder.read_table(design, level) for level in range(3)]
    assert kinds.margin(tables[1], voting).tolist() == [[7, 13], [1, 10]]
    towns = kinds.margin(tables[2], quarters)
    assert 1 <= towns[0, 1] <= 2 and towns[2, 1] == 0
    assert not kinds.margin(tables[2], kinds.query("voting*quarters"))[:, 1].any()
    assert recompute(outcome.published).different == 0
    with duckdb.connect() as database:
        path = outcome.published / "noisy/2-town-voting.quarters.parquet"
        rows = database.execute(f"select town, voting, quarters, status from '{path}' limit 2").fetchall()
    assert rows == [("n1", "minor", "private", "noisy"), ("n1", "minor", "group", "noisy")]
    said = json.loads((outcome.published / "guarantee.json").read_text())
    assert said["invariants"][1] == {"counts": "persons", "by": ["state", "voting"]}
    assert ["age", "voting"] in said["population"]["determines"]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('adult = ["18-29", "30+"]', 'adult = ["18-29"]', "groupings.voting: '30+' is in no group"),
        (
            'adult = ["18-29", "30+"]',
            'adult = ["18-29", "40+"]',
            "groupings.voting: adult: '40+' is not a category of age",
        ),
        ('["18-29", "30+"]', '["0-9", "18-29", "30+"]', "groupings.voting: '0-9' is in 'minor' and in 'adult'"),
        ('of = "age"', 'of = "ages"', "groupings.voting.of = 'ages': must be one of the attributes (age, home)"),
        ('"quarters.csv"', '"half.csv"', "half.csv: 'care' is in no group; each category of home must be in one"),
        ('"quarters.csv"', '"people.csv"', "people.csv: there is no column 'quarters'; the columns are state, town"),
        ('"quarters.csv"', '"none.csv"', "none.csv: there is no such file"),
        ("[groupings.voting]", "[groupings.voting]\nfile = 'x.csv'", "groupings.voting: state either groups or a file"),
        ('voting = ["minor"]', 'voting = ["0-9"]', "zeros.voting: '0-9' is not one of its categories"),
        ("groupings.voting]", "groupings.home]", "'home' is the name of two levels, attributes or groupings"),
        ('"voting*quarters"', '"voting*age"', "query 'voting*age': must be total, detailed or attributes joined by"),
        (
            "[budget]",
            '[groupings.old]\nof = "age"\ngroups = { no = ["10-17", "0-9"], yes = ["30+", "18-29"] }\n[budget]',
            "groupings.old: has the same groups as 'voting'; drop one of them",
        ),
    ],
)
def test_groupings_that_do_not_group_are_refused(before: str, after: str, message: str, tmp_path: Path) -> None:
    config = land(tmp_path, CONFIG.replace(before, after, 1))
    with pytest.raises(InputError) as error:
        run(config, tmp_path / "out")
    assert message in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_a_changed_grouping_is_other_input(tmp_path: Path) -> None:
    config = land(tmp_path)
    run(config, tmp_path / "out")
    (tmp_path / "quarters.csv").write_text("home,quarters\nflat,private\ndorm,private\ncare,group\n")
    config.write_text(CONFIG)
    with pytest.raises(OutputError, match="holds a run with another quarters.csv"):
        run(config, tmp_path / "out")


EXAMPLE = Path(__file__).parents[2] / "examples/redistricting.py"


@pytest.mark.slow
def test_the_file_of_the_census(tmp_path: Path) -> None:
    """Its queries, budget and constraints on invented people: the variances are those of its configuration."""
    spec = importlib.util.spec_from_file_location("redistricting", EXAMPLE)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    outcome = run(example.build(tmp_path, blocks=32), tmp_path / "out")
    design, kinds = outcome.design, outcome.design.attributes
    stated = {(asked.level, asked.query): asked.variance for asked in PERSONS.queries}
    for place, level in enumerate(design.spine.levels):
        for query, variance in design.measured(place).items():
            assert variance == stated[level, kinds.title(query)]
    assert sum(len(design.measured(level)) for level in range(6)) == 65
    folder = Folder(outcome.published)
    blocks = folder.read_table(design, 5)
    ((level, limit),) = design.bounds
    quarters = kinds.margin(blocks, kinds.query("hhgq"))
    assert level == 5 and (quarters >= limit.low).all() and (quarters <= limit.high).all()
    assert limit.low.sum() > 0 and (limit.high == 0).sum() > 32 * 6 and (limit.high[:, 0] == MAX_COUNT).all()
    nursing, minor = kinds.columns(kinds.query("hhgq*votingage"))
    place = nursing[1].index("nursing") * 2 + minor[1].index("minor")
    assert not kinds.margin(blocks, kinds.query("hhgq*votingage"))[:, place].any()
    detailed = next(each for each in outcome.accuracy.queries if (each.level, each.query) == ("Block", "detailed"))
    assert detailed.estimate == pytest.approx(detailed.standard_error, rel=0.03), "64,512 counts"

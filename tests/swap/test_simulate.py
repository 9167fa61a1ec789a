"""Simulations of swapping without a guarantee on files, as users run them."""

import json
import math
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest

from commands import Run, in_process
from pictures import validate
from safemargin.core import Guarantee, InputError, Measure
from safemargin.guarantees.compare import Standing, compare
from safemargin.guarantees.guarantee_file import document, guarantee_from
from safemargin.guarantees.rules import chained, compose_parts
from safemargin.noise.perturb import perturb
from safemargin.samplers import ptable, request
from safemargin.swap import targeted
from safemargin.swap.pairing import HouseholdPairs, Risk
from safemargin.swap.simulated import counts_chart, errors_chart
from safemargin.swap.targeted import Targeting
from swap_files import swap_across_file, swap_file, swap_targeted_file

pytestmark = pytest.mark.full

GEOGRAPHY = ("state", "county", "tract", "block")
MATCH = ("adults", "minors", "tenure")
HEAD = (*GEOGRAPHY, *MATCH, "race", "imputed", "id", "key")
TWENTIETH = Fraction(1, 20)


def homes(seed: int, size: int = 1_500) -> list[tuple[object, ...]]:
    draw = random.Random(seed)
    return [
        (
            *(f"{name}{draw.randrange(n)}" for name, n in (("s", 2), ("c", 2), ("t", 3), ("b", 4))),
            draw.randint(1, 2),
            draw.randrange(2),
            draw.choice(["own", "rent"]),
            draw.choices("wxyz", [85, 10, 4, 1])[0],
            draw.choices(["1", "0.5", "no"], [1, 1, 8])[0],
            n,
            f"{draw.random():.9f}",
        )
        for n in range(size)
    ]


def written(path: Path, head: tuple[str, ...], rows: list[tuple[object, ...]]) -> Path:
    path.write_text("\n".join(",".join(map(str, row)) for row in (head, *rows)) + "\n")
    return path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "homes.csv", HEAD, homes(1))


def counted(path: Path, *columns: str) -> Counter[tuple[object, ...]]:
    shown = ", ".join(f"{name}::varchar" for name in columns)
    return Counter(duckdb.sql(f"select {shown} from '{path}'").fetchall())


WISH = Targeting(GEOGRAPHY, MATCH, Risk(TWENTIETH), ("race",), None, ("race",), "imputed")


@pytest.mark.parametrize("seed", range(4))
def test_targeted_pairs_keep_what_they_should(seed: int, tmp_path: Path) -> None:
    path, out = written(tmp_path / "homes.csv", HEAD, homes(seed)), tmp_path / "out.csv"
    found = swap_targeted_file(path, out, WISH, file_format="csv")
    state_level = "state", *MATCH
    for kept in (
        state_level,
        (*state_level, "race", "imputed", "id", "key"),
        (*state_level, *GEOGRAPHY[1:]),
        GEOGRAPHY,
    ):
        assert counted(path, *kept) == counted(out, *kept)
    assert counted(path, *GEOGRAPHY, "race") != counted(out, *GEOGRAPHY, "race")
    both = f"'{path}' a join '{out}' b on a.id = b.id"
    home = "(a.state, a.county, a.tract, a.block) <> (b.state, b.county, b.tract, b.block)"
    moved = duckdb.sql(f"select a.id, a.imputed::varchar from {both} where {home}").fetchall()
    assert len(moved) == found.changed > 50
    assert not [name for name, share in moved if str(share) in ("1", "1.0")]
    ids = [row[0] for row in duckdb.sql(f"select id from '{out}'").fetchall()]
    assert ids != sorted(ids)  # in the order of values, not of the input


def test_who_is_unique_moves(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    alone = {
        row[0]
        for row in duckdb.sql(
            f"select any_value(id) from '{file}' group by state, county, tract, block, race having count(*) = 1 "
            "and any_value(imputed::varchar) not in ('1', '1.0')"
        ).fetchall()
    }
    assert len(alone) > 20
    for _ in range(3):
        found = swap_targeted_file(file, out, WISH)
        where = " or ".join(f"a.{name} <> b.{name}" for name in GEOGRAPHY)
        query = f"select a.id from '{file}' a join '{out}' b on a.id = b.id where {where}"
        assert alone <= {row[0] for row in duckdb.sql(query).fetchall()}
        assert found.counts["why selected"]["unique"] == len(alone)
        assert sum(found.counts["why selected"].values()) == found.selected == sum(found.counts["partner"].values())
        assert 2 * sum(found.counts["pairs"].values()) == found.changed


def test_unique_in_a_wider_area(file: Path, tmp_path: Path) -> None:
    one, other = (
        swap_targeted_file(
            file, tmp_path / "out.parquet", Targeting(GEOGRAPHY, MATCH, Risk(Fraction(0)), ("race",), within)
        )
        for within in (None, "county")
    )
    assert one.selected > other.selected  # at a rate of 0 only those who are unique
    assert one.counts["why selected"]["unique"] == one.selected


def test_a_cap_keeps_those_most_at_risk(file: Path, tmp_path: Path) -> None:
    wish = Targeting(GEOGRAPHY, MATCH, Risk(Fraction(1, 2)), ("race",), most=Fraction(1, 10))
    found = swap_targeted_file(file, tmp_path / "out.parquet", wish)
    sizes = duckdb.sql(f"select count(*) from '{file}' group by state").fetchall()
    assert found.selected == sum(size // 10 for (size,) in sizes)
    free = swap_targeted_file(
        file, tmp_path / "free.parquet", Targeting(GEOGRAPHY, MATCH, Risk(Fraction(0)), ("race",))
    )
    assert found.counts["why selected"]["unique"] == free.selected < found.selected


def test_targeted_pairs_guarantee_nothing(file: Path, tmp_path: Path) -> None:
    found = swap_targeted_file(file, tmp_path / "out.parquet", WISH)
    guarantee = found.guarantee
    assert guarantee.epsilon == math.inf and guarantee.amount == "no finite budget"
    assert [str(each) for each in guarantee.invariants] == [
        "number of households by state x adults x minors x tenure x race x imputed x id x key",
        "number of households by state x adults x minors x tenure x county x tract x block",
    ]
    words = " ".join(guarantee.remarks)
    assert "not a protection with a guarantee" in words and "Witness: households A, B and C" in words
    assert guarantee_from(json.loads(json.dumps(document(guarantee))), "x") == guarantee
    plain = swap_targeted_file(file, tmp_path / "plain.parquet", Targeting(GEOGRAPHY, MATCH, Risk(TWENTIETH)))
    assert "Witness" in " ".join(plain.guarantee.remarks)
    other = plain.beside
    assert other is not None and other.rate == Fraction(plain.changed, plain.records)
    assert other.guarantee.invariants == plain.guarantee.invariants
    assert compare(other.guarantee, plain.guarantee).overall is Standing.STRONGER
    assert other.errors != plain.errors and list(other.errors) == list(plain.errors) == list(GEOGRAPHY[1:])
    swapped = swap_file(
        file,
        tmp_path / "s.parquet",
        GEOGRAPHY[1:],
        ("state", *MATCH),
        rate=TWENTIETH,
        unit="household",
        form="records",
    )
    versus = compare(swapped.guarantee, plain.guarantee)
    assert versus.overall is Standing.STRONGER and versus.block("budget").standing is Standing.STRONGER
    assert compare(plain.guarantee, swapped.guarantee).overall is Standing.WEAKER
    assert compare(plain.guarantee, plain.guarantee).overall is Standing.EQUAL
    assert any("no guarantee at all" in each for each in versus.warnings)


PEOPLE = ("hh", "state", "block", "tenure", "age", "race", "imputed")


def people(size: int = 300) -> list[tuple[object, ...]]:
    draw = random.Random(5)
    found: list[tuple[object, ...]] = []
    for home in range(size):
        place = f"s{draw.randrange(2)}", f"b{draw.randrange(12)}", draw.choice(["own", "rent"])
        for _ in range(draw.randint(1, 4)):
            found.append((home, *place, draw.randrange(80), draw.choices("xyz", [90, 9, 1])[0], "no"))
    return found


def test_people_in_households(tmp_path: Path) -> None:
    path, out = written(tmp_path / "people.csv", PEOPLE, people()), tmp_path / "out.csv"
    wish = Targeting(
        ("state", "block"),
        ("adults", "minors", "tenure"),
        Risk(Fraction(1, 2)),
        rare=("race",),
        imputed="imputed",
        household="hh",
        age="age",
    )
    found = swap_targeted_file(path, out, wish, file_format="csv")
    assert found.records == 300 and found.changed > 10 and found.counts["why selected"]["rare value"] > 0
    homes_of = "select list_sort(list(age || race)) from '{}' group by hh"
    before, after = (Counter(map(str, duckdb.sql(homes_of.format(each)).fetchall())) for each in (path, out))
    assert before == after
    adults = "count(*) filter (where age >= 18)"
    blocks = f"select state, block, tenure, {adults} as adults, count(*) - {adults} from '{{}}' group by hh, 1, 2, 3"
    one, other = (Counter(duckdb.sql(blocks.format(each)).fetchall()) for each in (path, out))
    assert one == other


@pytest.mark.parametrize("household", [None, "hh"])
def test_across_strata_households_by_county_are_kept_and_people_are_not(household: str | None, tmp_path: Path) -> None:
    size = "household_size" if household else "adults"
    if household:
        path, county = written(tmp_path / "people.csv", PEOPLE, people()), "block"
        options = {"household": "hh", "unit": "household"}
        kept = f"select state, block, count(distinct {household}) from '{{}}' group by 1, 2"
        total = "select state, block, count(*) from '{}' group by 1, 2"
    else:
        path, county, options = written(tmp_path / "homes.csv", HEAD, homes(2)), "county", {}
        kept = "select state, county, count(*) from '{}' group by 1, 2"
        total = "select state, county, sum(adults)::int from '{}' group by 1, 2"
    differs = 0
    for run in range(5):
        out = tmp_path / f"{run}.csv"
        found = swap_across_file(
            path,
            out,
            [county],
            ["state", size],
            [size],
            rate=Fraction(1, 4),
            alpha=Fraction(1, 2),
            file_format="csv",
            **options,
        )
        assert sorted(duckdb.sql(kept.format(path)).fetchall()) == sorted(duckdb.sql(kept.format(out)).fetchall())
        differs += sorted(duckdb.sql(total.format(path)).fetchall()) != sorted(duckdb.sql(total.format(out)).fetchall())
        assert found.counts["exchanged"]["across strata"] > 0
    assert differs
    assert found.guarantee.invariants[1].by == ("state", county)


def across(file: Path, out: Path, **options: object) -> Guarantee:
    given: dict[str, object] = {"rate": TWENTIETH, "alpha": Fraction(1, 10), **options}
    return swap_across_file(file, out, ["county"], ["state", "adults"], ["adults"], **given).guarantee


def test_what_is_not_known_is_neither_ranked_nor_added(file: Path, tmp_path: Path) -> None:
    unknown = across(file, tmp_path / "a.parquet")
    assert unknown.budget is None and unknown.epsilon is None and unknown.amount == "budget not known"
    assert guarantee_from(json.loads(json.dumps(document(unknown))), "x") == unknown
    nothing = swap_targeted_file(file, tmp_path / "t.parquet", WISH).guarantee
    known = swap_file(
        file, tmp_path / "s.parquet", ["county"], ["state"], ["adults"], rate=TWENTIETH, unit="household"
    ).guarantee
    for other in (unknown, nothing, known):
        for one, two in ((unknown, other), (other, unknown)):
            block = compare(one, two).block("budget")
            assert block.standing is Standing.UNKNOWN and "is not known" in block.why
            with pytest.raises(InputError, match="is not known, so it cannot be added|differ in"):
                compose_parts([one, two], "both")
    assert compose_parts([known, known], "twice").budget == 2 * float(known.budget or 0)


def test_noise_after_swapping(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "swapped.parquet"
    swapped = swap_file(
        file,
        out,
        ["county", "tract", "block"],
        ["state", "adults"],
        rate=Fraction(1, 2),
        unit="household",
        form="records",
    ).guarantee
    noise = ptable(request(5, "2"))[0]
    columns = ("county", "tract", "race")
    alone, both = (perturb(out, columns, record_key="key", ptable=noise, after=after) for after in (None, swapped))
    assert (alone.printed == both.printed).all()
    assert (
        alone.counts != perturb(file, columns, record_key="key", ptable=noise).counts
    ).any()  # it is the table of the swapped file
    with pytest.raises(InputError, match="'tenure' is not among those that the guarantee of permutation"):
        bare = replace(swapped.population.records[0], variables=("county", "tract", "race", "key"))
        after = replace(swapped, population=replace(swapped.population, records=(bare,)))
        perturb(out, ("county", "tenure"), record_key="key", ptable=noise, after=after)
    guarantee = both.guarantee
    assert guarantee == chained(swapped, alone.guarantee) and guarantee.premises == (swapped, alone.guarantee)
    assert guarantee.budget is None and guarantee.measure is Measure.PURE and guarantee.invariants == ()
    assert swapped.amount in guarantee.remarks[0]
    for other in (swapped, alone.guarantee, guarantee):
        assert compare(guarantee, other).block("budget").standing is Standing.UNKNOWN
    with pytest.raises(InputError, match="is not known"):
        compose_parts([guarantee], "once")
    nothing = swap_targeted_file(file, tmp_path / "t.parquet", WISH).guarantee
    assert chained(nothing, alone.guarantee).remarks == ()
    assert guarantee_from(json.loads(json.dumps(document(guarantee))), "x") == guarantee


@pytest.mark.parametrize("way", ["swap", "targeted", "across"])
def test_columns_joined_after_swapping_households_are_refused(way: str, tmp_path: Path) -> None:
    """The guarantee states what is held of the people in a household, and noise takes nothing else for it."""
    keyed = [(*row, n / 1000) for n, row in enumerate(people())]
    path, out = written(tmp_path / "p.csv", (*PEOPLE, "key"), keyed), tmp_path / "o.csv"
    if way == "swap":
        more = {"household": "hh", "form": "records", "file_format": "csv"}
        guarantee = swap_file(path, out, ["block"], ["state"], rate=TWENTIETH, **more).guarantee  # type: ignore[arg-type]
    elif way == "targeted":
        wish = Targeting(("state", "block"), ("adults",), Risk(TWENTIETH), household="hh", age="age")
        guarantee = swap_targeted_file(path, out, wish, file_format="csv").guarantee
    else:
        size = "household_size"
        loose = {"rate": TWENTIETH, "alpha": TWENTIETH, "household": "hh", "file_format": "csv"}
        guarantee = swap_across_file(path, out, ["block"], ["state", size], [size], **loose).guarantee
    assert guarantee.population.determines == tuple(
        ("people", name) for name in ("tenure", "age", "race", "imputed", "key")
    )
    assert guarantee_from(json.loads(json.dumps(document(guarantee))), "x") == guarantee
    noise = ptable(request(5, "2"))[0]
    assert perturb(out, ("block", "race"), record_key="key", ptable=noise, after=guarantee).guarantee.budget is None
    joined = tmp_path / "j.csv"
    duckdb.sql(f"copy (select *, age % 2 as ill from '{out}') to '{joined}'")
    with pytest.raises(InputError, match="column 'ill' is not among those that the guarantee of .* is about"):
        perturb(joined, ("block", "ill"), record_key="key", ptable=noise, after=guarantee)


def test_a_held_column_called_people_is_one_column(tmp_path: Path) -> None:
    rows = [(n % 4, n % 3, n % 2, n / 100) for n in range(60)]
    path, out = written(tmp_path / "p.csv", ("county", "people", "ill", "key"), rows), tmp_path / "o.csv"
    options = {"rate": TWENTIETH, "form": "records", "file_format": "csv"}
    guarantee = swap_file(path, out, ["county"], [], ["people", "key"], **options).guarantee  # type: ignore[arg-type]
    noise = ptable(request(5, "2"))[0]
    assert guarantee.population.determines == ()
    assert perturb(out, ("county", "people"), record_key="key", ptable=noise, after=guarantee).counts.sum() > 0
    with pytest.raises(InputError, match="column 'ill' is not among those"):
        perturb(path, ("county", "ill"), record_key="key", ptable=noise, after=guarantee)


TARGETED = ("--geography", "state,county,tract,block", "--match", "adults,minors,tenure", "--rate", "0.05")
ACROSS = ("--swap", "county", "--match", "state,adults", "--loose", "adults", "--rate", "0.1", "--alpha", "0.2")


def test_commands(run: Run, file: Path, tmp_path: Path) -> None:
    pairs, cross, noised = (tmp_path / name for name in ("pairs", "across", "noised"))
    ran = run("simulate", "targeted", file, *TARGETED, "--unique", "race", "--imputed", "imputed", "--out", pairs)
    assert ran.code == 0 and "No finite budget. This is a simulation for comparison" in ran.out.replace("\n", " ")
    assert sorted(each.name for each in pairs.iterdir()) == ["confidential"]
    assert sorted(each.name for each in (pairs / "confidential").iterdir()) == [
        "guarantee.json",
        "report.html",
        "swapped.parquet",
    ]
    page = (pairs / "confidential/report.html").read_text()
    assert "Nothing is guaranteed." in page and "same tract" in page and "Witness" in page and "<script" not in page
    found = run("simulate", "across", file, *ACROSS, "--out", cross, "--format", "csv", "--json").document
    assert found["method"] == "swapping across strata" and found["guarantee"]["epsilon"] is None  # type: ignore[index]
    assert found["beside"]["guarantee"]["epsilon"] > 0  # type: ignore[index]
    assert {each["area"] for each in found["errors"]} == {"county"}  # type: ignore[attr-defined]
    guarantee = cross / "confidential/guarantee.json"
    compared = run("guarantee", "compare", guarantee, pairs / "confidential/guarantee.json", "--json").document
    assert compared["blocks"]["budget"]["standing"] == "unknown"  # type: ignore[index]
    assert run("guarantee", "compose", guarantee).err.count("\n") == 1
    noise = ("--by", "county,tenure", "--record-key", "key", "--variance", "2", "--bound", "5", "--out", noised)
    ran = run("noise", "perturb", cross / "confidential/swapped.csv", *noise, "--after", guarantee, "--json")
    assert ran.code == 0 and ran.document["guarantee"]["budget"] is None  # type: ignore[index]
    ran = run("guarantee", "show", noised / "published/guarantee.json")
    assert "budget not known" in ran.out and "swapping across strata, then cell key" in ran.out
    checked = run(
        "guarantee", "check", "--held", "1,1,1", "--swapped", "1,1,1", "--rate", "0.1", *("--variant", "targeted")
    )
    assert checked.code == 1 and "Exact loss infinite" in checked.out


def test_beside_topdown(run: Run, tmp_path: Path) -> None:
    """The errors of targeted pairs, of TopDown and of flat noise on one country."""
    country, pairs, release = (tmp_path / name for name in ("country", "pairs", "release"))
    assert run("topdown", "--demo", country, "--people", 600, "--blocks", 12).code == 0
    options = ("--geography", "region,district,tract,block", "--match", "sex", "--unique", "age", "--rate", "0.1")
    file = country / "people.parquet"
    assert run("simulate", "targeted", file, *options, "--unit", "person", "--out", pairs).code == 0
    beside = f"targeted={pairs / 'confidential/swapped.parquet'}"
    ran = run("topdown", country / "topdown.toml", "--out", release, "--beside", beside)
    assert ran.code == 0 and "targeted" in ran.out
    files = pairs / "confidential/guarantee.json", release / "published/guarantee.json"
    blocks = run("guarantee", "compare", *files, "--json").document["blocks"]
    assert blocks["change"]["standing"] == "equal" and blocks["budget"]["one"] == "no finite budget"  # type: ignore[index]


BAD: list[tuple[str, tuple[str, ...], str]] = [
    ("targeted", ("--geography", "state"), "geography: name at least two columns"),
    ("targeted", ("--geography", "state,place"), "'place'"),
    ("targeted", ("--geography", "state,county,county"), "column 'county' has two roles"),
    ("targeted", ("--match", "adults,block"), "column 'block' has two roles"),
    ("targeted", ("--match", "adults,persons"), "'persons'"),
    ("targeted", ("--rate", "1.5"), "rate = 1.5: must lie between 0 and 1"),
    ("targeted", ("--rate", "often"), "rate = often: is not a number"),
    ("targeted", ("--unique", "rce"), "'rce'"),
    ("targeted", ("--unique", "county"), "column 'county' is geography"),
    ("targeted", ("--unique", "race", "--unique-in", "town"), "unique within 'town': must be one of state, county"),
    ("targeted", ("--small-block", "-3"), "small = -3"),
    ("targeted", ("--most", "0"), "most = 0: must be above 0 and at most 1"),
    ("targeted", ("--imputed", "race"), "must be true, false or a share from 0 to 1"),
    ("targeted", ("--age", "adults"), "age = adults: counts adults and minors of households"),
    ("targeted", ("--household", "id", "--age", "key"), "has a column 'adults' already"),
    ("targeted", ("--household", "state"), "column 'state' numbers the households; it has no other role"),
    ("targeted", ("--format", "xlsx"), "format = xlsx: must be parquet or csv"),
    ("targeted", ("--hold", "adults"), "column 'adults' has two roles"),
    ("across", ("--loose", "race"), "loose column 'race': must be one of those matched on (state, adults)"),
    ("across", ("--loose", ","), "loose: name at least one matched column"),
    ("across", ("--alpha", "0"), "alpha = 0: must be above 0"),
    ("across", ("--alpha", "2"), "must lie between 0 and 1"),
    ("across", ("--rate", "1"), "rate = 1: must lie between 0 and 1"),
    ("across", ("--swap", "town"), "'town'"),
    ("targeted", ("--unit", ""), "unit: say what a record is"),
    ("across", ("--unit", " "), "unit: say what a record is, e.g. person"),
    ("across", ("--format", "xlsx"), "format = xlsx: must be parquet or csv"),
]


@pytest.mark.parametrize(("command", "options", "words"), BAD, ids=[" ".join((a, *b)) for a, b, _ in BAD])
def test_bad_input_is_one_line_and_leaves_nothing(
    run: Run, file: Path, tmp_path: Path, command: str, options: tuple[str, ...], words: str
) -> None:
    out = tmp_path / "out"
    usual = dict(zip(*[iter(TARGETED if command == "targeted" else ACROSS)] * 2, strict=True))
    given = {**usual, **dict(zip(*[iter(options)] * 2, strict=True))}
    ran = run("simulate", command, file, *(part for pair in given.items() for part in pair), "--out", out)
    assert (ran.code, ran.out) == (2, "") and ran.err.count("\n") == 1
    assert words in ran.err and not out.exists()


def test_other_files(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for text, words in (
        (",".join(HEAD) + "\n", "the table is empty"),
        ("state,county,block,adults,race,imputed share\na,b,c,1,x,2\n", "has a column 'imputed share' already"),
        ("hh,state,county,block,race,age\n1,a,b,c,x,young\n", "column 'age': 'young': must be an age in years"),
        ("hh,state,county,block,race,age\n1,a,b,c,x,3\n1,a,z,c,x,3\n", "column 'county' differs within household '1'"),
    ):
        path = tmp_path / "bad.csv"
        path.write_text(text)
        match = ("--household", "hh", "--age", "age", "--match", "adults,minors")
        if "hh" not in text:
            match = ("--match", "adults", "--hold", "race")
        ran = run(
            "simulate", "targeted", path, "--geography", "state,county,block", "--rate", "0.1", *match, "--out", out
        )
        assert ran.code == 2 and words in ran.err and ran.err.count("\n") == 1 and not out.exists()
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "x").write_text("mine")
    ran = run("simulate", "across", written(tmp_path / "homes.csv", HEAD, homes(3)), *ACROSS, "--out", taken)
    assert ran.code == 2 and [each.name for each in taken.iterdir()] == ["x"]
    ran = run("noise", "perturb", tmp_path / "homes.csv", "--by", "race", "--record-key", "key", "--variance", "2",
              "--bound", "5", "--after", tmp_path / "none.json", "--out", out)  # fmt: skip
    assert ran.code == 2 and "there is no such file" in ran.err and not out.exists()


def test_wrong_pairs_are_not_written(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair of households of two strata."""

    def wrong(strata: np.ndarray, *_: object) -> HouseholdPairs:  # type: ignore[type-arg]
        partner = np.full(len(strata), -1)
        partner[[0, -1]] = len(strata) - 1, 0
        return HouseholdPairs(partner, np.zeros(len(strata), dtype=np.int64))

    monkeypatch.setattr(targeted, "pair_up", wrong)
    out = tmp_path / "out.parquet"
    with pytest.raises(AssertionError, match="does not match; nothing was written"):
        swap_targeted_file(file, out, WISH)
    assert not out.exists()


def test_nobody_to_exchange_with(tmp_path: Path) -> None:
    rows = [("s", f"b{n % 2}", n, "x") for n in range(6)]
    path = written(tmp_path / "h.csv", ("state", "block", "size", "race"), rows)
    found = swap_targeted_file(path, tmp_path / "o.csv", Targeting(("state", "block"), ("size",), Risk(Fraction(1))))
    assert (found.selected, found.changed, found.beside) == (6, 0, None)
    assert "Nothing is guaranteed" in found.to_html()
    assert found.counts["partner"]["nobody that matches"] == 6


def test_equal_records_of_a_stratum_are_one_kind_beside_too(tmp_path: Path) -> None:
    """Four equal records are no stratum with two different ones, listed or counted: the largest has three."""
    rows = [("s", 1, "c", "x")] * 4 + [("s", 2, "c", "x"), ("s", 2, "d", "y"), ("s", 2, "d", "z")]
    head = "state", "size", "county", "race"
    options = {"rate": Fraction(1, 2), "alpha": Fraction(1, 2)}
    for times in (1, 20):
        path = written(tmp_path / "h.csv", head, rows * times)
        out = tmp_path / f"{times}.parquet"
        found = swap_across_file(path, out, ["county"], ["state", "size"], ["size"], **options)
        assert found.beside is not None
        assert f"{3 * times} records in the largest stratum" in found.beside.guarantee.varies
        assert found.beside.guarantee.epsilon == pytest.approx(math.log(3 * times + 1))


def test_absent_values(tmp_path: Path) -> None:
    rows = [("s", n % 3 or "", n % 5 or "", n % 2 or "") for n in range(120)]
    path = written(tmp_path / "h.csv", ("state", "county", "block", "race"), rows)
    wish = Targeting(("state", "county", "block"), (), Risk(Fraction(1, 5)), ("race",), rare=("race",))
    found = swap_targeted_file(path, tmp_path / "o.csv", wish, file_format="csv")
    assert found.changed > 0 and counted(path, "county", "block") == counted(tmp_path / "o.csv", "county", "block")


def test_picture_is_valid() -> None:
    counts = {"why selected": {"unique": 3, "nothing special": 0}, "pairs": {"same tract": 1_000_000}}
    validate(counts_chart(counts))


def test_picture_of_errors_is_valid(file: Path, tmp_path: Path) -> None:
    found = swap_targeted_file(file, tmp_path / "out.parquet", WISH)
    for each in (found, replace(found, beside=None)):
        validate(errors_chart(each))

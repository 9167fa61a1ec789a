"""One person changed in households and persons together, by going through all pairs of small data sets."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pytest

import safemargin
from evidence import seeds
from safemargin.core import numpy_generator
from safemargin.topdown.attributes import Attributes, Grouping
from safemargin.topdown.design import Design, build_spine
from safemargin.topdown.movers import HouseholdSizes, moved_squares, squares_by_margin
from safemargin.topdown.topdown import JointRelease
from spines import designed

Home = tuple[int, str, tuple[str, ...]]  # block, tenure, sexes of the people in it
Land = tuple[Home, ...]

TRACTS = ("t0", "t0", "t1")
"""The tract of every block."""


def lands(homes: int, blocks: int, most: int) -> Iterator[Land]:
    """All data sets with so many homes of up to `most` people."""
    people = [sexes for size in range(1, most + 1) for sexes in combinations_with_replacement("fm", size)]
    every = [(block, tenure, sexes) for block in range(blocks) for tenure in ("own", "rent") for sexes in people]
    yield from combinations_with_replacement(every, homes)


def one_person_changes(land: Land, blocks: int, most: int) -> Iterator[Land]:
    """All data sets in which one person has another sex or another home. Tenure may follow whoever comes or goes."""
    for at, (block, _, sexes) in enumerate(land):
        rest = [home for index, home in enumerate(land) if index != at]
        for leaver in range(len(sexes)):
            left = sexes[:leaver] + sexes[leaver + 1 :]
            for sex, tenure in product("fm", ("own", "rent")):
                yield tuple(sorted([*rest, (block, tenure, tuple(sorted((*left, sex))))]))
                if not left:  # a household of one moves
                    for place in range(blocks):
                        yield tuple(sorted([*rest, (place, tenure, (sex,))]))
                    continue
                for index, (place, _, others) in enumerate(rest):
                    if len(others) < most:
                        for theirs in ("own", "rent"):
                            joined = (place, theirs, tuple(sorted((*others, sex))))
                            kept = [home for number, home in enumerate(rest) if number != index]
                            yield tuple(sorted([*kept, (block, tenure, left), joined]))


def tallies(land: Land, queries: Sequence[tuple[str, str]], unit: str) -> dict[tuple[object, ...], int]:
    """The counts of every query by area, from the definition."""
    found: Counter[tuple[object, ...]] = Counter()
    for block, tenure, sexes in land:
        areas = {"land": "land", "tract": TRACTS[block], "block": block}
        records = [{"size": len(sexes), "tenure": tenure}] if unit == "household" else [{"sex": sex} for sex in sexes]
        for record in records:
            for level, query in queries:
                cell = () if query == "total" else tuple(record[name] for name in query.split("*"))
                found[level, query, areas[level], cell] += 1
    return found


def budget_of(one: Land, other: Land, variances: dict[tuple[str, str], Fraction], unit: str) -> Fraction:
    """Squared changes over twice the variances: the zCDP divergence of the noisy counts of two data sets."""
    mine, theirs = (tallies(land, list(variances), unit) for land in (one, other))
    return sum(
        (
            Fraction((mine.get(key, 0) - theirs.get(key, 0)) ** 2) / (2 * variances[key[:2]])  # type: ignore[index]
            for key in {*mine, *theirs}
        ),
        Fraction(0),
    )


HOMES = Attributes(("size", "tenure"), (("1", "2", "3"), ("own", "rent")))
PEOPLE = Attributes(("sex",), (("f", "m"),))
PATHS = [(tract, f"b{number}") for number, tract in enumerate(TRACTS)]
LEVELS = ("land", "tract", "block")
SIZES = HouseholdSizes(0, ((1, 1), (2, 2), (3, 3)))


def variances_of(design: Design) -> dict[tuple[str, str], Fraction]:
    title = design.attributes.title
    return {
        (level, title(query).replace("detailed", "size*tenure" if design.unit == "household" else "sex")): variance
        for index, level in enumerate(LEVELS)
        for query, variance in design.measured(index).items()
    }


def claimed(homes: Design, people: Design) -> Fraction:
    squares = squares_by_margin(homes, people, SIZES)
    moved = [squares[level, query] / (2 * v) for level in range(3) for query, v in homes.measured(level).items()]
    return sum(moved, Fraction(0)) + people.rho_squared


@pytest.mark.parametrize("exact", [((0, "total"),), ((0, "total"), (2, "total"))])
@pytest.mark.parametrize(
    "split",
    [{"detailed": "1"}, {"size": "1/2", "detailed": "1/2"}, {"tenure": "1/3", "size": "1/3", "detailed": "1/3"}],
)
def test_no_pair_of_data_sets_costs_more(split: dict[str, str], exact: tuple[tuple[int, str], ...]) -> None:
    """Over all data sets of three homes and all ways to change one person, a sample of them by default."""
    spine = build_spine(LEVELS, "land", PATHS)
    homes = replace(designed(spine, exact, Fraction(1), split, kinds=HOMES, passes=("detailed",)), unit="household")
    people = designed(spine, ((0, "total"),), Fraction(1), {"detailed": "1"}, kinds=PEOPLE, passes=("detailed",))
    limit = claimed(homes, people)
    fixed = {("block", "total"): Fraction(1, 2)} if (2, "total") in exact else {}
    worst = Fraction(0)
    random = numpy_generator(len(split) + len(exact))
    every = list(lands(2, 3, 3))
    for index in random.choice(len(every), size=12, replace=False):
        land = every[int(index)]
        for other in set(one_person_changes(land, 3, 3)):
            if fixed and budget_of(land, other, fixed, "household"):
                continue  # another universe
            cost = budget_of(land, other, variances_of(homes), "household")
            assert cost + budget_of(land, other, variances_of(people), "person") <= limit
            worst = max(worst, cost)
    assert worst > homes.rho_squared  # more than what the paper has for everybody


def test_the_worst_mover_is_found() -> None:
    """Somebody leaves a home of three for a home of one in the same block, in another block, and changes sex."""
    spine = build_spine(LEVELS, "land", PATHS)
    shares = (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
    sizes = Attributes(("size",), (("1", "2", "3"),))
    plan = {"detailed": "1"}
    homes = replace(
        designed(spine, ((2, "total"),), Fraction(1), plan, kinds=sizes, passes=("detailed",)),
        unit="household",
        shares=shares,
    )
    people = replace(
        designed(spine, ((0, "total"),), Fraction(1), plan, kinds=PEOPLE, passes=("detailed",)), shares=shares
    )
    variances = {(level, "size"): v for (level, _), v in variances_of(homes).items()}
    before: Land = ((0, "own", ("f", "f", "m")), (0, "own", ("f",)), (1, "own", ("m",)))
    near: Land = ((0, "own", ("f", "f")), (0, "own", ("f", "f")), (1, "own", ("m",)))
    far: Land = ((0, "own", ("f", "f")), (0, "own", ("f",)), (1, "own", ("f", "m")))
    persons = variances_of(people)
    costs = [
        budget_of(before, after, variances, "household") + budget_of(before, after, persons, "person")
        for after in (near, far)
    ]
    assert costs == [4, Fraction(7, 2)]
    assert claimed(homes, people) == 4 and homes.rho_squared + people.rho_squared == 2
    stay: Land = ((0, "own", ("f", "f", "f")), *before[1:])
    assert budget_of(before, stay, variances, "household") + budget_of(before, stay, persons, "person") == 1


@pytest.mark.parametrize("alpha", [2, 3])
def test_discrete_gaussians_lose_what_their_squared_change_says(alpha: int) -> None:
    """The Renyi divergence of all counts that a move to another block changes, by adding up noise: 3.5 alpha."""
    homes = [(4, 1), (4, 2), (4, 1)] * 2 + [(2, 1)] * 4  # parameter of the noise, and step of the count
    people = [(4, 1)] * 4 + [(2, 1)] * 2  # another sex on two levels, and one person less and more in two blocks
    total, noise = 0.0, np.arange(-60.0, 61.0)
    for parameter, step in homes + people:
        law = -(noise**2) / (2 * parameter)
        moved = -((noise - step) ** 2) / (2 * parameter)
        total += math.log(np.exp(alpha * law + (1 - alpha) * moved).sum() / np.exp(law).sum()) / (alpha - 1)
    assert total == pytest.approx(alpha * 3.5, rel=1e-9)


def test_squares_are_the_largest_over_all_records() -> None:
    """Against all records a, b, c, d of random attributes, with sizes counted one by one."""
    for seed in seeds(0, 12, 200):
        random = numpy_generator(seed)
        cuts = sorted(random.choice(np.arange(2, 7), size=2, replace=False).tolist())
        ranges = tuple(zip([1, *cuts], [cut - 1 for cut in (*cuts, 8)], strict=True))
        width = int(random.integers(1, 4))
        kinds = Attributes(
            ("size", "race"), (("s", "m", "l"), tuple("xyz"[:width])), (Grouping("large", 0, ("no", "yes"), (0, 0, 1)),)
        )
        texts = ["total", "size", "large", "race", "large*race", "size*race"]
        query = kinds.query(texts[int(random.integers(len(texts)))])
        apart = bool(random.integers(2))
        category = {people: index for index, (low, high) in enumerate(ranges) for people in range(low, high + 1)}
        best = 2
        for leaves, joins in product(range(2, 8), range(1, 7)):
            for races in product(range(width), repeat=4):
                homes = [category[leaves], category[leaves - 1], category[joins], category[joins + 1]]
                cells = [size * width + race for size, race in zip(homes, races, strict=True)]
                table = np.zeros((4, 3 * width), dtype=np.int64)
                table[np.arange(4), cells] = 1
                a, b, c, d = kinds.margin(table, query)
                best = max(best, int(((b - a + d - c) ** 2).sum()))
                if apart:
                    best = max(best, int(((b - a) ** 2).sum() + ((d - c) ** 2).sum()))
        assert moved_squares(kinds, query, HouseholdSizes(0, ranges), apart=apart) == best


def test_the_file_says_what_one_person_may_do(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "examples/data/topdown"
    for name in ("areas.csv", "homes.csv", "people.csv", "homes.toml", "people.toml"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    text = (source / "joint.toml").read_text()
    for change, rho in (("stays", "2"), ("moves", "4")):
        path = tmp_path / f"{change}.toml"
        path.write_text(f'{text}person_change = "{change}"\n')
        found = safemargin.topdown(path, tmp_path / change)
        assert isinstance(found, JointRelease)
        said = found.to_json()
        assert (said["rho_squared"], said["rho_squared_of_stayers"], said["person_change"]) == (rho, "2", change)
    per_home = safemargin.guarantee.compose([tmp_path / "moves/guarantee.json"], unit="household").guarantee
    assert per_home.budget is not None and per_home.budget > 4  # all people of a household
    (tmp_path / "bad.toml").write_text(f'{text}person_change = "leaves"\n')
    with pytest.raises(safemargin.InputError, match="person_change"):
        safemargin.topdown(tmp_path / "bad.toml", tmp_path / "bad")

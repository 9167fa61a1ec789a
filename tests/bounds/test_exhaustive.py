"""Every interval that `bound` reports is compared with all the integer tables there are."""

from dataclasses import replace

import numpy as np
import pytest

from brute import Fiber, TooMany, Unlimited, mismatches, published
from cases import Town, margin, rolls, situation, town
from evidence import seeds
from safemargin.bounds.bound import infer
from safemargin.core import UNBOUNDED, ContradictionError, Onlooker, PublishedTable, frozen

pytestmark = pytest.mark.full

COMPOSITIONS = ("joint", "sizes", "none")


def compare(tables: list[PublishedTable], onlooker: Onlooker, seed: object, chance: float = 0.0) -> bool:
    """Whether the case was small enough to be compared; fails if it differs."""
    try:
        fiber = Fiber(tables, onlooker)
    except TooMany:
        return False
    target = None
    rng = np.random.default_rng([len(fiber.profiles), len(fiber.rows)])
    if rng.random() < chance:
        target = tuple(axis for axis in fiber.axes if rng.random() < 0.6)
    exposure = infer(tables, onlooker, target=target)
    assert mismatches(exposure, fiber) == [], (seed, target)
    return True


@pytest.mark.parametrize("options", [1, 2, 3])
@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_every_interval_is_exactly_what_all_tables_leave(composition: str, options: int) -> None:
    compared = 0
    for seed in seeds(0, 15, 40):
        _, tables, onlooker = situation(seed, composition, options)
        compared += compare(tables, onlooker, seed, chance=0.5)
    assert compared > 5


@pytest.mark.slow
@pytest.mark.parametrize("options", [1, 2, 3])
@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_every_interval_is_exact_in_many_more_cases(composition: str, options: int) -> None:
    for seed in seeds(1000, 10, 500):
        _, tables, onlooker = situation(seed, composition, options)
        compare(tables, onlooker, seed, chance=0.5)


def test_larger_cells_with_a_joint_roll() -> None:
    for seed in range(6):
        rng = np.random.default_rng([seed, 77])
        place = town(rng, axes=2, options=int(rng.integers(1, 3)), people=60, most_per_profile=12)
        tables = [margin(place, axes) for axes in ((), *((axis,) for axis in place.axes))]
        compare(tables, Onlooker(roll=rolls(place, "joint")), seed)


@pytest.mark.parametrize("composition", ["joint", "none"])
def test_all_two_way_margins_of_three_axes(composition: str) -> None:
    for seed in seeds(0, 6, 15):
        rng = np.random.default_rng([seed, 5])
        place = town(rng, axes=3, options=1, people=14, fill=1.0, most_categories=3 if composition == "joint" else 2)
        pairs = [(a, b) for i, a in enumerate(place.axes) for b in place.axes[i + 1 :]]
        compare([margin(place, pair) for pair in pairs], Onlooker(roll=rolls(place, composition)), seed)


def test_cells_merged_in_one_column_only() -> None:
    """A table may list `(a, x)` and `(b, x)` but `(a or b, y)`: nothing of that is empty."""
    for seed in seeds(0, 10, 25):
        rng = np.random.default_rng([seed, 6])
        place = town(rng, axes=2, options=1, people=8, fill=1.0)
        (first, *rest), columns = place.categories[0], place.categories[1]
        rows = []
        for column in columns:
            if rng.random() < 0.5:
                rows += [((c, column), "A", place.count(place.axes, ((c,), (column,)), "A")) for c in (first, *rest)]
            else:
                both, others = (first, rest[0]), rest[1:]
                rows.append((("|".join(both), column), "A", place.count(place.axes, (both, (column,)), "A")))
                rows += [((c, column), "A", place.count(place.axes, ((c,), (column,)), "A")) for c in others]
        for composition in ("joint", "none"):
            onlooker = Onlooker(roll=rolls(place, composition))
            compare([margin(place, ()), published("mixed", place.axes, rows, ["A"])], onlooker, seed)


def test_overlapping_groups_and_subtotals() -> None:
    for seed in range(20):
        rng = np.random.default_rng([seed, 8])
        place = town(rng, axes=2, options=1, people=9, fill=1.0)
        names = place.categories[0]
        groups = [(names[0], names[-1]), (names[0],), names[1:]]
        chosen = [names, *(group for group in groups if rng.random() < 0.6)]
        rows = [(("|".join(group),), "A", place.count(("p",), (group,), "A")) for group in dict.fromkeys(chosen)]
        tables = [margin(place, ()), margin(place, ("q",)), published("overlapping", ("p",), rows, ["A"])]
        for composition in ("joint", "none"):
            compare(tables, Onlooker(roll=rolls(place, composition)), seed)


@pytest.mark.slow
def test_contradictions_are_found_and_nothing_else_is_called_one() -> None:
    found = 0
    for seed in seeds(0, 50, 120):
        rng = np.random.default_rng([seed, 9])
        composition = COMPOSITIONS[seed % 3]
        _, tables, onlooker = situation(seed, composition, 1 + seed % 3, two_way=0.8, hide=0.05, widen=0.05)
        at = int(rng.integers(len(tables)))
        row, step = int(rng.integers(len(tables[at].lower))), int(rng.choice([-1, 1]))
        lower, upper = tables[at].lower.copy(), tables[at].upper.copy()
        if upper[row] == UNBOUNDED or lower[row] + step < 0:
            continue
        lower[row] += step
        upper[row] += step
        tables[at] = replace(tables[at], lower=frozen(lower), upper=frozen(upper))
        try:
            fiber = Fiber(tables, onlooker)
        except (TooMany, Unlimited):
            continue
        if fiber.is_empty:
            found += 1
            with pytest.raises(ContradictionError):
                infer(tables, onlooker)
        else:
            assert mismatches(infer(tables, onlooker), fiber) == [], seed
    assert found > 15


def test_options_share_the_people_of_a_cell() -> None:
    """Margins of three options over the same people: each alone would leave more room."""
    place = Town(
        ("p", "q"),
        (("p0", "p1"), ("q0", "q1")),
        ("A", "B", "C"),
        {("p0", "q0"): 3, ("p0", "q1"): 4, ("p1", "q0"): 4, ("p1", "q1"): 2},
        {("p0", "q0"): (2, 1, 0), ("p0", "q1"): (2, 0, 2), ("p1", "q0"): (0, 3, 1), ("p1", "q1"): (1, 0, 1)},
    )
    tables = [margin(place, ()), margin(place, ("p",)), margin(place, ("q",))]
    onlooker = Onlooker(roll=rolls(place, "joint"))
    exposure = infer(tables, onlooker)
    assert mismatches(exposure, Fiber(tables, onlooker)) == []
    assert (exposure.upper <= exposure.people[:, None]).all()
    assert (exposure.lower.sum(axis=1) <= exposure.people).all()
    assert (exposure.upper.sum(axis=1) >= exposure.people).all()


@pytest.mark.parametrize(
    ("total", "interval"), [(600, (0, 290)), (320, (280, 290)), (310, (290, 290))], ids=["wide", "narrow", "closed"]
)
def test_worked_example_of_the_paper(total: int, interval: tuple[int, int]) -> None:
    tables = [
        published("total", (), [((), None, total)]),
        published("religion", ("religion",), [(("Muslim",), None, 310), (("other",), None, total - 310)]),
        published("age", ("age",), [(("young",), None, 290), (("old",), None, total - 290)]),
    ]
    exposure = infer(tables)
    cells = [exposure.cells.cell(row) for row in range(len(exposure.cells))]
    row = cells.index({"religion": "Muslim", "age": "young"})
    assert (int(exposure.lower[row, 0]), int(exposure.upper[row, 0])) == interval


def test_one_interior_count_gives_a_two_by_two_table_away() -> None:
    """Prop. 6: the margins leave everything open, one auxiliary fact closes it."""
    tables = [
        published("p", ("p",), [(("p0",), None, 50), (("p1",), None, 50)]),
        published("q", ("q",), [(("q0",), None, 50), (("q1",), None, 50)]),
    ]
    assert infer(tables).width.tolist() == [[50]] * 4
    fact = published("heard from a friend", ("p", "q"), [(("p0", "q0"), None, 20)])
    assert infer(tables, Onlooker(facts=(fact,))).lower.ravel().tolist() == [20, 30, 30, 20]
    assert infer(tables, Onlooker(facts=(fact,))).width.sum() == 0


def test_a_fact_about_some_categories_says_nothing_about_the_others() -> None:
    tables = [published("total", (), [((), None, 10)]), published("x", ("x",), [(("a|b|c",), None, 10)])]
    exposure = infer(tables, Onlooker(facts=(published("fact", ("x",), [(("a",), None, 4)]),)))
    assert exposure.lower.ravel().tolist() == [4, 0, 0]
    assert exposure.upper.ravel().tolist() == [4, 6, 6]


def test_a_lower_end_alone_limits_nothing_from_above() -> None:
    at_least_five = published("at least 5", ("x",), [(("a|b",), None, (5, UNBOUNDED))])
    exposure = infer([at_least_five])
    assert exposure.lower.ravel().tolist() == [0, 0]
    assert (exposure.upper >= UNBOUNDED).all()
    assert not exposure.integer.any()
    exposure = infer([at_least_five, published("few", ("x",), [(("a",), None, (0, 3))])])
    assert exposure.lower.ravel().tolist() == [0, 2]


def test_an_answer_that_a_table_does_not_list_was_given_by_nobody() -> None:
    """The last option is what the others leave of the people: omitting it says as much as omitting another."""
    people = {("p0", "q0"): 3, ("p0", "q1"): 3, ("p1", "q0"): 3, ("p1", "q1"): 3}
    votes = {("p0", "q0"): (1, 2), ("p0", "q1"): (3, 0), ("p1", "q0"): (2, 1), ("p1", "q1"): (1, 2)}
    place = Town(("p", "q"), (("p0", "p1"), ("q0", "q1")), ("A", "B"), people, votes)
    listed = [
        (profile, option, count)
        for profile, counts in votes.items()
        for option, count in zip(("A", "B"), counts, strict=True)
        if count and profile != ("p1", "q1")
    ]
    hidden = [(("p1", "q1"), option, (0, 3)) for option in "AB"]
    two_way = published("nonzero", place.axes, [*listed, *hidden], "AB")
    onlooker = Onlooker(roll=rolls(place, "joint"))
    compare([margin(place, ()), two_way], onlooker, "reference omitted")
    no_total = [margin(place, ("p",)), published("b", ("q",), [(("q0",), "B", 3), (("q1",), "B", (0, 4))], "AB")]
    compare(no_total, onlooker, "without the first option")


def test_turnout_beside_the_answers() -> None:
    for seed in range(12):
        rng = np.random.default_rng([seed, 12])
        place = town(rng, axes=2, options=2, people=10, covering=bool(seed % 2))
        answers = published(
            "answers",
            ("p",),
            [((c,), None, sum(place.count(("p",), ((c,),), o) for o in "AB")) for c in place.categories[0]],
        )
        tables = [margin(place, ()), margin(place, ("q",)), answers]
        for composition in COMPOSITIONS:
            compare(tables, Onlooker(roll=rolls(place, composition)), (seed, composition))


def test_nothing_but_a_total() -> None:
    total = published("total", (), [((), "A", 3), ((), "B", 4)], ["A", "B"])
    for onlooker in (Onlooker(), Onlooker(roll=(published("roll", ("p",), [(("x",), None, 9)], measure="people"),))):
        exposure = infer([total], onlooker, target=())
        assert exposure.lower.tolist() == exposure.upper.tolist() == [[3, 4]]

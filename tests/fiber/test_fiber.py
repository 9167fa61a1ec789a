"""How many tables, which values, how many dimensions, random tables: against published counts and exhaustion."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice, product
from math import comb, prod
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln
from scipy.stats import chisquare

from brute import Fiber, TooMany, Unlimited, published
from cases import Town, margin, rolls, situation
from evidence import EVERYTHING, seeds
from safemargin.bounds.build import build_system
from safemargin.bounds.fiber_count import SEARCH, STATES, VERTICES, attained, count_tables, dimension, tables as chunks
from safemargin.bounds.fiber_equations import Equations, components
from safemargin.bounds.fiber_listing import TableSearch, count_by_grid
from safemargin.bounds.fiber_sample import _basis, _solve, chain, reach
from safemargin.bounds.fiber_vertices import count_by_vertices
from safemargin.bounds.propagate import standard_form
from safemargin.bounds.system import System
from safemargin.core import (
    ContradictionError,
    FloatArray,
    InputError,
    IntArray,
    Onlooker,
    PublishedTable,
    TooLargeError,
)

pytestmark = pytest.mark.full

MARGINS = json.loads((Path(__file__).parent.parent / "vectors" / "margins.json").read_text())
CZECH = MARGINS["czech"]

ALARM = 1e-8
"""False-alarm rate of one statistical check; each test makes fewer than a hundred, so it alarms below 1e-6."""

HAIR_EYE = ((220, 215, 93, 64), (108, 286, 71, 127), 1_225_914_276_768_514)
"""Snee 1974; counted by Diaconis and Gangolli 1995, and in the tests of LattE."""

LATTE = [  # four by four in De Loera, Hemmecke, Tauzer, Yoshida 2004; all but the first recalled, not read
    HAIR_EYE,
    ((109, 127, 69, 109), (119, 86, 108, 101), 993_810_896_945_891),
    ((72, 67, 47, 96), (70, 70, 51, 91), 25_387_360_604_030),
    (
        (179_909, 258_827, 224_919, 61_909),
        (190_019, 90_636, 276_208, 168_701),
        13_571_026_063_401_838_164_668_296_635_065_899_923_152_079,
    ),
]

CUBES = (12, 132, 847, 3921, 14_286, 43_687, 116_757, 280_656, 619_219, 1_273_125)
"""3 x 3 x 3 with all line sums 1 to 10: in LattE's tests up to 5, all counted here in two ways."""

WORKERS = np.array(CZECH).reshape((2,) * 6)

VLACH = (  # Vlach 1986: K4 with its three edge colours; one real table, of halves, and no integer one
    [[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1], [0, 0, 1, 1]],
    [[0, 1, 1], [1, 0, 1], [1, 1, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]],
    [[1, 1, 1]] * 4,
)
DE_LOERA_ONN = (
    [[2, 1, 2, 0, 2, 0], [1, 0, 2, 0, 0, 2], [1, 0, 0, 2, 2, 0], [0, 1, 0, 2, 0, 2]],
    [[2, 3, 2], [2, 1, 2], [2, 1, 2], [2, 1, 2]],
)
GAP = (*DE_LOERA_ONN, [[0, 2, 2], [0, 1, 1], [2, 2, 0], [3, 1, 0], [2, 0, 2], [1, 0, 3]])
FAKE_SAFE = (*DE_LOERA_ONN, [[0, 3, 1], [0, 1, 1], [1, 0, 3], [1, 0, 3], [3, 1, 0], [3, 1, 0]])


def tables(system: System, limit: int = 2_000_000) -> Iterator[IntArray]:
    """Every integer table, one by one."""
    return (table for chunk in chunks(system, limit) for table in chunk)


def sample(
    system: System,
    start: IntArray,
    count: int,
    rng: np.random.Generator,
    law: str = "uniform",
    between: int | None = None,
) -> IntArray:
    """Tables (rows) of a chain that begins at `start`."""
    return np.array(list(islice(chain(system, start, rng, law, between), count)))


def one_margin(axes: str, counts: IntArray | Sequence[Sequence[int]]) -> PublishedTable:
    """A margin whose axes have one letter each."""
    values = np.asarray(counts)
    rows = [
        (tuple(f"{a}{i}" for a, i in zip(axes, at, strict=True)), None, int(values[at]))
        for at in np.ndindex(values.shape)
    ]
    return published(axes, list(axes), rows)


def with_margins(table: IntArray, sets: Iterable[str]) -> System:
    """What the margins of a table over some sets of its axes A, B, ... say."""
    names = "ABCDEF"[: table.ndim]
    shown = []
    for axes in sets:
        others = tuple(place for place, name in enumerate(names) if name not in axes)
        shown.append(one_margin(axes, table.sum(axis=others)))
    return build_system(shown, Onlooker())


def two_way(rows: Sequence[int], columns: Sequence[int]) -> System:
    return build_system([one_margin("R", np.array(rows)), one_margin("C", np.array(columns))], Onlooker())


def three_way(margins: Sequence[Sequence[Sequence[int]]]) -> System:
    return build_system(
        [one_margin(axes, margin) for axes, margin in zip(("AB", "AC", "BC"), margins, strict=True)], Onlooker()
    )


def cube(line: int) -> IntArray:
    latin = [[[line * ((i + j + k) % 3 == 0) for k in range(3)] for j in range(3)] for i in range(3)]
    return np.array(latin, dtype=np.int64)


def of_order(order: int) -> list[str]:
    return ["".join(axes) for axes in combinations("ABCDEF", order)]


# Numbers of tables


@pytest.mark.parametrize(("rows", "columns", "count"), LATTE)
def test_two_way_tables_of_any_size(rows: tuple[int, ...], columns: tuple[int, ...], count: int) -> None:
    found = count_tables(two_way(rows, columns))
    assert (found.value, found.exact, found.method) == (count, True, VERTICES)


def test_semi_magic_squares() -> None:
    """MacMahon 1915."""
    for line in range(1, 21):
        formula = comb(line + 2, 4) + comb(line + 3, 4) + comb(line + 4, 4)
        assert count_tables(two_way([line] * 3, [line] * 3)).value == formula


def squares(line: int) -> IntArray:
    """All 3 x 3 squares with equal line sums, by trying every corner."""
    a, b, c, d = np.indices((line + 1,) * 4).reshape(4, -1)
    cells = np.stack([a, b, line - a - b, c, d, line - c - d, line - a - c, line - b - d, a + b + c + d - line], axis=1)
    return cells[(cells >= 0).all(axis=1)]


@pytest.mark.parametrize("line", [*range(1, 10), pytest.param(10, marks=pytest.mark.slow)])
def test_cubes(line: int) -> None:
    found = count_tables(with_margins(cube(line), ["AB", "AC", "BC"]))
    assert (found.value, found.exact) == (CUBES[line - 1], True)
    layers = squares(line)
    assert sum(int((layers <= line - layer).all(axis=1).sum()) for layer in layers) == CUBES[line - 1]


@pytest.mark.parametrize(
    ("sets", "count"),
    [
        (["ACDEF", "ABDEF", "ABCDE", "BCDF", "ABCF", "BCEF"], 810),  # Dobra, Tebaldi, West 2006
        (of_order(5), 2),
        (of_order(4), 705_884),  # Dobra and Fienberg
        (of_order(6), 1),
    ],
)
def test_czech_autoworkers(sets: list[str], count: int) -> None:
    found = count_tables(with_margins(WORKERS, sets))
    assert (found.value, found.exact) == (count, True)


def test_no_integer_table_although_a_real_one() -> None:
    system = three_way(VLACH)
    assert dimension(system) == 0, "one real table"
    assert count_tables(system) == count_tables(system, limit=1)
    assert (count_tables(system).value, count_tables(system).exact) == (0, True)
    assert list(tables(system)) == []
    assert attained(system) == ((),) * system.size


def test_a_cell_with_a_gap() -> None:
    system = three_way(GAP)
    assert count_tables(system).value == 2
    values = attained(system)
    assert values is not None
    assert values[np.ravel_multi_index((0, 0, 1), (4, 6, 3))] == (0, 2)


def test_a_table_that_only_looks_safe() -> None:
    system = three_way(FAKE_SAFE)
    assert dimension(system) == 1, "real tables differ"
    assert count_tables(system).value == 1
    (only,) = tables(system)
    assert only.reshape(4, 6, 3)[0].tolist() == [[0, 1, 1], [0, 1, 0], [1, 0, 1], [0, 0, 0], [1, 1, 0], [0, 0, 0]]


def test_the_suppression_pattern_that_fails() -> None:
    """Working Paper 22: three children of county Alpha are hidden, and one of the counts is known exactly."""
    table = np.array([[15, 1, 3, 1], [20, 10, 10, 15], [3, 10, 10, 2], [12, 14, 7, 2]])
    hidden = {(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (2, 0), (2, 3), (3, 0), (3, 3)}
    cells = [((f"A{i}", f"B{j}"), None, int(table[i, j])) for i, j in np.ndindex(4, 4) if (i, j) not in hidden]
    inside = [((f"A{i}", f"B{j}"), None, None) for i, j in hidden]
    shown = [published("inside", ["A", "B"], cells + inside)]
    shown += [one_margin("A", table.sum(axis=1)), one_margin("B", table.sum(axis=0))]
    system = build_system(shown, Onlooker())
    values = attained(system)
    assert values is not None
    found = dict(zip(label(system), values, strict=True))
    at = {(i, j): found[f"A{i}", f"B{j}"] for i, j in hidden}
    assert at[0, 3] == (1,)
    assert at[0, 1] == at[0, 2] == at[2, 3] == at[3, 3] == (0, 1, 2, 3, 4)
    assert at[1, 1] == (7, 8, 9, 10, 11) and at[3, 0] == (10, 11, 12, 13, 14)


def test_every_width_is_one_with_all_five_way_margins() -> None:
    values = attained(with_margins(WORKERS, of_order(5)))
    assert values is not None
    for cell, found in zip(WORKERS.ravel().tolist(), values, strict=True):
        assert len(found) == 2 and found[1] == found[0] + 1 and cell in found


# What cannot be counted, and what is asked wrongly


def test_contradictions_have_no_table() -> None:
    part = published("part", ["A"], [(("A0",), None, 3)])
    system = build_system([part, one_margin("AB", [[1, 1], [1, 1]])], Onlooker())
    assert (count_tables(system).value, count_tables(system).exact) == (0, True)
    assert list(tables(system)) == []
    with pytest.raises(ContradictionError):
        dimension(system)


def test_what_nothing_limits_is_not_counted() -> None:
    system = build_system([published("A", ["A"], [(("A0",), None, 3), (("A1",), None, None)])], Onlooker())
    found = count_tables(system)
    assert (found.value, found.exact) == (None, False) and "limits" in found.method
    assert attained(system) is None
    assert dimension(system) == 1


def test_the_limit_is_kept() -> None:
    system = two_way([9, 14, 20], [5, 8, 12, 18])
    count = 46_918
    assert count_tables(system).value == count
    assert sum(1 for _ in tables(system, count)) == count
    with pytest.raises(TooLargeError, match="more than 46,917 tables"):
        list(tables(system, count - 1))
    assert attained(system, limit=count - 1) is None


def test_a_count_that_is_not_exact_is_a_number_that_is_reached() -> None:
    system = with_margins(np.full((4, 4, 4), 6), ["AB", "AC", "BC"])
    found = count_tables(system, limit=1_000)
    assert not found.exact and found.value is not None and found.value > 1_000 and found.method.startswith(SEARCH)


# Against exhaustion


@pytest.mark.parametrize("composition", ["joint", "sizes", "none"])
@pytest.mark.parametrize("options", [1, 2, 3])
def test_all_tables_are_found(composition: str, options: int) -> None:
    compared = 0
    for seed in range(40):
        _, shown, onlooker = situation(seed, composition, options)
        try:
            fiber = Fiber(shown, onlooker)
        except (TooMany, Unlimited):
            continue
        system = build_system(shown, onlooker)
        count = 0 if fiber.is_empty else fiber.count()
        found = count_tables(system)
        assert (found.value, found.exact) == (count, True), seed
        if count <= 2_000:
            compare(system, fiber, list(tables(system)), count)
        compared += 1
    assert compared > 20


def compare(system: System, fiber: Fiber, listed: list[IntArray], count: int) -> None:
    """Tables are different ones, all satisfy the facts, and they show the values that exhaustion finds."""
    assert len({table.tobytes() for table in listed}) == len(listed) == count
    assert all(system.admits(table) for table in listed)
    values = attained(system)
    assert values is not None
    names = [dict(zip(system.axes, row, strict=True)) for row in label(system)]
    for profile, name in enumerate(names):
        at = fiber.profiles.index(tuple(name[axis] for axis in fiber.axes))
        for option, listed_option in enumerate(system.options[: system.n_free_options]):
            assert list(values[profile * system.n_free_options + option]) == fiber.values([at], listed_option)


def label(system: System) -> list[tuple[str, ...]]:
    return [tuple(system.categories[a][code] for a, code in enumerate(row)) for row in system.codes.tolist()]


def test_values_of_sums_of_cells() -> None:
    system = two_way([5, 4, 3], [6, 3, 3])
    targets = np.array([[1, 1, 0, 0, 0, 0, 0, 0, 0], [1, 0, 0, -1, 0, 0, 0, 0, 0]])
    listed = np.array(list(tables(system)))
    expected = tuple(tuple(np.unique(listed @ target).tolist()) for target in targets)
    assert attained(system, targets) == attained(system, sparse.csr_array(targets)) == expected


def pieces(seeds: Iterable[int]) -> Iterable[Equations]:
    for seed in seeds:
        for composition in ("joint", "sizes", "none"):
            _, shown, onlooker = situation(seed, composition, 1 + seed % 3, people=20, two_way=0.3, hide=0.05)
            try:
                yield from (
                    form for _, form in components(standard_form(build_system(shown, onlooker))) if form.matrix.shape[0]
                )
            except (ContradictionError, TooLargeError):
                continue


def by_search(form: Equations) -> int | None:
    found = 0
    try:
        for bar in TableSearch(form).bars(10_000_000):
            found += int(bar.count.sum())
    except TooLargeError:
        return None
    return found


def test_all_ways_to_count_agree() -> None:
    """With caps, ranges, several options, merged and suppressed cells."""
    compared = dict.fromkeys((SEARCH, STATES, VERTICES), 0)
    for form in pieces(range(30)):
        found = {
            SEARCH: by_search(form),
            STATES: count_by_grid(form, 500_000),
            VERTICES: count_by_vertices(form, 2_000),
        }
        known = {name: value for name, value in found.items() if value is not None}
        assert len(set(known.values())) <= 1, known
        for name in known if len(known) > 1 else ():
            compared[name] += 1
    assert min(compared.values()) > 20, compared


def test_equations_with_any_whole_coefficients() -> None:
    rng = np.random.default_rng(7)
    fractions, uneven = 0, 0
    for _ in range(150):
        count, rows = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        matrix = rng.integers(-3, 5, size=(rows, count)) * rng.integers(0, 2, size=(rows, count))
        room = rng.integers(0, 5, size=count)
        total = matrix @ (rng.random(count) * (room + 1)).astype(np.int64) + (rng.random() < 0.2)
        form = Equations(sparse.csr_array(matrix), total, room, np.arange(count), np.zeros(count, dtype=np.int64))
        grid = np.array(list(product(*(range(top + 1) for top in room.tolist()))))
        expected = grid[(grid @ matrix.T == total).all(axis=1)]
        search = TableSearch(form)
        found = [search.complete(bar.expand()) for bar in search.bars(np.inf)]
        listed = np.concatenate(found) if found else expected[:0]
        assert sorted(map(tuple, listed.tolist())) == sorted(map(tuple, expected.tolist()))
        if (vertices := count_by_vertices(form, 2_000)) is not None:
            assert vertices == len(expected)
        fractions += search.solved is not None and not search.whole
        uneven += search.solved is None
    assert fractions > 20 and uneven > 5


def test_more_facts_leave_fewer_tables_and_dimensions() -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        table = rng.integers(0, 3, size=(2, 3, 2))
        chain = [["A", "B", "C"], ["AB", "C"], ["AB", "AC"], ["AB", "AC", "BC"], ["ABC"]]
        known = [with_margins(table, sets) for sets in chain]
        counts = [count_tables(each).value for each in known]
        flat = [dimension(each) for each in known]
        assert counts == sorted(counts, key=lambda value: -(value or 0)) and counts[-1] == 1
        assert flat == sorted(flat, reverse=True) and flat[-1] == 0


# Dimensions


@pytest.mark.parametrize("shape", [(2, 2), (4, 4), (3, 4, 5), (2, 3, 4, 5), (6, 5, 4, 2, 2), (9,)])
def test_dimension_with_order_one_margins(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(11)
    table = rng.integers(1, 9, size=shape)
    system = with_margins(table, "ABCDEF"[: len(shape)])
    assert dimension(system) == prod(shape) - (1 + sum(size - 1 for size in shape))


@pytest.mark.parametrize("order", range(1, 7))
def test_dimension_with_all_margins_of_an_order(order: int) -> None:
    system = with_margins(WORKERS, of_order(order))
    assert dimension(system) == 64 - sum(comb(6, k) for k in range(order + 1))


def test_dimension_is_that_of_the_tables() -> None:
    """At least that of the integer tables; equal where there are many."""
    equal = 0
    for seed in range(40):
        _, shown, onlooker = situation(seed, ("joint", "sizes")[seed % 2], 1 + seed % 2)
        system = build_system(shown, onlooker)
        try:
            listed = np.array(list(tables(system, 3_000)))
        except TooLargeError:
            continue
        spanned = int(np.linalg.matrix_rank(listed - listed[0])) if len(listed) else -1
        assert dimension(system) >= spanned
        equal += dimension(system) == spanned
    assert equal > 20


def test_ranges_that_are_always_met_at_one_end_count_as_equations() -> None:
    """Every cell may be at most 2 and all of them must add up to 8: each is 2. Of 7, each has one to give."""
    cells = [((f"A{i}", f"B{j}"), None, (0, 2)) for i in range(2) for j in range(2)]
    for total, flat in ((8, 0), (7, 3)):
        shown = [published("cells", ["A", "B"], cells), published("all", [], [((), None, total)])]
        assert dimension(build_system(shown, Onlooker())) == flat


# Random tables


def law_of(system: System, listed: IntArray, law: str) -> FloatArray:
    """The exact chance of every table."""
    weight = np.zeros(len(listed))
    if law == "hypergeometric":
        weight -= gammaln(listed + 1.0).sum(axis=1)
        if system.people is not None:
            left = system.people - listed.reshape(len(listed), -1, system.n_free_options).sum(axis=2)
            weight -= gammaln(left + 1.0).sum(axis=1)
    chance: FloatArray = np.exp(weight - weight.max())
    return chance / chance.sum()


def voters(options: int) -> System:
    """Sixteen people in two by three profiles, votes by axis, the joint roll known."""
    people = {("p0", "q0"): 4, ("p0", "q1"): 3, ("p0", "q2"): 2, ("p1", "q0"): 3, ("p1", "q1"): 1, ("p1", "q2"): 3}
    votes = [(2, 1), (1, 1), (1, 0), (1, 2), (0, 1), (2, 0)]
    counts = {cell: vote[:options] for cell, vote in zip(people, votes, strict=True)}
    place = Town(("p", "q"), (("p0", "p1"), ("q0", "q1", "q2")), ("A", "B")[:options], people, counts)
    shown = [margin(place, ("p",)), margin(place, ("q",))]
    return build_system(shown, Onlooker(roll=rolls(place, "joint")))


SMALL = {
    "two-way": two_way([5, 4, 3], [6, 3, 3]),
    "gap": three_way(GAP),
    "cube": with_margins(cube(2), ["AB", "AC", "BC"]),
    "czech": with_margins(WORKERS, ["ACDEF", "ABDEF", "ABCDE", "BCDF", "ABCF", "BCEF"]),
    "order one": with_margins(np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]]), ["A", "B", "C"]),
    "caps": voters(1),
    "two options": voters(2),
}


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("law", ["uniform", "hypergeometric"])
# The Czech table has far more tables, and takes 45 s: with EVIDENCE=all only.
@pytest.mark.parametrize("name", [name for name in SMALL if name != "czech" or len(seeds(0, 0, 1))])
def test_tables_are_drawn_by_their_law(name: str, law: str) -> None:
    """Chi-square against the law over all tables, 40 moves apart; false alarms below 1e-6."""
    system = SMALL[name]
    listed = np.array(list(tables(system)))
    place = {table.tobytes(): at for at, table in enumerate(listed)}
    draws = max(2_000 if EVERYTHING else 1_000, 6 * len(listed))
    drawn = sample(system, listed[0], draws, np.random.default_rng(5), law, between=40)
    expected = law_of(system, listed, law) * draws
    seen = np.bincount([place[table.tobytes()] for table in drawn], minlength=len(listed)).astype(np.float64)
    often = expected >= 5
    groups = [np.r_[each[often], each[~often].sum()] for each in (seen, expected)]
    kept = groups[1] > 1e-9
    assert chisquare(groups[0][kept], groups[1][kept]).pvalue > ALARM


@pytest.mark.parametrize("law", ["uniform", "hypergeometric"])
@pytest.mark.parametrize("name", SMALL)
def test_every_drawn_table_satisfies_the_facts(name: str, law: str) -> None:
    system = SMALL[name]
    start = next(tables(system))
    drawn = sample(system, start, 50, np.random.default_rng(1), law)
    assert drawn.shape == (50, system.size) and all(system.admits(table) for table in drawn)
    assert (drawn == sample(system, start, 50, np.random.default_rng(1), law)).all(), "the same seed, the same tables"
    assert len({table.tobytes() for table in drawn}) > 1


def test_large_files_are_sampled_by_exchanges() -> None:
    rng = np.random.default_rng(2)
    table = rng.integers(0, 5, size=(20, 20, 20))
    system = with_margins(table, "ABC")
    drawn = sample(system, table.ravel(), 2, np.random.default_rng(3), "hypergeometric", between=1_000)
    assert all(system.admits(each) for each in drawn)
    assert (drawn[-1] != table.ravel()).sum() > 1_000


def test_nothing_moves_where_everything_is_fixed() -> None:
    system = three_way(FAKE_SAFE)
    (only,) = tables(system)
    assert (sample(system, only, 3, np.random.default_rng(1)) == only).all()
    settled = with_margins(WORKERS, ["ABCDEF"])
    assert (sample(settled, WORKERS.ravel(), 3, np.random.default_rng(1)) == WORKERS.ravel()).all()


def test_the_chain_wants_a_table_to_start_from_and_a_law() -> None:
    system = two_way([2, 2], [2, 2])
    with pytest.raises(InputError, match="start from"):
        sample(system, np.array([2, 1, 0, 2]), 1, np.random.default_rng(1))
    with pytest.raises(InputError, match="start from"):
        sample(system, np.array([2, 0, 0]), 1, np.random.default_rng(1))
    with pytest.raises(InputError, match="'poisson' is unknown"):
        sample(system, np.array([2, 0, 0, 2]), 1, np.random.default_rng(1), "poisson")


def test_every_move_is_a_sum_of_the_basis() -> None:
    """Also where solved unknowns would be fractions: all whole kernel vectors in a box are whole combinations."""
    rng = np.random.default_rng(9)
    uneven = 0
    for _ in range(60):
        matrix = rng.integers(-2, 4, size=(int(rng.integers(1, 3)), 4))
        solved = _solve(matrix, rng)
        if not len(solved.free):
            continue
        basis = np.zeros((len(solved.free), 4))
        for row, move in enumerate(_basis(solved, 4)):
            for at, step in move:
                basis[row, at] = step
        assert (matrix @ basis.T == 0).all()
        box = np.array(list(product(range(-3, 4), repeat=4)))
        kernel = box[(box @ matrix.T == 0).all(axis=1)]
        shares = np.linalg.lstsq(basis.T, kernel.T.astype(np.float64), rcond=None)[0]
        assert np.abs(basis.T @ np.rint(shares) - kernel.T).max() < 1e-9
        uneven += bool((solved.scale > 1).any())
    assert uneven > 10


NORTHWEST = [108, 112, 0, 0, 0, 174, 41, 0, 0, 0, 30, 63, 0, 0, 0, 64]
"""A table of hair and eyes: as many as possible in each cell in turn."""


def test_moves_that_share_nothing_are_a_number_that_is_reached() -> None:
    compared = 0
    for seed in range(40):
        composition = ("joint", "sizes", "none")[seed % 3]
        _, shown, onlooker = situation(seed, composition, 1 + seed % 3)
        system = build_system(shown, onlooker)
        found = count_tables(system, limit=20_000)
        first = next(tables(system), None) if found.exact and 0 < (found.value or 0) <= 20_000 else None
        if first is not None and found.value is not None:
            assert 1 <= reach(system, first, np.random.default_rng(seed)) <= found.value
            compared += 1
    assert compared > 20
    system = two_way(*HAIR_EYE[:2])
    (table,) = sample(system, np.array(NORTHWEST), 1, np.random.default_rng(1), between=500)
    assert 10**4 < reach(system, table, np.random.default_rng(1)) < HAIR_EYE[2]

"""Values refuse what cannot be, and sums, keys and histories are those of their definition."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from brute import published
from cases import town
from safemargin.core import (
    Axis,
    Hierarchy,
    InputError,
    Onlooker,
    Schema,
    Table,
    Tally,
    Target,
    TooLargeError,
    as_published,
    frozen,
    group_sums,
    lattice,
    numpy_generator,
    onlooker_with_roll,
    row_keys,
)
from safemargin.core.errors import cannot_read
from safemargin.core.published import net_histories
from safemargin.core.recall import recall

SEX = Axis("sex", ("f", "m"))
TALLY = Tally(("sex",), frozen([[0], [1]], 1), frozen([[3], [4]], 1))
TABLE = published("t", ["sex"], [(("f",), None, 3), (("m",), None, 4)])
PLACE = town(np.random.default_rng(1), axes=2, options=2, people=9).table()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Axis("", ("f",)), "axis name '' is empty or reserved"),
        (lambda: Axis("count", ("f",)), "axis name 'count' is empty or reserved"),
        (lambda: Axis("sex", ()), "axis 'sex' has no categories"),
        (lambda: Axis("sex", ("f", "f")), "axis 'sex' lists category 'f' twice"),
        (lambda: Schema((SEX, SEX), ("yes",)), "axis 'sex' is declared twice"),
        (lambda: Schema((SEX,), ()), "an answer needs at least one option"),
        (lambda: Schema((SEX,), ("yes", "yes")), "option 'yes' is declared twice"),
        (lambda: Schema((SEX,), ("yes",)).axis("age"), "there is no axis 'age'; the axes are sex"),
        (lambda: Hierarchy("sex", ("all", "all"), ()), "'all' names two nodes of the hierarchy"),
        (lambda: Hierarchy.from_parents("area", "a", {"a": "b", "b": "a"}), "goes round in a circle at 'a'"),
        (lambda: Tally(("sex",), frozen([[0]], 1), frozen([[3], [4]], 1)), "codes for 2 counts"),
        (lambda: Tally(("sex",), frozen([[0]], 1), frozen([[-3]], 1)), "negative count -3"),
        (lambda: Table(Schema((SEX,), ("yes",)), (), ()), "the table is empty: nobody is counted"),
        (lambda: PLACE.margin(("elsewhere",)), "votes are not known by elsewhere"),
        (lambda: as_published(TALLY, Schema((SEX,), ("yes",)), "t", {"sex": [frozenset("f")]}), "do not cover all"),
        (lambda: onlooker_with_roll(PLACE, "half"), "composition 'half': must be one of"),
        (lambda: replace(TABLE, status=("exact",)), "t: columns of different length"),
        (lambda: replace(TABLE, lower=frozen([-1, 4])), "t: a range is negative or ends before it starts"),
        (lambda: published("t", ["sex"], []), "t: the table is empty"),
        (
            lambda: recall((TABLE,), "2020", (TABLE,), (published("u", ["age"], [(("old",), None, 1)]),)),
            "lacks the axis",
        ),
        (lambda: Target(beta=0.5), "target.beta = 0.5"),
        (lambda: Target(kappa=0), "target.kappa = 0"),
        (lambda: Target(tau=-1), "target.tau = -1"),
        (lambda: Target(epsilon_max=float("inf")), "target.epsilon_max = inf"),
        (lambda: Target(beta=0.1, guard=0.4), "target.guard = 0.4"),
        (lambda: Target(sensitive={"sex": "f"}), "target.sensitive: must list"),
        (lambda: Target(sensitive="sex"), "target.sensitive: must list"),
        (lambda: numpy_generator(-1), "seed = -1: must not be negative"),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_rolls_that_are_compared_are_exact() -> None:
    merged = published("r", ["sex"], [(("f|m",), None, 7)], measure="people")
    with pytest.raises(InputError, match="r: a roll that is compared needs exact numbers of plain categories"):
        recall((TABLE,), "2020", (merged,), (merged,))


def test_a_lattice_beyond_memory_is_refused_before_it_is_made() -> None:
    wide = Hierarchy.flat("a", [str(n) for n in range(2_000)])
    with pytest.raises(TooLargeError, match="cells with all margins"):
        lattice((wide, wide), np.zeros((0, 0), dtype=np.int64))


def test_the_total_has_a_name_that_no_category_has() -> None:
    assert Hierarchy.flat("a", ("Total", "(Total)")).labels == ("((Total))", "Total", "(Total)")


def test_sensitive_categories_are_stated_by_axis() -> None:
    target = Target(sensitive={"sex": ["m", "f"], "age": ["old"]})
    assert target.sensitive == (("age", "old"), ("sex", "f"), ("sex", "m"))
    assert target.stated()["sensitive"] == {"age": ["old"], "sex": ["f", "m"]}


def test_who_knows_no_roll_has_none() -> None:
    assert onlooker_with_roll(PLACE, "none", "public") == Onlooker("public", knows_rule=True)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FileNotFoundError(), "f: there is no such file"),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, ""), "f: is no name that a file can have; it is not UTF-8"),
        (UnicodeDecodeError("utf-8", b"a\nb\n\xff", 4, 5, ""), "f: line 3: is not UTF-8; save the file as UTF-8"),
        (PermissionError(13, "Permission denied"), "f: cannot be read: Permission denied"),
    ],
)
def test_files_that_cannot_be_read(error: Exception, message: str) -> None:
    assert str(cannot_read("f", error)) == message


def test_keys_of_many_axes_distinguish_rows_beyond_64_bits() -> None:
    codes = np.random.default_rng(1).integers(0, 2, (40, 70))
    codes[20:] = codes[:20]
    keys = row_keys(codes, [1_000] * 70)
    same = [[(a == b).all() for b in codes] for a in codes]
    assert ((keys[:, None] == keys) == np.array(same)).all()


@pytest.mark.parametrize("scale", [1, -1, 2**52])
def test_sums_by_key_are_exact(scale: int) -> None:
    """Also of negative numbers, and where floats would round."""
    rng = np.random.default_rng(2)
    keys, values = rng.integers(0, 5, 30), rng.integers(0, 9, (30, 2)) * scale + 1
    first, sums = group_sums(keys, values)
    assert keys[first].tolist() == sorted(set(keys.tolist()))
    for key, total in zip(keys[first].tolist(), sums.tolist(), strict=True):
        assert total == [sum(row) for row in zip(*values[keys == key].tolist(), strict=True)]


def test_histories_explain_every_roll_with_the_fewest_changes() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        rolls = [{("a",): int(rng.integers(0, 5)), ("b",): int(rng.integers(0, 3))} for _ in range(4)]
        histories = net_histories(rolls)
        for cycle, (profile, people) in product(range(4), rolls[0].items()):
            there = Counter({history[cycle]: 0 for history in histories})
            for history, count in histories.items():
                there[history[cycle]] += count
            assert there[profile] == rolls[cycle][profile], (people, rolls)
        for profile in rolls[0]:  # nobody comes who would have to leave at once for another
            sizes = [0, *(roll[profile] for roll in rolls)]
            came = sum(max(after - before, 0) for before, after in zip(sizes, sizes[1:], strict=False))
            assert sum(n for history, n in histories.items() if profile in history) == came

"""One cell: the two extreme tables against every table that there is, and what would protect the cell."""

from itertools import product
from pathlib import Path

import pytest

from safemargin import Project, bound
from safemargin.bounds import short_words
from safemargin.core import InputError
from safemargin.release.demo import write_city
from safemargin.release.inputs import read_inputs

pytestmark = pytest.mark.full

OPTIONS = ("yes", "no")
ROWS = [  # religion, age, people, yes
    ("a", "young", 5, 2),
    ("a", "old", 4, 1),
    ("b", "young", 3, 3),
    ("b", "old", 6, 0),
]


def margins(yes: dict[tuple[str, str], int]) -> list[list[dict[str, object]]]:
    """Both axes of a table, with the answers yes and no."""
    people = {(religion, age): size for religion, age, size, _ in ROWS}
    tables = []
    for place, axis in enumerate(("religion", "age")):
        rows = []
        for name in dict.fromkeys(key[place] for key in yes):
            chosen = sum(count for key, count in yes.items() if key[place] == name)
            size = sum(count for key, count in people.items() if key[place] == name)
            rows += [
                {axis: name, "option": "yes", "count": chosen},
                {axis: name, "option": "no", "count": size - chosen},
            ]
        tables.append(rows)
    return tables


def test_extreme_tables_are_those_of_all_possible_ones() -> None:
    """Every integer table is listed; the two found agree with the margins and have the least and the most of them."""
    people = {(religion, age): size for religion, age, size, _ in ROWS}
    truth = {(religion, age): yes for religion, age, _, yes in ROWS}
    roll = [{"religion": r, "age": a, "people": size} for (r, a), size in people.items()]
    published = margins(truth)
    possible = [
        table
        for counts in product(*(range(size + 1) for size in people.values()))
        if margins(table := dict(zip(people, counts, strict=True))) == published
    ]
    assert len(possible) > 1
    for religion, age in people:
        for option in ("yes", "no"):
            found = bound(published, roll=roll, cell={"religion": religion, "age": age, "option": option})
            document = found.to_json()["extremes"]
            values = [
                table[religion, age] if option == "yes" else people[religion, age] - table[religion, age]
                for table in possible
            ]
            assert (document["lower"], document["upper"]) == (min(values), max(values))
            for end, wanted in (("lowest", min(values)), ("highest", max(values))):
                table = {
                    (row["cell"]["religion"], row["cell"]["age"]): row[end]
                    for row in document["tables"]
                    if row["option"] == "yes"
                }
                assert table in possible
                here = table[religion, age]
                assert (here if option == "yes" else people[religion, age] - here) == wanted


def test_the_option_that_is_disclosed_is_the_one_shown() -> None:
    rows = [{"site": s, "option": o, "count": c} for s, o, c in (("A", "x", 39), ("A", "y", 1), ("B", "x", 20))]
    found = bound([rows, [{"option": "x", "count": 59}, {"option": "y", "count": 1}]], cell={"site": "A"})
    assert found.extremes is not None and found.extremes.option in ("x", "y")
    assert found.exposure.lower.shape == (1, 2) and found.remedies == ()
    assert "Two tables that nobody can exclude" in found.to_text()


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ({"religion": "c", "age": "old"}, "religion has no category 'c'; there are 'a', 'b'"),
        ({"colour": "red"}, "target axis 'colour' is in no table"),
        ({"religion": "a", "option": "perhaps"}, "there is no option 'perhaps'; there are yes, no"),
    ],
)
def test_what_is_not_there_is_named(cell: dict[str, str], message: str) -> None:
    published = margins({(religion, age): yes for religion, age, _, yes in ROWS})
    with pytest.raises(InputError, match=message.replace("?", "[?]")):
        bound(published, cell=cell)


COUNTS = {"North": (9, 1), "South": (25, 25), "East": (40, 20), "West": (25, 35)}


def test_a_cell_of_a_project_comes_with_its_remedies(tmp_path: Path) -> None:
    """A merge that leaves the cell open is found, with what it costs; the same change, made, gives that interval."""
    lines = [f"{site},{answer},{n}" for site, both in COUNTS.items() for answer, n in zip(OPTIONS, both, strict=True)]
    (tmp_path / "votes.csv").write_text("site,answer,people\n" + "\n".join(lines) + "\n", encoding="utf-8")
    described = '[data]\nfile = "votes.csv"\nanswer = "answer"\ncount = "people"\n[axes.site]\n'
    (tmp_path / "project.toml").write_text(f"{described}[target]\nbeta = 0.15\nkappa = 5\ntau = 0\n", encoding="utf-8")
    inputs = read_inputs(Project.load(tmp_path / "project.toml"))
    found = bound(inputs.table, inputs.onlookers[0], cell={"site": "North", "option": "yes"}, aim=inputs.target)
    assert found.disclosed == 2 and found.extremes is not None and found.extremes.ends == (9, 9)
    best = found.remedies[0]
    assert (best.verdict, best.merged, best.people, best.categories) == ("open", "North | South", 60, 2)
    merged = {"North | South": (34, 26), "East": COUNTS["East"], "West": COUNTS["West"]}
    rows = [
        {"site": site, "option": option, "count": n}
        for site, both in merged.items()
        for option, n in zip(OPTIONS, both, strict=True)
    ]
    roll = [{"site": site, "people": sum(both)} for site, both in COUNTS.items()]
    again = bound([rows], roll=roll, cell={"site": "North", "option": "yes"})
    assert again.extremes is not None and (best.lower, best.upper) == again.extremes.ends == (0, 10)


def test_tables_of_a_large_population_add_up(tmp_path: Path) -> None:
    """More counts than programs solve: both tables have the published sums, and no cell more answers than people."""
    inputs = read_inputs(Project.load(write_city(tmp_path, people=20_000)))
    table, cell = inputs.table, {"religion": "Hindu", "district": "D05"}
    found = bound(table, inputs.onlookers[0], cell=cell, aim=inputs.target).extremes
    assert found is not None and found.lowest is not None and found.highest is not None
    option = found.options.index(found.option)
    low, high = int(found.lowest[found.row, option]), int(found.highest[found.row, option])
    assert found.ends[0] <= low < high <= found.ends[1]
    assert short_words(found.ends, found.ends) == "" and f"found for {low} to {high}." in short_words(
        (-1, -1), (low, high)
    )
    names = [table.schema.axis(axis).categories for axis in found.cells.axes]
    roll = table.people(found.cells.axes)
    sizes = {tuple(codes): int(people) for codes, people in zip(roll.codes.tolist(), roll.counts[:, 0], strict=True)}
    for counts in (found.lowest, found.highest):
        for place, axis in enumerate(found.cells.axes):
            margin = table.margin((axis,))
            for code, votes in zip(margin.codes[:, 0].tolist(), margin.counts, strict=True):
                listed = found.cells.categories[place].index(names[place][code])
                assert (counts[found.cells.codes[:, place] == listed].sum(axis=0) == votes).all()
        for row, codes in enumerate(found.cells.codes.tolist()):
            labels = [found.cells.categories[a][code] for a, code in enumerate(codes)]
            key = tuple(listed.index(label) for listed, label in zip(names, labels, strict=True))
            assert counts[row].min() >= 0 and counts[row].sum() <= sizes[key]

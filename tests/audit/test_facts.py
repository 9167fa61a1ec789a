"""Facts that an onlooker holds are about the cells they list; of the others nothing is known."""

from pathlib import Path

import pytest

from safemargin.bounds import infer
from safemargin.core import ContradictionError, Onlooker
from safemargin.io import read_tidy


def intervals(folder: Path, **files: str) -> dict[str, tuple[int, int]]:
    """Intervals by cell from `r`, `s` and the facts `f`."""
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    tables = [read_tidy(folder / "r.csv"), read_tidy(folder / "s.csv")]
    found = infer(tables, Onlooker("public", facts=(read_tidy(folder / "f.csv"),)))
    cells = ["".join(found.cells.cell(row).values()) for row in range(len(found.cells))]
    return dict(zip(cells, zip(found.lower[:, 0].tolist(), found.upper[:, 0].tolist(), strict=True), strict=True))


EMPTY, EXACT = "s,option,count\nx,yes,\ny,yes,\n", "s,option,count\nx,yes,5\ny,yes,7\n"


@pytest.mark.parametrize(
    ("s", "fact", "expected"),
    [
        pytest.param(
            EMPTY,
            "r,s,option,lower,upper\na,x,yes,1,5\nb,y,yes,1,7\n",
            {"ax": (1, 5), "ay": (0, 4), "bx": (0, 6), "by": (1, 7)},
            id="combinations that a fact does not list are not empty",
        ),
        pytest.param(
            EXACT,
            "r,s,option,count\na,x,yes,2\nb,y,yes,4\n",
            {"ax": (2, 2), "ay": (3, 3), "bx": (3, 3), "by": (4, 4)},
            id="some exact facts do not contradict the margins",
        ),
        pytest.param(
            EMPTY,
            "r,s,option,lower,upper\na,x,yes,1,2\na,y,yes,0,9\nb,x,yes,0,1\nb,y,yes,0,9\n",
            {"ax": (1, 2), "ay": (3, 4), "bx": (0, 1), "by": (6, 7)},
            id="a fact that lists every combination speaks about everybody",
        ),
    ],
)
def test_facts(tmp_path: Path, s: str, fact: str, expected: dict[str, tuple[int, int]]) -> None:
    assert intervals(tmp_path, r="r,option,count\na,yes,5\nb,yes,7\n", s=s, f=fact) == expected


def refusal(folder: Path, *tables: str, roll: str) -> str:
    """What is said about tables that contradict a roll."""
    read = []
    for place, text in enumerate(tables):
        (folder / f"{'rs'[place]}.csv").write_text(text)
        read.append(read_tidy(folder / f"{'rs'[place]}.csv"))
    (folder / "roll.csv").write_text(roll)
    with pytest.raises(ContradictionError) as error:
        infer(read, Onlooker("public", roll=(read_tidy(folder / "roll.csv", count="people"),)))
    return str(error.value)


def test_a_contradiction_names_the_roll(tmp_path: Path) -> None:
    answers = "r,option,count\na,yes,5\na,no,6\nb,yes,7\nb,no,1\n"
    said = refusal(tmp_path, answers, roll="r,people\na,10\nb,10\n")
    assert said == "these facts cannot all hold: r.csv (r a, yes) = 5; r.csv (r a, no) = 6; roll.csv (r a) = 10 people"


def test_a_contradiction_names_nothing_that_is_not_needed(tmp_path: Path) -> None:
    tables = "r,option,count\na,yes,5\nb,yes,7\n", "s,option,count\nx,yes,6\ny,yes,6\n"
    said = refusal(tmp_path, *tables, roll="r,s,people\na,x,1\na,y,2\nb,x,9\nb,y,9\n")
    parts = "r.csv (r a, yes) = 5; roll.csv (r a, s x) = 1 people; roll.csv (r a, s y) = 2 people"
    assert said == f"these facts cannot all hold: {parts}"

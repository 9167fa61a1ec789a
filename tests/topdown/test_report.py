"""A TopDown release in pictures and words."""

from pathlib import Path

import pytest

from pictures import validate
from safemargin.guarantees.guarantee_file import document
from safemargin.topdown.accuracy import CELLS, PEOPLE, Accuracy, LevelError, QueryError, SizeError
from safemargin.topdown.guarantee import derive_guarantee, summarise
from safemargin.topdown.report import TopDownRelease, levels_chart, sizes_chart
from safemargin.ui import Spec
from spines import designed, uneven_spine

METHODS = ("integer tables", "swapping <5 %>")
ACCURACY = Accuracy(
    tuple(
        LevelError(method, level, areas, kind, error)
        for method in METHODS
        for level, areas, error in (("land", 1, 0.0), ("region", 3, 12.345), ("tract", 2000, 1234.5))
        for kind in (PEOPLE, CELLS)
    ),
    tuple(SizeError(method, least, most, 5, 2.5) for method in METHODS for least, most in ((0, 0), (1000, 9999))),
    (QueryError("land", "sex*age", 4.5, 4.25, 3.75, 0.945), QueryError("land", "total", 0.0, 0.0, 0.0, None)),
)
DESIGN = designed(uneven_spine(), exact=((0, "total"), (1, "sex")))
RELEASE = TopDownRelease(
    "Land <script>",
    Path("there/published"),
    Path("there/report.html"),
    DESIGN,
    summarise(DESIGN, areas_from_data=True),
    ACCURACY,
)


@pytest.mark.parametrize("spec", [levels_chart(ACCURACY), sizes_chart(ACCURACY)])
def test_pictures_are_valid(spec: Spec) -> None:
    validate(spec)


def test_the_page_says_everything_and_trusts_nothing() -> None:
    page = RELEASE.to_html()
    assert "Land &lt;script&gt;" in page and "<script" not in page
    assert "swapping &lt;5\u00a0%&gt;" in page and page.count("<figure") == 2
    assert "exact: sex of every region" in page and "exact: which areas of level block have people" in page
    assert "1,234" in page and "1k+" in page and "94.5\u00a0%" in page and "4.25" in page


def test_text_and_document() -> None:
    assert "swapping <5 %>" in RELEASE.to_text(width=120)
    document = RELEASE.to_json()
    assert document["errors_by_level"][2] == {
        "method": "integer tables", "level": "region", "areas": 3, "counts": PEOPLE, "rmse": 12.345
    }  # fmt: skip
    assert document["guarantee"]["rho_squared"] == "1/2" and len(document["budget"]) == 12


def test_areas_of_the_data_are_one_more_invariant() -> None:
    with_areas, without = (document(derive_guarantee(DESIGN, areas_from_data=from_data)) for from_data in (True, False))
    assert with_areas["invariants"] == [
        {"counts": "persons", "by": []},
        {"counts": "persons", "by": ["region", "sex"]},
        {"counts": "persons", "by": ["block"], "at_least": 1},
    ]
    assert without["invariants"] == with_areas["invariants"][:2]  # type: ignore[index]

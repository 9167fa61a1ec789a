"""The JSON shapes are a contract."""

import json
from dataclasses import replace

import numpy as np
import pytest

from safemargin.bounds import Exposure, exposure_document
from safemargin.bounds.exposure import CellIndex
from safemargin.core import Onlooker, Target
from safemargin.release.report.document import release_document

AXES = ("religion", "age")
CATEGORIES = (("Muslim", "none"), ("young", "old"))


def small(**changes: object) -> Exposure:
    """The worked example of the paper: 280 to 290 of 1,000 young Muslims, and a cell of nobody."""
    exposure = Exposure(
        cells=CellIndex(AXES, CATEGORIES, np.array([[0, 0], [1, 1]])),
        options=("A",),
        people=np.array([1000, 0]),
        lower=np.array([[280], [0]]),
        upper=np.array([[290], [0]]),
        integer=np.array([[True], [False]]),
        method=np.array([[0], [3]]),
        onlooker=Onlooker(),
        totals=(320,),
        population=1000,
        fitted=np.array([[285.0], [0.0]]),
    )
    return replace(exposure, **changes)


def test_a_cell_has_the_documented_keys() -> None:
    document = exposure_document(small(), Target(0.05, 10, 0))
    assert document["schema"] == 1
    assert document["cells"][0] == {
        "cell": {"religion": "Muslim", "age": "young"},
        "option": "A",
        "people": 1000,
        "lower": 280,
        "upper": 290,
        "width": 10,
        "interval": [0.28, 0.29],
        "t": pytest.approx(0.04),
        "fitted": 0.285,
        "proved": "integer",
        "method": "closed form",
        "verdict": "contained",
    }
    assert document["verdicts"] == {"contained": 1, "open": 1, "disclosed": 0}
    assert document["onlooker"] == {"name": "public", "composition": "none", "facts": [], "knows_rule": False}
    assert document["target"] == {"beta": 0.05, "kappa": 10, "tau": 0, "epsilon_max": 1.0, "guard": None}


def test_nobody_has_no_rate() -> None:
    entry = exposure_document(small(), Target(kappa=10, tau=0))["cells"][1]
    assert (entry["people"], entry["interval"], entry["t"], entry["fitted"]) == (0, None, None, None)
    assert (entry["proved"], entry["method"]) == ("linear", "linear program")


def test_unknown_composition_and_no_option() -> None:
    exposure = small(options=(), people=None, fitted=None, population=None)
    for entry in exposure_document(exposure, Target(kappa=10, tau=0))["cells"]:
        assert "option" not in entry
        assert (entry["people"], entry["interval"], entry["t"], entry["fitted"]) == (None, None, None, None)


def test_total_of_a_table_without_axes(bare_story) -> None:
    document = exposure_document(bare_story.findings[0].exposure, Target(kappa=10, tau=0))
    assert [entry["cell"] for entry in document["cells"]] == [{}]


def test_unknown_totals_leave_no_distance() -> None:
    exposure = small(people=None, totals=(), population=None)
    assert [entry["t"] for entry in exposure_document(exposure, Target(kappa=10, tau=0))["cells"]] == [None, None]


def test_options_follow_each_other_within_a_cell(story) -> None:
    exposure = story.findings[0].exposure
    entries = exposure_document(exposure, Target(kappa=10, tau=0))["cells"]
    assert len(entries) == exposure.lower.size
    assert [entry["option"] for entry in entries[:5]] == [*exposure.options, exposure.options[0]]
    assert entries[4]["cell"] == exposure.cells.cell(1)
    assert [entry["lower"] for entry in entries] == exposure.lower.ravel().tolist()


def test_findings_add_the_attacks(broken_story, story) -> None:
    document = broken_story.findings[0].to_json()
    assert document["safe"] is False and story.findings[0].to_json()["safe"] is True
    assert {"schema", "cells", "verdicts", "onlooker", "target"} < set(document)
    attack = document["attacks"][0]
    assert set(attack) == {"attack", "summary", "looked_at", "people_exposed", "findings"}
    assert attack["findings"][0] == {
        "cell": {"district": "D58", "age": "75+"},
        "option": "Harbour",
        "people": 31,
        "lower": 31,
        "upper": 31,
        "words": "all 31 people chose Harbour",
    }


def test_release_lists_every_decision(story) -> None:
    orders = {"district": ("D60", "D59", "D58")}
    published = ["published/total.csv", "published/certificate.json"]
    document = release_document(replace(story, orders=orders), published)
    assert {"schema", "certified", "published", "cells", "certificate", "refused"} < set(document)
    assert (document["certified"], document["published"]) == (True, published)
    assert document["certificate"] == "published/certificate.json"
    cells = {tuple(entry["cell"].items()): entry for entry in document["cells"]}
    assert len(cells) == len(story.plan.decisions)
    merged = cells[(("district", "D60 | D59 | D58"),)]
    assert (merged["action"], merged["people"]) == ("merged", 445)
    assert set(merged["counts"]) == {"Harbour", "Orchard", "Unity", "abstain"}
    assert cells[(("religion", "Lantern Fellowship | Tidewatchers"),)]["counts"] == {}
    assert document["refused"][0]["words"] == str(story.plan.refusals[0])
    assert document["refused"][0]["cell"] == {"district": "D58", "age": "75+"}
    assert document["guarantees"][0]["epsilon"] == 0.5
    assert "religion Hindu" in document["irregular"]
    assert document["exposed_people"] == 1_370


def test_noised_counts_are_the_printed_ones(story) -> None:
    tables = tuple(
        replace(table, noisy=np.full(len(table.lower), -7)) if table.name == "religion" else table
        for table in story.publication.tables
    )
    document = replace(story, publication=replace(story.publication, tables=tables)).to_json()
    counts = {entry["cell"].get("religion"): entry["counts"] for entry in document["cells"]}
    assert set(counts["Hindu"].values()) == {-7}
    assert -7 not in counts["none"].values()


def test_a_single_count_has_a_name(optionless_story) -> None:
    document = optionless_story.to_json()
    assert set(document["cells"][0]["counts"]) == {"count"}


def test_documents_are_json(story, broken_story, bare_story, optionless_story) -> None:
    for each in (story, broken_story, bare_story, optionless_story):
        for document in (
            *(findings.to_json() for findings in each.findings),
            release_document(each, ["published/certificate.json"]),
        ):
            assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_many_cells_are_quick() -> None:
    count = 300_000
    codes = np.stack([np.arange(count) % 20, np.arange(count) // 20 % 20], axis=1)
    categories = (tuple("abcdefghijklmnopqrst"),) * 2
    lower = np.arange(count)[:, None] % 50
    exposure = small(
        cells=CellIndex(AXES, categories, codes),
        people=np.arange(count) % 300,
        lower=lower,
        upper=lower + 9,
        integer=lower > 5,
        method=lower % 5,
        fitted=lower + 0.5,
    )
    assert len(exposure_document(exposure, Target(kappa=10, tau=0))["cells"]) == count

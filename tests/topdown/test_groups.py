"""Areas with very many parts: solved in groups, with the same estimates and every constraint."""

from pathlib import Path

import numpy as np
import pytest

import safemargin
from safemargin.topdown import groups_of_areas
from safemargin.topdown.folder import Folder
from safemargin.topdown.report import TopDownRelease

PROJECT = """
[data]
file = "people.csv"
[spine]
root = "land"
levels = ["town", "block"]
[attributes]
sex = ["f", "m"]
age = ["young", "old"]
[budget]
rho_squared = 1
levels = { land = "1/4", town = "1/4", block = "1/2" }
queries = { total = "1/4", detailed = "3/4" }
[[invariants]]
level = "town"
query = "sex"
"""


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lines = ["town,block,sex,age"]
    for town, blocks in (("a", 30), ("b", 2), ("c", 11)):
        for block in range(blocks):
            people = [("f", "young"), ("m", "old"), ("m", "young")] * (block % 4)
            lines += [f"{town},{town}{block:02d},{sex},{age}" for sex, age in [("f", "old"), *people]]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "land.toml").write_text(PROJECT)
    monkeypatch.setattr(groups_of_areas, "MOST_PARTS", 4)
    monkeypatch.setattr(groups_of_areas, "GROUP", 3)
    assert isinstance(safemargin.topdown(tmp_path / "land.toml", tmp_path / "out"), TopDownRelease)
    return tmp_path / "out/published"


def test_groups_part_every_area_in_order(released: Path) -> None:
    plain = Folder(released).read_design()
    wide, places = groups_of_areas.with_groups_of_areas(plain)
    assert places[0] == 0 and len(wide.spine.levels) > 3 and wide.spine.names[-1] == plain.spine.names[-1]
    assert all(np.bincount(above).max() <= 4 for above in wide.spine.parents[1:])
    towns = np.arange(len(plain.spine.names[-1]))
    for level in range(wide.spine.last, places[1], -1):
        towns = wide.spine.parents[level][towns]
    assert towns.tolist() == plain.spine.parents[2].tolist()
    assert [wide.shares[place] for place in places] == list(plain.shares) and sum(wide.shares) == 1


def test_tables_add_up_and_estimates_do_not_change(released: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(released)
    design = folder.read_design()
    tables = [folder.read_table(design, level) for level in range(3)]
    for level in (1, 2):
        assert (design.spine.sums(level, tables[level]) == tables[level - 1]).all() and (tables[level] >= 0).all()
    exact = folder.read_measurements(design).exact
    for (level, query), values in exact.items():
        assert (design.attributes.margin(tables[level], query) == values).all()
    assert safemargin.topdown(released).agrees  # type: ignore[union-attr]
    before = [folder.read_estimates(design, level) for level in range(3)]
    monkeypatch.setattr(groups_of_areas, "MOST_PARTS", 10_000)
    found = safemargin.topdown(released)  # estimates are compared to 1e-6: the groups leave them as they were
    assert all(len(values) for values in before) and not found.changed_files  # type: ignore[union-attr]
    again = groups_of_areas.with_groups_of_areas(design)
    assert again == (design, (0, 1, 2))


def test_a_run_that_was_interrupted_between_groups_is_resumed(released: Path) -> None:
    before = {path.name: path.read_bytes() for path in (released / "noisy").iterdir()}
    (released / "tables/2-block.parquet").unlink()
    folder = released.parent
    safemargin.topdown(folder.parent / "land.toml", folder)
    assert {path.name: path.read_bytes() for path in (released / "noisy").iterdir()} == before
    assert safemargin.topdown(released).agrees  # type: ignore[union-attr]

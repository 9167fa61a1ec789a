"""The public function `fiber` and the option `--statistics`."""

import json
from pathlib import Path

import pytest

import safemargin
from commands import in_process
from safemargin.core import InputError
from safemargin.fiber.report import DatabaseFiber, TableFiber

BLOCK = json.loads((Path(__file__).parent.parent / "vectors" / "garfinkel_block.json").read_text())["file"]
ROWS = [{"hair": "dark", "count": 3}, {"hair": "fair", "count": 2}]
EYES = [{"eye": "blue", "count": 1}, {"eye": "brown", "count": 4}]


def test_rows_in_memory_and_files_give_the_same(tmp_path: Path) -> None:
    (tmp_path / "hair.csv").write_text("hair,count\ndark,3\nfair,2\n")
    found = safemargin.fiber([ROWS, EYES], sample=10)
    assert isinstance(found, TableFiber)
    document = found.to_json()
    assert document["tables"] == 2 and document["sample"]["tables"] == 10
    same = safemargin.fiber([tmp_path / "hair.csv", EYES], sample=10)
    assert same.to_json()["cells"] == document["cells"]
    assert "2 tables are possible" in found.to_text() and "<html" in found.to_html()


def test_statistics_of_a_block_disclose_everybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = safemargin.fiber(statistics=BLOCK)
    assert isinstance(found, DatabaseFiber)
    assert [person["value"] for person in found.to_json()["shared"]] == [8, 18, 24, 30, 36, 66, 84]
    assert "1 database possible; 7 people in every one." in found.to_text() and "<html" in found.to_html()
    file = tmp_path / "block.json"
    file.write_text(json.dumps(BLOCK))
    ran = in_process(monkeypatch, capsys)("fiber", "--statistics", file, "--json")
    assert ran.code == 0 and ran.document == found.to_json()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": {"low": 0}}, "values.high"),
        ({"statistics": [{"name": "1A", "count": "x"}]}, "statistics"),
        ({"more": 1}, "more"),
    ],
)
def test_a_wrong_statistics_file_is_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    file = tmp_path / "block.json"
    file.write_text(json.dumps(BLOCK | change))
    with pytest.raises(InputError, match=f"block.json: .*{message}"):
        safemargin.fiber(statistics=file)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"statistics": BLOCK, "tables": ROWS}, "either tables or statistics"),
        ({"tables": ()}, "at least one table"),
        ({"tables": ROWS, "law": "x"}, "law = 'x'"),
        ({"tables": ROWS, "sample": 1}, "sample = 1"),
        ({"tables": [3]}, "int cannot be read"),
        ({"tables": [[]]}, "the table is empty"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        safemargin.fiber(**arguments)  # type: ignore[arg-type]

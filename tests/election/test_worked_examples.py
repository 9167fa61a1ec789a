"""The two worked examples: an equal-opportunity report of a company, and an event with presence at the door."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "people", "dimensions"), [("equal_opportunity", 120, 3), ("event", 150, 3)])
def test_the_example_ends_in_a_certified_release(tmp_path: Path, name: str, people: int, dimensions: int) -> None:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    document = module.run(tmp_path).to_json()
    assert document["enrolled"] == people and document["verified"] and document["certified"], document
    assert len(document["dimensions"]) == dimensions and document["lost"] == 0
    assert all(noted["opened"] for noted in document["dimensions"].values())

"""A key that occurs twice is refused wherever a signed file is read: two programs may read two different values."""

import ast
import json
from pathlib import Path

import pytest

from safemargin import InputError, audit, sign, verify
from safemargin.aggregate.session_file import read_session
from safemargin.election.keys import parse
from safemargin.election.manifests import KnownElection
from safemargin.io import check_keys, read_manifest
from safemargin.topdown.folder import Folder

SOURCE = Path(__file__).parents[2] / "src" / "safemargin"
TWICE = b'{"schema": 1, "files": {}, "schema": 1}'
FREE = {"fiber/statistics.py"}
"""Files of statistics that somebody writes by hand for a question of their own; nobody signs them."""


def test_every_reader_refuses_a_key_that_occurs_twice(tmp_path: Path) -> None:
    for name in ("manifest.json", "session.json", "design.json"):
        (tmp_path / name).write_bytes(TWICE)
    (tmp_path / "a.csv").write_text("a,option,count\nx,yes,4\nx,no,4\n")
    sign(key=tmp_path / "k", new=True)
    readers = [
        lambda: read_manifest(tmp_path / "manifest.json"),
        lambda: read_session(tmp_path / "session.json"),
        lambda: Folder(tmp_path).read_design(),
        lambda: KnownElection.parse(TWICE),
        lambda: parse(TWICE),
        lambda: sign(tmp_path, key=tmp_path / "k"),
        lambda: audit([tmp_path / "a.csv"], manifest=tmp_path / "manifest.json"),
    ]
    for number, read in enumerate(readers):
        with pytest.raises(InputError, match="a key occurs twice"):
            read()
            pytest.fail(f"reader {number}")
    (tmp_path / "certificate.json").write_bytes(TWICE)
    assert verify(tmp_path).failures, "the checker has a reader of its own"


def test_inner_objects_count_too() -> None:
    check_keys(json.dumps({"a": {"b": 1}, "b": [{"c": 1}, {"c": 2}]}), "good")
    for text in ('{"a": {"b": 1, "b": 2}}', '[{"c": 1, "c": 1}]', '{"a": 1, "\\u0061": 2}'):
        with pytest.raises(InputError, match="a key occurs twice"):
            check_keys(text, "twice")


@pytest.mark.slow
def test_no_file_is_validated_before_its_keys_are_checked() -> None:
    """Pydantic takes the last of two equal keys: whoever calls it on a text checks the keys first."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if str(path.relative_to(SOURCE)) in FREE:
            continue
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)]
        validated = sum(node.attr == "model_validate_json" for node in calls)
        assert validated <= text.count("check_keys("), path

"""No two public classes of one name: a reader who sees a name knows the thing."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "safemargin"


def class_homes(package: Path) -> dict[str, list[str]]:
    """The files that define each public class."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        if path.is_symlink():  # the checker: a distribution of its own, which imports nothing of the package
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(package)))
    return homes


@pytest.mark.slow
def test_every_public_class_has_a_name_of_its_own() -> None:
    assert {name: files for name, files in class_homes(PACKAGE).items() if len(files) > 1} == {}


def test_a_name_that_is_used_twice_is_reported(tmp_path: Path) -> None:
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("class Table: ...\nclass _Builder: ...\n")
    assert class_homes(tmp_path) == {"Table": ["one.py", "two.py"]}

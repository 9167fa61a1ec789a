"""The examples in docstrings say what the code does.

Only modules with examples are read: pytest's own collection looks into every module and test, for seconds per worker.
"""

import doctest
import importlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
MODULES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module", MODULES)
def test_examples(module: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(module))
    assert tried and not failed

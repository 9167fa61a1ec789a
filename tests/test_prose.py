"""The prose check finds what it must, and the lock file holds what pyproject.toml asks for and no address."""

import importlib.machinery
import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def prose() -> ModuleType:
    """scripts/prose as a module."""
    loader = importlib.machinery.SourceFileLoader("prose_script", str(ROOT / "scripts" / "prose"))
    spec = importlib.util.spec_from_loader("prose_script", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("line", "better"),
    [
        ("counts are with" + "held", "suppress"),
        ("def pro" + "mise_of(x):", "guarantee"),
        ("this gives somebody a" + "way", "disclose"),
        ("rows that are left o" + "ut", "omit, exclude, skip"),
        ("tables of whole pe" + "ople", "integer table, fractional table"),
    ],
)
def test_words_that_the_glossary_does_not_use_are_found(prose: ModuleType, line: str, better: str) -> None:
    assert [say for _, _, say in prose.banned("docs/x.md", f"fine\n{line}\n")] == [better]


def test_words_of_the_glossary_pass(prose: ModuleType) -> None:
    text = "Suppress the count; the guarantee discloses nothing. A compromise, an intellect and a battalion pass.\n"
    assert list(prose.banned("docs/x.md", text)) == []
    assert list(prose.banned("src/with" + "hold_it.py", "")) != [], "names of files count"


def test_ragged_lines_are_found(prose: ModuleType) -> None:
    assert list(prose.ragged("a \nb\n")) == [(1, "ends in a blank")]
    assert list(prose.ragged("a\n")) == [] and list(prose.ragged("")) == []
    assert list(prose.ragged("a")) == [(1, "must end in one newline")]


def test_the_tree_obeys(prose: ModuleType) -> None:
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in prose.files()}
    assert len(texts) > 300
    assert [(name, *hit) for name, text in texts.items() for hit in prose.banned(name, text)] == []
    assert [(name, *hit) for name, text in texts.items() for hit in prose.ragged(text)] == []


def test_the_lock_file_holds_what_the_project_asks_for() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([a-z0-9.-]+)==(\S+)$", text, re.MULTILINE))
    assert "://" not in text and "--" not in text.partition("altair")[2]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    for line in [*project["dependencies"], *extras]:
        wanted = Requirement(line)
        assert wanted.specifier.contains(pins[canonicalize_name(wanted.name)]), line

"""docs/api.md is what the code says, and complete; documentation and examples use the public names only."""

import ast
import importlib.machinery
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import safemargin
from test_docs import PAGES, blocks

ROOT = Path(__file__).parent.parent
SCRIPTS = [*sorted(ROOT.glob("examples/*.py"))]


def generator() -> ModuleType:
    """scripts/api as a module."""
    loader = importlib.machinery.SourceFileLoader("api_script", str(ROOT / "scripts" / "api"))
    spec = importlib.util.spec_from_loader("api_script", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_the_page_is_up_to_date() -> None:
    script = generator()
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run scripts/api"


def test_the_page_is_complete() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    names = [f"### {name}\n" for name in safemargin.__all__]
    values = {name: getattr(safemargin, name) for name in safemargin.__all__}
    spaces = [name for name, value in values.items() if isinstance(value, ModuleType) and not callable(value)]
    assert len(spaces) >= 3
    names += [f"#### {space}.{name}\n" for space in spaces for name in getattr(safemargin, space).__all__]
    assert [name for name in names if name not in page] == []


def internal_imports(source: str) -> list[str]:
    """Imports of anything but the public face."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names if alias.name.startswith("safemargin.")]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module] if node.module.startswith("safemargin.") else []
            if node.module == "safemargin":
                names += [alias.name for alias in node.names if alias.name not in safemargin.__all__]
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_import_public_names_only(page: Path) -> None:
    sources = [block.text for block in blocks(page.read_text(encoding="utf-8")) if block.language == "python"]
    assert [name for source in sources for name in internal_imports(source)] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_examples_import_public_names_only(path: Path) -> None:
    assert internal_imports(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", sorted(ROOT.glob("benchmarks/*.py")), ids=lambda path: path.name)
def test_what_benchmarks_import_is_there(path: Path) -> None:
    """Benchmarks measure internal functions too; they are not run here."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "safemargin":
            module = importlib.import_module(node.module or "")
            assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


def test_an_internal_import_is_found() -> None:
    assert internal_imports(
        "from safemargin.core import Table\nimport safemargin.io\nfrom safemargin import cli, Table"
    ) == [
        "safemargin.core",
        "safemargin.io",
        "cli",
    ]

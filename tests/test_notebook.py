"""The notebook of `examples/` runs from top to bottom and shows what it says."""

from html import unescape
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from test_api import internal_imports

EXAMPLES = Path(__file__).parent.parent / "examples"
NOTEBOOK, GALLERY = EXAMPLES / "notebook.ipynb", EXAMPLES / "gallery.ipynb"


def cells(path: Path) -> list[nbformat.NotebookNode]:
    return list(nbformat.read(path, as_version=4).cells)


def outputs(cell: nbformat.NotebookNode) -> str:
    """All that a cell shows, as text and as HTML."""
    texts = []
    for output in cell.get("outputs", []):
        texts += [output.get("text", ""), *output.get("data", {}).values()]
    return "\n".join(map(str, texts))


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=500, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    shown = {cell.source.splitlines()[-1]: outputs(cell) for cell in notebook.cells if cell.cell_type == "code"}
    assert shown["release"].count("<iframe") == 1 and "Works council" in shown["release"]
    assert "Harbour" in shown['release.tables["site"]'] and "manifest.json" in "".join(shown.values())
    assert shown["draft"].count("<iframe") == 1
    assert "12 of 12" in shown["print(findings.to_text())"]
    assert "primary" in shown['suppression.to_json()["suppressed"]']
    assert (tmp_path / "release" / "published" / "site.csv").is_file()


@pytest.mark.slow
def test_the_gallery_shows_every_picture(tmp_path: Path) -> None:
    notebook = nbformat.read(GALLERY, as_version=4)
    NotebookClient(notebook, timeout=500, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    shown = {
        cell.source.splitlines()[-1]: unescape(outputs(cell)) for cell in notebook.cells if cell.cell_type == "code"
    }
    plot = shown["release.plot()"]
    assert plot.count("<iframe") == 1 and 'class="head"' in plot and plot.count('class="of-option"') >= 2
    assert "Harbour" in shown['release.plot("site").to_json()["axes"]["site"]["yes"]']
    assert 'class="counts' in shown["release"] and 'class="axis"' in shown["release"]
    assert "could be inferred" in shown["safemargin.audit(accidents)"]
    assert "primary suppressed" in shown["suppression"]
    assert "exposes nobody and keeps" in [text for call, text in shown.items() if call.startswith("safemargin.comp")][0]


@pytest.mark.parametrize("path", [NOTEBOOK, GALLERY], ids=lambda path: path.stem)
def test_the_notebook_is_kept_without_outputs_and_uses_public_names(path: Path) -> None:
    code = [cell for cell in cells(path) if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert [name for cell in code for name in internal_imports(cell.source)] == []

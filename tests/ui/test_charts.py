"""Charts are drawn in a process of their own; without it a page comes without pictures and says so."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from safemargin.ui import Chart, Report, Spec, render_report, to_svg
from safemargin.ui.charts import _drawer

BARS: Spec = {"mark": "bar", "data": {"values": [{"a": 1}, {"a": 3}]}, "encoding": {"x": {"field": "a"}}}
MISSING = "This picture is missing: the drawing library did not start."
SOURCE = Path(__file__).parent.parent.parent / "src"


@pytest.fixture
def new_drawer() -> Iterator[None]:
    """A drawing process that this test may end."""
    _drawer.cache_clear()
    yield
    _drawer(os.getpid()).close()
    _drawer.cache_clear()


def test_a_picture_is_an_svg_that_takes_the_width_of_the_page() -> None:
    svg = to_svg(BARS)
    assert svg.startswith("<svg") and "--natural:" in svg and svg.count("<svg") == 1
    assert to_svg(BARS) == svg


def test_control_characters_are_replaced() -> None:
    spec: Spec = {**BARS, "data": {"values": [{"a": "N\x01q\x1b\x00\ufffe"}]}}
    assert "<svg" in to_svg(spec)


def test_a_specification_that_cannot_be_drawn_costs_one_picture_only() -> None:
    assert to_svg({"mark": "no such mark"}) == ""
    assert "<svg" in to_svg(BARS)


def test_a_drawing_process_that_ends_costs_the_pictures_only(new_drawer: None) -> None:
    process = _drawer(os.getpid())._process
    assert process is not None
    process.kill()
    process.wait()
    assert to_svg(BARS) == ""


def test_no_interpreter_to_start_costs_the_pictures_only(new_drawer: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    assert to_svg(BARS) == ""


def test_a_drawing_library_that_cannot_start_costs_the_pictures_only(
    new_drawer: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vl_convert.py").write_text("import os\nos.abort()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert to_svg(BARS) == ""
    page = render_report(Report("T", Chart(BARS, "Shares"), "below"))
    assert MISSING in page and "Shares" in page and "below" in page and "<figure" in page


@pytest.mark.parametrize(
    "fault", ["import time\ntime.sleep(60)", "print('\"<svg', end='', flush=True)\nos.abort()"], ids=["hangs", "dies"]
)
def test_a_drawing_library_that_hangs_or_dies_while_it_draws_costs_the_pictures_only(
    new_drawer: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    lines = "".join(f"    {line}\n" for line in fault.splitlines())
    (tmp_path / "vl_convert.py").write_text(f"import os\n\n\ndef vegalite_to_svg(_):\n{lines}")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("safemargin.ui.charts.PATIENCE", 0.5)
    assert to_svg(BARS) == to_svg(BARS) == ""


def test_a_picture_that_was_drawn_is_not_called_missing() -> None:
    assert MISSING not in render_report(Report("T", Chart(BARS, "Shares")))
    assert MISSING in render_report(Report("T", Chart({"mark": "no such mark"}, "Shares")))


def test_the_drawing_process_ends_with_the_program() -> None:
    """Also under warnings as errors: nothing is left running."""
    script = "import os; from safemargin.ui import to_svg; from safemargin.ui.charts import _drawer as d\n"
    script += "to_svg({'mark': 'bar', 'data': {'values': []}}); print(d(os.getpid())._process.pid)"
    command = [sys.executable, "-W", "error", "-c", script]
    ran = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(SOURCE)}, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    with pytest.raises(ProcessLookupError):
        os.kill(int(ran.stdout), 0)

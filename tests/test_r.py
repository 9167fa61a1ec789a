"""The recipe for R is run where R and its package jsonlite are installed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "r.md"


def has_jsonlite() -> bool:
    if shutil.which("Rscript") is None:
        return False
    return subprocess.run(["Rscript", "-e", "library(jsonlite)"], capture_output=True, check=False).returncode == 0


@pytest.mark.slow
def test_the_recipe_runs(tmp_path: Path) -> None:
    if not has_jsonlite():
        pytest.skip("R with jsonlite is not installed")
    script = "\n".join(re.findall(r"^```r\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        ["Rscript", "-"],
        input=script,
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "district" in run.stdout and (tmp_path / "release" / "published" / "district.csv").is_file()

"""What several test files share: fixed Hypothesis runs, the browser, and the public data sets."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")

os.environ["COLUMNS"] = "120"  # whatever terminal there is, and in processes that run tests side by side too

ROOT = Path(__file__).parent.parent
# Programs that tests start find the code beside the tests, whichever checkout is installed.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
DATA = ROOT.parent / "shared" / "data"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests that read the data sets where there are none."""
    if not DATA.is_dir():
        absent = pytest.mark.skip(reason="the data sets are not beside the checkout")
        for item in items:
            if item.get_closest_marker("data"):
                item.add_marker(absent)


@pytest.fixture(scope="session")
def data_sets() -> Path:
    """The folder of public data sets; use with the marker `data`."""
    return DATA


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's executable; its absence is a failure in CI and a skip elsewhere."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        message = "Chromium is not installed"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return found

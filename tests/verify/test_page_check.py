"""The public page checks itself in a browser, from the disk: the same outcomes as the checker in Python."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import certificate_vectors as vectors
from safemargin import release

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("page") / "out"
    rows = [{"x": x, "y": y, "v": v, "n": 40 + n} for n, (x, y) in enumerate(("ab", "ac", "db", "dc")) for v in "ny"]
    release(rows, answer="v", count="n", by=["x", "y"]).write(place)
    return place


def shown(page: Any, out: Path, *kinds: str) -> str:
    """What the page says of folders that somebody chooses."""
    page.goto((out / "published/index.html").as_uri())
    for kind in kinds:
        page.set_input_files(f"fieldset[data-kind={kind}] input", str(out / kind))
        page.wait_for_selector(f"fieldset[data-kind={kind}].given")
    page.click("form.check button")
    page.wait_for_selector("form.check .card")
    return str(page.inner_text("form.check .card"))


def test_the_page_checks_itself(out: Path, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or ""
    forged = Path(shutil.copytree(out, tmp_path / "forged"))
    table = next((forged / "published").glob("x*.csv"))
    table.write_text(table.read_text().replace("exact", "merged", 1))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page, said, asked = browser.new_page(), list[str](), list[str]()
        page.on("console", lambda message: said.append(message.text))
        page.on("request", lambda request: asked.append(request.url))
        expected = vectors.expected(vectors.folder(out / "auditors"))
        assert expected == "holds" and "Outcome: holds." in shown(page, out, "published", "auditors")
        assert "Outcome: not checked." in shown(page, out, "published")
        assert "its hash is not that of the manifest" in shown(page, forged, "published")
        assert all(address.startswith("file:") for address in asked) and said == []
        page.set_viewport_size({"width": 400, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        browser.close()

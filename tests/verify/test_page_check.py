"""Pages check files in a browser, from the disk: the same outcomes as the checker in Python."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import certificate_vectors as vectors
from safemargin import audit, release, suppress

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


def given(page: Any, **chosen: list[Path]) -> str:
    """What a page says of the folder `published` and of files that somebody chooses."""
    for name, paths in chosen.items():
        at = "fieldset[data-kind=published] input" if name == "published" else f"input[name={name}]"
        page.set_input_files(at, str(paths[0]) if name == "published" else [str(path) for path in paths])
    page.click("form.check button")
    page.wait_for_selector("form.check .card")
    return str(page.inner_text("form.check .card"))


def test_pages_of_suppression_and_of_intervals_check_their_certificates(tmp_path: Path) -> None:
    """The page of the office checks what it publishes and its own certificate; that of an audit the intervals."""
    from playwright.sync_api import sync_playwright

    table, roll = tmp_path / "t.csv", tmp_path / "roll.csv"
    table.write_text("region,sex,count\nn,f,12\nn,m,2\ns,f,7\ns,m,30\ne,f,5\ne,m,19\n")
    out = suppress(table).write(tmp_path / "out")
    answers, proofs = tmp_path / "answers.csv", tmp_path / "proofs.json"
    answers.write_text("region,option,count\nn,yes,4\nn,no,10\ns,yes,30\ns,no,7\n")
    roll.write_text("region,sex,people\nn,f,12\nn,m,2\ns,f,7\ns,m,30\n")
    (tmp_path / "audit.html").write_text(audit([answers], roll=[roll], certificate=proofs).to_html())
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or ""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page, said, asked = browser.new_page(), list[str](), list[str]()
        page.on("console", lambda message: said.append(message.text))
        page.on("request", lambda request: asked.append(request.url))
        report, published = out / "confidential" / "report.html", out / "published"
        page.goto(report.as_uri())
        assert "Checked: Nobody can infer a suppressed count exactly" in given(page, published=[published])
        assert "Outcome: holds." in given(page, certificate=[out / "confidential" / "certificate.json"])
        page.goto((tmp_path / "audit.html").as_uri())
        both = given(page, certificate=[proofs], more=[answers, roll])
        assert "Outcome: holds." in both and "lies within its interval" in both
        alone = given(page, certificate=[proofs], more=[answers])
        assert "Outcome: not checked." in alone and "roll.csv: is not here" in alone
        answers.write_text(answers.read_text().replace("yes,4", "yes,5"))
        assert "Outcome: fails." in given(page, certificate=[proofs], more=[answers, roll])
        assert all(address.startswith("file:") for address in asked) and said == []
        browser.close()

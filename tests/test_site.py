"""The documentation builds into a site without a warning, and the site asks the network for nothing."""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

ROOT = Path(__file__).parent.parent

FOREIGN = re.compile(
    r"<(?:script|link|img|iframe|source|video|audio|embed|object)\b[^>]*?"
    r"\b(?:src|srcset|href|data)=[\"']?\s*(?:https?:)?//[^>]*>"
    r"|url\(\s*[\"']?(?:https?:)?//[^)]*\)|@import\s[^;]*(?:https?:)?//[^;]*;",
    re.I,
)
"""What a browser fetches from elsewhere by itself. Links in prose are not fetched."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `just docs` builds it; a warning, say of a page without a place in the menu, is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    # The theme prints news about itself, which are no warnings about the site.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


@pytest.mark.slow
def test_the_site_has_every_page_and_no_foreign_source(site: Path) -> None:
    pages = [path.relative_to(ROOT / "docs").with_suffix(".html") for path in ROOT.glob("docs/**/*.md")]
    assert len(pages) > 50 and [str(page) for page in pages if not (site / page).is_file()] == []
    texts = {path: path.read_text(encoding="utf-8") for path in site.rglob("*") if path.suffix in {".html", ".css"}}
    assert [(path.name, found[0]) for path, text in texts.items() for found in FOREIGN.finditer(text)] == []


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ('<script src="https://cdn.example/x.js"></script>', True),
        ('<link rel="stylesheet" href=//cdn.example/x.css>', True),
        ("@import url(https://fonts.example/x);", True),
        ("body{background:url('http://x.example/a.png')}", True),
        ('<a href="https://example.org">a link in prose</a>', False),
        ('<script src="assets/page.js"></script>', False),
    ],
)
def test_foreign_sources_are_found(text: str, foreign: bool) -> None:
    assert bool(FOREIGN.search(text)) is foreign


@pytest.mark.browser
def test_the_pictures_of_the_tutorials_can_be_taken_again(chromium: str, tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts/screenshots"), "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    kept = {path.name: path.stat().st_size for path in (ROOT / "docs/images").glob("*.png")}
    assert {path.name for path in tmp_path.iterdir()} == set(kept)
    assert max(kept.values()) < 150_000, "bytes; a page with pictures must load quickly"


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, without a line about each."""

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.browser
def test_links_and_search_work_without_a_network(chromium: str, site: Path) -> None:
    """A page opened as a file leads to others; served, the search finds a page. Nothing else is asked for."""
    from playwright.sync_api import TimeoutError as PlaywrightTimeout, sync_playwright

    asked: list[str] = []
    with sync_playwright() as playwright, served(site) as address:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.get_by_role("link", name="demo", exact=True).first.click()
        page.wait_for_url("**/demo.html")
        page.goto(address)
        # The search answers once its index is loaded; what is typed before may be lost.
        page.wait_for_load_state("networkidle")
        found_pages = page.locator(".md-search-result__link")
        for _ in range(20):
            page.get_by_role("textbox", name="Search").fill("")
            page.get_by_role("textbox", name="Search").press_sequentially("ledger", delay=20)
            with contextlib.suppress(PlaywrightTimeout):
                found_pages.first.wait_for(timeout=3000)
                break
        found = found_pages.first.get_attribute("href", timeout=1000) or ""
        browser.close()
    assert "ledger" in found
    assert len(asked) > 3 and [url for url in asked if not url.startswith(("file:", "data:", "blob:", address))] == []


READ = ("index", "start/first_release", "howto/staff_survey", "project", "bound", "open", "decide", "benchmarks")
"""Pages of every part of the menu: texts, pictures, tables, terminals, code."""
AXE = """(rules) => axe.run(rules.length ? {runOnly: rules} : {}).then(
    (found) => found.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.target).join('; ')))"""
SCHEMES = {"light": [], "dark": ["color-contrast"]}
"""Rules of axe by scheme, all where none are named: of both schemes, only colours differ."""


@pytest.mark.browser
def test_pages_are_accessible_and_fit_a_phone(chromium: str, axe: str, site: Path) -> None:
    """No violation in either scheme, and nothing wider than 400 pixels."""
    from playwright.sync_api import sync_playwright

    found: list[str] = []
    with sync_playwright() as playwright, served(site) as address:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        for name in READ:
            for scheme, rules in SCHEMES.items():
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # one of the two
                page.goto(f"{address}{name}.html")
                page.evaluate(axe)
                found += [f"{name} {scheme}: {each}" for each in page.evaluate(AXE, rules)]
            page.set_viewport_size({"width": 400, "height": 800})
            if (wider := page.evaluate("document.documentElement.scrollWidth - innerWidth")) > 0:
                found.append(f"{name}: {wider} pixels wider than a phone")
            page.set_viewport_size({"width": 1280, "height": 900})
        browser.close()
    assert found == []

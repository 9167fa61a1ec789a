"""The report of the demo city in a real browser: it shows what it should, and asks nobody for anything."""

import math
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import safemargin
from evidence import EVERYTHING
from safemargin import release
from safemargin.core import Guarantee
from safemargin.guarantees.census import census_2020, counterfactual
from safemargin.guarantees.compare import beside
from safemargin.noise.plan import plan
from safemargin.noise.programme import parse_programme
from safemargin.release.demo import write_city

pytestmark = pytest.mark.browser

MAKERS = (b"google", b"gvt1.com")
"""Whom Chromium asks for the time and the like, whatever page it shows."""

BEACON = '<img src="http://beacon.example/seen.png" alt="">'


@contextmanager
def listening() -> Iterator[tuple[int, list[bytes]]]:
    """A port that stands for the network: it notes the first line of whatever arrives, and answers nothing."""
    heard: list[bytes] = []

    def listen() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                try:
                    heard.append(connection.recv(4096).split(b"\r\n")[0])
                except OSError:
                    heard.append(b"")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield server.getsockname()[1], heard
        server.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def opened(chromium: str, page: Path, profile: Path) -> tuple[str, list[bytes]]:
    """The page as the browser builds it, and every request but those of the browser for itself."""
    with listening() as (port, heard):
        ran = subprocess.run(
            [
                *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
                *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
                *("--disable-extensions", "--disable-default-apps", "--metrics-recording-only"),
                f"--user-data-dir={profile}",
                f"--proxy-server=127.0.0.1:{port}",
                "--proxy-bypass-list=<-loopback>",
                "--virtual-time-budget=5000",
                *("--dump-dom", page.as_uri()),
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=500,
        )
    return ran.stdout, [line for line in heard if line and not any(maker in line for maker in MAKERS)]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a release of the city."""
    folder = tmp_path_factory.mktemp("city")
    release(write_city(folder, people=30_000)).write(folder / "release")
    return folder / "release/confidential/report.html"


def test_the_page_shows_the_release(chromium: str, report: Path, tmp_path: Path) -> None:
    dom, heard = opened(chromium, report, tmp_path)
    assert ">A synthetic city: one vote, counted by group</p>" in dom
    assert "You may publish" in dom and "census analyst" in dom and "May I publish?" in dom
    assert dom.count("<svg") >= 1 and dom.count("</svg>") == dom.count("<svg")
    assert "Confidential." in dom and "Do not publish it." in dom and dom.count("<script") == 2
    assert heard == []


def test_the_plan_of_a_programme_shows_both_pictures(chromium: str, tmp_path: Path) -> None:
    programme = parse_programme("title = 'Two'\n[variables]\nSEX = 2\nAGE = 9\n[[tables]]\naxes = ['SEX', 'AGE']\n")
    page = tmp_path / "plan.html"
    page.write_text(plan(programme).to_html(), encoding="utf-8")
    dom, heard = opened(chromium, page, tmp_path / "profile")
    assert "Two: noise that survives" in dom and "Noise of at most" in dom.partition("</h1>")[0]
    assert dom.count("<figure") >= 2
    assert "variance V" in dom and "epsilon per count" in dom and heard == []


def test_guarantees_side_by_side(chromium: str, tmp_path: Path) -> None:
    page = tmp_path / "beside.html"
    guarantees = [census_2020(), counterfactual()[0], Guarantee("<b>odd</b>", "", math.inf)]
    page.write_text(beside(guarantees, delta=1e-10).to_html(), encoding="utf-8")
    dom, heard = opened(chromium, page, tmp_path / "profile")
    assert "Guarantees side by side</h1>" in dom and dom.count("<table") == 2
    assert dom.count("<details") == 5, "what each of three rests on, and the examples of two comparisons"
    assert "139.596" in dom and "incomparable" in dom and "an infinite budget is no guarantee at all" in dom
    assert "<b>odd" not in dom and heard == []


def test_nothing_leaves_the_page_even_if_something_slips_in(chromium: str, report: Path, tmp_path: Path) -> None:
    """The policy of the page stops a picture from elsewhere; a page without it does ask for the picture."""
    text = report.read_text(encoding="utf-8")
    assert "default-src 'none'" in text and "://" not in text.replace("http://www.w3.org/", "")
    bare, guarded = tmp_path / "bare.html", tmp_path / "guarded.html"
    bare.write_text(f"<!doctype html><title>bare</title><body>{BEACON}</body>", encoding="utf-8")
    guarded.write_text(text.replace("</body>", f"{BEACON}</body>"), encoding="utf-8")
    assert set(opened(chromium, bare, tmp_path / "one")[1]) == {b"GET http://beacon.example/seen.png HTTP/1.1"}
    dom, heard = opened(chromium, guarded, tmp_path / "two")
    assert "beacon.example" in dom and heard == []


def shown_in(chromium: str, page: Path, profile: Path, *flags: str) -> str:
    """What the browser makes of a page."""
    common = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--virtual-time-budget=20000")
    command = [chromium, *common, f"--user-data-dir={profile}", *flags, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=500).stdout


LEDGER = (
    '\n[ledger]\nfile = "ledger.sqlite"\npopulation = "voters"\ncycle = "2026"\nanswers = "kept"\nid = "voter_id"\n'
)
LOOKS = [("dark", "screen", 1280), ("light", "screen", 400)]
LOOKS += [("light", "screen", 1280), ("dark", "screen", 400), ("light", "print", 1280)] if EVERYTHING else []
"""Colours, medium and width of the window."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, report: Path) -> dict[str, Path]:
    """One page of every kind: the release of the city, the others about the data of the tutorials."""
    folder = tmp_path_factory.mktemp("kinds")
    for name in ("first_release", "check_a_table"):
        shutil.copytree(Path(__file__).parent.parent / "examples/data" / name, folder, dirs_exist_ok=True)
    (folder / "recorded.toml").write_text((folder / "project.toml").read_text() + LEDGER)
    made = safemargin.release(folder / "recorded.toml").write(folder / "release")
    published, roll = made / "published", made / "confidential/roll.csv"
    suppressed = safemargin.suppress(folder / "counts.csv").write(folder / "suppressed")
    results = {
        "audit": safemargin.audit(folder / "clinic.csv"),
        "bound": safemargin.bound(folder / "clinic.csv"),
        "verify": safemargin.verify(published / "certificate.json", [published], roll=[roll]),
        "ledger": safemargin.ledger(folder / "ledger.sqlite"),
        "compare": safemargin.compare(folder / "project.toml"),
    }
    written = {kind: result.write(folder / f"{kind}.html") for kind, result in results.items()}
    city = report.parent.parent
    survey = Path(shutil.copytree(Path(__file__).parent.parent / "examples/data/staff_survey", folder / "survey"))
    asked = safemargin.release(survey / "questions.toml").write(folder / "asked")
    questions = {
        "questions": asked / "published/index.html",
        "questions report": asked / "confidential/report.html",
        "two axes in rows": safemargin.audit(folder / "returns.csv").write(folder / "returns.html"),
    }
    own = {
        name: city / name for name in ("confidential/report.html", "confidential/record.html", "published/index.html")
    }
    return {**own, **questions, "suppress": suppressed / "confidential/report.html", **written}


def test_every_kind_of_page_in_every_look(chromium: str, axe: str, pages: dict[str, Path]) -> None:
    """No violation of axe with everything unfolded, and nothing wider than the window; one browser for all."""
    from playwright.sync_api import sync_playwright

    unfold = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
    look = "axe.run().then((found) => [found.violations.map((bad) => bad.id), found.passes.length])"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for scheme, media, width in LOOKS:
            page = browser.new_page(viewport={"width": width, "height": 900}, bypass_csp=True)
            page.emulate_media(media=media, color_scheme=scheme)
            for kind, path in pages.items():
                page.goto(path.as_uri())
                assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, (kind, width)
                page.evaluate(unfold)
                page.evaluate(axe)
                violations, passes = page.evaluate(look)
                assert violations == [] and passes > 10, (kind, scheme, media, width)
            page.close()
        browser.close()


@pytest.mark.parametrize("width", [1280, 400])
def test_no_page_is_wider_than_the_screen(chromium: str, report: Path, tmp_path: Path, width: int) -> None:
    """Measured by the page itself; what is wide scrolls inside."""
    measure = '<script>addEventListener("load", () => document.body.setAttribute("data-w", scrollMaxX()));'
    measure += "function scrollMaxX() { return document.documentElement.scrollWidth - innerWidth; }</script>"
    for name in ("confidential/report.html", "published/index.html"):
        text = (report.parent.parent / name).read_text(encoding="utf-8")
        text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        page = tmp_path / "page.html"
        page.write_text(text.replace("</body>", f"{measure}</body>"), encoding="utf-8")
        dom = shown_in(chromium, page, tmp_path / "profile", f"--window-size={width},900", "--dump-dom")
        found = re.search(r'data-w="(-?\d+)"', dom)
        assert found is not None and int(found[1]) <= 0, name


def test_the_coloured_table_by_keyboard(chromium: str, tmp_path: Path) -> None:
    """One stop of the tab key, arrows from cell to cell, a drawer, find, and sorting; no error of the script."""
    from playwright.sync_api import sync_playwright

    rows = ["district,a,b,c,Total", "x,1,,5,9", "y,,7,,12", "z,4,6,8,18", "w,1,1,1,3", "v,2,2,2,6", "u,3,3,3,9"]
    (tmp_path / "t.csv").write_text("\n".join([*rows, "Total,13,22,22,57"]) + "\n")
    page_file = safemargin.audit(tmp_path / "t.csv").write(tmp_path / "audit.html")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(page_file.as_uri())
        assert page.locator(".ct td[tabindex='0']").count() == 1
        page.locator(".ct tbody tr:nth-child(3) td:nth-child(2)").click()
        for key in ("ArrowRight", "ArrowDown", "Enter"):
            page.keyboard.press(key)
        assert page.locator("aside .name").inner_text() == "w, a" and "1" in page.locator("td.on").inner_text()
        page.fill(".tools input[type=search]", "z")
        assert page.locator(".tools [role=status]").inner_text() == "1 of 6 rows"
        page.fill(".tools input[type=search]", "")
        page.click(".ct thead th:nth-child(2) button")
        assert page.locator(".ct tbody th").first.inner_text() == "z" and wrong == []
        browser.close()


def test_the_script_sorts_and_filters(chromium: str, report: Path, tmp_path: Path) -> None:
    """A click on a heading sorts; the map hides what is not looked for, and says how many are left."""
    drive = """<script>addEventListener("load", () => {
      const head = document.querySelector("table.sortable th button");
      head.click(); head.click();
      const first = head.closest("table").tBodies[0].rows[0].cells[0].textContent;
      document.body.setAttribute("data-sorted", head.parentNode.getAttribute("aria-sort") + " " + first);
      const only = document.querySelector(".find input[type=checkbox]");
      only.checked = true; only.dispatchEvent(new Event("change"));
      document.body.setAttribute("data-shown", document.querySelector(".find [role=status]").textContent);
    });</script>"""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", report.read_text(encoding="utf-8"))
    page = tmp_path / "page.html"
    page.write_text(text.replace("</body>", f"{drive}</body>"), encoding="utf-8")
    dom = shown_in(chromium, page, tmp_path / "profile", "--dump-dom")
    assert 'data-sorted="descending' in dom and re.search(r'data-shown="\d+ of \d+ shown"', dom)


def test_a_print_has_no_heading_at_the_foot_of_a_page(chromium: str, report: Path, tmp_path: Path) -> None:
    """Headings stay with what follows: the style says so, and the page can be printed."""
    out = tmp_path / "report.pdf"
    shown_in(chromium, report, tmp_path / "profile", f"--print-to-pdf={out}")
    assert out.read_bytes().startswith(b"%PDF") and out.stat().st_size > 20_000
    style = report.read_text(encoding="utf-8").partition("@media print")[2]
    assert "break-after: avoid" in style and "h2" in style
    assert (
        shutil.which("pdftotext") is None
        or "May I publish?"
        in subprocess.run(["pdftotext", str(out), "-"], capture_output=True, text=True, check=True).stdout
    )

"""The workbench in a real browser: a person checks a table, plans and publishes; and what can go wrong."""

import filecmp
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from safemargin import release
from safemargin.release.demo import write_city
from test_golden import FILES

pytestmark = pytest.mark.browser

WAIT = 400_000
"""Milliseconds that a command may take on a busy machine."""
FOCUSED = "(document.activeElement.labels?.[0] || document.activeElement).textContent"
AXE = """(rules) => axe.run(rules.length ? {runOnly: rules} : {}).then(
    (found) => found.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.target).join('; ')))"""
SCHEMES = {"dark": ["color-contrast"], "light": []}
"""Rules of axe by scheme, all where none are named: of both schemes, only colours differ."""


@contextmanager
def opened(folder: Path, place: str, chromium: str) -> Iterator[tuple[Any, Any, "subprocess.Popen[str]"]]:
    """The command `open` at work, a page of its first screen, and everything that the browser asked for."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "safemargin", "open", place, "--no-browser"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as server, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            assert server.stderr is not None
            found = re.search(r"http://127\.0\.0\.1:\d+/open\?token=[0-9a-f]{32}", server.stderr.readline())
            assert found is not None
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            context.set_default_timeout(WAIT)
            page = context.new_page()
            page.goto(found[0])
            yield page, context, server
        finally:
            browser.close()
            server.send_signal(signal.SIGINT)
            server.stderr.read() if server.stderr else None


def inspect(page: Any, axe: str | None, part: str = "") -> None:
    """No violation in either scheme, nothing wider than a phone, one heading, one script."""
    assert page.locator("h1").count() == 1 and page.locator("script:not([type])").count() == 1
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, page.url
    page.set_viewport_size({"width": 1280, "height": 900})
    if axe is not None:
        page.evaluate(axe)
        for scheme, rules in SCHEMES.items():
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(AXE, rules) == [], f"{page.url} {scheme}"
    if folder := os.environ.get("SCREENSHOTS"):
        name = re.sub(r"\W", "", page.locator("h1").inner_text()) + part
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 900})
            page.screenshot(path=f"{folder}/{name}-{width}.png", full_page=True)
        page.set_viewport_size({"width": 1280, "height": 900})


@pytest.fixture
def axe_if_there(request: pytest.FixtureRequest) -> str | None:
    """axe-core where it is installed; the screens are looked at without it too."""
    try:
        return str(request.getfixturevalue("axe"))
    except pytest.skip.Exception:
        return None


def test_a_release_from_the_data_to_the_ledger(tmp_path: Path, chromium: str, axe_if_there: str | None) -> None:
    """Every screen once; what is published is, byte for byte, what the library writes."""
    (tmp_path / "votes.csv").write_text(FILES["votes.csv"], encoding="utf-8")
    with opened(tmp_path, "votes.csv", chromium) as (page, context, _):
        asked: list[str] = []
        problems: list[str] = []
        context.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: problems.append(str(error)))
        home = page.url
        page.get_by_role("button", name="Go on with votes.csv").click()
        page.get_by_role("button", name="Save the roles").wait_for()
        assert page.get_by_label("Role of people").input_value() == "count" and "The first 8 rows" in page.content()
        inspect(page, axe_if_there)

        page.get_by_role("link", name="Limits", exact=True).click()
        page.get_by_role("link", name="fill in Output of researchers").click()
        assert page.get_by_label("No group may be shown").input_value() == "90"
        page.get_by_label("No group under").fill("20")
        page.get_by_role("button", name="Save the limits").click()
        page.get_by_label("Whom the release is about").fill("staff")
        page.get_by_label("Which of its releases").fill("2026")
        page.get_by_role("button", name="Add a ledger").click()
        page.get_by_role("button", name="Lock the limits").click()
        page.get_by_text("The limits of 2026 are locked").wait_for()
        inspect(page, axe_if_there)

        page.get_by_role("link", name="Map", exact=True).click()
        page.get_by_label("only exposed").check()
        inspect(page, axe_if_there)
        page.get_by_label("only exposed").uncheck()
        page.locator(".map td button").first.click()
        page.get_by_role("button", name="Work out what could be inferred").click()
        page.get_by_role("heading", name="Two tables that nobody can exclude").wait_for()
        assert page.get_by_role("heading", name="What would protect it").count() == 1
        assert "safemargin bound project.toml --cell=" in page.content()
        inspect(page, axe_if_there, "cell")
        page.keyboard.press("Escape")
        page.locator("#cell").wait_for(state="detached")

        page.get_by_role("link", name="Plan", exact=True).click()
        page.get_by_role("button", name="Make a plan").click()
        page.get_by_text("Estimate, not certified.").wait_for()
        page.get_by_text("You may publish this release.").wait_for()
        inspect(page, axe_if_there)
        page.get_by_label("Categories").fill("North")
        page.get_by_role("button", name="Try it").first.click()
        page.get_by_text("A trial:").wait_for()
        assert "The same groups are exact as in draft" in page.content() or "Gained against draft" in page.content()
        assert "keep" not in (tmp_path / "project.toml").read_text(encoding="utf-8")
        inspect(page, axe_if_there, "trial")
        page.get_by_role("link", name="Leave it").click()
        assert not (tmp_path / "draft/published").exists()

        page.get_by_role("link", name="Go on to publish").click()
        assert "How people were protected" in page.frame_locator("iframe").locator("body").inner_text()
        inspect(page, axe_if_there)
        page.get_by_label("Decided by").fill("Ada")
        page.get_by_label("Checked by").fill("ada")
        page.get_by_role("button", name="Publish into").click()
        assert "two different people" in page.get_by_role("alert").first.inner_text()
        page.get_by_label("Checked by").fill("Emmy")
        page.get_by_label("Checked by").press("Enter")
        page.get_by_text("release is published").wait_for()
        inspect(page, axe_if_there)

        page.get_by_role("link", name="Attack it", exact=True).click()
        page.get_by_label("Counts that you know").fill("site,grade,option,count\nNorth,junior,yes,40\n")
        page.get_by_role("button", name="Attack it").click()
        page.get_by_role("heading", name="Worst cells").or_(page.get_by_text("Every attack")).first.wait_for()
        inspect(page, axe_if_there)
        page.get_by_role("link", name="Timeline", exact=True).click()
        assert "staff" in page.content() and "2026" in page.content()
        inspect(page, axe_if_there)
        page.get_by_role("link", name="Home", exact=True).click()
        assert page.get_by_text("You may publish this release.").count() > 0 and "draft" in page.content()
        inspect(page, axe_if_there)
        assert problems == [] and all(address.startswith(home) for address in asked), "nothing else is asked for"
    published = tmp_path / "release/published"
    assert "decided by Ada" in (tmp_path / "release/confidential/record.html").read_text(encoding="utf-8")
    compare_with_the_library(tmp_path, published)


def compare_with_the_library(folder: Path, published: Path) -> None:
    """The same project, written by the library in another folder, where the chain of the ledger starts afresh."""
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    for path in [*folder.glob("*.csv"), folder / "project.toml"]:
        shutil.copy(path, elsewhere)
    release(elsewhere / "project.toml").write(elsewhere / "again")
    names = sorted(path.name for path in published.iterdir())
    same, different, missing = filecmp.cmpfiles(published, elsewhere / "again/published", names, shallow=False)
    chained = {"manifest.json", "certificate.json", "index.html"}
    assert (set(different) <= chained, missing, set(same) | set(different)) == (True, [], set(names))
    stated = [json.loads((where / "manifest.json").read_text()) for where in (published, elsewhere / "again/published")]
    for document in stated:
        del document["ledger"], document["auditors"]  # the latter commits to 32 random bytes
        document["files"] = {name: each for name, each in document["files"].items() if name not in chained}
    assert stated[0] == stated[1]


def test_other_choices_are_drawn_and_tried_before_they_are_written(
    tmp_path: Path, chromium: str, axe_if_there: str | None
) -> None:
    """Where they were not computed the page says why and offers it; the picture and the table have the same figures."""
    for name in ("votes.csv", "project.toml"):
        (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    project = tmp_path / "project.toml"
    before = project.read_text(encoding="utf-8")
    with opened(tmp_path, "project.toml", chromium) as (page, _, __):
        page.get_by_role("link", name="Plan", exact=True).click()
        page.get_by_role("button", name="Make a plan").click()
        page.get_by_text("other choices were not computed").wait_for()
        assert page.locator("#choices svg").count() == 0
        assert "safemargin release project.toml --out draft-2 --draft --alternatives" in page.content()
        inspect(page, axe_if_there, "nocurve")
        page.get_by_role("button", name="Compute all other choices").click()
        page.locator("#choices svg").wait_for()
        assert "you are here" in page.locator("#choices svg").inner_html()
        rows = [row.split("\t") for row in page.locator("#choices tbody tr").all_inner_texts()]
        assert rows[0][0].startswith("now: ") and rows[0][-1].strip() == "you are here"
        limits = {"10 %", "3 %", "2 %", "1 %"}  # that of the project, and less strict ones
        assert {row[1].replace("\xa0", " ") for row in rows} == limits and all("site" in row[2] for row in rows)
        inspect(page, axe_if_there, "curve")
        page.get_by_role("row", name="a limit of 3").get_by_role("button", name="Try it").click()
        page.get_by_text("A trial:").wait_for()
        said = page.locator("main").inner_text().replace("\xa0", " ")
        assert "limit 3 %" in said and "People in exact groups:" in said and "exact as in draft-2" in said
        assert project.read_text(encoding="utf-8") == before
        inspect(page, axe_if_there, "choice")
        page.get_by_role("button", name="Write it to the project").click()
        page.get_by_text("changed after this plan").wait_for()
    assert "beta = 0.03" in project.read_text(encoding="utf-8")


def test_keyboard_alone_reaches_everything(tmp_path: Path, chromium: str) -> None:
    """Tab, Enter and arrows: from the first page to a checked table, to the drawer of a cell, and to a saved limit."""
    for name in ("accidents.csv", "votes.csv", "project.toml"):
        (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    with opened(tmp_path, ".", chromium) as (page, _, __):

        def tab_to(wanted: str) -> None:
            for _ in range(60):
                page.keyboard.press("Tab")
                if wanted in page.evaluate(
                    "(document.activeElement.labels?.[0] || document.activeElement).textContent"
                ):
                    return
            raise AssertionError(f"{wanted} is not reached with Tab")

        tab_to("To the content")
        tab_to("Check any table")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Check any table").wait_for()
        tab_to("or name a table")
        page.keyboard.type("accidents.csv")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Worst cells").wait_for()
        tab_to("Map")
        page.keyboard.press("Enter")
        page.get_by_label("only exposed").wait_for()  # shown by the script, which listens from then on
        page.locator(".map td button").first.focus()
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.closest('td').cellIndex") == 2
        page.keyboard.press("Enter")
        page.locator("#cell").wait_for()
        assert page.evaluate("document.activeElement.id") == "cell"
        page.keyboard.press("Escape")
        page.locator("#cell").wait_for(state="detached")
        tab_to("Limits")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Limits").first.wait_for()
        tab_to("No group under")
        page.keyboard.press("Control+A")
        page.keyboard.type("23")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert "kappa = 23" in (tmp_path / "project.toml").read_text(encoding="utf-8")


def write_large(folder: Path) -> None:
    """A project with more cells than a browser lays out as elements."""
    folder.mkdir()
    lines = [f"s{site},j{job},{vote},9" for site in range(100) for job in range(101) for vote in ("yes", "no")]
    (folder / "votes.csv").write_text("site,job,answer,people\n" + "\n".join(lines) + "\n", encoding="utf-8")
    described = '[data]\nfile = "votes.csv"\nanswer = "answer"\ncount = "people"\n[axes.site]\n[axes.job]\n'
    (folder / "project.toml").write_text(f"{described}[target]\nkappa = 10\ntau = 0\n", encoding="utf-8")


def test_tables_windows_and_a_killed_server(tmp_path: Path, chromium: str, axe_if_there: str | None) -> None:
    """Bad files, a second window, a file that is dropped, and a server that is gone."""
    write_city(tmp_path, people=20_000)
    for name in ("accidents.csv", "wrong.csv"):
        (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    write_large(tmp_path / "large")
    with opened(tmp_path, ".", chromium) as (page, context, server):
        home = page.url
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {}):
            with pytest.raises(HTTPError, match="403"):
                urlopen(Request(home, headers=headers), timeout=200)
        other = context.new_page()
        other.goto(f"{home}limits")
        page.goto(f"{home}limits")
        page.get_by_label("No group under").fill("25")
        with page.expect_navigation():  # a click does not wait for what it starts
            page.get_by_role("button", name="Save the limits").click()
        other.get_by_label("No group under").fill("7")
        other.get_by_role("button", name="Save the limits").click()
        assert "changed meanwhile" in other.get_by_role("alert").first.inner_text()
        assert "kappa = 25" in (tmp_path / "project.toml").read_text(encoding="utf-8")

        page.goto(f"{home}check")
        page.get_by_label("or name a table").fill("wrong.csv")
        page.get_by_label("or name a table").press("Enter")
        page.get_by_text("wrong.csv: no row holds a label and a number; where is the table?").wait_for()
        page.get_by_role("link", name="Back").click()
        page.locator("input[type=file]").set_input_files(tmp_path / "accidents.csv")
        page.get_by_text("accidents.csv is ready").wait_for()
        page.get_by_role("button", name="Check it").click()
        page.get_by_role("heading", name="Worst cells").wait_for()
        assert "the table prints 1 person" in page.content() and "safemargin audit" in page.content()
        inspect(page, axe_if_there)
        page.get_by_role("button", name="Suppress").click()
        page.get_by_text("6 counts suppressed").wait_for()
        pattern = (tmp_path / "accidents-suppressed/published/pattern.csv").read_text(encoding="utf-8")
        assert pattern.count("suppressed") == 6

        other.goto(f"{home}plan")
        other.get_by_role("button", name="Make a plan").click()
        page.get_by_text("The plan is running").wait_for()  # in the other window
        threads = Path(f"/proc/{server.pid}/task").glob("*/children")  # whichever thread started it
        children = [child for thread in threads for child in thread.read_text(encoding="ascii").split()]
        # What is to be run comes on standard input, so the module is all that the list of processes shows.
        (job,) = [
            child for child in children if b"safemargin.web.command" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]
        os.kill(int(job), signal.SIGSTOP)  # it cannot end by itself before it is cancelled
        other.get_by_role("button", name="Cancel").click(no_wait_after=True)
        os.kill(int(job), signal.SIGCONT)
        other.get_by_text("Cancelled. Nothing was written.").wait_for()
        assert not (tmp_path / "draft").exists()

        page.goto(home)
        page.get_by_label("or name a file").fill("large")
        page.get_by_role("button", name="Open").click()
        page.get_by_role("link", name="Map", exact=True).click()
        page.get_by_text("10,100 of 10,100 cells shown").wait_for()  # the script listens from now on
        page.locator("canvas").focus()
        page.keyboard.press("ArrowRight")
        assert page.locator(".said").inner_text() == "j0, s0: 18 people; within the limits."
        page.get_by_label("Find").fill("s99")
        assert page.locator(".find [role=status]").inner_text() == "101 of 10,100 cells shown"
        inspect(page, axe_if_there)

        os.kill(server.pid, signal.SIGKILL)
        page.get_by_text("The workbench has ended.").wait_for()
        assert other.get_by_text("The workbench has ended.").count() == 1


def people_file(folder: Path) -> Path:
    """A file as people have it: a running number, words for nothing, an age, and an answer."""
    chance = random.Random(11)
    lines = []
    for number in range(600):
        vote = chance.choice("YYNNU") if number % 9 else "NA"
        lines.append(f"{number},{chance.choice(['North', 'South', 'West'])},{chance.randint(18, 70)},{vote}")
    path = folder / "people.csv"
    path.write_text("rownames,region,age,vote\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_from_a_file_to_a_published_folder_without_toml(
    tmp_path: Path, chromium: str, axe_if_there: str | None
) -> None:
    """A new user: drop a file, look at its columns, cut ages, name answers, plan, leave, come back, publish, remove."""
    (tmp_path / "elsewhere").mkdir()
    file, work = people_file(tmp_path / "elsewhere"), tmp_path / "work"
    work.mkdir()
    with opened(work, ".", chromium) as (page, context, _):
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda line: problems.append(line.text) if "Content Security Policy" in line.text else None)
        inspect(page, axe_if_there, "first")
        page.locator("input[type=file]").set_input_files(file)
        page.get_by_role("button", name="Save the roles").wait_for()
        folder = work / "people"
        assert folder.stat().st_mode & 0o777 == 0o700 and (folder / "people.csv").stat().st_mode & 0o777 == 0o600
        assert page.get_by_label("Role of vote").input_value() == "answer"
        page.get_by_label("Role of age").select_option("bands")
        counted = page.locator("tr", has_text="age").locator("output").inner_text()
        assert sum(int(part.rpartition(": ")[2]) for part in counted.split(" · ")) == 600, counted
        page.get_by_label("Role of region").select_option("answer")
        page.get_by_role("button", name="Save the roles").click()
        page.get_by_role("alert").first.wait_for()
        assert page.locator("[aria-invalid=true]").count() == 1
        inspect(page, axe_if_there, "wrong")
        page.get_by_label("Role of region").select_option("axis")
        page.get_by_role("button", name="Save the roles").click()
        page.get_by_role("link", name="Go on to the limits").wait_for()
        inspect(page, axe_if_there, "roles")
        page.get_by_label("Categories of").select_option("the answer")
        page.get_by_role("button", name="Show").click()
        page.get_by_label("Names for the answer").fill("Y = Yes\nN = No\nU = Undecided")
        page.get_by_role("button", name="Save names").click()
        page.get_by_role("link", name="Go on to the limits").click()
        page.get_by_label("Excel").check()
        page.get_by_role("button", name="Save what to publish").click()
        page.get_by_role("button", name="Save, and forecast").click()
        page.locator("#forecast table").wait_for()
        page.get_by_role("link", name="Plan", exact=True).click()
        page.get_by_role("button", name="Make a plan").click()
        page.locator("#clock").wait_for()
        page.get_by_role("link", name="Data", exact=True).click()
        page.locator(".news").get_by_role("link", name="See the result").click()
        page.get_by_text("You may publish").first.wait_for()
        page.get_by_role("link", name="Go on to publish").click()
        page.get_by_label("Decided by").fill("Ada")
        page.get_by_label("Checked by").fill("Emmy")
        page.get_by_role("button", name="Publish into").click()
        page.get_by_text("release is published").wait_for()
        published = {path.name for path in (folder / "release/published").iterdir()}
        assert {"age.csv", "age.xlsx", "index.html", "certificate.json"} <= published
        assert "Undecided" in (folder / "release/published/total.csv").read_text(encoding="utf-8")
        page.get_by_role("link", name="Home", exact=True).click()
        assert "What ran here" in page.content()
        inspect(page, axe_if_there, "last")
        page.get_by_label("Remove them").check()
        page.get_by_role("button", name="Remove the project").click()
        page.get_by_role("button", name="Try the demo city").wait_for()
        assert [path.name for path in folder.iterdir()] == ["release"] and problems == []

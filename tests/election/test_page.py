"""The page of a person: in Chromium, and what it refuses."""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient

from election_world import World
from safemargin.core import InputError
from safemargin.election.auditing import audit_openings
from safemargin.election.board_verification import check_board
from safemargin.election.desk import Desk
from safemargin.election.voting_page import Page
from safemargin.election.wording import LANGUAGES, read_texts, shipped_texts
from safemargin.parties.service import free_ports


@contextmanager
def served(page: Page) -> Iterator[str]:
    """The page on loopback."""
    port = free_ports(1)[0]
    server = uvicorn.Server(uvicorn.Config(page.app(), host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}/{page.secret}/"
    server.should_exit = True
    thread.join()


@pytest.mark.browser
def test_a_person_votes_in_one_visit_in_chromium(tmp_path: Path, chromium: str) -> None:
    """In German, by keyboard, at 400 px; an audit first, then the ballot; nothing is fetched and no script runs."""
    from playwright.sync_api import sync_playwright

    world = World(tmp_path).begin()
    code = world.wallets.pop("row 000").state["code"]
    page = Page(Desk(world.election, tmp_path / "wallet.json", world.ask), *read_texts("de"))
    requested: list[str] = []
    with served(page) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 400, "height": 800})
        tab.set_default_timeout(400_000)  # a slow machine
        tab.on("request", lambda request: requested.append(request.url))
        tab.goto(address)
        assert tab.locator("html").get_attribute("lang") == "de" and tab.locator("script").count() == 0
        assert world.election.fingerprint in tab.locator("main").inner_text()
        tab.locator("#row").fill("row 000")
        tab.locator("#code").fill(("0" if code[0] != "0" else "1") + code[1:])
        tab.get_by_role("button", name="Beginnen").press("Enter")
        assert "ein Zeichen falsch" in tab.get_by_role("alert").inner_text()
        assert tab.locator("#row").input_value() == "row 000", "what was typed is kept"
        tab.locator("#row").fill("row 000")
        tab.locator("#code").fill(code.lower())
        tab.get_by_role("button", name="Beginnen").press("Enter")
        assert "Sie sind eingeschrieben." in tab.get_by_role("status").first.inner_text()
        assert len(tab.locator("#sheet").inner_text()) == 66
        assert "nennt old" in tab.locator("main").inner_text()
        tab.get_by_label("no", exact=True).press("Space")
        tab.get_by_role("button", name="Durchsehen").press("Enter")
        assert "wählen Sie Ihre Gruppe in health" in tab.get_by_role("alert").inner_text(), "none is chosen before"
        answer(tab)
        noted = tab.locator("#hash").inner_text().split()[-1]
        tab.get_by_role("button", name="Stattdessen").press("Enter")
        opening = json.loads(tab.locator("#opening").input_value())
        assert "holds no, ill" in audit_openings(world.election, opening, noted)
        answer(tab)
        assert noted not in tab.locator("#hash").inner_text()
        tab.get_by_role("button", name="Abgeben").press("Enter")
        assert tab.locator("#state").inner_text().count("in der Urne") == 3
        wide = tab.evaluate("document.documentElement.scrollWidth")
        assert wide <= 400
        world.enrol().cast().close()
        tab.get_by_role("button", name="Prüfen").press("Enter")
        assert tab.locator("#state").inner_text().count("gezählt; Stimmzettel") == 3
        browser.close()
    assert all(url.startswith("http://127.0.0.1:") for url in requested)
    assert check_board(world.copy(), processes=1).findings == []


def answer(tab: Any) -> None:
    """Fill the ballot by keyboard."""
    tab.get_by_label("no", exact=True).press("Space")
    tab.get_by_label("Ihre Gruppe in health").select_option("ill")
    tab.get_by_role("button", name="Durchsehen").press("Enter")


def test_nobody_else_reaches_the_page(tmp_path: Path) -> None:
    world = World(tmp_path)
    page = Page(Desk(world.election, tmp_path / "wallet.json", world.ask))
    client = TestClient(page.app(), base_url="http://127.0.0.1")
    assert client.get("/").status_code == 404 and client.get("/0000/").status_code == 404
    assert client.get(f"/{page.secret}/").status_code == 200
    assert client.get(f"/{page.secret}/", headers={"host": "evil.example"}).status_code == 404
    assert client.post(f"/{page.secret}/cast", headers={"host": "evil.example"}).status_code == 404
    for name, form in {"prepare": {"option": "<b>"}, "check": {}, "enrol": {"row": "x", "code": "<b>"}}.items():
        shown = client.post(f"/{page.secret}/{name}", data=form)
        assert shown.status_code == 200 and 'role="alert"' in shown.text and "<b>" not in shown.text
    assert "<script" not in shown.text and "default-src 'none'" in shown.text


def test_three_languages_are_shipped_and_others_can_be_given(tmp_path: Path) -> None:
    english = shipped_texts("en")
    for language in LANGUAGES:
        texts = shipped_texts(language)
        assert set(texts) == set(english)
        for name, text in texts.items():
            assert set(re.findall(r"{\w+}", text)) == set(re.findall(r"{\w+}", english[name])), (language, name)
    path = tmp_path / "it.json"
    path.write_text('{"enrol": "Iniziare"}')
    texts, language = read_texts(str(path))
    assert texts["enrol"] == "Iniziare" and texts["code"] == english["code"] and language == "it"
    for wrong in ('{"unknown": "x"}', "[]", "{"):
        path.write_text(wrong)
        with pytest.raises(InputError):
            read_texts(str(path))
    with pytest.raises(InputError, match="must be en, de, fr"):
        read_texts("xx")


def test_a_program_that_was_stopped_sends_the_rest_later(tmp_path: Path) -> None:
    """Finding 15: nothing has to keep running; what has no receipt is sent when the program starts again."""
    world = World(tmp_path).begin()
    desk = Desk(world.election, tmp_path / "wallet.json", world.ask)
    desk.enrol("row 000", world.role("registrar").code("row 000"))
    desk.prepare("yes", {"health": "well"}, ["age"])
    for each in desk.prepared:
        desk.own.cast(each)
    again = Desk(world.election, tmp_path / "wallet.json", world.ask)
    assert again.has_cast and not any("receipt" in token for token in again.own.state["tokens"].values())
    again.send()
    assert all("receipt" in token for token in again.own.state["tokens"].values())
    assert json.loads(world.ask("box", "status"))["messages"] == 3, "skipping casts an encrypted no answer"

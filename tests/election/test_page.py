"""The page of a person: in Chromium, and what it refuses."""

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
from safemargin.aggregate.rehearse import free_ports
from safemargin.core import InputError
from safemargin.election.client import enrol, fetch_tokens
from safemargin.election.verify import check_board
from safemargin.election.vote import TEXTS, Desk, Page, read_texts


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
def test_a_person_enrols_answers_and_checks_in_chromium(tmp_path: Path, chromium: str) -> None:
    """By keyboard and by the names that a screen reader reads; nothing is fetched and no script runs."""
    from playwright.sync_api import sync_playwright

    world = World(tmp_path)
    world.begin()
    code = world.wallets.pop("row 000").state["code"]
    page = Page(Desk(world.election, tmp_path / "wallet.json", world.ask))
    requested: list[str] = []
    with served(page) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page()
        tab.set_default_timeout(400_000)  # a slow machine
        tab.on("request", lambda request: requested.append(request.url))
        tab.goto(address)
        assert tab.locator("html").get_attribute("lang") == "en" and tab.locator("script").count() == 0
        tab.get_by_label("Your number on the roll").fill("row 000")
        tab.get_by_label("The code from your letter").fill("wrong")
        tab.get_by_role("button", name="Enrol").press("Enter")
        assert "do not belong together" in tab.get_by_role("status").inner_text()
        tab.get_by_label("Your number on the roll").fill("row 000")
        tab.get_by_label("The code from your letter").fill(code)
        tab.get_by_role("button", name="Enrol").press("Enter")
        assert "You are enrolled." in tab.get_by_role("status").inner_text()
        for wallet in world.wallets.values():
            enrol(wallet, world.ask)
        world.conductor.close_enrolment()
        tab.get_by_role("button", name="Get tokens").press("Enter")
        assert "You have your tokens." in tab.get_by_role("status").inner_text()
        for wallet in world.wallets.values():
            fetch_tokens(wallet, world.ask)
        world.conductor.open_casting(world.conductor.close_issuing())
        assert "the registrar states old" in tab.locator("main").inner_text()
        tab.get_by_label("no", exact=True).press("Space")
        tab.get_by_label("Your category in health").select_option("ill")
        tab.get_by_role("button", name="Answer").press("Enter")
        for _ in range(6_000):
            if not page.desk.unsent() and not page.desk.waiting:
                break
            time.sleep(0.05)
        for number, row in enumerate(world.wallets):
            for name in world.election.dimensions:
                world.cast_one(
                    row, name, "yes" if number % 2 else "no", world.board.signers, "well" if number else "ill"
                )
        world.count()
        world.open()
        tab.get_by_role("button", name="Check that my answers").press("Enter")
        state = tab.locator("#state").inner_text()
        assert state.count("included, record") == 3 and "not included" not in state
        tab.get_by_role("button", name="Delete the secrets").press("Enter")
        assert "The secrets are deleted" in tab.locator("main").inner_text()
        tab.get_by_role("button", name="Check that my answers").press("Enter")
        assert tab.locator("#state").inner_text().count("included, record") == 3, "hashes are enough to check"
        browser.close()
    assert all(url.startswith("http://127.0.0.1:") for url in requested)
    assert check_board(world.board, processes=1).findings == []
    kept = (tmp_path / "wallet.json").read_text()
    assert "signatures" not in kept and "onion" not in kept


def test_nobody_else_reaches_the_page(tmp_path: Path) -> None:
    world = World(tmp_path)
    page = Page(Desk(world.election, tmp_path / "wallet.json", world.ask))
    client = TestClient(page.app(), base_url="http://127.0.0.1")
    assert client.get("/").status_code == 404 and client.get("/0000/").status_code == 404
    assert client.get(f"/{page.secret}/").status_code == 200
    assert client.get(f"/{page.secret}/", headers={"host": "evil.example"}).status_code == 404
    assert client.post(f"/{page.secret}/forget", headers={"host": "evil.example"}).status_code == 404
    for name, form in {"answer": {"option": "<b>"}, "check": {}, "tokens": {}, "forget": {}}.items():
        shown = client.post(f"/{page.secret}/{name}", data=form)
        assert shown.status_code == 200 and "This was refused" in shown.text and "<b>" not in shown.text
    assert "<script" not in shown.text and "default-src 'none'" in shown.text


def test_texts_can_be_translated(tmp_path: Path) -> None:
    path = tmp_path / "de.json"
    path.write_text('{"enrol": "Anmelden"}')
    texts = read_texts(path)
    assert texts["enrol"] == "Anmelden" and texts["code"] == TEXTS["code"]
    for wrong in ('{"unknown": "x"}', "[]", "{"):
        path.write_text(wrong)
        with pytest.raises(InputError):
            read_texts(path)


def test_a_program_that_was_stopped_sends_the_rest_later(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.begin()
    desk = Desk(world.election, tmp_path / "wallet.json", world.ask)
    desk.enrol("row 000", world.role("registrar").code("row 000"))
    world.conductor.close_enrolment()
    desk.tokens()
    world.conductor.open_casting(world.conductor.close_issuing())
    times = desk.cast("yes", {"health": "well"}, ["age", "health"])
    desk.send("age")
    again: Any = Desk(world.election, tmp_path / "wallet.json", world.ask)
    assert again.unsent() == ["health"] and set(times) == {"age", "health"}
    onion = again.own.state["tokens"]["health"]["onion"]
    again.cast("no", {"health": "ill"}, ["health"])
    assert again.own.state["tokens"]["health"]["onion"] == onion, "never a second answer under one token"
    again.send_all({"health": 0.0})
    assert again.unsent() == []

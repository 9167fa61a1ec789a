"""Who may talk to the workbench, and who is refused."""

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from safemargin.web.guard import Guard

PORT = 8123
HOME = f"http://127.0.0.1:{PORT}"


@pytest.fixture
def guard() -> Guard:
    return Guard(PlainTextResponse("inside"), PORT)


def client(guard: Guard) -> TestClient:
    return TestClient(guard, base_url=HOME, follow_redirects=False)


def admitted(guard: Guard) -> TestClient:
    browser = client(guard)
    answer = browser.get(f"/open?token={guard.token}")
    assert (answer.status_code, answer.headers["location"]) == (303, guard.start)
    return browser


def test_the_link_opens_the_workbench_once(guard: Guard) -> None:
    browser = admitted(guard)
    assert browser.get(guard.start).text == "inside"
    cookie = next(iter(browser.cookies.jar))
    assert (cookie.path, cookie.has_nonstandard_attr("HttpOnly")) == (guard.start, True)
    again = client(guard).get(f"/open?token={guard.token}")
    assert (again.status_code, "works once" in again.text, "set-cookie" in again.headers) == (403, True, False)
    assert browser.get(guard.start).text == "inside", "the window that is open stays open"


@pytest.mark.parametrize("token", ["", "wrong", "é"])
def test_another_token_opens_nothing_and_uses_nothing_up(guard: Guard, token: str) -> None:
    refused = client(guard).get("/open", params={"token": token})
    assert (refused.status_code, "set-cookie" in refused.headers) == (403, False)
    admitted(guard)


def test_nobody_enters_without_the_cookie(guard: Guard) -> None:
    admitted(guard)
    stranger = client(guard)
    assert stranger.get(guard.start).status_code == 403
    for cookie in ("", "safemargin=", "safemargin=guessed", "=;;\x7f", f"other={guard.session}"):
        assert stranger.get(guard.start, headers={"cookie": cookie}).status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", f"[::1]:{PORT}", ""]
)
def test_a_name_that_points_here_is_refused(guard: Guard, host: str) -> None:
    """DNS rebinding: the browser believes that a foreign page is this address."""
    browser = admitted(guard)
    assert browser.get(guard.start, headers={"host": host}).status_code == 403
    assert browser.get(guard.start, headers={"host": f"localhost:{PORT}"}).status_code == 200


def test_another_page_cannot_send_forms(guard: Guard) -> None:
    browser = admitted(guard)
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{PORT + 1}", f"https://127.0.0.1:{PORT}"):
        assert browser.post(guard.start, headers={"origin": origin}).status_code == 403
        assert browser.get(guard.start, headers={"origin": origin}).status_code == 403
    assert browser.post(guard.start).status_code == 403, "a form without an origin"
    assert browser.post(guard.start, headers={"origin": HOME}).status_code == 200
    assert browser.get(guard.start, headers={"sec-fetch-site": "cross-site"}).status_code == 403


def test_every_answer_is_closed_to_others(guard: Guard) -> None:
    browser = admitted(guard)
    for answer in (browser.get(guard.start), client(guard).get("/"), browser.get("/elsewhere")):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")
    assert browser.get("/elsewhere", headers={"cookie": f"safemargin={guard.session}"}).status_code == 404


@pytest.mark.parametrize("header", [{"sec-purpose": "prefetch"}, {"purpose": "prefetch"}])
def test_who_only_looks_uses_nothing_up(guard: Guard, header: dict[str, str]) -> None:
    """HEAD, and a browser that loads ahead, are refused; the person who opens the link comes in."""
    place = f"/open?token={guard.token}"
    for answer in (client(guard).head(place), client(guard).get(place, headers=header), client(guard).options(place)):
        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
    admitted(guard)


def test_the_page_leads_to_the_link(guard: Guard) -> None:
    assert f'content="0; url={guard.address}"' in guard.page and guard.page.count(guard.token) == 2

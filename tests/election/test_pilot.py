"""A pilot: every party as processes of its own with TLS, started by documented commands, with all that goes wrong.

By default few people vote, so that the suite ends in time; with `EVIDENCE=all` it is 500 people and four dimensions.
"""

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import evidence
from safemargin.core import Generator, numpy_generator
from safemargin.election.board import Board
from safemargin.election.board_verification import check_board
from safemargin.election.client import Ask, ask_over_http, enrol, fetch_tokens, send
from safemargin.election.manifests import KnownElection
from safemargin.election.rehearsal import (
    PartyProcesses,
    SimulatedVoters,
    close_all,
    count_all,
    made_up_roll,
    read_codes,
    set_up,
)
from safemargin.election.roll import roll_csv
from safemargin.election.setup import parse_plan, plan_text
from safemargin.election.voter import Wallet
from safemargin.election.wording import PersonError, shipped_texts

VOTERS = 500 if evidence.EVERYTHING else 24
DIMENSIONS = {
    "age": ["18-34", "35-54", "55+"],
    "region": ["North", "South"],
    "sex": ["f", "m"],
    "home": ["town", "land"],
}


PLAN = plan_text(
    "Pilot",
    "Shall we?",
    ["yes", "no"],
    {name: DIMENSIONS[name] for name in (DIMENSIONS if evidence.EVERYTHING else ("age", "region"))},
    collector="Company",
    others=["Union", "Court", "University"],
    box="Post",
    settings={"kappa": 5, "least": 10, "bits": 2048, "openers": 3},
    target={"beta": 0.05, "tau": 1},
).replace("\n[release.target]", 'trustee-4 = { role = "trustee", organisation = "Company" }\n\n[release.target]')
"""Eleven parties of five organisations; three of four trustees decrypt."""


@contextmanager
def voting_page(
    parties: PartyProcesses, tmp_path: Path, row: str, election: KnownElection, texts: str
) -> Iterator[str]:
    """The page of one person, served by `election vote` with what the letter says; the wallet is a file."""
    log = tmp_path / f"vote {row}.txt"
    address = election.only("board").address
    words = ["vote", str(tmp_path / f"{row}.json"), "--board", address, "--id", election.fingerprint, "--texts", texts]
    number = parties.starter.start(words, log)
    deadline = time.monotonic() + 120
    while not (found := re.search(r"http://127\.0\.0\.1:\d+/[0-9a-f]+/", log.read_text() if log.exists() else "")):
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
    yield found[0]
    os.kill(number, signal.SIGTERM)


def reach(tab: Any, identity: str) -> None:
    """Press Tab until something has the focus."""
    for _ in range(60):
        if tab.evaluate("document.activeElement.id") == identity:
            return
        tab.keyboard.press("Tab")
    raise AssertionError(f"{identity}: no key leads there")


def votes_by_keyboard(tab: Any, row: str, code: str) -> None:
    """Keys alone: no mouse, no script."""
    for identity, text in (("row", row), ("code", code)):
        reach(tab, identity)
        tab.keyboard.type(text)
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#option-yes")
    reach(tab, "option-yes")
    tab.keyboard.press("Space")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#hash")
    while tab.evaluate("document.activeElement.tagName") != "BUTTON":
        tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#state")


def votes_by_mouse(tab: Any, row: str, code: str) -> None:
    """As most people do."""
    tab.locator("#row").fill(row)
    tab.locator("#code").fill(code.lower())
    tab.locator("form[action$=enrol] button").click()
    tab.locator("#option-yes").check()
    tab.locator("form[action$=prepare] button").click()
    tab.locator("form[action$=cast] button").click()
    tab.wait_for_selector("#state")


def three_in_chromium(
    parties: PartyProcesses, tmp_path: Path, election: KnownElection, codes: dict[str, str], chromium: str
) -> None:
    """One in German, one by keyboard alone, one at 400 px."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        kinds = (("de", 1280, votes_by_mouse), ("en", 1280, votes_by_keyboard), ("fr", 400, votes_by_mouse))
        for (language, width, votes), (row, code) in zip(kinds, codes.items(), strict=True):
            tab = browser.new_page(viewport={"width": width, "height": 800})
            tab.set_default_timeout(300_000)  # a slow machine
            with voting_page(parties, tmp_path, row, election, language) as address:
                tab.goto(address)
                assert tab.locator("html").get_attribute("lang") == language
                assert election.fingerprint in tab.locator("main").inner_text()
                votes(tab, row, code)
                said = shipped_texts(language)["sent"].partition("}")[2]
                assert tab.locator("#state").inner_text().count(said) == len(election.dimensions)
                assert tab.evaluate("document.documentElement.scrollWidth") <= width
        browser.close()


@pytest.mark.slow
@pytest.mark.browser
def test_a_pilot_by_documented_commands(tmp_path: Path, chromium: str) -> None:
    plan, generator = parse_plan(PLAN), numpy_generator(3)
    assert len(plan.parties) == 11
    folder = tmp_path / "parties"
    folder.mkdir()
    (folder / "plan.toml").write_text(PLAN)
    (folder / "roll.csv").write_bytes(roll_csv(made_up_roll(plan, VOTERS, generator)))
    (tmp_path / "pass.txt").write_text("a long passphrase\n")
    parties = PartyProcesses(plan, folder, None)
    try:
        election = set_up(parties, folder / "roll.csv")
        with ask_over_http(election, None, 120.0) as ask:
            for name in plan.parties:
                parties.serve(name)
            parties.wait(ask)
            parties.run("board", "publish", folder / "board", "--approvals", folder / "drop")
            codes_file = folder / "registrar" / "codes.csv"
            words: list[str | Path] = ["letters", folder / "registrar", "--roll", folder / "roll.csv"]
            letters = tmp_path / "letters"
            parties.run("registrar", *words, "--codes", codes_file, "--out", letters, "--texts", "de")
            codes = read_codes(codes_file)
            assert len(list(letters.glob("*.txt"))) == VOTERS and (letters / "letters.html").exists()
            crowd = people_vote(parties, tmp_path, election, codes, ask, generator, chromium)
            status = parties.run("organiser", "status", "--manifest", folder / "manifest.json")
            assert "closed: collector" in status and all(name in status for name in plan.parties)
            close_all(parties)
            count_all(parties, tmp_path / "release")
            address = election.only("board").address
            copy = tmp_path / "board"
            said = parties.run("anybody", "verify", address, "--id", election.fingerprint, "--copy", copy, "--json")
            document = json.loads(said[said.index("{") :])
            assert (
                document["verified"] and document["total_verified"] and document["certified"] and document["complete"]
            )
            truth = crowd.truth()
            truth["yes"] += 3
            assert document["total"] == truth and crowd.lost(Board(copy)) == 0
            assert document["enrolled"] == VOTERS and document["published_counts_verified"] > 0
            assert check_board(Board(copy), pinned=election.fingerprint).findings == [], "the copy, offline"
            seen = parties.run(
                "voter",
                "vote",
                tmp_path / f"{list(codes)[0]}.json",
                "--board",
                address,
                "--id",
                election.fingerprint,
                "--step",
                "check",
            )
            assert f"{len(election.dimensions)} of {len(election.dimensions)} ballots are on the board" in seen
    finally:
        parties.stop()


def people_vote(
    parties: PartyProcesses,
    tmp_path: Path,
    election: KnownElection,
    codes: dict[str, str],
    ask: Ask,
    generator: Generator,
    chromium: str,
) -> SimulatedVoters:
    """Everybody votes; five of them, and one issuer, do not have a good day."""
    folder, rows = parties.folder, list(codes)
    early, late = rows[: VOTERS // 2], rows[VOTERS // 2 :]
    crowd = SimulatedVoters(election, codes, ask, generator)
    crowd.silent, crowd.skipped = set(), {(rows[5], "age"), (rows[6], "age")}
    special = rows[:5]
    three_in_chromium(parties, tmp_path, election, {row: codes[row] for row in special[:3]}, chromium)
    # One voter sends different requests to the issuers, and stops nobody.
    evil = crowd.wallets[special[3]]
    enrol(evil, ask)
    ask("issuer-1", "sign", evil.requests())
    evil.state["tokens"] = {name: {"seed": "11" * 32} for name in election.dimensions}
    with pytest.raises(PersonError, match="Another request of yours"):
        fetch_tokens(evil, ask)
    # One wallet is lost after the vote, and recovered from its sheet.
    crowd.visit(special[4])
    lost = crowd.wallets[special[4]]
    again = Wallet.recover(election, special[4], codes[special[4]], lost.sheet)
    enrol(again, ask)
    fetch_tokens(again, ask)
    for name in election.dimensions:
        again.cast(again.prepare(name, "yes"))
        send(again, name, ask)
    crowd.wallets[special[4]], crowd.option[special[4]] = again, "yes"
    for row in early[5:]:
        crowd.visit(row)
    # An issuer dies and is restored from a backup that is older than its last signatures.
    parties.kill("issuer-2")
    secret: list[str | Path] = ["--passphrase-file", tmp_path / "pass.txt"]
    parties.run("issuer-2", "backup", folder / "issuer-2", "--out", tmp_path / "old.backup", *secret)
    parties.serve("issuer-2")
    parties.wait(ask)
    crowd.visit(late[0])
    parties.kill("issuer-2")
    (folder / "issuer-2").rename(folder / "dead")
    parties.run("issuer-2", "restore", tmp_path / "old.backup", "--out", folder / "issuer-2", *secret)
    parties.serve("issuer-2")
    parties.wait(ask)
    with pytest.raises(PersonError, match="signs nothing now"):
        crowd.visit(late[1])
    parties.run("issuer-2", "catch-up", folder / "issuer-2")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(crowd.visit, late[1:]))
    return crowd

"""A pilot: every party as processes of its own with TLS, started by documented commands, with all that goes wrong.

By default few people vote, so that the suite ends in time; with `EVIDENCE=all` it is 500 people and four dimensions.
"""

import json
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import evidence
from safemargin.core import InputError, numpy_generator
from safemargin.election.client import ask_over_http, enrol, fetch_board, fetch_tokens, send
from safemargin.election.desk import Desk
from safemargin.election.rehearse import Crowd, PartyProcesses, close_all, count_all, made_up_roll, read_codes, set_up
from safemargin.election.roll import roll_csv
from safemargin.election.setup import parse_plan, plan_text
from safemargin.election.verify import check_board
from safemargin.election.vote import Page, read_texts
from safemargin.election.voter import Wallet

VOTERS = 500 if evidence.EVERYTHING else 24
DIMENSIONS = {
    "age": ["18-34", "35-54", "55+"],
    "region": ["North", "South"],
    "sex": ["f", "m"],
    "home": ["town", "land"],
}


def page_votes(desk: Desk, row: str, code: str, language: str) -> str:
    """One visit to the page: enrol, answer, review, cast. The page after it."""
    page = Page(desk, *read_texts(language))
    client = TestClient(page.app(), base_url="http://127.0.0.1")
    start = f"/{page.secret}"
    client.post(f"{start}/enrol", data={"row": row, "code": code})
    shown = client.post(f"{start}/prepare", data={"option": "yes", "part": list(desk.election.dimensions)})
    assert re.search("[0-9a-f]{64}", shown.text), shown.text
    return str(client.post(f"{start}/cast").text)


@pytest.mark.slow
def test_a_pilot_by_documented_commands(tmp_path: Path) -> None:
    names = list(DIMENSIONS) if evidence.EVERYTHING else ["age", "region"]
    text = plan_text(
        "Pilot",
        "Shall we?",
        ["yes", "no"],
        {name: DIMENSIONS[name] for name in names},
        collector="Company",
        others=["Union", "Court", "University"],
        box="Post",
        settings={"kappa": 5, "least": 10, "bits": 2048, "openers": 2},
        target={"beta": 0.05, "tau": 1},
    )
    plan, generator = parse_plan(text), numpy_generator(3)
    folder = tmp_path / "parties"
    folder.mkdir()
    (folder / "plan.toml").write_text(text)
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
            parties.run(
                "registrar", "letters", folder / "registrar", "--roll", folder / "roll.csv", "--codes", codes_file
            )
            codes = read_codes(codes_file)
            rows = list(codes)
            early, late = rows[: VOTERS // 2], rows[VOTERS // 2 :]
            crowd = Crowd(election, codes, ask, generator)
            crowd.silent, crowd.skipped = set(), {(rows[5], "age"), (rows[6], "age")}
            special = rows[:5]
            for row, language in zip(special[:3], ("de", "fr", "en"), strict=True):
                shown = page_votes(Desk(election, tmp_path / f"{row}.json", ask), row, codes[row], language)
                assert shown.count("Urne" if language == "de" else "urne" if language == "fr" else "in the box") >= 3
            # One voter sends different requests to the issuers, and stops nobody.
            evil = crowd.wallets[special[3]]
            enrol(evil, ask)
            ask("issuer-1", "sign", evil.requests())
            evil.state["tokens"] = {name: {"seed": "11" * 32} for name in election.dimensions}
            with pytest.raises(InputError):
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
            secret = ["--passphrase-file", tmp_path / "pass.txt"]
            parties.run("issuer-2", "backup", folder / "issuer-2", "--out", tmp_path / "old.backup", *secret)
            parties.serve("issuer-2")
            parties.wait(ask)
            crowd.visit(late[0])
            parties.kill("issuer-2")
            (folder / "issuer-2").rename(folder / "dead")
            parties.run("issuer-2", "restore", tmp_path / "old.backup", "--out", folder / "issuer-2", *secret)
            parties.serve("issuer-2")
            parties.wait(ask)
            with pytest.raises(InputError, match="refused"):
                crowd.visit(late[1])
            parties.run("issuer-2", "catch-up", folder / "issuer-2")
            for row in late[1:]:
                crowd.visit(row)
            status = parties.run("organiser", "status", "--manifest", folder / "manifest.json")
            assert "closed: collector" in status
            close_all(parties)
            count_all(parties, tmp_path / "release")
            board = fetch_board(election, tmp_path / "board", ask)
            check = check_board(board, pinned=election.fingerprint)
            assert check.findings == [] and check.total_verified and check.certified and check.complete
            truth = crowd.truth()
            truth["yes"] += 3
            assert check.total == truth and crowd.lost(board) == 0
            assert check.enrolled == VOTERS and json.dumps(check.turnout)
    finally:
        parties.stop()

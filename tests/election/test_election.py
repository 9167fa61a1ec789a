"""Whole small elections, and the findings of the attack on the construction before this one, each as a test."""

import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from election_world import PLAN, SHARED, SMALL, World, plan_for
from safemargin.core import InputError
from safemargin.election.auditing import audit_opening
from safemargin.election.ballots import BallotFormat, Envelope, ballot_name, read_ballots
from safemargin.election.board import Board, make_entry
from safemargin.election.board_verification import check_board
from safemargin.election.client import enrol, fetch_tokens, send
from safemargin.election.group import ORDER
from safemargin.election.keys import canonical, parse
from safemargin.election.manifests import KnownElection
from safemargin.election.receipts import ENROLLED, NOBODY, registered
from safemargin.election.service import role_class
from safemargin.election.tallies import Cell
from safemargin.election.voter import Wallet, read_sheet, recovery_sheet

pytestmark = pytest.mark.full


def check(world: World) -> Any:
    return check_board(world.copy(), processes=1, pinned=world.election.fingerprint)


def truth(world: World, name: str) -> Counter[tuple[str, str]]:
    """What `World.cast` casts, by age or health."""
    found: Counter[tuple[str, str]] = Counter()
    for number, row in enumerate(world.roll):
        group = world.roll[row]["age"] if name == "age" else ("ill" if number % 3 == 2 else "well")
        found[group, "yes" if number % 3 else "no"] += 1
    return found


def check_tables(world: World) -> None:
    """Decrypted sums against what people cast, for every group of every dimension."""
    for name in world.plan.trustees:
        world.desk(name).tally()
    plan = check(world).plan
    for name in ("age", "health"):
        expected, compared = truth(world, name), 0
        for cell in (cell for cell in plan.private_cells if cell.dimension == name):
            parts = {}
            for trustee in world.plan.trustees:
                held = json.loads(world.role(trustee).store("state").get(b"private"))["parts"]
                parts[trustee] = bytes.fromhex(held[plan.private_cells.index(cell)]["part"])
            assert plan.decrypt(cell, parts) == sum(expected[c, cell.option] for c in cell.categories)
            compared += 1
        assert compared


@pytest.mark.slow
@pytest.mark.parametrize(("plan", "trustees"), [(SMALL, None), (SHARED, ["trustee-1", "trustee-3"])])
def test_a_whole_election(tmp_path: Path, plan: str, trustees: list[str] | None) -> None:
    """All trustees, or two of three: the total comes first and is right, every published count is proved."""
    world = World(tmp_path, plan=plan).until_frozen()
    assert world.total(trustees) == {"yes": 4, "no": 2, "no answer": 0}
    found = check(world)
    assert found.total_verified and not found.findings and not found.complete, "the total stands without the tables"
    if trustees is None:
        check_tables(world)
    body = world.release(trustees)
    found = check(world)
    assert found.findings == [] and found.complete and found.certified and found.published == len(body["cells"])
    assert found.enrolled == 6 and found.ballots == 18


@pytest.mark.slow
def test_a_voter_who_attacks_the_issuers_stops_nobody(tmp_path: Path) -> None:
    """Finding 4: different requests to different issuers give that person no token, and the election goes on."""
    world = World(tmp_path).begin()
    rows = list(world.wallets)
    evil, twin = world.wallets[rows[0]], Wallet.new(world.election, rows[0], world.wallets[rows[0]].state["code"])
    enrol(evil, world.ask)
    twin.state |= {"enrolment": evil.state["enrolment"], "categories": evil.state["categories"]}
    twin.state["seed"] = evil.state["seed"]
    twin.state["tokens"] = {name: {"seed": "11" * 32} for name in world.election.dimensions}
    world.ask("issuer-1", "sign", evil.requests())
    for issuer in ("issuer-2", "issuer-3"):
        world.ask(issuer, "sign", twin.requests())
    with pytest.raises(InputError, match="another request of this person"):
        world.ask("issuer-1", "sign", twin.requests())
    world.enrol(rows[1:]).cast(rows[1:]).close().end_objections()
    assert world.total()["yes"] + world.total()["no"] == 5
    assert check(world).findings == []


def test_poison_in_a_batch_costs_nobody_else_anything(tmp_path: Path) -> None:
    """Finding 11: garbage, a wrong size and a repeated message; the others are taken, counted and receipted."""
    world = World(tmp_path).begin().enrol()
    box = world.role("box")
    wallet = world.wallets["row 000"]
    wallet.cast(wallet.prepare("total", "yes"))
    good, garbage = wallet.message("total"), bytes(box.size)
    answers = box.post([b"short", garbage, good, good])
    assert isinstance(answers[0], InputError) and all(len(answer) == 512 for answer in answers[1:])
    wallet.take_receipt("total", answers[2].rstrip())
    signed = world.role("issuer-1").sign([b"{", canonical({"enrolment": 3}), wallet.requests()])
    assert [isinstance(answer, InputError) for answer in signed] == [True, True, False]
    world.cast().close().end_objections()
    entry = world.board.of("ballots")[0].body
    assert entry["unreadable"] == 1 and check(world).findings == []


@pytest.mark.slow
def test_the_highest_number_counts_whatever_the_order(tmp_path: Path) -> None:
    """A ballot is replaced; the old one is published with its reason. Arrival order and options play no part."""
    world = World(tmp_path).until_cast()
    world.cast_one("row 000", "total", "yes")
    world.close().end_objections()
    assert world.total() == {"yes": 5, "no": 1, "no answer": 0}
    rejected = json.loads((world.board.folder / "rejected" / "total.0").read_bytes())
    assert [reason for reason, _ in rejected] == ["a later ballot under the same token counts"]
    assert check(world).findings == []


@pytest.mark.slow
def test_a_dropped_ballot_is_added_by_its_receipt(tmp_path: Path) -> None:
    """Finding 5: a collector that drops a ballot is seen by its voter, and the receipt adds it."""
    world = World(tmp_path).until_cast()
    wallet = world.wallets["row 003"]
    dropped = wallet.message("total")
    box = world.role("box")
    kept = {key: value for key, value in box.store("messages").items() if value != dropped}
    box.store("messages").clear()
    box.store("messages").add(kept)
    world.close()
    receipt = wallet.check("total", world.board)
    assert not receipt.included and receipt.sentence == "box_dropped"
    assert parse(world.ask("collector", "object", wallet.objection("total"))) == {"added": True}
    with pytest.raises(InputError, match="not signed by the box"):
        false = {**parse(wallet.objection("total")), "signature": "00" * 64}
        world.ask("collector", "object", canonical(false))
    world.end_objections()
    assert wallet.check("total", world.board).included
    assert world.total() == {"yes": 4, "no": 2, "no answer": 0} and check(world).findings == []
    assert parse(world.ask("collector", "object", wallet.objection("total")))["added"] is False, "recorded only"


@pytest.mark.slow
def test_skipping_a_dimension_loses_nothing(tmp_path: Path) -> None:
    """Finding 14: two of twelve skip a dimension; the total and a certified release are published."""
    world = World(tmp_path, people=12, plan=plan_for(12, 4)).begin().enrol()
    for number, row in enumerate(world.wallets):
        for name in world.election.dimensions:
            option = "no answer" if number < 2 and name == "age" else ("yes" if number % 2 else "no")
            world.cast_one(row, name, option, "ill" if number % 3 == 2 else "well")
    world.close().end_objections()
    assert world.total() == {"yes": 6, "no": 6, "no answer": 0}
    body = world.release()
    found = check(world)
    assert found.findings == [] and found.total_verified and body["certified"]


@pytest.mark.slow
def test_trustees_decrypt_one_set_of_ballots_once(tmp_path: Path) -> None:
    """Finding 9: no second tally, no sum outside the list, nothing below the minimum, also after a restart."""
    world = World(tmp_path, plan=PLAN.replace("kappa = 2", "kappa = 4"), people=12).until_frozen()
    world.total()
    plan = check(world).plan
    trustee = world.role("trustee-1")
    for cell in (
        Cell("age", ("young",), "no answer"),
        Cell("age", ("nobody",), "yes"),
        Cell("age", (), "yes"),
        Cell("total", ("everybody",), "maybe"),
    ):
        assert not plan.is_allowed(cell)
        with pytest.raises(InputError, match="not one that may be decrypted"):
            plan.part(b"\1" + bytes(31), "trustee-1", cell)
    assert plan.is_allowed(Cell("age", ("young", "old"), "yes")), "a sum of whole groups"
    again = role_class("trustee")(world.election, world.secrets["trustee-1"], tmp_path / "trustee-1")
    stored = json.loads(trustee.store("state").get(b"frozen"))
    assert stored == {"root": plan.root.hex(), "list": plan.list_hash}
    copy = world.copy().folder
    frozen = [p for p in sorted((copy / "entries").glob("*")) if b'"type":"freeze"' in p.read_bytes()][0]
    number = int(frozen.stem)
    for path in sorted((copy / "entries").glob("*"))[number:] + sorted((copy / "heads").glob("*")):
        if path.parent.name == "entries" or int(path.stem) > number:
            path.unlink()
    with pytest.raises(InputError, match="entries; this party read"):
        again.run("freeze", canonical({"board": str(copy)}))
    for table in ("state", "heads"):
        again.store(table).clear()
    again.remember("frozen", canonical({"root": "00" * 32, "list": "00" * 32}))
    with pytest.raises(InputError, match="will never sign a second one"):
        again.run("freeze", canonical({"board": str(copy)}))


@pytest.mark.slow
def test_small_groups_are_merged_before_anything_is_decrypted(tmp_path: Path) -> None:
    """Groups below the minimum by the roll have no key of their own; those by ballots are merged by public counts."""
    world = World(tmp_path, plan=PLAN.replace("kappa = 2", "kappa = 7"), people=12)
    assert world.election.dimension("age").categories == ["young + old"], "six of each are below seven"
    assert world.election.dimension("age").category_of("old") == "young + old"
    world = World(tmp_path / "b", plan=PLAN.replace("kappa = 2", "kappa = 5"), people=12)
    rows = [row for row, by in world.roll.items() if by["age"] == "young"][:3]
    rows += [row for row, by in world.roll.items() if by["age"] == "old"]
    world.begin().enrol(rows).cast(rows).close().end_objections()
    world.total()
    plan = check(world).plan
    assert plan.groups["age"] == {"young + old": ["young", "old"]} and plan.accepted["age"] == 9
    assert not plan.is_allowed(Cell("age", ("old",), "yes")), "the difference would be three people"


def test_too_few_ballots_are_never_decrypted(tmp_path: Path) -> None:
    world = World(tmp_path).begin()
    rows = list(world.wallets)[:4]
    world.enrol(rows).cast(rows).close().end_objections()
    for name in world.plan.trustees:
        world.desk(name).tally()
    with pytest.raises(InputError, match="too few people took part"):
        world.desk("trustee-1").tally()
    found = check(world)
    assert found.findings == [] and found.complete and not found.total and not found.certified


@pytest.mark.slow
def test_the_board_refuses_early_empty_and_foreign_entries(tmp_path: Path) -> None:
    """Finding 10: nobody can block the board by an entry that comes too early or makes no sense."""
    world = World(tmp_path).until_cast()
    secrets, election = world.secrets, world.election
    digest, board = "00" * 32, world.role("board")
    for author, type_, body, message in (
        ("trustee-1", "freeze", {"root": digest, "list": digest}, "too early"),
        ("trustee-1", "release", {}, "certified"),
        ("trustee-1", "total", {"parts": {}}, "too early"),
        ("collector", "ballots", {"part": 0, "dimensions": {}, "unreadable": 0}, "all dimensions"),
        ("collector", "closed", {}, "closed"),
        ("collector", "closed", {"closed": True, "more": 1}, "more"),
        ("registrar", "register", {"enrolled": -1, "root": digest, "letters": digest}, "enrolled"),
        ("registrar", "closed", {"closed": True}, "cannot come from"),
        ("issuer-1", "issued", {"counts": {}, "root": digest}, "every dimension"),
        ("board", "manifest", {"manifest": digest, "signatures": {}}, "already|first"),
    ):
        entry = make_entry(election, secrets[author], type_, dict(body)).content
        with pytest.raises(InputError, match=message):
            board.run("append", entry)
    world.close().end_objections()
    assert world.total()["yes"] == 4 and check(world).findings == []


def test_two_processes_on_one_board_or_folder_are_refused(tmp_path: Path) -> None:
    """Finding 12."""
    world = World(tmp_path).begin()
    with pytest.raises(InputError, match="another process writes this board"):
        Board(tmp_path / "board" / "board", world.election, world.secrets["board"])
    issuer = role_class("issuer")(world.election, world.secrets["issuer-1"], tmp_path / "issuer-1")
    wallet = world.wallets["row 000"]
    enrol(wallet, world.ask)
    first = world.ask("issuer-1", "sign", wallet.requests())
    assert issuer.run("sign", wallet.requests()) == first, "one storage, one token"


@pytest.mark.slow
def test_a_lost_wallet_is_recovered_and_never_reissued(tmp_path: Path) -> None:
    world = World(tmp_path).until_cast()
    lost = world.wallets["row 000"]
    assert read_sheet(recovery_sheet(bytes(range(32)))) == bytes(range(32))
    again = Wallet.recover(world.election, "row 000", lost.state["code"], lost.sheet.lower().replace("-", " "))
    enrol(again, world.ask)
    fetch_tokens(again, world.ask)
    again.cast(again.prepare("total", "yes"))
    send(again, "total", world.ask)
    with pytest.raises(InputError, match="wrong letter"):
        read_sheet(("0" if lost.sheet[0] != "0" else "1") + lost.sheet[1:])
    other = Wallet.new(world.election, "row 000", lost.state["code"])
    with pytest.raises(InputError, match="another key is enrolled"):
        enrol(other, world.ask)
    world.close().end_objections()
    assert world.total() == {"yes": 5, "no": 1, "no answer": 0} and check(world).findings == []


def test_audit_or_cast(tmp_path: Path) -> None:
    """An audited ballot shows what it holds and is never signed; a device that lies is caught by a second one."""
    world = World(tmp_path).begin().enrol(["row 000"])
    wallet = world.wallets["row 000"]
    prepared = wallet.prepare("health", "no", "ill")
    noted, opening = prepared.hash, prepared.opening()
    assert audit_opening(world.election, opening, noted) == "The ballot of health holds no, ill."
    with pytest.raises(InputError, match="never signed"):
        wallet.cast(prepared)
    with pytest.raises(InputError, match="does not hold what the page says"):
        audit_opening(world.election, {**opening, "option": "yes"}, noted)
    with pytest.raises(InputError, match="another ballot"):
        audit_opening(world.election, opening, "00" * 32)
    assert wallet.prepare("health", "no", "ill").body != prepared.body, "fresh randomness every time"


def test_the_wallet_never_holds_an_answer(tmp_path: Path) -> None:
    """Finding 6: two people with other answers have wallets with the same fields; nothing follows from the seed."""
    world = World(tmp_path).until_cast()
    one, other = (world.wallets[row].state for row in ("row 000", "row 001"))
    assert set(one) == set(other) and {k: set(v) for k, v in one["tokens"].items()} == {
        k: set(v) for k, v in other["tokens"].items()
    }
    text = json.dumps(one)
    assert '"yes"' not in text and '"no"' not in text and "randomness" not in text


def test_who_never_enrolled_sees_that_nobody_did(tmp_path: Path) -> None:
    """Finding 16: a registrar that votes for an abstainer leaves a trace that the abstainer's letter finds."""
    world = World(tmp_path).begin()
    rows = list(world.wallets)
    world.enrol(rows[:5]).cast(rows[:5]).close()
    absent = world.wallets[rows[5]].state["code"]
    board = world.copy()
    assert registered(board, rows[5], absent) == NOBODY and world.wallets[rows[0]].enrolment_fault(board) is None
    assert registered(board, rows[0], world.wallets[rows[0]].state["code"]) == ENROLLED


def test_an_issuer_that_was_restored_signs_nothing_until_it_caught_up(tmp_path: Path) -> None:
    world = World(tmp_path).begin().enrol(["row 000"])
    issuer = world.role("issuer-1")
    issuer.store("issuance").clear()
    issuer.store("people").clear()
    issuer.mark_restored()
    twin = Wallet.new(world.election, "row 000", world.wallets["row 000"].state["code"])
    twin.state |= {k: world.wallets["row 000"].state[k] for k in ("seed", "enrolment", "categories")}
    twin.state["tokens"] = {name: {"seed": "11" * 32} for name in world.election.dimensions}
    with pytest.raises(InputError, match="has not caught up"):
        issuer.run("sign", twin.requests())
    with pytest.raises(InputError, match="has not caught up"):
        issuer.run("close")
    others = ("issuer-2", "issuer-3")
    lodged, heads = ({name: parse(world.ask(name, step)) for name in others} for step in ("lodged", "head"))
    sizes = {**{name: stated["head"]["size"] for name, stated in heads.items()}, "issuer-1": 1}
    extensions = {n: parse(world.ask("board", "extension", canonical({"old": s}))) for n, s in sizes.items()}
    message = {"heads": heads, "extensions": extensions, "lodged": lodged}
    with pytest.raises(InputError, match="of all other issuers"):
        issuer.run("catch_up", canonical({**message, "lodged": {"issuer-2": lodged["issuer-2"]}}))
    forged = {**lodged, "issuer-3": {**lodged["issuer-3"], "requests": []}}
    with pytest.raises(InputError, match="not signed by issuer-3"):
        issuer.run("catch_up", canonical({**message, "lodged": forged}))
    assert parse(issuer.run("catch_up", canonical(message)))["requests"] == 6
    with pytest.raises(InputError, match="another request"):
        issuer.run("sign", twin.requests())
    assert issuer.run("sign", world.wallets["row 000"].requests())


def test_a_box_keeps_no_order_and_cannot_open_anything(tmp_path: Path) -> None:
    """Finding 17: after the close the bytes on disk are a function of the set of messages alone."""
    world = World(tmp_path).until_cast()
    messages = [value for _, value in world.role("box").store("messages").items()]
    contents = []
    for number, order in enumerate((messages, messages[::-1])):
        box = role_class("box")(world.election, world.secrets["box"], tmp_path / f"box {number}")
        for message in order:
            assert len(box.step("post").handle([message])) == 1
        box.store("messages").compact()
        box.close()
        path = next((tmp_path / f"box {number}").glob("*messages.sqlite"))
        with sqlite3.connect(path) as database:
            contents.append("\n".join(database.iterdump()))
        rest = [p.name for p in path.parent.iterdir() if p.name.endswith(("-wal", "-journal")) and p.stat().st_size]
        assert rest == []
        # Bytes 24 to 28 and 92 to 100 of the header count transactions.
        raw = bytearray(path.read_bytes())
        raw[24:28] = raw[92:100] = b""
        contents.append(bytes(raw).hex())
    assert contents[0] == contents[2] and contents[1] == contents[3]
    with pytest.raises(InputError, match="a database would keep the order"):
        role_class("box")(world.election, world.secrets["box"], "postgresql://x")
    envelope = Envelope(world.election)
    assert envelope.open(messages[0], world.secrets["box"].sealing) is None
    with pytest.raises(InputError, match="open still"):
        world.role("box").run("forward", canonical({"after": ""}))


def test_published_ballots_say_nothing_about_arrival(tmp_path: Path) -> None:
    """Linking by order and clocks: two elections of the same wallets in other orders publish the same files."""
    world = World(tmp_path).begin().enrol()
    for wallet in world.wallets.values():
        for name in world.election.dimensions:
            wallet.cast(wallet.prepare(name, "yes", "well"))
    rows = list(world.wallets)
    files = []
    for number, order in enumerate((rows, rows[::-1])):
        roles = {
            name: role_class(name)(world.election, world.secrets[name], tmp_path / f"{name} {number}")
            for name in ("box", "collector")
        }
        for row in order:
            for name in world.election.dimensions:
                roles["box"].run("post", world.wallets[row].message(name))
        roles["box"].remember("closed")
        page = roles["box"].run("forward", canonical({"after": ""}))
        roles["collector"].run("take", page)
        files.append((page, roles["box"].run("received"), roles["collector"].run("ballots", canonical({"part": 0}))))
    assert files[0] == files[1]


def test_a_copied_ciphertext_or_reused_randomness_is_refused(tmp_path: Path) -> None:
    world = World(tmp_path).begin().enrol()
    wallet = world.wallets["row 000"]
    format_ = BallotFormat(world.election, world.election.dimension("age"))
    first = wallet.prepare("age", "yes")
    other = world.wallets["row 001"]
    sent = []
    for each, prepared in ((wallet, first), (other, other.prepare("age", "yes"))):
        ballot = format_.read(prepared.body + bytes(64))
        assert ballot is not None
        tokens, place = [], 0
        for width in format_.widths:
            tokens.append((ballot.tokens[place : place + 32], ballot.tokens[place + 32 : place + 32 + width]))
            place += 32 + width
        arguments = (0, ballot.category, ballot.number, ballot.key, ballot.escrow, tokens, first.randomness)
        body = format_.make(*arguments)
        sent.append(format_.sign(body, each._one_time("age")))
        assert format_.fault(sent[-1]) is None
        world.ask("box", "post", Envelope(world.election).close(sent[-1], bytes(32)))
    world.close()
    rejected = json.loads((world.board.folder / "rejected" / "age.0").read_bytes())
    assert len(rejected) == 1 and rejected[0][0] == "a ciphertext of another ballot"
    changed = sent[0][:-1] + bytes([sent[0][-1] ^ 1])
    assert format_.fault(changed) == "the signature of the one-time key is wrong"
    assert format_.fault(sent[0][:-1]) == "not a ballot of this dimension"
    health = BallotFormat(world.election, world.election.dimension("health"))
    assert health.fault(sent[0]) is not None, "a token of another dimension"


def test_escrow_is_off_for_the_total_and_expires() -> None:
    """Finding 22: the day of expiry is enforced."""
    from safemargin.election.collecting import check_expiry

    for wrong in ("2020-01-01", "soon", "2030-13-01"):
        with pytest.raises(InputError, match="expiry"):
            check_expiry(wrong)
    check_expiry("2999-12-31")


def test_a_manifest_has_one_id_that_letters_print(tmp_path: Path) -> None:
    world = World(tmp_path).until_frozen()
    board = world.copy()
    assert check_board(board, pinned=world.election.mid.hex()).findings == []
    other = KnownElection.parse(world.election.content.replace(b"Shall we?", b"Shall not?"))
    assert other.fingerprint != world.election.fingerprint
    assert "another election" in check_board(board, pinned=other.fingerprint).findings[0]
    assert len({ballot_name(b) for b in read_ballots(board.folder / "ballots" / "age.0", 1)}) <= ORDER

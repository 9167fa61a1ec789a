"""The governed exception: one record is opened after a public request by enough trustees, and in no other way."""

import json
from pathlib import Path
from typing import Any

import pytest

from election_world import ESCROW, World
from safemargin.core import InputError
from safemargin.election.ballots import BallotFormat
from safemargin.election.board import make_entry
from safemargin.election.board_verification import check_board
from safemargin.election.client import choose_candidate, enrol
from safemargin.election.collecting import nullifier_of
from safemargin.election.escrow import EscrowCandidate, blob_size, commitment
from safemargin.election.keys import canonical, seal, sealing_public
from safemargin.election.role import ConflictError
from safemargin.election.voter import Wallet

BASIS = "ab" * 32


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Six people have cast in an election with escrow; everything is counted, nothing is opened."""
    return World(tmp_path_factory.mktemp("escrow"), plan=ESCROW).until_cast().close()


def nullifier(world: World, row: str, name: str) -> str:
    format_ = BallotFormat(world.election, world.election.dimension(name))
    public = world.wallets[row]._one_time(name).public_key().public_bytes_raw()
    return nullifier_of(format_, bytes(39) + public).hex()


def request(world: World, name: str) -> dict[str, Any]:
    """Post a request for one record; what trustees need to see of it."""
    stated = {
        "nullifier": name,
        "basis": BASIS,
        "requester": "A court",
        "expiry": "2999-12-31",
        "recipient": "escrow-3",
    }
    world.desk("collector")._post(world.ask("collector", "request", canonical(stated)))
    proof = world.ask("board", "proof", canonical({"type": "escrow request", "nullifier": name}))
    blob = world.ask("collector", "sealed", proof)
    return {"board": str(world.copy().folder), "nullifier": name, "sealed": blob.hex()}


def decide(world: World, asked: dict[str, Any], **decisions: bool) -> None:
    for trustee, approve in decisions.items():
        name = trustee.replace("_", "-")
        world.desk(name)._post(world.ask(name, "decide", canonical({**asked, "approve": approve})))
        world.copy()


@pytest.mark.slow
def test_one_record_is_opened_by_enough_trustees_after_a_public_request(counted: World) -> None:
    asked = request(counted, nullifier(counted, "row 003", "age"))
    with pytest.raises(InputError, match="0 escrow trustees approved on the board: 2 are needed"):
        counted.ask("escrow-1", "share", canonical(asked))
    decide(counted, asked, escrow_1=True)
    with pytest.raises(InputError, match="1 escrow trustees approved"):
        counted.ask("escrow-1", "share", canonical(asked))
    decide(counted, asked, escrow_2=True, escrow_3=False)
    with pytest.raises(InputError, match="did not approve"):
        counted.ask("escrow-3", "share", canonical(asked))
    shares = [json.loads(counted.ask(name, "share", canonical(asked))) for name in ("escrow-1", "escrow-2")]
    with pytest.raises(InputError, match="names escrow-3 as the recipient"):
        counted.ask("escrow-1", "open", canonical({**asked, "shares": shares}))
    with pytest.raises(InputError, match="1 shares: 2 escrow trustees are needed"):
        counted.ask("escrow-3", "open", canonical({**asked, "shares": shares[:1]}))
    opened = json.loads(counted.ask("escrow-3", "open", canonical({**asked, "shares": shares})))
    assert opened["row"] == "row 003"
    assert json.loads(counted.ask("registrar", "identify", canonical(opened)))["signed"] is True
    with pytest.raises(InputError, match="planted"):
        counted.ask("registrar", "identify", canonical({**opened, "row": "row 001"}))
    check = check_board(counted.copy(), processes=1)
    assert check.findings == [] and len(counted.board.of("escrow request")) == 1, "the number of openings is public"


@pytest.mark.slow
def test_a_wrong_share_is_named_and_another_record_is_not_opened(counted: World) -> None:
    asked = request(counted, nullifier(counted, "row 001", "health"))
    decide(counted, asked, escrow_1=True, escrow_2=True)
    good = json.loads(counted.ask("escrow-1", "share", canonical(asked)))
    recipient: Any = counted.role("escrow-3")
    info = recipient._info("escrow-2", "escrow-3", asked["nullifier"])
    key = sealing_public(counted.election.parties["escrow-3"].seal)
    wrong = {"from": "escrow-2", "sealed": seal(bytes(66), key, info).hex()}
    with pytest.raises(InputError, match="escrow-2: the share is not the one of the sealed identity"):
        counted.ask("escrow-3", "open", canonical({**asked, "shares": [good, wrong]}))
    other = counted.role("collector").store("sealed identities")
    (blob,) = [value for key, value in other.items() if key.hex() == nullifier(counted, "row 000", "age")]
    with pytest.raises(InputError, match="not the one of this record"):
        counted.ask("escrow-1", "share", canonical({**asked, "sealed": blob.hex()}))
    with pytest.raises(InputError, match="no request for this record"):
        counted.ask("escrow-1", "share", canonical({**asked, "nullifier": nullifier(counted, "row 000", "age")}))
    counted.role("escrow-2").run("destroy")
    with pytest.raises(InputError, match="destroyed"):
        counted.ask("escrow-2", "share", canonical(asked))


def test_nothing_is_handed_out_or_decided_before_the_request_is_public(counted: World) -> None:
    name = nullifier(counted, "row 002", "age")
    stated = {
        "nullifier": name,
        "basis": BASIS,
        "requester": "A court",
        "expiry": "2999-12-31",
        "recipient": "escrow-3",
    }
    counted.ask("collector", "request", canonical(stated))  # made, not posted
    with pytest.raises(InputError, match="a request is public first"):
        decide(counted, {"board": str(counted.copy().folder), "nullifier": name}, escrow_1=True)
    with pytest.raises(InputError, match="not about an entry of type"):
        counted.ask("collector", "sealed", counted.ask("board", "proof", canonical({"type": "closed"})))
    for changed in ({"recipient": "collector"}, {"nullifier": "00" * 32}, {"basis": "x"}):
        with pytest.raises(InputError):
            counted.ask("collector", "request", canonical({**stated, **changed}))
    early = make_entry(
        counted.election, counted.secrets["escrow-1"], "escrow decision", {"nullifier": name, "approve": True}
    )
    board = counted.board
    board.contents.append(early.content)
    assert any("nobody asked for this record" in each for each in _escrow_faults(board))


def _escrow_faults(board: Any) -> list[str]:
    from safemargin.election.board_verification import _escrow_faults as faults

    return list(faults(board.entries))


def test_the_collector_alone_never_reaches_the_quorum(tmp_path: Path) -> None:
    for old, new in (
        ('"Ombudsman"', '"Company"'),
        ('organisation = "Court" }\nescrow-3', 'organisation = "Union" }\nescrow-3'),
    ):
        with pytest.raises((InputError, ValueError), match="escrow: "):
            World(tmp_path, plan=ESCROW.replace(old, new, 1).replace("Ombudsman", "Union" if "Court" in old else "x"))
    with pytest.raises((InputError, ValueError), match="escrow: there are trustees"):
        World(tmp_path, plan=ESCROW.replace("[escrow]\ncandidates = 4\nquorum = 2\n", ""))


# --- cut and choose


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path, plan=ESCROW).begin()
    for wallet in made.wallets.values():
        enrol(wallet, made.ask)
    return made


def asked(wallet: Wallet) -> bytes:
    """The request for one token."""
    return canonical({"enrolment": wallet.state["enrolment"], "requests": [wallet.request("age")]})


def subject(wallet: Wallet, name: str) -> bytes:
    return canonical({"enrolment": wallet.state["enrolment"], "dimension": name})


def test_a_person_who_seals_another_identity_is_caught_and_frozen(world: World) -> None:
    """Two of four candidates hold the row of somebody else: at least one of them is always opened."""
    wallet, age = world.wallets["row 000"], world.election.dimension("age")
    pledges = {i: json.loads(world.ask(i, "pledge", subject(wallet, "age"))) for i in age.keys}
    wallet.candidates("age", pledges)
    token = wallet.state["tokens"]["age"]
    for index in (0, 1):
        made = wallet._candidate(age, bytes.fromhex(token["seeds"][index]))
        forged = EscrowCandidate(made.election, age, made.label, "row 004", made.seed, made.proof)
        token["commits"][index] = commitment(forged.request())
    choose_candidate(wallet, age, world.ask)
    for _ in range(2):
        with pytest.raises(ConflictError, match="frozen"):
            world.ask("issuer-2", "sign", asked(wallet))
    assert len(list(world.role("issuer-2").store("issuance").items())) == 0
    assert len(list(world.role("issuer-2").store("frozen").items())) == 1, "the signed request is the evidence"


def test_issuers_check_what_the_others_pledged_and_what_was_handed_in(world: World) -> None:
    wallet, age = world.wallets["row 000"], world.election.dimension("age")
    choose_candidate(wallet, age, world.ask)
    token = wallet.state["tokens"]["age"]
    nonces = dict(token["nonces"])
    token["nonces"] = {**nonces, "issuer-3": "00" * 32}
    with pytest.raises(InputError, match="the nonce of issuer-3 is not the one that it pledged"):
        world.ask("issuer-1", "sign", asked(wallet))
    token["nonces"] = {name: nonces[name] for name in ("issuer-1", "issuer-2")}
    with pytest.raises(InputError, match="not those of all issuers"):
        world.ask("issuer-1", "sign", asked(wallet))
    token["nonces"] = nonces
    commits, token["commits"] = token["commits"], token["commits"][::-1]
    with pytest.raises(InputError, match="not handed in before"):
        world.ask("issuer-1", "sign", asked(wallet))
    with pytest.raises(ConflictError, match="other candidates"):
        world.ask("issuer-1", "candidates", other_candidates(wallet))
    token["commits"] = commits
    with pytest.raises(InputError, match="if and only if"):
        request = wallet.request("age")
        del request["escrow"], request["signature"]
        again = json.loads(wallet._signed(b"GV2 issue", request))
        world.ask("issuer-1", "sign", canonical({"enrolment": wallet.state["enrolment"], "requests": [again]}))
    with pytest.raises(InputError, match="keep it as evidence"):
        wallet.take_nonces("age", {**nonces, "issuer-2": "00" * 32})
    world.ask("issuer-1", "sign", asked(wallet))


def other_candidates(wallet: Wallet) -> bytes:
    """Other commitments for the same attempt."""
    token = wallet.state["tokens"]["age"]
    message = {part: token[part] for part in ("commits", "pledges")}
    return wallet._signed(b"GV2 candidates", {"row": "row 000", "dimension": "age", **message})


def test_a_sealed_identity_travels_with_its_record_and_is_not_published(counted: World) -> None:
    size = blob_size(counted.election.manifest.escrow)
    published = (counted.board.folder / "ballots" / "age.0").read_bytes()
    for key, blob in counted.role("collector").store("sealed identities").items():
        assert len(blob) == size and blob not in published and len(key) == 32
    assert len(list(counted.role("collector").store("sealed identities").items())) == 12, "none for the total"
    receipts = [w.check(n, counted.board) for w in counted.wallets.values() for n in counted.election.dimensions]
    assert all(receipt.included for receipt in receipts)

"""Attempts to forge, replay, link and count twice, each by somebody who plays a role and does not follow the rules."""

import json
from pathlib import Path
from typing import Any

import pytest

from election_world import SMALL, World
from safemargin.core import InputError
from safemargin.election.board import make_entry
from safemargin.election.client import send
from safemargin.election.keys import canonical
from safemargin.election.records import ANSWER, Record, RecordFormat
from safemargin.election.verify import check_board


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Six people with tokens; casting is open."""
    return World(tmp_path_factory.mktemp("attacks")).until_issued()


def format_of(world: World, name: str) -> RecordFormat:
    return RecordFormat(world.election, world.election.dimension(name), world.board.signers)


def signed_by(world: World, name: str, row: str) -> tuple[tuple[bytes, bytes], ...]:
    wallet, dimension = world.wallets[row], world.election.dimension(name)
    token = wallet.state["tokens"][name]["signatures"]
    return tuple((wallet._candidate(dimension).message(i)[:32], bytes.fromhex(token[i])) for i in world.board.signers)


def test_a_token_cannot_be_forged_from_those_of_others(world: World) -> None:
    """One-more forgery by recombination: signatures of two people, or of one person under another key."""
    format_ = format_of(world, "age")
    key = world.wallets["row 001"]._one_time("age")
    public = key.public_key().public_bytes_raw()
    payload = format_.payload_for("young", "yes", public)
    own, other = signed_by(world, "age", "row 001"), signed_by(world, "age", "row 003")
    for mixed in ((own[0], other[1]), (other[0], own[1]), other):
        record = format_.write(Record(0, public, bytes(32), mixed, payload), key)
        assert format_.fault(record) == "a token that the active issuers did not sign"
    # RSA is multiplicative: the product of two blind signatures must not be a token.
    blind = world.election.blind_keys["age", "issuer-1", "young"]
    product = int.from_bytes(own[0][1], "big") * int.from_bytes(other[0][1], "big") % blind.n
    forged = ((own[0][0], product.to_bytes(blind.size, "big")), own[1])
    assert format_.fault(format_.write(Record(0, public, bytes(32), forged, payload), key)) is not None


def test_one_corrupt_issuer_of_the_active_set_cannot_mint(world: World) -> None:
    """Issuer 1 signs what it likes; without issuer 2 there is no token."""
    format_ = format_of(world, "age")
    key = world.wallets["row 001"]._one_time("total")
    public = key.public_key().public_bytes_raw()
    message = bytes(32) + b"GV1" + format_.context + public + bytes(32)
    blind = world.election.blind_keys["age", "issuer-1", "young"]
    blinded, inverse = blind.blind(message, bytes(48), 123_457)
    minted = blind.finish(message, world.secrets["issuer-1"].signers["age/young"].sign(blinded), inverse)
    payload = format_.payload_for("young", "yes", public)
    record = format_.write(Record(0, public, bytes(32), ((bytes(32), minted), (bytes(32), minted)), payload), key)
    assert format_.fault(record) == "a token that the active issuers did not sign"


def test_a_copied_sealed_answer_cannot_be_opened_under_another_token(world: World) -> None:
    """Copying the ciphertext of somebody else would double their answer: it is bound to their one-time key."""
    format_ = format_of(world, "age")
    victim = world.wallets["row 003"]._one_time("age").public_key().public_bytes_raw()
    sealed = format_.payload_for("young", "yes", victim)
    key = world.wallets["row 001"]._one_time("age")
    public = key.public_key().public_bytes_raw()
    record = format_.write(Record(0, public, bytes(32), signed_by(world, "age", "row 001"), sealed), key)
    assert format_.fault(record) is None, "the token is valid"
    shares = {number: world.role(f"trustee-{number}")._own_share() for number in (1, 2)}
    from safemargin.election.keys import SealingKey, join_secret

    tally = SealingKey(join_secret(shares))
    assert format_.open_answer(record, tally) is None, "but the copied answer counts as none"
    own = format_.write(
        Record(0, public, bytes(32), signed_by(world, "age", "row 001"), format_.payload_for("young", "yes", public)),
        key,
    )
    assert format_.open_answer(own, tally) == (0, 0)


def test_an_attested_person_cannot_state_another_category_inside_the_sealed_answer(world: World) -> None:
    format_ = format_of(world, "age")
    key = world.wallets["row 001"]._one_time("age")
    public = key.public_key().public_bytes_raw()
    record = Record(0, public, bytes(32), signed_by(world, "age", "row 001"), b"")
    assert format_.answer(ANSWER.pack(0, 1), record) == (0, 1)
    assert format_.answer(ANSWER.pack(1, 1), record) is None, "young by the registrar, old in the answer"
    assert format_.answer(ANSWER.pack(0, 2), record) is None and format_.answer(b"", record) is None


def test_a_request_or_receipt_of_one_election_is_worth_nothing_in_another(world: World, tmp_path: Path) -> None:
    other = World(tmp_path, plan=SMALL.replace("A small vote", "The next vote")).until_enrolled()
    with pytest.raises(InputError, match="not signed by an enrolled person"):
        other.ask("issuer-1", "sign", world.wallets["row 000"].request("age"))
    entry = make_entry(world.election, world.secrets["collector"], "closed", {})
    with pytest.raises(InputError, match="signature of collector is wrong"):
        other.ask("board", "append", entry.content)
    roster = world.ask("registrar", "roster", b"")
    with pytest.raises(InputError, match="not signed by the registrar"):
        other.ask("issuer-1", "roster", roster)


def test_a_trustee_who_convenes_too_early_gets_no_share(world: World) -> None:
    """With one honest trustee's share they could open records as they come, also below the minimum."""
    keeper = world.role("board")
    early = make_entry(world.election, world.secrets["trustee-1"], "ceremony", {"open": ["age"]})
    kept = list(keeper.board.contents)
    try:
        world.conductor.post(early.content)
        world.conductor.witness()
        proof = json.loads(world.ask("board", "proof", canonical({"type": "ceremony"})))
        request = {"board": str(keeper.board.folder), "proof": proof, "to": "trustee-1"}
        with pytest.raises(InputError, match="the ceremony has not begun|does not verify"):
            world.ask("trustee-2", "share", canonical(request))
    finally:
        assert len(keeper.board.contents) == len(kept) + 1


def test_a_mixer_cannot_add_records_or_mix_twice(tmp_path: Path) -> None:
    world = World(tmp_path).until_issued()
    world.cast()
    world.conductor.close_casting()
    mixer: Any = world.role("mixer-1")
    first = world.ask("mixer-1", "mix", canonical({"dimension": "age", "size": 0}))
    assert world.ask("mixer-1", "mix", canonical({"dimension": "age", "size": 0})) == first, "the same batch again"
    mixer.held("age").add({b"late": bytes(len(next(iter(mixer.held("age").items()))[1]))})
    with pytest.raises(InputError, match="another batch was mixed already"):
        world.ask("mixer-1", "mix", canonical({"dimension": "age", "size": 0}))


def test_sending_twice_counts_once(tmp_path: Path) -> None:
    world = World(tmp_path).until_cast()
    for wallet in world.wallets.values():
        send(wallet, "age", wallet.cast("age", "no", world.board.signers), world.ask)
    assert world.count()["age"]["accepted"] == 6
    assert check_board(world.board, processes=1).findings == []
